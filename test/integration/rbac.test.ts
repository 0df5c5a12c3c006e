import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import type { RunningManager } from '../world/manager.ts';
import type { World } from '../world/world.ts';
import { clusterPath, fargateProfile, startWorld } from '../world/world.ts';

const MANAGER = 'system:serviceaccount:capaf-system:capaf-manager';
/** What the ClusterRole grants, and what the Role does. */
const HEEDED = [
  '/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsfargateprofiles',
  '/apis/coordination.k8s.io/v1/namespaces/capaf-system/leases/any',
];
const CONFIG = fileURLToPath(new URL('../../config/rbac', import.meta.url));

describe('the manager with the permissions of config/rbac, and no others', () => {
  let world: World;
  let first: RunningManager;
  const start = (name: string): Promise<RunningManager> =>
    world.startManager({
      name,
      kubeconfigPath: world.controlPlane.user(MANAGER).kubeconfigPath,
      flags: ['--leader-elect', '--leader-elect-namespace', 'capaf-system'],
    });

  before(async () => {
    world = await startWorld({
      users: [{ name: MANAGER, groups: ['system:serviceaccounts', 'system:serviceaccounts:capaf-system'] }],
    });
    const applied = await world.kubectl(['apply', '-k', CONFIG]);
    expect(applied.code, applied.stderr).to.equal(0);
    // The API server takes a moment to heed them.
    const manager = world.controlPlane.api.as(world.controlPlane.user(MANAGER).token);
    for (const path of HEEDED) await eventually(async () => (await manager.request('GET', path)).status !== 403);
    manager.close();
    first = await start('first');
  });
  after(() => world.finish());

  it('takes a profile from apply to Ready and to its end, and tells events', async () => {
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web'));
    await world.ready('web');
    await world.event('web', 'Created new EKS fargate profile');
    await world.delete('web');
    await world.gone('web');
  });

  it('tears down the profiles of a cluster', async () => {
    await world.createEksCluster('gone');
    await world.apply(fargateProfile('of-gone', { clusterName: 'gone' }));
    await world.ready('of-gone');
    const controlPlane =
      '/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/default/awsmanagedcontrolplanes/gone-control-plane';
    await world.controlPlane.api.delete(controlPlane);
    await world.gone('of-gone');
    await eventually(async () => !(await world.controlPlane.api.exists(controlPlane)), {
      what: 'the end of the control plane',
    });
    await world.controlPlane.api.delete(clusterPath('gone'));
  });

  it('hands over to another that watches the lease', async () => {
    const second = await start('second');
    const says = (words: RegExp): Promise<unknown> =>
      eventually(() => words.test(second.log()), { what: `${words} of the second` });
    await says(/"Listed and watching".* resource="leases\./);
    await world.stopManager(first);
    await says(/"All parts of the manager run"/);
  });

  it('was refused nothing', () => {
    for (const manager of [first, world.manager]) expect(manager.log()).to.not.match(/forbidden/i);
  });
});
