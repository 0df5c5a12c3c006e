import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { EKS_POLICY } from '../world/aws/capa-resources.ts';
import { type SimulationOptions, SimulatedWorld } from './world/simulated-world.ts';
import { PROFILE, ROLE, WEB, patchWeb, putForeignProfile, startAndApply, startUntilReady } from './phases/phase.ts';
import { ACCOUNT, CONTROL_PLANE_REF, EKS_CLUSTER, MINUTE, SECOND } from './world/cluster.ts';
import { conditionsOf, statusOf } from './world/problems.ts';

const SLOW: SimulationOptions = { aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } };
const READ_POLICY = 'arn:aws:iam::aws:policy/ReadOnlyAccess';

const arnOf = (path: string, name: string): string => `arn:aws:iam::${ACCOUNT}:role${path}${name}`;
const named = (name: string): object => ({
  profileName: name,
  roleName: `${name}-pods`,
  selectors: [{ namespace: name }],
});

/**
 * Records each name of a Fargate profile with which the AWSFargateProfile was Ready for its newest generation.
 */
function readyNames(world: SimulatedWorld): ReadonlySet<string | undefined> {
  const names = new Set<string | undefined>();
  world.api.storage.listen(({ object }) => {
    const { observedGeneration, profileName } = statusOf(object);
    const isReady = conditionsOf(object).some(({ type, status }) => type === 'Ready' && status === 'True');
    if (isReady && observedGeneration === object.metadata.generation) names.add(profileName);
  });
  return names;
}

