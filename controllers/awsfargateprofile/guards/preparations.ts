import * as E from 'fp-ts/lib/Either.js';
import { ProfileName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Clock } from '../../../pkg/env/clock.ts';
import type { ClusterQueue } from '../../../pkg/runtime/queue/cluster-queue.ts';
import type { ControlPlaneFinalizer } from '../../shared/control-plane/control-plane-finalizer.ts';
import { droppedStatusFields } from '../../shared/crd/crd-schema.ts';
import { hasFinalizer, isDeleting } from '../../shared/object-state.ts';
import type { ProfileWriter } from '../../shared/profile-writer.ts';
import { accessEntryDeletedPatch, deletionRequestedPatch } from '../goal/metadata.ts';
import { isDestructive, isQueuedMutation } from '../model/mutation.ts';
import { describeTransit } from '../model/eks-change-in-progress.ts';
import { newReason } from '../reasons/reasons.ts';
import { withReadyOnlyIfActive, writeAheadStatus } from '../status/write-ahead.ts';
import type { CheckServices } from './checks/checks.ts';
import { newDeletionChecks } from './checks/live-checks.ts';
import type { Check, Obstacle, Preparation } from './guards.ts';
import { firstObstacle } from './guards.ts';
import { confirmFinalizer } from './hold-control-plane.ts';
import type { PassState } from './pass-state.ts';
import type { ReadRoleSharers } from './role-sharers.ts';
import { roleShareable } from './role-sharers.ts';

export interface PreparationServices extends Pick<CheckServices, 'live' | 'schema'> {
  readonly clock: Clock;
  readonly profileWriter: Pick<ProfileWriter, 'patchMetadata' | 'patchStatus'>;
  readonly clusterQueue: ClusterQueue;
  readonly controlPlaneFinalizer: Pick<ControlPlaneFinalizer, 'confirm'>;
  readonly readRoleSharers: ReadRoleSharers;
  /**
   * Returns the names of other objects' Fargate profiles that EKS may be changing although the queue of the EKS cluster
   * has no record of the change.
   */
  readonly unobservedProfiles: (queue: string, object: AWSFargateProfile) => readonly ProfileName[];
}

/**
 * Returns all preparations for a change in AWS, in their order. The preparation `writeAhead`, which writes status, is
 * the last. So the controller does not write the status of an object that waits in the queue of profile changes of its
 * EKS cluster, and an object at the head of the queue keeps its place during the write.
 */
export function newPreparations(services: PreparationServices): readonly Preparation[] {
  return [
    markDeletion(services),
    recordEntryDeletion(services),
    takeTurn(services, newDeletionChecks(services)),
    // The preparations `confirmFinalizer` and `roleShareable` ask the API server. They come after `takeTurn`, which
    // stops the reconcile while the object waits in the queue of its EKS cluster. So a waiting object sends no such
    // requests, and the answers are still new when the change is sent.
    confirmFinalizer(services),
    roleShareable(services),
    writeAhead(services),
  ];
}

/**
 * Returns a preparation that records in an annotation that the deletion of an object has begun, because `clusterctl
 * move` drops deletionTimestamp and status of the object.
 */
export function markDeletion({ profileWriter }: Pick<PreparationServices, 'profileWriter'>): Preparation {
  return async (mutation, pass) => {
    if (!isDestructive(mutation) || !isDeleting(pass.object)) return undefined;
    const location = { ...pass.desired.place, eksCluster: pass.target.eksCluster };
    const patch = deletionRequestedPatch(pass.object, location);
    return continueWith(pass, await profileWriter.patchMetadata(pass.object, patch, pass.signal));
  };
}

/**
 * Returns a preparation for the deletion of an access entry whose IAM role stays: it records in an annotation that the
 * controller has to recreate the entry. Otherwise a crash or a `clusterctl move` between the deletion and the creation
 * of the entry would leave a profile whose pods cannot start.
 */
export function recordEntryDeletion({ profileWriter }: Pick<PreparationServices, 'profileWriter'>): Preparation {
  return async (mutation, pass) => {
    if (mutation.kind !== 'deleteAccessEntry' || mutation.because === 'roleDeletion') return undefined;
    const patch = accessEntryDeletedPatch(pass.object, mutation.principal);
    return continueWith(pass, await profileWriter.patchMetadata(pass.object, patch, pass.signal));
  };
}

