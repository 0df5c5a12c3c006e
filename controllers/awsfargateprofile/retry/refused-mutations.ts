import type { IdentityRef } from '../../../pkg/cloud/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import type { Mutation } from '../model/mutation.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { Refusal, RetryState } from './retry-state.ts';

export const mutationKey = (mutation: Mutation, identity: IdentityRef | undefined): string =>
  JSON.stringify([mutation, identity]);

/** Forgets the refused changes whose backoff is over. */
export function withRefusal(state: RetryState, refusal: Refusal, now: Ms): RetryState {
  const others = (state.refused ?? []).filter(
    ({ mutation, notBefore }) => mutation !== refusal.mutation && now < notBefore,
  );
  return { ...state, refused: [...others, refusal] };
}

/** `undefined` once the backoff of the change is over or the spec has changed. */
export function refusalFor({ refused }: RetryState, mutation: string, generation: number, now: Ms): Reason | undefined {
  return refused?.find((each) => each.mutation === mutation && each.generation === generation && now < each.notBefore)
    ?.reason;
}
