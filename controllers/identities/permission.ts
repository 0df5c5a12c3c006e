import type { AllowedNamespaces, LabelSelector } from '../../api/external/identity.ts';
import { isEmptySelector } from './selector.ts';

/** Whether a namespace may use an identity; where its labels decide, by which selector. */
export type Permission =
  | { readonly kind: 'granted' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'byLabels'; readonly selector: LabelSelector };

/**
 * What `allowedNamespaces` says of a namespace, exactly as Cluster API Provider AWS has it in code
 * (`isClusterPermittedToUsePrincipal`, pkg/cloud/scope/session.go): nothing at all lets nobody in, an empty object
 * everybody; an empty list is not an empty object, and a selector that selects by nothing selects nothing.
 */
export function permissionFor(allowed: AllowedNamespaces | null | undefined, namespace: string): Permission {
  if (allowed === undefined || allowed === null) return { kind: 'refused' };
  const { list, selector } = allowed;
  const isListGiven = list !== undefined && list !== null;
  if (!isListGiven && isZero(selector)) return { kind: 'granted' };
  if (isListGiven && list.includes(namespace)) return { kind: 'granted' };
  return selector === undefined || isEmptySelector(selector) ? { kind: 'refused' } : { kind: 'byLabels', selector };
}

/** Go's zero value: a `matchLabels: {}` is not. */
const isZero = (selector: LabelSelector | undefined): boolean =>
  selector?.matchLabels === undefined && selector?.matchExpressions === undefined;
