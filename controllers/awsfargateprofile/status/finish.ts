import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { KubeError } from '../../../pkg/kube/errors.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { KubeObject } from '../../../pkg/kube/types.ts';
import type { ClusterQueue } from '../../../pkg/runtime/queue/cluster-queue.ts';
import type { ReconcileContext, Requeue } from '../../../pkg/runtime/reconcile.ts';
import { isDeleting, isRetained } from '../../shared/object-state.ts';
import type { ProfileWriter } from '../../shared/profile-writer.ts';
import { removeFinalizerPatch } from '../goal/metadata.ts';
import type { CompletedPass, DroppedPass, PassEnd, PassResult } from '../model/pass.ts';
import { stoppedBy } from '../model/pass.ts';
import { isInTransit } from '../model/eks-change-in-progress.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { RetryState } from '../retry/retry-state.ts';
import { waitedFor, withPreviousWait, withSuccess, withTolerated, withWait } from '../retry/retry-state.ts';
import { attemptsOf } from '../retry/failed-profile-backoff.ts';
import type { RequeueOptions } from './requeue.ts';
import { CONFLICT, DONE, Requeues, backOff, isWaitingInQueue } from './requeue.ts';
import type { EventSpec } from './events.ts';
import { eventsAfter, eventsForSteps, releasedEvent, retainedEvent, warningFor } from './events.ts';
import { pausedStatus, statusAfter } from './status.ts';

export interface FinishOptions extends RequeueOptions {
  readonly profileWriter: Pick<ProfileWriter, 'patchMetadata' | 'patchStatus' | 'delete'>;
  readonly clusterQueue: ClusterQueue;
  /**
   * Reads the object and its Cluster from the API server. Returns why nothing may now be deleted for the object in
   * Kubernetes or AWS, for example because of a pause; `undefined` if deletions are allowed.
   */
  readonly findLiveBlocker: (object: AWSFargateProfile, signal: AbortSignal) => Promise<string | undefined>;
  readonly recordEvent: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
}

/**
 * Facts of a reconcile that are needed if its write to the API server fails: AWS changes to report, and a retry state
 * to restore.
 */
interface Unwritten {
  readonly steps: CompletedPass['steps'];
  readonly before: RetryState;
  readonly context: ReconcileContext;
}

/** Ends a reconcile: writes status or removes the finalizer, records events, and schedules the next reconcile. */
export class PassFinisher {
  private readonly options: FinishOptions;
  private readonly requeues: Requeues;

  constructor(options: FinishOptions) {
    this.options = options;
    this.requeues = new Requeues(options);
  }

  async finish({ object, end, ...facts }: PassResult, context: ReconcileContext): Promise<Requeue> {
    const { clock, clusterQueue, retryStore, profileWriter } = this.options;
    if (end.kind === 'conflict' || end.kind === 'quit') return this.finishDropped(object, end, facts.steps, context);
    // A reconcile that ends with `conflict` or `quit` does not show whether the object still waits. After such a
    // reconcile the object keeps its place in the queue of profile changes of the EKS cluster.
    if (!isWaitingInQueue(end)) clusterQueue.endWait(keyText(keyOf(object)));
    const before = retryStore.get(object);
    const state = this.updateRetryState(object, end);
    const pass: CompletedPass = {
      object,
      end,
      ...facts,
      steps: facts.steps ?? [],
      now: clock.now(),
      waited: end.kind === 'stopped' ? waitedFor(state, end.reason, clock.monotonic()) : 0,
      attempts: attemptsOf(state, object.metadata.generation ?? 0),
    };
    const unwritten: Unwritten = { steps: pass.steps, before, context };
    if (end.kind === 'settled' && isDeleting(object)) {
      return this.removeFinalizer(object, eventsAfter(pass), unwritten);
    }
    if (end.kind === 'settled' && facts.desired?.wanted === undefined) return this.deleteObject(object, unwritten);
    const status = statusAfter(pass);
    const isWritten = await this.write(object, unwritten, () =>
      profileWriter.patchStatus(object, status, context.signal),
    );
    if (!isWritten) return CONFLICT;
    this.recordEvents(object, eventsAfter(pass));
    return this.requeues.after(pass, state, isInTransit({ status }));
  }

  /**
   * Ends the reconcile of a paused object, and removes the object from the queue of profile changes of its EKS cluster.
   * `by` lists the causes of the pause.
   */
  async pause(object: AWSFargateProfile, by: readonly string[], { signal }: ReconcileContext): Promise<Requeue> {
    const { clock, clusterQueue, profileWriter } = this.options;
    clusterQueue.removeEntry(keyText(keyOf(object)));
    const written = await profileWriter.patchStatus(object, pausedStatus(object, by, clock.now()), signal);
    return written === undefined ? CONFLICT : DONE;
  }

  /** Ends a reconcile that found AWS as the last reconcile did, so status stays as it is. */
  finishUnchanged(object: AWSFargateProfile): Requeue {
    this.options.clusterQueue.endWait(keyText(keyOf(object)));
    return this.requeues.resyncLater();
  }

