import { expect } from 'chai';
import { fieldAt } from 'controller-runtime/json';
import { ADDED_TAG } from '../../pkg/fargate/tags/tag-keys.ts';
import { CAPA_TRUST, EKS_POLICY } from '../world/aws/capa-resources.ts';
import {
  AT_ONCE,
  PROFILE,
  ROLE,
  WEB,
  acceptRequests,
  changeRoleByHand,
  refuseRequests,
  patchControlPlane,
  patchWeb,
  startUntilReady,
} from './phases/phase.ts';
import { EKS_CLUSTER, MINUTE } from './world/cluster.ts';
import { it } from './world/it.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';

const LOGS = 'arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy';

const profileIn = (world: SimulatedWorld) => world.eksProfile(WEB) ?? expect.fail('there is no Fargate profile');
const roleIn = (world: SimulatedWorld) => world.role(WEB) ?? expect.fail('there is no role');
const setProfileTags = (world: SimulatedWorld, tags: Readonly<Record<string, string>>): void =>
  world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: PROFILE, tags });
const canPodsJoin = (world: SimulatedWorld): boolean =>
  world.aws.admin.canPodsJoin({ cluster: EKS_CLUSTER, name: PROFILE });

describe('a change in AWS by another client', () => {
  it('that deletes the profile makes a new one, also while EKS still deletes the old one', async (world) => {
    await startUntilReady(world);
    const { arn } = profileIn(world);
    world.aws.admin.setProfile({
      cluster: EKS_CLUSTER,
      name: PROFILE,
      status: 'DELETING',
      next: { afterMs: MINUTE, to: 'gone' },
    });
    world.triggerReconcile(WEB);
    await world.reason(WEB, 'Creating');
    await world.ready(WEB);
    expect(profileIn(world).arn).not.to.equal(arn);
    expect(fieldAt(world.profile(WEB)?.status, 'profileARN')).to.equal(profileIn(world).arn);
  });

  it('that puts a profile of its own in the place of ours stops the object, also when the object is deleted', async (world) => {
    await startUntilReady(world);
    world.aws.admin.putRole({ name: 'usurper', trustPolicy: CAPA_TRUST });
    const usurper = world.aws.admin.putProfile({
      cluster: EKS_CLUSTER,
      name: PROFILE,
      podExecutionRoleArn: 'arn:aws:iam::123456789012:role/usurper',
      tags: { 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner': 'elsewhere/web' },
    });
    world.triggerReconcile(WEB);
    expect(await world.reason(WEB, 'ProfileNotOwned'))
      .to.contain(`"${PROFILE}"`)
      .and.to.contain('elsewhere/web');
    await world.deleteAndFinish(WEB);
    expect(profileIn(world)).to.deep.equal(usurper);
  });

  it('that deletes the role makes a new one where the EKS cluster uses the ConfigMap aws-auth alone', async (world) => {
    world.aws.admin.setCluster({ name: EKS_CLUSTER, authenticationMode: 'CONFIG_MAP' });
    await startUntilReady(world);
    world.aws.admin.removeRole({ name: ROLE });
    world.triggerReconcile(WEB);
    await world.until('the new role', () => world.role(WEB)?.attachedPolicies.includes(EKS_POLICY) === true);
    await world.ready(WEB);
    const recorded = (): unknown => ['status', 'role', 'id'].reduce<unknown>(fieldAt, world.profile(WEB));
    await world.until('its id in status', () => recorded() === roleIn(world).id);
    expect(canPodsJoin(world)).to.equal(true);
  });
});

describe('a write of the manager that fails before it corrects a drift', () => {
  for (const [code, message] of [
    [409, 'the object has been modified'],
    [500, 'the API server is overloaded'],
  ] as const)
    it(`is reported if the API server answers ${code} again and again`, async (world) => {
      await startUntilReady(world);
      await world.clock.advance(10 * MINUTE);
      refuseRequests(world, 'PATCH', /\/awsfargateprofiles\/[^/]+$/, code, message);
      changeRoleByHand(world, ROLE, { attachedPolicies: [] });
      world.triggerReconcile(WEB);
      await world.reason(WEB, 'APIServerRefused');
      acceptRequests(world);
      await world.ready(WEB);
      expect(roleIn(world).attachedPolicies).to.deep.equal([EKS_POLICY]);
    });
});

describe('the tags of an object', () => {
  it('follow its spec and its control plane, and the tags of other owners stay', async (world) => {
    await startUntilReady(world, { additionalTags: { old: '1', changed: '1' } });
    setProfileTags(world, { ...profileIn(world).tags, theirs: 'x', Changed: 'theirs' });
    changeRoleByHand(world, ROLE, { tags: { ...roleIn(world).tags, theirs: 'x' } });
    patchControlPlane(world, { spec: { additionalTags: { bill: 'to us', changed: 'overruled' } } });
    patchWeb(world, { spec: { additionalTags: { old: null, changed: '2', new: '1' } } });
    await world.clock.advance(MINUTE);
    for (const { tags } of [profileIn(world), roleIn(world)]) {
      expect(tags).to.include({ changed: '2', new: '1', theirs: 'x', bill: 'to us' });
      expect(tags).not.to.have.property('old');
    }
    expect(profileIn(world).tags).to.include({ Changed: 'theirs', 'kubernetes.io/cluster/prod': 'owned' });
  });

  it('are recorded, with its policies, on a role and a profile without a record, so that they can be removed', async (world) => {
    await startUntilReady(world, { additionalTags: { team: 'a', cost: '7' }, roleAdditionalPolicies: [LOGS] });
    const { [ADDED_TAG]: _role, ...roleTags } = roleIn(world).tags;
    const { [ADDED_TAG]: _profile, ...profileTags } = profileIn(world).tags;
    changeRoleByHand(world, ROLE, { tags: roleTags });
    setProfileTags(world, profileTags);
    const { length } = world.mutations();
    world.triggerReconcile(WEB);
    await world.clock.advance(MINUTE);
    expect(world.operations(length)).to.deep.equal(['TagRole', 'TagResource']);
    patchWeb(world, { spec: { additionalTags: null, roleAdditionalPolicies: null } });
    await world.clock.advance(AT_ONCE);
    expect(roleIn(world).attachedPolicies).to.not.include(LOGS);
    for (const { tags } of [profileIn(world), roleIn(world)])
      expect(tags).to.not.have.any.keys('team', 'cost', ADDED_TAG);
  });

  it('can be set by other clients once the spec does not name them any more', async (world) => {
    await startUntilReady(world, { additionalTags: { old: 'ours' } });
    patchWeb(world, { spec: { additionalTags: null } });
    await world.until('its removal', () => profileIn(world).tags['old'] === undefined);
    setProfileTags(world, { ...profileIn(world).tags, old: 'theirs' });
    await world.clock.advance(60 * MINUTE);
    expect(profileIn(world).tags).to.include({ old: 'theirs' });
  });

  it('cause no write for keys that differ in case only, which are one tag in IAM and two in EKS', async (world) => {
    patchControlPlane(world, { spec: { additionalTags: { team: 'control plane', Only: 'control plane' } } });
    await startUntilReady(world, { additionalTags: { Team: 'object', only: 'object' } });
    expect(profileIn(world).tags).to.include({ Team: 'object', team: 'control plane', only: 'object' });
    expect(roleIn(world).tags).to.include({ Team: 'object', only: 'object' }).and.not.have.any.keys('team', 'Only');
    const { length } = world.mutations();
    await world.clock.advance(60 * MINUTE);
    expect(world.operations(length)).to.deep.equal([]);
  });

  it('are those of the last spec after a burst of changes during the creation, which creates one role and one profile', async (world) => {
    world.start();
    world.applyWith(WEB, { additionalTags: { round: '0' } });
    for (let round = 1; round <= 20; round++) {
      await world.clock.advance(MINUTE / 10);
      patchWeb(world, { spec: { additionalTags: { round: String(round) } } });
    }
    await world.ready(WEB);
    await world.clock.advance(MINUTE);
    for (const { tags } of [profileIn(world), roleIn(world)]) expect(tags).to.include({ round: '20' });
    const created = world.operations().filter((operation) => operation.startsWith('Create'));
    expect(created).to.deep.equal(['CreateRole', 'CreateFargateProfile']);
    await world.deleteAndFinish(WEB);
    expect(world.problems()).to.deep.equal([]);
  });
});
