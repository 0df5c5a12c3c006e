import * as E from 'fp-ts/lib/Either.js';
import type { TypedStoreReader } from 'controller-runtime/cache';
import { type Eviction, keyOf, keyText, type KubeObject, type ObjectKey } from 'controller-runtime/client';
import type { ReconcileContext, Requeue } from 'controller-runtime/controller';
import type { Leadership } from 'controller-runtime/election';
import type { Clock, Ms, Random } from 'controller-runtime/env';
import type { LockQueue } from 'controller-runtime/queue';
import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import type { RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { Sessions } from '../../pkg/cloud/index.ts';
import type { OperatorLimits } from '../../pkg/fargate/operator-limits.ts';
import type { ApiRejection } from '../shared/api-rejections.ts';
import type { ControlPlaneAccounts } from '../shared/control-plane/control-plane-accounts.ts';
import type { ControlPlaneFinalizer } from '../shared/control-plane/control-plane-finalizer.ts';
import {
  type ProfileRecord,
  formatLocation,
  isNeverBegun,
  isTooLong,
  managedRolesIn,
  recordOf,
  readRecord,
  isEntryOf,
} from '../shared/record.ts';
import { isDeleting, isStatusLost } from '../shared/object-state.ts';
import { PersistentErrors } from '../shared/persistent-errors.ts';
import { baseNameOf, roleNameOf } from '../shared/profile-names.ts';
import type { ProfileWriter } from '../shared/profile-writer.ts';
import type { ServedSchema } from '../shared/crd/served-schema.ts';
import { completeEksClusterFacts } from './aws/eks-cluster.ts';
import { openSession } from './aws/session.ts';
import { reasonForFailure } from './aws/failure-reasons.ts';
import { plan } from './plan/plan.ts';
import { type DesiredInputs, desiredFor, findSpecProblem } from './desired/desired.ts';
import type { OpenPods } from './drain/open-pods.ts';
import { execute } from './execute.ts';
import { goalFor, type Goal, type PursueGoal } from './goal/goal.ts';
import { type ReconcileInputs, readInputs, learnAccounts, type ReadLiveInputs } from './goal/inputs.ts';
import { metadataPatch, recordPatch } from './goal/metadata.ts';
import { type FindLiveBlocker, mutationTimeLeft } from './guards/checks.ts';
import type { Guard, ReconcileState } from './guards/guards.ts';
import { newGuards } from './guards/guard-order.ts';
import { holdControlPlane, reasonForWait } from './guards/preparations.ts';
import { Claims } from './guards/role-users/claims.ts';
import type { LiveRoleUsers } from './guards/role-users/live-objects.ts';
import { cachedSharersSettings, sharedRole } from './guards/role-users/settings.ts';
import type { ClusterQueues } from './cluster-queue.ts';
import type { Desired, SharersSettings } from './model/desired-state.ts';
import { type Looking, type Observed, type ProfilesAndRoles, observedAfter } from './model/observed-state.ts';
import { identityOf, oursOf } from './model/owner.ts';
import type { Execution, ReconcileResult } from './model/result.ts';
import { mergeRecords, updateRecord, withLostRecord, withUnanswered } from './record-after-read.ts';
import { AccessEntryReader } from './observe/access-entries.ts';
import { readDeletionProtection } from './observe/deletion-protection.ts';
import { look } from './observe/observe.ts';
import { type Reason, conditionTypeOf, natureOf, newReason } from './reasons/reasons.ts';
import { hasAnythingInAws, isAnythingLeft, located, recordAtEnd, withoutDeletion } from './record-around-changes.ts';
import { type RetryStore, isSurveyDue, withSurvey, withSurveyDue } from './retry-state.ts';
import { IGNORED_DELETION, abandonedEvents, warningFor } from './report/events.ts';
import type { EventSpec } from './report/step-events.ts';
import { Finisher } from './finish.ts';
import type { Competition } from './overlap/condition.ts';
import { reportUndecodable } from './unreadable.ts';
import { CONFLICT, DONE, backOff } from '../shared/requeue.ts';

export interface ReconcilerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly profiles: TypedStoreReader<AWSFargateProfile>;
  readonly clusters: TypedStoreReader<Cluster>;
  readonly controlPlanes: TypedStoreReader<AWSManagedControlPlane>;
  readonly profileWriter: ProfileWriter;
  readonly findLiveBlocker: FindLiveBlocker;
  readonly readLiveInputs: ReadLiveInputs;
  readonly roleUsers: LiveRoleUsers;
  readonly schema: ServedSchema;
  readonly sessions: Sessions;
  readonly limits: OperatorLimits;
  readonly managerRegion?: string | undefined;
  readonly accounts?: ControlPlaneAccounts;
  readonly clusterQueues: ClusterQueues;
  readonly competition: Competition;
  readonly recordTurnSpan: (span: Ms) => void;
  readonly controlPlaneFinalizer: Pick<ControlPlaneFinalizer, 'add' | 'confirm'>;
  /**
   * Locks by AWS account, namespace, and role name. A tenant may name any role, and must not delay other tenants, so
   * each namespace has its own locks. Claims (guards/role-users/claims.ts) prevent conflicts between namespaces when a
   * role is adopted or removed.
   */
  readonly roleLocks: LockQueue;
  readonly retryStore: RetryStore;
  readonly leadership: Leadership;
  readonly openPods: OpenPods;
  readonly recordEviction: (answer: Eviction['kind']) => void;
  readonly recordEvent: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
  readonly resync: Ms;
}