  /**
   * Ends a reconcile in which the API server rejected a request. The rejection is written into status. If the object is
   * paused or status cannot be written, the rejection is recorded as an event.
   */
  async finishRejected(
    object: AWSFargateProfile,
    reason: Reason<'APIServerRefused'>,
    isPaused: boolean,
    context: ReconcileContext,
  ): Promise<Requeue> {
    if (!isPaused) {
      try {
        const next = await this.finish({ object, end: stoppedBy(reason) }, context);
        if (next.kind !== 'conflict') return next;
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
      }
    }
    // No condition can show that the API server has rejected a request: the API server has rejected the status too, or
    // the object is paused and gets no status. So this Warning event is the only way to tell users.
    this.recordEvents(object, [warningFor(reason)]);
    const state = this.updateRetryState(object, stoppedBy(reason));
    const waited = waitedFor(state, reason, this.options.clock.monotonic());
    return this.requeues.retry(object, reason, state, waited);
  }

  /** Removes the finalizer of an object whose AWS resources stay as they are. */
  async release(object: AWSFargateProfile, context: ReconcileContext): Promise<Requeue> {
    const events = isRetained(object) ? [retainedEvent(object)] : [];
    return this.removeFinalizer(object, events, { steps: [], before: this.options.retryStore.get(object), context });
  }

  /**
   * Ends the deletion of an object for which the controller has created nothing in AWS, although it cannot call AWS to
   * verify this. Otherwise credentials that never worked would block the deletion for ever. If only the EKS cluster of
   * the object is being deleted, this method deletes the object. `reason` says why the controller cannot call AWS.
   */
  async releaseWithoutCredentials(
    object: AWSFargateProfile,
    reason: Reason,
    context: ReconcileContext,
  ): Promise<Requeue> {
    const unwritten = { steps: [], before: this.options.retryStore.get(object), context };
    return isDeleting(object)
      ? this.removeFinalizer(object, [releasedEvent(object, reason)], unwritten)
      : this.deleteObject(object, unwritten);
  }

  /** Records events for the AWS changes of a reconcile, even if the reconcile cannot write its result. */
  recordStepEvents(
    object: AWSFargateProfile,
    steps: CompletedPass['steps'] = [],
    { signal }: Pick<ReconcileContext, 'signal'>,
  ): void {
    // If the manager is stopping, its calls to AWS are interrupted. An interrupted call is no failure of AWS, so it
    // gets no event.
    const reported = signal.aborted ? steps.filter(({ outcome }) => outcome.kind === 'done') : steps;
    this.recordEvents(object, eventsForSteps({ steps: reported }));
  }

  private finishDropped(
    object: AWSFargateProfile,
    end: DroppedPass,
    steps: CompletedPass['steps'] | undefined,
    context: ReconcileContext,
  ): Requeue {
    this.recordStepEvents(object, steps, context);
    if (end.kind === 'conflict') return CONFLICT;
    context.logger.debug('Pass dropped', { because: end.because });
    if (end.until === 'changed') return backOff(end.because);
    return this.requeues.soon(end.because);
  }

  private updateRetryState(object: AWSFargateProfile, end: PassEnd): RetryState {
    const now = this.options.clock.monotonic();
    return this.options.retryStore.update(object, (state) => {
      if (end.kind === 'stopped') return withWait(state, end.reason, now);
      return end.notice === undefined ? withSuccess(state) : withTolerated(state, end.notice, now);
    });
  }

  /**
   * Runs `write`, a write to the API server. Returns `false` if another client wrote first or the object is gone, and
   * throws other errors. After a failed write, status still shows the wait before this reconcile, so the retry state of
   * that wait is restored. The AWS changes of this reconcile are then recorded as events nevertheless.
   */
  private async write(
    object: AWSFargateProfile,
    { steps, before, context }: Unwritten,
    write: () => Promise<AWSFargateProfile | undefined>,
  ): Promise<boolean> {
    let written: AWSFargateProfile | undefined;
    try {
      written = await write();
    } finally {
      if (written === undefined) {
        this.recordStepEvents(object, steps, context);
        this.options.retryStore.update(object, (state) => withPreviousWait(before, state));
      }
    }
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

  /**
   * Deletes the AWSFargateProfile from Kubernetes, because its EKS cluster is being deleted and AWS has no Fargate
   * profile of the object. If the API server shows that deletions are not allowed now, the next reconcile tries again.
   */
  private async deleteObject(object: AWSFargateProfile, unwritten: Unwritten): Promise<Requeue> {
    const { logger, signal } = unwritten.context;
    const because = await this.options.findLiveBlocker(object, signal);
    if (because !== undefined)
      return this.finishDropped(object, { kind: 'quit', because, until: 'later' }, unwritten.steps, unwritten.context);
    logger.info('Deleting the profile of a cluster that is being deleted: EKS has no Fargate profile of it to retain');
    await this.write(object, unwritten, async () => {
      await this.options.profileWriter.delete(object, signal);
      return object;
    });
    return DONE;
  }

  private recordEvents(object: AWSFargateProfile, events: readonly EventSpec[]): void {
    for (const event of events) this.options.recordEvent(object, event);
  }
}
