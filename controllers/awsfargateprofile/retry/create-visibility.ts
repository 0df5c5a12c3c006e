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
 * Records the create request that status names, unless its result is known. Its age counts from when this process first
 * saw it, because `createRequestedAt` may come from a wrong clock of another process.
 */
export function withUnconfirmedCreate(
  state: RetryState,
  { createRequestedAt, profileARN }: CreateRecord = {},
  now: Ms,
): RetryState {
  // `clusterctl move` may have dropped `createRequestedAt`, so its absence proves nothing.
  if (createRequestedAt === undefined && state.unconfirmedCreate?.asked === BEFORE_MOVE) return state;
  if (createRequestedAt === undefined || profileARN !== undefined || state.confirmedCreate === createRequestedAt) {
    const { unconfirmedCreate: _confirmed, ...rest } = state;
    return rest;
  }
  return state.unconfirmedCreate?.asked === createRequestedAt
    ? state
    : { ...state, unconfirmedCreate: { asked: createRequestedAt, since: now } };
}

/** The result of the create request at this time is known; `undefined`: that of the last request is not. */
export function withConfirmedCreate(state: RetryState, createRequestedAt: string | undefined): RetryState {
  const { unconfirmedCreate: _unconfirmed, confirmedCreate: _confirmed, ...rest } = state;
  return createRequestedAt === undefined ? rest : { ...rest, confirmedCreate: createRequestedAt };
}

/** A refused request creates no profile, but an earlier request without an answer may have created one. */
export function withCreateOutcome(
  state: RetryState,
  { object, desired }: { readonly object: Pick<AWSFargateProfile, 'status'>; readonly desired: Desired },
  outcome: MutationOutcome,
): RetryState {
  const isConfirmed = outcome.kind === 'done' || (isWithoutEffect(outcome) && !desired.recorded.isCreateUnconfirmed);
  return withConfirmedCreate(state, isConfirmed ? object.status?.createRequestedAt : undefined);
}

/** A "not found" from EKS then does not prove that the Fargate profile does not exist. */
export const isCreateUnconfirmed = ({ unconfirmedCreate }: RetryState, now: Ms): boolean =>
  unconfirmedCreate !== undefined && now - unconfirmedCreate.since < CREATE_VISIBILITY;
