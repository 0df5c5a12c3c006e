import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import type { IdentityRef } from '../../pkg/cloud/types.ts';
import type { Desired, Mutation, Outcome } from './model.ts';
import { isWithoutEffect } from './model.ts';
import type { Seen } from './pass.ts';
import type { Reason, Why } from './reasons.ts';

/**
 * What is remembered of an object between its passes, in memory alone: losing it costs lateness, never safety. All times
 * are monotonic.
 */
export interface Memory {
  /** Since when the object has waited for the same thing. */
  readonly waiting?: { readonly what: Reason; readonly since: Ms };
  /** A change that AWS did not take; it is not tried again before its time, however often the object is looked at. */
  readonly refused?: {
    readonly what: string;
    readonly generation: number;
    readonly why: Why;
    readonly notBefore: Ms;
  };
  /** Since when EKS has not accepted the role's trust policy. */
  readonly trustDoubted?: { readonly generation: number; readonly since: Ms };
  /** Since when this process has looked in vain for the profile that was asked for at `asked`. */
  readonly unseen?: { readonly asked: string; readonly since: Ms };
  /** The `createRequestedAt` of the create of which is known what came of it: its profile was seen, or none was made. */
  readonly answered?: string;
  /** How often a profile that EKS could not create or delete was tried again. */
  readonly recovery?: Recovery;
}

export interface Recovery {
  readonly generation: number;
  readonly attempts: number;
  /** Absent: the last try has not failed yet. */
  readonly notBefore?: Ms;
}

export interface Took {
  readonly what: Reason;
  readonly took: Ms;
}

export const BLANK: Memory = {};

const SECOND: Ms = 1_000;
/** EKS needs minutes for each try; ten seconds give a reader the time to see why. */
const FIRST_RECOVERY: Ms = 10 * SECOND;
const LONGEST_RECOVERY: Ms = 600 * SECOND;

/** What identifies a change from pass to pass, to the last tag, and who asks for it. */
export const whatOf = (mutation: Mutation, identity: IdentityRef | undefined): string =>
  JSON.stringify([mutation, identity]);

/** How long the object has waited for what it waits for now. */
export function waitedFor(memory: Memory, why: Why, now: Ms): Ms {
  return memory.waiting?.what === why.reason ? now - memory.waiting.since : 0;
}

/** What EKS has brought to its end, and how long that took: known as soon as the profile is seen. */
export function endedBy({ waiting }: Memory, { cluster, profiles }: Seen, now: Ms): Took | undefined {
  const isOver =
    waiting?.what === 'Creating'
      ? profiles.some(({ found }) => found?.status === 'ACTIVE')
      : waiting?.what === 'DeletingProfile' &&
        cluster === 'there' &&
        profiles.every(({ found }) => found === undefined);
  return waiting !== undefined && isOver ? { what: waiting.what, took: now - waiting.since } : undefined;
}

export function rememberWaiting(memory: Memory, why: Why | undefined, now: Ms): Memory {
  if (why === undefined) {
    const { waiting: _over, ...rest } = memory;
    return rest;
  }
  return memory.waiting?.what === why.reason ? memory : { ...memory, waiting: { what: why.reason, since: now } };
}

/** What it waits for as it was before, all else as it is now. */
export function withWaitOf({ waiting }: Memory, { waiting: _untold, ...memory }: Memory): Memory {
  return waiting === undefined ? memory : { ...memory, waiting };
}

export function rememberRefusal(memory: Memory, refused: NonNullable<Memory['refused']>): Memory {
  return { ...memory, refused };
}

/** Why a change is not due yet: it was refused a moment ago, and the spec has not changed since. */
export function refusalOf(memory: Memory, what: string, generation: number, now: Ms): Why | undefined {
  const { refused } = memory;
  return refused?.what === what && refused.generation === generation && now < refused.notBefore
    ? refused.why
    : undefined;
}

