import { eventually } from '../support/eventually.ts';
import { messageOf } from './object-state.ts';
import type { World } from './world.ts';
import { clusterObject, clusterPath, fargateProfile } from './manifests.ts';

let probes = 0;

/**
 * Waits until the manager's watches have delivered all changes of AWSFargateProfiles and Clusters that were made before
 * this call. The test creates a probe object of each kind, because the manager watches each kind separately. The Ready
 * message of the probe AWSFargateProfile shows which probe objects the manager has received. If the manager has received
 * a probe object, it has also received all earlier changes of objects of the same kind. The probe objects cause no AWS
 * calls.
 */
export async function waitForCacheSync(world: World): Promise<void> {
  probes += 1;
  const name = `cache-probe-${probes}`;
  const expectMessage = async (end: string): Promise<void> => {
    await eventually(
      async () => {
        const object = await world.profile(name);
        const message = object?.status?.conditions === undefined ? '' : messageOf(object, 'Ready');
        if (!message.endsWith(end)) throw new Error(`the message of Ready is "${message}"`);
      },
      { what: `the message "${end}" of ${name}` },
    );
  };
  await world.apply(fargateProfile(name, { clusterName: name }));
  await expectMessage(
    `Cluster default/${name} (spec.clusterName) does not exist. Create the Cluster; if spec.clusterName is wrong, delete this object and create it with the right name. The controller continues when the Cluster exists.`,
  );
  await world.apply({ ...clusterObject(name), spec: { paused: false } });
  await expectMessage(
    `Cluster default/${name} has no spec.controlPlaneRef yet. Set this field, unless the Cluster has spec.topology: Cluster API then sets it. The controller waits and then continues.`,
  );
  await world.delete(name);
  await world.gone(name);
  await world.controlPlane.api.delete(clusterPath(name));
}
