import { expect } from 'chai';
import { CAPA_TRUST } from '../../world/aws/capa-resources.ts';
import { messageOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, fargateProfile, startWorld } from '../../world/world.ts';

const POLICY = 'arn:aws:iam::aws:policy/AdministratorAccess';
const BOUNDARY = `arn:aws:iam::${ACCOUNT}:policy/bound`;

describe("the operator's limits", () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    world.aws.admin.putPolicy({ account: ACCOUNT, name: 'bound' });
    await world.createEksCluster('prod');
  });
  after(() => world.finish());

  it('stop new objects beyond them and leave existing profiles Ready', async () => {
    const { arn: roleARN } = world.aws.admin.putRole({ name: 'theirs', trustPolicy: CAPA_TRUST });
    await world.startManager();
    await world.apply(fargateProfile('existing', { roleARN }));
    await world.ready('existing');
    await world.stopManager();

    const flags = [
      '--require-permissions-boundary=arn:aws:iam::*:policy/bound',
      `--allow-role-arn=arn:aws:iam::${ACCOUNT}:role/pods/*`,
      '--allow-policy-arn=none',
    ];
    await world.startManager({ flags });
    await world.apply(
      fargateProfile('bounded'),
      fargateProfile('named', { roleARN }),
      fargateProfile('raised', { roleAdditionalPolicies: [POLICY] }),
    );
    await world.ready('bounded');
    expect(world.awsView.role('prod-default_bounded_fargate')?.permissionsBoundary).to.equal(BOUNDARY);
    const refusal = { status: 'True', reason: 'NotAllowedByOperator' };
    expect(messageOf(await world.condition('named', 'Stalled', refusal), 'Ready')).to.equal(
      `The operator of this controller does not allow "${roleARN}" in spec.roleARN. Use only values in spec.roleARN that match ` +
        `arn:aws:iam::${ACCOUNT}:role/pods/*. Or ask the operator to allow this value with --allow-role-arn of the manager. ` +
        'The controller then continues on its own.',
    );
    await world.condition('raised', 'Stalled', refusal);
    expect(world.awsView.role('prod-default_raised_fargate')).to.equal(undefined);
    await world.patch('raised', { spec: { roleAdditionalPolicies: null } });
    await world.ready('raised');
    await world.ready('existing');
    const names = ['existing', 'bounded', 'named', 'raised'];
    for (const name of names) await world.delete(name);
    for (const name of names) await world.gone(name);
  });
});
