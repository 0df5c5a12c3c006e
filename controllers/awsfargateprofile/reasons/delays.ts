import type { Ms } from 'controller-runtime/env';

/** Returns the delay before the next reconcile of an object that has already waited for `waited`. */
export type Poll<F = unknown> = (waited: Ms, facts: F) => Ms;

export const SECOND: Ms = 1_000;
export const MINUTE: Ms = 60 * SECOND;

const clamp = (least: Ms, span: Ms, most: Ms): Ms => Math.min(Math.max(span, least), most);

export const pollEvery =
  (interval: Ms): Poll =>
  () =>
    interval;

/** The delay equals the time already waited, so the delays double. */
const pollDoubling =
  (first: Ms, cap: Ms): Poll =>
  (waited) =>
    clamp(first, waited, cap);

/** Polls when the `remaining` time is over, but not sooner than after half a second. */
export const pollAfterRest: Poll<{ readonly remaining: Ms }> = (_waited, { remaining }) =>
  Math.max(remaining, SECOND / 2);

// Waits that end without a user.

/** The delay for waits that usually end within a minute, such as a short outage. */
export const pollSoon = pollDoubling(2 * SECOND, MINUTE);

/**
 * The delay for waits that AWS ends, such as the creation of a Fargate profile: 7 % of the time waited, so that the
 * end is noticed 3.5 % late on average, at most 2.5 s. EKS takes one to two minutes (docs/adr/0020).
 */
export const pollProgress: Poll = (waited) => clamp(SECOND, 0.07 * waited, 5 * SECOND);
export const pollDrain: Poll<{ readonly remaining: Ms }> = (_waited, { remaining }) =>
  clamp(SECOND, remaining, 10 * SECOND);
/**
 * The interval while a reconcile of this process watches the change: the end of the change enqueues the waiting object.
 */
const pollObservedSibling = pollEvery(30 * SECOND);
/** The interval while no reconcile of this process watches the change, for example because another manager sent it. */
const pollUnobservedSibling = pollEvery(5 * SECOND);
export const pollSibling: Poll<{ readonly isUnverified: boolean }> = (waited, { isUnverified }) =>
  (isUnverified ? pollUnobservedSibling : pollObservedSibling)(waited, undefined);

// Waits that a user ends.

/** The delay for waits that end with a watch event. It only matters if that event is missed. */
export const pollRarely = pollEvery(10 * MINUTE);
/** The delay for waits that a user's action in AWS ends, because AWS sends no event about it. */
export const pollForUserAction: Poll = (waited) => clamp(MINUTE, waited, 10 * MINUTE);
/** Starts with 15 s, because other tools often create what is missing soon. */
export const pollForMissing = pollDoubling(15 * SECOND, 5 * MINUTE);
/** The delay for problems that a user often solves within a few minutes, and whose solution no watch event reports. */
export const pollOccasionally = pollDoubling(30 * SECOND, 5 * MINUTE);
/** The delay for problems with Kubernetes objects whose solution no watch event reports. */
export const pollOften = pollEvery(15 * SECOND);
/** The first retry comes soon, because an expired session may be renewed by then. */
export const pollCredentials = pollDoubling(SECOND, 2 * MINUTE);
/** The first retries come soon, because AWS may have rejected credentials that a user was just replacing. */
export const pollRegion = pollDoubling(2 * SECOND, 5 * MINUTE);
/** The polls are frequent, so that the deletion of the EKS cluster continues soon after the user has acted. */
export const pollClusterDeletion = pollDoubling(15 * SECOND, 2 * MINUTE);

// Failed calls.

export const pollAwsError = pollDoubling(5 * SECOND, 5 * MINUTE);
/**
 * How long the controller waits before it retries a Fargate profile that EKS failed to create or delete. The delay
 * doubles with each retry. The first one is long enough to read the failure, and short compared with the minutes that
 * EKS takes for a retry.
 */
export const FAILED_PROFILE_RETRY = { first: 10 * SECOND, longest: 10 * MINUTE };
export const pollFailedProfile = pollDoubling(FAILED_PROFILE_RETRY.first, FAILED_PROFILE_RETRY.longest);
/**
 * The rate limiter already delays throttled requests. With a longer delay, one of 200 profiles that were created
 * together came half a minute after all others.
 */
export const pollUnavailableAws: Poll<{ readonly why?: string }> = (waited, { why }) =>
  why === 'throttled' || why === 'queued' ? 2 * SECOND : pollSoon(waited, undefined);
