import type { Context } from 'mocha';
import type { ConfigPatch } from '../aws/model/config.ts';
import type { KubeObject } from '../envtest/api.ts';
import { startCoreManager } from '../envtest/coremanager.ts';
import { skipWhereMissing } from '../envtest/skip.ts';
import { eventually } from '../support/eventually.ts';
import type { Capa } from './capa.ts';
import { playCapaIn } from './capa.ts';
import type { ManagedCluster } from './managed-cluster.ts';
import type { World } from './world.ts';

/** The longest wait in a teardown is the half minute in which a vanished Cluster may be on the move. */
const PATIENCE_MS = 60_000;

/** EKS needs minutes for each; here the order is what counts. */
export const QUICK_EKS: ConfigPatch = { eks: { createMs: 300, deleteMs: 300, clusterDeleteMs: 300 } };

/** The others who have a part in the end of a cluster. */
export interface ClusterApi {
  readonly capa: Capa;
  /** Deletes an object as `kubectl delete --wait=false` does it. */
  delete(path: string): Promise<void>;
  /** Resolves when there is nothing at the path any more, with the moment (ms since the epoch) at which that was seen. */
  gone(path: string): Promise<number>;
  /** Waits until Cluster, control plane, infrastructure and the EKS cluster are gone; answers when the Cluster was. */
  clusterGone(cluster: ManagedCluster): Promise<number>;
}

/**
 * Adds Cluster API's real core manager, the real garbage collector and namespace controller, and Cluster API Provider AWS,
 * played. Skips, loudly, where those cannot be had.
 * @param accountOf in which account the EKS cluster of a control plane is; default: the one of the world
 */
export async function startClusterApi(
  world: World,
  test: Context,
  accountOf?: (controlPlane: KubeObject) => string,
): Promise<ClusterApi> {
  const { api } = world.controlPlane;
  await startCoreManager(world.controlPlane).catch(skipWhereMissing(test));
  await world.controlPlane.startControllerManager().catch(skipWhereMissing(test));
  const capa = playCapaIn(world, accountOf);
  world.endWith(() => capa.stop());

  const gone = async (path: string): Promise<number> => {
    await eventually(async () => !(await api.exists(path)), { what: `the end of ${path}`, timeoutMs: PATIENCE_MS });
    return Date.now();
  };
  return {
    capa,
    gone,
    delete: async (path) => void (await api.delete(path)),
    async clusterGone({ clusterPath, controlPlanePath, infrastructurePath, eksName }) {
      const end = await gone(clusterPath);
      await gone(controlPlanePath);
      await gone(infrastructurePath);
      await eventually(() => !world.aws.admin.clusters().some(({ name }) => name === eksName), {
        what: `the end of EKS cluster ${eksName}`,
      });
      return end;
    },
  };
}
