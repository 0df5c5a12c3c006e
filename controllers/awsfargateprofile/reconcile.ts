import * as E from 'fp-ts/lib/Either.js';
import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { LockQueue } from '../../pkg/runtime/queue/lock-queue.ts';
import type { AwsFailure, Session, Sessions } from '../../pkg/cloud/index.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import type { Random } from '../../pkg/env/random.ts';
import { isSameRoleName } from '../../pkg/fargate/names.ts';
import type { OperatorLimits } from '../../pkg/fargate/operator-limits.ts';
import type { TypedStoreReader } from '../../pkg/kube/cache/typed-store.ts';
import { keyOf, keyText } from '../../pkg/kube/object-key.ts';
import type { KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import type { Leadership } from '../../pkg/runtime/leadership.ts';
import type { ReconcileContext, Requeue } from '../../pkg/runtime/reconcile.ts';
import { type ApiRejection, apiRejectionFrom } from '../shared/api-rejections.ts';
import type { ControlPlaneAccounts } from '../shared/control-plane/control-plane-accounts.ts';
import type { ControlPlaneFinalizer } from '../shared/control-plane/control-plane-finalizer.ts';
import { PersistentErrors } from '../shared/persistent-errors.ts';
import type { ProfileWriter } from '../shared/profile-writer.ts';
import type { ServedSchema } from '../shared/crd/served-schema.ts';
import { listSiblings } from '../shared/caches.ts';
import { completeEksClusterFacts } from './aws/eks-cluster.ts';
import { callContext, reasonForFailure } from './aws/failure-reasons.ts';
import { type ObservedProfiles, findOtherProfiles, observeProfiles, observeRoles } from './aws/observe.ts';
import { AccessEntryReader } from './aws/read-access-entry.ts';
import { openSession } from './aws/session.ts';
import { plan } from './decide/plan.ts';
import { execute } from './execute.ts';
import { type DesiredInputs, candidateProfiles, desiredFor, roleConflictOf } from './goal/desired/desired.ts';
import { findRoleSharers } from './goal/desired/role-sharing.ts';
import { goalFor } from './goal/goal.ts';
import { type ReconcileInputs, readInputs, learnAccounts } from './goal/inputs.ts';
import { metadataPatch } from './goal/metadata.ts';
import { newChecks, mutationTimeLeft } from './guards/checks/checks.ts';
import type { LiveChecks } from './guards/checks/live-checks.ts';
import type { ReadLiveInputs } from './guards/checks/live-inputs.ts';
import type { ReadRoleSharers } from './guards/role-sharers.ts';
import { Claims } from './guards/claims.ts';
import type { Guards } from './guards/guards.ts';
import { holdControlPlane } from './guards/hold-control-plane.ts';
import type { PassState } from './guards/pass-state.ts';
import { markDeletionBegun, newPreparations, reasonForWait } from './guards/preparations.ts';
import { recordLocation } from './guards/record-location.ts';
import type { Lanes } from './lane.ts';
import type { Desired } from './model/desired-state.ts';
import { changesInProgress, describeTransit } from './model/eks-change-in-progress.ts';
import type { Goal } from './model/goal-kinds.ts';
import { type KnownLocation, isNeverBegun } from './model/location.ts';
import type { Execution, PassResult } from './model/pass.ts';
import { type Reason, conditionTypeOf, natureOf, newReason } from './reasons/reasons.ts';
import type { RetryState } from './retry/retry-state.ts';
import type { RetryStore } from './retry/retry-store.ts';
import { type EventSpec, abandonedEvents, warningFor } from './status/events.ts';
import { PassFinisher } from './status/finish.ts';
import { reportUndecodable } from './status/undecodable-object.ts';
import { CONFLICT, DONE, backOff } from '../shared/requeue.ts';

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
  readonly managerRegion?: string | undefined;
  readonly accounts?: ControlPlaneAccounts;
  readonly lanes: Lanes;
  readonly recordTurnWait: (span: Ms) => void;
  readonly controlPlaneFinalizer: Pick<ControlPlaneFinalizer, 'add' | 'confirm'>;
  /**
   * By AWS account, namespace and role name: a tenant may name any role, and must not delay other tenants so. Claims
   * (guards/claims.ts) keep the namespaces apart where a role is adopted or removed.
   */
  readonly roleLocks: LockQueue;
  readonly retryStore: RetryStore;
  readonly leadership: Leadership;
  readonly recordEvent: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
  readonly resync: Ms;
}

