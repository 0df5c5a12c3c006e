import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import type { ClusterApi } from './cluster-api.ts';
import type { ManagedCluster } from './managed-cluster.ts';
import { createManagedCluster } from './managed-cluster.ts';
import type { World } from './world.ts';
import { fargateProfile } from './world.ts';

export const GUARD = 'aws-fargate.cluster.x-k8s.io/profiles';

/** How soon a Cluster has to be gone after its last profile: EKS's own 0.3 s for the cluster, and what else it takes. */
const SOON_MS = 5_000;

/** A cluster with a profile of each name, all Ready. A name may come with what its spec says otherwise. */
export async function clusterWithProfiles(
  world: World,
  name: string,
  profiles: readonly string[],
  { namespace = 'default', spec = {} }: { readonly namespace?: string; readonly spec?: object } = {},
): Promise<ManagedCluster> {
  const cluster = await createManagedCluster(world, name, { namespace });
  await world.apply(...profiles.map((each) => fargateProfile(each, { clusterName: name, ...spec }, { namespace })));
  await Promise.all(profiles.map((each) => world.ready(each, { namespace })));
  return cluster;
}

export async function isBeingDeleted({ controlPlane: { api } }: World, path: string): Promise<true> {
  return eventually(async () => (await api.get(path)).metadata.deletionTimestamp !== undefined, {
    what: `the deletion of ${path}`,
    intervalMs: 5,
  }).then(() => true);
}

export async function finalizersOf({ controlPlane: { api } }: World, path: string): Promise<readonly string[]> {
  return (await api.get(path)).metadata.finalizers ?? [];
}

/** Takes finalizers off an object, as a controller that writes whole lists does it by mistake. */
export async function strip(
  { controlPlane: { api } }: World,
  path: string,
  ...finalizers: readonly string[]
): Promise<void> {
  await eventually(
    async () => {
      const { finalizers: before = [], resourceVersion } = (await api.get(path)).metadata;
      expect(before).to.include.members([...finalizers]);
      // Others write the list in the same moments: what was read must still be so.
      await api.patch(path, {
        metadata: { resourceVersion, finalizers: before.filter((each) => !finalizers.includes(each)) },
      });
      return true;
    },
    { what: `taking ${finalizers.join(', ')} off ${path}` },
  );
}

/** Puts a finalizer on an object, to take it off with `strip`: until then it does not vanish. */
export async function keep({ controlPlane: { api } }: World, path: string, finalizer: string): Promise<void> {
  await eventually(
    async () => {
      const { finalizers = [], resourceVersion } = (await api.get(path)).metadata;
      await api.patch(path, { metadata: { resourceVersion, finalizers: [...finalizers, finalizer] } });
      return true;
    },
    { what: `putting ${finalizer} on ${path}` },
  );
}

/** Nothing of a cluster is left in AWS but, where that is said, the EKS cluster itself. */
export function expectNothingInAws({ aws }: World, { eksName }: ManagedCluster): void {
  expect(aws.admin.profiles().filter(({ cluster }) => cluster === eksName)).to.deep.equal([]);
  const roles = aws.admin
    .roles()
    .filter(({ tags }) => Object.values(tags).some((tag) => tag.endsWith(`:cluster/${eksName}`)));
  expect(roles).to.deep.equal([]);
}

/** Waits for the end of everything, and says and checks how long the Cluster outlived its last profile. */
export async function expectAllGone(
  world: World,
  clusterApi: ClusterApi,
  cluster: ManagedCluster,
  profiles: readonly string[],
): Promise<void> {
  const { namespace } = cluster;
  const ends = profiles.map(async (name) => {
    await world.gone(name, { namespace, timeoutMs: 60_000 });
    return Date.now();
  });
  const clusterEnd = await clusterApi.clusterGone(cluster);
  const late = clusterEnd - Math.max(...(await Promise.all(ends)));
  console.log(`        Cluster ${cluster.name}: gone ${late} ms after its last profile`);
  expect(late).to.be.lessThan(SOON_MS);
  expectNothingInAws(world, cluster);
}
