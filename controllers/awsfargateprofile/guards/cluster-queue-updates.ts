import type { ProfileName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { ClusterQueue, QueueEntry } from '../../../pkg/runtime/queue/cluster-queue.ts';
import { describeFailure } from '../../../pkg/cloud/errors/errors.ts';
import { isDeleting } from '../../shared/object-state.ts';
import type { Desired } from '../model/desired-state.ts';
import { locationOf } from '../model/location.ts';
import type { Mutation } from '../model/mutation.ts';
import { subjectOf } from '../model/mutation.ts';
import { profileNameOf } from '../../shared/profile-names.ts';
import type { MutationOutcome } from '../model/outcome.ts';
import type { PartiallyObserved } from '../model/pass.ts';
import { describeTransit } from '../model/eks-change-in-progress.ts';

/**
 * Returns the key of an EKS cluster in the queues of profile changes. Each EKS cluster has a queue, because EKS creates
 * or deletes only one Fargate profile of a cluster at a time.
 */
export const queueNameOf = (account: string, region: string, eksCluster: string): string =>
  `${account}/${region}/${eksCluster}`;

/** Returns the entry with which an AWSFargateProfile waits in the queue of profile changes of its EKS cluster. */
export function queueEntryFor(
  object: AWSFargateProfile,
  queue: string,
  { wanted, recorded, identity }: Desired,
): QueueEntry {
  return {
    queue,
    id: keyText(keyOf(object)),
    name: wanted?.profile.name ?? recorded.profileName ?? identity.profileName,
    urgent: isDeleting(object),
    createdAt: object.metadata.creationTimestamp ?? '',
  };
}

/**
 * Updates the queue of profile changes of an EKS cluster after EKS has returned the statuses of the object's profiles.
 */
export function updateQueueFromObservation(
  clusterQueue: ClusterQueue,
  { queue, id }: Pick<QueueEntry, 'queue' | 'id'>,
  { profiles }: PartiallyObserved,
): void {
  for (const { name, found } of profiles) {
    const doing = describeTransit(found?.status);
    if (doing === undefined) clusterQueue.markSettled(queue, name);
    else clusterQueue.markInFlight(queue, name, doing, false, id);
  }
}

/**
 * Updates the queue of profile changes of an EKS cluster with EKS's answer to a change. `pause` is the time for which
 * this controller sends no profile change while EKS updates the cluster.
 */
export function updateQueueFromOutcome(
  clusterQueue: ClusterQueue,
  queueEntry: QueueEntry,
  mutation: Mutation,
  outcome: MutationOutcome,
  pause: Ms,
): void {
  if (outcome.kind === 'done') {
    const doing = mutation.kind === 'createProfile' ? 'being created' : 'being deleted';
    // The queue is updated with the name of the changed profile. The queue entry may have another name: the name of a
    // new profile that replaces the deleted profile.
    clusterQueue.markAccepted({ ...queueEntry, name: subjectOf(mutation) }, doing);
  } else if (outcome.kind === 'siblingBusy') {
    clusterQueue.markInFlight(queueEntry.queue, outcome.by, describeTransit(outcome.doing) ?? outcome.doing, true);
  } else if (outcome.kind === 'clusterUpdating') {
    clusterQueue.close(queueEntry.queue, pause, describeFailure(outcome.failure));
  }
}

/**
 * Fills the queue of profile changes of an EKS cluster from the status of the other AWSFargateProfiles of the cluster,
 * if this process has no such queue, for example after its start. Their status may be outdated. So before an object
 * waits for a profile of another object, the controller asks EKS whether this profile is really changing.
 */
export function updateQueueFromStatus(
  clusterQueue: ClusterQueue,
  queue: string,
  siblings: () => readonly AWSFargateProfile[],
): void {
  if (!clusterQueue.isUnknown(queue)) return;
  for (const { status } of siblings()) {
    const { account = '', region = '', eksClusterName = '', profileName, profileStatus } = status ?? {};
    const doing = describeTransit(profileStatus);
    if (profileName === undefined || doing === undefined) continue;
    if (queueNameOf(account, region, eksClusterName) === queue)
      clusterQueue.markInFlight(queue, profileName, doing, true);
  }
}

/**
 * Returns the names of other objects' Fargate profiles that EKS may be changing although the queue of the EKS cluster
 * has no record of the change. This process has not read these profiles from EKS, and their objects have no status,
 * because `clusterctl move` or a restore from a backup dropped it.
 */
export function unobservedProfiles(
  queue: string,
  siblings: readonly AWSFargateProfile[],
  hasObserved: (sibling: AWSFargateProfile) => boolean,
): readonly ProfileName[] {
  return siblings
    .filter((sibling) => sibling.status?.account === undefined && isLocatedIn(queue, sibling) && !hasObserved(sibling))
    .map(profileNameOf);
}

function isLocatedIn(queue: string, object: AWSFargateProfile): boolean {
  const location = locationOf(object);
  return location.kind === 'known' && queueNameOf(location.account, location.region, location.eksCluster) === queue;
}
