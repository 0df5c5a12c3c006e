import * as E from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { AwsFailure } from '../../pkg/cloud/errors/failure.ts';
import type { Session, Sessions } from '../../pkg/cloud/session.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import type { OperatorLimits } from '../../pkg/fargate/operator-limits.ts';
import { keyOf, keyText } from '../../pkg/kube/object-key.ts';
import type { TypedStoreReader } from '../../pkg/kube/cache/typed-store.ts';
import type { LockQueue } from '../../pkg/runtime/queue/lock-queue.ts';
import type { ReconcileContext, Requeue } from '../../pkg/runtime/reconcile.ts';
import type { ControlPlaneFinalizer } from '../shared/control-plane/control-plane-finalizer.ts';
import type { ProfileWriter } from '../shared/profile-writer.ts';
import { listSiblings } from '../shared/siblings.ts';
import { completeEksClusterFacts } from './aws/eks-cluster.ts';
import { callContext, endForFailure } from './aws/failure-reasons.ts';
import type { Observation, ObservedProfiles } from './aws/observe.ts';
import { completeObservation, observeProfiles, observeRolesEarly } from './aws/observe.ts';
import { openSession } from './aws/session.ts';
import type { DesiredInputs } from './goal/desired/desired.ts';
import { desiredFor, withProfileNameInUse } from './goal/desired/desired.ts';
import { findRoleSharers } from './goal/desired/role-sharing.ts';
import {
  queueEntryFor,
  queueNameOf,
  updateQueueFromObservation,
  updateQueueFromStatus,
} from './guards/cluster-queue-updates.ts';
import { holdControlPlane } from './guards/hold-control-plane.ts';
import type { PassState } from './guards/pass-state.ts';
import { isLocationNeeded, recordLocation } from './guards/record-location.ts';
import type { Desired } from './model/desired-state.ts';
import type { Goal, Target } from './model/goal-kinds.ts';
import { isNeverBegun } from './model/location.ts';
import type { Step } from './model/outcome.ts';
import type { DroppedPass, PassEnd, PassResult, StoppedPass } from './model/pass.ts';
import { stoppedBy } from './model/pass.ts';
import { isInTransit } from './model/eks-change-in-progress.ts';
import { natureOf, conditionTypeOf } from './reasons/reasons.ts';
import type { Comparisons } from './retry/comparisons.ts';
import type { RetryStore } from './retry/retry-store.ts';
import type { PassFinisher } from './status/finish.ts';
import type { StepServices } from './steps.ts';
import { runSteps } from './steps.ts';

export interface AwsReconcilerOptions extends StepServices {
  readonly profiles: TypedStoreReader<AWSFargateProfile>;
  readonly profileWriter: ProfileWriter;
  readonly controlPlaneFinalizer: Pick<ControlPlaneFinalizer, 'add'>;
  readonly sessions: Sessions;
  readonly limits: OperatorLimits;
  /**
   * The locks of IAM roles, because two reconciles must not decide about the same role at the same time. The key of a
   * lock is AWS account, namespace and role name: a tenant may name any role, and must not delay other tenants so.
   * Claims (guards/claims.ts) keep the namespaces apart where a role is adopted or removed.
   */
  readonly roleLocks: LockQueue;
  readonly mutationTimeLeft: () => Ms;
  readonly retryStore: RetryStore;
  readonly comparisons: Comparisons;
  readonly finisher: PassFinisher;
}

type PursueGoal = Extract<Goal, { kind: 'pursue' }>;

/**
 * The part of a reconcile that reads and changes AWS, in this order:
 * 1. add the finalizer to the control plane, so that the control plane stays until its Fargate profiles are deleted;
 * 2. get AWS credentials and their account;
 * 3. compute the desired state and read the observed state;
 * 4. record account, region and EKS cluster in an annotation of the object;
 * 5. change AWS step by step until observed and desired state agree;
 * 6. write the status, and decide when to reconcile again.
 */
export class AwsReconciler {
  private readonly options: AwsReconcilerOptions;

  constructor(options: AwsReconcilerOptions) {
    this.options = options;
  }

