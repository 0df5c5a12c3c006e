import { expect } from 'chai';
import type { Context } from 'mocha';
import { eventually } from '../../support/eventually.ts';
import { type ClusterApi, QUICK_EKS, startClusterApi } from '../../world/cluster-api/cluster-api.ts';
import { type ManagedCluster, managedCluster } from '../../world/cluster-api/managed-cluster.ts';
import { networkOf, pathOf, pathOfManifest } from '../../world/manifests.ts';
import { type World, startWorld } from '../../world/world.ts';
import { SAMPLE_CLUSTER, SAMPLE_PROFILES, SAMPLE_REGION, sampleObjects } from './sample.ts';

/**
 * How long a creation or deletion of a Fargate profile takes in the emulated EKS while `setEndless(true)` is in effect,
 * in milliseconds. Every test ends earlier.
 */
const ENDLESS_MS = 3_600_000;

/**
 * A management cluster with the real core manager of Cluster API, the garbage collector, the manager of this project,
 * and a simulated Cluster API Provider AWS. A GitOps tool creates the objects.
 */
export interface GitopsWorld {
  readonly world: World;
  readonly clusterApi: ClusterApi;
  readonly cluster: ManagedCluster;
  /**
   * Creates the EKS cluster of config/samples/cluster in AWS, as Cluster API Provider AWS would for the
   * AWSManagedControlPlane in that folder.
   */
  createEksCluster(): void;
  /**
   * Writes what Cluster API Provider AWS writes into the objects of a cluster: network, endpoint, readiness. Also sets
   * the EKS cluster to ACTIVE.
   */
  actAsCapa(): Promise<void>;
  /** Sets whether EKS completes creations and deletions of Fargate profiles. */
  setEndless(isEndless: boolean): void;
  /**
   * Completes the creations and deletions of Fargate profiles that EKS has not completed because of {@link setEndless}.
   */
  completeChanges(): void;
  /** Returns the `generation` and the `resourceVersion` of each object of config/samples/cluster. */
  versions(): Promise<Readonly<Record<string, string>>>;
  /** The names of the AWSFargateProfiles in the API server. */
  profiles(): Promise<readonly string[]>;
  /** Waits until the Fargate profile of the AWSFargateProfile `name` has the given value of the tag `team` in AWS. */
  waitForTeam(name: string, team: string): Promise<void>;
  /**
   * Waits until the objects of config/samples/cluster are gone, and checks that AWS has no Fargate profiles and no pod
   * execution roles.
   */
  expectAllGone(): Promise<void>;
}

export async function startGitopsWorld(test: Context): Promise<GitopsWorld> {
  const world = await startWorld({ config: QUICK_EKS });
  try {
    const clusterApi = await startClusterApi(world, test);
    await world.startManager();
    return gitopsWorld(world, clusterApi);
  } catch (error) {
    await world.stop();
    throw error;
  }
}

function gitopsWorld(world: World, clusterApi: ClusterApi): GitopsWorld {
  const { api } = world.controlPlane;
  const { admin } = world.aws;
  const cluster = managedCluster(SAMPLE_CLUSTER);
  const place = { name: cluster.eksName, region: SAMPLE_REGION };
  const inEks = (name: string) => ({ cluster: cluster.eksName, region: SAMPLE_REGION, name });
  return {
    world,
    clusterApi,
    cluster,
    // Cluster API Provider AWS creates the network before the EKS cluster, so the AWSManagedControlPlane is not ready
    // while it has no subnets.
    createEksCluster: () => void admin.createCluster({ ...place, status: 'CREATING' }),
    actAsCapa: async () => {
      const { controlPlanePath, infrastructurePath } = cluster;
      await eventually(() => api.exists(controlPlanePath), { what: controlPlanePath });
      await eventually(() => api.exists(infrastructurePath), { what: infrastructurePath });
      const { subnets } =
        admin.clusters().find(({ name }) => name === cluster.eksName) ?? expect.fail('no EKS cluster');
      await api.patch(controlPlanePath, { spec: { network: networkOf(SAMPLE_CLUSTER, subnets) } });
      admin.setCluster({ ...place, status: 'ACTIVE' });
      await api.patch(infrastructurePath, { spec: { controlPlaneEndpoint: { host: '127.0.0.1', port: 1 } } });
      await api.patch(`${infrastructurePath}/status`, { status: { ready: true } });
    },
    setEndless: (isEndless) =>
      admin.setConfig({ eks: isEndless ? { createMs: ENDLESS_MS, deleteMs: ENDLESS_MS } : (QUICK_EKS.eks ?? {}) }),
    completeChanges: () => {
      for (const { name, status } of admin.profiles()) {
        if (status === 'CREATING') admin.setProfile({ ...inEks(name), status: 'ACTIVE' });
        if (status === 'DELETING') admin.removeProfile(inEks(name));
      }
    },
    versions: async () => {
      const objects = await Promise.all(sampleObjects().map((object) => api.get(pathOfManifest(object))));
      return Object.fromEntries(
        objects.map(({ kind, metadata: { name, generation, resourceVersion } }) => [
          `${kind}/${name}`,
          `${generation} ${resourceVersion}`,
        ]),
      );
    },
    profiles: async () => (await world.profiles()).map(({ metadata }) => metadata.name),
    waitForTeam: async (name, team) => {
      await eventually(() => world.awsView.profile(`default_${name}`)?.tags['team'] === team, {
        what: `the tag team=${team} of ${name}`,
      });
    },
    expectAllGone: async () => {
      await clusterApi.clusterGone(cluster);
      for (const name of SAMPLE_PROFILES) expect(await api.exists(pathOf(name, 'default')), name).to.equal(false);
      expect(admin.profiles()).to.deep.equal([]);
      expect(rolesOfProfiles(world)).to.deep.equal([]);
    },
  };
}

/** The names of the IAM roles that the manager has created. */
export const rolesOfProfiles = ({ aws }: World): readonly string[] =>
  aws.admin
    .roles()
    .map(({ name }) => name)
    .filter((name) => name !== 'AWSServiceRoleForAmazonEKSForFargate');

/** Waits until the AWSFargateProfiles are Ready and no object of config/samples/cluster has changed for a second. */
export async function waitUntilAtRest(gitops: GitopsWorld): Promise<void> {
  for (const name of SAMPLE_PROFILES) await gitops.world.ready(name);
  let before = '';
  await eventually(
    async () => {
      const now = JSON.stringify(await gitops.versions());
      const isSame = now === before;
      before = now;
      return isSame;
    },
    { what: 'objects at rest', intervalMs: 1_000 },
  );
}
