import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type Socket, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { listenOnLoopback } from '../../support/proxies/listen.ts';
import { runProgram } from '../../support/run-program.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { type World, fargateProfile, startWorld } from '../../world/world.ts';
import { PROGRAM, environmentOf, spawnCapaf } from './run-capaf.ts';

const POD = 'kind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {containers: [{name: main}]}\n';

describe('capaf, while it waits', () => {
  let world: World;
  let files: { readonly pod: string; readonly profile: string; readonly silent: string };
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket));
  before(async () => {
    world = await startWorld();
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web'));
    const { dir, kubeconfigPath } = world.controlPlane;
    const port = await listenOnLoopback(silent);
    const write = (name: string, text: string): string => {
      writeFileSync(join(dir, name), text);
      return join(dir, name);
    };
    files = {
      pod: write('pod.yaml', POD),
      profile: write('profile.yaml', stringify(fargateProfile('web'))),
      silent: write('silent', readFileSync(kubeconfigPath, 'utf8').replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`)),
    };
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    silent.close();
    await world.stop();
  });

  /** Starts the command, presses Ctrl-C at the first line about `what`, and returns this line. */
  async function interrupt(args: readonly string[], what: string): Promise<string> {
    const running = spawnCapaf(world, args);
    const closed = once(running, 'close') as Promise<[number]>;
    const lines: string[] = [];
    for await (const line of createInterface(running.stderr)) {
      lines.push(line);
      if (line.includes(what) && !running.killed) running.kill('SIGINT');
    }
    const [code] = await closed;
    const last = lines.pop();
    expect({ code, last }, lines.join('\n')).to.deep.equal({ code: 1, last: 'capaf: received SIGINT' });
    return lines.find((line) => line.includes(what)) ?? '';
  }

  const commands = {
    plan: () => ['plan'],
    'plan -f': () => ['plan', '-f', files.profile],
    'plan --delete': () => ['plan', '--delete', 'web'],
    'explain pod': () => ['explain', 'pod', '-f', files.pod, '--cluster', 'prod'],
    status: () => ['status'],
    import: () => ['import', '--from', 'live', '--cluster', 'prod', '-n', 'default'],
    doctor: () => ['doctor'],
  };
  for (const [name, args] of Object.entries(commands))
    it(`says that ${name} waits for a slow AWS, and ends at Ctrl-C before AWS answers`, async () => {
      const calls = callsFromNow(world.aws);
      world.aws.admin.setConfig({ latencyMs: 20_000 });
      try {
        expect(await interrupt(args(), 'AWS')).to.match(/^Waiting for AWS \(127\.0\.0\.1:\d+\): GetCallerIdentity …$/);
        expect(calls.all().filter(({ status }) => status !== undefined)).to.deep.equal([]);
      } finally {
        world.aws.admin.setConfig({ latencyMs: 0 });
      }
    });

  it('says that each command waits for an API server that does not answer, and ends at Ctrl-C', async () => {
    const all = [
      ...Object.values(commands).map((args) => args()),
      ['pods', '--cluster', 'prod'],
      ['pods', '--eks-cluster', 'prod'],
    ];
    const lines = await Promise.all(
      all.map((args) => interrupt([...args, '--kubeconfig', files.silent], 'API server')),
    );
    for (const line of lines) expect(line).to.match(/^Waiting for the API server \(127\.0\.0\.1:\d+\): GET \/\S+ …$/);
  });

  it('says one after the other what takes an AWS of 2 s a call so long, and still answers', async () => {
    world.aws.admin.setConfig({ latencyMs: 2_000 });
    const args = [PROGRAM, 'explain', 'pod', '-f', files.pod, '--cluster', 'prod', '-o', 'json'];
    const { stdout, stderr, code } = await runProgram(process.execPath, args, {
      name: 'capaf',
      env: environmentOf(world, {}),
    }).finally(() => world.aws.admin.setConfig({ latencyMs: 0 }));
    const waits = [...stderr.matchAll(/^Waiting for AWS \(127\.0\.0\.1:\d+\): (.*) …$/gm)].map(([, what]) => what);
    expect(waits)
      .to.include('GetCallerIdentity')
      .and.to.include('GET /clusters/default_prod-control-plane/fargate-profiles');
    expect(JSON.parse(stdout)).to.deep.include({ taker: null, unseen: [] });
    expect(code).to.equal(2);
  });
});
