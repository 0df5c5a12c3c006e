import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createKubeClient } from 'controller-runtime/client';
import { FakeApiServer, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import { readDns } from './doctor/dns.ts';
import { quietIo } from './testing/quiet-io.ts';
import { openPodCluster, openWorkloadKubeconfig } from './workload.ts';

const KUBECONFIG = `
apiVersion: v1
kind: Config
current-context: pods
contexts: [{ name: pods, context: { cluster: pods, user: me } }]
clusters: [{ name: pods, cluster: { server: 'https://10.0.0.2:6443' } }]
users: [{ name: me, user: { token: any } }]
`;

describe('--workload-kubeconfig', () => {
  const io = quietIo();

  it('is read once: a later change of the file does not matter to the command', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'capaf-'));
    const path = join(directory, 'pods.kubeconfig');
    await writeFile(path, KUBECONFIG);
    await using given = openWorkloadKubeconfig({ workloadKubeconfig: path, namespace: 'team-a' }, io);
    await rm(directory, { recursive: true });
    await using workload = await openPodCluster({ eksCluster: 'prod' }, { workload: given }, undefined, io);
    expect(workload).to.include({ server: 'https://10.0.0.2:6443', namespace: 'team-a' });
  });

  it('can be left out', () => {
    expect(openWorkloadKubeconfig({}, io)).to.equal(undefined);
  });
});

describe('a Cluster that does not exist', () => {
  const clock = new VirtualClock();
  const clusters = { group: 'cluster.x-k8s.io', plural: 'clusters', kind: 'Cluster', versions: ['v1beta2'] };
  const transport = new FakeApiServer({ clock, random: new SeededRandom(1), kinds: [{ ...clusters, status: false }] });
  const management = {
    namespace: 'default',
    server: 'https://10.0.0.1:6443',
    client: createKubeClient({ transport, clock }),
    [Symbol.asyncDispose]: async () => {},
  };
  const key = { namespace: 'default', name: 'nope' };
  const options = { workload: undefined };
  for (const [command, open] of [
    ['pods', () => openPodCluster({ cluster: key }, options, management, quietIo())],
    ['doctor', () => readDns({ ...options, cluster: key.name }, management, quietIo())],
  ] as const)
    it(`ends capaf ${command} with an error that names it, and no Secret`, async () => {
      expect(await open().then(() => 'no error', String)).to.equal(
        'Failure: there is no Cluster default/nope; check its name, its namespace and the --context',
      );
    });
});
