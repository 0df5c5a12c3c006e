import { CAPA_TRUST } from '../../world/aws/capa-resources.ts';
import { CLUSTER, CONTROL_PLANE_REF, EKS_CLUSTER, MINUTE } from '../world/cluster.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import type { Phases } from './phase.ts';
import {
  AT_ONCE,
  PROFILE,
  WEB,
  deleteHeld,
  patchWeb,
  putForeignProfile,
  removeAtOnce,
  startAndApply,
  startUntilReady,
} from './phase.ts';

/** EKS takes so long for a creation or deletion that the situation lasts. */
const SLOW = { aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } };

const subnetIDs = (world: SimulatedWorld, isPublic: boolean): readonly string[] =>
  world.aws.admin
    .clusters()
    .flatMap(({ subnets }) => subnets)
    .filter((subnet) => subnet.isPublic === isPublic)
    .map(({ id }) => id);

/** Situations in the usual life of an AWSFargateProfile, and the most common problems. */
export const USUAL: Phases = {
  'waiting-for-cluster': {
    title: 'a Cluster that does not exist yet',
    before: (world) => removeAtOnce(world, 'clusters', CLUSTER),
    until: ['Ready', 'False', 'WaitingForCluster'],
    remedy: (world) =>
      world.create('clusters', { metadata: { name: CLUSTER }, spec: { controlPlaneRef: CONTROL_PLANE_REF } }),
  },
  creating: {
    title: 'a profile that EKS is creating',
    options: SLOW,
    until: ['Ready', 'False', 'Creating'],
    readAfter: AT_ONCE,
  },
  ready: {
    title: 'a profile that is ready',
    arrange: (world) => startUntilReady(world),
    until: ['Ready', 'True'],
  },
  'waiting-for-control-plane': {
    title: 'a control plane that is not ready yet',
    before: (world) => world.setControlPlaneReady(false),
    until: ['Ready', 'False', 'WaitingForEKSControlPlane'],
    remedy: (world) => world.setControlPlaneReady(true),
  },
  'credentials-missing': {
    title: 'a manager without credentials',
    before: (world) => {
      const places = 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (not set); the instance metadata service';
      const cause = new Error('Could not load credentials from any providers');
      const error = new Error(`the AWS SDK looked in these places: ${places}`, { cause });
      world.credentials = { key: 'manager', fetch: () => Promise.reject(error) };
    },
    until: ['CredentialsReady', 'False', 'CredentialsMissing'],
    remedy: (world) => {
      world.managers.at(-1)?.kill();
      world.credentials = undefined;
      world.start();
    },
  },
  'waiting-for-sibling': {
    title: 'a profile that waits for another AWSFargateProfile of its cluster',
    options: SLOW,
    arrange: async (world) => {
      world.start();
      world.apply('ahead');
      await world.reason('ahead', 'Creating');
      world.applyWith(WEB, {});
    },
    until: ['Ready', 'False', 'WaitingForSibling'],
    readAfter: AT_ONCE,
  },
  refused: {
    title: 'a public subnet',
    arrange: (world) => startAndApply(world, { subnetIDs: subnetIDs(world, true) }),
    until: ['Stalled', 'True', 'Refused'],
    remedy: (world) => patchWeb(world, { spec: { subnetIDs: subnetIDs(world, false) } }),
  },
  'create-failed': {
    title: 'a profile that EKS failed to create',
    before: (world) => {
      const issues = [{ code: 'AccessDenied', message: 'The role may not be assumed', resourceIds: ['eks-fargate'] }];
      world.aws.admin.planFailure({ operation: 'create', times: 1, issues });
    },
    until: ['Ready', 'False', 'CreateFailed'],
    readAfter: AT_ONCE,
  },
  'name-taken': {
    title: 'a profile of another owner with the wanted name',
    before: (world) => putForeignProfile(world, PROFILE),
    until: ['Stalled', 'True', 'ProfileNotOwned'],
    remedy: (world) => world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: PROFILE }),
  },
  'role-not-found': {
    title: 'a role that does not exist',
    spec: { roleARN: 'arn:aws:iam::123456789012:role/nowhere' },
    until: ['Stalled', 'True', 'RoleNotFound'],
    remedy: (world) => void world.aws.admin.putRole({ name: 'nowhere', trustPolicy: CAPA_TRUST }),
  },
  deleting: {
    title: 'a profile that EKS is deleting',
    options: SLOW,
    after: (world) => world.delete(WEB),
    until: ['Deleting', 'True', 'DeletingProfile'],
    readAfter: AT_ONCE,
  },
  'retain-blocks-teardown': {
    title: 'a profile to be retained during the teardown of its cluster',
    spec: { deletionPolicy: 'Retain' },
    after: (world) => deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name),
    until: ['Stalled', 'True', 'RetainBlocksClusterDeletion'],
    remedy: (world) => patchWeb(world, { spec: { deletionPolicy: 'Delete' } }),
    endsAs: 'gone',
  },
};
