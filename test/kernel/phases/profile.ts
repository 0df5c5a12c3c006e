import { PLURAL } from '../../../api/v1beta2/index.ts';
import { ACCOUNT, EKS_CLUSTER, MINUTE } from '../world.ts';
import type { KernelWorld } from '../world.ts';
import type { Phase } from './phase.ts';
import { AT_ONCE, HOUR, PROFILE, WEB, applied, lookAgain, patchWeb, putTheirs, ready } from './phase.ts';

const SLOW = { aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } };
const ISSUE = {
  code: 'PodExecutionRoleAlreadyInUse',
  message: 'The role is used by a node group',
  resourceIds: ['workers-1'],
};
const failing = (world: KernelWorld): void => world.aws.admin.planFailure({ operation: 'create', issues: [ISSUE] });
const noFailures = (world: KernelWorld): void => world.aws.admin.clearPlannedFailures();

/** Ready, and then without the status that says so. */
async function withoutStatus(world: KernelWorld, spec: object): Promise<void> {
  await ready(world);
  const [manager] = world.managers;
  if (manager !== undefined) await world.stop(manager);
  world.patch(PLURAL, WEB, { status: null }, 'status');
  patchWeb(world, { spec });
  world.start();
}

/** The profile in EKS. */
export const PROFILES: readonly Phase[] = [
  {
    name: 'profile-of-another-object',
    says: 'a profile of the wanted name that belongs to another object',
    arrange: async (world) => {
      world.start();
      world.applyWith('other', { profileName: 'shop' });
      await world.ready('other');
      world.applyWith(WEB, { profileName: 'shop' });
    },
    until: ['Stalled', 'True', 'ProfileNotOwned'],
    cure: (world) => patchWeb(world, { spec: { profileName: 'shop-web' } }),
  },
  {
    name: 'profile-not-adoptable',
    says: 'a profile of nobody that is to be adopted, and is not as the spec says',
    arrange: (world) => {
      putTheirs(world, PROFILE, { selectors: [{ namespace: 'other', labels: { app: 'shop' } }] });
      applied(world, { adoptionPolicy: 'Always' });
    },
    until: ['Stalled', 'True', 'ProfileNotOwned'],
    cure: (world) => patchWeb(world, { spec: { profileName: 'shop-web' } }),
  },
  {
    name: 'spec-differs',
    says: 'a profile that is not as the spec says, of an object whose status was lost',
    options: SLOW,
    arrange: (world) => withoutStatus(world, { selectors: [{ namespace: 'other' }] }),
    until: ['Stalled', 'True', 'SpecDiffers'],
    cure: (world) => patchWeb(world, { spec: { selectors: [{ namespace: WEB }] } }),
  },
  {
    name: 'waiting-for-a-stranger',
    says: 'a profile that waits until EKS has done with somebody else’s',
    arrange: (world) => {
      putTheirs(world, 'theirs', { status: 'CREATING' });
      applied(world);
    },
    until: ['Ready', 'False', 'WaitingForSibling'],
    readAfter: 10 * MINUTE,
    cure: (world) => world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: 'theirs', status: 'ACTIVE' }),
  },
  {
    name: 'cluster-updating',
    says: 'a profile that waits for the end of an update of its cluster',
    arrange: (world) => {
      world.aws.admin.setCluster({ name: EKS_CLUSTER, updateInProgressMs: 10 * MINUTE });
      applied(world);
    },
    until: ['Ready', 'False', 'ClusterUpdating'],
    readAfter: 5 * MINUTE,
  },
  {
    name: 'quota',
    says: 'a cluster that may have no more profiles',
    options: { aws: { eks: { maxProfilesPerCluster: 1 } } },
    arrange: (world) => {
      putTheirs(world, 'theirs');
      applied(world);
    },
    until: ['Ready', 'False', 'QuotaExceeded'],
    cure: (world) => world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'theirs' }),
  },
  {
    name: 'changed-while-creating',
    says: 'a profile that EKS is creating and that the spec wants otherwise by now',
    options: SLOW,
    arrange: async (world) => {
      applied(world);
      await world.until('it is being created', () => world.condition(WEB)?.reason === 'Creating');
      patchWeb(world, { spec: { selectors: [{ namespace: 'other' }] } });
    },
    until: ['Ready', 'False', 'WaitingForCreate'],
    readAfter: AT_ONCE,
  },
  {
    name: 'changed-after-creating',
    says: 'a profile that EKS is deleting, since the spec was changed before it ever was ready',
    options: SLOW,
    arrange: async (world) => {
      applied(world);
      await world.until('it is being created', () => world.condition(WEB)?.reason === 'Creating');
      patchWeb(world, { spec: { selectors: [{ namespace: 'other' }] } });
    },
    until: ['Ready', 'False', 'DeletingProfile'],
    readAfter: AT_ONCE,
  },
  {
    name: 'creating-for-40m',
    says: 'a profile that EKS has been creating for forty minutes',
    options: { aws: { eks: { createMs: HOUR } } },
    arrange: (world) => applied(world),
    until: ['Ready', 'False', 'Creating'],
    readAfter: 40 * MINUTE,
  },
  {
    name: 'create-failed-for-1h',
    says: 'a profile that EKS cannot create, an hour later',
    options: SLOW,
    arrange: (world) => {
      failing(world);
      applied(world);
    },
    until: ['Stalled', 'True', 'CreateFailed'],
    cure: noFailures,
  },
  {
    name: 'create-failed-and-tried-again',
    says: 'a profile that EKS could not create five times, while it is made once more',
    options: SLOW,
    arrange: async (world) => {
      failing(world);
      applied(world);
      await world.until('many tries', () => world.condition(WEB, 'Stalled')?.status === 'True', HOUR);
    },
    until: ['Ready', 'False', 'Creating'],
    readAfter: AT_ONCE,
    cure: noFailures,
  },
  {
    name: 'status-unknown',
    says: 'a status of EKS that no version knew when this was written',
    arrange: async (world) => {
      await ready(world);
      const aws = world.aws.model.world;
      const { clusters } = aws.region(aws.account(ACCOUNT, 'aws'), 'us-east-1');
      Object.assign(clusters.get(EKS_CLUSTER)?.profiles.get(PROFILE) ?? {}, { status: 'HIBERNATING' });
      lookAgain(world);
    },
    until: ['Ready', 'False', 'UnknownProfileStatus'],
    readAfter: 10 * MINUTE,
    cure: (world) => world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: PROFILE, status: 'ACTIVE' }),
  },
  {
    name: 'profile-vanished',
    says: 'a profile that somebody deleted in AWS, while it is made anew',
    options: SLOW,
    arrange: async (world) => {
      await ready(world);
      world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: PROFILE });
      lookAgain(world);
    },
    until: ['Ready', 'False', 'Creating'],
    readAfter: AT_ONCE,
  },
];
