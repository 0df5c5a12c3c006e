import type { Ms } from '../../pkg/env/clock.ts';

/**
 * How long until an object that waits looks for itself, given how long it has waited. `usual`: how long AWS took for the
 * last one of the kind, if that is known.
 */
export type Poll<F = unknown> = (waited: Ms, facts: F, usual?: Ms) => Ms;

export const SECOND: Ms = 1_000;
export const MINUTE: Ms = 60 * SECOND;

/** Ends within seconds as a rule, and each look may be a refused call: about a twelfth late on the average. */
export const growing: Poll = (waited) => Math.min(Math.max(waited / 6, SECOND / 2), 12 * SECOND);
/** Between two looks at one profile, however quick EKS is. */
const CLOSEST: Ms = SECOND / 20;
const within = (least: Ms, span: Ms, most: Ms): Ms => Math.min(Math.max(span, least), most);
/**
 * EKS is busy with a profile, and a whole line may wait for its end. A sixteenth late on the average, some 35 looks for two
 * minutes; and closely about the time at which the last one ended, once it is known how long EKS takes.
 */
export const following: Poll = (waited, _facts, usual) => {
  const steady = within(SECOND / 2, waited / 8, 10 * SECOND);
  if (usual === undefined) return steady;
  const step = Math.max(usual / 32, CLOSEST);
  const [from, to] = [usual - 2 * step, usual + 2 * step];
  return waited >= to ? steady : Math.min(steady, Math.max(from - waited, step));
};
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
  /** What a human can do about it, or what happens by itself; a whole sentence without the closing full stop. */
  readonly cure?: (facts: F) => string;
  /** For a retry that counts no tries: after so long in vain it is shown as `Stalled`. */
  readonly patience?: Ms;
  /** It may come before AWS was looked at: then what was Ready is believed to be so for a while, as in an outage. */
  readonly mayHideAws?: true;
  /** What is said instead once it has lasted for so long. */
  readonly late?: { readonly after: Ms } & Required<Pick<Entry<F>, 'words' | 'cure'>>;
  /** What another object of the same cluster may do to end it: go, or change at all. Then it is looked at again at once. */
  readonly endedBySibling?: SiblingNews;
}

export const quoted = (text: string): string => `"${text}"`;
export const listed = (texts: readonly string[]): string => texts.join(', ');
/** The first few say it. */
export const enumerated = (names: readonly string[]): string =>
  names.length <= 3 ? listed(names) : `${listed(names.slice(0, 3))} and ${names.length - 3} more`;

export const described = <F>(entry: Entry<F>): Entry<F> => entry;

/** The facts of a reason that was put into words elsewhere. */
export type Words = { readonly words: string };
