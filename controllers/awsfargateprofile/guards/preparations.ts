import * as E from 'fp-ts/lib/Either.js';
import { ProfileName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Clock } from '../../../pkg/env/clock.ts';
import type { ControlPlaneFinalizer } from '../../shared/control-plane/control-plane-finalizer.ts';
import { MAX_NOTE, type Note, isTooLong } from '../../shared/note.ts';
import { hasFinalizer } from '../../shared/object-state.ts';
import type { ProfileWriter } from '../../shared/profile-writer.ts';
import { notePatch } from '../goal/metadata.ts';
import { describeQueued, isQueuedMutation, subjectOf } from '../model/mutation.ts';
import { describeTransit } from '../model/eks-change-in-progress.ts';
import type { LaneWait, Lanes } from '../lane.ts';
import { noteAhead } from '../record.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { withNoted } from '../retry/retry-state.ts';
import { statusBefore } from '../status/status-before.ts';
import type { CheckServices } from './checks/checks.ts';
import { newLiveGuards } from './checks/live-checks.ts';
import { type DrainServices, drainPredecessor } from './drain-predecessor.ts';
import { type Obstacle, type Preparation, stop } from './guards.ts';
import { confirmFinalizer } from './hold-control-plane.ts';
import type { PassState } from './pass-state.ts';
import { roleShareable } from './role-users/role-users.ts';

export interface PreparationServices
  extends Pick<CheckServices, 'live' | 'schema' | 'roleUsers'>, Omit<DrainServices, 'writeNote'> {
  readonly clock: Clock;
  readonly profileWriter: Pick<ProfileWriter, 'patchMetadata' | 'patchStatus'>;
  readonly lanes: Lanes;
  readonly recordTurnWait: (object: AWSFargateProfile) => void;
  readonly controlPlaneFinalizer: Pick<ControlPlaneFinalizer, 'confirm'>;
}

/** The note is written last, so nothing is written for an object that waits in the lane. */
export function newPreparations(services: PreparationServices): readonly Preparation[] {
  return [
    // The other objects of the EKS cluster do not wait for pods.
    drainPredecessor({ ...services, writeNote: (pass, note) => writeNote(services, pass, note) }),
    takeTurn(services),
    // These ask the API server, so they come after `takeTurn`: an object that waits sends no such requests, and the
    // answers are still new when the change is sent.
    confirmFinalizer(services),
    roleShareable(services),
    ...newLiveGuards(services),
    reportNotReady(services),
    noteChange(services),
  ];
}

/**
 * Sets `Ready` to False before a change that ends or interrupts the work of the profile. Otherwise `Ready` would be wrong
 * until AWS answers, and after a crash until the next resync.
 */
export function reportNotReady({
  profileWriter,
  clock,
}: Pick<PreparationServices, 'profileWriter' | 'clock'>): Preparation {
  return async (mutation, pass) => {
    const { object, desired, observed, signal } = pass;
    const status = statusBefore(object, { desired, observed, mutation }, clock.now());
    return status && continueWith(pass, await profileWriter.patchStatus(object, status, signal));
  };
}

/**
 * After a crash right after the change, the next process finds the AWS resource by the note. Before its first change, a
 * pass sends the note also when it is equal: a manager whose cache is old gets a conflict, and changes nothing.
 */
export function noteChange({ profileWriter }: Pick<PreparationServices, 'profileWriter'>): Preparation {
  return async (mutation, pass) => {
    const { object, desired, target } = pass;
    if (!hasFinalizer(object)) return stop(newReason('Outdated', { because: 'the finalizer is gone' }));
    return writeNote({ profileWriter }, pass, noteAhead(pass.note, desired, target.identity, mutation));
  };
}

async function writeNote(
  { profileWriter }: Pick<PreparationServices, 'profileWriter'>,
  pass: PassState,
  note: Note,
): Promise<Obstacle | undefined> {
  const { object, signal } = pass;
  if (isTooLong(note, object))
    return stop(newReason('RecordUnreadable', { problem: `would be longer than ${MAX_NOTE} characters` }));
  const patch = notePatch(object, note) ?? (pass.isConfirmed === true ? undefined : {});
  const written = await profileWriter.patchMetadata(object, patch, signal);
  if (written !== undefined) {
    pass.isConfirmed = true;
    pass.note = note;
    pass.retry.update((state) => withNoted(state, note));
  }
  return continueWith(pass, written);
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
    const take = () => lanes.take(lane, object, subjectOf(mutation), describeQueued(mutation));
    let wait = take();
    if (wait?.kind === 'wait' && wait.isOfStranger) {
      await askAgain(lanes, pass, wait.ahead);
      wait = take();
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
