import { expect } from 'chai';
import { takeBlocks } from '../../docs/blocks.ts';
import type { ProgramResult } from '../../support/run-program.ts';
import { type World, startWorld } from '../../world/world.ts';
import { runCapaf } from './run-capaf.ts';
import { applyFargatePod, applyKubeconfigSecret } from './workload.ts';

const WEB = { labels: { app: 'web', 'pod-template-hash': '7d9c' }, owner: { kind: 'ReplicaSet', name: 'web-7d9c' } };
const OLD = 'v1.33.5-eks-ba24e9c';
const REFUSED = {
  phase: 'Pending',
  conditions: [
    {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: 'Pod not supported on Fargate: fields not supported: HostNetwork',
    },
  ],
};

/** Ages, and the version of the API server of the tests. */
const normalized = (text: string): string =>
  text.replaceAll(/\d+[smhd]$/gm, '<age>').replaceAll(/v1\.3[67]\.\d+/g, '<version>');

// The API server is both the management cluster and the workload cluster.
describe('capaf pods', () => {
  let world: World;
  const page = takeBlocks('docs/cli.md', import.meta.url);
  const pods = (...args: readonly string[]): Promise<ProgramResult> => runCapaf(world, ['pods', ...args]);
  const runBlock = (text: string): Promise<ProgramResult> => {
    const [program, ...args] = page.next(text).trim().split(' ');
    expect(program).to.equal('capaf');
    return runCapaf(world, args);
  };

  before(async () => {
    world = await startWorld();
    await world.createEksCluster('prod');
    await world.createNamespace('shop');
    const metadata = { name: 'default', namespace: 'shop' };
    await world.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata });
    await applyKubeconfigSecret(world, 'prod');
    const provisioned = { CapacityProvisioned: '0.5vCPU 2GB' };
    await applyFargatePod(world, 'web-7d9c-4xk2p', { ...WEB, kubelet: OLD, annotations: provisioned });
    await applyFargatePod(world, 'web-7d9c-9zq7m', { ...WEB, kubelet: 'v1.37.0-eks-5d1b0ce' });
    const jobs = { profile: 'default_jobs', kubelet: OLD };
    await applyFargatePod(world, 'backup-29384', { ...jobs, owner: { kind: 'Job', name: 'backup' } });
    await applyFargatePod(world, 'debug', { ...jobs, cpu: '2' });
    await applyFargatePod(world, 'ended', { ...jobs, status: { phase: 'Succeeded' } });
    await applyFargatePod(world, 'agent', { profile: 'default_jobs', status: REFUSED });
    await world.apply({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web', namespace: 'shop' },
      spec: { minAvailable: 2, selector: { matchLabels: { app: 'web' } } },
    });
  });
  after(() => world.stop());

  it('lists the pods on Fargate by profile, as the page shows', async () => {
    const { stdout, stderr, code } = await runBlock('capaf pods -A');
    expect(normalized(stdout), stderr).to.equal(normalized(page.next('Fargate pods in all')));
    expect(code).to.equal(2);
  });

  it('lists outdated pods with the commands that renew them, as the page shows', async () => {
    const { stdout, stderr, code } = await runBlock('--outdated');
    expect(normalized(stdout), stderr).to.equal(normalized(page.next('To renew them')));
    expect(code).to.equal(2);
  });

  it('prints one profile as JSON, and exits with 0 if nothing is wrong', async () => {
    const { stdout, code } = await pods(
      '-n',
      'shop',
      '--cluster',
      'prod',
      '--profile-name',
      'default_web',
      '-o',
      'json',
    );
    const { version, total, profiles } = JSON.parse(stdout) as {
      version: number;
      total: object;
      profiles: readonly { name: string; pods: readonly object[] }[];
    };
    expect(version).to.equal(1);
    expect(total).to.deep.equal({ pods: 2, outdated: 1, pending: 0, refused: 0, vCPU: 1, memoryGB: 3 });
    expect(profiles.map(({ name }) => name)).to.deep.equal(['default_web']);
    expect(profiles[0]?.pods[0]).to.deep.include({
      name: 'web-7d9c-4xk2p',
      billed: { vCPU: 0.5, memoryGB: 2 },
      owner: { kind: 'Deployment', name: 'web' },
      eviction: { allowed: false, budgets: ['web'] },
    });
    expect(code).to.equal(2);
    const elsewhere = await pods('-n', 'default', '--cluster', 'prod');
    expect(elsewhere).to.deep.include({ code: 0, stderr: '' });
    expect(elsewhere.stdout).to.match(/^Fargate pods in namespace default: 0, billed: 0 vCPU 0 GB/);
  });

  it('reads the pods of an EKS cluster without Cluster API with a kubeconfig, and only with one', async () => {
    const { kubeconfigPath } = world.controlPlane;
    const args = ['--eks-cluster', 'prod', '-n', 'shop', '--outdated'];
    const { stdout, code } = await pods(...args, '--workload-kubeconfig', kubeconfigPath);
    expect(stdout).to.contain(
      `kubectl --kubeconfig=${kubeconfigPath} rollout restart --namespace=shop deployment/web\n`,
    );
    expect(code).to.equal(2);
    const without = await pods(...args);
    expect(without).to.deep.include({ stdout: '', code: 1 });
    expect(without.stderr).to.equal(
      'capaf: the pods of EKS cluster prod are read with a kubeconfig. Write one with: aws eks update-kubeconfig --name=prod --kubeconfig=pods.kubeconfig, and name it with --workload-kubeconfig\n',
    );
  });

  it('fails for a wrong name or option, and says what would be right', async () => {
    const cases = [
      [[], /^capaf: name either a Cluster of Cluster API with --cluster, or an EKS cluster with --eks-cluster\n$/],
      [['--cluster', 'no'], /^capaf: there is no Cluster default\/no; choose its namespace or --context/],
    ] as const;
    for (const [args, problem] of cases) {
      const { stdout, stderr, code } = await pods(...args);
      expect({ stdout, code }, stderr).to.deep.equal({ stdout: '', code: 1 });
      expect(stderr).to.match(problem);
    }
  });
});
