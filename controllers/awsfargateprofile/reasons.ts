import type { Ms } from '../../pkg/env/clock.ts';
import { AWS_REASONS } from './aws-reasons.ts';
import { CREDENTIAL_REASONS } from './credential-reasons.ts';
import { KUBERNETES_REASONS } from './kubernetes-reasons.ts';
import { PROFILE_REASONS } from './profile-reasons.ts';
import type { Entry, Nature, Part, SiblingNews } from './reason-entry.ts';
import { ROLE_REASONS } from './role-reasons.ts';

export type { Issue } from './profile-reasons.ts';
export type { Nature, Part, SiblingNews } from './reason-entry.ts';
export { PATIENCE } from './reason-entry.ts';

/**
 * Each reason why an object is not, or not yet, what its spec says: the one table that conditions, requeues, documents
 * and tests read. The key is the condition's `reason`.
 */
export const REASONS = {
  ...KUBERNETES_REASONS,
  ...CREDENTIAL_REASONS,
  ...AWS_REASONS,
  ...ROLE_REASONS,
  ...PROFILE_REASONS,
} as const;

export type Reason = keyof typeof REASONS;
/** What each reason is told with. */
export type Facts = { readonly [R in Reason]: (typeof REASONS)[R] extends Entry<infer F> ? F : never };
const TABLE: { readonly [R in Reason]: Entry<Facts[R]> } = REASONS;

/** A reason with its facts: why a pass ended before everything was as desired. */
export type Why<R extends Reason = Reason> = { readonly [K in R]: { readonly reason: K; readonly facts: Facts[K] } }[R];

export const why = <R extends Reason>(reason: R, facts: Facts[R]): Why<R> => ({ reason, facts });

/** AWS contradicts itself about the role or profile of that name. */
export const contradiction = (name: string): Why =>
  why('Propagating', {
    words: `AWS's answers about "${name}" do not agree yet: a change takes a while to reach all its parts`,
  });

/** For how long it may be tried in vain before somebody should look at it; `undefined`: tries count. */
export const patienceOf = ({ reason }: Why): Ms | undefined => TABLE[reason].patience;

/** Whether it may have come before AWS was looked at. */
export const mayHideAws = ({ reason }: Why): boolean => TABLE[reason].mayHideAws === true;

export const natureOf = ({ reason }: Why): Nature => TABLE[reason].nature;

/** Whether it was found out without AWS: a pass that ends otherwise has found it over. */
export const isToldByKubernetes = (reason: string | undefined): boolean =>
  reason !== undefined && Object.hasOwn(KUBERNETES_REASONS, reason);

/** Whether what a sibling has done may have ended it. */
export const isEndedBySibling = (reason: Reason, news: SiblingNews): boolean => {
  const { endedBySibling } = TABLE[reason];
  return endedBySibling !== undefined && (news === 'gone' || endedBySibling === 'changed');
};

export const partOf = ({ reason, facts }: Why): Part | undefined =>
  TABLE[reason].part ?? ('about' in facts ? facts.about : undefined);

/** How long until an object that has waited for `waited` looks for itself; `usual`: how long the last one took in all. */
export const pollOf = <R extends Reason>({ reason, facts }: Why<R>, waited: Ms, usual?: Ms): Ms =>
  TABLE[reason].poll(waited, facts, usual);

/** What a user reads who has waited for `waited`: what is the matter, and what to do about it. */
export function messageOf<R extends Reason>({ reason, facts }: Why<R>, waited: Ms = 0): string {
  const { late, ...entry } = TABLE[reason];
  const { words, cure } = late === undefined || waited < late.after ? entry : late;
  const matter = capitalised(words(facts));
  // AWS's own words may end with a full stop.
  return cure === undefined ? matter : `${matter.replace(/\.$/, '')}. ${cure(facts)}.`;
}

/** A sentence that begins with the name of a field keeps that name as it is. */
const capitalised = (text: string): string =>
  /^[a-z]+[ ,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
