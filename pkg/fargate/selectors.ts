import type { Selector } from '../cloud/types.ts';

/** A selector as it stands in a spec: labels may be left out. */
export interface LooseSelector {
  readonly namespace?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export function toSelectors(selectors: readonly LooseSelector[]): readonly Selector[] {
  return selectors.map(({ namespace = '', labels = {} }) => ({ namespace, labels }));
}

/** Whether two sets of selectors pick the same pods: neither order nor repetition nor empty labels matter. */
export function sameSelectors(a: readonly LooseSelector[], b: readonly LooseSelector[]): boolean {
  return canonicalSelectors(a) === canonicalSelectors(b);
}

/** For people: `namespace shop with app=web, tier=1; namespace batch`. */
export const selectorWords = (selectors: readonly LooseSelector[]): string =>
  toSelectors(selectors)
    .map(({ namespace, labels }) => {
      const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
      return `namespace ${namespace}${pairs.length === 0 ? '' : ` with ${pairs.join(', ')}`}`;
    })
    .join('; ');

/** One text for each set of selectors: equal texts, equal sets. */
function canonicalSelectors(selectors: readonly LooseSelector[]): string {
  const each = toSelectors(selectors).map(({ namespace, labels }) =>
    JSON.stringify([namespace, Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))]),
  );
  return JSON.stringify([...new Set(each)].toSorted());
}
