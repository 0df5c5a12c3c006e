import { expect } from 'chai';
import { CAPA_TRUST } from '../world/aws/capa-resources.ts';
import { ACCOUNT, MINUTE } from './world/cluster.ts';
import { it } from './world/it.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';

const POLICY = 'arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy';
const BOUNDARY = `arn:aws:iam::${ACCOUNT}:policy/bound`;
const LIMITS = ['--require-permissions-boundary=arn:aws:iam::*:policy/bound', '--allow-role-arn=none'];
const NO_POLICY = '--allow-policy-arn=none';

/**
 * Replaces the running manager with a manager that has the given flags, and waits until the new manager has compared
 * all AWSFargateProfiles with AWS.
 */
async function restartWith(world: SimulatedWorld, ...flags: readonly string[]): Promise<void> {
  await world.stopAll();
  world.start(...flags);
  await world.clock.advance(30 * MINUTE);
}

describe("the operator's limits", () => {
  it('leave every Ready profile Ready, put the boundary on its role, and do not block its deletion', async (world) => {
    world.aws.admin.putPolicy({ account: ACCOUNT, name: 'bound' });
    world.aws.admin.putPolicy({ account: ACCOUNT, name: 'theirs' });
    const brought = world.aws.admin.putRole({ name: 'brought', trustPolicy: CAPA_TRUST });
    const specs: Readonly<Record<string, object>> = {
      plain: {},
      policy: { roleAdditionalPolicies: [POLICY] },
      boundary: { rolePermissionsBoundary: `arn:aws:iam::${ACCOUNT}:policy/theirs` },
      arn: { roleARN: brought.arn },
      name: { roleName: 'brought' },
    };
    const names = Object.keys(specs);
    world.start();
    for (const name of names) world.applyWith(name, specs[name] ?? {});
    await world.ready(...names);
    const changes = names.map((name) => world.readyChanges(name));

    await restartWith(world, ...LIMITS, NO_POLICY);

    expect(changes.flat(), 'changes of Ready').to.deep.equal([]);
    expect(names.map((name) => world.condition(name, 'Stalled')?.status)).to.deep.equal(names.map(() => 'False'));
    expect(['plain', 'policy', 'boundary'].map((name) => world.role(name)?.permissionsBoundary)).to.deep.equal([
      BOUNDARY,
      BOUNDARY,
      BOUNDARY,
    ]);
    expect(world.role('policy')?.attachedPolicies).to.include(POLICY);
    world.delete(...names);
    await world.gone(...names);
    world.aws.admin.removeRole({ name: 'brought' });
  });

  for (const [flags, spec, remedy] of [
    [[], { rolePermissionsBoundary: BOUNDARY }, 'Fix spec.rolePermissionsBoundary, or the AWS resource that it names'],
    [LIMITS, {}, "Create the policy that the manager's flag --require-permissions-boundary names, or fix the flag"],
  ] as const)
    it(`or the spec are named if the policy of the permissions boundary does not exist: ${remedy}`, async (world) => {
      world.start(...flags);
      world.applyWith('web', spec);
      await world.until('web is Stalled', () => world.condition('web', 'Stalled')?.status === 'True', MINUTE);
      expect(world.condition('web')?.message).to.include(`. ${remedy}. `);
      await world.deleteAndFinish('web');
    });

  it('keep a Ready profile Ready if AWS refuses the required boundary, report the refusal, and delay retries', async (world) => {
    await world.startWithReady('web');
    const changes = world.readyChanges('web');
    await restartWith(world, '--require-permissions-boundary=arn:aws:iam::*:policy/missing');
    const refusal = { reason: 'Refused', message: world.condition('web', 'Stalled')?.message };
    expect(world.condition('web', 'Stalled')).to.include({ status: 'True', ...refusal });
    expect(world.condition('web', 'IAMFargateRolesReady')).to.include({ status: 'False', ...refusal });
    const attempts = (): number =>
      world.mutations().filter(({ operation }) => operation === 'PutRolePermissionsBoundary').length;
    const [attemptsBefore, warningsBefore] = [attempts(), world.warnings().length];
    for (let minute = 0; minute < 60; minute++) {
      world.triggerReconcile('web');
      await world.clock.advance(MINUTE);
    }
    expect(attempts() - attemptsBefore).to.be.within(1, 8);
    expect(world.warnings().length - warningsBefore).to.be.most(8);
    world.aws.admin.putPolicy({ account: ACCOUNT, name: 'missing' });
    await world.until('the end', () => world.condition('web', 'Stalled')?.status === 'False', 60 * MINUTE);
    expect(world.role('web')?.permissionsBoundary).to.equal(`arn:aws:iam::${ACCOUNT}:policy/missing`);
    expect(changes, 'changes of Ready').to.deep.equal([]);
  });
});
