import type { Ms } from '../../../../pkg/env/clock.ts';

/** How long EKS took for the latest operations of one kind: longer than `least`, and not longer than `most`. */
export interface UsualDuration {
  readonly least: Ms;
  readonly most: Ms;
}

/**
 * A function that returns the time until the next reconcile of an object that has already waited for the time `waited`.
 * `usual` is how long EKS took for the latest operations of the kind that the object waits for; undefined if that is
 * not known.
 */
export type Poll<F = unknown> = (waited: Ms, facts: F, usual?: UsualDuration) => Ms;

export const SECOND: Ms = 1_000;
export const MINUTE: Ms = 60 * SECOND;

/**
 * A delay for waits that usually last a few seconds. Until the end of such a wait, AWS may reject every request of the
 * controller, so the delay grows: it is a sixth of the time waited so far. The end of a wait of 12 s is noticed one
 * second late on average.
 */
export const pollGrowing: Poll = (waited) => clamp(SECOND / 2, waited / 6, 12 * SECOND);

/** Returns `span`, but at least `least` and at most `most`. */
export const clamp = (least: Ms, span: Ms, most: Ms): Ms => Math.min(Math.max(span, least), most);

export const pollEvery =
  (interval: Ms): Poll =>
  () =>
    interval;
/** The delay for waits that end with a watch event of the API server. It only matters if that event is missed. */
export const pollRarely = pollEvery(10 * MINUTE);
/** The delay for waits that end with a user's action in AWS. AWS sends no event about such an action. */
export const pollForUserAction: Poll = (waited) => clamp(MINUTE, waited, 10 * MINUTE);
/** A delay that equals the time already waited, but is at least `first` and at most `cap`. So the delays double. */
export const pollDoubling =
  (first: Ms, cap: Ms): Poll =>
  (waited) =>
    clamp(first, waited, cap);
