import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import type { Desired, Observed, Step } from './model.ts';
import type { Why } from './reasons.ts';

/** How a pass ended. */
export type End = { readonly kind: 'settled' } | { readonly kind: 'stopped'; readonly why: Why };

/** A pass that is dropped without a word, to look again. */
export type Dropped =
  /** Somebody else wrote the object first: at once. */
  | { readonly kind: 'conflict' }
  /** The world is not what the pass believes (any more): at once, or later. */
  | { readonly kind: 'quit'; readonly because: string; readonly until: 'changed' | 'later' };

export type Seen = Pick<Observed, 'cluster' | 'profiles'> & Partial<Pick<Observed, 'roles'>>;

/** One whole pass over an object, for those who tell of it. */
export interface Pass {
  /** As it stands after the pass's own writes. */
  readonly object: AWSFargateProfile;
  readonly end: End;
  /** Present once credentials were found good. */
  readonly desired?: Desired;
  /** As folded up to the end; without the roles where a profile in transit was all that was looked at. */
  readonly observed?: Seen;
  readonly trail: readonly Step[];
  /** Wall clock. */
  readonly now: Ms;
  /** How long the object has waited for the same thing. */
  readonly waited: Ms;
  /** How often in a row a failed profile was tried again. */
  readonly attempts: number;
}
