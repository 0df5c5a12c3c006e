import * as E from 'fp-ts/lib/Either.js';
import type { RoleName } from '../../api/names.ts';
import { ProfileName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { Session } from '../../pkg/cloud/types.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import type { Ticket, Turns } from '../../pkg/runtime/turns.ts';
import type { RoleUse } from './roleuse.ts';
import { isRoleInUse } from './roleuse.ts';
import { profileNamed } from './comparison.ts';
import { objectionOf } from './foreign-schema.ts';
import { doingOf } from './lane.ts';
import type { LiveReads } from './live.ts';
import { refusalOf, rememberFailed, whatOf } from './memory.ts';
import type { Memory } from './memory.ts';
import type { Desired, Mutation, Observed, Target } from './model.ts';
import { isDestructive, isLaneMutation } from './model.ts';
import type { Dropped } from './pass.ts';
import type { Why } from './reasons.ts';
import { refusalIn } from '../refusals.ts';
import type { ServedSchema } from '../served-schema.ts';
import { carriesFinalizer, isDeleting } from '../standing.ts';
import { why } from './reasons.ts';

/** A pass under way. What changes during it: the object, by the pass's own writes; what is observed, by its own doing. */
export interface Flight {
  object: AWSFargateProfile;
  memory: Memory;
  observed: Observed;
  readonly target: Target;
  readonly desired: Desired;
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly ticket: Ticket;
}

export type Verdict =
  | { readonly kind: 'go' }
  | { readonly kind: 'stop'; readonly why: Why }
  /** The role is used by something else: leave it, and go on without it. `by` in words. */
  | { readonly kind: 'keep'; readonly role: RoleName; readonly by: string }
  | Dropped;

/** A safety rule: asked before each change in AWS, in the order of {@link guards}; the first objection holds. */
export type Guard = (mutation: Mutation, flight: Flight) => Promise<Verdict>;

export interface GuardServices {
  readonly clock: Clock;
  readonly turns: Turns;
  /** The profiles in the object's lane of which nobody here knows whether EKS is busy with them. */
  readonly unseen: () => readonly ProfileName[];
  readonly live: LiveReads;
  readonly schema: Pick<ServedSchema, 'look'>;
  /** How long a change may take, in ms; 0 or less when this process may no longer lead. */
  readonly mutationBudget: () => Ms;
  /** Writes on the object that its deletion has begun. `undefined`: somebody else wrote first. */
  readonly mark: (object: AWSFargateProfile, signal: AbortSignal) => Promise<AWSFargateProfile | undefined>;
  /** Writes into status what must stand there before the change. `undefined`: somebody else wrote first. */
  readonly record: (mutation: Mutation, flight: Flight) => Promise<AWSFargateProfile | undefined>;
}

const GO: Verdict = { kind: 'go' };
const CONFLICT: Verdict = { kind: 'conflict' };

/**
 * The safety rules, cheapest first, made anew for each pass. The turn is held from when it is given: only the record comes
 * after it, so that who waits for a turn writes nothing.
 */
export function guards(services: GuardServices): readonly Guard[] {
  return [
    pace(services),
    leads(services),
    unpaused(services),
    readAsWritten(services),
    roleUnused(services),
    marked(services),
    turn(services),
    recorded(services),
  ];
}

/** A guard that the API server does not let look or write lets nothing through, and says what is the matter. */
export async function preflight(all: readonly Guard[], mutation: Mutation, flight: Flight): Promise<Verdict> {
  try {
    for (const guard of all) {
      const verdict = await guard(mutation, flight);
      if (verdict.kind !== 'go') return verdict;
    }
    return GO;
  } catch (error) {
    const refusal = refusalIn(error);
    if (refusal === undefined) throw error;
    return { kind: 'stop', why: why('APIServerRefused', refusal) };
  }
}

/** What AWS refused or failed a moment ago is not tried again before its time. */
export function pace({ clock }: Pick<GuardServices, 'clock'>): Guard {
  return async (mutation, flight) => {
    const now = clock.monotonic();
    const generation = flight.object.metadata.generation ?? 0;
    const refused = refusalOf(flight.memory, whatOf(mutation, flight.target.identity), generation, now);
    if (refused !== undefined) return { kind: 'stop', why: refused };
    if (mutation.kind !== 'deleteProfile') return GO;
    const found = profileNamed(flight.observed.profiles, mutation.name);
    const isCreateFailure = found?.status === 'CREATE_FAILED' && mutation.because === 'failed';
    if (found === undefined || (!isCreateFailure && found.status !== 'DELETE_FAILED')) return GO;
    const memory = rememberFailed(flight.memory, generation, now);
    flight.memory = memory;
    if (now >= (memory.recovery.notBefore ?? now)) return GO;
    const facts = { name: found.name, issues: found.health };
    return { kind: 'stop', why: isCreateFailure ? why('CreateFailed', facts) : why('DeleteFailed', facts) };
  };
}

/** A process whose lease may have run out changes nothing. */
export function leads({ mutationBudget }: Pick<GuardServices, 'mutationBudget'>): Guard {
  return async () =>
    mutationBudget() > 0 ? GO : { kind: 'quit', because: 'the lease may have run out', until: 'later' };
}

/** A pause holds up deletions too, and a cache may not have seen it yet: asked live before anything is taken away. */
export function unpaused({ live }: Pick<GuardServices, 'live'>): Guard {
  return async (mutation, { object, signal }) => {
    if (!isDestructive(mutation)) return GO;
    const objection = await live.objectionTo(object, signal);
    return objection === undefined ? GO : { kind: 'quit', because: objection, until: 'later' };
  };
}

/** Under a foreign schema a decision rests on less than was written; each pass begins with a look, which may be old by now. */
export function readAsWritten({ schema }: Pick<GuardServices, 'schema'>): Guard {
  return async (mutation, { signal }) => {
    const objection = isDestructive(mutation) ? objectionOf(await schema.look(signal)) : undefined;
    return objection === undefined ? GO : { kind: 'stop', why: objection };
  };
}

/**
 * A role goes only when nothing uses it any more: no other object, and no profile where the name was not ours alone. That
 * is found out once in a pass: until it has ended, nobody else here decides about the role.
 */
export function roleUnused({ live }: Pick<GuardServices, 'live'>): Guard {
  const known = new Map<RoleName, RoleUse>();
  return async (mutation, flight) => {
    const isRetiring = mutation.kind === 'deleteRole' || (mutation.kind === 'detachPolicy' && mutation.retiring);
    if (!isRetiring) return GO;
    const by = known.get(mutation.name) ?? (await isRoleInUse(live, flight, mutation.name));
    known.set(mutation.name, by);
    if (by.kind === 'unknown') return { kind: 'stop', why: by.why };
    return by.kind === 'unused' ? GO : { kind: 'keep', role: mutation.name, by: by.by };
  };
}

/** A deletion that a move interrupts must be found again at the target. */
export function marked({ mark }: Pick<GuardServices, 'mark'>): Guard {
  return async (mutation, flight) => {
    if (!isDestructive(mutation) || !isDeleting(flight.object)) return GO;
    const written = await mark(flight.object, flight.signal);
    if (written === undefined) return CONFLICT;
    flight.object = written;
    return GO;
  };
}

/** Nothing is changed in AWS that status would not let a successor find. */
export function recorded({ record }: Pick<GuardServices, 'record'>): Guard {
  return async (mutation, flight) => {
    if (!carriesFinalizer(flight.object)) {
      return { kind: 'quit', because: 'the finalizer is gone', until: 'changed' };
    }
    const written = await record(mutation, flight);
    if (written === undefined) return CONFLICT;
    flight.object = written;
    return GO;
  };
}

/** EKS changes one profile of a cluster at a time. */
export function turn({ turns, clock, unseen }: Pick<GuardServices, 'turns' | 'clock' | 'unseen'>): Guard {
  return async (mutation, flight) => {
    if (!isLaneMutation(mutation)) return GO;
    // What a look does not tell is EKS' to say: it refuses what comes too early.
    const looked: readonly string[] = unseen();
    for (const name of looked) await lookAt(turns, flight, name);
    let answer = turns.ask(flight.ticket);
    if (answer.kind === 'wait' && answer.foreign && !looked.includes(answer.ahead)) {
      await lookAt(turns, flight, answer.ahead);
      answer = turns.ask(flight.ticket);
    }
    switch (answer.kind) {
      case 'yours':
        return GO;
      case 'closed':
        return {
          kind: 'stop',
          why: why('ClusterUpdating', {
            cluster: flight.target.eksCluster,
            remaining: answer.until - clock.monotonic(),
          }),
        };
      case 'wait':
        return { kind: 'stop', why: why('WaitingForSibling', { ...answer }) };
    }
  };
}

/** Nobody here follows that profile, or not yet: whoever may have to wait for it asks EKS what has become of it. */
async function lookAt(turns: Turns, { session, target, ticket }: Flight, ahead: string): Promise<void> {
  const lookup = await session.profiles.describe(target.eksCluster, ProfileName.of(ahead))();
  if (E.isLeft(lookup)) return;
  const doing = lookup.right.kind === 'found' ? doingOf(lookup.right.profile.status) : undefined;
  if (doing === undefined) turns.settled(ticket.lane, ahead);
  else turns.busy(ticket.lane, ahead, doing, true);
}
