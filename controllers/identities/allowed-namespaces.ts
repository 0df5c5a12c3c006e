import type { AllowedNamespaces, LabelSelector } from '../../api/external/identity.ts';
import { isLabelValue } from '../../pkg/fargate/fargate-pods.ts';
import * as E from 'fp-ts/lib/Either.js';

/** `dependsOnLabels` means that `selector` must match the Namespace's labels. */
type NamespacePermission =
  | { readonly kind: 'granted' }
  | { readonly kind: 'denied' }
  | { readonly kind: 'dependsOnLabels'; readonly selector: LabelSelector };

/**
 * Evaluates an identity's `allowedNamespaces` exactly as Cluster API Provider AWS does
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
  return selector === undefined || requirementsOf(selector).length === 0
    ? { kind: 'denied' }
    : { kind: 'dependsOnLabels', selector };
}

/** Whether the selector is Go's zero value. `matchLabels: {}` counts as a set field. */
const isZeroValue = (selector: LabelSelector | undefined): boolean =>
  selector?.matchLabels === undefined && selector?.matchExpressions === undefined;

type Labels = Readonly<Record<string, string>>;

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const MAX_SUBDOMAIN = 253;

/** Accepts the same texts as Kubernetes' IsQualifiedName (apimachinery, util/validation). */
function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/');
  const [prefix, name] = slash === -1 ? [undefined, key] : [key.slice(0, slash), key.slice(slash + 1)];
  return isLabelValue(name) && (prefix === undefined || (prefix.length <= MAX_SUBDOMAIN && SUBDOMAIN.test(prefix)));
}

/**
 * Evaluates a selector as Kubernetes' LabelSelectorAsSelector does: each requirement must be met, and an absent label
 * meets `NotIn` and `DoesNotExist`. A Left says why the selector is invalid, so that it must not allow any namespace.
 */
export function evaluateSelector(selector: LabelSelector, labels: Labels): E.Either<string, boolean> {
  const requirements = requirementsOf(selector);
  const problem = requirements.map(findRequirementProblem).find((each) => each !== undefined);
  return problem === undefined
    ? E.right(requirements.every((each) => isRequirementMet(each, labels)))
    : E.left(problem);
}

/** An invalid selector selects nothing. */
export const isSelected = (selector: LabelSelector, labels: Labels): boolean =>
  E.getOrElse(() => false)(evaluateSelector(selector, labels));

const requirementsOf = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): readonly Requirement[] => [
  ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
  ...matchExpressions.map(({ key, operator, values = [] }) => ({ key, operator, values })),
];

function findRequirementProblem({ key, operator, values }: Requirement): string | undefined {
  if (!isLabelKey(key)) return `"${key}" is not a label key`;
  const invalid = values.find((value) => value !== '' && !isLabelValue(value));
  if (invalid !== undefined) return `"${invalid}" is not a label value`;
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length === 0 ? `operator ${operator} for key "${key}" needs values` : undefined;
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0 ? undefined : `operator ${operator} for key "${key}" takes no values`;
    default:
      return `"${operator}" is not an operator of a label selector`;
  }
}

function isRequirementMet({ key, operator, values }: Requirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    default:
      return value === undefined;
  }
}
