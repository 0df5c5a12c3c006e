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

/** Whether every pod that matches the profile certainly matches one of those that EKS prefers to it. */
export const isShadowed = ({ name, selectors }: Competitor, others: readonly Competitor[]): boolean => {
  const preferred = others.filter((other) => isPreferred(other.name, name)).flatMap((other) => other.selectors);
  return selectors.length > 0 && selectors.every((mine) => preferred.some((theirs) => doesSelectorCover(theirs, mine)));
};

/** Whether a pod can match both selectors. A label key with wildcards excludes nothing: a pod can have one label more. */
export function doSelectorsMeet(one: FargateSelector, other: FargateSelector): boolean {
  if (!doWildcardsMeet(one.namespace, other.namespace)) return false;
  return Object.entries(one.labels).every(([key, value]) => {
    const theirs = Object.hasOwn(other.labels, key) ? other.labels[key] : undefined;
    return theirs === undefined || hasWildcard(key) || doWildcardsMeet(value, theirs);
  });
}

/** Whether every pod that matches `special` certainly matches `general` too. */
export function doesSelectorCover(general: FargateSelector, special: FargateSelector): boolean {
  if (!doesWildcardCover(general.namespace, special.namespace)) return false;
  const labels = Object.entries(special.labels);
  return Object.entries(general.labels).every(([key, value]) =>
    labels.some(([theirKey, theirs]) => doesWildcardCover(key, theirKey) && doesWildcardCover(value, theirs)),
  );
}

const hasWildcard = (text: string): boolean => /[*?]/.test(text);
