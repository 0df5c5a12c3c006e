import type { Clock, Ms } from '../../pkg/env/clock.ts';
import { describeFailure, isNotDispatched } from '../../pkg/cloud/errors.ts';
import { roleOwner } from '../../pkg/fargate/ownership.ts';
import type { Turns } from '../../pkg/runtime/turns.ts';
import { act } from './act.ts';
import { apply, keepRole } from './apply.ts';
import { roleNamed } from './comparison.ts';
import { decide } from './decide.ts';
import { askerOf, whyOfFailure } from './failures.ts';
import { rememberAttempt, rememberCreate, rememberRefusal, waitedFor, whatOf } from './memory.ts';
import type { Mutation, Outcome, Step } from './model.ts';
import { isLaneMutation, subjectOf } from './model.ts';
import type { Flight, Guard, Verdict } from './preflight.ts';
import { doingOf, tellAnswer } from './lane.ts';
import { preflight } from './preflight.ts';
import type { Why } from './reasons.ts';
import { contradiction, pollOf, why } from './reasons.ts';
import type { Dropped, End } from './pass.ts';

/** More changes than any object needs in one pass: a decision that goes round in circles ends here, and shows. */
const MOST_STEPS = 24;
/** EKS keeps saying "update in progress" for minutes: https://github.com/eksctl-io/eksctl/issues/8514 */
const SHORTEST_UPDATE_PAUSE: Ms = 15_000;
/** A cluster may be FAILED for days: whoever has waited for long asks less often, and after this time at the latest. */
const LONGEST_UPDATE_PAUSE: Ms = 5 * 60_000;
/** As Terraform's AWS provider: IAM has spread a new trust policy within two minutes; after that it is really wrong. */
const TRUST_PATIENCE: Ms = 120_000;

/** IAM and EKS are eventually consistent; in practice within seconds. */
const VISIBILITY_PATIENCE: Ms = 120_000;

/**
 * Decides, asks the guards, acts, folds the answer in: until nothing is left to do or something has to be waited for. What
 * was done is in `trail` also where it throws.
 */
export async function runSteps(
  flight: Flight,
  trail: Step[],
  { guards, turns, clock }: { readonly guards: readonly Guard[]; readonly turns: Turns; readonly clock: Clock },
): Promise<End | Dropped> {
  for (let step = 0; step < MOST_STEPS; step++) {
    const decision = decide(flight.desired, flight.observed);
    if (decision.kind === 'settled') return decision;
    if (decision.kind === 'stop') return stopped(decision.why);
    if (decision.kind === 'lookAgain') {
      return { kind: 'quit', because: 'the roles are to be looked at now', until: 'changed' };
    }
    const { mutation } = decision;
    const attempt = await attemptIt(flight, mutation, { guards, turns, clock });
    if (attempt.kind === 'stop') return stopped(attempt.why);
    if (attempt.kind === 'conflict' || attempt.kind === 'quit') return attempt;
    if (attempt.kind === 'keep') {
      flight.observed = keepRole(flight.observed, attempt.role, attempt.by);
      continue;
    }
    trail.push({ mutation, outcome: attempt.outcome });
    if (mutation.kind === 'createProfile') flight.memory = rememberCreate(flight.memory, flight, attempt.outcome);
    const end = takeIn(flight, mutation, attempt.outcome, clock);
    if (end !== undefined) return end;
  }
  throw new Error(`no end after ${MOST_STEPS} steps; the last was ${JSON.stringify(trail.at(-1)?.mutation)}`);
}

type Attempt = Exclude<Verdict, { kind: 'go' }> | { readonly kind: 'acted'; readonly outcome: Outcome };

/** Asks the guards, then acts. A turn is given back whatever happens, unless EKS took the change and is busy with it. */
async function attemptIt(
  flight: Flight,
  mutation: Mutation,
  { guards, turns, clock }: { readonly guards: readonly Guard[]; readonly turns: Turns; readonly clock: Clock },
): Promise<Attempt> {
  const { ticket, session, target } = flight;
  let accepted = false;
  try {
    const verdict = await preflight(guards, mutation, flight);
    if (verdict.kind !== 'go') return verdict;
    const outcome = await act(session, target.eksCluster, mutation);
    accepted = outcome.kind === 'done';
    if (isLaneMutation(mutation)) tellAnswer(turns, ticket, mutation, outcome, updatePause(flight, clock.monotonic()));
    return { kind: 'acted', outcome };
  } finally {
    if (isLaneMutation(mutation) && !accepted) turns.release(ticket);
  }
}

