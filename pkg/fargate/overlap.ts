import type { FargateSelector } from '../cloud/index.ts';
import { doesWildcardCover, doWildcardsMeet } from './wildcard.ts';

// EKS gives a pod that matches several Fargate profiles to the alphanumerically first name.

/** The selectors of a Fargate profile, and the name by which EKS chooses. */
export interface Competitor {
  readonly name: string;
  readonly selectors: readonly FargateSelector[];
}

/** Two selectors of two profiles that one pod can match. */
export interface Overlap {
  readonly mine: FargateSelector;
  readonly theirs: FargateSelector;
}

export function findOverlap(me: Competitor, other: Competitor): Overlap | undefined {
  for (const mine of me.selectors)
    for (const theirs of other.selectors) if (doSelectorsMeet(mine, theirs)) return { mine, theirs };
  return undefined;
}

/** Whether EKS prefers the profile `one`. Names are compared by bytes. */
export const isPreferred = (one: string, other: string): boolean =>
  Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;

/** The selectors of `me` of which every pod certainly matches `other`, if EKS prefers `other`. */
export const findTaken = (me: Competitor, other: Competitor): readonly FargateSelector[] =>
  isPreferred(other.name, me.name)
    ? me.selectors.filter((mine) => other.selectors.some((theirs) => doesSelectorCover(theirs, mine)))
    : [];

/** Whether a pod can match both selectors. A label key with wildcards excludes nothing: a pod can have one label more. */
export function doSelectorsMeet(one: FargateSelector, other: FargateSelector): boolean {
  if (!doWildcardsMeet(one.namespace, other.namespace)) return false;
  return Object.entries(one.labels).every(([key, value]) => {
    const theirs = Object.hasOwn(other.labels, key) ? other.labels[key] : undefined;
    return theirs === undefined || hasWildcard(key) || doWildcardsMeet(value, theirs);
  });
}

/**
 * Whether every pod that matches `special` certainly matches `general` too. A label of `general` counts only under the
 * same key: a search for keys that match its wildcards would take the product of the numbers of labels.
 */
export function doesSelectorCover(general: FargateSelector, special: FargateSelector): boolean {
  if (!doesWildcardCover(general.namespace, special.namespace)) return false;
  return Object.entries(general.labels).every(([key, value]) => {
    const theirs = Object.hasOwn(special.labels, key) ? special.labels[key] : undefined;
    return theirs !== undefined && doesWildcardCover(value, theirs);
  });
}

const hasWildcard = (text: string): boolean => /[*?]/.test(text);
