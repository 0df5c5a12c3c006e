import type { Ms } from '../../pkg/env/clock.ts';

/** How long until an object that waits looks for itself, given how long it has waited. */
export type Poll<F = unknown> = (waited: Ms, facts: F) => Ms;

export const SECOND: Ms = 1_000;
export const MINUTE: Ms = 60 * SECOND;

/** Ends within seconds as a rule, and each look may be a refused call: about a twelfth late on the average. */
export const growing: Poll = (waited) => Math.min(Math.max(waited / 6, SECOND / 2), 12 * SECOND);
/**
 * EKS is busy with a profile, and a whole line may wait for its end: about a sixteenth late on the average, which with the
 * calls in between keeps ten profiles in a row below a tenth; some 38 reads for two minutes.
 */
export const following: Poll = (waited) => Math.min(Math.max(waited / 8, SECOND / 2), 10 * SECOND);
export const every =
  (interval: Ms): Poll =>
  () =>
    interval;
/** A watch tells; this is the net below it. */
export const watched = every(10 * MINUTE);
/** A human has to act: AWS is asked again now and then, in case it happened there. */
export const slowly: Poll = (waited) => Math.min(Math.max(waited, MINUTE), 10 * MINUTE);
/** Doubles from `first` with the time already spent, up to `cap`. */
export const doubling =
  (first: Ms, cap: Ms): Poll =>
  (waited) =>
    Math.min(Math.max(waited, first), cap);

/** The part of the work that a reason is about: it turns this condition False; without one it only delays. */
export type Part = 'IAMFargateRolesReady' | 'EKSFargateProfileReady' | 'CredentialsReady';

/**
 * `wait`: goes on by itself, `Reconciling` is True. `human`: somebody must act, `Stalled` is True.
 * `retry`: tried again with backoff; `Stalled` joins after {@link PATIENCE} tries. `outage`: what the
 * answer depends on cannot be asked; what was Ready is believed to be so for a while.
 */
export type Nature = 'wait' | 'human' | 'retry' | 'outage';

/** After so many failed tries a retry is shown as `Stalled`; it goes on all the same. */
export const PATIENCE = 5;

export type SiblingNews = 'gone' | 'changed';

export interface Entry<F> {
  readonly nature: Nature;
  readonly part?: Part;
  readonly poll: Poll<F>;
  /** What is the matter, a whole sentence without the closing full stop. */
  readonly words: (facts: F) => string;
  /** What a human can do about it, a whole sentence without the closing full stop. */
  readonly cure?: (facts: F) => string;
  /** What another object of the same cluster may do to end it: go, or change at all. Then it is looked at again at once. */
  readonly endedBySibling?: SiblingNews;
}

export const described = <F>(entry: Entry<F>): Entry<F> => entry;

/** The facts of a reason that was put into words elsewhere. */
export type Words = { readonly words: string };
