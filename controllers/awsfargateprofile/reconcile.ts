import * as E from 'fp-ts/lib/Either.js';
import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { LockQueue } from '../../pkg/runtime/queue/lock-queue.ts';
import type { Sessions } from '../../pkg/cloud/session.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import type { Random } from '../../pkg/env/random.ts';
import type { OperatorLimits } from '../../pkg/fargate/operator-limits.ts';
import type { TypedStoreReader } from '../../pkg/kube/cache/typed-store.ts';
import { keyText } from '../../pkg/kube/object-key.ts';
import type { KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import type { ClusterQueue } from '../../pkg/runtime/queue/cluster-queue.ts';
import type { Leadership } from '../../pkg/runtime/leadership.ts';
import type { ReconcileContext, Requeue } from '../../pkg/runtime/reconcile.ts';
import type { ApiRejection } from '../shared/api-rejections.ts';
import { apiRejectionFrom } from '../shared/api-rejections.ts';
import type { ControlPlaneAccounts } from '../shared/control-plane/control-plane-accounts.ts';
import type { ControlPlaneFinalizer } from '../shared/control-plane/control-plane-finalizer.ts';
import { PersistentErrors } from '../shared/persistent-errors.ts';
import type { ProfileWriter } from '../shared/profile-writer.ts';
import type { ServedSchema } from '../shared/crd/served-schema.ts';
import { listSiblings } from '../shared/siblings.ts';
import { AccessEntryReader } from './aws/read-access-entry.ts';
import { goalFor } from './goal/goal.ts';
import type { ReconcileInputs } from './goal/inputs.ts';
import { readInputs } from './goal/inputs.ts';
import { learnAccounts } from './goal/learn-accounts.ts';
import { metadataPatch } from './goal/metadata.ts';
import { newChecks } from './guards/checks/checks.ts';
import { unobservedProfiles } from './guards/cluster-queue-updates.ts';
import { mutationTimeLeft } from './guards/checks/mutation-time-in-lease.ts';
import type { LiveChecks } from './guards/checks/live-checks.ts';
import type { ReadLiveInputs } from './guards/checks/live-inputs.ts';
import type { ReadRoleSharers } from './guards/role-sharers.ts';
import { newPreparations } from './guards/preparations.ts';
import { Claims } from './guards/claims.ts';
import type { Goal } from './model/goal-kinds.ts';
import { stoppedBy } from './model/pass.ts';
import { newReason } from './reasons/reasons.ts';
import { AwsReconciler } from './reconcile-aws.ts';
import { Comparisons } from './retry/comparisons.ts';
import type { RetryStore } from './retry/retry-store.ts';
import type { EventSpec } from './status/events.ts';
import { abandonedEvents, warningFor } from './status/events.ts';
import { PassFinisher } from './status/finish.ts';
import { CONFLICT, DONE, backOff } from './status/requeue.ts';
import { resumeDeletion } from './status/resume-deletion.ts';
import { reportUndecodable } from './status/undecodable-object.ts';

export interface ReconcilerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly profiles: TypedStoreReader<AWSFargateProfile>;
  readonly clusters: TypedStoreReader<Cluster>;
  readonly controlPlanes: TypedStoreReader<AWSManagedControlPlane>;
  readonly profileWriter: ProfileWriter;
  readonly live: LiveChecks;
  readonly readLiveInputs: ReadLiveInputs;
  readonly readRoleSharers: ReadRoleSharers;
  readonly schema: ServedSchema;
  readonly sessions: Sessions;
  readonly limits: OperatorLimits;
  /** The AWS region in which the manager runs; `undefined` if the manager does not know it. */
  readonly managerRegion?: string | undefined;
  readonly accounts?: ControlPlaneAccounts;
  readonly clusterQueue: ClusterQueue;
  readonly controlPlaneFinalizer: Pick<ControlPlaneFinalizer, 'add' | 'confirm'>;
  /**
   * The locks of IAM roles, because two reconciles must not decide about the same role at the same time. The key of a
   * lock is AWS account, namespace and role name: a tenant may name any role, and must not delay other tenants so.
   * Claims (guards/claims.ts) keep the namespaces apart where a role is adopted or removed.
   */
  readonly roleLocks: LockQueue;
  readonly retryStore: RetryStore;
  readonly leadership: Leadership;
  readonly recordEvent: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
  /** The interval at which an AWSFargateProfile is compared with AWS while nothing changes. */
  readonly resync: Ms;
}

/**
 * Reconciles AWSFargateProfiles, one with each call. A reconcile reads the object, its Cluster and its control plane
 * from the caches. From these it decides on the goal, for example to create the Fargate profile or to wait for the
 * Cluster. Then it writes the finalizer and the annotations that this goal needs, and works towards the goal.
 */
export class Reconciler {
  private readonly options: ReconcilerOptions;
  private readonly persistentErrors: PersistentErrors;
  private readonly comparisons = new Comparisons();
  private readonly finisher: PassFinisher;
  private readonly aws: AwsReconciler;

