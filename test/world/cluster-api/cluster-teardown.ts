import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import type { ClusterApi } from './cluster-api.ts';
import { type ManagedCluster, createManagedCluster } from './managed-cluster.ts';
import { type World, fargateProfile } from '../world.ts';

/**
 * The finalizer that the manager of this project sets on an AWSManagedControlPlane, so that the Cluster stays until its
 * Fargate profiles are deleted.
 */
export const CONTROL_PLANE_FINALIZER = 'aws-fargate.cluster.x-k8s.io/profiles';

/** Creates a Cluster, its EKS cluster, and AWSFargateProfiles with the given names, and waits until they are Ready. */
export async function createClusterWithProfiles(
  world: World,
  name: string,
  profiles: readonly string[],
  { namespace = 'default' }: { readonly namespace?: string } = {},
): Promise<ManagedCluster> {
  const cluster = await createManagedCluster(world, name, { namespace });
  await world.apply(...profiles.map((each) => fargateProfile(each, { clusterName: name }, { namespace })));
  await Promise.all(profiles.map((each) => world.ready(each, { namespace })));
  return cluster;
}

/** Waits until the object at `path` has a deletionTimestamp. */
export async function waitUntilDeleting({ controlPlane: { api } }: World, path: string): Promise<true> {
  return eventually(async () => (await api.get(path)).metadata.deletionTimestamp !== undefined, {
    what: `the deletionTimestamp of ${path}`,
    intervalMs: 5,
  }).then(() => true);
}

export async function finalizersOf({ controlPlane: { api } }: World, path: string): Promise<readonly string[]> {
  return (await api.get(path)).metadata.finalizers ?? [];
}

/**
 * Removes the given finalizers from an object. So a test simulates a controller that overwrites the whole list of
 * finalizers and removes the finalizer of another controller by mistake.
 * @throws if the object does not have all of the given finalizers
 */
export async function removeFinalizers(
  { controlPlane: { api } }: World,
  path: string,
  ...finalizers: readonly string[]
): Promise<void> {
  await eventually(
    async () => {
      const { finalizers: before = [], resourceVersion } = (await api.get(path)).metadata;
      expect(before).to.include.members([...finalizers]);
      // Controllers may change the finalizers at the same time. The patch has the resourceVersion of the object that
      // the test has read. So the API server refuses the patch after such a change, and the test reads the object
      // again.
      await api.patch(path, {
        metadata: { resourceVersion, finalizers: before.filter((each) => !finalizers.includes(each)) },
      });
      return true;
    },
    { what: `the removal of ${finalizers.join(', ')} from ${path}` },
  );
}

/**
 * Checks that the EKS cluster has no Fargate profile in AWS, and that no IAM role has an ownership tag with the name of
 * the EKS cluster.
 */
function expectNothingInAws({ aws }: World, { eksName }: ManagedCluster): void {
  expect(aws.admin.profiles().filter(({ cluster }) => cluster === eksName)).to.deep.equal([]);
  const roles = aws.admin
    .roles()
    .filter(({ tags }) => Object.values(tags).some((tag) => tag.endsWith(`:cluster/${eksName}`)));
  expect(roles).to.deep.equal([]);
}

/**
 * Waits until a Cluster, its AWSFargateProfiles, its other objects, and its EKS cluster are gone. Checks that the
 * manager has left no Fargate profile and no role of the EKS cluster in AWS.
 */
export async function expectAllGone(
  world: World,
  clusterApi: ClusterApi,
  cluster: ManagedCluster,
  profiles: readonly string[],
): Promise<void> {
  const { namespace } = cluster;
  await Promise.all(profiles.map((name) => world.gone(name, { namespace })));
  await clusterApi.clusterGone(cluster);
  expectNothingInAws(world, cluster);
}