/**
 * Returns a preparation that writes status before a change in AWS. If this process crashes right after the change, the
 * next process finds the changed AWS resource by this status. If the API server drops fields of this status, the change
 * is not sent. Another provider's CRD is then installed, and the last check of the CRD was before its installation.
 */
export function writeAhead({
  profileWriter,
  clock,
}: Pick<PreparationServices, 'profileWriter' | 'clock'>): Preparation {
  return async (mutation, pass) => {
    const { object, target, desired, observed, signal } = pass;
    if (!hasFinalizer(object)) return { kind: 'quit', because: 'the finalizer is gone', until: 'changed' };
    const ahead = writeAheadStatus(object, target, desired, mutation, clock.now());
    const status = withReadyOnlyIfActive(ahead, object, { desired, observed, mutation }, clock.now());
    const written = await profileWriter.patchStatus(object, status, signal);
    const dropped = written === undefined ? [] : droppedStatusFields({ ...status }, { ...written.status });
    if (dropped.length === 0) return continueWith(pass, written);
    return { kind: 'quit', because: `the API server drops fields of status: ${dropped.join(', ')}`, until: 'later' };
  };
}

/**
 * Replaces the object in the state of this reconcile by the written object. `written` is `undefined` if another client
 * wrote or deleted the object first.
 */
function continueWith(pass: PassState, written: AWSFargateProfile | undefined): Obstacle | undefined {
  if (written === undefined) return { kind: 'conflict' };
  pass.object = written;
  return undefined;
}

/**
 * Returns a preparation for the creation or deletion of a Fargate profile: it stops the reconcile unless the queue of
 * its EKS cluster grants the object the turn. EKS creates or deletes one profile of a cluster at a time.
 *
 * The preparation may read many profiles from EKS. Meanwhile a user may begin a pause or a move, or set
 * `deletionPolicy: Retain`. So after such reads, the preparation runs the checks in `recheck` again before the change
 * is sent.
 */
export function takeTurn(
  {
    clusterQueue,
    clock,
    unobservedProfiles,
  }: Pick<PreparationServices, 'clusterQueue' | 'clock' | 'unobservedProfiles'>,
  recheck: readonly Check[] = [],
): Preparation {
  return async (mutation, pass) => {
    if (!isQueuedMutation(mutation)) return undefined;
    const { queueEntry, target } = pass;
    const described: readonly string[] = unobservedProfiles(queueEntry.queue, pass.object);
    // If EKS does not return the status of another object's profile, the change is sent all the same. EKS itself
    // refuses the change while EKS creates or deletes another profile of the cluster.
    for (const name of described) await refreshQueue(clusterQueue, pass, name);
    let hasAsked = described.length > 0;
    let turn = clusterQueue.requestTurn(queueEntry);
    if (turn.kind === 'wait' && turn.isUnverified && !described.includes(turn.ahead)) {
      await refreshQueue(clusterQueue, pass, turn.ahead);
      hasAsked = true;
      turn = clusterQueue.requestTurn(queueEntry);
    }
    switch (turn.kind) {
      case 'granted':
        return hasAsked ? firstObstacle(recheck, mutation, pass) : undefined;
      case 'closed': {
        const facts = { cluster: target.eksCluster, said: turn.because, remaining: turn.until - clock.monotonic() };
        return { kind: 'stop', reason: newReason('ClusterUpdating', facts) };
      }
      case 'wait':
        return { kind: 'stop', reason: newReason('WaitingForSibling', { ...turn }) };
    }
  };
}

/**
 * Asks EKS for the status of a Fargate profile, and updates the queue of profile changes of the EKS cluster with the
 * answer. EKS is asked because no reconcile of this process has seen yet whether EKS is changing this profile.
 */
async function refreshQueue(
  clusterQueue: ClusterQueue,
  { session, target, queueEntry }: PassState,
  name: string,
): Promise<void> {
  const lookup = await session.profiles.describe(target.eksCluster, ProfileName.of(name))();
  if (E.isLeft(lookup)) return;
  const doing = lookup.right.kind === 'found' ? describeTransit(lookup.right.profile.status) : undefined;
  if (doing === undefined) clusterQueue.markSettled(queueEntry.queue, name);
  else clusterQueue.markInFlight(queueEntry.queue, name, doing, true);
}
