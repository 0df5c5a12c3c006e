import { readFileSync } from 'node:fs';
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

/** Replaces ages and the version of the test's API server with placeholders. */
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
    expect(normalized(stdout), stderr).to.equal(normalized(page.next('To recreate them')));
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

  it('reads the pods of an EKS cluster without Cluster API with a kubeconfig, or says why AWS or EKS refuses', async () => {
    const { kubeconfigPath } = world.controlPlane;
    const args = ['--eks-cluster', 'prod', '-n', 'shop', '--outdated'];
    const { stdout, code } = await pods(...args, '--workload-kubeconfig', kubeconfigPath);
    expect(stdout).to.contain(
      `kubectl --kubeconfig=${kubeconfigPath} rollout restart --namespace=shop deployment/web\n`,
    );
    expect(code).to.equal(2);
    const unknown = await pods(...args);
    expect(unknown).to.deep.include({ stdout: '', code: 1 });
    expect(unknown.stderr).to.equal(
      'capaf: AWS has no EKS cluster prod in us-east-1, account 123456789012. Choose other credentials with --profile or --role-arn\n',
    );
    const name = 'default_prod-control-plane';
    const without = ['--eks-cluster', name, '-n', 'shop'];
    const { url, caPath } = world.controlPlane;
    const certificateAuthority = readFileSync(caPath).toString('base64');
    world.aws.admin.setCluster({ name, apiServer: { endpoint: 'http://10.0.0.1', certificateAuthority } });
    const remedy = `or name a kubeconfig with --workload-kubeconfig; this command writes one: aws eks update-kubeconfig --region=us-east-1 --name=${name} --kubeconfig=pods.kubeconfig`;
    expect((await pods(...without)).stderr).to.equal(
      `capaf: EKS shows no endpoint with a certificate authority for EKS cluster ${name}. EKS shows both when the cluster is ACTIVE, ${remedy}\n`,
    );
    // This API server does not accept EKS tokens. The API server in test/integration/drain accepts them.
    world.aws.admin.setCluster({ name, apiServer: { endpoint: url, certificateAuthority } });
    expect((await pods(...without)).stderr).to.equal('capaf: listing pods: Unauthorized\n');
  });

  it('fails without a cluster, and says what would be right', async () => {
    expect(await pods()).to.deep.equal({
      stdout: '',
      stderr: 'capaf: name either a Cluster of Cluster API with --cluster, or an EKS cluster with --eks-cluster\n',
      code: 1,
    });
  });
});
