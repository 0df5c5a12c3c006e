import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse } from 'yaml';
import { takeBlocks } from '../../docs/blocks.ts';
import { UNPRIVILEGED_USER } from '../../envtest/control-plane/pool.ts';
import { expectGolden } from '../../support/golden.ts';
import type { ProgramResult } from '../../support/run-program.ts';
import { startCapaInstallation } from '../../world/cluster-api/capa-installation.ts';
import { type World, ACCOUNT, fargateProfile, pathOf, startWorld } from '../../world/world.ts';
import { runCapaf } from './run-capaf.ts';
import { applyKubeconfigSecret } from './workload.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const RBAC = '/apis/rbac.authorization.k8s.io/v1/clusterroles/capaf-system-manager';
const MANAGER_ROLE = `arn:aws:iam::${ACCOUNT}:role/capaf-manager`;
const TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate';
const FARGATE_TRUST = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Principal: { Service: 'eks-fargate-pods.amazonaws.com' }, Action: 'sts:AssumeRole' }],
});
const NOBODY = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Principal: { AWS: 'arn:aws:iam::999999999999:root' }, Action: 'sts:AssumeRole' }],
});

/** Applies the manager's Deployment, with the status that it would have if `readyReplicas` of its pods were ready. */
async function applyDeployment(world: World, readyReplicas: number): Promise<void> {
  const text = readFileSync(`${ROOT}/config/manager/deployment.yaml`, 'utf8').replace('controller:latest', 'capaf:dev');
  const deployment = parse(text) as { metadata: { labels: object } };
  const labels = { ...deployment.metadata.labels, 'cluster.x-k8s.io/provider': 'infrastructure-aws-fargate' };
  await world.apply({ ...deployment, metadata: { ...deployment.metadata, labels } });
  const path = '/apis/apps/v1/namespaces/capaf-system/deployments/capaf-controller-manager/status';
  await world.controlPlane.api.patch(path, { status: { replicas: 2, readyReplicas } });
}

async function startWorldWithManagerRole(): Promise<World> {
  const world = await startWorld();
  world.aws.admin.putRole({ name: 'capaf-manager', trustPolicy: NOBODY });
  await world.controlPlane.api.patch('/api/v1/namespaces/capaf-system/serviceaccounts/capaf-manager', {
    metadata: { annotations: { 'eks.amazonaws.com/role-arn': MANAGER_ROLE } },
  });
  await world.createEksCluster('prod');
  return world;
}

const doctor = (world: World, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<ProgramResult> =>
  runCapaf(world, ['doctor', ...args], { env });

function messagesOf({ stdout }: ProgramResult, wanted: string): string {
  const { checks } = JSON.parse(stdout) as { checks: readonly { result: string; message: string }[] };
  const found = checks.filter(({ result }) => result === wanted);
  return found.map(({ message }) => `${message}\n`).join('');
}

/** Replaces the parts of the output that differ between runs with placeholders. */
const normalized = (text: string): string =>
  text
    .replace(/(?<=^ +ok +capaf +)\S+$/m, '<version>')
    .replaceAll(/v1\.\d+\.\d+/g, '<version>')
    .replaceAll(/\S+(?= renews it)/g, '<holder>')
    .replaceAll(/127\.0\.0\.1:\d+/g, '<address>');

const golden = (name: string, { stdout }: ProgramResult): void =>
  expectGolden(new URL(`golden/doctor-${name}.golden`, import.meta.url), normalized(stdout));

describe('capaf doctor, in a healthy installation', () => {
  let world: World;
  before(async () => {
    world = await startWorldWithManagerRole();
    await applyDeployment(world, 2);
    await world.startManager({ flags: ['--leader-elect', '--leader-elect-namespace', 'capaf-system'] });
    await world.apply(fargateProfile('web'));
    await world.ready('web');
  });
  after(() => world.finish());
  const page = takeBlocks('docs/cli.md', import.meta.url);

  it('finds no problem, and changes nothing', async () => {
    const before = world.aws.admin.snapshot();
    const result = await doctor(world, ['--scan-roles']);
    golden('healthy', result);
    expect(result.code).to.equal(0);
    const { profiles, roles } = world.aws.admin.snapshot();
    expect({ profiles, roles }).to.deep.equal({ profiles: before.profiles, roles: before.roles });
  });

  it('prints what docs/cli.md shows for a missing permission', async () => {
    world.aws.admin.deny({ principal: MANAGER_ROLE, action: 'iam:PassRole' });
    const [, , ...args] = page.next('capaf doctor').trim().split(' ');
    const result = await doctor(world, args);
    world.aws.admin.allow();
    expect(normalized(result.stdout)).to.equal(normalized(page.next('problems: 1')));
    expect(result.code).to.equal(2);
  });

  it('finds with --cluster why CoreDNS does not run on Fargate', async () => {
    await applyKubeconfigSecret(world, 'prod');
    const labels = { 'k8s-app': 'kube-dns' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'coredns', image: 'coredns' }] } };
    await world.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'coredns', namespace: 'kube-system' },
      spec: { replicas: 2, selector: { matchLabels: labels }, template },
    });
    const result = await doctor(world, ['--cluster', 'prod', '-o', 'json']);
    expect(messagesOf(result, 'problem')).to.equal(
      '0 of 2 pods ready. No Fargate profile takes Deployment kube-system/coredns: none has a selector that matches it.\n',
    );
    expect(result.code).to.equal(2);
  });

  it('says what it may not see, which is no problem', async () => {
    world.aws.admin.deny({ principal: ACCOUNT, action: 'iam:SimulatePrincipalPolicy' });
    world.aws.admin.deny({ principal: ACCOUNT, action: 'eks:ListFargateProfiles' });
    const inAws = await doctor(world, ['-o', 'json']);
    world.aws.admin.allow();
    expect(messagesOf(inAws, 'unchecked')).to.contain('may not do iam:SimulatePrincipalPolicy');
    expect(messagesOf(inAws, 'unchecked')).to.contain('may not do eks:ListFargateProfiles');
    expect(inAws.code).to.equal(0);

    const { kubeconfigPath } = world.controlPlane.user(UNPRIVILEGED_USER.name);
    const inCluster = await doctor(world, ['-o', 'json', '--kubeconfig', kubeconfigPath]);
    for (const resource of [
      'deployments',
      'leases',
      'awsfargateprofiles',
      'subjectaccessreviews',
      'customresourcedefinitions',
    ])
      expect(messagesOf(inCluster, 'unchecked')).to.contain(`"${resource}" in API group`);
    expect(messagesOf(inCluster, 'problem') + messagesOf(inCluster, 'warning')).to.equal('');
    expect(inCluster.code).to.equal(0);
  });

  it('fails if the API server does not answer', async () => {
    const kubeconfig = readFileSync(world.controlPlane.kubeconfigPath, 'utf8');
    const path = join(mkdtempSync(join(tmpdir(), 'capaf-doctor-')), 'kubeconfig');
    writeFileSync(path, kubeconfig.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:1'));
    world.addCleanup(() => rm(dirname(path), { recursive: true }));
    const { code, stdout, stderr } = await doctor(world, ['--kubeconfig', path]);
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
    expect(stderr).to.contain('capaf: discovering /version').and.to.contain('ECONNREFUSED 127.0.0.1:1');
  });
});

