import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { renderKustomization } from '../../../hack/release/kustomize.ts';
import { takeBlocks } from '../../docs/blocks.ts';
import { openTerminalInClone } from '../../docs/clone.ts';
import { type Edge, parseFlowchart } from '../../docs/flowchart.ts';
import type { Terminal } from '../../docs/terminal.ts';
import type { RawObject } from '../../envtest/clients/api.ts';
import { eventually } from '../../support/eventually.ts';
import { STAND_IN_CRDS } from '../../envtest/clients/crds.ts';
import { CONTROLLER_IDENTITY, ROLE_IDENTITY, identity, identityPath, userArn } from '../../world/aws/identities.ts';
import { ACCOUNT, AWS_KEY, clusterPath, controlPlanePath, fargateProfile, useWorld } from '../../world/world.ts';

const OTHER_ACCOUNT = '210987654321';
const SECRET = '/api/v1/namespaces/capaf-system/secrets/capaf-manager-credentials';

describe('the guides', () => {
  const world = useWorld({ crds: [STAND_IN_CRDS], hasRbac: false });
  let terminal: Terminal;

  before(async () => {
    terminal = await openTerminalInClone(world.controlPlane);
    world.addCleanup(() => terminal.close());
    await terminal.run('kubectl apply --server-side -k config/default');
    await world.createNamespace('team-a');
  });
  const anyCluster = takeBlocks('docs/any-eks-cluster.md', import.meta.url);
  const accounts = takeBlocks('docs/many-accounts.md', import.meta.url);
  const concepts = takeBlocks('docs/concepts.md', import.meta.url);
  const credentials = takeBlocks('docs/credentials.md', import.meta.url);
  const runbooks = takeBlocks('docs/runbooks.md', import.meta.url);
  const replace = takeBlocks('docs/replace.md', import.meta.url);

  it('render the region and the ARN of a role of yours, and restart the pods for it', async () => {
    const file = join(terminal.directory, 'kustomization.yaml');
    const region = credentials.next('AWS_REGION').replaceAll(/^(?=.)/gm, '  ');
    const irsa = credentials.next('components/irsa').replace('111122223333', '444455556666');
    writeFileSync(file, `${irsa.trimEnd()}\n${region}`);
    const rendered = renderKustomization(world.controlPlane.kubectlPath, terminal.directory);
    expect(rendered).to.match(/name: AWS_REGION\n +value: eu-west-1\n/);
    expect(rendered).to.contain('eks.amazonaws.com/role-arn: arn:aws:iam::444455556666:role/capaf-manager\n');
    await terminal.run(credentials.next('kubectl rollout restart'));
    const path = '/apis/apps/v1/namespaces/capaf-system/deployments/capaf-controller-manager';
    const { spec } = await world.controlPlane.api.get<{ readonly spec: object } & RawObject>(path);
    expect(JSON.stringify(spec)).to.contain('kubectl.kubernetes.io/restartedAt');
  });

  it('lead to a manager with the access keys of a Secret, for the EKS clusters that the operator allows', async () => {
    const { metadata, spec } = parse(anyCluster.next('eksCluster:')) as Record<
      'metadata' | 'spec',
      { eksCluster: { name: string; region: string } }
    >;
    world.aws.admin.createCluster(spec.eksCluster);
    await world.apply({
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
      kind: 'AWSFargateProfile',
      metadata,
      spec,
    });
    const keys = `[default]\naws_access_key_id = ${AWS_KEY}\naws_secret_access_key = secret\n`;
    writeFileSync(join(terminal.directory, 'capaf-credentials'), keys);
    await terminal.run(credentials.next('kubectl create secret'));
    const { data } = await world.controlPlane.api.get<{ readonly data: { readonly credentials: string } } & RawObject>(
      SECRET,
    );
    terminal.write('mounted/credentials', Buffer.from(data.credentials, 'base64').toString());
    await world.startManager({
      flags: anyCluster.next('--allow-eks-cluster=').trim().split('\n'),
      env: {
        AWS_ACCESS_KEY_ID: undefined,
        AWS_SECRET_ACCESS_KEY: undefined,
        AWS_SHARED_CREDENTIALS_FILE: join(terminal.home, 'mounted/credentials'),
      },
    });
  });

  it('lead to a profile in an EKS cluster that Cluster API does not manage', async () => {
    await world.ready('web', { namespace: 'team-a' });
    expect(await terminal.run(credentials.next('CredentialsReady'))).to.equal('team-a/web Authenticated\n');
    expect(await terminal.run(runbooks.next('kubectl get'))).to.match(/^team-a +web /m);
    expect(await terminal.run(runbooks.next('.status.profileStatus'))).to.match(/^team-a +web +ACTIVE$/m);
    await world.delete('web', 'team-a');
    await world.gone('web', { namespace: 'team-a' });
  });

  it('lead to a profile in another account', async () => {
    const trustPolicy = accounts
      .next('sts:ExternalId')
      .replace('arn:aws:iam::111122223333:role/capaf-manager', userArn(ACCOUNT, AWS_KEY));
    world.aws.admin.putRole({ name: 'fargate-manager', account: OTHER_ACCOUNT, trustPolicy });
    await world.apply(identity(CONTROLLER_IDENTITY, 'default'));
    await terminal.run(accounts.next('kubectl apply'));
    const { spec } = parse(accounts.next('identityRef:')) as { spec: { identityRef: { kind: string; name: string } } };
    await world.createEksCluster('prod', { namespace: 'team-a', account: OTHER_ACCOUNT, ...spec });
    await world.apply(fargateProfile('shop', {}, { namespace: 'team-a' }));
    await world.ready('shop', { namespace: 'team-a' });
    expect(await terminal.run(accounts.next('kubectl get'))).to.match(
      new RegExp(`^shop +${OTHER_ACCOUNT} +true$`, 'm'),
    );
  });

  it('lead to another profile of the same object, without a gap', async () => {
    const where = { namespace: 'team-a' };
    await world.patch('shop', parse(replace.next('updateStrategy:')) as object, 'team-a');
    await world.patch('shop', { spec: { selectors: [{ namespace: 'other' }] } }, 'team-a');
    const shop = async (jsonPath: string): Promise<string> =>
      terminal.run(`kubectl get awsfp shop -n team-a -o jsonpath='{${jsonPath}}'`);
    const reason = '.status.conditions[?(@.type=="Ready")].reason';
    await eventually(async () => expect(await shop(reason)).to.equal('PredecessorKept'), { what: 'the successor' });
    expect(await shop('.status.predecessors[*].name')).to.equal('team-a_shop');
    await world.patch('shop', { spec: { updateStrategy: { replace: null } } }, 'team-a');
    await eventually(async () => expect(await shop(reason)).to.equal('Ready'), { what: 'the end of the predecessor' });
    expect(await shop('.status.profileName')).to.equal('9999-team-a_shop');
    await world.patch('shop', { spec: { selectors: [{ namespace: 'shop' }] } }, 'team-a');
    await eventually(async () => expect(await shop('.status.profileName')).to.equal('9998-team-a_shop'), {
      what: 'a revert',
    });
    await world.ready('shop', where);
  });

  it('show the objects in docs/concepts.md as they are', async () => {
    const edges = parseFlowchart(concepts.next('flowchart'));
    const checks = await checksOfEdges();
    expect(edges.map(keyOf)).to.have.members([...checks.keys()]);
    for (const [edge, check] of checks) expect(check(), edge).to.equal(true);
  });

  const keyOf = ({ from, label, to }: Edge): string => `${from} → ${to}: ${label}`;

  /**
   * Returns a check for each arrow of the flowchart in docs/concepts.md. The check returns whether the label of the
   * arrow is true for the AWSFargateProfile `shop` and the objects and AWS resources around it.
   */
  async function checksOfEdges(): Promise<ReadonlyMap<string, () => boolean>> {
    const { api } = world.controlPlane;
    const get = (path: string): Promise<{ readonly spec: Record<string, unknown> } & RawObject> => api.get(path);
    const cluster = await get(clusterPath('prod', 'team-a'));
    const controlPlane = await get(controlPlanePath('prod', 'team-a'));
    const role = await get(identityPath(ROLE_IDENTITY, 'team-a'));
    const { spec, status, metadata } = (await world.profile('shop', 'team-a')) ?? expect.fail('the object is gone');
    const profile = world.awsView.profile('9998-team-a_shop') ?? expect.fail('the profile is gone');
    const podRole = world.awsView.role('prod-team-a_shop_fargate') ?? expect.fail('the role is gone');
    const [creation] = world.aws.log
      .read({ operation: 'CreateFargateProfile' })
      .filter(({ account }) => account === OTHER_ACCOUNT);
    const named = (value: unknown, kind: string, name: string): boolean => {
      const { kind: foundKind, name: foundName } = (value ?? {}) as { kind?: string; name?: string };
      return foundKind === kind && foundName === name;
    };
    const checks: Record<string, () => boolean> = {
      'AWSFargateProfile → Cluster: spec.clusterName, owner reference': () =>
        (spec as { clusterName?: string }).clusterName === 'prod' &&
        metadata.ownerReferences?.some((owner) => named(owner, 'Cluster', cluster.metadata.name)) === true,
      'Cluster → AWSManagedControlPlane: spec.controlPlaneRef': () =>
        named(cluster.spec['controlPlaneRef'], 'AWSManagedControlPlane', controlPlane.metadata.name),
      'AWSManagedControlPlane → AWSClusterRoleIdentity: spec.identityRef': () =>
        named(controlPlane.spec['identityRef'], ROLE_IDENTITY, role.metadata.name),
      'AWSManagedControlPlane → EKS cluster: CAPA creates: spec.eksClusterName': () =>
        controlPlane.spec['eksClusterName'] === profile.cluster,
      'AWSFargateProfile → Fargate profile: this provider creates: status.profileARN': () =>
        status?.['profileARN'] === profile.arn,
      'AWSFargateProfile → pod execution role: this provider creates: status.podExecutionRoleARN': () =>
        status?.['podExecutionRoleARN'] === podRole.arn,
      'AWSClusterRoleIdentity → Fargate profile: credentials: spec.roleARN': () =>
        role.spec['roleARN'] === `arn:aws:iam::${OTHER_ACCOUNT}:role/fargate-manager` &&
        creation?.principalArn?.startsWith(`arn:aws:sts::${OTHER_ACCOUNT}:assumed-role/fargate-manager/`) === true,
      'Fargate profile → EKS cluster: is part of': () => profile.cluster === 'team-a_prod-control-plane',
      'Fargate profile → pod execution role: starts pods with': () => profile.podExecutionRoleArn === podRole.arn,
    };
    return new Map(Object.entries(checks));
  }
});
