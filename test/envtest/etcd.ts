/** Flags of a single etcd whose data need not survive the machine. */
export function etcdFlags(dataDirectory: string, clientUrl: string): string[] {
  // prettier-ignore
  return [
    '--data-dir', dataDirectory, '--unsafe-no-fsync', '--log-level', 'warn',
    '--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl,
    // It has no peers, and listens for them all the same.
    '--listen-peer-urls', 'http://127.0.0.1:0',
  ];
}

/** Forgets all revisions but the current one, through etcd's JSON gateway. */
export async function compact(clientUrl: string): Promise<void> {
  const read = await call(clientUrl, '/v3/kv/range', { key: 'AA==', limit: '1' });
  const header = typeof read === 'object' && read !== null && 'header' in read ? read.header : undefined;
  const revision = typeof header === 'object' && header !== null && 'revision' in header ? header.revision : undefined;
  if (typeof revision !== 'string') throw new Error(`etcd's answer has no revision: ${JSON.stringify(read)}`);
  await call(clientUrl, '/v3/kv/compaction', { revision, physical: true });
}

async function call(clientUrl: string, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(new URL(path, clientUrl), { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`etcd ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}
