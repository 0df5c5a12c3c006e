import { defaultAccount } from './admin/admin.ts';
import { startServer } from './transport/server.ts';

// An emulated AWS on loopback, with the access key `test`. Prints its URL, and ends on SIGTERM or SIGINT.
const server = await startServer({ keys: [{ accessKeyId: 'test', account: defaultAccount }] });
process.stdout.write(`${server.url}\n`);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void server.close());
