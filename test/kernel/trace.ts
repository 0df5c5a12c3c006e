import type { CallRecord } from '../aws/call-log.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import type { Transport } from '../../pkg/kube/transport.ts';

/** A request of a manager that changes something in the API server. */
export interface KubeWrite {
  /** Wall clock. */
  readonly at: Ms;
  /** Of the manager. */
  readonly from: string;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** What the server answered; absent: nothing (yet). */
  status?: number;
}

/** Notes what goes through a transport and is no read. `onAnswer` is told before the answer goes on its way. */
export function recordingWrites(
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

/** What happened at both doors, a line each, in the order of time: seconds since `begin`, who, what, and how it ended. */
export function traceOf(writes: readonly KubeWrite[], calls: readonly CallRecord[], begin: Ms): string {
  const lines = [
    ...writes.map(({ at, from, method, path, body, status = '-' }) => ({
      at,
      text: `${from} ${method} ${path} ${body} → ${status}`,
    })),
    ...calls.map(({ at, accessKeyId, service, operation, nouns, status = '-', errorCode = '', applied }) => ({
      at,
      text: `${accessKeyId} ${service}:${operation} ${JSON.stringify(nouns)} → ${status} ${errorCode}${applied ? ' done' : ''}`,
    })),
  ];
  return lines
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, text }) => `${((at - begin) / 1000).toFixed(3)} ${text}`)
    .join('\n');
}
