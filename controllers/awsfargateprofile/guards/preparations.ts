import * as E from 'fp-ts/lib/Either.js';
import { ProfileName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Clock } from '../../../pkg/env/clock.ts';
import type { ControlPlaneFinalizer } from '../../shared/control-plane/control-plane-finalizer.ts';
import { droppedStatusFields } from '../../shared/crd/crd-schema.ts';
import { hasFinalizer, isDeleting } from '../../shared/object-state.ts';
import type { ProfileWriter } from '../../shared/profile-writer.ts';
import { accessEntryDeletedPatch, deletionRequestedPatch } from '../goal/metadata.ts';
import type { KnownLocation } from '../model/location.ts';
import { isDestructive, isQueuedMutation, subjectOf } from '../model/mutation.ts';
import { describeTransit } from '../model/eks-change-in-progress.ts';
import type { LaneWait, Lanes } from '../lane.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { withReadyOnlyIfActive, writeAheadStatus } from '../status/write-ahead.ts';
import type { CheckServices } from './checks/checks.ts';
import { newDeletionChecks } from './checks/live-checks.ts';
import { type Obstacle, type Preparation, stop } from './guards.ts';
import { confirmFinalizer } from './hold-control-plane.ts';
import type { PassState } from './pass-state.ts';
import { type ReadRoleSharers, roleShareable } from './role-sharers.ts';

export interface PreparationServices extends Pick<CheckServices, 'live' | 'schema'> {
  readonly clock: Clock;
  readonly profileWriter: Pick<ProfileWriter, 'patchMetadata' | 'patchStatus'>;
  readonly lanes: Lanes;
  /** Records how long an object has waited for its turn, for the metrics. */
  readonly recordTurnWait: (object: AWSFargateProfile) => void;
  readonly controlPlaneFinalizer: Pick<ControlPlaneFinalizer, 'confirm'>;
  readonly readRoleSharers: ReadRoleSharers;
}

/**
 * Returns all preparations for a change in AWS, in their order. The preparation `writeAhead`, which writes status, is
 * the last. So the controller does not write the status of an object that waits in the queue of profile changes of its
 * EKS cluster, and an object at the head of the queue keeps its place during the write.
 */
export function newPreparations(services: PreparationServices): readonly Preparation[] {
  return [
    // A `clusterctl move` may come while the object waits for its turn.
    markDeletion(services),
    takeTurn(services),
    // The preparations `confirmFinalizer` and `roleShareable` ask the API server. They come after `takeTurn`, which
    // stops the reconcile while the object waits in the queue of its EKS cluster. So a waiting object sends no such
    // requests, and the answers are still new when the change is sent.
    confirmFinalizer(services),
    roleShareable(services),
    // The checks for a pause and for another CRD come after all slow reads.
    ...newDeletionChecks(services),
    recordEntryDeletion(services),
    writeAhead(services),
  ];
}

/** Returns a preparation that marks a deletion before it changes AWS or waits for its turn. */
export function markDeletion(services: Pick<PreparationServices, 'profileWriter'>): Preparation {
  return async (mutation, pass) => {
    if (!isDestructive(mutation)) return undefined;
    const location = { ...pass.desired.place, eksCluster: pass.target.eksCluster };
    return continueWith(pass, await markDeletionBegun(services, pass.object, location, pass.signal));
  };
}

/**
 * Records in an annotation of an object that is being deleted that its deletion has begun, because `clusterctl move` drops
 * deletionTimestamp and status. Returns the written object; `undefined` if another client wrote or deleted it first.
 */
export async function markDeletionBegun(
  { profileWriter }: Pick<PreparationServices, 'profileWriter'>,
  object: AWSFargateProfile,
  location: KnownLocation,
  signal: AbortSignal,
): Promise<AWSFargateProfile | undefined> {
  return isDeleting(object)
    ? profileWriter.patchMetadata(object, deletionRequestedPatch(object, location), signal)
    : object;
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
    if (!hasFinalizer(object)) return stop(newReason('Outdated', { because: 'the finalizer is gone' }));
    const ahead = writeAheadStatus(object, target, { desired, observed }, mutation, clock.now());
    const status = withReadyOnlyIfActive(ahead, object, { desired, observed, mutation }, clock.now());
    const written = await profileWriter.patchStatus(object, status, signal);
    const dropped = written === undefined ? [] : droppedStatusFields({ ...status }, { ...written.status });
    if (dropped.length === 0) return continueWith(pass, written);
    return stop(newReason('NotNow', { because: `the API server drops fields of status: ${dropped.join(', ')}` }));
  };
}

/**
 * Replaces the object in the state of this reconcile by the written object. `written` is `undefined` if another client
 * wrote or deleted the object first.
 */
function continueWith(pass: PassState, written: AWSFargateProfile | undefined): Obstacle | undefined {
  if (written === undefined) return stop(newReason('Conflict', {}));
  pass.object = written;
  return undefined;
}

/**
 * Returns a preparation for the creation or deletion of a Fargate profile: it takes the turn in the lane of the EKS
 * cluster. If the profile of a stranger is in the way, EKS is asked first whether that change has ended.
 */
export function takeTurn({
  lanes,
  recordTurnWait,
}: Pick<PreparationServices, 'lanes' | 'recordTurnWait'>): Preparation {
  return async (mutation, pass) => {
    if (!isQueuedMutation(mutation)) return undefined;
    const { lane, object, target } = pass;
    const name = subjectOf(mutation);
    let wait = lanes.take(lane, object, name);
    if (wait?.kind === 'wait' && wait.isOfStranger) {
      await askAgain(lanes, pass, wait.ahead);
      wait = lanes.take(lane, object, name);
    }
    if (wait === undefined) {
      recordTurnWait(object);
      return undefined;
    }
    return stop(reasonForWait(wait, target.eksCluster));
  };
}

/** Returns the reason to wait for a turn. */
export const reasonForWait = (wait: LaneWait, cluster: string): Reason =>
  wait.kind === 'closed'
    ? newReason('ClusterUpdating', { cluster, said: wait.because, remaining: wait.remaining })
    : newReason('WaitingForSibling', { ahead: wait.ahead, doing: wait.doing, isUnverified: wait.isOfStranger });

/** Asks EKS whether the change of a profile, which no pass of this process watches, has ended. */
async function askAgain(lanes: Lanes, { session, target, lane, object }: PassState, profile: string): Promise<void> {
  const lookup = await session.profiles.describe(target.eksCluster, ProfileName.of(profile))();
  if (E.isLeft(lookup)) return;
  const doing = lookup.right.kind === 'found' ? describeTransit(lookup.right.profile.status) : undefined;
  if (doing === undefined) lanes.settle(lane, profile, object);
  else lanes.saw(lane, profile, doing);
}
