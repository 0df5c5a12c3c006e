import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import type { RoleView } from '../aws/admin/views.ts';
import { AT_ONCE, PROFILE, ROLE, WEB, changeRoleByHand, patchWeb, startUntilReady } from './phases/phase.ts';
import { EKS_CLUSTER, MINUTE } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const [LOGS, THEIRS] = [
  'arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy',
  'arn:aws:iam::aws:policy/ReadOnlyAccess',
];
const ADDED_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/added';

const roleIn = (world: SimulatedWorld): RoleView =>
  world.aws.admin.roles().find(({ name }) => name === ROLE) ?? expect.fail('there is no role');
const profileTagsIn = (world: SimulatedWorld) =>
  world.aws.admin.profiles().find(({ name }) => name === PROFILE)?.tags ?? {};

/**
 * Writes a status with tag keys, a role or predecessors that allegedly come from the controller. Any client that may
 * write the status can do this.
 */
function claimInStatus(
  world: SimulatedWorld,
  claims: { readonly tagKeys?: readonly string[]; readonly role?: object; readonly predecessors?: readonly object[] },
): void {
  const status = { ...claims, initialization: { provisioned: false } };
  world.patch(PLURAL, WEB, { status }, 'status');
}

async function reconcile(world: SimulatedWorld): Promise<void> {
  world.triggerReconcile(WEB);
  await world.clock.advance(MINUTE);
  expect(world.condition(WEB)?.status).to.equal('True');
}

const operationsSince = (world: SimulatedWorld, count: number): readonly string[] =>
  world
    .mutations()
    .slice(count)
    .map(({ operation }) => operation);

describe('tags, policies, and a boundary that others add to the role and profile of an object', () => {
  it('stay, regardless of what a client writes into the status of the object', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, { additionalTags: { team: 'a' } });
    const role = roleIn(world);
    changeRoleByHand(world, ROLE, {
      permissionsBoundary: THEIRS,
      attachedPolicies: [...role.attachedPolicies, THEIRS],
      tags: { ...role.tags, cost: '7' },
    });
    world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: PROFILE, tags: { ...profileTagsIn(world), cost: '7' } });
    claimInStatus(world, {
      tagKeys: ['cost', 'team'],
      role: { permissionsBoundary: THEIRS, attachedPolicies: [THEIRS] },
    });
    await reconcile(world);
    expect(roleIn(world)).to.deep.include({ permissionsBoundary: THEIRS });
    expect(roleIn(world).attachedPolicies).to.include(THEIRS);
    expect([roleIn(world).tags['cost'], profileTagsIn(world)['cost']]).to.deep.equal(['7', '7']);
    await world.deleteAndFinish(WEB);
  });
});

describe('the profiles and roles of other objects and owners', () => {
  it('are not deleted, even if a client records them as replaced', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, { updateStrategy: { type: 'Replace' } });
    world.apply('other');
    await world.ready('other');
    const stranger = world.aws.admin.putRole({ name: 'stranger', trustPolicy: '{}' });
    world.aws.admin.putProfile({ cluster: EKS_CLUSTER, name: 'stranger', podExecutionRoleArn: stranger.arn });
    const before = [world.eksProfile('other'), world.role('other')];
    claimInStatus(world, {
      predecessors: [
        { name: 'default_other', role: before[1]?.name, arn: world.eksProfile('other')?.arn },
        { name: 'stranger', role: 'stranger' },
      ],
    });
    await reconcile(world);
    world.delete(WEB);
    await world.gone(WEB);
    expect([world.eksProfile('other'), world.role('other')]).to.deep.equal(before);
    expect([world.eksProfile('', 'stranger'), world.role('', 'stranger')]).not.to.include(undefined);
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'stranger' });
    world.aws.admin.removeRole({ name: 'stranger' });
    await world.deleteAndFinish('other');
  });
});

describe('tags and policies that an object adds to its role and profile', () => {
  const spec = { additionalTags: { team: 'a', cost: '7' }, roleAdditionalPolicies: [LOGS] };

  it('are recorded in the calls that create both, without an additional call', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, spec);
    expect(operationsSince(world, 0)).to.deep.equal([
      'CreateRole',
      'AttachRolePolicy',
      'AttachRolePolicy',
      'CreateFargateProfile',
    ]);
    expect([roleIn(world).tags[ADDED_TAG]?.length, profileTagsIn(world)[ADDED_TAG]?.length]).to.deep.equal([36, 24]);
    await world.deleteAndFinish(WEB);
  });

  it('are removed when the spec no longer requests them, together with their record', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, { additionalTags: { cost: '7' } });
    const before = [roleIn(world), profileTagsIn(world)];
    patchWeb(world, { spec });
    await world.clock.advance(AT_ONCE);
    expect(roleIn(world).attachedPolicies).to.include(LOGS);
    patchWeb(world, { spec: { additionalTags: { team: null }, roleAdditionalPolicies: null } });
    await world.clock.advance(AT_ONCE);
    expect([roleIn(world), profileTagsIn(world)]).to.deep.equal(before);
    await world.deleteAndFinish(WEB);
  });

  it('are recorded on a role and a profile without a record, so that they can be removed', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, spec);
    const { [ADDED_TAG]: _role, ...roleTags } = roleIn(world).tags;
    const { [ADDED_TAG]: _profile, ...profileTags } = profileTagsIn(world);
    changeRoleByHand(world, ROLE, { tags: roleTags });
    world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: PROFILE, tags: profileTags });
    const count = world.mutations().length;
    await reconcile(world);
    expect(operationsSince(world, count)).to.deep.equal(['TagRole', 'TagResource']);
    patchWeb(world, { spec: { additionalTags: null, roleAdditionalPolicies: null } });
    await world.clock.advance(AT_ONCE);
    expect(roleIn(world).attachedPolicies).to.not.include(LOGS);
    for (const tags of [roleIn(world).tags, profileTagsIn(world)])
      expect(tags).to.not.have.any.keys('team', 'cost', ADDED_TAG);
    await world.deleteAndFinish(WEB);
  });

  it('change on the profile even if AWS denies a tag removal on the role, and the object stays Ready', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, { additionalTags: { team: 'a' } });
    const changes = world.readyChanges(WEB);
    world.aws.admin.deny({ principal: '*', action: 'iam:UntagRole' });
    patchWeb(world, { spec: { additionalTags: { team: null, cost: '7' } } });
    await world.clock.advance(30 * MINUTE);
    expect(profileTagsIn(world)).to.include({ cost: '7' }).and.not.have.property('team');
    expect(roleIn(world).tags).to.include({ cost: '7', team: 'a' });
    expect(changes, 'changes of Ready').to.deep.equal([]);
    for (const type of ['EKSFargateProfileReady', 'IAMFargateRolesReady'])
      expect(world.condition(WEB, type)?.status, type).to.equal('True');
    expect(world.condition(WEB, 'Stalled')?.message).to.match(
      /^AWS denies a request from the controller to remove the tag "team" of IAM role "[^"]+"\. .* AWS says: .*iam:UntagRole/,
    );
    world.aws.admin.allow();
    await world.until('the tag is gone', () => roleIn(world).tags['team'] === undefined, 30 * MINUTE);
    await world.until('the notice is gone', () => world.condition(WEB, 'Stalled')?.status === 'False');
    await world.deleteAndFinish(WEB);
  });
});
