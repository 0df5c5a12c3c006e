import { keyOf, KubeError, type KubeObject } from 'controller-runtime/client';
import type { ReconcileContext, Requeue } from 'controller-runtime/controller';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { type ProfileRecord, isTooLong } from '../shared/record.ts';
import { hasFinalizer, isDeleting, isRetained } from '../shared/object-state.ts';
import type { ProfileWriter } from '../shared/profile-writer.ts';
import type { FindLiveBlocker } from './guards/checks.ts';
import { recordPatch, removeFinalizerPatch } from './goal/metadata.ts';
import type { ClusterQueues } from './cluster-queue.ts';
import type { Step } from './model/change.ts';
import { type CompletedReconcile, type ReconcileResult, noticesOf, reasonOf } from './model/result.ts';
import { hasChangeInProgress } from './model/at-rest.ts';
import { type Reason, isUnreported, newReason } from './reasons/reasons.ts';
import {
  type RetryState,
  notBeforeFor,
  waitedFor,
  withRecorded,
  withSuccess,
  withSurveyDue,
  withWait,
  type RetryStore,
  attemptsOf,
} from './retry-state.ts';
import { type Pending, type RequeueOptions, requeueAfter } from './report/requeue.ts';
import {
  RESUMED_DELETION,
  eventsAfter,
  releasedEvent,
  announcedBy,
  retainedEvent,
  warningFor,
} from './report/events.ts';
import { type EventSpec, eventsForSteps } from './report/step-events.ts';
import type { Competition } from './overlap/condition.ts';
import { pausedStatus, statusAfter } from './report/status.ts';
import { CONFLICT, DONE } from '../shared/requeue.ts';

export interface FinishOptions extends RequeueOptions {
  readonly competition: Pick<Competition, 'withFewRivals'>;
  readonly retryStore: RetryStore;
  readonly profileWriter: Pick<ProfileWriter, 'patchMetadata' | 'patchStatus' | 'delete'>;
  readonly clusterQueues: Pick<ClusterQueues, 'reorder' | 'abandon'>;
  readonly findLiveBlocker: FindLiveBlocker;
  readonly recordEvent: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
}

/** The parts of a result whose use depends on whether the API server accepts the write of the object. */
interface Unwritten {
  /** The changes that this reconcile has sent to AWS. If the write fails, events still report them. */
  readonly steps: readonly Step[];
  /**
   * Updates the retry state. Called only after a successful write: after a failed write, status still shows the earlier
   * wait.
   */
  readonly remember?: (state: RetryState) => RetryState;
  readonly context: ReconcileContext;
}

export class Finisher {
  private readonly options: FinishOptions;

  constructor(options: FinishOptions) {
    this.options = options;
  }

  async finish(result: ReconcileResult, context: ReconcileContext): Promise<Requeue> {
    const { clock, retryStore, profileWriter, competition } = this.options;
    const { object, end, facts, execution } = result;
    const reason = reasonOf(result);
    if (reason !== undefined && isUnreported(reason))
      return this.finishUnreported(object, reason, execution?.steps, context);
    const remember = this.retryStateAfter(result);
    const state = remember(retryStore.get(object));
    const awaited = reason ?? state.waiting;
    const reconcile: CompletedReconcile = {
      ...result,
      now: clock.now(),
      waited: awaited === undefined ? 0 : waitedFor(state, awaited, clock.monotonic()),
      attempts: attemptsOf(state, object.metadata.generation ?? 0),
      announced: state.announced,
    };
    const unwritten: Unwritten = { steps: execution?.steps ?? [], remember, context };
    if (end === 'released') return this.leave(object, eventsAfter(reconcile), unwritten);
    const after = statusAfter(reconcile);
    // Without facts from AWS, overlaps are not checked: the EKS cluster is known only from status, which another client
    // may have written.
    const status = facts === undefined ? after : competition.withFewRivals(object, after, reconcile.now);
    const isWritten = await this.write(object, unwritten, async () => {
      const recorded = await this.writeRecord(object, result.record, context.signal);
      return recorded && profileWriter.patchStatus(recorded, status, context.signal);
    });
    if (!isWritten) return CONFLICT;
    this.recordEvents(object, eventsAfter(reconcile));
    retryStore.update(object, (known) => ({ ...known, announced: announcedBy(reconcile) }));
    return this.requeue(reconcile, state, hasChangeInProgress({ ...object, status }));
  }

