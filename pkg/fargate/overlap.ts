import type { FargateSelector } from '../cloud/index.ts';
import { doesWildcardCover, doWildcardsMeet } from './wildcard.ts';

// If several Fargate profiles match a pod, EKS chooses the one whose name sorts first.

export interface Competitor {
  readonly name: string;
  readonly selectors: readonly FargateSelector[];
}

/** The same pod can match both selectors, which belong to two profiles. */
export interface Overlap {
  readonly mine: FargateSelector;
  readonly theirs: FargateSelector;
}

/** The reasons of the condition `SelectorsOverlap` while it is True. */
export const OVERLAP_REASONS = ['Overlap', 'Shadowed'] as const;

export function findOverlap(me: Competitor, other: Competitor): Overlap | undefined {
  for (const mine of me.selectors)
    for (const theirs of other.selectors) if (doSelectorsMeet(mine, theirs)) return { mine, theirs };
  return undefined;
}

/** EKS compares names by bytes. */
export const isPreferred = (one: string, other: string): boolean =>
  Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;

/** If EKS prefers `other`, returns the selectors of `me` whose pods are all guaranteed to match `other`. */
export const findTaken = (me: Competitor, other: Competitor): readonly FargateSelector[] =>
  isPreferred(other.name, me.name)
    ? me.selectors.filter((mine) => other.selectors.some((theirs) => doesSelectorCover(theirs, mine)))
    : [];

/**
 * Whether a pod can match both selectors. A label key with wildcards does not exclude any pod, because a pod can have
 * an additional label that matches the key.
 */
export function doSelectorsMeet(one: FargateSelector, other: FargateSelector): boolean {
  if (!doWildcardsMeet(one.namespace, other.namespace)) return false;
  return Object.entries(one.labels).every(([key, value]) => {
    const theirs = Object.hasOwn(other.labels, key) ? other.labels[key] : undefined;
    return theirs === undefined || hasWildcard(key) || doWildcardsMeet(value, theirs);
  });
}

/**
 * True only if every pod that matches `special` also matches `general`. A false result does not prove the opposite: the
 * function compares labels only if their keys are identical, because matching keys by their wildcards would take time
 * proportional to the product of the numbers of labels.
 */
export function doesSelectorCover(general: FargateSelector, special: FargateSelector): boolean {
  if (!doesWildcardCover(general.namespace, special.namespace)) return false;
  return Object.entries(general.labels).every(([key, value]) => {
    const theirs = Object.hasOwn(special.labels, key) ? special.labels[key] : undefined;
    return theirs !== undefined && doesWildcardCover(value, theirs);
  });
}

const hasWildcard = (text: string): boolean => /[*?]/.test(text);