  async reconcile(object: AWSFargateProfile, goal: PursueGoal, context: ReconcileContext): Promise<Requeue> {
    const { sessions, roleLocks, controlPlaneFinalizer, mutationTimeLeft, retryStore, finisher } = this.options;
    const { signal, logger } = context;
    const end = (how: PassEnd | DroppedPass) => finisher.finish({ object, end: how }, context);

    const held =
      goal.controlPlaneFacts && (await holdControlPlane(controlPlaneFinalizer, goal.controlPlaneFacts, signal));
    const session = await openSession(sessions, object, goal, { signal, logger, mutationBudget: mutationTimeLeft });
    if (E.isLeft(session)) {
      const { left } = session;
      return canReleaseUnasked(object, goal, left)
        ? finisher.releaseWithoutCredentials(object, left.reason, context)
        : end(left);
    }
    const { account } = session.right;
    const { limits } = this.options;
    const facts = held && (await completeEksClusterFacts(session.right, object, goal.target, held, limits));
    if (facts !== undefined && E.isLeft(facts)) return end(facts.left);
    const controlPlaneFacts = facts?.right;
    const inputs: DesiredInputs = {
      target: goal.target,
      targetSource: goal.targetSource,
      controlPlaneFacts,
      surplus: goal.surplus,
      abandonment: goal.abandonment,
      account,
      limits,
      roleSharers: findRoleSharers(object, this.options.profiles),
      isCreateUnconfirmed: retryStore.isCreateUnconfirmed(object),
    };
    const desired = desiredFor(object, inputs);
    if (E.isLeft(desired)) return end(stoppedBy(desired.left));
    const roleKeys = rolesToLock(desired.right).map((name) => `${account}/${object.metadata.namespace}/${name}`);
    // If the object is being deleted, this reconcile holds the lock of the IAM role until it has removed the finalizer.
    // Until then, reconciles of other objects count this object as a user of the role.
    const pass = roleLocks.tryRun(keyText(keyOf(object)), roleKeys, async () => {
      const profile = await this.compareProfile(object, goal.target, session.right, desired.right);
      if (profile === 'unchanged') return finisher.finishUnchanged(object);
      if (profile !== 'changed') return finisher.finish(profile, context);
      const wish = { desired: desired.right, inputs };
      const result = await this.observeAndMutate(object, goal, session.right, wish, context);
      const { end: how, observed } = result;
      if (observed === undefined && canReleaseUnasked(object, goal, how))
        return finisher.releaseWithoutCredentials(object, how.reason, context);
      const next = await finisher.finish(result, context);
      this.recordComparison(object, desired.right, result);
      return next;
    });
    // If the reconcile of another object holds the lock of an IAM role, this reconcile ends and runs again later.
    // Waiting would occupy a worker, and many profiles may share one role.
    return pass ?? end({ kind: 'quit', because: 'another profile decides about the same role', until: 'later' });
  }

  /**
   * Compares only the Fargate profile with AWS, and not the IAM role, if the last reconcile compared both and changed
   * nothing. Returns `unchanged` if the profile is as the last reconcile found it: this reconcile then ends, and the
   * next reconcile compares the role too. Returns `changed` if this reconcile has to read the profile and the role.
   * Returns the result of the reconcile if the read of the profile failed.
   */
  private async compareProfile(
    object: AWSFargateProfile,
    target: Target,
    session: Session,
    desired: Desired,
  ): Promise<'unchanged' | 'changed' | PassResult> {
    const isAsBefore = this.options.comparisons.take(object);
    if (isAsBefore === undefined) return 'changed';
    const askedAt = this.options.clock.monotonic();
    const observed = await observeProfiles(session, desired);
    if (E.isLeft(observed)) return failedObservation(object, target, session, desired, observed.left);
    if (!isAsBefore(desired, observed.right)) return 'changed';
    this.noteProfiles(object, queueOf(session, target), observed.right, askedAt);
    return 'unchanged';
  }

  /** Remembers the Fargate profile of a reconcile that found AWS as desired and wrote nothing. */
  private recordComparison(object: AWSFargateProfile, asked: Desired, { end, observed, steps = [] }: PassResult): void {
    const { profiles, comparisons } = this.options;
    const isInOrder = asked.wanted !== undefined && end.kind === 'settled' && end.notice === undefined;
    if (!isInOrder || observed === undefined || steps.length > 0) return;
    const cached = profiles.lookup(keyOf(object));
    const isUnwritten =
      cached.kind === 'found' && cached.object.metadata.resourceVersion === object.metadata.resourceVersion;
    if (isUnwritten) comparisons.record(object, asked, observed);
  }

  private async observeAndMutate(
    before: AWSFargateProfile,
    { target, controlPlaneFacts }: PursueGoal,
    session: Session,
    { desired: asked, inputs }: { readonly desired: Desired; readonly inputs: DesiredInputs },
    context: ReconcileContext,
  ): Promise<PassResult> {
    const { retryStore } = this.options;
    const { signal } = context;
    const observation = await this.observe(before, target, session, asked);
    if (E.isLeft(observation)) return failedObservation(before, target, session, asked, observation.left);
    const location = { ...asked.place, eksCluster: target.eksCluster };
    const { observed: seen } = observation.right;
    const object = isLocationNeeded(before, asked, observation.right)
      ? await recordLocation(this.options, before, seen, location, signal)
      : before;
    if (object === undefined) return { object: before, end: { kind: 'conflict' } };
    if (observation.right.kind === 'profilesOnly') {
      const { desired, observed, reason } = observation.right;
      return { object, ...(desired && { desired }), observed, end: stoppedBy(reason) };
    }
    const { desired, observed } = observation.right;
    const pass: PassState = {
      object,
      observed,
      desired,
      target,
      controlPlane: controlPlaneFacts?.controlPlane,
      session,
      retry: retryStore.handleFor(object),
      queueEntry: queueEntryFor(object, queueOf(session, target), desired),
      roleUsage: new Map(),
      roleConflictWith: (roleSharers) => {
        const shared = desiredFor(object, { ...inputs, roleSharers });
        return E.isRight(shared) ? shared.right.roleConflict : undefined;
      },
      signal,
    };
    return this.runSteps(pass, context);
  }