  /** The record is written before the status, because only the record says where to look in AWS. */
  private async writeRecord(
    object: AWSFargateProfile,
    record: ProfileRecord | undefined,
    signal: AbortSignal,
  ): Promise<AWSFargateProfile | undefined> {
    if (record === undefined || !hasFinalizer(object) || isTooLong(record, object)) return object;
    const written = await this.options.profileWriter.patchMetadata(object, recordPatch(object, record), signal);
    if (written !== undefined) this.options.retryStore.update(object, (state) => withRecorded(state, record));
    return written;
  }

  /**
   * Removes the finalizer of a deleted object. Deletes an object that is not being deleted: its EKS cluster is, and
   * contains no Fargate profile of this object. Asks the API server for a blocker first, because the caches may be
   * outdated.
   */
  private async leave(object: AWSFargateProfile, events: readonly EventSpec[], unwritten: Unwritten): Promise<Requeue> {
    const { findLiveBlocker, profileWriter } = this.options;
    const { logger, signal } = unwritten.context;
    const because = await findLiveBlocker(object, signal);
    if (because !== undefined)
      return this.finishUnreported(object, newReason('NotNow', { because }), unwritten.steps, unwritten.context);
    if (isDeleting(object)) return this.removeFinalizer(object, events, unwritten);
    logger.info('Deleting the profile of a cluster that is being deleted: EKS has no Fargate profile of it to retain');
    await this.write(object, unwritten, async () => {
      await profileWriter.delete(object, signal);
      return object;
    });
    return DONE;
  }

  /**
   * Also wakes the objects that wait for this object's change in EKS, because no reconcile of a paused object watches
   * that change.
   */
  async pause(object: AWSFargateProfile, by: readonly string[], { signal }: ReconcileContext): Promise<Requeue> {
    const { clock, clusterQueues, profileWriter } = this.options;
    clusterQueues.abandon(keyOf(object));
    const written = await profileWriter.patchStatus(object, pausedStatus(object, by, clock.now()), signal);
    return written === undefined ? CONFLICT : DONE;
  }

  async finishRejected(
    object: AWSFargateProfile,
    reason: Reason<'APIServerRefused'>,
    isPaused: boolean,
    context: ReconcileContext,
  ): Promise<Requeue> {
    if (!isPaused) {
      try {
        const next = await this.finish({ object, end: reason }, context);
        if (next.kind !== 'conflict') return next;
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
      }
    }
    // The API server rejected the status, or the object is paused and gets none. Only an event can inform users.
    this.recordEvents(object, [warningFor(reason)]);
    this.remember(object, this.retryStateAfter({ object, end: reason }));
    return this.requeue({ end: reason }, this.options.retryStore.get(object));
  }

  /** `clusterctl move` recreates an object without its deletionTimestamp, so this function deletes the object again. */
  async resumeDeletion(object: AWSFargateProfile, context: ReconcileContext): Promise<Requeue> {
    const { findLiveBlocker, profileWriter, recordEvent } = this.options;
    const because = await findLiveBlocker(object, context.signal);
    if (because !== undefined) return this.finish({ object, end: newReason('NotNow', { because }) }, context);
    context.logger.info('Resuming a deletion that clusterctl move has interrupted');
    await profileWriter.delete(object, context.signal);
    recordEvent(object, RESUMED_DELETION);
    return DONE;
  }

  async release(object: AWSFargateProfile, context: ReconcileContext): Promise<Requeue> {
    const events = isRetained(object) ? [retainedEvent(object)] : [];
    return this.removeFinalizer(object, events, { steps: [], context });
  }

