import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { KubeconfigError } from 'controller-runtime/kubeconfig';
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
  let directory = '';
  let path = '';
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'capaf-'));
    path = join(directory, 'pods.kubeconfig');
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('is read once: a later change of the file does not matter to the command', async () => {
    await writeFile(path, KUBECONFIG);
    await using given = openWorkloadKubeconfig({ workloadKubeconfig: path, namespace: 'team-a' }, io);
    await writeFile(path, 'no kubeconfig');
    await using workload = await openPodCluster({ eksCluster: 'prod' }, { workload: given }, undefined, io);
    expect(workload).to.include({ server: 'https://10.0.0.2:6443', namespace: 'team-a' });
  });

  it('ends the command at once if the file is no kubeconfig', async () => {
    await writeFile(path, 'no kubeconfig');
    expect(() => openWorkloadKubeconfig({ workloadKubeconfig: path }, io)).to.throw(KubeconfigError);
  });

  it('can be left out', () => {
    expect(openWorkloadKubeconfig({}, io)).to.equal(undefined);
  });
});