/**
 * When a profile that is seen failed may be tried again, counted from when it was first seen so after the last try; at once
 * on a change of the spec.
 */
export function rememberFailed(memory: Memory, generation: number, now: Ms): Memory & { recovery: Recovery } {
  const { recovery } = memory;
  if (recovery !== undefined && recovery.generation !== generation) {
    return { ...memory, recovery: { generation, attempts: 0, notBefore: now } };
  }
  if (recovery?.notBefore !== undefined) return { ...memory, recovery };
  const { attempts } = recovery ?? { attempts: 0 };
  const pause = Math.min(FIRST_RECOVERY * 2 ** attempts, LONGEST_RECOVERY);
  return { ...memory, recovery: { generation, attempts, notBefore: now + pause } };
}

/** When that for which a pass stopped is due to be tried again. */
export function notBeforeOf({ recovery, refused }: Memory, why: Why): Ms | undefined {
  const isRecovering = why.reason === 'CreateFailed' || why.reason === 'DeleteFailed';
  if (isRecovering) return recovery?.notBefore;
  return refused?.why === why ? refused.notBefore : undefined;
}

/** How often in a row a failed profile was tried again with this spec. */
export const attemptsOf = ({ recovery }: Memory, generation: number): number =>
  recovery?.generation === generation ? recovery.attempts : 0;

export function rememberAttempt(memory: Memory, generation: number): Memory {
  return { ...memory, recovery: { generation, attempts: attemptsOf(memory, generation) + 1 } };
}

/** In place of the time of a create that may have been sent before a move, which has dropped the record of it. */
export const BEFORE_MOVE = 'before a move';

/** EKS may say "not found" of a profile whose creation it took within this time. */
const CREATE_VISIBILITY: Ms = 60_000;

/**
 * Remembers a create whose answer was never seen. The time counts from this process's own first look: the record's was
 * taken by another process's clock, which may be wrong by any amount.
 */
export function rememberUnseen(memory: Memory, { createRequestedAt, profileARN }: Asked = {}, now: Ms): Memory {
  // What a move has dropped no later status brings back.
  if (createRequestedAt === undefined && memory.unseen?.asked === BEFORE_MOVE) return memory;
  if (createRequestedAt === undefined || profileARN !== undefined || memory.answered === createRequestedAt) {
    const { unseen: _seen, ...rest } = memory;
    return rest;
  }
  return memory.unseen?.asked === createRequestedAt
    ? memory
    : { ...memory, unseen: { asked: createRequestedAt, since: now } };
}

/**
 * Remembers that of the create of which status speaks nothing more will appear: its profile was seen, and may have vanished
 * since, or none was made. `undefined`: another create was sent since.
 */
export function rememberAnswered(memory: Memory, createRequestedAt: string | undefined): Memory {
  const { unseen: _unseen, answered: _answered, ...rest } = memory;
  return createRequestedAt === undefined ? rest : { ...rest, answered: createRequestedAt };
}

/**
 * Remembers what came of a create. A profile that EKS took is seen; of a create without effect none can appear, unless an
 * earlier one may still do so.
 */
export function rememberCreate(
  memory: Memory,
  { object, desired }: { readonly object: Pick<AWSFargateProfile, 'status'>; readonly desired: Desired },
  outcome: Outcome,
): Memory {
  const isAnswered = outcome.kind === 'done' || (isWithoutEffect(outcome) && !desired.records.createUnseen);
  return rememberAnswered(memory, isAnswered ? object.status?.createRequestedAt : undefined);
}

/** Whether "not found" does not prove yet that there is no profile. */
export const isCreateUnseen = ({ unseen }: Memory, now: Ms): boolean =>
  unseen !== undefined && now - unseen.since < CREATE_VISIBILITY;

type Asked = Pick<AWSFargateProfileStatus, 'createRequestedAt' | 'profileARN'>;

/** All is as desired: what failed before is over. */
export const rememberSuccess = ({ answered }: Memory): Memory => (answered === undefined ? BLANK : { answered });
