import * as E from 'fp-ts/lib/Either.js';
import { CONTROL_PLANE_KIND } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { credentialsName } from '../../pkg/cloud/credentials-name.ts';
import type { Session, Sessions } from '../../pkg/cloud/types.ts';
import { isNotDispatched } from '../../pkg/cloud/errors.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import type { Random } from '../../pkg/env/random.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { StoreReader } from '../../pkg/kube/store.ts';
import type { KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import type { KeyedMutex } from '../../pkg/runtime/keyed-mutex.ts';
import type { Turns } from '../../pkg/runtime/turns.ts';
import type { Leadership, ReconcileContext, Requeue } from '../../pkg/runtime/types.ts';
import type { Guarding } from '../guard.ts';
import { Lasting } from '../lasting.ts';
import type { Refusal } from '../refusals.ts';
import { refusalIn } from '../refusals.ts';
import type { ServedSchema } from '../served-schema.ts';
import { mutationBudget } from './budget.ts';
import type { Findings } from './conclusion.ts';
import { CONFLICT, Conclusion, DONE, again } from './conclusion.ts';
import { desiredBy } from './desired.ts';
import type { EventSpec } from './events.ts';
import { eventOf } from './events.ts';
import { askerOf, whyOfCredentials, whyOfFailure } from './failures.ts';
import type { Inputs } from './inputs.ts';
import type { LiveReads } from './live.ts';
import { Memories } from './memories.ts';
import { deletionMark, metadataPatch, whereaboutsMark } from './metadata.ts';
import type { Desired, Goal, Step, Surroundings, Target } from './model.ts';
import type { ProfileObjects } from './objects.ts';
import { observe } from './observe.ts';
import { pausedStatus } from './report.ts';
import type { End, Seen } from './pass.ts';
import type { Flight } from './preflight.ts';
import { isInTransit, laneOf, tellRecorded, tellSeen, ticketOf, unseenIn } from './lane.ts';
import { guards } from './preflight.ts';
import type { SiblingNews, Why } from './reasons.ts';
import { why } from './reasons.ts';
import { readyOnlyIfActive, recordBefore } from './record.ts';
import { readInputs } from './read.ts';
import { runSteps } from './steps.ts';
import { isDeleting } from '../standing.ts';
import { goalFor } from './target.ts';
import { reportUndecodable } from './undecodable.ts';
import type { Somewhere } from './whereabouts.ts';
import { whereaboutsOf } from './whereabouts.ts';

export interface ReconcilerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly profiles: StoreReader;
  readonly clusters: StoreReader;
  readonly controlPlanes: StoreReader;
  readonly objects: ProfileObjects;
  readonly live: LiveReads;
  readonly schema: ServedSchema;
  readonly sessions: Sessions;
  readonly turns: Turns;
  /** Keeps a control plane until the profiles of its cluster are gone. */
  readonly guardOf: (controlPlane: ObjectKey, signal: AbortSignal) => Promise<Guarding>;
  /** Role decisions are made one at a time per (account, role name). */
  readonly roles: KeyedMutex;
  readonly leadership: Leadership;
  readonly tell: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
  /** How often an object at rest is compared with AWS. */
  readonly resync: Ms;
}

/** `clusterctl move` deletes the objects of a cluster one after the other, within a second or two. */
const MOVE_PATIENCE: Ms = 30_000;

/** One pass over one object: get → goal → metadata (the finalizer first) → session → observe → steps → one status patch. */
export class Reconciler {
  private readonly options: ReconcilerOptions;
  private readonly memories: Memories;
  private readonly conclusion: Conclusion;
  private readonly lasting: Lasting;

  constructor(options: ReconcilerOptions) {
    this.options = options;
    this.memories = new Memories(options.clock);
    this.conclusion = new Conclusion(options, this.memories);
    this.lasting = new Lasting(options.clock);
  }

  readonly reconcile = async (key: ObjectKey, context: ReconcileContext): Promise<Requeue> => {
    const { lasting } = this;
    try {
      const next = await this.pass(key, context);
      if (next.kind !== 'conflict') {
        lasting.over(key);
        return next;
      }
      const refusal = lasting.conflict(key);
      return refusal === undefined ? next : await this.refused(key, refusal, context);
    } catch (error) {
      const refusal = refusalIn(error) ?? lasting.failure(key, error);
      if (refusal === undefined) throw error;
      return this.refused(key, refusal, context);
    }
  };

  /** Another object of the cluster has gone or changed. True if this one waited for that: then it may try at once. */
  readonly awaitsSibling = (key: ObjectKey, news: SiblingNews): boolean => this.memories.awaitsSibling(key, news);

