import { LABEL_KEY_FORM, LABEL_KEY_PATTERN, NAMESPACE_FORM, NAMESPACE_PATTERN } from '../../api/v1beta2/index.ts';
import type { FargateSelector } from '../cloud/eks/eks-api.ts';

/** A selector in the spec of an AWSFargateProfile, where labels are optional. */
export interface SpecSelector {
  readonly namespace?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export function toSelectors(selectors: readonly SpecSelector[]): readonly FargateSelector[] {
  return selectors.map(({ namespace = '', labels = {} }) => ({ namespace, labels }));
}

/**
 * Names the first field of the selectors with a value that cannot be a namespace or a label key, and says which values
 * can; `undefined` if there is none. The CRD of another provider may admit such values.
 */
export function findSelectorProblem(selectors: readonly FargateSelector[]): string | undefined {
  for (const [index, { namespace, labels }] of selectors.entries()) {
    const field = `spec.selectors[${index}]`;
    if (!NAMESPACE_PATTERN.test(namespace)) return `${field}.namespace "${namespace}": ${NAMESPACE_FORM}`;
    const key = Object.keys(labels).find((each) => !LABEL_KEY_PATTERN.test(each));
    if (key !== undefined) return `key "${key}" in ${field}.labels: ${LABEL_KEY_FORM}`;
  }
  return undefined;
}

/** Compares two lists of selectors as sets. Missing labels equal empty labels. */
export function areSelectorsEqual(a: readonly SpecSelector[], b: readonly SpecSelector[]): boolean {
  return canonicalSelectors(a) === canonicalSelectors(b);
}

/** Describes selectors for messages, e.g. `namespace shop with app=web, tier=1; namespace batch`. */
export const describeSelectors = (selectors: readonly SpecSelector[]): string =>
  toSelectors(selectors)
    .map(({ namespace, labels }) => {
      const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
      return `namespace ${namespace}${pairs.length === 0 ? '' : ` with ${pairs.join(', ')}`}`;
    })
    .join('; ');

/** Returns a text that is the same for equal sets of selectors. */
function canonicalSelectors(selectors: readonly SpecSelector[]): string {
  const each = toSelectors(selectors).map(({ namespace, labels }) =>
    JSON.stringify([namespace, Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))]),
  );
  return JSON.stringify([...new Set(each)].toSorted());
}
