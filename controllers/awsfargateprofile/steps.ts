import { describeFailure } from '../../pkg/cloud/errors/errors.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import type { ClusterQueue } from '../../pkg/runtime/queue/cluster-queue.ts';
import * as E from 'fp-ts/lib/Either.js';
import type { AccessEntryReader } from './aws/read-access-entry.ts';
import { addAccessEntry, markAccessEntryInUse, markRoleInUse } from './aws/apply-outcome.ts';
import { callContext, endForFailure } from './aws/failure-reasons.ts';
import { mutate } from './aws/mutate.ts';
import { isRecreated } from './decide/compare.ts';
import { decide } from './decide/decide.ts';
import type { View } from './decide/tolerated-refusals.ts';
import { withoutChange } from './decide/tolerated-refusals.ts';
import type { Claims } from './guards/claims.ts';
import { tagsWithoutOwner } from './guards/claims.ts';
import { updateQueueFromOutcome } from './guards/cluster-queue-updates.ts';
import type { Guards, Obstacle } from './guards/guards.ts';
import { findObstacle } from './guards/guards.ts';
import type { PassState } from './guards/pass-state.ts';
import { changeObserved, handleOutcome, updatePause } from './handle-outcome.ts';
import type { Decision } from './model/decision.ts';
import type { Mutation } from './model/mutation.ts';
import { isDestructive, isQueuedMutation } from './model/mutation.ts';
import type { MutationOutcome, Step } from './model/outcome.ts';
import type { DroppedPass, PassEnd, StoppedPass } from './model/pass.ts';
import { stoppedBy } from './model/pass.ts';
import type { Reason } from './reasons/reasons.ts';
import { newReason } from './reasons/reasons.ts';
import { isRetryOfFailedProfile, withProfileFailure } from './retry/failed-profile-backoff.ts';

/**
 * The maximum number of decisions in one reconcile, more than any object needs. IAM allows up to 25 managed policies
 * for a role (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html), and a reconcile may delete
 * one role and create another. If the same decision repeats for ever, the reconcile fails with an error at this number.
 */
const MOST_STEPS = 100;

export interface StepServices {
  readonly guards: Guards;
  readonly clusterQueue: ClusterQueue;
  readonly claims: Claims;
  readonly clock: Clock;
  readonly accessEntryReader: Pick<AccessEntryReader, 'read' | 'readMode'>;
}

/**
 * Brings AWS to the desired state in steps: decide on a change, run the checks and the preparations for it, send it,
 * and apply its outcome to the observed state. The steps end when AWS is as desired or the reconcile has to stop. Each
 * change that was sent is added to `steps`, even if this function throws.
 */
export async function runSteps(pass: PassState, steps: Step[], services: StepServices): Promise<PassEnd | DroppedPass> {
  // The first change that AWS refused although the Fargate profile works without it.
  let notice: Reason | undefined;
  const refused: Mutation[] = [];
  for (let step = 0; step < MOST_STEPS; step++) {
    const { desired, observed } = refused.reduce<View>((view, each) => withoutChange(view, each) ?? view, pass);
    const decision = decide(desired, observed);
    if (decision.kind === 'settled') return notice === undefined ? decision : { ...decision, notice };
    if (decision.kind === 'stop') return stoppedBy(decision.reason);
    if (decision.kind === 'observeAgain') {
      return { kind: 'quit', because: 'the roles have to be read now', until: 'changed' };
    }
    if (decision.kind === 'readAccessEntry') {
      const end = await readAccessEntry(pass, decision, services);
      if (end !== undefined) return end;
      continue;
    }
    if (decision.kind === 'readAuthenticationMode') {
      const end = await readAuthenticationMode(pass, decision.before, services);
      if (end !== undefined) return end;
      continue;
    }
    const end = await takeStep(pass, decision.mutation, steps, services);
    if (end === undefined) continue;
    if (end.kind !== 'stopped' || !isTolerable({ desired, observed }, decision.mutation, end)) return end;
    notice ??= end.reason;
    refused.push(decision.mutation);
  }
  throw new Error(`no end after ${MOST_STEPS} steps; the last was ${JSON.stringify(steps.at(-1)?.mutation)}`);
}

/** Sends a change to AWS and applies its outcome. Returns how the reconcile ends, or `undefined` if it continues. */
async function takeStep(
  pass: PassState,
  mutation: Mutation,
  steps: Step[],
  services: StepServices,
): Promise<PassEnd | DroppedPass | undefined> {
  const result = await tryMutation(pass, mutation, services);
  switch (result.kind) {
    case 'roleInUse':
      pass.observed = markRoleInUse(pass.observed, result.role, result.by);
      return undefined;
    case 'accessEntryInUse':
      changeObserved(pass, mutation, (observed) => markAccessEntryInUse(observed, result.principal, result.by));
      return undefined;
    case 'stop':
      return stoppedBy(result.reason);
    case 'conflict':
    case 'quit':
      return result;
    case 'sent': {
      steps.push({ mutation, outcome: result.outcome });
      const isAdoption = !isDestructive(mutation) && tagsWithoutOwner(mutation, pass) !== undefined;
      const end = handleOutcome(pass, mutation, result.outcome, services.clock);
      return isAdoption ? (end ?? ADOPTED) : end;
    }
  }
}

