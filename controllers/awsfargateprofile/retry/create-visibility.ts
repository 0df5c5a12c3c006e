import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import type { Desired } from '../model/desired-state.ts';
import { type MutationOutcome, isWithoutEffect } from '../model/outcome.ts';
import type { RetryState } from './retry-state.ts';

/** The value that replaces `status.createRequestedAt` if `clusterctl move` may have dropped that field. */
export const BEFORE_MOVE = 'before a move';

/** How long EKS may answer "not found" for a profile after it has accepted the create request. */
const CREATE_VISIBILITY: Ms = 60_000;

type CreateRecord = Pick<AWSFargateProfileStatus, 'createRequestedAt' | 'profileARN'>;

/**
 * Records the create request that status names, unless its result is known. The age of the request is measured from the
 * time at which this process first recorded it. The time in `createRequestedAt` may come from the clock of another
 * process, which may be wrong.
 */
export function withUnconfirmedCreate(
  state: RetryState,
  { createRequestedAt, profileARN }: CreateRecord = {},
  now: Ms,
): RetryState {
  // `clusterctl move` may have dropped `createRequestedAt`. So its absence does not mean that no create request was
  // sent.
  if (createRequestedAt === undefined && state.unconfirmedCreate?.asked === BEFORE_MOVE) return state;
  if (createRequestedAt === undefined || profileARN !== undefined || state.confirmedCreate === createRequestedAt) {
    const { unconfirmedCreate: _confirmed, ...rest } = state;
    return rest;
  }
  return state.unconfirmedCreate?.asked === createRequestedAt
    ? state
    : { ...state, unconfirmedCreate: { asked: createRequestedAt, since: now } };
}

/**
 * Records that the result of the create request at `createRequestedAt` is known. If `createRequestedAt` is `undefined`,
 * records that the result of the last create request is not known.
 */
export function withConfirmedCreate(state: RetryState, createRequestedAt: string | undefined): RetryState {
  const { unconfirmedCreate: _unconfirmed, confirmedCreate: _confirmed, ...rest } = state;
  return createRequestedAt === undefined ? rest : { ...rest, confirmedCreate: createRequestedAt };
}

/**
 * Records the outcome of a create request for a Fargate profile. A successful response proves that EKS has created the
 * profile. A refused request creates no profile, but an earlier request without an answer may still have created one.
 */
export function withCreateOutcome(
  state: RetryState,
  { object, desired }: { readonly object: Pick<AWSFargateProfile, 'status'>; readonly desired: Desired },
  outcome: MutationOutcome,
): RetryState {
  const isConfirmed = outcome.kind === 'done' || (isWithoutEffect(outcome) && !desired.recorded.isCreateUnconfirmed);
  return withConfirmedCreate(state, isConfirmed ? object.status?.createRequestedAt : undefined);
}

/**
 * Whether a "not found" from EKS does not prove that the Fargate profile does not exist, because a create request
 * without a known result is less than a minute old.
 */
export const isCreateUnconfirmed = ({ unconfirmedCreate }: RetryState, now: Ms): boolean =>
  unconfirmedCreate !== undefined && now - unconfirmedCreate.since < CREATE_VISIBILITY;
