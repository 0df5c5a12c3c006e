import { expect } from 'chai';
import { FINALIZER, PLURAL } from '../../api/v1beta2/index.ts';
import { EKS_CLUSTER_TAG, NAMESPACE_TAG, OWNER_TAG } from '../../pkg/fargate/tags/tag-keys.ts';
import { CAPA_SHARED_ROLE, CAPA_TRUST, capaTags } from '../world/aws/capa-resources.ts';
import { PROFILE, ROLE, WEB, patchWeb, putCapaResources, startAndApply } from './phases/phase.ts';
import { ACCOUNT, CLUSTER, EKS_CLUSTER, MINUTE } from './world/cluster.ts';
import { it } from './world/it.ts';
import { statusOf } from './world/problems.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';

const CLUSTER_ARN = `arn:aws:eks:us-east-1:${ACCOUNT}:cluster/${EKS_CLUSTER}`;

/** Puts the role `everybodys` into IAM, and a Fargate profile with this role into EKS. Both belong to nobody. */
function putProfile(world: SimulatedWorld, name: string, over: object = {}) {
  const { arn } = world.aws.admin.putRole({ name: 'everybodys', trustPolicy: CAPA_TRUST });
  const selectors = [{ namespace: WEB, labels: {} }];
  return world.aws.admin.putProfile({ cluster: EKS_CLUSTER, name, podExecutionRoleArn: arn, selectors, ...over });
}

describe('two objects that name the same profile', () => {
  it('have it one after the other', async (world) => {
    await world.startWithReadyObject('winner', { profileName: 'contested' });
    const { arn } = world.eksProfile('', 'contested') ?? {};
    world.applyWith('loser', { profileName: 'contested' });
    expect(await world.reason('loser', 'ProfileNotOwned')).to.contain(
      'belongs to AWSFargateProfile default/winner, so',
    );
    world.delete('winner');
    await world.gone('winner');
    await world.ready('loser');
    expect(world.eksProfile('', 'contested')?.tags[OWNER_TAG]).to.equal('default/loser');
    expect(world.eksProfile('', 'contested')?.arn).not.to.equal(arn);
  });

  it('do not take it from each other when they are created at once, also when the loser is deleted', async (world) => {
    world.start();
    for (const name of ['heads', 'tails']) world.applyWith(name, { profileName: 'coin', roleName: `coin-${name}` });
    await world.until('a winner', () => world.isReady('heads') || world.isReady('tails'));
    const [winner, loser] = world.isReady('heads') ? ['heads', 'tails'] : ['tails', 'heads'];
    await world.reason(loser, 'ProfileNotOwned');
    const before = world.eksProfile('', 'coin');
    expect(before?.tags[OWNER_TAG]).to.equal(`default/${winner}`);
    world.delete(loser);
    await world.gone(loser);
    expect(world.eksProfile('', 'coin')).to.deep.equal(before);
    expect(world.role('', `coin-${loser}`), 'the role of the loser').to.equal(undefined);
  });
});

describe('the adoption', () => {
  it('of a profile without owner, with adoptionPolicy Always, tags it, and deletes it with the object', async (world) => {
    const { arn, podExecutionRoleArn } = putProfile(world, 'handmade', { tags: { costs: 'shop' } });
    startAndApply(world, { profileName: 'handmade', roleARN: podExecutionRoleArn, adoptionPolicy: 'Always' });
    await world.ready(WEB);
    expect(statusOf(world.profile(WEB)).profileARN).to.equal(arn);
    const tags = { costs: 'shop', [OWNER_TAG]: `default/${WEB}`, ...capaTags(CLUSTER) };
    expect(world.eksProfile('', 'handmade')?.tags).to.deep.equal(tags);
    await world.deleteAndFinish(WEB);
    expect(world.operations()).to.deep.equal(['TagResource', 'DeleteFargateProfile']);
    expect(world.eksProfile('', 'handmade')).to.equal(undefined);
  });

  const names = [
    ['of today', ROLE],
    ['before v2.7.0', `${EKS_CLUSTER}-${PROFILE}_fargate`],
  ] as const;
  for (const [generation, roleName] of names)
    for (const isFilled of [true, false])
      it(`of what Cluster API Provider AWS made, with the role name ${generation} ${isFilled ? 'in' : 'absent from'} the spec`, async (world) => {
        const tags = capaTags(CLUSTER);
        const { profile, role } = putCapaResources(world, PROFILE, roleName);
        const since = '2025-11-03T09:00:00Z';
        world.create(PLURAL, {
          metadata: { name: WEB, finalizers: [FINALIZER], labels: { 'cluster.x-k8s.io/cluster-name': CLUSTER } },
          spec: {
            clusterName: CLUSTER,
            profileName: PROFILE,
            selectors: [{ namespace: WEB }],
            ...(isFilled && { roleName }),
          },
        });
        const old = { type: 'EKSFargateCreating', status: 'False', severity: 'Info', lastTransitionTime: since };
        const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: since }, old];
        world.patch(PLURAL, WEB, { status: { ready: true, conditions } }, 'status');
        world.start();
        await world.until('its end', () => statusOf(world.profile(WEB)).initialization?.provisioned === true);
        await world.ready(WEB);
        expect(world.operations()).to.deep.equal(['TagResource', 'TagRole', 'UpdateAssumeRolePolicy']);
        expect(world.eksProfile(WEB)).to.deep.equal({ ...profile, tags: { ...tags, [OWNER_TAG]: `default/${WEB}` } });
        const { trustPolicy, ...found } = world.role('', roleName) ?? expect.fail('the role is gone');
        expect(trustPolicy).to.contain(`arn:aws:eks:us-east-1:${ACCOUNT}:fargateprofile/${EKS_CLUSTER}/*`);
        const { trustPolicy: _before, ...before } = role;
        const added = { [EKS_CLUSTER_TAG]: CLUSTER_ARN, [NAMESPACE_TAG]: 'default' };
        expect(found).to.deep.equal({ ...before, tags: { ...tags, ...added } });
        expect(world.condition(WEB, 'EKSFargateCreating')).to.equal(undefined);
        await world.clock.advance(60 * MINUTE);
        expect(world.operations(), 'changes after the adoption').to.have.length(3);
      });

  it('of a profile with the role that Cluster API Provider AWS shares needs the spec to name this role', async (world) => {
    const tags = capaTags(CLUSTER);
    const role = world.aws.admin.putRole({ name: CAPA_SHARED_ROLE, trustPolicy: CAPA_TRUST, tags });
    putProfile(world, PROFILE, { podExecutionRoleArn: role.arn, tags, foreign: false });
    startAndApply(world);
    expect(await world.reason(WEB, 'SpecDiffers')).to.contain(`pod execution role is ${role.arn} in AWS, but`);
    expect(world.operations()).to.deep.equal([]);
    patchWeb(world, { spec: { roleName: CAPA_SHARED_ROLE } });
    await world.ready(WEB);
    await world.deleteAndFinish(WEB);
    expect(world.operations()).to.deep.equal(['TagResource', 'DeleteFargateProfile']);
    expect(world.role('', CAPA_SHARED_ROLE)).to.deep.equal(role);
  });
});