/**
 * Reconciles one AWSFargateProfile. Before this class, `onlyUnderOurSchema` (unreadable.ts) runs, which ends the
 * reconcile while the API server serves another provider's CRD. Data flows down this list only; `retryStore` and
 * `clusterQueues` carry state to later reconciles. CONTRIBUTING.md has a table of all steps with their inputs and outputs.
 *
 * 1. `reconcileObject`: reads the caches, chooses the goal, and writes the finalizer, a new object's first record, and
 * other metadata.
 * 2. `pursue`: adds the finalizer that keeps the control plane, opens a session with the object's identity, and
 * collects what decides about the desired profile and role, such as the tags of the control plane.
 * Writes into a deleted object's record that the deletion has begun.
 * Ends the reconcile of an object that has to wait for the profile changes of other objects in its EKS cluster
 * (cluster-queue.ts). An object that continues takes its turn right before such a change (`takeTurn` in
 * guards/preparations.ts). Locks the names of the roles until the end of the reconcile. If another reconcile holds a
 * lock, this one does not wait: the object is enqueued when the lock is free. With the locks, `reconcileLocked` calls the
 * next steps.
 * 3. `observe`: reads only the recorded profiles (a glance) or all profiles of the EKS cluster (a survey). `look`
 * (observe/observe.ts) says when a glance is enough. Most changes need a survey (`afterSurvey` in guards/checks.ts).
 * 4. `desire`: brings the record up to date with what AWS shows, and decides, once, what is desired, and whether other
 * objects have precedence for the settings of a shared role. A deleted object desires nothing.
 * 5. `planAndExecute`: plans all changes, and makes them one by one until a required one fails. Once the desired profile
 * serves pods, the removal of its predecessors follows as `leftovers`, whose failure does not change Ready. Before each
 * change, the guards that are about it run (guards/guard-order.ts): they check whether it is allowed now, or prepare it.
 * The last guard writes the record, or an empty patch if the record is unchanged. So a crash leaves no unrecorded
 * resource in AWS, and a manager with an old cache gets a conflict and changes nothing.
 * 6. `finish` (finish.ts): writes the record, the status, and events, and chooses the time of the next reconcile
 * (report/requeue.ts). If nothing of the object is left in AWS, `finish` asks the API server for a pause or a change of
 * the object, and then removes the finalizer. It deletes an object with `Retain` whose EKS cluster is being deleted.
 *
 * While the Cluster is being deleted, this class only stops creating anything (`creationBlocker` in goal/target.ts). When
 * the control plane is being deleted, controllers/clusterteardown deletes the other objects, and removes the control
 * plane's finalizer after their profiles.
 *
 * A step that stops returns a {@link Reason}, which users read in conditions and events. The golden files in
 * test/simulation/stories show, reconcile by reconcile, a creation, a replacement, a deletion, and a teardown. They omit
 * what is read from the API server.
 *
 * The decisions are made in:
 *
 * - What is created: plan/ensure-role.ts and plan/ensure-profile.ts, after plan/blockers.ts has found no blocker.
 * - Which profile may be deleted, and why: `whyDeletable` (plan/remove.ts).
 * - Whether a shared role is kept: `removeUnwantedRole` (plan/remove.ts), if a Fargate profile in EKS uses the role;
 *   guards/role-users, if another object may use the role.
 * - How a profile is replaced: `chooseName` (desired/choose-name.ts) chooses the name of the new profile, such as
 *   `9999-web`: EKS prefers the name that sorts first. `hasTakenOver` and `keptUntil` (plan/replace.ts) decide when the
 *   old profile may be deleted.
 */
