import { createUnreachableWebhook } from '../../world/cluster-api/unreachable-webhooks.ts';
import { expectDescribed } from '../../world/expect-described.ts';
import { STATIC_IDENTITY, identity, keysSecret } from '../../world/aws/identities.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, controlPlanePath, fargateProfile, startWorld } from '../../world/world.ts';
import { HELD_MS } from '../../world/aws/operations.ts';

const ISSUE = { code: 'AccessDenied', message: 'The role may not be assumed', resourceIds: ['eks-fargate'] };

interface DescribedCase {
  /** The name of the AWSFargateProfile, of its Cluster and of the golden file. */
  readonly name: string;
  readonly title: string;
  readonly arrange: (world: World, name: string) => Promise<void>;
  readonly until: readonly [type: string, status: string, reason?: string];
  /**
   * A part of the last Event that the controller writes for the AWSFargateProfile in this test case. The test waits for
   * this Event before it runs `kubectl describe`.
   */
  readonly event?: string;
  /** Called after all tests. Removes what blocks the deletion of the AWSFargateProfile, e.g. a pause. */
  readonly release?: (world: World, name: string) => Promise<unknown>;
}

const eksNameOf = (name: string): string => `default_${name}-control-plane`;

/**
 * Waits until the controller reports that EKS is creating the Fargate profile, and then lets the AWS emulator complete
 * the creation.
 */
const endCreate = (world: World, name: string, cluster = name): Promise<void> =>
  world
    .condition(name, 'Ready', { status: 'False', reason: 'Creating' })
    .then(() => world.aws.admin.setProfile({ cluster: eksNameOf(cluster), name: `default_${name}`, status: 'ACTIVE' }));

async function createReady(world: World, name: string, spec: object = {}): Promise<void> {
  await world.createEksCluster(name);
  await world.apply(fargateProfile(name, { clusterName: name, ...spec }));
  await endCreate(world, name);
  await world.ready(name);
}

const DESCRIBED_CASES: readonly DescribedCase[] = [
  {
    name: 'waiting-for-cluster',
    title: 'a Cluster that does not exist yet',
    arrange: (world, name) => world.apply(fargateProfile(name, { clusterName: name })),
    until: ['Ready', 'False', 'WaitingForCluster'],
  },
  {
    name: 'waiting-for-control-plane',
    title: 'a control plane that is not ready yet',
    arrange: async (world, name) => {
      await world.createEksCluster(name, { ready: false });
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['Ready', 'False', 'WaitingForEKSControlPlane'],
  },
  {
    name: 'waiting-for-identity',
    title: 'an identity that does not allow the namespace',
    arrange: async (world, name) => {
      const allowedNamespaces = { list: ['team-a'] };
      await world.apply(identity(STATIC_IDENTITY, name, { secretRef: name, allowedNamespaces }));
      await world.createEksCluster(name, { identityRef: { kind: STATIC_IDENTITY, name } });
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['CredentialsReady', 'False', 'IdentityNotAllowed'],
    event: 'Warning IdentityNotAllowed',
    release: async (world, name) => {
      await world.apply(
        keysSecret(name, world.aws.admin.registerKey({ account: ACCOUNT })),
        identity(STATIC_IDENTITY, name, { secretRef: name, allowedNamespaces: { list: ['team-a', 'default'] } }),
      );
    },
  },
  {
    name: 'waiting-for-guard',
    title: 'a control plane that refuses the finalizer because of an unavailable webhook',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      await breakWebhookOf(world, name);
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['Ready', 'False', 'GuardRefused'],
  },
  {
    name: 'creating',
    title: 'a profile that EKS is creating',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['Ready', 'False', 'Creating'],
    event: 'Started creating',
  },
  {
    name: 'ready',
    title: 'a profile that is ready',
    arrange: (world, name) => createReady(world, name, { additionalTags: { team: 'shop' } }),
    until: ['Ready', 'True'],
    event: 'Created new EKS fargate profile',
  },
  {
    name: 'waiting-for-sibling',
    title: 'a profile in the cluster queue',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      await world.apply(fargateProfile('ahead', { clusterName: name }));
      await world.condition('ahead', 'Ready', { status: 'False', reason: 'Creating' });
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['Ready', 'False', 'WaitingForSibling'],
    event: 'Created fargate IAM role',
  },
  {
    name: 'refused',
    title: 'a public subnet',
    arrange: async (world, name) => {
      const { subnets } = await world.createEksCluster(name);
      const subnetIDs = subnets.filter(({ isPublic }) => isPublic).map(({ id }) => id);
      await world.apply(fargateProfile(name, { clusterName: name, subnetIDs }));
    },
    until: ['Stalled', 'True', 'Refused'],
    event: 'Failed to create',
  },
  {
    name: 'create-failed',
    title: 'a profile that EKS failed to create',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      await world.apply(fargateProfile(name, { clusterName: name }));
      await world.condition(name, 'Ready', { status: 'False', reason: 'Creating' });
      const failed = {
        cluster: eksNameOf(name),
        name: `default_${name}`,
        status: 'CREATE_FAILED',
        issues: [ISSUE],
      } as const;
      world.aws.admin.setProfile(failed);
    },
    until: ['Ready', 'False', 'CreateFailed'],
    event: 'Warning CreateFailed',
  },
  {
    name: 'name-taken',
    title: 'a profile of another owner with the wanted name',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      const role = world.aws.admin.putRole({ name: 'somebody-elses', trustPolicy: '{"Statement":[]}' });
      world.aws.admin.putProfile({ cluster: eksNameOf(name), name: `default_${name}`, podExecutionRoleArn: role.arn });
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['Stalled', 'True', 'ProfileNotOwned'],
    event: 'Warning ProfileNotOwned',
  },
  {
    name: 'role-not-found',
    title: 'a role that does not exist',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      const roleARN = 'arn:aws:iam::123456789012:role/nowhere';
      await world.apply(fargateProfile(name, { clusterName: name, roleARN }));
    },
    until: ['Stalled', 'True', 'RoleNotFound'],
    event: 'Warning RoleNotFound',
  },
  {
    name: 'paused',
    title: 'a profile that was paused before its creation',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      const annotations = { 'cluster.x-k8s.io/paused': '' };
      await world.apply(fargateProfile(name, { clusterName: name }, { annotations }));
    },
    until: ['Paused', 'True'],
    // The AWSFargateProfile becomes Ready before its deletion. Otherwise EKS could still be creating its Fargate
    // profile, and the deletion would have to wait for EKS.
    release: async (world, name) => {
      await world.patch(name, { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } });
      await world.ready(name);
    },
  },
  {
    name: 'deleting',
    title: 'a profile that EKS is deleting',
    arrange: async (world, name) => {
      await createReady(world, name);
      await world.delete(name);
    },
    until: ['Deleting', 'True', 'DeletingProfile'],
    event: 'Started deleting',
  },
  {
    name: 'retain-blocks-teardown',
    title: 'a profile to be retained during the teardown of its cluster',
    arrange: async (world, name) => {
      await createReady(world, name, { deletionPolicy: 'Retain' });
      await world.controlPlane.api.delete(controlPlanePath(name));
    },
    until: ['Stalled', 'True', 'RetainBlocksClusterDeletion'],
    event: 'Warning RetainBlocksClusterDeletion',
    release: (world, name) => world.patch(name, { spec: { deletionPolicy: 'Delete' } }),
  },
];

