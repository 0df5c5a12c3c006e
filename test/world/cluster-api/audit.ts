import { open, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RawObject } from '../../envtest/clients/api.ts';

/** A successful write request, with a status below 300, from the audit log of the API server. */
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
   * The time at which the request arrived, in milliseconds since the epoch, with fractions. The API server may execute
   * two writes of one object in another order than they arrived. Then both get the later time of arrival, so that the
   * times never contradict the order of execution.
   */
  readonly at: number;
  /**
   * The object in the response; undefined if the response has no object, e.g. because the request removed the object.
   */
  readonly object?: RawObject;
}

/** The audit log of the API server, which shows which client has changed which object. */
export interface AuditLog {
  readonly apiServerArgs: readonly string[];
  /** All write requests that the API server has logged so far, in the order in which it executed them. */
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
 * Creates the audit policy and the log path of an audit log. To write the log, the API server must be started with the
 * flags in `apiServerArgs`.
 * @param resources the plural names of the logged kinds, by API group; a subresource is written as `clusters/status`
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
      // Two concurrent reads of the log file would both return the same lines, so each read waits for the previous one.
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
 * Sorts audit events by the order in which the API server executed the requests. This order can differ from the order
 * of arrival, so requests for the same object are sorted by the resourceVersion that they produced.
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
 * Converts a time like `2026-11-21T19:46:12.123456Z` to milliseconds with fractions. Date.parse alone would drop the
 * microseconds.
 */
function timeOf({ requestReceivedTimestamp }: Entry): number {
  const [, fraction = '0'] = /\.(\d+)Z$/.exec(requestReceivedTimestamp) ?? [];
  return Date.parse(requestReceivedTimestamp.replace(/\.\d+Z$/, 'Z')) + Number(`0.${fraction}`) * 1_000;
}

/**
 * Reads a file from a byte offset to the end of the last complete line, because another process may be writing the line
 * after it. Returns the lines and the offset of the next read.
 */
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