export class Reconciler {
  private readonly options: ReconcilerOptions;
  private readonly persistentErrors: PersistentErrors;
  private readonly finisher: Finisher;
  private readonly guards: readonly Guard[];
  private readonly claims = new Claims();
  private readonly accessEntries: AccessEntryReader;

  constructor(options: ReconcilerOptions) {
    const { leadership } = options;
    this.options = options;
    this.persistentErrors = new PersistentErrors(options.clock);
    this.finisher = new Finisher(options);
    this.accessEntries = new AccessEntryReader(options.clock);
    this.guards = newGuards({ ...options, mutationTimeLeft: () => mutationTimeLeft(leadership) });
  }

  /**
   * Reports an error on the object if the API server rejects a request, or answers with conflicts or errors for a
   * minute. Throws other errors.
   */
  readonly reconcile = async (key: ObjectKey, context: ReconcileContext): Promise<Requeue> => {
    const { persistentErrors } = this;
    try {
      const next = await this.reconcileObject(key, context);
      if (next.kind !== 'conflict') {
        persistentErrors.clear(key);
        return next;
      }
      const rejection = persistentErrors.conflict(key);
      return rejection === undefined ? next : await this.reportRejection(key, rejection, context);
    } catch (error) {
      const rejection = persistentErrors.failure(key, error);
      if (rejection === undefined) throw error;
      return this.reportRejection(key, rejection, context);
    }
  };