  private async pass(key: ObjectKey, context: ReconcileContext): Promise<Requeue> {
    const lookup = this.options.profiles.lookup(key);
    if (lookup.kind === 'unknown') return again('the object cannot be read yet');
    if (lookup.kind === 'absent') return this.forget(key);
    const decoded = decodeAWSFargateProfile(lookup.object);
    if (E.isLeft(decoded)) return reportUndecodable(this.options, lookup.object, decoded.left, context);
    const inputs = readInputs(decoded.right, this.options);
    const goal = this.patiently(inputs, goalFor(inputs));
    if (goal.kind === 'ignore') return DONE;
    const object = await this.options.objects.patchMetadata(
      inputs.object,
      goal.kind === 'paused' ? undefined : metadataPatch(inputs, goal),
      context.signal,
    );
    return object === undefined ? CONFLICT : this.follow(object, goal, inputs.sharers, context);
  }

  /** The API server does not let a pass go on. */
  private async refused(key: ObjectKey, refusal: Refusal, context: ReconcileContext): Promise<Requeue> {
    context.logger.warn('The API server refuses what a pass needs', { refusal: refusal.words });
    const reason = why('APIServerRefused', refusal);
    const lookup = this.options.profiles.lookup(key);
    if (lookup.kind !== 'found') return again(reason.reason);
    const decoded = decodeAWSFargateProfile(lookup.object);
    if (E.isLeft(decoded)) {
      this.options.tell(lookup.object, eventOf(reason));
      return again(reason.reason);
    }
    const isPaused = goalFor(readInputs(decoded.right, this.options)).kind === 'paused';
    return this.conclusion.refuse(decoded.right, reason, isPaused, context);
  }

  /** A Cluster that vanishes may be on its way to another management cluster, and this object with it. */
  private patiently(inputs: Inputs, goal: Goal): Goal {
    const goneFor = this.memories.clusterGoneFor(inputs);
    if (goneFor === undefined || goneFor >= MOVE_PATIENCE || goal.kind !== 'pursue') return goal;
    const { metadata, spec } = inputs.object;
    const cluster = keyText({ namespace: metadata.namespace, name: spec.clusterName });
    return { kind: 'hold', why: why('ClusterVanished', { cluster, remaining: MOVE_PATIENCE - goneFor }) };
  }

  private forget(key: ObjectKey): Requeue {
    this.memories.forget(key);
    this.options.turns.leave(keyText(key));
    this.options.objects.forget(key);
    return DONE;
  }

  private async follow(
    object: AWSFargateProfile,
    goal: Exclude<Goal, { kind: 'ignore' }>,
    sharers: Inputs['sharers'],
    context: ReconcileContext,
  ): Promise<Requeue> {
    switch (goal.kind) {
      case 'paused': {
        this.options.turns.leave(keyText(keyOf(object)));
        const status = pausedStatus(object, goal.by, this.options.clock.now());
        const written = await this.options.objects.patchStatus(object, status, context.signal);
        return written === undefined ? CONFLICT : DONE;
      }
      case 'hold':
        return this.conclusion.conclude({ object, end: stopped(goal.why) }, context);
      case 'release':
        return this.conclusion.release(object, context);
      case 'resumeDeletion':
        return this.resumeDeletion(object, context);
      case 'pursue':
        return this.pursue(object, goal, sharers, context);
    }
  }

  /** A move to this management cluster has forgotten that the object was being deleted: the API server is told again. */
  private async resumeDeletion(object: AWSFargateProfile, { logger, signal }: ReconcileContext): Promise<Requeue> {
    logger.info('Resuming a deletion that a move has interrupted');
    await this.options.objects.delete(object, signal);
    return DONE;
  }

  private async pursue(
    object: AWSFargateProfile,
    { target, surroundings, surplus, releasable = false }: Extract<Goal, { kind: 'pursue' }>,
    sharers: Inputs['sharers'],
    context: ReconcileContext,
  ): Promise<Requeue> {
    const { sessions, roles } = this.options;
    const { conclusion } = this;
    const stopFor = (reason: Why) => conclusion.conclude({ object, end: stopped(reason) }, context);
    const guarded = surroundings && (await this.guarded(surroundings, context.signal));
    const opened = await sessions.open({
      region: target.region,
      identity: target.identity,
      namespace: object.metadata.namespace,
      signal: context.signal,
      mutationBudget: this.mutationBudget,
      logger: context.logger,
      // All that such a pass asks is whether EKS has finished.
      polling: isInTransit(object),
    })();
    if (E.isLeft(opened)) {
      const reason = whyOfCredentials(opened.left, askerOf(target), releasable);
      return reason === undefined ? conclusion.soon(opened.left.message) : stopFor(reason);
    }
    const session = opened.right;
    const whereabouts = whereaboutsOf(object);
    if (whereabouts.kind === 'somewhere' && whereabouts.account !== session.account) {
      const whose = credentialsName(target.identity);
      return stopFor(why('WrongAccount', { whose, recorded: whereabouts.account, found: session.account, releasable }));
    }
    const desired = desiredBy(object, {
      target,
      surroundings: guarded,
      surplus,
      account: session.account,
      sharers,
      createUnseen: this.memories.isCreateUnseen(object),
    });
    if (E.isLeft(desired)) return stopFor(desired.left);
    const names = desired.right.names.roles.map((name) => `${session.account}/${name.toLowerCase()}`);
    // A line of passes that wait for one role would hold up all others.
    if (!roles.isFree(names)) return conclusion.soon('another profile decides about the same role');
    // Up to the object's release: until then the next to decide about the role must count this object among its users.
    return roles.run(names, context.signal, async () =>
      conclusion.conclude(await this.work(object, target, session, desired.right, context), context),
    );
  }