/**
 * Whether the reconcile continues although it has not made a change, for example because AWS refused it. It then makes
 * the other corrections, and the object stays Ready. If tags could not be changed, the reconcile continues only if AWS
 * denied it: after another error, the next attempt may succeed.
 */
const isTolerable = (view: View, mutation: Mutation, { reason }: StoppedPass): boolean =>
  withoutChange(view, mutation) !== undefined &&
  (mutation.kind === 'setBoundary' || (reason.name === 'AccessDenied' && reason.facts.tags !== undefined));

/**
 * Reads the EKS access entry of an IAM role into the observed state. While the object waits until it may create its
 * profile, only the first reconcile reads the entry, and later reconciles use a copy. Returns how the reconcile ends if
 * the read fails. A refusal by AWS is no failure.
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
  // If the role was recreated, this reconcile asks EKS again for the authentication mode of the cluster, because the
  // cached mode can be an hour old. A mistake would stay: once status records that the access entry is right, no later
  // reconcile checks the entry.
  const asksModeAgain = isRecreated(desired, role);
  const read = await accessEntryReader.read(session, target, role.arn, signal, { asksModeAgain });
  if (E.isLeft(read)) {
    const end = endForFailure(read.left, callContext(target, { session, abandonment: desired.abandonment }));
    if (end.kind !== 'stopped' || before !== 'readiness' || !isRecreated(desired, role)) return end;
    const detail = describeFailure(read.left);
    return stoppedBy(newReason('RestoringRole', { name: role.name, cluster: target.eksCluster, detail }));
  }
  pass.observed = addAccessEntry(pass.observed, read.right);
  if (before === 'creation') {
    // If AWS refuses to show the access entry, only one event reports the refusal. So the copy for later reconciles has
    // no `isUnreadable`.
    const { isUnreadable: _reported, ...entry } = read.right;
    retry.update((state) => ({ ...state, accessEntry: { roleId: role.id, entry } }));
  }
  return undefined;
}

/** What was adopted is read again before any other change, because another manager may have adopted it too. */
const ADOPTED: DroppedPass = { kind: 'quit', because: 'what was adopted has to be read again', until: 'changed' };
const CLAIMED: DroppedPass = { kind: 'quit', because: 'another object changes the same resource', until: 'later' };
/**
 * Reads the authentication mode of the EKS cluster into the observed state. Returns how the reconcile ends if the read
 * fails. A refusal by AWS is no failure.
 */
async function readAuthenticationMode(
  pass: PassState,
  before: 'creation' | 'readiness',
  { accessEntryReader }: StepServices,
): Promise<PassEnd | DroppedPass | undefined> {
  const { session, target, desired, signal } = pass;
  const mode = await accessEntryReader.readMode(session, target, signal, before);
  if (E.isLeft(mode))
    return endForFailure(mode.left, callContext(target, { session, abandonment: desired.abandonment }));
  pass.observed = { ...pass.observed, authenticationMode: mode.right };
  return undefined;
}

type Attempt = Obstacle | { readonly kind: 'sent'; readonly outcome: MutationOutcome };

/**
 * Sends a change to AWS unless a check or a preparation, such as a write of status, prevents it. If EKS has not
 * accepted the change, this object gives back its turn in the queue of profile changes of its EKS cluster.
 */
async function tryMutation(
  pass: PassState,
  mutation: Mutation,
  { guards, clusterQueue, claims, clock }: StepServices,
): Promise<Attempt> {
  const { queueEntry, session, target } = pass;
  let isAccepted = false;
  // Whether the object keeps its place in the queue of profile changes of its EKS cluster. After a write conflict, for
  // example, the next reconcile sends the same change, and later objects must not overtake this object.
  let keepsPlace = false;
  try {
    recordProfileFailure(pass, mutation, clock);
    // The second look at the claims comes after the status names the role that the object uses. So either this reconcile
    // finds the claim of a reconcile that removes the role, or that reconcile finds the object among the role's users.
    const isFree = (): boolean => claims.tryClaim(mutation, pass);
    const obstacle = isFree() ? await findObstacle(guards, mutation, pass) : CLAIMED;
    keepsPlace = obstacle?.kind === 'conflict' || obstacle?.kind === 'quit';
    if (obstacle !== undefined) return obstacle;
    if (!isFree()) return CLAIMED;
    const outcome = await mutate(session, target.eksCluster, mutation);
    isAccepted = outcome.kind === 'done';
    if (isQueuedMutation(mutation)) {
      updateQueueFromOutcome(clusterQueue, queueEntry, mutation, outcome, updatePause(pass, clock.monotonic()));
    }
    return { kind: 'sent', outcome };
  } finally {
    if (isQueuedMutation(mutation) && !isAccepted) clusterQueue.releaseTurn(queueEntry, { keepsPlace });
  }
}

/** Starts the backoff of a Fargate profile that EKS failed to create or delete. */
function recordProfileFailure({ object, observed, retry }: PassState, mutation: Mutation, clock: Clock): void {
  if (!isRetryOfFailedProfile(mutation, observed)) return;
  const generation = object.metadata.generation ?? 0;
  retry.update((state) => withProfileFailure(state, generation, clock.monotonic()));
}