/**
 * A pass over one AWSFargateProfile:
 *
 * 1. `pass`: reads the caches, chooses the goal, and writes the finalizer and other metadata.
 * 2. `openAws`: credentials of the object's identity, and the account that AWS confirms.
 * 3. `readProfiles`: what EKS has, and what is desired. An object that is neither first nor second among those that wait
 *    for a change in its EKS cluster ends its pass before.
 * 4. `changeAws`: reads the roles, plans all changes, and makes them one by one until one is not done. Before each change,
 *    guards look whether it is allowed now, take the turn in the lane, and record it in annotations and status.
 * 5. `finish`: writes status and events, takes the finalizer off, or deletes the object. It also chooses when the next pass
 *    comes (status/requeue.ts).
 *
 * Locks on the role's name are held in steps 4 and 5, without waiting: a pass that gets none comes again. A step that stops
 * says why by a {@link Reason}, which is what users read.
 */
export class Reconciler {
  private readonly options: ReconcilerOptions;
  private readonly persistentErrors: PersistentErrors;
  private readonly finisher: PassFinisher;
  private readonly guards: Guards;
  private readonly claims = new Claims();
  private readonly accessEntries: AccessEntryReader;

  constructor(options: ReconcilerOptions) {
    const { retryStore, leadership, live } = options;
    this.options = options;
    this.persistentErrors = new PersistentErrors(options.clock);
    this.finisher = new PassFinisher({
      ...options,
      findLiveBlocker: (object, signal) => live.findBlocker(object, signal),
    });
    this.accessEntries = new AccessEntryReader(options.clock);
    const services = {
      ...options,
      mutationTimeLeft: () => mutationTimeLeft(leadership),
      recordTurnWait: (object: AWSFargateProfile) =>
        options.recordTurnWait(turnWait(retryStore.get(object), options.clock.monotonic())),
    };
    this.guards = { checks: newChecks(services), preparations: newPreparations(services) };
  }

  /**
   * If the API server rejects a request, or answers with conflicts or errors for a minute, the object tells. Other
   * errors are thrown.
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
        return this.finisher.finish({ object, end: goal.reason }, context);
      case 'release':
        return this.release(inputs, context);
      case 'resumeDeletion':
        return this.finisher.resumeDeletion(object, context);
      case 'pursue':
        return this.pursue(object, goal, context);
    }
  }

  /**
   * A deletion keeps the locks of the roles until the finalizer is off, because until then other objects count this
   * object as a user of the role.
   */
  private async pursue(object: AWSFargateProfile, goal: PursueGoal, context: ReconcileContext): Promise<Requeue> {
    const { roleLocks, lanes } = this.options;
    const opened = await this.openAws(object, goal, context);
    if (E.isLeft(opened)) return this.finish(opened.left, goal, context);
    const { session, inputs } = opened.right;
    const end = (reason: Reason, current = object): Promise<Requeue> =>
      this.finish({ object: current, end: reason, isAuthenticated: true }, goal, context);
    const wish = desiredFor(object, inputs);
    if (E.isLeft(wish)) return end(wish.left);
    const place = { account: session.account, region: goal.target.region, eksCluster: goal.target.eksCluster };
    const lane = laneOf(place);
    lanes.seed(lane, () => this.changesOnRecord(lane, object));
    // Without its status, for example after a move, an object may look unfinished that is at rest: EKS tells.
    const isStatusLost = wish.right.recorded.lostNames.profiles.length > 0;
    const wait = isStatusLost ? undefined : lanes.findAhead(lane, object);
    if (wait !== undefined) {
      const marked = await markDeletionBegun(this.options, object, place, context.signal);
      return marked === undefined ? CONFLICT : end(reasonForWait(wait, place.eksCluster), marked);
    }

    try {
      const read = await this.readProfiles(object, wish.right, { session, inputs, lane });
      if (E.isLeft(read)) return await end(read.left);
      const work = { session, inputs, lane, ...read.right };
      const locks = rolesToLock(work.desired).map((role) =>
        [place.account, object.metadata.namespace, role.toLowerCase()].join('/'),
      );
      const decided = roleLocks.tryRun(keyText(keyOf(object)), locks, async () =>
        this.finish(await this.changeAws(object, goal, work, context), goal, context),
      );
      return await (decided ?? end(newReason('NotNow', { because: 'another pass decides about the same role' })));
    } finally {
      lanes.leave(object);
    }
  }

