import * as E from 'fp-ts/lib/Either.js';
import { keyText, type ObjectKey } from 'controller-runtime/client';
import type { Clock, Ms } from 'controller-runtime/env';
import { ProfileName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { ControlPlaneFinalizer, FinalizerResult } from '../../shared/control-plane/control-plane-finalizer.ts';
import { MAX_RECORD, type ProfileRecord, isTooLong } from '../../shared/record.ts';
import { hasFinalizer } from '../../shared/object-state.ts';
import type { ProfileWriter } from '../../shared/profile-writer.ts';
import { recordPatch } from '../goal/metadata.ts';
import { describeTurn, isProfileOrRoleCreation, isQueuedMutation, subjectOf } from '../model/change.ts';
import type { ClusterQueueWait, ClusterQueues } from '../cluster-queue.ts';
import { recordAhead } from '../record-around-changes.ts';
import { type Reason, messageOf, newReason } from '../reasons/reasons.ts';
import { turnWait, withRecorded } from '../retry-state.ts';
import { interruptionBy } from '../plan/verdicts.ts';
import { statusBefore } from '../report/status.ts';
import { type Guard, type Obstacle, stop, type ReconcileState } from './guards.ts';
import { CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import type { CreationFacts } from '../goal/target.ts';
import { describeTransit } from '../model/profile-status.ts';

export interface PreparationServices {
  readonly clock: Clock;
  readonly profileWriter: Pick<ProfileWriter, 'patchMetadata' | 'patchStatus'>;
  readonly clusterQueues: ClusterQueues;
  readonly recordTurnSpan: (span: Ms) => void;
  readonly controlPlaneFinalizer: Pick<ControlPlaneFinalizer, 'confirm'>;
}

/**
 * Sets `Ready` to False before a change that ends or interrupts the profile's work. Otherwise `Ready` would be wrong
 * until AWS answers, and after a crash until the next resync.
 */
export function reportNotReady({ profileWriter, clock }: Pick<PreparationServices, 'profileWriter' | 'clock'>): Guard {
  return async (mutation, reconcile) => {
    const { object, desired, observed, plan, signal } = reconcile;
    const reason = interruptionBy(mutation, desired, observed);
    if (reason === undefined) return undefined;
    const status = statusBefore(object, reason, { desired, observed, after: observed, plan }, clock.now());
    if (status === undefined) return undefined;
    const written = await profileWriter.patchStatus(object, status, signal);
    // Marks the reason as reported, so that no event follows: the conditions already show it.
    if (written !== undefined) {
      // A patch without changes is not sent, and returns the same object.
      if (written !== object) reconcile.isConfirmed = true;
      reconcile.retry.update((state) => ({ ...state, announced: { problems: [messageOf(reason)], advice: [] } }));
    }
    return continueWith(reconcile, written);
  };
}

/**
 * Records the change before AWS gets the request. If the manager crashes right afterwards, the next process finds the
 * AWS resource through the record. If the reconcile has not written the object yet, it sends even an unchanged record,
 * so that a manager with an old cache gets a conflict and changes nothing.
 */
export function recordChange({ profileWriter }: Pick<PreparationServices, 'profileWriter'>): Guard {
  return async (mutation, reconcile) => {
    const { object, desired } = reconcile;
    if (!hasFinalizer(object)) return stop(newReason('ReadAgain', { because: 'the finalizer is gone' }));
    return writeRecord({ profileWriter }, reconcile, recordAhead(reconcile.record, mutation, desired.now));
  };
}

export async function writeRecord(
  { profileWriter }: Pick<PreparationServices, 'profileWriter'>,
  reconcile: ReconcileState,
  record: ProfileRecord,
): Promise<Obstacle | undefined> {
  const { object, signal } = reconcile;
  if (isTooLong(record, object))
    return stop(newReason('RecordUnreadable', { problem: `would be longer than ${MAX_RECORD} characters` }));
  const patch = recordPatch(object, record) ?? (reconcile.isConfirmed === true ? undefined : {});
  const written = await profileWriter.patchMetadata(object, patch, signal);
  if (written !== undefined) {
    reconcile.isConfirmed = true;
    reconcile.record = record;
    reconcile.retry.update((state) => withRecorded(state, record));
  }
  return continueWith(reconcile, written);
}

function continueWith(reconcile: ReconcileState, written: AWSFargateProfile | undefined): Obstacle | undefined {
  if (written === undefined) return stop(newReason('Conflict', {}));
  reconcile.object = written;
  return undefined;
}

/**
 * Takes the object's turn to create or delete a profile of the EKS cluster. If another client's change is in the way,
 * first asks EKS whether that change has ended.
 */
export function takeTurn({
  clusterQueues,
  recordTurnSpan,
  clock,
}: Pick<PreparationServices, 'clusterQueues' | 'recordTurnSpan' | 'clock'>): Guard {
  return async (mutation, reconcile) => {
    if (!isQueuedMutation(mutation)) return undefined;
    const { queueKey, object, target } = reconcile;
    const take = () => clusterQueues.take(queueKey, object, subjectOf(mutation), describeTurn(mutation));
    let wait = take();
    if (wait?.kind === 'wait' && wait.isForeign) {
      await askAgain(clusterQueues, reconcile, wait.ahead);
      wait = take();
    }
    if (wait === undefined) {
      recordTurnSpan(turnWait(reconcile.retry.state, clock.monotonic()));
      return undefined;
    }
    return stop(reasonForWait(wait, target.eksCluster));
  };
}

export const reasonForWait = (wait: ClusterQueueWait, cluster: string): Reason =>
  wait.kind === 'closed'
    ? newReason('ClusterUpdating', { cluster, said: wait.because, remaining: wait.remaining })
    : newReason('WaitingForSibling', { ahead: wait.ahead, doing: wait.doing, isUnverified: wait.isForeign });

async function askAgain(
  clusterQueues: ClusterQueues,
  { session, target, queueKey, object }: ReconcileState,
  profile: string,
): Promise<void> {
  const lookup = await session.profiles.describe(target.eksCluster, ProfileName.of(profile));
  if (E.isLeft(lookup)) return;
  const doing = lookup.right.kind === 'found' ? describeTransit(lookup.right.profile.status) : undefined;
  if (doing === undefined) clusterQueues.sawNoChange(queueKey, profile, object);
  else clusterQueues.saw(queueKey, profile, doing);
}

/**
 * Adds the finalizer that keeps the control plane until its cluster's profiles are deleted. If that fails, nothing may
 * be created.
 */
export async function holdControlPlane(
  finalizer: Pick<ControlPlaneFinalizer, 'add'>,
  facts: CreationFacts,
  signal: AbortSignal,
): Promise<CreationFacts> {
  const { controlPlane } = facts;
  if (facts.creationBlocker !== undefined || controlPlane === undefined) return facts;
  return { ...facts, creationBlocker: blockerFor(await finalizer.add(controlPlane, signal), controlPlane) };
}

/**
 * Makes sure that the control plane has the finalizer. Asks the API server, because the cache may still show the
 * finalizer although the control plane has lost it and is being deleted. A profile that is created then would prevent
 * EKS from deleting the cluster.
 */
export function confirmFinalizer({ controlPlaneFinalizer }: Pick<PreparationServices, 'controlPlaneFinalizer'>): Guard {
  return async (mutation, { creationFacts, signal }) => {
    const controlPlane = creationFacts?.controlPlane;
    if (!isProfileOrRoleCreation(mutation) || controlPlane === undefined) return undefined;
    const reason = blockerFor(await controlPlaneFinalizer.confirm(controlPlane, signal), controlPlane);
    return reason && stop(reason);
  };
}

function blockerFor(result: FinalizerResult, controlPlane: ObjectKey): Reason | undefined {
  const name = keyText(controlPlane);
  switch (result.kind) {
    case 'present':
      return undefined;
    case 'controlPlaneDeleting':
      return newReason('ClusterDeleting', { what: `${CONTROL_PLANE_KIND} ${name}` });
    case 'rejected': {
      const { reason, remedy } = result;
      return newReason('GuardRefused', { controlPlane: name, reason, remedy });
    }
  }
}