/** Folds an answer into the pass; the end of the pass, if this is one. */
function takeIn(flight: Flight, mutation: Mutation, outcome: Outcome, clock: Clock): End | Dropped | undefined {
  const now = clock.monotonic();
  const generation = flight.object.metadata.generation ?? 0;
  switch (outcome.kind) {
    case 'done':
    case 'vanished':
    case 'clusterGone':
      if (isRecovery(flight, mutation)) flight.memory = rememberAttempt(flight.memory, generation);
      flight.observed = apply(flight.observed, mutation, outcome);
      return undefined;
    case 'already':
    case 'notVisible':
      return stopped(
        disagreement(
          flight,
          subjectOf(mutation),
          'it is said to exist and cannot be found, for over two minutes now',
          now,
        ),
      );
    case 'outdated':
      return stopped(disagreement(flight, subjectOf(mutation), describeFailure(outcome.failure), now));
    case 'siblingBusy':
      return stopped(
        why('WaitingForSibling', { ahead: outcome.by, doing: doingOf(outcome.doing) ?? outcome.doing, foreign: true }),
      );
    case 'clusterUpdating':
      return stopped(updating(flight, updatePause(flight, now)));
    case 'rolePropagating':
      return stopped(trustDoubt(flight, outcome.failure.message, generation, now));
    case 'failed': {
      if (isNotDispatched(outcome.failure)) return { kind: 'quit', because: outcome.failure.message, until: 'later' };
      const reason = whyOfFailure(outcome.failure, askerOf(flight.target, flight.session));
      const notBefore = now + pollOf(reason, waitedFor(flight.memory, reason, now));
      flight.memory = rememberRefusal(flight.memory, {
        what: whatOf(mutation, flight.target.identity),
        why: reason,
        generation,
        notBefore,
      });
      return stopped(reason);
    }
  }
}

const updating = ({ target }: Flight, remaining: Ms): Why =>
  why('ClusterUpdating', { cluster: target.eksCluster, remaining });

/** How long nothing is asked of a cluster that EKS is busy with. */
function updatePause(flight: Flight, now: Ms): Ms {
  const waited = waitedFor(flight.memory, updating(flight, 0), now);
  return Math.min(Math.max(waited / 60, SHORTEST_UPDATE_PAUSE), LONGEST_UPDATE_PAUSE);
}

/** AWS contradicts itself about what is there: for a while that is nothing to worry about. `words` are for later. */
function disagreement({ memory }: Flight, name: string, words: string, now: Ms): Why {
  const propagating = contradiction(name);
  return waitedFor(memory, propagating, now) < VISIBILITY_PATIENCE
    ? propagating
    : why('AWSError', { words: `"${name}": ${words}` });
}

/** EKS says the same of a trust policy that has not spread yet and of one that is wrong: only time tells them apart. */
function trustDoubt(flight: Flight, words: string, generation: number, now: Ms): Why {
  const { memory, desired, observed } = flight;
  const role = desired.wanted?.role;
  const found = role && roleNamed(observed.roles, role.name);
  const ours = found !== undefined && roleOwner(found, desired.owner).kind === 'ours';
  const doubted = memory.trustDoubted?.generation === generation ? memory.trustDoubted : { generation, since: now };
  flight.memory = { ...memory, trustDoubted: doubted };
  return now - doubted.since < TRUST_PATIENCE
    ? why('Propagating', {
        words: 'EKS does not see the trust policy of the pod execution role yet: IAM may take two minutes to spread it',
      })
    : why('RoleTrustInvalid', { name: role?.name ?? '', problem: words, ours });
}

const isRecovery = ({ observed }: Flight, mutation: Mutation): boolean =>
  mutation.kind === 'deleteProfile' &&
  observed.profiles.some(
    ({ name, found }) =>
      name === mutation.name &&
      ((found?.status === 'CREATE_FAILED' && mutation.because === 'failed') || found?.status === 'DELETE_FAILED'),
  );

const stopped = (reason: Why): End => ({ kind: 'stopped', why: reason });
