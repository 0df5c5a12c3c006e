import type { Reason } from '../reasons/reasons.ts';
import type { Mutation } from './mutation.ts';
import type { FoundRole } from './observed-state.ts';

/** What the controller does next for one object. */
export type Decision =
  | { readonly kind: 'mutate'; readonly mutation: Mutation }
  | { readonly kind: 'stop'; readonly reason: Reason }
  /** The next step depends on a role that this pass has not read, so the roles have to be read. */
  | { readonly kind: 'observeAgain' }
  /**
   * The next step depends on the access entry of the role, so the entry has to be read. `before`: what the step is
   * about.
   */
  | {
      readonly kind: 'readAccessEntry';
      readonly role: FoundRole;
      readonly before: 'creation' | 'readiness' | 'deletion';
    }
  | Settled;

/**
 * AWS is as desired. `notice`: a problem for the user that leaves the profile usable, shown in the condition Stalled.
 */
export type Settled = { readonly kind: 'settled'; readonly notice?: Reason };

export const stopWith = (reason: Reason): Decision => ({ kind: 'stop', reason });

export const mutateWith = (mutation: Mutation): Decision => ({ kind: 'mutate', mutation });
