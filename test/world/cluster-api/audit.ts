import { open, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RawObject } from '../../envtest/clients/api.ts';

/** A successful write request (status code below 300) that the API server has recorded in its audit log. */
export interface AuditEvent {
  readonly verb: string;
  readonly userAgent: string;
  readonly objectRef: {
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  /**
   * The time at which the request arrived, in milliseconds since the epoch, with fractions. If the API server executed
   * another write of the same object earlier, although that write arrived later, this is the arrival time of that other
   * write. So the times are in the order of execution.
   */
  readonly at: number;
  /**
   * The object after the request; undefined if the response has no object, e.g. because the request removed the object.
   */
  readonly object?: RawObject;
}

/** The audit log of the API server. It shows which client changed which object since the API server has started. */
export interface AuditLog {
  readonly apiServerArgs: readonly string[];
  /** All audit events that the API server has written so far, in the order in which it executed the requests. */
  read(): Promise<readonly AuditEvent[]>;
  close(): Promise<void>;
}

interface Entry {
  readonly verb: string;
  readonly userAgent: string;
  readonly objectRef: AuditEvent['objectRef'];
  readonly responseStatus: { readonly code: number };
  readonly requestReceivedTimestamp: string;
  readonly responseObject?: RawObject;
}

/**
 * Creates the audit policy and the path of an audit log. The API server writes the log if its flags include
 * `apiServerArgs`.
 * @param resources the plural names of the kinds to log, by API group; a subresource is written as `clusters/status`
 */
export async function createAuditLog(resources: Readonly<Record<string, readonly string[]>>): Promise<AuditLog> {
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
  const readNewLines = async (): Promise<void> => {
    const whole = await wholeLines(logPath, offset);
    offset = whole.offset;
    events.push(...whole.lines.map((line) => JSON.parse(line) as Entry).flatMap(eventOf));
  };
  return {
    apiServerArgs: ['--audit-policy-file', policyPath, '--audit-log-path', logPath],
    read: async () => {
      // Two reads of the log file must not run at the same time, otherwise both would return the same lines.
      reading = reading.then(readNewLines);
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

/**
 * Sorts audit events in the order of execution. The API server may execute requests in another order than they arrive,
 * so requests for the same object are sorted by the resourceVersion that they produced.
 */
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

/**
 * Converts a time like `2026-11-21T19:46:12.123456Z` to milliseconds with fractions. Date.parse would ignore the
 * microseconds.
 */
function timeOf({ requestReceivedTimestamp }: Entry): number {
  const [, fraction = '0'] = /\.(\d+)Z$/.exec(requestReceivedTimestamp) ?? [];
  return Date.parse(requestReceivedTimestamp.replace(/\.\d+Z$/, 'Z')) + Number(`0.${fraction}`) * 1_000;
}

/** Reads a file from a byte offset up to the last complete line. Returns these lines and the byte offset after them. */
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