  /** Left: why the pass ends here. */
  private async openAws(
    object: AWSFargateProfile,
    goal: PursueGoal,
    { signal, logger }: ReconcileContext,
  ): Promise<E.Either<PassResult, Pick<AwsWork, 'session' | 'inputs'>>> {
    const { clock, sessions, profiles, controlPlaneFinalizer, limits, retryStore, leadership } = this.options;
    const guarded =
      goal.controlPlaneFacts && (await holdControlPlane(controlPlaneFinalizer, goal.controlPlaneFacts, signal));
    const mutationBudget = (): Ms => mutationTimeLeft(leadership);
    const key = keyOf(object);
    const latest = (): KubeObject => {
      const lookup = profiles.lookup(key);
      return lookup.kind === 'found' ? lookup.object : object;
    };
    const opened = await openSession(sessions, object, goal, { signal, logger, mutationBudget, latest });
    if (E.isLeft(opened)) return E.left({ object, end: opened.left });
    const session = opened.right;
    const facts = guarded && (await completeEksClusterFacts(session, object, goal.target, guarded, limits));
    if (facts !== undefined && E.isLeft(facts)) return E.left({ object, end: facts.left, isAuthenticated: true });
    const known = {
      ...goal,
      controlPlaneFacts: facts?.right,
      account: session.account,
      limits,
      isCreateUnconfirmed: retryStore.isCreateUnconfirmed(object),
      now: clock.now(),
    };
    const roleConflict = roleConflictOf(object, known, findRoleSharers(object, profiles));
    return E.right({ session, inputs: { ...known, roleConflict } });
  }

  /**
   * Reads the profiles under the names on record, and then those that these show to exist. What is desired depends on what
   * is found: a profile that serves pods keeps its name.
   */
  private async readProfiles(
    object: AWSFargateProfile,
    wish: Desired,
    { session, inputs, lane }: Pick<AwsWork, 'session' | 'inputs' | 'lane'>,
  ): Promise<E.Either<Reason, Pick<AwsWork, 'desired' | 'profiles'>>> {
    const { target, abandonment } = inputs;
    const refused = (failure: AwsFailure): E.Either<Reason, never> =>
      E.left(reasonForFailure(failure, callContext(target, { session, abandonment })));
    const named = await observeProfiles(session, target.eksCluster, candidateProfiles(object, wish));
    if (E.isLeft(named)) return refused(named.left);
    this.noteProfiles(object, lane, named.right);
    // EKS may just have shown the profile of a request that it had not answered.
    const known = { ...inputs, isCreateUnconfirmed: this.options.retryStore.isCreateUnconfirmed(object) };
    const byName = desiredFor(object, known, named.right.profiles);
    const seen = E.isLeft(byName) ? named : await findOtherProfiles(session, byName.right, named);
    if (E.isLeft(seen)) return refused(seen.left);
    const profiles = seen.right;
    if (seen !== named) this.noteProfiles(object, lane, profiles);
    const desired = seen === named ? byName : desiredFor(object, known, profiles.profiles);
    return E.isLeft(desired) ? desired : E.right({ desired: desired.right, profiles });
  }

