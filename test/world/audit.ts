import { open, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '../envtest/api.ts';

/** What the API server has on record of one request that changed something. */
export interface AuditEvent {
  readonly verb: string;
  readonly userAgent: string;
  readonly objectRef: {
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  /** When it arrived, or what it waited for did, in milliseconds since the epoch; not whole ones. */
  readonly at: number;
  /** The object as the request left it; absent where it took it away at once. */
  readonly object?: KubeObject;
}

/** The API server's own record of who changed which object, from its start on. */
export interface Audit {
  readonly apiServerArgs: readonly string[];
  /** All so far, in the order in which they were carried out. */
  read(): Promise<readonly AuditEvent[]>;
  close(): Promise<void>;
}

interface Entry {
  readonly verb: string;
  readonly userAgent: string;
  readonly objectRef: AuditEvent['objectRef'];
  readonly responseStatus: { readonly code: number };
  readonly requestReceivedTimestamp: string;
  readonly responseObject?: KubeObject;
}

/** @param resources by API group, subresources as `things/status`; requests that were refused are left out */
export async function auditOf(resources: Readonly<Record<string, readonly string[]>>): Promise<Audit> {
  const directory = await mkdtemp(join(tmpdir(), 'capaf-audit-'));
  const [policyPath, logPath] = [join(directory, 'policy.json'), join(directory, 'audit.log')];
  const rule = {
    level: 'RequestResponse',
    verbs: ['create', 'update', 'patch', 'delete'],
    resources: Object.entries(resources).map(([group, names]) => ({ group, resources: names })),
  };
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    omitManagedFields: true,
    rules: [rule, { level: 'None' }],
  };
  await writeFile(policyPath, JSON.stringify(policy));
  const events: AuditEvent[] = [];
  let offset = 0;
  let reading: Promise<void> = Promise.resolve();
  const readOn = async (): Promise<void> => {
    const whole = await wholeLines(logPath, offset);
    offset = whole.offset;
    events.push(...whole.lines.map((line) => JSON.parse(line) as Entry).flatMap(eventOf));
  };
  return {
    apiServerArgs: ['--audit-policy-file', policyPath, '--audit-log-path', logPath],
    read: async () => {
      // One after the other, so that no line is read twice.
      reading = reading.then(readOn);
      await reading;
      return inOrder(events);
    },
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

function eventOf(entry: Entry): readonly AuditEvent[] {
  const { verb, userAgent, objectRef, responseStatus, responseObject } = entry;
  if (responseStatus.code >= 300) return [];
  const isObject = responseObject !== undefined && responseObject.kind !== 'Status';
  return [{ verb, userAgent, objectRef, at: timeOf(entry), ...(isObject && { object: responseObject }) }];
}

/** Of requests for one object that arrived together its resourceVersion says which was first. */
function inOrder(events: readonly AuditEvent[]): readonly AuditEvent[] {
  const objects = Map.groupBy(events, ({ objectRef: { resource, namespace, name } }) =>
    [resource, namespace, name].join(),
  );
  const version = ({ object }: AuditEvent): number => Number(object?.metadata.resourceVersion ?? Infinity);
  return [...objects.values()]
    .flatMap((requests) => {
      let latest = 0;
      return requests
        .toSorted((a, b) => version(a) - version(b))
        .map((request) => {
          latest = Math.max(latest, request.at);
          return { ...request, at: latest };
        });
    })
    .toSorted((a, b) => a.at - b.at);
}

/** `2026-11-21T19:46:12.123456Z`; a Date has no microseconds. */
function timeOf({ requestReceivedTimestamp }: Entry): number {
  const [, fraction = '0'] = /\.(\d+)Z$/.exec(requestReceivedTimestamp) ?? [];
  return Date.parse(requestReceivedTimestamp.replace(/\.\d+Z$/, 'Z')) + Number(`0.${fraction}`) * 1_000;
}

/** The lines from an offset on that are complete, and where the next one begins. */
async function wholeLines(
  path: string,
  offset: number,
): Promise<{ readonly lines: readonly string[]; readonly offset: number }> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(size - offset);
    await file.read(buffer, 0, buffer.length, offset);
    const end = buffer.lastIndexOf('\n') + 1;
    const lines = buffer.subarray(0, end).toString().split('\n');
    return { lines: lines.filter((line) => line !== ''), offset: offset + end };
  } finally {
    await file.close();
  }
}
