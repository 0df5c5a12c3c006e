import type { Transport } from 'controller-runtime/client';
import type { Clock, Ms } from 'controller-runtime/env';
import { isRecord } from 'controller-runtime/json';
import { RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { CONTROL_PLANE_FINALIZER } from '../../../controllers/shared/control-plane/control-plane-finalizer.ts';
import type { CallRecord } from '../../aws/call-log.ts';

/** A request with which a manager writes to the API server. */
export interface KubeWrite {
  /** The time on the virtual clock at which the manager sent the request, in milliseconds since the epoch. */
  readonly at: Ms;
  /** The name of the manager that sent the request. */
  readonly from: string;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** The HTTP status of the answer; undefined: the API server has not answered yet. */
  status?: number;
}

/**
 * Returns a transport to the API server that records all write requests. When an answer arrives, the transport calls
 * `onAnswer` before the manager gets the answer.
 */
export function recordWrites(
  transport: Transport,
  {
    from,
    clock,
    writes,
    onAnswer,
  }: {
    readonly from: string;
    readonly clock: Clock;
    readonly writes: KubeWrite[];
    readonly onAnswer: (write: KubeWrite) => void;
  },
): Transport {
  return {
    host: transport.host,
    async send(request) {
      const { method, path, body = '' } = request;
      if (method === 'GET') return transport.send(request);
      const write: KubeWrite = { at: clock.now(), from, method, path, body };
      writes.push(write);
      const response = await transport.send(request);
      write.status = response.status;
      onAnswer(write);
      return response;
    },
  };
}

/**
 * Formats API server writes and AWS calls as one line each, in order of time. A line has the seconds since `begin`, the
 * client, the request and the result.
 */
export function formatTrace(writes: readonly KubeWrite[], calls: readonly CallRecord[], begin: Ms): string {
  const lines = [
    ...writes.map(({ at, from, method, path, body, status = '-' }) => ({
      at,
      text: `${from} ${method} ${path} ${body} → ${status}`,
    })),
    ...calls.map(({ at, accessKeyId, service, operation, identifiers, status = '-', errorCode = '', applied }) => ({
      at,
      text: `${accessKeyId} ${service}:${operation} ${JSON.stringify(identifiers)} → ${status} ${errorCode}${applied ? ' done' : ''}`,
    })),
  ];
  return lines
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, text }) => `${((at - begin) / 1000).toFixed(3)} ${text}`)
    .join('\n');
}

/** Whether a write is about this AWSFargateProfile or about a control plane. */
export function isAbout({ path, body }: KubeWrite, name: string): boolean {
  if (path.includes('/awsmanagedcontrolplanes/')) return true;
  if (!path.endsWith('/events')) return path.includes(`/awsfargateprofiles/${name}`);
  const involved = asRecord(asRecord(JSON.parse(body))['involvedObject']);
  return involved['name'] === name;
}

/** Describes a write about an AWSFargateProfile, or about its control plane, in a few words. */
export function describeWrite({ method, path, body }: KubeWrite): string {
  const patch = asRecord(JSON.parse(body));
  if (path.endsWith('/events')) return `event ${String(patch['reason'])}`;
  if (path.includes('/awsmanagedcontrolplanes/')) {
    const { finalizers } = asRecord(patch['metadata']);
    const isAdded = Array.isArray(finalizers) && finalizers.includes(CONTROL_PLANE_FINALIZER);
    return `control plane finalizer ${isAdded ? 'added' : 'removed'}`;
  }
  if (path.endsWith('/status')) return `status ${describeStatus(asRecord(patch['status']))}`;
  if (method === 'DELETE') return 'delete';
  const { resourceVersion: _precondition, annotations, ...metadata } = asRecord(patch['metadata']);
  const names = Object.keys(asRecord(annotations)).map((name) => (name === RECORD_ANNOTATION ? 'record' : name));
  return [...names, ...Object.keys(metadata)].toSorted().join(', ') || 'an empty patch';
}

/** Describes a status patch by the reason of its condition Ready. */
function describeStatus({ conditions }: Readonly<Record<string, unknown>>): string {
  const all = Array.isArray(conditions) ? conditions.map(asRecord) : [];
  return String(all.find(({ type }) => type === 'Ready')?.['reason']);
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});
