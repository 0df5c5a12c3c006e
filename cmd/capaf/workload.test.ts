import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
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
