import { expect } from 'chai';
import { PLURAL, RECORD_ANNOTATION, TAKE_OVER_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { ACCOUNT, EKS_CLUSTER, HOUR, MINUTE } from '../world/cluster.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import type { Phases } from './phase.ts';
import { AT_ONCE, PROFILE, ROLE, WEB, startAndApply, patchWeb, putForeignProfile, startUntilReady } from './phase.ts';

const SLOW = { aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } };
const ISSUE = {
  code: 'PodExecutionRoleAlreadyInUse',
  message: 'The role is used by a node group',
  resourceIds: ['workers-1'],
};
const failing = (world: SimulatedWorld): void => world.aws.admin.planFailure({ operation: 'create', issues: [ISSUE] });
const noFailures = (world: SimulatedWorld): void => world.aws.admin.clearPlannedFailures();

const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';

/** Replaces the tags of the Fargate profile without the manager, as a user of the AWS console does. */
const setTagsByHand = (world: SimulatedWorld, tags: Readonly<Record<string, string>>): void =>
  world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: PROFILE, tags });

/**
 * Creates an AWSFargateProfile and waits until it is Ready. While no manager runs, removes its status and changes its
 * spec. Then starts a new manager.
 */
async function withoutStatus(world: SimulatedWorld, spec: object): Promise<void> {
  await startUntilReady(world);
  await world.stopAll();
  world.patch(PLURAL, WEB, { status: null }, 'status');
  patchWeb(world, { spec });
  world.start();
}

/** Changes the selectors of a Ready AWSFargateProfile whose update strategy is Replace. */
async function replaced(world: SimulatedWorld): Promise<void> {
  await startUntilReady(world);
  patchWeb(world, { spec: { updateStrategy: { type: 'Replace' }, selectors: [{ namespace: 'other' }] } });
}

