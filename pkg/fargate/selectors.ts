import { LABEL_KEY_FORM, LABEL_KEY_PATTERN, NAMESPACE_FORM, NAMESPACE_PATTERN } from '../../api/v1beta2/index.ts';
import type { Selector } from '../../api/v1beta2/index.ts';
import type { FargateSelector } from '../cloud/index.ts';
import { matchesWildcard } from './wildcard.ts';

export function toSelectors(selectors: readonly Selector[]): readonly FargateSelector[] {
  return selectors.map(({ namespace = '', labels = {} }) => ({ namespace, labels }));
}

/** Describes the first invalid namespace or label key. Another provider's CRD may accept invalid ones. */
export function findSelectorProblem(selectors: readonly FargateSelector[]): string | undefined {
  for (const [index, { namespace, labels }] of selectors.entries()) {
    const field = `spec.selectors[${index}]`;
    if (!NAMESPACE_PATTERN.test(namespace)) return `${field}.namespace "${namespace}": ${NAMESPACE_FORM}`;
    const key = Object.keys(labels).find((each) => !LABEL_KEY_PATTERN.test(each));
    if (key !== undefined) return `key "${key}" in ${field}.labels: ${LABEL_KEY_FORM}`;
  }
  return undefined;
}

/** Compares the lists as sets. Missing labels equal empty labels. */
export function areSelectorsEqual(a: readonly Selector[], b: readonly Selector[]): boolean {
  return canonicalSelectors(a) === canonicalSelectors(b);
}

/** Returns a text such as `namespace shop with app=web, tier=1; namespace batch`. */
export const describeSelectors = (selectors: readonly Selector[]): string =>
  toSelectors(selectors)
    .map(({ namespace, labels }) => {
      const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
      return `namespace ${namespace}${pairs.length === 0 ? '' : ` with ${pairs.join(', ')}`}`;
    })
    .join('; ');

function canonicalSelectors(selectors: readonly Selector[]): string {
  const each = toSelectors(selectors).map(({ namespace, labels }) =>
    JSON.stringify([namespace, Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))]),
  );
  return JSON.stringify([...new Set(each)].toSorted());
}

interface PodToMatch {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Describes the first part of the selector that the pod does not match. */
export function findMismatch(selector: FargateSelector, { namespace, labels }: PodToMatch) {
  if (!matchesWildcard(selector.namespace, namespace)) return `the namespace is ${namespace}`;
  for (const [key, value] of Object.entries(selector.labels)) {
    const found = Object.entries(labels).filter(([name]) => matchesWildcard(key, name));
    if (found.some(([, text]) => matchesWildcard(value, text))) continue;
    return found.length === 0
      ? `there is no label ${key}`
      : `the label is ${found.map(([name, text]) => `${name}=${text}`).join(', ')}`;
  }
  return undefined;
}
