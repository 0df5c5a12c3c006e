import { expect } from 'chai';
import type { RoleView } from '../aws/admin/views.ts';
import { AT_ONCE, PROFILE, ROLE, WEB, changeRoleByHand, patchWeb, startUntilReady } from './phases/phase.ts';
import { EKS_CLUSTER, MINUTE } from './world/cluster.ts';
import { it } from './world/it.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';

const LOGS = 'arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy';
const ADDED_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/added';

const roleIn = (world: SimulatedWorld): RoleView => world.role(WEB) ?? expect.fail('there is no role');
const profileTagsIn = (world: SimulatedWorld) => world.eksProfile(WEB)?.tags ?? {};

describe('tags and policies that an object adds to its role and profile', () => {
  it('are recorded on a role and a profile without a record, so that they can be removed', async (world) => {
    await startUntilReady(world, { additionalTags: { team: 'a', cost: '7' }, roleAdditionalPolicies: [LOGS] });
    const { [ADDED_TAG]: _role, ...roleTags } = roleIn(world).tags;
    const { [ADDED_TAG]: _profile, ...profileTags } = profileTagsIn(world);
    changeRoleByHand(world, ROLE, { tags: roleTags });
    world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: PROFILE, tags: profileTags });
    const { length } = world.mutations();
    world.triggerReconcile(WEB);
    await world.clock.advance(MINUTE);
    expect(world.operations(length)).to.deep.equal(['TagRole', 'TagResource']);
    patchWeb(world, { spec: { additionalTags: null, roleAdditionalPolicies: null } });
    await world.clock.advance(AT_ONCE);
    expect(roleIn(world).attachedPolicies).to.not.include(LOGS);
    for (const tags of [roleIn(world).tags, profileTagsIn(world)])
      expect(tags).to.not.have.any.keys('team', 'cost', ADDED_TAG);
  });
});
