import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import type { RoleView } from '../aws/admin/views.ts';
import { CAPA_TRUST, EKS_POLICY } from '../world/aws/capa-resources.ts';
import { changeRoleByHand } from './phases/phase.ts';
import { ACCOUNT, CLUSTER, EKS_CLUSTER, MINUTE } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const POLICY = 'arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy';
const BOUNDARY = `arn:aws:iam::${ACCOUNT}:policy/bound`;
const LIMITS = ['--require-permissions-boundary=arn:aws:iam::*:policy/bound', '--allow-role-arn=none'];
const NO_POLICY = '--allow-policy-arn=none';

/**
 * Replaces the running manager with a manager that has the given flags, and waits until the new manager has compared
 * all AWSFargateProfiles with AWS.
 */
async function restartWith(world: SimulatedWorld, ...flags: readonly string[]): Promise<void> {
  for (const manager of world.managers) if (manager.ended === undefined) await world.stop(manager);
  world.start(...flags);
  await world.clock.advance(30 * MINUTE);
}

const roleOf = (world: SimulatedWorld, name: string): RoleView | undefined =>
  world.aws.admin.roles().find((role) => role.name === `${CLUSTER}-default_${name}_fargate`);

describe("the operator's limits", () => {
  it('leave every Ready profile Ready, put the boundary on its role, and do not block its deletion', async () => {
    const world = new SimulatedWorld();
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
    expect(['plain', 'policy', 'boundary'].map((name) => roleOf(world, name)?.permissionsBoundary)).to.deep.equal([
      BOUNDARY,
      BOUNDARY,
      BOUNDARY,
    ]);
    expect(roleOf(world, 'policy')?.attachedPolicies).to.include(POLICY);
    world.delete(...names);
    await world.gone(...names);
    world.aws.admin.removeRole({ name: 'brought' });
    await world.finish();
  });

  it('keep a Ready profile Ready if AWS refuses the required boundary, and report the refusal', async () => {
    const world = new SimulatedWorld();
    await world.startWithReady('web');
    const changes = world.readyChanges('web');
    await restartWith(world, '--require-permissions-boundary=arn:aws:iam::*:policy/missing');
    expect(changes, 'changes of Ready').to.deep.equal([]);
    expect(world.condition('web', 'Stalled')).to.include({ status: 'True', reason: 'Refused' });
    const role = { status: 'False', reason: 'Refused', message: world.condition('web', 'Stalled')?.message };
    expect(world.condition('web', 'IAMFargateRolesReady')).to.include(role);
    expect(world.warnings().join('\n')).to.include('FailedUpdateAWS: Failed to update fargate IAM role');
    world.aws.admin.putPolicy({ account: ACCOUNT, name: 'missing' });
    await world.until(
      'the boundary is set',
      () => roleOf(world, 'web')?.permissionsBoundary !== undefined,
      60 * MINUTE,
    );
    await world.until('the notice is gone', () => world.condition('web', 'Stalled')?.status === 'False');
    await world.deleteAndFinish('web');
  });

  it('do not prevent other corrections of a role if AWS refuses the required boundary', async () => {
    const world = new SimulatedWorld();
    await world.startWithReady('web');
    await restartWith(world, '--require-permissions-boundary=arn:aws:iam::*:policy/missing');
    const changes = world.readyChanges('web');
    const name = `${CLUSTER}-default_web_fargate`;
    const trustPolicy = roleOf(world, 'web')?.trustPolicy;
    changeRoleByHand(world, name, { trustPolicy: CAPA_TRUST, attachedPolicies: [] });
    world.triggerReconcile('web');
    await world.clock.advance(MINUTE);
    expect(roleOf(world, 'web')).to.deep.include({ trustPolicy, attachedPolicies: [EKS_POLICY] });
    expect(changes, 'changes of Ready').to.deep.equal([]);
    expect(world.condition('web', 'Stalled')).to.include({ status: 'True', reason: 'Refused' });
    await world.deleteAndFinish('web');
  });

  it('delay retries to set a boundary that AWS refuses, however often the object is reconciled', async () => {
    const world = new SimulatedWorld();
    await world.startWithReady('web');
    await restartWith(world, '--require-permissions-boundary=arn:aws:iam::*:policy/missing');
    const attempts = (): number =>
      world.mutations().filter(({ operation }) => operation === 'PutRolePermissionsBoundary').length;
    const [attemptsBefore, warningsBefore] = [attempts(), world.warnings().length];
    for (let minute = 0; minute < 60; minute++) {
      world.triggerReconcile('web');
      await world.clock.advance(MINUTE);
    }
    expect(attempts() - attemptsBefore).to.be.within(1, 8);
    expect(world.warnings().length - warningsBefore).to.be.most(8);
    expect(world.condition('web')?.status).to.equal('True');
    await world.deleteAndFinish('web');
  });

  it('block the re-creation of a profile until AWS accepts the required boundary of its role', async () => {
    const world = new SimulatedWorld();
    await world.startWithReady('web');
    await restartWith(world, '--require-permissions-boundary=arn:aws:iam::*:policy/missing');
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'default_web' });
    const creations = (): number =>
      world.mutations().filter(({ operation }) => operation === 'CreateFargateProfile').length;
    world.triggerReconcile('web');
    await world.until('it is refused', () => world.condition('web')?.reason === 'Refused', 30 * MINUTE);
    await world.clock.advance(30 * MINUTE);
    expect(creations()).to.equal(1);
    world.aws.admin.putPolicy({ account: ACCOUNT, name: 'missing' });
    await world.until('the profile is there again', () => world.isReady('web'), 30 * MINUTE);
    expect([creations(), roleOf(world, 'web')?.permissionsBoundary]).to.deep.equal([
      2,
      `arn:aws:iam::${ACCOUNT}:policy/missing`,
    ]);
    await world.deleteAndFinish('web');
  });

  it('block the creation of a profile even if its status says that it was provisioned', async () => {
    const world = new SimulatedWorld();
    world.start(NO_POLICY);
    world.applyWith('web', { roleAdditionalPolicies: [POLICY] });
    const status = { profileName: 'default_web', initialization: { provisioned: true } };
    world.patch(PLURAL, 'web', { status }, 'status');
    await world.until('it is refused', () => world.condition('web')?.reason === 'NotAllowedByOperator');
    await world.clock.advance(30 * MINUTE);
    expect(world.mutations()).to.deep.equal([]);
    await world.deleteAndFinish('web');
  });

  it('reject a disallowed role with the same reason whether or not it exists, and do not reveal its trust policy', async () => {
    const world = new SimulatedWorld();
    const theirs = world.aws.admin.putRole({ name: 'theirs', trustPolicy: '{"Statement":[]}' });
    world.start('--allow-role-arn=none');
    world.applyWith('existing', { roleARN: theirs.arn });
    world.applyWith('missing', { roleARN: `${theirs.arn}-too` });
    await world.until('both are refused', () =>
      ['existing', 'missing'].every((name) => world.condition(name)?.reason === 'NotAllowedByOperator'),
    );
    expect(world.condition('existing')?.message).not.to.contain('trust');
    world.delete('existing', 'missing');
    await world.gone('existing', 'missing');
    world.aws.admin.removeRole({ name: 'theirs' });
    await world.finish();
  });
});
