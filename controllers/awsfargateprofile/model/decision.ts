import type { Reason } from '../reasons/reasons.ts';
import type { Mutation } from './mutation.ts';
import type { FoundRole } from './observed-state.ts';

/** The next step of a reconcile, as `decide` chooses it. */
export type Decision =
  | { readonly kind: 'mutate'; readonly mutation: Mutation }
  | { readonly kind: 'stop'; readonly reason: Reason }
  /** The next step depends on an IAM role that this reconcile has not read, so the roles have to be read first. */
  | { readonly kind: 'observeAgain' }
  /**
   * The next step depends on the EKS access entry of the IAM role, so the entry has to be read first. `before` names
   * the event before which the entry matters: the creation of the profile, its readiness, or the deletion of the role.
   */
  | {
      readonly kind: 'readAccessEntry';
      readonly role: FoundRole;
      readonly before: 'creation' | 'readiness' | 'deletion';
    }
  /** The next step depends on the authentication mode of the EKS cluster, so the mode has to be read first. */
  | { readonly kind: 'readAuthenticationMode'; readonly before: 'creation' | 'readiness' }
  | Settled;

/**
 * AWS is as the spec asks for. `notice` is a problem that leaves the profile usable. The condition Stalled shows the
 * problem if only a user can solve it.
 */
export type Settled = { readonly kind: 'settled'; readonly notice?: Reason };

export const stopWith = (reason: Reason): Decision => ({ kind: 'stop', reason });

export const mutateWith = (mutation: Mutation): Decision => ({ kind: 'mutate', mutation });
