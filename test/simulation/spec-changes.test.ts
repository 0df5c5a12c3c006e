import { expect } from 'chai';
import { EKS_POLICY } from '../world/aws/capa-resources.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';
import { ROLE, WEB, patchWeb, putForeignProfile, startAndApply } from './phases/phase.ts';
import { ACCOUNT, EKS_CLUSTER, MINUTE } from './world/cluster.ts';
import { it } from './world/it.ts';
import { conditionsOf, statusOf } from './world/problems.ts';

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
  it('is the only spec that is created, if nothing could be created before', async (world) => {
    world.setControlPlaneReady(false);
    startAndApply(world, named('typo'));
    await world.reason(WEB, 'WaitingForEKSControlPlane');
    patchWeb(world, { spec: named('right') });
    world.setControlPlaneReady(true);
    await world.ready(WEB);
    expect(world.eksProfile(WEB, 'right')?.selectors).to.deep.equal([{ namespace: 'right', labels: {} }]);
    expect(world.operations()).to.deep.equal(['CreateRole', 'AttachRolePolicy', 'CreateFargateProfile']);
  });

  it('after each AWS call leaves only what the last spec wants', async (world) => {
    const steps = ['CreateRole', 'AttachRolePolicy', 'CreateFargateProfile', 'DeleteFargateProfile', 'DeleteRole'];
    const done = new Set<string>();
    const ready = readyNames(world);
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
    expect([...ready]).to.deep.equal([last]);
    expect(world.eksChanges()).to.deep.equal(['Create turn-3', 'Delete turn-3', `Create ${last}`]);
    expect(world.aws.admin.profiles().map(({ name }) => name)).to.deep.equal([last]);
    const roles = world.aws.admin.roles().map(({ name }) => name);
    expect(roles.filter((name) => name.startsWith('turn-'))).to.deep.equal([`${last}-pods`]);
  });

  it('of the role changes boundary and policies in place, and replaces the role for another path', async (world) => {
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
  });
});
