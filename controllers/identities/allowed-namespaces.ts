import type { AllowedNamespaces, LabelSelector } from '../../api/external/identity.ts';
import { isEmptySelector } from './label-selector.ts';

/**
 * Whether an identity may be used for objects of a namespace. `dependsOnLabels` means: only if `selector` selects the
 * labels of the Namespace.
 */
export type NamespacePermission =
  | { readonly kind: 'granted' }
  | { readonly kind: 'denied' }
  | { readonly kind: 'dependsOnLabels'; readonly selector: LabelSelector };

/**
 * Evaluates `allowedNamespaces` of an identity exactly as Cluster API Provider AWS does
 * (`isClusterPermittedToUsePrincipal`, pkg/cloud/scope/session.go):
 *
 * - Without the field, no namespace is allowed.
 * - If the field is an empty object, every namespace is allowed. An object with an empty `list` is not an empty object.
 * - A selector without requirements selects no namespace.
 */
export function checkAllowedNamespaces(
  allowed: AllowedNamespaces | null | undefined,
  namespace: string,
): NamespacePermission {
  if (allowed === undefined || allowed === null) return { kind: 'denied' };
  const { list, selector } = allowed;
  const isListGiven = list !== undefined && list !== null;
  if (!isListGiven && isZeroValue(selector)) return { kind: 'granted' };
  if (isListGiven && list.includes(namespace)) return { kind: 'granted' };
  return selector === undefined || isEmptySelector(selector)
    ? { kind: 'denied' }
    : { kind: 'dependsOnLabels', selector };
}

/**
 * Whether Go would decode the selector as the zero value, i.e. it has no field. `matchLabels: {}` counts as a field.
 */
const isZeroValue = (selector: LabelSelector | undefined): boolean =>
  selector?.matchLabels === undefined && selector?.matchExpressions === undefined;