  /** Called if nothing was created in AWS: credentials that never worked must not block the deletion forever. */
  async releaseWithoutCredentials(
    object: AWSFargateProfile,
    reason: Reason,
    context: ReconcileContext,
  ): Promise<Requeue> {
    return this.leave(object, [releasedEvent(object, reason)], { steps: [], context });
  }

  recordStepEvents(
    object: AWSFargateProfile,
    steps: readonly Step[] = [],
    { signal }: Pick<ReconcileContext, 'signal'>,
  ): void {
    // A stopping manager interrupts its own calls, so their failures say nothing about AWS.
    const reported = signal.aborted ? steps.filter(({ outcome }) => outcome.kind === 'done') : steps;
    this.recordEvents(object, eventsForSteps(reported));
  }

  private finishUnreported(
    object: AWSFargateProfile,
    reason: Reason,
    steps: readonly Step[] | undefined,
    context: ReconcileContext,
  ): Requeue {
    this.recordStepEvents(object, steps, context);
    // A glance may have missed what the plan needs, so the next reconcile reads all profiles. After a conflict, a glance
    // would end as `ReadAgain`, and hide that the conflict persists.
    if (reason.name === 'ReadAgain' || reason.name === 'Conflict')
      this.options.retryStore.update(object, withSurveyDue);
    context.logger.debug('Reconcile ended without a result', { reason: reason.name, ...reason.facts });
    return this.requeue({ end: reason }, this.options.retryStore.get(object));
  }

  private requeue(
    result: Pick<ReconcileResult, 'end' | 'execution' | 'facts'>,
    state: RetryState,
    isTransit = false,
  ): Requeue {
    const now = this.options.clock.monotonic();
    const pending: Pending = {
      waitedFor: (reason) => waitedFor(state, reason, now),
      notBeforeFor: (reason) => notBeforeFor(state, reason),
      isTransit,
    };
    return requeueAfter(result, pending, this.options);
  }

  private retryStateAfter(result: ReconcileResult): (state: RetryState) => RetryState {
    const reason = reasonOf(result);
    const now = this.options.clock.monotonic();
    return (state) =>
      reason === undefined ? withSuccess(state, noticesOf(result), now) : withWait(state, reason, now);
  }

  /** Updates the retry state. This may change the order in which the EKS cluster's objects get their turn. */
  private remember(object: AWSFargateProfile, change: (state: RetryState) => RetryState): void {
    const { clusterQueues, retryStore } = this.options;
    const wasStopped = retryStore.isStoppedOtherwise(object);
    retryStore.update(object, change);
    if (retryStore.isStoppedOtherwise(object) !== wasStopped) clusterQueues.reorder(object);
  }

  /** Returns `false` if another client wrote first or the object is gone. Events then report the changes in AWS. */
  private async write(
    object: AWSFargateProfile,
    { steps, remember, context }: Unwritten,
    write: () => Promise<AWSFargateProfile | undefined>,
  ): Promise<boolean> {
    let written: AWSFargateProfile | undefined;
    try {
      written = await write();
    } finally {
      if (written === undefined) this.recordStepEvents(object, steps, context);
    }
    if (written !== undefined && remember !== undefined) this.remember(written, remember);
    return written !== undefined;
  }

  private async removeFinalizer(
    object: AWSFargateProfile,
    events: readonly EventSpec[],
    unwritten: Unwritten,
  ): Promise<Requeue> {
    const isWritten = await this.write(object, unwritten, () =>
      this.options.profileWriter.patchMetadata(object, removeFinalizerPatch(object), unwritten.context.signal),
    );
    if (!isWritten) return CONFLICT;
    this.recordEvents(object, events);
    return DONE;
  }

  private recordEvents(object: AWSFargateProfile, events: readonly EventSpec[]): void {
    for (const event of events) this.options.recordEvent(object, event);
  }
}
