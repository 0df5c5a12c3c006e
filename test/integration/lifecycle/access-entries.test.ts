import { expect } from 'chai';
import { callsFromNow } from '../../world/aws/calls.ts';
import { eventually } from '../../support/eventually.ts';
import { triggerReconcile } from '../../world/trigger-reconcile.ts';
import { messageOf, stalled, summaryOf } from '../../world/object-state.ts';
import type { AuthenticationMode } from '../../aws/model/resources.ts';
import type { World } from '../../world/world.ts';
import { fargateProfile, startWorld } from '../../world/world.ts';

/**
 * How long EKS takes for a creation or deletion, in milliseconds. IAM gives the creation time of a role in whole
 * seconds. If the deletion takes more than a second, a role that is created again has a later creation time than the
 * access entry of the deleted role.
 */
const SLOW = { createMs: 300, deleteMs: 1_300 };

describe('EKS access entries', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: { eks: SLOW } });
    await world.startManager();
  });
  after(() => world.finish());
  afterEach(() => {
    world.aws.admin.allow();
    world.aws.admin.setConfig({ eks: { accessEntryMadeAnew: true } });
  });

  const roleName = (name: string): string => `${name}-default_${name}_fargate`;
  const clusterName = (name: string): string => world.awsView.profile(`default_${name}`)?.cluster ?? '';
  const canPodsJoin = (name: string): boolean =>
    world.aws.admin.canPodsJoin({ cluster: clusterName(name), name: `default_${name}` });
  const entriesOf = (name: string) =>
    world.aws.admin.accessEntries().filter(({ principalArn }) => principalArn.endsWith(`/${roleName(name)}`));

  async function createCluster(name: string, mode: AuthenticationMode): Promise<void> {
    const cluster = await world.createEksCluster(name);
    world.aws.admin.setCluster({ name: cluster.name, authenticationMode: mode });
  }

  async function apply(name: string): Promise<void> {
    await world.apply(fargateProfile(name, { clusterName: name }));
    await world.ready(name);
  }

  async function remove(name: string): Promise<void> {
    await world.delete(name);
    await world.gone(name);
  }

  /** Denies access entry actions to all callers, as an IAM policy without these actions does. */
  function deny(...actions: readonly string[]): void {
    for (const action of actions) world.aws.admin.deny({ principal: '*', action: `eks:${action}AccessEntry` });
  }

  for (const mode of ['API', 'API_AND_CONFIG_MAP'] as const) {
    it(`an object that is deleted and applied again has pods that can join, in mode ${mode}`, async () => {
      const name = `again-${mode.toLowerCase().replaceAll('_', '-')}`;
      await createCluster(name, mode);
      await apply(name);
      expect(canPodsJoin(name)).to.equal(true);
      await remove(name);
      expect(entriesOf(name)).to.deep.equal([]);
      await apply(name);
      expect(canPodsJoin(name)).to.equal(true);
    });

    it(`an access entry that is left of a deleted role is made anew, in mode ${mode}`, async () => {
      const name = `left-${mode.toLowerCase().replaceAll('_', '-')}`;
      await createCluster(name, mode);
      await apply(name);
      deny('Delete');
      await remove(name);
      expect(entriesOf(name)).to.have.length(1);
      await world.event(name, 'Warning FailedDeleteAccessEntry: Failed to delete the access entry of fargate IAM role');
      world.aws.admin.allow();
      await apply(name);
      expect(canPodsJoin(name)).to.equal(true);
      await world.event(name, 'Normal DeletedAccessEntry: Deleted the access entry of fargate IAM role');
    });

    it(`an access entry that EKS does not make anew is created, in mode ${mode}`, async () => {
      const name = `never-${mode.toLowerCase().replaceAll('_', '-')}`;
      world.aws.admin.setConfig({ eks: { accessEntryMadeAnew: false } });
      await createCluster(name, mode);
      await apply(name);
      deny('Describe');
      await remove(name);
      world.aws.admin.allow();
      await apply(name);
      expect(canPodsJoin(name)).to.equal(true);
      await world.event(name, 'Normal CreatedAccessEntry: Created the access entry of fargate IAM role');
    });
  }

  it('a creation makes two more AWS calls in the API modes, and none in mode CONFIG_MAP', async () => {
    for (const [name, mode, expected] of [
      ['count-api', 'API', ['DescribeAccessEntry', 'DescribeAccessEntry']],
      ['count-both', 'API_AND_CONFIG_MAP', ['DescribeAccessEntry', 'DescribeAccessEntry']],
      ['count-map', 'CONFIG_MAP', []],
    ] as const) {
      await createCluster(name, mode);
      const calls = callsFromNow(world.aws);
      await apply(name);
      const operations = calls.all().map(({ operation }) => operation);
      expect(operations.filter((operation) => operation.endsWith('AccessEntry'))).to.deep.equal(expected);
      expect(operations.filter((operation) => operation === 'DescribeCluster')).to.have.length(1);
    }
  });

  it('a role that is made again under a live profile gets a new access entry, and Ready is not True before', async () => {
    await createCluster('recreated', 'API');
    await apply('recreated');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    world.aws.admin.removeRole({ name: roleName('recreated') });
    expect(canPodsJoin('recreated')).to.equal(false);
    await triggerReconcile(world, 'recreated');
    await world.condition('recreated', 'Ready', { status: 'False', reason: 'RestoringRole' });
    const { status } = await world.ready('recreated');
    expect(canPodsJoin('recreated')).to.equal(true);
    const id = world.awsView.role(roleName('recreated'))?.id;
    expect(status?.['role']).to.include({ id, accessEntryCheckedFor: id });
    await world.event('recreated', 'Normal CreatedAccessEntry');
  });

  it('an object stays Stalled while AWS denies the change of an outdated access entry', async () => {
    await createCluster('denied', 'API');
    await apply('denied');
    deny('Delete', 'Describe');
    await remove('denied');
    await world.event('denied', 'Warning FailedDescribeAccessEntry: Failed to read the access entry of');
    world.aws.admin.allow();
    deny('Delete');
    await world.apply(fargateProfile('denied', { clusterName: 'denied' }));
    const object = await world.condition('denied', 'Stalled', { status: 'True', reason: 'RoleRecreated' });
    expect(summaryOf(object)).to.deep.equal(stalled('RoleRecreated'));
    expect(messageOf(object, 'Ready')).to.include('DeleteAccessEntry');
    world.aws.admin.allow();
    await triggerReconcile(world, 'denied');
    await world.ready('denied');
    expect(canPodsJoin('denied')).to.equal(true);
  });

  it('a manager without any permission for access entries creates and deletes objects, and tells', async () => {
    await createCluster('forbidden', 'API');
    deny('Describe', 'Create', 'Delete');
    await apply('forbidden');
    await world.event('forbidden', 'Warning FailedDescribeAccessEntry');
    await remove('forbidden');
    expect(world.awsView.role(roleName('forbidden'))).to.equal(undefined);
    const [left] = entriesOf('forbidden');
    expect(left, 'the access entry that the manager may not delete').not.to.equal(undefined);
    if (left !== undefined) world.aws.admin.removeAccessEntry(left);
  });

  it('a crash between the deletion and the creation of an access entry leaves no profile without one', async () => {
    await createCluster('crash', 'API_AND_CONFIG_MAP');
    await apply('crash');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    let isKilled = false;
    const forget = world.aws.onCall(async (call, phase) => {
      if (isKilled || phase !== 'after' || call.operation !== 'DeleteAccessEntry') return;
      isKilled = true;
      await world.manager.stop('SIGKILL');
    });
    world.aws.admin.removeRole({ name: roleName('crash') });
    await triggerReconcile(world, 'crash');
    await eventually(() => isKilled && world.manager.exit() !== undefined);
    forget();
    expect(entriesOf('crash')).to.deep.equal([]);
    await world.startManager();
    await world.ready('crash', { generation: 0 });
    expect(canPodsJoin('crash')).to.equal(true);
  });
});
