import * as E from 'fp-ts/lib/Either.js';
import { isAborted, withDeadline } from 'controller-runtime/async';
import type { Eviction } from 'controller-runtime/client';
import { type Clock, isPanic, type Ms, type Random } from 'controller-runtime/env';
import { PROFILE_LABEL } from '../../../pkg/fargate/fargate-pods.ts';
import { type Drain, type DrainPod, drainBefore, drainingReason, nextStep, toDrainPod } from '../drain/drain.ts';
import { type OpenPods, type PodAccess, describeProblem } from '../drain/open-pods.ts';
import type { Drained, Mutation } from '../model/change.ts';
import { MAX_REQUESTS, type ServerProblem } from '../../shared/workload-server.ts';
import { withDrainSince } from '../record-around-changes.ts';
import { type LiveGuardServices, newLiveGuards } from './checks.ts';
import { type Guard, type Obstacle, type ReconcileState, stop } from './guards.ts';

export interface DrainServices extends LiveGuardServices {
  readonly clock: Clock;
  readonly random: Random;
  readonly openPods: OpenPods;
  /** How much time a change may take, in ms. 0 or less if this process may have lost its leader lease. */
  readonly mutationTimeLeft: () => Ms;
  readonly recordEviction: (answer: Eviction['kind']) => void;
  readonly writeRecord: (reconcile: ReconcileState, record: ReconcileState['record']) => Promise<Obstacle | undefined>;
}

/**
 * The time limit for connecting to the workload cluster, and for listing its pods. A slow API server must not block a
 * reconcile for long, because the workqueue limits how many objects are reconciled at the same time.
 */
const LIST_LIMIT: Ms = 15_000;
/** No eviction begins later than this after the first one. Each eviction has its own limit. */
const EVICTIONS_BEGIN_WITHIN: Ms = 5_000;
const EVICTION_LIMIT: Ms = 10_000;

/**
 * If `drainTimeout` is set, moves a replaced profile's pods to its successor before the profile is deleted. Before the
 * first eviction, the other live guards of the deletion are checked.
 */
export function drainPredecessor(services: DrainServices): Guard {
  return async (mutation, reconcile) => {
    const drain = drainBefore(mutation, reconcile.desired, reconcile.observed);
    if (drain === undefined) return undefined;
    const result = await drainOnce(services, drain, mutation, reconcile);
    if ('kind' in result) return result;
    reconcile.drained = result;
    return undefined;
  };
}

async function drainOnce(
  services: DrainServices,
  drain: Drain,
  mutation: Mutation,
  reconcile: ReconcileState,
): Promise<Drained | Obstacle> {
  const { clock } = services;
  const { target, desired } = reconcile;
  const { now } = desired;
  const open = async (signal: AbortSignal) => {
    const result = await services.openPods(reconcile.session, target, drain);
    // After the deadline, the caller does not get the connections, so they are closed here.
    if (signal.aborted && E.isRight(result)) await result.right?.close();
    return result;
  };
  const opened = await attempt(reconcile, () =>
    withDeadline(clock, LIST_LIMIT, reconcile.signal, 'the connection', open),
  );
  const access = E.isRight(opened) ? opened.right : undefined;
  const problem = E.isLeft(opened) ? opened.left : undefined;
  try {
    const found = problem ?? (access === undefined ? [] : await list(clock, access, drain, reconcile));
    const step = nextStep(drain, found, now);
    if (step.kind === 'over') return step.drained;
    for (const guard of newLiveGuards(services)) {
      const obstacle = await guard(mutation, reconcile);
      if (obstacle !== undefined) return obstacle;
    }
    const recorded = withDrainSince(reconcile.record, drain.predecessor, drain.since);
    const begins = recorded !== reconcile.record;
    const obstacle = await services.writeRecord(reconcile, recorded);
    if (obstacle !== undefined) return obstacle;
    const evicted = access === undefined ? NONE : await evict(services, access, step.evict, reconcile);
    const why = 'problem' in found ? found : evicted.problem;
    return stop(drainingReason(drain, step, evicted.answers, { now, problem: why, begins }));
  } finally {
    await access?.close();
  }
}

function list(
  clock: Clock,
  access: PodAccess,
  drain: Drain,
  reconcile: ReconcileState,
): Promise<DrainPod[] | ServerProblem> {
  const selector = `${PROFILE_LABEL}=${drain.predecessor}`;
  const read = (signal: AbortSignal) =>
    attempt(reconcile, async () => {
      const pods: DrainPod[] = [];
      for await (const page of access.list(selector, signal)) pods.push(...page.map((each) => toDrainPod(each, drain)));
      return E.right(pods);
    });
  return attempt(reconcile, () => withDeadline(clock, LIST_LIMIT, reconcile.signal, 'the list of pods', read)).then(
    E.toUnion,
  );
}

interface Evicted {
  readonly answers: readonly (readonly [DrainPod, Eviction])[];
  readonly problem?: ServerProblem;
}

const NONE: Evicted = { answers: [] };

/**
 * Evicts pods until the time is over, or a request shows that the manager has no access. Begins with a random pod, so
 * that pods whose evictions are refused or hang do not always come before the others. Returns the answers in the order
 * of `pods`.
 */
async function evict(
  { clock, random, mutationTimeLeft, recordEviction }: DrainServices,
  access: PodAccess,
  pods: readonly DrainPod[],
  reconcile: ReconcileState,
): Promise<Evicted> {
  const answers = new Map<number, readonly [DrainPod, Eviction]>();
  const lastBegin = clock.monotonic() + EVICTIONS_BEGIN_WITHIN;
  let problem: ServerProblem | undefined;
  const entries = [...pods.entries()];
  const first = Math.floor(random.next() * pods.length);
  const queue = [...entries.slice(first), ...entries.slice(0, first)].values();
  const work = async (): Promise<void> => {
    for (const [index, pod] of queue) {
      const limit = Math.min(mutationTimeLeft(), EVICTION_LIMIT);
      if (limit <= 0 || clock.monotonic() >= lastBegin || problem !== undefined) return;
      const send = (signal: AbortSignal) => access.evict(pod, signal);
      const answer = await attempt(reconcile, async () =>
        E.right(await withDeadline(clock, limit, reconcile.signal, 'the eviction of a pod', send)),
      );
      if (E.isLeft(answer)) problem ??= answer.left;
      else {
        answers.set(index, [pod, answer.right]);
        recordEviction(answer.right.kind);
      }
    }
  };
  await Promise.all(Array.from({ length: MAX_REQUESTS }, work));
  const inOrder = [...answers].toSorted(([a], [b]) => a - b).map(([, answer]) => answer);
  return { answers: inOrder, ...(problem && { problem }) };
}

/**
 * Returns an error of the workload cluster as a problem. Rethrows the error if the manager is stopping, or if it is a
 * bug.
 */
async function attempt<A>(
  { signal, target }: ReconcileState,
  work: () => Promise<E.Either<ServerProblem, A>>,
): Promise<E.Either<ServerProblem, A>> {
  try {
    return await work();
  } catch (error) {
    if (isAborted(signal) || isPanic(error)) throw error;
    return E.left(describeProblem(error, target.eksCluster));
  }
}
