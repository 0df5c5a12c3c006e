import { deadWebhook } from '../world/dead-webhooks.ts';
import { expectDescribed } from '../world/describe.ts';
import { OWN_NAMESPACE, STATIC, identity, keysSecret } from '../world/identities.ts';
import type { World } from '../world/world.ts';
import { ACCOUNT, controlPlanePath, fargateProfile, startWorld } from '../world/world.ts';

/** EKS does nothing by itself: what is to be looked at stays as it is until the test says otherwise. */
const NEVER_MS = 3_600_000;
const ISSUE = { code: 'AccessDenied', message: 'The role may not be assumed', resourceIds: ['eks-fargate'] };

interface Phase {
  /** Also the name of the object, of its Cluster and of the golden text. */
  readonly name: string;
  readonly says: string;
  readonly arrange: (world: World, name: string) => Promise<void>;
  readonly until: readonly [type: string, status: string, reason?: string];
  /** In the event that comes last. */
  readonly event?: string;
  /** Takes away what would keep the object from going. */
  readonly release?: (world: World, name: string) => Promise<unknown>;
}

const eksNameOf = (name: string): string => `default_${name}-control-plane`;

/** What EKS comes to with the profile that it was asked for. */
const finished = (world: World, name: string, cluster = name): Promise<void> =>
  world
    .condition(name, 'Ready', { status: 'False', reason: 'Creating' })
    .then(() => world.aws.admin.setProfile({ cluster: eksNameOf(cluster), name: `default_${name}`, status: 'ACTIVE' }));

async function ready(world: World, name: string, spec: object = {}): Promise<void> {
  await world.createEksCluster(name);
  await world.apply(fargateProfile(name, { clusterName: name, ...spec }));
  await finished(world, name);
  await world.ready(name);
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
    name: 'waiting-for-identity',
    says: 'an identity that the namespace may not use',
    arrange: async (world, name) => {
      const allowedNamespaces = { list: ['team-a'] };
      await world.apply(identity(STATIC, name, { secretRef: name, allowedNamespaces }));
      await world.createEksCluster(name, { identityRef: { kind: STATIC, name } });
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['CredentialsReady', 'False', 'IdentityNotAllowed'],
    event: 'Warning IdentityNotAllowed',
    release: async (world, name) => {
      await world.createNamespace(OWN_NAMESPACE);
      await world.apply(
        keysSecret(name, world.aws.admin.registerKey({ account: ACCOUNT })),
        identity(STATIC, name, { secretRef: name, allowedNamespaces: { list: ['team-a', 'default'] } }),
      );
    },
  },
  {
    name: 'waiting-for-guard',
    says: 'a control plane that takes no finalizer, since the webhook of its own controller is down',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      await breakWebhookOf(world, name);
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['Ready', 'False', 'GuardRefused'],
  },
  {
    name: 'creating',
    says: 'a profile that EKS is creating',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      await world.apply(fargateProfile(name, { clusterName: name }));
    },
    until: ['Ready', 'False', 'Creating'],
    event: 'Started creating',
  },
  {
    name: 'ready',
    says: 'a profile that is ready',
    arrange: (world, name) => ready(world, name, { additionalTags: { team: 'shop' } }),
    until: ['Ready', 'True'],
    event: 'Created new EKS fargate profile',
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
    event: 'Created fargate IAM role',
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
    event: 'Failed to create',
  },
  {
    name: 'create-failed',
    says: 'a profile that EKS failed to create',
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
    says: 'a profile of somebody else under the wanted name',
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
    says: 'a role that does not exist',
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
    says: 'a profile that was paused before anything was done',
    arrange: async (world, name) => {
      await world.createEksCluster(name);
      const annotations = { 'cluster.x-k8s.io/paused': '' };
      await world.apply(fargateProfile(name, { clusterName: name }, { annotations }));
    },
    until: ['Paused', 'True'],
    // Until it is Ready: deleted in the midst of its create, it would wait a minute for what EKS makes of that.
    release: async (world, name) => {
      await world.patch(name, { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } });
      await world.ready(name);
    },
  },
  {
    name: 'deleting',
    says: 'a profile that EKS is deleting',
    arrange: async (world, name) => {
      await ready(world, name);
      await world.delete(name);
    },
    until: ['Deleting', 'True', 'DeletingProfile'],
    event: 'Started deleting',
  },
  {
    name: 'retain-blocks-teardown',
    says: 'a profile that is to be retained while its cluster goes',
    arrange: async (world, name) => {
      await ready(world, name, { deletionPolicy: 'Retain' });
      await world.controlPlane.api.delete(controlPlanePath(name));
    },
    until: ['Stalled', 'True', 'RetainBlocksClusterDeletion'],
    event: 'Warning RetainBlocksClusterDeletion',
    release: (world, name) => world.patch(name, { spec: { deletionPolicy: 'Delete' } }),
  },
];

describe('what kubectl describe shows', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: { eks: { createMs: NEVER_MS, deleteMs: NEVER_MS } } });
    await world.startManager();
  });
  after(async () => {
    const { admin } = world.aws;
    admin.setConfig({ eks: { createMs: 0, deleteMs: 0 } });
    for (const { name, release } of PHASES) await release?.(world, name);
    for (const { cluster, name, status } of admin.profiles()) {
      if (status === 'CREATING') admin.setProfile({ cluster, name, status: 'ACTIVE' });
      if (status === 'DELETING') admin.removeProfile({ cluster, name });
    }
    await world.finish();
  });

  for (const { name, says, arrange, until, event } of PHASES) {
    it(`of ${says}`, async () => {
      await arrange(world, name);
      const [type, status, reason] = until;
      await world.condition(name, type, { status, ...(reason !== undefined && { reason }) });
      // The event of what the conditions say is written beside them.
      if (event !== undefined) await world.event(name, event);
      await expectDescribed(world, name);
    });
  }
});

/** The API server asks a webhook about each change of the control plane, and nobody is there to answer. */
async function breakWebhookOf(world: World, cluster: string): Promise<void> {
  await deadWebhook(world, {
    name: 'validation.awsmanagedcontrolplanes.controlplane.cluster.x-k8s.io',
    group: 'controlplane.cluster.x-k8s.io',
    resources: ['awsmanagedcontrolplanes'],
    labels: { 'cluster.x-k8s.io/cluster-name': cluster },
    probe: controlPlanePath(cluster),
  });
}