describe('capaf doctor, in a world full of mistakes', () => {
  let world: World;
  before(async () => {
    world = await startWorldWithManagerRole();
    const { api } = world.controlPlane;
    const { admin } = world.aws;
    await applyDeployment(world, 0);
    const { rules } = (await api.get(RBAC)) as unknown as { rules: { resources: string[] }[] };
    await api.patch(RBAC, { rules: rules.filter(({ resources }) => !resources.includes('awsfargateprofiles/status')) });
    await world.apply({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'capaf-leader-election', namespace: 'capaf-system' },
      spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' },
    });
    admin.deny({ principal: MANAGER_ROLE, action: 'iam:PassRole' });
    const cluster = 'default_prod-control-plane';
    const clusterArn = `arn:aws:eks:us-east-1:${ACCOUNT}:cluster/${cluster}`;
    const tags = { [`${TAG}/eks-cluster`]: clusterArn, [`${TAG}/namespace`]: 'default' };
    const putRole = (name: string, ofCluster = clusterArn): string =>
      admin.putRole({
        name,
        trustPolicy: FARGATE_TRUST,
        tags: { ...tags, [`${TAG}/eks-cluster`]: ofCluster },
        attachedPolicies: ['arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy'],
      }).arn;
    const roleArn = putRole('prod-default_old_fargate');
    putRole('gone-default_old_fargate', clusterArn.replace('prod', 'gone'));
    admin.createCluster({ name: 'of-others' });
    putRole('of-others', clusterArn.replace(cluster, 'of-others'));
    admin.putProfile({
      cluster,
      name: 'default_old',
      podExecutionRoleArn: roleArn,
      tags: { [`${TAG}/owner`]: 'default/old' },
    });
    admin.putProfile({ cluster, name: 'of-nobody', podExecutionRoleArn: putRole('used') });
    await world.apply(fargateProfile('web'), fargateProfile('api'));
    const since = '2026-01-01T00:00:00Z';
    const message = 'IAM has no role "pods". Create it.';
    for (const name of ['web', 'api'])
      await api.patch(`${pathOf(name, 'default')}/status`, {
        status: {
          conditions: [{ type: 'Stalled', status: 'True', reason: 'RoleNotFound', message, lastTransitionTime: since }],
        },
      });
    await (await startCapaInstallation(world)).apply();
  });
  after(() => world.stop());

  it('names each mistake, says how to correct it, and prints the commands that remove what is left over', async () => {
    const result = await doctor(world, ['--scan-roles']);
    golden('mistakes', result);
    expect(result.code).to.equal(2);
  });

  it('still checks the management cluster if AWS cannot be reached', async () => {
    const result = await doctor(world, [], { AWS_ENDPOINT_URL: 'http://127.0.0.1:1' });
    golden('unreachable', result);
    expect(result.code).to.equal(2);
  });
});
