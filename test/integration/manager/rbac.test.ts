import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { MANAGER_ACCOUNT } from '../../envtest/control-plane/pool.ts';
import { eventually } from '../../support/eventually.ts';
import type { RunningManager } from '../../world/manager/manager.ts';
import type { World } from '../../world/world.ts';
import { clusterPath, fargateProfile, startWorld } from '../../world/world.ts';

/** One path that the ClusterRole of the manager allows, and one path that the Role of the manager allows. */
const ALLOWED_PATHS = [
  '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles',
  '/apis/coordination.k8s.io/v1/namespaces/capaf-system/leases/any',
];
const CONFIG = fileURLToPath(new URL('../../../config/rbac', import.meta.url));

describe('the manager with only the permissions of config/rbac', () => {
  let world: World;
  let first: RunningManager;
  const start = (name: string): Promise<RunningManager> =>
    world.startManager({
      name,
      kubeconfigPath: world.controlPlane.user(MANAGER_ACCOUNT).kubeconfigPath,
      flags: ['--leader-elect', '--leader-elect-namespace', 'capaf-system'],
    });

  before(async () => {
    world = await startWorld();
    const applied = await world.kubectl(['apply', '-k', CONFIG]);
    expect(applied.code, applied.stderr).to.equal(0);
    // The API server enforces changed RBAC rules shortly after it has accepted them.
    const manager = world.controlPlane.api.withToken(world.controlPlane.user(MANAGER_ACCOUNT).token);
    for (const path of ALLOWED_PATHS) await eventually(async () => (await manager.request('GET', path)).status !== 403);
    manager.close();
    first = await start('first');
  });
  after(() => world.finish());

  it('creates and deletes a profile and emits events', async () => {
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web'));
    await world.ready('web');
    await world.event('web', 'Created new EKS fargate profile');
    await world.delete('web');
    await world.gone('web');
  });

  it('deletes the profiles of a cluster in its teardown', async () => {
    await world.createEksCluster('gone');
    await world.apply(fargateProfile('of-gone', { clusterName: 'gone' }));
    await world.ready('of-gone');
    const controlPlane =
      '/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/default/awsmanagedcontrolplanes/gone-control-plane';
    await world.controlPlane.api.delete(controlPlane);
    await world.gone('of-gone');
    await eventually(async () => !(await world.controlPlane.api.exists(controlPlane)), {
      what: 'the deletion of the control plane',
    });
    await world.controlPlane.api.delete(clusterPath('gone'));
  });

  it('hands leadership over to a second manager', async () => {
    const second = await start('second');
    const waitForLog = (words: RegExp): Promise<unknown> =>
      eventually(() => words.test(second.log()), { what: `${words} of the second` });
    await waitForLog(/"Listed and watching".* resource="leases\./);
    await world.stopManager(first);
    await waitForLog(/"All parts of the manager run"/);
  });

  it('gets no forbidden response', () => {
    for (const manager of [first, world.manager]) expect(manager.log()).to.not.match(/forbidden/i);
  });
});