describe('a change of the spec before the profile was first ACTIVE as wanted', () => {
  it('is the only spec that is created, if nothing could be created before', async () => {
    const world = new SimulatedWorld();
    const setReady = (ready: boolean): void =>
      world.patch('awsmanagedcontrolplanes', CONTROL_PLANE_REF.name, { status: { ready } }, 'status');
    setReady(false);
    startAndApply(world, named('typo'));
    await world.reason(WEB, 'WaitingForEKSControlPlane');
    patchWeb(world, { spec: named('right') });
    setReady(true);
    await world.ready(WEB);
    expect(world.eksProfile(WEB, 'right')?.selectors).to.deep.equal([{ namespace: 'right', labels: {} }]);
    expect(world.operations()).to.deep.equal(['CreateRole', 'AttachRolePolicy', 'CreateFargateProfile']);
    await world.deleteAndFinish(WEB);
  });

  it('of selectors and subnets replaces the profile when EKS has created it', async () => {
    const world = new SimulatedWorld(SLOW);
    startAndApply(world);
    await world.reason(WEB, 'Creating');
    await world.clock.advance(2 * SECOND);
    const { arn, subnets = [] } = world.eksProfile(WEB) ?? {};
    patchWeb(world, { spec: { selectors: [{ namespace: 'right' }], subnetIDs: subnets.slice(1) } });
    await world.reason(WEB, 'WaitingForCreate');
    await world.ready(WEB);
    expect(world.eksProfile(WEB)).to.deep.include({
      selectors: [{ namespace: 'right', labels: {} }],
      subnets: subnets.slice(1),
    });
    expect(world.eksProfile(WEB)?.arn).not.to.equal(arn);
    expect(statusOf(world.profile(WEB)).initialization).to.deep.equal({ provisioned: true });
    expect(world.eksChanges()).to.deep.equal([`Create ${PROFILE}`, `Delete ${PROFILE}`, `Create ${PROFILE}`]);
    await world.deleteAndFinish(WEB);
    expect(world.problems()).to.deep.equal([]);
  });

  it('between the create call and the write of status deletes the created profile and its role', async () => {
    const world = new SimulatedWorld();
    const ready = readyNames(world);
    const forget = world.aws.onCall(({ operation }, phase) => {
      if (operation !== 'CreateFargateProfile' || phase !== 'after') return;
      forget();
      patchWeb(world, { spec: named('after') });
    });
    startAndApply(world, named('before'));
    await world.until('the last profile', () => world.eksProfile(WEB, 'after')?.status === 'ACTIVE', 20 * MINUTE);
    await world.ready(WEB);
    expect([world.eksProfile(WEB, 'before'), world.role(WEB, 'before-pods')]).to.deep.equal([undefined, undefined]);
    expect(world.eksChanges()).to.deep.equal(['Create before', 'Delete before', 'Create after']);
    expect([...ready]).to.deep.equal(['after']);
    await world.deleteAndFinish(WEB);
  });

  it('after each AWS call leaves only what the last spec wants', async () => {
    const world = new SimulatedWorld();
    const steps = ['CreateRole', 'AttachRolePolicy', 'CreateFargateProfile', 'DeleteFargateProfile', 'DeleteRole'];
    const done = new Set<string>();
    world.aws.onCall(({ operation }, phase) => {
      if (phase !== 'after' || !steps.includes(operation) || done.has(operation)) return;
      done.add(operation);
      patchWeb(world, { spec: named(`turn-${done.size}`) });
    });
    startAndApply(world, named('turn-0'));
    await world.until('all steps', () => done.size === steps.length, 20 * MINUTE);
    const last = `turn-${steps.length}`;
    await world.until('the last profile', () => world.eksProfile(WEB, last)?.status === 'ACTIVE', 20 * MINUTE);
    await world.ready(WEB);
    expect(world.aws.admin.profiles().map(({ name }) => name)).to.deep.equal([last]);
    const roles = world.aws.admin.roles().map(({ name }) => name);
    expect(roles.filter((name) => name.startsWith('turn-'))).to.deep.equal([`${last}-pods`]);
    await world.deleteAndFinish(WEB);
  });

  it('of the role changes boundary and policies in place, and replaces the role for another path', async () => {
    const world = new SimulatedWorld();
    const [tight, tighter] = ['tight', 'tighter'].map((name) => world.aws.admin.putPolicy({ name }));
    // While EKS creates this foreign profile, the object has a role and no profile yet.
    putForeignProfile(world, 'theirs', { status: 'CREATING' });
    startAndApply(world, { rolePermissionsBoundary: tight });
    await world.reason(WEB, 'WaitingForSibling');
    const { id } = world.role(WEB) ?? {};
    patchWeb(world, { spec: { rolePermissionsBoundary: tighter, roleAdditionalPolicies: [READ_POLICY] } });
    await world.clock.advance(MINUTE);
    expect(world.role(WEB)).to.deep.include({ id, permissionsBoundary: tighter });
    expect(world.role(WEB)?.attachedPolicies).to.have.members([EKS_POLICY, READ_POLICY]);
    patchWeb(world, { spec: { rolePermissionsBoundary: null, roleAdditionalPolicies: null } });
    await world.clock.advance(MINUTE);
    expect(world.role(WEB))
      .to.deep.include({ id, attachedPolicies: [EKS_POLICY] })
      .and.not.have.any.keys('permissionsBoundary');
    patchWeb(world, { spec: { rolePath: '/teams/' } });
    await world.clock.advance(MINUTE);
    expect(world.role(WEB)?.id).not.to.equal(id);
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'theirs' });
    await world.ready(WEB);
    expect(world.eksProfile(WEB)?.podExecutionRoleArn).to.equal(arnOf('/teams/', ROLE));
    await world.deleteAndFinish(WEB);
  });

  it('of the path of the role while EKS creates the profile recreates both', async () => {
    const world = new SimulatedWorld(SLOW);
    startAndApply(world);
    await world.reason(WEB, 'Creating');
    patchWeb(world, { spec: { rolePath: '/teams/' } });
    await world.ready(WEB);
    expect(world.eksProfile(WEB)?.podExecutionRoleArn).to.equal(arnOf('/teams/', ROLE));
    const creation = ['CreateRole', 'AttachRolePolicy', 'CreateFargateProfile'];
    const deletion = ['DeleteFargateProfile', 'DetachRolePolicy', 'DeleteAccessEntry', 'DeleteRole'];
    expect(world.operations()).to.deep.equal([...creation, ...deletion, ...creation]);
    await world.deleteAndFinish(WEB);
  });
});

describe('a change of the spec of a live profile', () => {
  it('is made in place for tags and additional policies', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world);
    const { length } = world.mutations();
    patchWeb(world, { spec: { additionalTags: { team: 'b' }, roleAdditionalPolicies: [READ_POLICY] } });
    await world.until('its end', () => statusOf(world.profile(WEB)).observedGeneration === 2);
    expect(world.operations(length)).to.deep.equal(['TagRole', 'AttachRolePolicy', 'TagResource']);
    await world.deleteAndFinish(WEB);
  });
});

describe('an object whose status was lost', () => {
  it('gets it back without a change in AWS', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world);
    const { conditions: _before, createRequestedAt: _at, activeSince: _since, ...facts } = statusOf(world.profile(WEB));
    const { length } = world.mutations();
    world.patch(PLURAL, WEB, { status: null }, 'status');
    await world.clock.advance(MINUTE);
    await world.ready(WEB);
    expect(statusOf(world.profile(WEB))).to.deep.include(facts);
    expect(world.operations(length)).to.deep.equal([]);
    await world.deleteAndFinish(WEB);
  });

  it('is deleted with the profile and the role that its spec names', async () => {
    const world = new SimulatedWorld();
    await startUntilReady(world, named('forgotten'));
    world.patch(PLURAL, WEB, { status: null }, 'status');
    await world.deleteAndFinish(WEB);
  });
});