  constructor(options: ReconcilerOptions) {
    const { profiles, retryStore, leadership, live } = options;
    this.options = options;
    this.persistentErrors = new PersistentErrors(options.clock);
    this.finisher = new PassFinisher({
      ...options,
      findLiveBlocker: (object, signal) => live.findBlocker(object, signal),
    });
    const services = {
      ...options,
      accessEntryReader: new AccessEntryReader(options.clock),
      claims: new Claims(),
      mutationTimeLeft: () => mutationTimeLeft(leadership),
      unobservedProfiles: (queue: string, object: AWSFargateProfile) =>
        unobservedProfiles(queue, listSiblings(object, profiles), (sibling) => retryStore.hasObserved(sibling)),
    };
    const guards = { checks: newChecks(services), preparations: newPreparations(services) };
    this.aws = new AwsReconciler({ ...services, guards, finisher: this.finisher, comparisons: this.comparisons });
  }

  /**
   * Reconciles the AWSFargateProfile with this key, and returns when to reconcile it again. If the API server rejects a
   * request, or answers requests with conflicts or errors for a minute, this method reports the problem in conditions
   * or in an event of the object. This method throws other errors.
   */
  readonly reconcile = async (key: ObjectKey, context: ReconcileContext): Promise<Requeue> => {
    const { persistentErrors } = this;
    try {
      const next = await this.pass(key, context);
      if (next.kind !== 'conflict') {
        persistentErrors.clear(key);
        return next;
      }
      const rejection = persistentErrors.conflict(key);
      return rejection === undefined ? next : await this.reportRejection(key, rejection, context);
    } catch (error) {
      const rejection = apiRejectionFrom(error) ?? persistentErrors.failure(key, error);
      if (rejection === undefined) throw error;
      return this.reportRejection(key, rejection, context);
    }
  };

  private async pass(key: ObjectKey, context: ReconcileContext): Promise<Requeue> {
    const { profiles, profileWriter, retryStore } = this.options;
    const lookup = profiles.lookup(key);
    if (lookup.kind === 'unknown') return backOff('the object cannot be read yet');
    if (lookup.kind === 'absent') return this.forget(key);
    if (E.isLeft(lookup.decoded)) return reportUndecodable(this.options, lookup.object, lookup.decoded.left, context);
    await learnAccounts(lookup.decoded.right, this.options, context);
    const inputs = readInputs(lookup.decoded.right, this.options);
    const goal = goalFor(inputs, retryStore.clusterGoneFor(inputs));
    const patch = goal.kind === 'paused' ? undefined : metadataPatch(inputs, goal);
    const object = await profileWriter.patchMetadata(inputs.object, patch, context.signal);
    return object === undefined ? CONFLICT : this.follow({ ...inputs, object }, goal, context);
  }

  private async follow(inputs: ReconcileInputs, goal: Goal, context: ReconcileContext): Promise<Requeue> {
    const { object } = inputs;
    switch (goal.kind) {
      case 'ignore':
        for (const event of abandonedEvents(object)) this.options.recordEvent(object, event);
        return DONE;
      case 'paused':
        return this.finisher.pause(object, goal.by, context);
      case 'hold':
        return this.finisher.finish({ object, end: stoppedBy(goal.reason) }, context);
      case 'release':
        return this.release(inputs, context);
      case 'resumeDeletion':
        return this.resumeDeletion(object, context);
      case 'pursue':
        return this.aws.reconcile(object, goal, context);
    }
  }

  /**
   * Removes the finalizer of a deleted AWSFargateProfile. Before the removal, this method reads the Cluster and the
   * control plane from the API server and decides again, because caches may be outdated. If the object disappeared too
   * early, its Fargate profile would block the deletion of the EKS cluster. No object would then name this profile.
   */
  private async release(inputs: ReconcileInputs, context: ReconcileContext): Promise<Requeue> {
    const { readLiveInputs, retryStore } = this.options;
    const now = await readLiveInputs(inputs, context.signal);
    const goal = goalFor(now, retryStore.clusterGoneFor(now));
    return goal.kind === 'release' ? this.finisher.release(now.object, context) : this.follow(now, goal, context);
  }

  private async resumeDeletion(object: AWSFargateProfile, context: ReconcileContext): Promise<Requeue> {
    const because = await resumeDeletion(this.options, object, context);
    return because === undefined
      ? DONE
      : this.finisher.finish({ object, end: { kind: 'quit', because, until: 'later' } }, context);
  }

  private forget(key: ObjectKey): Requeue {
    this.options.retryStore.forget(key);
    this.comparisons.forget(key);
    this.options.clusterQueue.removeEntry(keyText(key));
    this.options.profileWriter.forget(key);
    return DONE;
  }

  private async reportRejection(key: ObjectKey, rejection: ApiRejection, context: ReconcileContext): Promise<Requeue> {
    context.logger.warn('The API server rejects a request of this pass', { rejection: rejection.message });
    const reason = newReason('APIServerRefused', rejection);
    const lookup = this.options.profiles.lookup(key);
    if (lookup.kind !== 'found') return backOff(reason.name);
    if (E.isLeft(lookup.decoded)) {
      this.options.recordEvent(lookup.object, warningFor(reason));
      return backOff(reason.name);
    }
    const isPaused = goalFor(readInputs(lookup.decoded.right, this.options)).kind === 'paused';
    return this.finisher.finishRejected(lookup.decoded.right, reason, isPaused, context);
  }
}
