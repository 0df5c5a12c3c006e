import type { Ms } from '../../../../pkg/env/clock.ts';

/** The delay of the next pass of an object that has already waited for `waited`. */
export type Poll<F = unknown> = (waited: Ms, facts: F) => Ms;

export const SECOND: Ms = 1_000;
export const MINUTE: Ms = 60 * SECOND;

/**
 * The delay for waits that AWS ends, such as the creation of a Fargate profile: 7 % of the time waited, so that the
 * end is noticed 3.5 % late on average, at most 2.5 s. EKS takes one to two minutes (docs/adr/0020).
 */
export const pollProgress: Poll = (waited) => clamp(SECOND, 0.07 * waited, 5 * SECOND);

const clamp = (least: Ms, span: Ms, most: Ms): Ms => Math.min(Math.max(span, least), most);

export const pollEvery =
  (interval: Ms): Poll =>
  () =>
    interval;
/** For waits that end with a watch event. The delay only matters if that event is missed. */
export const pollRarely = pollEvery(10 * MINUTE);
/** AWS sends no event about a user's action. */
export const pollForUserAction: Poll = (waited) => clamp(MINUTE, waited, 10 * MINUTE);
/** The delay equals the time already waited, so the delays double. */
export const pollDoubling =
  (first: Ms, cap: Ms): Poll =>
  (waited) =>
    clamp(first, waited, cap);
