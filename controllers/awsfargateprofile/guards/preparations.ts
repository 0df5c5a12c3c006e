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
  readonly recordTurnWait: (object: AWSFargateProfile) => void;
  readonly controlPlaneFinalizer: Pick<ControlPlaneFinalizer, 'confirm'>;
  readonly readRoleSharers: ReadRoleSharers;
}

/** `writeAhead` is the last, so status is not written for an object that waits in the lane. */
export function newPreparations(services: PreparationServices): readonly Preparation[] {
  return [
    // A `clusterctl move` may come while the object waits for its turn.
    markDeletion(services),
    takeTurn(services),
    // These ask the API server, so they come after `takeTurn`: an object that waits sends no such requests, and the
    // answers are still new when the change is sent.
    confirmFinalizer(services),
    roleShareable(services),
    ...newDeletionChecks(services),
    recordEntryDeletion(services),
    writeAhead(services),
  ];
}

export function markDeletion(services: Pick<PreparationServices, 'profileWriter'>): Preparation {
  return async (mutation, pass) => {
    if (!isDestructive(mutation)) return undefined;
    const location = { ...pass.desired.place, eksCluster: pass.target.eksCluster };
    return continueWith(pass, await markDeletionBegun(services, pass.object, location, pass.signal));
  };
}

/**
 * `clusterctl move` drops deletionTimestamp and status, and keeps annotations. Returns `undefined` if another client
 * wrote or deleted the object first.
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
 * Otherwise a crash or a `clusterctl move` between deletion and creation of the entry would leave a profile whose pods
 * cannot start.
 */
export function recordEntryDeletion({ profileWriter }: Pick<PreparationServices, 'profileWriter'>): Preparation {
  return async (mutation, pass) => {
    if (mutation.kind !== 'deleteAccessEntry' || mutation.because === 'roleDeletion') return undefined;
    const patch = accessEntryDeletedPatch(pass.object, mutation.principal);
    return continueWith(pass, await profileWriter.patchMetadata(pass.object, patch, pass.signal));
  };
}

/**
 * After a crash right after the change, the next process finds the AWS resource by this status. If the API server drops
 * fields of it, another provider's CRD was just installed.
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
    // If the record is there already, the API server still has to tell that the object is not outdated: a manager whose
    // watch is late would make a change that the user has taken back, and no later record would name it. The deletion
    // checks have asked for a destructive change.
    const isAsked = pass.isConfirmed === true || isDestructive(mutation);
    const written = await profileWriter.patchStatus(object, status, signal, { evenIfEqual: !isAsked });
    pass.isConfirmed = true;
    const dropped = written === undefined ? [] : droppedStatusFields({ ...status }, { ...written.status });
    if (dropped.length === 0) return continueWith(pass, written);
    return stop(newReason('NotNow', { because: `the API server drops fields of status: ${dropped.join(', ')}` }));
  };
}

function continueWith(pass: PassState, written: AWSFargateProfile | undefined): Obstacle | undefined {
  if (written === undefined) return stop(newReason('Conflict', {}));
  pass.object = written;
  return undefined;
}

/** If the profile of a stranger is in the way, EKS is asked first whether that change has ended. */
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

export const reasonForWait = (wait: LaneWait, cluster: string): Reason =>
  wait.kind === 'closed'
    ? newReason('ClusterUpdating', { cluster, said: wait.because, remaining: wait.remaining })
    : newReason('WaitingForSibling', { ahead: wait.ahead, doing: wait.doing, isUnverified: wait.isOfStranger });

async function askAgain(lanes: Lanes, { session, target, lane, object }: PassState, profile: string): Promise<void> {
  const lookup = await session.profiles.describe(target.eksCluster, ProfileName.of(profile))();
  if (E.isLeft(lookup)) return;
  const doing = lookup.right.kind === 'found' ? describeTransit(lookup.right.profile.status) : undefined;
  if (doing === undefined) lanes.settle(lane, profile, object);
  else lanes.saw(lane, profile, doing);
}
