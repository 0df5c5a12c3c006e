import { expect } from 'chai';
import { takeBlocks } from '../../docs/blocks.ts';
import { ACCOUNT, fargateProfile, useWorld } from '../../world/world.ts';
import { type CapafOptions, runCapaf } from './run-capaf.ts';
import { applyFargatePod, applyKubeconfigSecret } from './workload.ts';

const EKS_CLUSTER = 'default_prod-control-plane';
const roleArn = (name: string): string => `arn:aws:iam::${ACCOUNT}:role/${name}`;

interface Node {
  readonly kind: string;
  readonly name: string;
  readonly state: string;
  readonly facts?: object;
  readonly children?: readonly Node[];
}

const nodesIn = (tree: readonly Node[]): readonly Node[] =>
  tree.flatMap((node) => [node, ...nodesIn(node.children ?? [])]);

/** Replaces ages and subnet ids with placeholders. */
const normalized = (text: string): string =>
  text.replaceAll(/\d+[smhd] ago/g, '<age>').replaceAll(/subnet-[0-9a-f]{17}/g, '<subnet>');

// The API server is both the management cluster and the workload cluster.
describe('capaf status', () => {
  const world = useWorld();
  const page = takeBlocks('docs/cli.md', import.meta.url);
  const status = (args: readonly string[], options: CapafOptions = {}) => runCapaf(world, ['status', ...args], options);
  const findNodes = async (kind: string, ...args: readonly string[]): Promise<readonly Node[]> => {
    const { stdout, stderr } = await status([...args, '-o', 'json']);
    const { version, tree } = JSON.parse(stdout) as { version: number; tree: readonly Node[] };
    expect(version, stderr).to.equal(1);
    return nodesIn(tree).filter((node) => node.kind === kind);
  };

  before(async () => {
    await world.startManager();
    await world.createEksCluster('prod');
    await world.createNamespace('shop');
    const selectors = [{ namespace: 'shop' }];
    await world.apply(fargateProfile('web', { selectors, updateStrategy: { type: 'Replace' } }));
    await world.ready('web');
    await world.event('web', 'Created new EKS fargate profile');
    await world.apply(fargateProfile('api', { roleARN: roleArn('pods') }));
    await world.condition('api', 'Stalled', { status: 'True' });
    await world.event('api', 'RoleNotFound');
    const old = { cluster: EKS_CLUSTER, name: 'legacy', subnets: ['subnet-0aaaaaaaaaaaaaaaa'] };
    world.aws.admin.putProfile({ ...old, podExecutionRoleArn: roleArn('old') });
    await applyKubeconfigSecret(world, 'prod');
    await applyFargatePod(world, 'a', { kubelet: 'v1.33.5-eks-1' });
    await applyFargatePod(world, 'b', { kubelet: 'v1.33.5-eks-1' });
  });

  it('shows each object with what belongs to it, and profiles without an object, as the page shows', async () => {
    const [, , ...args] = page.next('capaf status').trim().split(' ');
    const { stdout, stderr, code } = await status(args);
    expect(normalized(stdout), stderr).to.equal(normalized(page.next('AWSFargateProfiles in')));
    expect(code).to.equal(2);
  });

  it('exits with 0 if the objects that are asked for are Ready, and leaves out the profiles of others', async () => {
    const { stdout, code } = await status(['web']);
    expect(stdout).to.match(/^AWSFargateProfiles in namespace default: 1, not Ready: 0\n/);
    expect(stdout).not.to.contain('legacy');
    expect(code).to.equal(0);
  });

  it('tells the profile that a replacement makes from its predecessor', async () => {
    await world.patch('web', {
      spec: {
        selectors: [{ namespace: 'shop', labels: { app: 'web' } }],
        updateStrategy: { replace: { keepPredecessorFor: '1h' } },
      },
    });
    await world.condition('web', 'Ready', { status: 'True', reason: 'PredecessorKept' });
    const profiles = await findNodes('FargateProfile', 'web');
    expect(profiles.map(({ facts }) => facts)).to.deep.equal([
      { relation: 'desired', pods: 0 },
      { relation: 'predecessor', pods: 2 },
    ]);
    const [condition] = await findNodes('Condition', 'web');
    expect(condition?.state).to.equal('True PredecessorKept');
    await world.patch('web', { spec: { updateStrategy: { replace: { keepPredecessorFor: '0s' } } } });
    await world.condition('web', 'Ready', { status: 'True', reason: 'Ready' });
  });

  it('shows an EKS cluster without Cluster API and without an API server', async () => {
    const env = { KUBECONFIG: '/nonexistent' };
    const { stdout, code } = await status(['--eks-cluster', EKS_CLUSTER], { env });
    expect(stdout).to.match(
      /^EKSCluster default_prod-control-plane: ACTIVE, region: us-east-1, account: 123456789012\n/,
    );
    expect(stdout).to.contain('  FargateProfile legacy: ACTIVE, relation: unowned\n');
    expect(stdout).to.contain('relation: unowned, owner: default/web\n');
    expect(stdout).to.contain('  Pods on Fargate: not seen, listing pods: no answer: ');
    expect(code).to.equal(2);
  });

  it('shows what the objects tell while AWS and the pods are out of reach', async () => {
    const user = { token: 'nobody' };
    await applyKubeconfigSecret(world, 'prod', user);
    const { stdout, code } = await status([], { env: { AWS_ENDPOINT_URL: 'http://127.0.0.1:1' } });
    await applyKubeconfigSecret(world, 'prod');
    expect(stdout).to.match(/^ {2}EKSCluster default_prod-control-plane: not seen, .*ECONNREFUSED/m);
    expect(stdout).to.match(/^ {4}FargateProfile \S*default_web: ACTIVE, as far as the object shows$/m);
    expect(stdout).to.match(/^ {2}Pods on Fargate: not seen, .*Unauthorized/m);
    expect(code).to.equal(2);
  });

  it('fails for a wrong name or option, and says what would be right', async () => {
    const cases = [
      [
        ['web', '--eks-cluster', 'x'],
        '--eks-cluster shows an EKS cluster without objects: leave out --cluster and the names',
      ],
      [
        ['--eks-cluster', 'nope'],
        'AWS has no EKS cluster nope in us-east-1; check the region, which --region or an object names, and the account of the credentials',
      ],
      [
        ['--workload-kubeconfig', 'x'],
        '--workload-kubeconfig is of one cluster: name it with --cluster or --eks-cluster',
      ],
    ] as const;
    for (const [args, problem] of cases)
      expect(await status(args)).to.deep.equal({ stdout: '', stderr: `capaf: ${problem}\n`, code: 1 });
  });
});