  /** Nothing is created for a control plane that would not wait for its end; what exists is looked after all the same. */
  private async guarded(surroundings: Surroundings, signal: AbortSignal): Promise<Surroundings> {
    if (surroundings.noCreation !== undefined) return surroundings;
    const { controlPlane } = surroundings;
    const guarding = await this.options.guardOf(controlPlane, signal);
    if (guarding.kind === 'guarded') return surroundings;
    const noCreation =
      guarding.kind === 'leaving'
        ? why('ClusterDeleting', { what: `${CONTROL_PLANE_KIND} ${keyText(controlPlane)}` })
        : why('GuardRefused', { controlPlane: keyText(controlPlane), why: guarding.why, cure: guarding.cure });
    return { ...surroundings, noCreation };
  }

  /** Observes and changes AWS; nobody else here decides about the same role meanwhile. */
  private async work(
    before: AWSFargateProfile,
    target: Target,
    session: Session,
    desired: Desired,
    context: ReconcileContext,
  ): Promise<Findings> {
    const { clock, turns } = this.options;
    const lane = laneOf(session.account, session.region, target.eksCluster);
    const looked = await observe(session, desired, {
      inTransit: isInTransit(before),
      heard: (profiles) => {
        // At once: a sibling may wait for the end that was just seen.
        this.memories.noteSeen(before, profiles);
        tellRecorded(turns, lane, before, this.options.profiles);
        tellSeen(turns, lane, profiles);
      },
    })();
    if (E.isLeft(looked)) {
      if (isNotDispatched(looked.left))
        return { object: before, end: { kind: 'quit', because: looked.left.message, until: 'later' } };
      const reason = whyOfFailure(looked.left, askerOf(target, session));
      return { object: before, desired, end: stopped(reason) };
    }
    const sight = looked.right;
    const where: Somewhere = { ...desired.place, ...target };
    const object = await this.located(
      before,
      sight.kind === 'whole' ? sight.observed : sight.seen,
      where,
      context.signal,
    );
    if (object === undefined) return { object: before, end: { kind: 'conflict' } };
    if (sight.kind === 'transit') return { object, desired, observed: sight.seen, end: stopped(sight.why) };
    const wanting = sight.desired;
    const flight: Flight = {
      object,
      memory: this.memories.of(object),
      observed: sight.observed,
      target,
      desired: wanting,
      session,
      signal: context.signal,
      ticket: ticketOf(object, lane, wanting),
    };
    const { objects, live, schema, profiles } = this.options;
    const all = guards({
      clock,
      turns,
      unseen: () => unseenIn(lane, object, profiles, (sibling) => this.memories.hasSeen(sibling)),
      live,
      schema,
      mutationBudget: this.mutationBudget,
      mark: (now, signal) => objects.patchMetadata(now, deletionMark(now, where), signal),
      record: (mutation, { object: now, observed, signal }) => {
        const record = recordBefore(now, target, wanting, mutation, clock.now());
        const status = readyOnlyIfActive(record, now, { desired: wanting, observed, mutation }, clock.now());
        return objects.patchStatus(now, status, signal);
      },
    });
    const trail: Step[] = [];
    try {
      const end = await runSteps(flight, trail, { guards: all, turns, clock });
      return { object: flight.object, end, desired: wanting, observed: flight.observed, trail };
    } catch (error) {
      this.conclusion.tellSteps(flight.object, trail, context);
      throw error;
    } finally {
      this.memories.keep(object, flight.memory);
    }
  }

  /**
   * Says on the object where it is, once its cluster was found there: whatever is made from then on is found again after a
   * move. An object on its way out says so with the beginning of its deletion. `undefined`: somebody else wrote first.
   */
  private async located(
    object: AWSFargateProfile,
    { cluster }: Seen,
    where: Somewhere,
    signal: AbortSignal,
  ): Promise<AWSFargateProfile | undefined> {
    if (cluster === 'gone' || isDeleting(object)) return object;
    const located = await this.options.objects.patchMetadata(object, whereaboutsMark(object, where), signal);
    if (located !== undefined && whereaboutsOf(object).kind === 'nowhere') this.memories.noteBegin(located);
    return located;
  }

  private readonly mutationBudget = (): Ms => mutationBudget(this.options.leadership);
}

const stopped = (reason: Why): End => ({ kind: 'stopped', why: reason });