  private async changeAws(
    before: AWSFargateProfile,
    { target }: PursueGoal,
    { session, inputs, desired, profiles, lane }: AwsWork,
    context: ReconcileContext,
  ): Promise<PassResult> {
    const { retryStore } = this.options;
    const { signal } = context;
    const stop = (reason: Reason): PassResult => ({ object: before, end: reason, isAuthenticated: true });
    const roles = await observeRoles(session, desired, profiles.profiles);
    if (E.isLeft(roles))
      return stop(reasonForFailure(roles.left, callContext(target, { session, abandonment: inputs.abandonment })));
    const withRoles = { ...profiles, roles: roles.right };
    const read = await this.accessEntries.complete(session, { target, desired, observed: withRoles }, signal);
    if (E.isLeft(read)) return stop(read.left);
    const observed = read.right;

    const facts = { desired, observed, plan: plan(desired, observed) };
    const object = await recordLocation(this.options, before, facts, signal);
    if (object === undefined) return stop(newReason('Conflict', {}));
    const state: PassState = {
      object,
      observed,
      desired,
      target,
      controlPlane: inputs.controlPlaneFacts?.controlPlane,
      session,
      retry: retryStore.handleFor(object),
      lane,
      roleUsage: new Map(),
      roleConflictWith: (roleSharers) => roleConflictOf(object, inputs, roleSharers),
      signal,
    };
    const execution: Execution = { end: 'inOrder', steps: [], notices: [], kept: [] };
    try {
      await execute(facts.plan, state, execution, { ...this.options, claims: this.claims, guards: this.guards });
    } catch (error) {
      this.finisher.recordStepEvents(state.object, execution.steps, context);
      throw error;
    } finally {
      this.claims.release(state);
    }
    return { object: state.object, end: execution.end, facts, execution };
  }

  private noteProfiles(object: AWSFargateProfile, lane: string, observed: ObservedProfiles): void {
    const { retryStore, lanes } = this.options;
    retryStore.recordObservation(object, observed);
    for (const { name, found } of observed.profiles) {
      const doing = describeTransit(found?.status);
      if (doing === undefined) lanes.settle(lane, name, object);
      else lanes.saw(lane, name, doing, object);
    }
  }

  private changesOnRecord(lane: string, object: AWSFargateProfile) {
    return listSiblings(object, this.options.profiles).flatMap(({ status = {} }) => {
      const { account = '', region = '', eksClusterName = '' } = status;
      return laneOf({ account, region, eksCluster: eksClusterName }) === lane ? changesInProgress({ status }) : [];
    });
  }

  private finish(result: PassResult, goal: PursueGoal, context: ReconcileContext): Promise<Requeue> {
    const { object, end, facts } = result;
    return facts === undefined && end !== 'inOrder' && canReleaseUnasked(object, goal, end)
      ? this.finisher.releaseWithoutCredentials(object, end, context)
      : this.finisher.finish(result, context);
  }

  /**
   * Caches may be outdated, so the goal is decided again from live reads: an object that went too early would leave a
   * profile that blocks the deletion of the EKS cluster.
   */
  private async release(inputs: ReconcileInputs, context: ReconcileContext): Promise<Requeue> {
    const { readLiveInputs, retryStore } = this.options;
    const live = await readLiveInputs(inputs, context.signal);
    const goal = goalFor(live, retryStore.clusterGoneFor(live));
    return goal.kind === 'release' ? this.finisher.release(live.object, context) : this.follow(live, goal, context);
  }

  private forget(key: ObjectKey): Requeue {
    this.options.retryStore.forget(key);
    this.options.lanes.abandon(key);
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

type PursueGoal = Extract<Goal, { kind: 'pursue' }>;

interface AwsWork {
  readonly session: Session;
  readonly inputs: DesiredInputs;
  readonly desired: Desired;
  readonly profiles: ObservedProfiles;
  readonly lane: string;
}

/** The name of the lane of an EKS cluster, once AWS has confirmed the account. */
const laneOf = ({ account, region, eksCluster }: Record<keyof KnownLocation, string>): string =>
  [account, region, eksCluster].join('/');

/** A role that the object brings along is only used, so no pass decides about it. */
const rolesToLock = ({ names, wanted }: Desired): Desired['names']['roles'] =>
  wanted?.role.kind === 'existing'
    ? names.roles.filter((name) => !isSameRoleName(name, wanted.role.name))
    : names.roles;

const turnWait = ({ waiting }: RetryState, now: Ms): Ms =>
  waiting?.name === 'WaitingForSibling' || waiting?.name === 'ClusterUpdating' ? now - waiting.since : 0;

/**
 * Nothing was created in AWS for the object, and only a user can make credentials, region or endpoints usable. In an
 * outage the object waits, because AWS answers again without a user.
 */
const canReleaseUnasked = (object: AWSFargateProfile, { controlPlaneFacts }: PursueGoal, reason: Reason): boolean =>
  controlPlaneFacts === undefined &&
  isNeverBegun(object) &&
  natureOf(reason) === 'human' &&
  (conditionTypeOf(reason) === 'CredentialsReady' || reason.name === 'SDKRefused');
