import { parseArgs } from 'node:util';
import { type ClusterRequest, defaultAccount, defaultRegion } from './admin/admin.ts';
import type { Delay } from './model/config.ts';
import { seededEnv } from './model/env.ts';
import { startServer } from './transport/server.ts';

const usage = `Usage: node test/aws/main.ts [flags]

An emulated AWS (EKS Fargate profiles, IAM roles, STS) on loopback. Prints its URL, ends on SIGTERM or SIGINT.

  --port <n>               port to listen on; 0 takes a free one (default 0)
  --access-key <id=acct>   an access key id and its account; repeatable (default test=${defaultAccount})
  --cluster <name[@region[/account]]>   an ACTIVE cluster to begin with; repeatable
  --create-ms <n|from-to>  how long a profile is CREATING (default 2000)
  --delete-ms <n|from-to>  how long a profile is DELETING (default 2000)
  --latency-ms <n|from-to> how long a call takes (default 0)
  --seed <n>               seed of ids and random delays (default 1)
`;

function readDelay(text: string): Delay {
  const parts = /^(\d+)(?:-(\d+))?$/.exec(text);
  if (parts === null) throw new Error(`not a time in milliseconds: ${text}`);
  const from = Number(parts[1]);
  return parts[2] === undefined ? from : [from, Number(parts[2])];
}

function readKey(text: string): { accessKeyId: string; account: string } {
  const [accessKeyId = '', account = ''] = text.split('=');
  if (accessKeyId === '' || !/^\d{12}$/.test(account)) throw new Error(`not <access key id>=<account>: ${text}`);
  return { accessKeyId, account };
}

function readCluster(text: string): ClusterRequest {
  const [name = '', place = ''] = text.split('@');
  const [region = '', account = ''] = place.split('/');
  return { name, region: region || defaultRegion, account: account || defaultAccount };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      'access-key': { type: 'string', multiple: true, default: [`test=${defaultAccount}`] },
      cluster: { type: 'string', multiple: true, default: [] },
      'create-ms': { type: 'string', default: '2000' },
      'delete-ms': { type: 'string', default: '2000' },
      'latency-ms': { type: 'string', default: '0' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const server = await startServer({
    port: Number(values.port),
    env: seededEnv(Number(values.seed)),
    keys: values['access-key'].map(readKey),
    config: {
      eks: { createMs: readDelay(values['create-ms']), deleteMs: readDelay(values['delete-ms']) },
      latencyMs: readDelay(values['latency-ms']),
    },
  });
  for (const cluster of values.cluster) server.emulator.admin.createCluster(readCluster(cluster));
  process.stdout.write(`${server.url}\n`);
  const stop = (): void => {
    server.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
