/** The highest number of operations that etcd allows in one transaction: the default of its flag `--max-txn-ops`. */
const MAX_OPERATIONS = 128;
/** A zero byte in base64. A range request to etcd with this value as `key` and as `range_end` selects all keys. */
const ALL = Buffer.from([0]).toString('base64');

/**
 * With one processor instead of two, etcd takes a third less CPU time in the integration tests, because its goroutines
 * wake up no idle threads.
 */
export const ETCD_ENVIRONMENT = { GOMAXPROCS: '1' };

/**
 * Returns the command line flags of an etcd cluster with a single member. This etcd does not call fsync, which saves
 * time, but loses data if the machine crashes.
 */
export function etcdFlags(dataDirectory: string, clientUrl: string): string[] {
  // prettier-ignore
  return [
    '--data-dir', dataDirectory, '--unsafe-no-fsync', '--log-level', 'warn',
    '--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl,
    // etcd opens a port for other members of its cluster even if the cluster has no other members.
    '--listen-peer-urls', 'http://127.0.0.1:0',
  ];
}

/** The contents of etcd: each key with its value in base64. */
export type EtcdContents = ReadonlyMap<string, string>;

interface RangeResponse {
  readonly header?: { readonly revision?: string };
  /** The keys and values of etcd that match the range request; undefined if none match. */
  readonly kvs?: readonly { readonly key: string; readonly value?: string }[];
}

/** Reads all keys and values of etcd through its JSON gateway. */
export async function readAllKeys(clientUrl: string): Promise<EtcdContents> {
  const { kvs = [] } = await call<RangeResponse>(clientUrl, '/v3/kv/range', { key: ALL, range_end: ALL });
  return new Map(kvs.map(({ key, value = '' }) => [Buffer.from(key, 'base64').toString(), value]));
}

/**
 * Writes the given values to etcd, and deletes the keys whose value is undefined. The API server treats these changes
 * like those of another API server with the same etcd.
 */
export async function writeKeys(clientUrl: string, changes: ReadonlyMap<string, string | undefined>): Promise<void> {
  const operations = [...changes].map(([name, value]) => {
    const key = Buffer.from(name).toString('base64');
    return value === undefined ? { requestDeleteRange: { key } } : { requestPut: { key, value } };
  });
  for (let done = 0; done < operations.length; done += MAX_OPERATIONS) {
    await call(clientUrl, '/v3/kv/txn', { success: operations.slice(done, done + MAX_OPERATIONS) });
  }
}

/** Compacts etcd, which removes the old revisions of each key and keeps its current revision. */
export async function compactRevisions(clientUrl: string): Promise<void> {
  const { header } = await call<RangeResponse>(clientUrl, '/v3/kv/range', { key: ALL, limit: '1' });
  if (header?.revision === undefined) throw new Error('the response of etcd has no revision');
  await call(clientUrl, '/v3/kv/compaction', { revision: header.revision, physical: true });
}

async function call<T>(clientUrl: string, path: string, body: unknown): Promise<T> {
  const response = await fetch(new URL(path, clientUrl), { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`etcd ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}