describe('kubectl describe', () => {
  let world: World;
  before(async () => {
    // The AWS emulator completes the creation or deletion of a Fargate profile only when a test says so. So an
    // AWSFargateProfile keeps a condition reason such as Creating until the test has run `kubectl describe`.
    world = await startWorld({ config: { eks: { createMs: HELD_MS, deleteMs: HELD_MS } } });
    await world.startManager();
  });
  after(async () => {
    const { admin } = world.aws;
    admin.setConfig({ eks: { createMs: 0, deleteMs: 0 } });
    for (const { name, release } of DESCRIBED_CASES) await release?.(world, name);
    for (const { cluster, name, status } of admin.profiles()) {
      if (status === 'CREATING') admin.setProfile({ cluster, name, status: 'ACTIVE' });
      if (status === 'DELETING') admin.removeProfile({ cluster, name });
    }
    await world.finish();
  });

  for (const { name, title, arrange, until, event } of DESCRIBED_CASES) {
    it(`shows ${title}`, async () => {
      await arrange(world, name);
      const [type, status, reason] = until;
      await world.condition(name, type, { status, ...(reason !== undefined && { reason }) });
      // The controller writes the Event and the conditions at the same time, so the test waits for both.
      if (event !== undefined) await world.event(name, event);
      await expectDescribed(world, name);
    });
  }
});

/**
 * Creates an admission webhook that the API server must call for every update of the AWSManagedControlPlane. No server
 * listens at the URL of the webhook, so the API server refuses these updates.
 */
async function breakWebhookOf(world: World, cluster: string): Promise<void> {
  await createUnreachableWebhook(world, {
    name: 'validation.awsmanagedcontrolplanes.controlplane.cluster.x-k8s.io',
    group: 'controlplane.cluster.x-k8s.io',
    resources: ['awsmanagedcontrolplanes'],
    labels: { 'cluster.x-k8s.io/cluster-name': cluster },
    probe: controlPlanePath(cluster),
  });
}