  private async reconcileObject(key: ObjectKey, context: ReconcileContext): Promise<Requeue> {
    const { profiles, profileWriter, retryStore } = this.options;
    const lookup = profiles.lookup(key);
    if (lookup.kind === 'unknown') return backOff('the object cannot be read yet');
    if (lookup.kind === 'absent') return this.forget(key);
    if (E.isLeft(lookup.decoded)) return reportUndecodable(this.options, lookup.object, lookup.decoded.left, context);
    await learnAccounts(lookup.decoded.right, this.options, context);
    const inputs = readInputs(lookup.decoded.right, this.options);
    const goal = goalFor(inputs, retryStore.trackCluster(inputs));
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
        return this.finisher.finish({ object, end: goal.reason }, context);
      case 'release':
        return this.release(inputs, context);
      case 'pursue':
        return this.pursue(object, goal, context);
    }
  }

  /**
   * Holds the roles' locks until a deleted object's finalizer is removed, because until then other objects count this
   * object as a user of the role.
   */
  private async pursue(before: AWSFargateProfile, goal: PursueGoal, context: ReconcileContext): Promise<Requeue> {
    const { roleLocks, clusterQueues } = this.options;
    const opened = await this.openAws(before, goal, context);
    if (E.isLeft(opened)) return this.finishEarly({ object: before, ...opened.left }, goal, context);
    const { session } = opened.right;
    const endEarly = (object: AWSFargateProfile, end: Reason): Promise<Requeue> =>
      this.finishEarly({ object, end, isAuthenticated: true }, goal, context);
    const recorded = await this.prepareRecord(before, context.signal);
    if (recorded === undefined) return CONFLICT;
    const { object, record } = recorded;
    const { region, eksCluster } = goal.target;
    const queueKey = formatLocation({ account: session.account, region, eksCluster });
    // Without its status, for example after a move, an object at rest may look unfinished. Only EKS shows the
    // difference, so this object does not wait for its turn.
    const mayBeAtRest = isStatusLost(object) && recordOf(object).profiles.length > 0;
    const wait = mayBeAtRest ? undefined : clusterQueues.findAhead(queueKey, object);
    if (wait !== undefined)
      return endEarly(object, findSpecProblem(object, opened.right) ?? reasonForWait(wait, eksCluster));

    const locks = rolesToLock(object, record).map((role) =>
      [session.account, object.metadata.namespace, role].join('/'),
    );
    clusterQueues.beginReconcile(object);
    try {
      const decided = await roleLocks.tryRun(keyText(keyOf(object)), locks, async () =>
        this.reconcileLocked(object, { ...opened.right, record, queueKey }, context),
      );
      if (decided === undefined)
        return await endEarly(
          object,
          newReason('NotNow', { because: 'another reconcile decides about the same role' }),
        );
      return E.isLeft(decided) ? await endEarly(object, decided.left) : decided.right;
    } finally {
      clusterQueues.endReconcile(object);
      this.claims.release(object);
    }
  }

  /** The caller holds the roles' locks. A Left ends the reconcile before anything is planned. */
  private async reconcileLocked(
    object: AWSFargateProfile,
    work: AwsWork,
    context: ReconcileContext,
  ): Promise<E.Either<Reason, Requeue>> {
    const looking = lookingFor(object, work);
    const read = await this.observe(looking, work, context);
    if (E.isLeft(read)) return read;
    const observed = read.right;
    const desired = this.desire(looking, work, observed);
    if (E.isLeft(desired)) return desired;
    if (recordOf(object).deleting === true && !isDeleting(object)) {
      if (isMovedWhileDeleted(object, desired.right, observed))
        return E.right(await this.finisher.resumeDeletion(object, context));
      this.options.recordEvent(object, IGNORED_DELETION);
    }
    const result = await this.planAndExecute(object, work, { desired: desired.right, observed }, context);
    return E.right(await this.finisher.finish(result, context));
  }

  /**
   * Adds the control plane's finalizer, opens a session with the object's identity, and collects what decides about the
   * desired profile and role, except for what `observe` reads. A Left ends the reconcile.
   */
  private async openAws(
    object: AWSFargateProfile,
    goal: PursueGoal,
    { signal, logger }: ReconcileContext,
  ): Promise<E.Either<Omit<EarlyResult, 'object'>, Omit<AwsWork, 'record' | 'queueKey'>>> {
    const { sessions, profiles, controlPlaneFinalizer, leadership, limits, retryStore } = this.options;
    const held = goal.creationFacts && (await holdControlPlane(controlPlaneFinalizer, goal.creationFacts, signal));
    const mutationBudget = (): Ms => mutationTimeLeft(leadership);
    const key = keyOf(object);
    const latest = (): KubeObject => {
      const lookup = profiles.lookup(key);
      return lookup.kind === 'found' ? lookup.object : object;
    };
    const opened = await openSession(sessions, object, goal, { signal, logger, mutationBudget, latest });
    if (E.isLeft(opened)) return E.left({ end: opened.left });
    const session = opened.right;
    const facts = held && (await completeEksClusterFacts(session, object, goal.target, held, limits));
    if (facts !== undefined && E.isLeft(facts)) return E.left({ end: facts.left, isAuthenticated: true });
    const isQuotaExceeded = retryStore.get(object).waiting?.name === 'QuotaExceeded';
    return E.right({
      ...goal,
      creationFacts: facts?.right,
      account: session.account,
      limits,
      isQuotaExceeded,
      session,
    });
  }

  /**
   * Returns the record, which is the annotation merged with this process's memory. Records also that the deletion has
   * begun, because `clusterctl move` drops the deletionTimestamp and keeps annotations. Returns `undefined` if another
   * client wrote or deleted the object first.
   */
  private async prepareRecord(
    before: AWSFargateProfile,
    signal: AbortSignal,
  ): Promise<{ readonly object: AWSFargateProfile; readonly record: ProfileRecord } | undefined> {
    const { profileWriter, retryStore } = this.options;
    const read = readRecord(before);
    const { recorded } = retryStore.get(before);
    if (read.kind === 'absent' && recorded === undefined) this.rememberLostRecord(before);
    const record = mergeRecords(recordOf(before), recorded, read.kind === 'recorded');
    const isRecorded = read.kind === 'recorded' && (read.record.deleting === true || read.record.in.kind === 'none');
    if (!isDeleting(before) || isRecorded) return { object: before, record };
    const deleting: ProfileRecord = { ...record, deleting: true };
    if (isTooLong(deleting, before)) return { object: before, record };
    const object = await profileWriter.patchMetadata(before, recordPatch(before, deleting), signal);
    return object && { object, record: deleting };
  }

  private rememberLostRecord(object: AWSFargateProfile): void {
    const { retryStore, clock } = this.options;
    retryStore.update(object, (state) => ({
      ...state,
      unanswered: withLostRecord(state.unanswered ?? {}, clock.monotonic()),
    }));
  }

  /**
   * Reads AWS, with a glance if that is enough, else with a survey. The cluster queue learns which profiles EKS is
   * changing.
   */
  private async observe(
    looking: Looking,
    work: AwsWork,
    { signal }: ReconcileContext,
  ): Promise<E.Either<Reason, Observed>> {
    const { session, queueKey, unwanted } = work;
    const { retryStore, clock, random } = this.options;
    const seen = await look(session, looking, isSurveyDue(retryStore.get(looking.object), clock.monotonic()));
    if (E.isLeft(seen)) return E.left(reasonForFailure(seen.left, work));
    if (seen.right.depth === 'survey')
      retryStore.update(looking.object, (state) => withSurvey(state, clock.monotonic(), random));
    this.options.clusterQueues.compare(queueKey, looking.object, seen.right.profiles, ownNames(looking, seen.right));
    const read = await this.accessEntries.complete(work, looking, seen.right, signal);
    if (E.isLeft(read)) return read;
    const protection =
      unwanted === 'retain' ? E.right(undefined) : await readDeletionProtection(session.clusters, looking, seen.right);
    if (E.isLeft(protection)) return E.left(reasonForFailure(protection.left, work));
    return E.right({ ...read.right, deletionProtection: protection.right });
  }

  /** Brings the record up to date with what AWS shows, and decides what is desired. A Left ends the reconcile. */
  private desire(looking: Looking, work: AwsWork, observed: Observed): E.Either<Reason, Desired> {
    const { retryStore, clock, profiles } = this.options;
    const { object, record } = looking;
    const now = clock.monotonic();
    const { unanswered = {} } = retryStore.update(object, (state) => ({
      ...state,
      unanswered: withUnanswered(state.unanswered ?? {}, record, now),
    }));
    const updated = updateRecord(looking, observed, { unanswered, now });
    // A glance does not show all profiles that another copy of this object has created, so the next read is a survey.
    if (updated.elsewhere.length > 0) retryStore.update(object, withSurveyDue);
    const sharersSettings = (name: RoleName): SharersSettings =>
      cachedSharersSettings(object, sharedRole(name, work), observed.profiles, profiles);
    const desired = desiredFor(object, { ...work, sharersSettings }, updated, observed, work.session.now());
    // A glance does not show the profiles of the sharers, so it would not show the conflict.
    if (E.isRight(desired) && hasRoleConflict(desired.right)) retryStore.update(object, withSurveyDue);
    return desired;
  }

  private async planAndExecute(
    before: AWSFargateProfile,
    work: AwsWork,
    { desired, observed }: { readonly desired: Desired; readonly observed: Observed },
    context: ReconcileContext,
  ): Promise<ReconcileResult> {
    const { retryStore } = this.options;
    const planned = plan(desired, observed);
    const hasChanges = planned.changes.length + planned.leftovers.length > 0;
    // If EKS has no such cluster, the account may be wrong, so the location is recorded only for a change.
    const isLocated = hasChanges || (observed.cluster === 'there' && hasAnythingInAws(desired));
    const known = isDeleting(before) ? desired.record : withoutDeletion(desired.record);
    const execution: Execution = { end: 'inSync', steps: [], notices: [], kept: [...planned.kept] };
    const state: ReconcileState = {
      ...work,
      object: before,
      record: isLocated ? located(known, desired, work.target.identity) : known,
      observed,
      desired,
      plan: planned,
      retry: retryStore.handleFor(before),
      signal: context.signal,
      execution,
    };
    try {
      await execute(state, { ...this.options, claims: this.claims, guards: this.guards });
    } catch (error) {
      // A glance would end as `ReadAgain`, and hide that the error persists.
      retryStore.update(before, withSurveyDue);
      this.finisher.recordStepEvents(state.object, execution.steps, context);
      throw error;
    }
    const record = recordAtEnd(state.record, desired, observed, execution);
    const end =
      execution.end !== 'released' || mayRelease(desired, observed, record)
        ? execution.end
        : newReason('ReadAgain', { because: 'AWS has to be read once more before the object may go' });
    const after = observedAfter(observed, execution.steps);
    return { object: state.object, end, facts: { desired, observed, after, plan: planned }, execution, record };
  }

  /** Finishes a reconcile that has ended before anything was planned. */
  private finishEarly(result: EarlyResult, goal: PursueGoal, context: ReconcileContext): Promise<Requeue> {
    const { object, end } = result;
    return canReleaseUnasked(object, goal, end)
      ? this.finisher.releaseWithoutCredentials(object, end, context)
      : this.finisher.finish(result, context);
  }

  /**
   * Decides the goal again from live reads, because the caches may be outdated. If the finalizer were removed too
   * early, a profile could stay that blocks the deletion of the EKS cluster.
   */
  private async release(inputs: ReconcileInputs, context: ReconcileContext): Promise<Requeue> {
    const { readLiveInputs, retryStore } = this.options;
    const live = await readLiveInputs(inputs, context.signal);
    const goal = goalFor(live, retryStore.trackCluster(live));
    return goal.kind === 'release' ? this.finisher.release(live.object, context) : this.follow(live, goal, context);
  }

  private forget(key: ObjectKey): Requeue {
    this.options.retryStore.forget(key);
    this.options.clusterQueues.abandon(key);
    this.options.profileWriter.forget(key);
    return DONE;
  }

  private async reportRejection(key: ObjectKey, rejection: ApiRejection, context: ReconcileContext): Promise<Requeue> {
    context.logger.warn('The API server rejects a request of this reconcile', { rejection: rejection.message });
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

/** What a reconcile needs to read and change AWS. `record` is the one before AWS was read. */
type AwsWork = DesiredInputs & Pick<ReconcileState, 'session' | 'record' | 'queueKey'>;

type EarlyResult = Pick<ReconcileResult, 'object' | 'isAuthenticated'> & { readonly end: Reason };

const lookingFor = (object: AWSFargateProfile, work: AwsWork): Looking => ({
  object,
  identity: identityOf(object, work, baseNameOf(object, work.record)),
  record: work.record,
  isLeaving: work.creationFacts === undefined,
  isLeavingWithCluster: work.isLeavingWithCluster,
});

const hasRoleConflict = ({ role }: Desired): boolean => role?.kind === 'managed' && role.roleConflict !== undefined;

/** Returns the names of the object's profiles in EKS, and of recorded profiles that EKS does not show. */
function ownNames(looking: Looking, { profiles }: ProfilesAndRoles): readonly string[] {
  const gone = looking.record.profiles.filter(({ name }) => profiles.every((each) => each.name !== name));
  return [...oursOf(looking, profiles), ...gone].map(({ name }) => name);
}

/**
 * A role in spec.roleARN is never changed, so it needs no lock. A role that only a profile in EKS shows is not locked:
 * the claims and the guard `roleUnused` protect it.
 */
function rolesToLock(object: AWSFargateProfile, record: ProfileRecord): readonly string[] {
  const names = [roleNameOf(object), ...managedRolesIn(record).map(({ name }) => name)];
  return [...new Set(names.flatMap((name) => name?.toLowerCase() ?? []))];
}

/**
 * Whether `clusterctl move` recreated the object during its deletion. The caller has checked that the record marks a
 * deletion. But an old copy of a record must not delete serving profiles. So status has to be missing, as after a move,
 * and the record must already have contained each of the object's profiles.
 */
const isMovedWhileDeleted = (object: AWSFargateProfile, desired: Desired, { profiles }: Observed): boolean =>
  isStatusLost(object) && oursOf(desired, profiles).every((found) => isEntryOf(recordOf(object).profiles, found));

/**
 * Whether the finalizer may be removed: the reconcile has read all profiles, and the record lists nothing that is left
 * in AWS.
 */
const mayRelease = ({ unwanted }: Desired, { depth }: Observed, record: ProfileRecord): boolean =>
  depth === 'survey' && (unwanted === 'retain' || !isAnythingLeft(record));

/**
 * Whether the finalizer may be removed without credentials: nothing was created in AWS, and only a user can fix the
 * credentials, the region, or the endpoints. During an outage the object waits, because AWS recovers without a user.
 */
const canReleaseUnasked = (object: AWSFargateProfile, { creationFacts }: PursueGoal, reason: Reason): boolean =>
  creationFacts === undefined &&
  isNeverBegun(object) &&
  natureOf(reason) === 'human' &&
  (conditionTypeOf(reason) === 'CredentialsReady' || reason.name === 'SDKRefused');