  /**
   * Reads the Fargate profiles and the IAM roles from AWS at the same time. As soon as EKS has answered, the queue of
   * profile changes gets the status of the profiles, so that the next object in the queue does not wait for IAM.
   */
  private async observe(
    object: AWSFargateProfile,
    target: Target,
    session: Session,
    desired: Desired,
  ): Promise<E.Either<AwsFailure, Observation>> {
    const askedAt = this.options.clock.monotonic();
    const noteProfiles = (observed: E.Either<AwsFailure, ObservedProfiles>): typeof observed => {
      if (E.isRight(observed)) this.noteProfiles(object, queueOf(session, target), observed.right, askedAt);
      return observed;
    };
    const [profiles, roles] = await Promise.all([
      observeProfiles(session, desired).then(noteProfiles),
      observeRolesEarly(session, desired, { wasInTransit: isInTransit(object) }),
    ]);
    if (E.isLeft(profiles)) return profiles;
    const named = withProfileNameInUse(desired, profiles.right.profiles);
    if (E.isLeft(named)) return E.right({ kind: 'profilesOnly', observed: profiles.right, reason: named.left });
    return named.right.wanted?.profile.name === desired.wanted?.profile.name
      ? completeObservation(session, named.right, profiles.right, roles)
      : this.observe(object, target, session, named.right);
  }

  private noteProfiles(object: AWSFargateProfile, queue: string, observed: ObservedProfiles, askedAt: Ms): void {
    const { retryStore, clusterQueue, profiles } = this.options;
    retryStore.recordObservation(object, observed, askedAt);
    updateQueueFromStatus(clusterQueue, queue, () => listSiblings(object, profiles));
    updateQueueFromObservation(clusterQueue, { queue, id: keyText(keyOf(object)) }, observed);
  }

  /**
   * Runs the steps that change AWS. If a step throws, Kubernetes Events still report the changes in AWS before the
   * error.
   */
  private async runSteps(pass: PassState, context: ReconcileContext): Promise<PassResult> {
    const steps: Step[] = [];
    try {
      const end = await runSteps(pass, steps, this.options);
      return { object: pass.object, end, desired: pass.desired, observed: pass.observed, steps };
    } catch (error) {
      this.options.finisher.recordStepEvents(pass.object, steps, context);
      throw error;
    } finally {
      this.options.claims.release(pass);
    }
  }
}

/**
 * Whether the controller may end the deletion of an object, or delete a retained object of a cluster that is being
 * deleted, before it has read AWS. This is allowed under two conditions: the controller has created nothing in AWS for
 * the object, and only a user can make the credentials, the region or the endpoints usable. In an outage of AWS the
 * object waits, because AWS answers again without a user.
 */
const canReleaseUnasked = (
  object: AWSFargateProfile,
  { controlPlaneFacts }: PursueGoal,
  end: PassEnd | DroppedPass,
): end is StoppedPass =>
  controlPlaneFacts === undefined &&
  isNeverBegun(object) &&
  end.kind === 'stopped' &&
  natureOf(end.reason) === 'human' &&
  (conditionTypeOf(end.reason) === 'CredentialsReady' || end.reason.name === 'SDKRefused');

/** The names, in lower case, of all IAM roles that the reconcile may read or change. */
function rolesToLock({ names, nameInStatus, identity, wanted }: Desired): readonly string[] {
  const otherwise = nameInStatus?.otherwise;
  const others = otherwise !== undefined && E.isRight(otherwise) ? otherwise.right.names.roles : [];
  // If the role has a computed name, the existing Fargate profile may use a role with a name that an earlier version of
  // Cluster API Provider AWS computed. The reconcile learns this only after it has the locks.
  const isComputed = wanted?.role.kind === 'managed' && !wanted.role.isNamedInSpec;
  const computed = isComputed ? [...identity.capaRoleNames, ...(nameInStatus?.identity.capaRoleNames ?? [])] : [];
  return [...new Set([...names.roles, ...others, ...computed].map((name) => name.toLowerCase()))];
}

const queueOf = ({ account, region }: Session, { eksCluster }: Target): string =>
  queueNameOf(account, region, eksCluster);

function failedObservation(
  object: AWSFargateProfile,
  target: Target,
  session: Session,
  desired: Desired,
  failure: AwsFailure,
): PassResult {
  const context = callContext(target, { session, abandonment: desired.abandonment });
  return { object, desired, end: endForFailure(failure, context) };
}
