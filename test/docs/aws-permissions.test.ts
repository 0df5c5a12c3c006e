import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { INSTANCE_GROUP_PLURAL } from '../../api/external/index.ts';
import { PLURAL } from '../../api/v1beta2/index.ts';
import type { PolicyStatement, Question } from '../aws/model/authorization/policy.ts';
import { appliesTo, isAllowed, readIdentityPolicy } from '../aws/model/authorization/policy.ts';
import { changeRoleByHand } from '../simulation/phases/phase.ts';
import { ACCOUNT, CLUSTER, EKS_CLUSTER, MINUTE } from '../simulation/world/cluster.ts';
import { INSTANCE_GROUPS } from '../simulation/world/kinds.ts';
import { SimulatedWorld } from '../simulation/world/simulated-world.ts';
import { CAPA_TRUST, EKS_POLICY, FINALIZER, capaTags } from '../world/aws/capa-resources.ts';
import { takeBlocks } from './blocks.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const LOGS = 'arn:aws:iam::aws:policy/CloudWatchLogsFullAccess';
const BOUNDARY = `arn:aws:iam::${ACCOUNT}:policy/fargate-boundary`;
const NAMESPACE_TAG = 'aws:resourcetag/sigs.k8s.io/cluster-api-provider-aws-fargate/namespace';

/**
 * The IAM permissions that the manager needs although it never calls AWS operations with these names. EKS checks the
 * permissions during CreateFargateProfile.
 */
const CHECKED_BY_EKS = ['iam:PassRole', 'iam:CreateServiceLinkedRole'];

/**
 * The JSON blocks of docs/aws-permissions.md: the IAM policy of the manager, the statements that replace parts of the
 * policy where roles need a permissions boundary, the statement that lets EKS choose the subnets, and the statement for
 * the roles of keiko's InstanceGroups.
 */
const blocks = takeBlocks('docs/aws-permissions.md', import.meta.url);
const POLICY = blocks.next('"Version"');
const WITH_BOUNDARY = blocks.next('"iam:PermissionsBoundary"');
const CHOOSE_SUBNETS = blocks.next('"ec2:DescribeSubnets"');
const INSTANCE_GROUPS_ROLES = blocks.next('"TagNewRolesOfInstanceGroups"');

/**
 * Adds the ARN of a policy in `spec.roleAdditionalPolicies` to the policy statement AttachPolicies, as
 * docs/aws-permissions.md instructs users to do.
 */
const withLogs = (text: string): string => text.replace(`"${EKS_POLICY}"`, `"${EKS_POLICY}", "${LOGS}"`);

const statementsOf = (...texts: readonly string[]): readonly PolicyStatement[] =>
  readIdentityPolicy(`{"Version":"2012-10-17","Statement":[${texts.join()}]}`);

const documentedPolicy = (): readonly PolicyStatement[] => readIdentityPolicy(withLogs(POLICY));

function documentedPolicyWithBoundary(): readonly PolicyStatement[] {
  const replacements = readIdentityPolicy(`{"Version":"2012-10-17","Statement":${withLogs(WITH_BOUNDARY)}}`);
  const replaced = new Set(replacements.map(({ sid }) => sid));
  return [...documentedPolicy().filter(({ sid }) => !replaced.has(sid)), ...replacements];
}

/**
 * Returns the AWS operation, as `<service>:<Operation>`, of every SDK command that the code in pkg/cloud/<service>
 * constructs.
 */
