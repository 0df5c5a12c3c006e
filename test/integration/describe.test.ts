import { expect } from 'chai';
import { expectGolden, steady } from '../world/describe.ts';
import type { World } from '../world/world.ts';
import { controlPlanePath, fargateProfile, startWorld } from '../world/world.ts';

/** Long enough to be looked at while EKS is busy. */
const LIFECYCLE_MS = 4_000;

interface Phase {
  /** Also the name of the object, of its Cluster and of the golden text. */
  readonly name: string;
  readonly says: string;
  readonly arrange: (world: World, name: string) => Promise<void>;
  readonly until: readonly [type: string, status: string, reason?: string];
}

const PHASES: readonly Phase[] = [
  {
    name: 'waiting-for-cluster',
    says: 'a Cluster that does not exist yet',
    arrange: (world, name) => world.apply(fargateProfile(name, { clusterName: name })),
    until: ['Ready', 'False', 'WaitingForCluster'],
  },
  {
    name: 'waiting-for-control-plane',
    says: 'a control plane that is not ready yet',
    arrange: async (world, name) => {
      await world.createEksCluster(name, { ready: false });
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['Ready', 'False', 'WaitingForEKSControlPlane'],
  },
  {
    name: 'creating',
    says: 'a profile that EKS is creating',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['Ready', 'False', 'Creating'],
  },
  {
    name: 'ready',
    says: 'a profile that is ready',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      await world.apply(fargateProfile(name, { clusterName: name, additionalTags: { team: 'shop' } }));
    },
    until: ['Ready', 'True'],
  },
  {
    name: 'waiting-for-sibling',
    says: 'a profile that waits for its turn',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      await world.apply(fargateProfile('ahead', { clusterName: name }));
      await world.condition('ahead', 'Ready', { status: 'False', reason: 'Creating' });
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['Ready', 'False', 'WaitingForSibling'],
  },
  {
    name: 'refused',
    says: 'a public subnet',
    arrange: async (world, name) => {
      const { subnets } = await world.createEksCluster(name);
      const subnetIDs = subnets.filter(({ isPublic }) => isPublic).map(({ id }) => id);
      await world.apply(fargateProfile(name, { clusterName: name, subnetIDs }));
    },
    until: ['Stalled', 'True', 'Refused'],
  },
  {
    name: 'create-failed',
    says: 'a profile that EKS failed to create',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      world.aws.admin.planFailure({
        operation: 'create',
        cluster: `default_${name}-control-plane`,
        issues: [{ code: 'AccessDenied', message: 'The role may not be assumed', resourceIds: ['eks-fargate'] }],
      });
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['Ready', 'False', 'CreateFailed'],
  },
  {
    name: 'name-taken',
    says: 'a profile of somebody else under the wanted name',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      const role = world.aws.admin.putRole({ name: 'somebody-elses', trustPolicy: '{"Statement":[]}' });
      world.aws.admin.putProfile({
        cluster: `default_${name}-control-plane`,
        name: `default_${name}`,
        podExecutionRoleArn: role.arn,
      });
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['Stalled', 'True', 'ProfileNotOwned'],
  },
  {
    name: 'role-not-found',
    says: 'a role that does not exist',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      const roleARN = 'arn:aws:iam::123456789012:role/nowhere';
      await world.apply(fargateProfile(name, { clusterName: name, roleARN }));
    },
    until: ['Stalled', 'True', 'RoleNotFound'],
  },
  {
    name: 'paused',
    says: 'a profile that was paused before anything was done',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      const annotations = { 'cluster.x-k8s.io/paused': '' };
      await world.apply(fargateProfile(name, { clusterName: name }, { annotations }));
    },
    until: ['Paused', 'True'],
  },
  {
    name: 'deleting',
    says: 'a profile that EKS is deleting',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      await world.apply(fargateProfile(name, { clusterName: name }));
      await world.ready(name);
      await world.delete(name);
    },
    until: ['Deleting', 'True', 'DeletingProfile'],
  },
  {
    name: 'retain-blocks-teardown',
    says: 'a profile that is to be retained while its cluster goes',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      await world.apply(fargateProfile(name, { clusterName: name, deletionPolicy: 'Retain' }));
      await world.ready(name);
      await world.controlPlane.api.delete(controlPlanePath(name));
    },
    until: ['Stalled', 'True', 'RetainBlocksClusterDeletion'],
  },
];

describe('what kubectl describe shows', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: { eks: { createMs: LIFECYCLE_MS, deleteMs: LIFECYCLE_MS } } });
    await world.startManager();
  });
  after(async () => {
    for (const { name } of PHASES) await settle(world, name);
    await world.finish();
  });

  for (const { name, says, arrange, until } of PHASES) {
    it(`of ${says}`, async () => {
      await arrange(world, name);
      const [type, status, reason] = until;
      const object = await world.condition(name, type, { status, ...(reason !== undefined && { reason }) });
      // The event of what the conditions say is written beside them.
      await eventsOf(world, name, object.status?.conditions ?? []);
      const { stdout } = await world.kubectl(['describe', 'awsfargateprofile', name]);
      expectGolden(`describe-${name}`, steady(stdout));
    });
  }
});

/** Events are written in the background: those that must be there are waited for. */
async function eventsOf(
  world: World,
  name: string,
  conditions: readonly { readonly type: string; readonly status: string; readonly reason?: string }[],
): Promise<void> {
  const reasons = conditions
    .filter(({ type, status }) => type === 'Ready' && status !== 'True')
    .map(({ reason }) => reason);
  if (reasons.includes('Creating')) await world.event(name, 'Started creating');
  if (reasons.includes('Deleting')) await world.event(name, 'Started deleting');
  if (reasons.includes('Refused')) await world.event(name, 'Failed to create');
  for (const reason of ['CreateFailed', 'ProfileNotOwned', 'RoleNotFound', 'RetainBlocksClusterDeletion'])
    if (reasons.includes(reason)) await world.event(name, `Warning ${reason}`);
  if (conditions.some(({ type, status }) => type === 'Ready' && status === 'True'))
    await world.event(name, 'Created new EKS fargate profile');
}

/** Takes away what would keep an object from going. */
async function settle(world: World, name: string): Promise<void> {
  const object = await world.profile(name);
  if (object === undefined) return;
  await world.patch(name, {
    metadata: { annotations: { 'cluster.x-k8s.io/paused': null } },
    ...(object.spec?.['deletionPolicy'] === 'Retain' && { spec: { deletionPolicy: 'Delete' } }),
  });
  expect(await world.profile(name)).to.not.equal(undefined);
}
