import { describeFailure, isNotDispatched } from '../../pkg/cloud/errors/errors.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import type { ClusterQueue } from '../../pkg/runtime/queue/cluster-queue.ts';
import * as E from 'fp-ts/lib/Either.js';
import type { AccessEntryReader } from './aws/access-entries.ts';
import { addAccessEntry, markAccessEntryInUse, markRoleInUse } from './aws/apply.ts';
import { callContext, reasonForFailure } from './aws/failure-reasons.ts';
import { mutate } from './aws/mutate.ts';
import { isRecreated } from './decide/compare.ts';
import { decide } from './decide/decide.ts';
import { withoutBoundaryFromLimits } from './decide/limits.ts';
import { updateQueueFromOutcome } from './guards/cluster-queue.ts';
import type { Guards, Obstacle } from './guards/guards.ts';
import { findObstacle } from './guards/guards.ts';
import type { PassState } from './guards/pass-state.ts';
import { changeObserved, handleOutcome, updatePause } from './handle-outcome.ts';
import type { Decision } from './model/decision.ts';
import type { Mutation } from './model/mutation.ts';
import { isQueuedMutation } from './model/mutation.ts';
import type { MutationOutcome, Step } from './model/outcome.ts';
import type { DroppedPass, PassEnd } from './model/pass.ts';
import { stoppedBy } from './model/pass.ts';
import { newReason } from './reasons/reasons.ts';
import { isRetryOfFailedProfile, withProfileFailure } from './retry/retry-state.ts';

/**
 * The maximum number of mutations in one pass, more than any object needs. If the same decision repeats for ever, the pass
 * fails with an error here.
 */
const MOST_STEPS = 24;

export interface StepServices {
  readonly guards: Guards;
  readonly clusterQueue: ClusterQueue;
  readonly clock: Clock;
  readonly accessEntryReader: Pick<AccessEntryReader, 'read'>;
}

/**
 * Repeats these steps until AWS is as desired or the pass has to stop: decide on a mutation, ask the guards, send the
 * mutation and apply its outcome to the observed state. Each mutation that was sent is in `steps`, even if this function
 * throws.
 */
export async function runSteps(pass: PassState, steps: Step[], services: StepServices): Promise<PassEnd | DroppedPass> {
  for (let step = 0; step < MOST_STEPS; step++) {
    const decision = decide(pass.desired, pass.observed);
    if (decision.kind === 'settled') return decision;
    if (decision.kind === 'stop') return stoppedBy(decision.reason);
    if (decision.kind === 'observeAgain') {
      return { kind: 'quit', because: 'the roles have to be read now', until: 'changed' };
    }
    if (decision.kind === 'readAccessEntry') {
      const end = await readAccessEntry(pass, decision, services);
      if (end !== undefined) return end;
      continue;
    }
    const { mutation } = decision;
    const result = await tryMutation(pass, mutation, services);
    if (result.kind === 'roleInUse') {
      pass.observed = markRoleInUse(pass.observed, result.role, result.by);
      continue;
    }
    if (result.kind === 'accessEntryInUse') {
      changeObserved(pass, mutation, (observed) => markAccessEntryInUse(observed, result.principal, result.by));
      continue;
    }
    if (result.kind === 'stop') return tolerate(pass, mutation, stoppedBy(result.reason));
    if (result.kind === 'conflict' || result.kind === 'quit') return result;
    steps.push({ mutation, outcome: result.outcome });
    const end = handleOutcome(pass, mutation, result.outcome, services.clock);
    if (end !== undefined) return tolerate(pass, mutation, end);
  }
  throw new Error(`no end after ${MOST_STEPS} steps; the last was ${JSON.stringify(steps.at(-1)?.mutation)}`);
}

/**
 * Lets an object stay Ready if AWS refuses the permissions boundary that only the operator's limits ask for, and nothing
 * else is to be done.
 */
function tolerate(
  { desired, observed }: PassState,
  mutation: Mutation,
  end: PassEnd | DroppedPass,
): PassEnd | DroppedPass {
  if (mutation.kind !== 'setBoundary' || end.kind !== 'stopped') return end;
  const relaxed = withoutBoundaryFromLimits(desired, observed);
  const isAllElseDone = relaxed !== desired && decide(relaxed, observed).kind === 'settled';
  return isAllElseDone ? { kind: 'settled', notice: end.reason } : end;
}

/**
 * Reads the access entry of a role into the observed state. Before a creation the entry is read once, although the object may
 * wait for its turn in many passes. Returns how the pass ends if AWS does not answer.
 */
async function readAccessEntry(
  pass: PassState,
  { role, before }: Extract<Decision, { kind: 'readAccessEntry' }>,
  { accessEntryReader }: StepServices,
): Promise<PassEnd | DroppedPass | undefined> {
  const { session, target, desired, retry, signal } = pass;
  const known = before === 'creation' ? retry.state.accessEntry : undefined;
  if (known?.roleId === role.id) {
    pass.observed = addAccessEntry(pass.observed, known.entry);
    return undefined;
  }
  const read = await accessEntryReader.read(session, target.eksCluster, role.arn, signal);
  if (E.isLeft(read)) {
    if (isNotDispatched(read.left)) return { kind: 'quit', because: read.left.message, until: 'later' };
    const isKnownOutdated = before === 'readiness' && isRecreated(desired, role);
    return stoppedBy(
      isKnownOutdated
        ? newReason('RestoringRole', {
            name: role.name,
            cluster: target.eksCluster,
            detail: describeFailure(read.left),
          })
        : reasonForFailure(read.left, callContext(target, { session, abandonment: desired.abandonment })),
    );
  }
  pass.observed = addAccessEntry(pass.observed, read.right);
  if (before === 'creation') {
    // A refused read is reported as an event once, and not again by each pass that remembers it.
    const { isUnreadable: _reported, ...entry } = read.right;
    retry.update((state) => ({ ...state, accessEntry: { roleId: role.id, entry } }));
  }
  return undefined;
}

type Attempt = Obstacle | { readonly kind: 'sent'; readonly outcome: MutationOutcome };

/**
 * Sends a mutation if no guard holds it back. The object gives its turn in the queue of profile changes of the EKS cluster
 * back, unless EKS has accepted the mutation.
 */
async function tryMutation(
  pass: PassState,
  mutation: Mutation,
  { guards, clusterQueue, clock }: StepServices,
): Promise<Attempt> {
  const { queueEntry, session, target } = pass;
  let isAccepted = false;
  try {
    recordProfileFailure(pass, mutation, clock);
    const obstacle = await findObstacle(guards, mutation, pass);
    if (obstacle !== undefined) return obstacle;
    const outcome = await mutate(session, target.eksCluster, mutation);
    isAccepted = outcome.kind === 'done';
    if (isQueuedMutation(mutation)) {
      updateQueueFromOutcome(clusterQueue, queueEntry, mutation, outcome, updatePause(pass, clock.monotonic()));
    }
    return { kind: 'sent', outcome };
  } finally {
    if (isQueuedMutation(mutation) && !isAccepted) clusterQueue.releaseTurn(queueEntry);
  }
}

/** Starts the backoff of a profile that EKS failed to create or delete. */
function recordProfileFailure({ object, observed, retry }: PassState, mutation: Mutation, clock: Clock): void {
  if (!isRetryOfFailedProfile(mutation, observed)) return;
  const generation = object.metadata.generation ?? 0;
  retry.update((state) => withProfileFailure(state, generation, clock.monotonic()));
}
