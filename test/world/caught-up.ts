import { eventually } from '../support/eventually.ts';
import { messageOf } from './standing.ts';
import type { World } from './world.ts';
import { clusterObject, clusterPath, controlPlanePath, fargateProfile } from './world.ts';

let beacons = 0;

/**
 * Resolves when the manager has seen all of profiles, Clusters and control planes that there was when this was called. Its
 * watches are independent of each other: that it shows what one has brought says nothing about the others. So each of them
 * in turn is given something that shows. It asks nothing of AWS.
 *
 * @param controlPlanes false where somebody else would look after this one: then their watch is left out
 */
export async function caughtUp(world: World, { controlPlanes = true } = {}): Promise<void> {
  beacons += 1;
  const name = `beacon-${beacons}`;
  const says = async (words: string): Promise<void> => {
    await eventually(
      async () => {
        const object = await world.profile(name);
        const said = object?.status?.conditions === undefined ? '' : messageOf(object, 'Ready');
        if (!said.endsWith(words)) throw new Error(`it says "${said}"`);
      },
      { what: `"${words}" of ${name}`, timeoutMs: 30_000 },
    );
  };
  const { api } = world.controlPlane;
  await world.apply(fargateProfile(name, { clusterName: name }));
  await says(`Cluster default/${name} does not exist yet`);
  await world.apply({ ...clusterObject(name), spec: { paused: false } });
  await says(`Cluster default/${name} names no control plane yet`);
  if (controlPlanes) {
    await world.apply(clusterObject(name), {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
      kind: 'AWSManagedControlPlane',
      metadata: { name: `${name}-control-plane`, namespace: 'default' },
      spec: {},
    });
    await says(`AWSManagedControlPlane default/${name}-control-plane has no spec.region yet`);
  }
  await world.delete(name);
  await world.gone(name);
  await api.delete(clusterPath(name));
  if (controlPlanes) await api.delete(controlPlanePath(name));
}