/** Situations of an AWSFargateProfile that concern its Fargate profile in EKS. */
export const PROFILES: Phases = {
  'health-issues-while-ready': {
    title: 'a profile in use whose role the user has broken',
    after: (world) => {
      const issues = [{ code: 'AccessDenied', message: 'The role cannot be assumed.', resourceIds: [ROLE] }];
      world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: PROFILE, issues });
    },
    until: ['Ready', 'True'],
    remedy: (world) => world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: PROFILE, issues: [] }),
  },
  'profile-of-another-object': {
    title: 'a profile of the wanted name that belongs to another object',
    arrange: async (world) => {
      await world.startWithReadyObject('other', { profileName: 'shop' });
      world.applyWith(WEB, { profileName: 'shop' });
    },
    until: ['Stalled', 'True', 'ProfileNotOwned'],
    remedy: (world) => patchWeb(world, { spec: { profileName: 'shop-web' } }),
  },
  'profile-not-adoptable': {
    title: 'a profile to adopt that differs from the spec',
    spec: { adoptionPolicy: 'Always' },
    before: (world) =>
      putForeignProfile(world, PROFILE, { selectors: [{ namespace: 'other', labels: { app: 'shop' } }] }),
    until: ['Stalled', 'True', 'ProfileNotOwned'],
    remedy: (world) => patchWeb(world, { spec: { profileName: 'shop-web' } }),
  },
  'spec-differs': {
    title: 'a profile that differs from the spec, of an object that lost its status',
    options: SLOW,
    arrange: (world) => withoutStatus(world, { selectors: [{ namespace: 'other' }] }),
    until: ['Stalled', 'True', 'SpecDiffers'],
    remedy: (world) => patchWeb(world, { spec: { selectors: [{ namespace: WEB }] } }),
  },
  replacing: {
    title: 'a profile of which a new one takes the place',
    options: SLOW,
    arrange: replaced,
    until: ['Ready', 'False', 'Replacing'],
    readAfter: AT_ONCE,
  },
  'predecessor-kept': {
    title: 'a profile beside the new one that has taken its place',
    options: SLOW,
    arrange: replaced,
    until: ['Ready', 'True', 'PredecessorKept'],
    readAfter: AT_ONCE,
  },
  draining: {
    title: 'a profile whose pods the controller evicts because a new one has taken its place',
    options: SLOW,
    arrange: async (world) => {
      const { workload } = world;
      const owner = { kind: 'ReplicaSet', name: 'web-7d9c' };
      workload.takerOf = () => PROFILE;
      workload.refusalOf = () => 'The disruption budget web needs 2 healthy pods and has 2 currently';
      workload.create({ namespace: 'other', owner });
      await replaced(world);
      patchWeb(world, { spec: { updateStrategy: { replace: { drainTimeout: '10m' } } } });
    },
    until: ['Ready', 'True', 'Draining'],
    readAfter: AT_ONCE,
    remedy: (world) => {
      world.workload.refusalOf = () => undefined;
    },
  },
  'removing-predecessor': {
    title: 'a profile that EKS deletes because a new one has taken its place',
    options: SLOW,
    arrange: replaced,
    until: ['Ready', 'True', 'RemovingPredecessor'],
    readAfter: AT_ONCE,
  },
  'waiting-for-a-stranger': {
    title: 'a profile that waits until EKS has created a foreign profile',
    before: (world) => putForeignProfile(world, 'theirs', { status: 'CREATING' }),
    until: ['Ready', 'False', 'WaitingForSibling'],
    readAfter: 10 * MINUTE,
    remedy: (world) => world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: 'theirs', status: 'ACTIVE' }),
  },
  'cluster-updating': {
    title: 'a profile that waits for an update of its EKS cluster',
    before: (world) => world.aws.admin.setCluster({ name: EKS_CLUSTER, updateInProgressMs: 10 * MINUTE }),
    until: ['Ready', 'False', 'ClusterUpdating'],
    readAfter: 5 * MINUTE,
  },
  quota: {
    title: 'an EKS cluster at its quota of profiles',
    options: { aws: { eks: { maxProfilesPerCluster: 1 } } },
    before: (world) => putForeignProfile(world, 'theirs'),
    until: ['Ready', 'False', 'QuotaExceeded'],
    remedy: (world) => world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'theirs' }),
  },
  'changed-while-creating': {
    title: 'a changed spec while EKS creates the profile',
    options: SLOW,
    arrange: async (world) => {
      startAndApply(world);
      await world.until('it is being created', () => world.condition(WEB)?.reason === 'Creating');
      patchWeb(world, { spec: { selectors: [{ namespace: 'other' }] } });
    },
    until: ['Ready', 'False', 'WaitingForCreate'],
    readAfter: AT_ONCE,
  },
  'changed-after-creating': {
    title: 'the deletion of a profile whose spec was changed before it was ready',
    options: SLOW,
    arrange: async (world) => {
      startAndApply(world);
      await world.until('it is being created', () => world.condition(WEB)?.reason === 'Creating');
      patchWeb(world, { spec: { selectors: [{ namespace: 'other' }] } });
    },
    until: ['Ready', 'False', 'DeletingProfile'],
    readAfter: AT_ONCE,
  },
  'record-unreadable': {
    title: 'an object whose record a user has edited by mistake',
    after: (world) => patchWeb(world, { metadata: { annotations: { [RECORD_ANNOTATION]: '{"v":1,' } } }),
    until: ['Stalled', 'True', 'RecordUnreadable'],
    remedy: (world) => patchWeb(world, { metadata: { annotations: { [RECORD_ANNOTATION]: null } } }),
  },
  'managed-elsewhere': {
    title: 'a profile that another management cluster has made for the same object',
    arrange: async (world) => {
      await startUntilReady(world, { updateStrategy: { type: 'Replace' } });
      const { name: _own, selectors: _selectors, ...mine } = world.eksProfile(WEB) ?? expect.fail('no profile');
      await world.clock.advance(MINUTE);
      world.aws.admin.putProfile({
        cluster: EKS_CLUSTER,
        name: `9999-${PROFILE}`,
        podExecutionRoleArn: mine.podExecutionRoleArn,
        selectors: [{ namespace: 'other', labels: {} }],
        tags: mine.tags,
      });
      await world.stopAll();
      world.start();
      world.triggerReconcile(WEB);
    },
    until: ['Stalled', 'True', 'ManagedElsewhere'],
    remedy: (world) => {
      const { arn = '' } = world.eksProfile(WEB, `9999-${PROFILE}`) ?? {};
      patchWeb(world, { metadata: { annotations: { [TAKE_OVER_ANNOTATION]: arn.split('/').at(-1) } } });
    },
  },
  'creating-for-40m': {
    title: 'a profile that EKS has been creating for forty minutes',
    options: { aws: { eks: { createMs: HOUR } } },
    until: ['Ready', 'False', 'Creating'],
    readAfter: 40 * MINUTE,
  },
  'create-failed-for-1h': {
    title: 'a profile that has ended in CREATE_FAILED for an hour',
    options: SLOW,
    before: failing,
    until: ['Stalled', 'True', 'CreateFailed'],
    readAfter: HOUR,
    remedy: noFailures,
  },
  'create-failed-and-tried-again': {
    title: 'a new attempt after many CREATE_FAILED profiles',
    options: SLOW,
    arrange: async (world) => {
      failing(world);
      startAndApply(world);
      await world.until('many tries', () => world.condition(WEB, 'Stalled')?.status === 'True', HOUR);
    },
    until: ['Ready', 'False', 'Creating'],
    readAfter: AT_ONCE,
    remedy: noFailures,
  },
  'status-unknown': {
    title: 'an unknown EKS status',
    after: (world) => {
      const aws = world.aws.model.state;
      const { clusters } = aws.region(aws.account(ACCOUNT, 'aws'), 'us-east-1');
      Object.assign(clusters.get(EKS_CLUSTER)?.profiles.get(PROFILE) ?? {}, { status: 'HIBERNATING' });
      world.triggerReconcile(WEB);
    },
    until: ['Ready', 'False', 'UnknownProfileStatus'],
    readAfter: 10 * MINUTE,
    remedy: (world) => world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: PROFILE, status: 'ACTIVE' }),
  },
  'profile-vanished': {
    title: 'the new creation of a profile that was deleted in AWS',
    options: SLOW,
    after: (world) => {
      world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: PROFILE });
      world.triggerReconcile(WEB);
    },
    until: ['Ready', 'False', 'Creating'],
    readAfter: AT_ONCE,
  },
  'owner-tag-missing': {
    title: 'a Ready profile whose tags were removed in AWS',
    after: (world) => {
      setTagsByHand(world, {});
      world.triggerReconcile(WEB);
    },
    until: ['Stalled', 'True', 'OwnershipTagMissing'],
    remedy: (world) => setTagsByHand(world, { [OWNER_TAG]: `default/${WEB}` }),
  },
  'owner-tag-missing-after-a-move': {
    title: 'a profile without tags and without status, as after clusterctl move, that is deleted',
    arrange: async (world) => {
      const manager = world.start();
      world.apply(WEB);
      await world.ready(WEB);
      await world.stop(manager);
      setTagsByHand(world, {});
      world.patch(PLURAL, WEB, { status: null }, 'status');
      world.start();
      world.delete(WEB);
    },
    until: ['Stalled', 'True', 'OwnershipTagMissing'],
    remedy: (world) => setTagsByHand(world, { [OWNER_TAG]: `default/${WEB}` }),
  },
};
