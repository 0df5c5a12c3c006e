import type { Context } from 'mocha';
import type { ConfigPatch } from '../../aws/model/config.ts';
import { startCoreManager } from '../../envtest/control-plane/coremanager.ts';
import { skipIfBinariesMissing } from '../../envtest/skip.ts';
import { eventually } from '../../support/eventually.ts';
import { type CapaSimulator, startCapaSimulatorIn } from './capa-simulator.ts';
import type { ManagedCluster } from './managed-cluster.ts';
import type { World } from '../world.ts';

/**
 * The time in milliseconds that the emulated EKS takes to create or delete a Fargate profile and to delete an EKS
 * cluster. The real EKS takes minutes. Tests that delete Clusters check only the order of the deletions, so short times
 * are enough.
 */
export const QUICK_EKS: ConfigPatch = { eks: { createMs: 300, deleteMs: 300, clusterDeleteMs: 300 } };

/**
 * The running controllers of Cluster API and the simulator of Cluster API Provider AWS, with functions that delete
 * objects and wait until they are gone.
 */
export interface ClusterApi {
  readonly capa: CapaSimulator;
  /** Deletes an object without waiting until it is gone, like `kubectl delete --wait=false`. */
  delete(path: string): Promise<void>;
  /** Waits until the object at `path` does not exist. */
  gone(path: string): Promise<void>;
  /** Waits until the Cluster, its AWSManagedControlPlane, its AWSManagedCluster, and its EKS cluster are gone. */
  clusterGone(cluster: ManagedCluster): Promise<void>;
}

/**
 * Starts the real core manager of Cluster API, the real kube-controller-manager with its garbage collector and
 * namespace controller, and the simulator of Cluster API Provider AWS. Skips the test if a binary is missing.
 */
export async function startClusterApi(world: World, test: Context): Promise<ClusterApi> {
  const { api } = world.controlPlane;
  await startCoreManager(world.controlPlane).catch(skipIfBinariesMissing(test));
  await world.controlPlane.startControllerManager().catch(skipIfBinariesMissing(test));
  const capa = startCapaSimulatorIn(world);
  world.addCleanup(() => capa.stop());

  const gone = async (path: string): Promise<void> => {
    await eventually(async () => !(await api.exists(path)), { what: `the deletion of ${path}` });
  };
  return {
    capa,
    gone,
    delete: async (path) => void (await api.delete(path)),
    async clusterGone({ clusterPath, controlPlanePath, infrastructurePath, eksName }) {
      await gone(clusterPath);
      await gone(controlPlanePath);
      await gone(infrastructurePath);
      await eventually(() => !world.aws.admin.clusters().some(({ name }) => name === eksName), {
        what: `the deletion of EKS cluster ${eksName}`,
      });
    },
  };
}