function called(service: 'eks' | 'iam'): readonly string[] {
  const sources = globSync(`pkg/cloud/${service}/*.ts`, { cwd: root }).map((path) =>
    readFileSync(join(root, path), 'utf8'),
  );
  const commands = sources.flatMap((source) =>
    [...source.matchAll(/new (\w+)Command\(/g)].map(([, name]) => `${service}:${name}`),
  );
  return [...new Set(commands)];
}

/**
 * Lets a manager with this IAM policy create, correct, adopt and delete Fargate profiles. The emulated AWS denies all
 * calls that the policy does not allow. Returns the authorization checks that the emulated AWS has made.
 */
async function runUnder(policy: readonly PolicyStatement[], ...flags: readonly string[]): Promise<readonly Question[]> {
  const world = new SimulatedWorld();
  const { admin } = world.aws;
  for (const name of ['fargate-boundary', 'former-boundary']) admin.putPolicy({ account: ACCOUNT, name });
  putCapaResources(world, 'adopted');
  putCapaResources(world, 'deleted');
  const asked: Question[] = [];
  world.aws.model.policyCheck = { policy, asked };
  const hasRequiredBoundary = flags.length > 0;

  world.create(PLURAL, {
    metadata: { name: 'deleted', finalizers: [FINALIZER] },
    spec: { clusterName: CLUSTER, selectors: [{ namespace: 'deleted' }] },
  });
  world.delete('deleted');
  world.start(...flags);
  await world.gone('deleted');

  world.applyWith('web', { roleAdditionalPolicies: [LOGS], additionalTags: { team: 'a' }, rolePath: '/pods/' });
  world.applyWith('shared', { roleName: 'shared_fargate' });
  world.apply('adopted');
  if (!hasRequiredBoundary) await changeBoundary(world);
  await world.ready('web', 'shared', 'adopted');

  world.patch(PLURAL, 'web', { spec: { additionalTags: { team: null, stage: 'b' }, roleAdditionalPolicies: null } });
  changeRoleByHand(world, `${CLUSTER}-default_web_fargate`, { trustPolicy: CAPA_TRUST });
  admin.removeRole({ name: `${CLUSTER}-default_adopted_fargate` });
  // EKS binds the access entry of a role to the role's id. After the removal of the role, the manager must therefore
  // create both the role and the access entry again.
  admin.removeRole({ name: 'shared_fargate' });
  for (const name of ['adopted', 'shared']) world.triggerReconcile(name);
  await world.clock.advance(20 * MINUTE);

  const names = world.objects(PLURAL).map(({ metadata }) => metadata.name);
  world.delete(...names);
  await world.gone(...names);
  expect(
    admin.calls().flatMap(({ errorCode = '', errorMessage }) => (/AccessDenied/.test(errorCode) ? errorMessage : [])),
  ).to.deep.equal([]);
  await world.finish();
  return asked;
}

/**
 * Creates an AWSFargateProfile with spec.eksCluster and without subnets. The emulated AWS allows the manager only what
 * `policy` allows.
 */
function startWithoutSubnets(policy: readonly PolicyStatement[], asked: Question[] = []): SimulatedWorld {
  const world = new SimulatedWorld();
  world.aws.admin.createCluster({ name: 'tools' });
  world.aws.model.policyCheck = { policy, asked };
  world.start(`--allow-eks-cluster=default=${ACCOUNT}/us-east-1/tools`);
  world.applyWith('web', { clusterName: undefined, eksCluster: { name: 'tools', region: 'us-east-1' } });
  return world;
}

/** Creates an InstanceGroup of keiko. The emulated AWS allows the manager only what `policy` allows. */
function startWithInstanceGroup(policy: readonly PolicyStatement[], asked: Question[] = []): SimulatedWorld {
  const world = new SimulatedWorld();
  world.api.serve(INSTANCE_GROUPS);
  world.aws.admin.createCluster({ name: 'tools' });
  world.aws.model.policyCheck = { policy, asked };
  world.awsRegion = 'us-east-1';
  world.start(`--allow-eks-cluster=default=${ACCOUNT}/us-east-1/tools`, '--instance-groups');
  const fargate = { clusterName: 'tools', selectors: [{ namespace: 'web' }] };
  world.create(INSTANCE_GROUP_PLURAL, {
    metadata: { name: 'web' },
    spec: { provisioner: 'eks-fargate', strategy: { type: 'managed' }, 'eks-fargate': fargate },
  });
  return world;
}

/** Creates the AWS resources that Cluster API Provider AWS would create for an AWSFargateProfile. */
function putCapaResources({ aws: { admin } }: SimulatedWorld, name: string): void {
  const tags = capaTags(CLUSTER);
  const { arn } = admin.putRole({
    name: `${CLUSTER}-default_${name}_fargate`,
    trustPolicy: CAPA_TRUST,
    tags,
    attachedPolicies: [EKS_POLICY],
    foreign: false,
  });
  admin.putProfile({
    cluster: EKS_CLUSTER,
    name: `default_${name}`,
    podExecutionRoleArn: arn,
    selectors: [{ namespace: name, labels: {} }],
    tags,
    foreign: false,
  });
}

/**
 * Creates the AWSFargateProfile `bound` with a permissions boundary for its role, then changes and removes the
 * boundary.
 */
async function changeBoundary(world: SimulatedWorld): Promise<void> {
  const boundaryOf = (): string | undefined =>
    world.aws.admin.roles().find(({ name }) => name === `${CLUSTER}-default_bound_fargate`)?.permissionsBoundary;
  world.applyWith('bound', { rolePermissionsBoundary: `arn:aws:iam::${ACCOUNT}:policy/former-boundary` });
  await world.until('the first boundary', () => boundaryOf() !== undefined);
  world.patch(PLURAL, 'bound', { spec: { rolePermissionsBoundary: BOUNDARY } });
  await world.until('the second boundary', () => boundaryOf() === BOUNDARY);
  world.patch(PLURAL, 'bound', { spec: { rolePermissionsBoundary: null } });
  await world.until('no boundary', () => boundaryOf() === undefined);
}

/**
 * Returns the actions in the policy that the manager does not need, because the emulated AWS has made no authorization
 * check for them.
 */
const unneeded = (policy: readonly PolicyStatement[], asked: readonly Question[]): readonly string[] =>
  policy.flatMap((statement) =>
    statement.actions
      .filter((action) => !asked.some((question) => appliesTo({ ...statement, actions: [action] }, question)))
      .map((action) => `${statement.sid}: ${action}`),
  );

describe('docs/aws-permissions.md', () => {
  it('lists every call that the manager makes, and nothing else', () => {
    const calls = [...called('eks'), ...called('iam')];
    expect(calls).to.include.members(['eks:CreateFargateProfile', 'iam:CreateRole']);
    const actions = new Set(documentedPolicy().flatMap((statement) => statement.actions));
    expect([...actions]).to.have.members([...calls, ...CHECKED_BY_EKS]);
  });

  it('has a policy that allows creations, corrections, adoptions, and deletions, with no unnecessary actions', async () => {
    const policy = documentedPolicy();
    expect(unneeded(policy, await runUnder(policy))).to.deep.equal([]);
  });

  it('has a sufficient policy for a required permissions boundary, with no unnecessary actions', async () => {
    const policy = documentedPolicyWithBoundary();
    const asked = await runUnder(policy, '--require-permissions-boundary=arn:aws:iam::*:policy/fargate-boundary');
    expect(unneeded(policy, asked)).to.deep.equal([]);
  });

  it('has a statement that lets EKS choose the subnets, with no unnecessary actions', async () => {
    const statement = statementsOf(CHOOSE_SUBNETS);
    const asked: Question[] = [];
    const world = startWithoutSubnets([...documentedPolicy(), ...statement], asked);
    await world.ready('web');
    expect(unneeded(statement, asked)).to.deep.equal([]);
    await world.deleteAndFinish('web');
  });

  it('requires both actions that let EKS choose the subnets, and the object reports them', async () => {
    const statement = statementsOf(CHOOSE_SUBNETS);
    const actions = statement.flatMap((each) => each.actions);
    for (const missing of actions) {
      const kept = statement.map((each) => ({ ...each, actions: actions.filter((action) => action !== missing) }));
      const world = startWithoutSubnets([...documentedPolicy(), ...kept]);
      await world.until('it is denied', () => world.condition('web', 'Stalled')?.reason === 'SubnetChoiceDenied');
      for (const action of actions) expect(world.condition('web')?.message).to.include(action);
      await world.deleteAndFinish('web');
    }
  });

  it('has a statement that allows the roles of InstanceGroups, with no unnecessary actions', async () => {
    const statements = statementsOf(INSTANCE_GROUPS_ROLES, CHOOSE_SUBNETS);
    const asked: Question[] = [];
    const world = startWithInstanceGroup([...documentedPolicy(), ...statements], asked);
    await world.ready('web');
    expect(world.aws.admin.roles().map(({ name }) => name)).to.include('fargate-tools-11570656755408888675-role');
    expect(unneeded(statements, asked)).to.deep.equal([]);
    world.remove(INSTANCE_GROUP_PLURAL, 'web');
    await world.gone('web');
    await world.finish();
  });

  it('requires that statement for InstanceGroups, and the object reports the missing action', async () => {
    const world = startWithInstanceGroup([...documentedPolicy(), ...statementsOf(CHOOSE_SUBNETS)]);
    await world.until('it is denied', () => world.condition('web', 'Stalled')?.reason === 'AccessDenied');
    expect(world.condition('web')?.message).to.include('iam:TagRole');
    world.remove(INSTANCE_GROUP_PLURAL, 'web');
    await world.gone('web');
    await world.finish();
  });

  const role = (name: string): string => `arn:aws:iam::${ACCOUNT}:role/${name}`;
  const ours = { [NAMESPACE_TAG]: 'default', [NAMESPACE_TAG.replace('namespace', 'eks-cluster')]: 'arn' };
  /**
   * Authorization checks that the policy of the manager must deny: the calls change a role of another owner, create a
   * role without tags, or attach another policy to a role of the manager.
   */
  const asksOfRoles: readonly (readonly [string, Question])[] = [
    ['delete a role without its tags', { action: 'iam:DeleteRole', resource: role('admin'), context: {} }],
    [
      'tag a role of another name as its own',
      {
        action: 'iam:TagRole',
        resource: role('admin'),
        context: { [NAMESPACE_TAG.replace('resourcetag', 'requesttag')]: 'default' },
      },
    ],
    [
      'move a role to another namespace by a tag',
      {
        action: 'iam:TagRole',
        resource: role('prod-team-a_web_fargate'),
        context: { [NAMESPACE_TAG.replace('resourcetag', 'requesttag')]: 'default', [NAMESPACE_TAG]: 'team-a' },
      },
    ],
    ['create a role without tags', { action: 'iam:CreateRole', resource: role('prod-web_fargate'), context: {} }],
    [
      'attach another policy to its role',
      {
        action: 'iam:AttachRolePolicy',
        resource: role('prod-web_fargate'),
        context: { ...ours, 'iam:policyarn': 'arn:aws:iam::aws:policy/AdministratorAccess' },
      },
    ],
  ];
  it('has a policy that does not let the manager change roles of others, or attach other policies to its own roles', () => {
    for (const [what, question] of asksOfRoles) expect(isAllowed(documentedPolicy(), question), what).to.equal(false);
  });

  const asks: readonly (readonly [string, Question])[] = [
    [
      'pass a role to another service',
      { action: 'iam:PassRole', resource: role('admin'), context: { 'iam:passedtoservice': 'ec2.amazonaws.com' } },
    ],
    ['delete an EKS cluster', { action: 'eks:DeleteCluster', resource: 'arn:aws:eks:a:1:cluster/x', context: {} }],
  ];
  for (const [title, question] of asks)
    it(`has a policy that does not let the manager ${title}`, () => {
      expect(isAllowed(documentedPolicy(), question)).to.equal(false);
    });

  it('has a policy for a required permissions boundary that does not let the manager remove or bypass the boundary', () => {
    const policy = documentedPolicyWithBoundary();
    const isAllowedFor = (action: string, boundary: string | undefined): boolean =>
      isAllowed(policy, {
        action,
        resource: role('prod-web_fargate'),
        context: {
          ...ours,
          ...Object.fromEntries(
            Object.entries(ours).map(([key, value]) => [key.replace('resource', 'request'), value]),
          ),
          'iam:policyarn': EKS_POLICY,
          ...(boundary !== undefined && { 'iam:permissionsboundary': boundary }),
        },
      });
    for (const action of ['iam:CreateRole', 'iam:AttachRolePolicy', 'iam:PutRolePermissionsBoundary']) {
      expect(isAllowedFor(action, BOUNDARY), action).to.equal(true);
      expect(isAllowedFor(action, undefined), action).to.equal(false);
      expect(isAllowedFor(action, `${BOUNDARY}-2`), action).to.equal(false);
    }
    expect(isAllowedFor('iam:DeleteRolePermissionsBoundary', BOUNDARY)).to.equal(false);
  });
});
