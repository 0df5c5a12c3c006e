import * as E from 'fp-ts/lib/Either.js';
import type { LabelSelector } from '../../api/external/identity.ts';

type Labels = Readonly<Record<string, string>>;

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

// The checks of label keys and values accept the same texts as IsQualifiedName and IsValidLabelValue of Kubernetes
// (apimachinery, util/validation).
const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const MAX_SUBDOMAIN = 253;

function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/');
  const [prefix, name] = slash === -1 ? [undefined, key] : [key.slice(0, slash), key.slice(slash + 1)];
  return NAME.test(name) && (prefix === undefined || (prefix.length <= MAX_SUBDOMAIN && SUBDOMAIN.test(prefix)));
}

const isLabelValue = (value: string): boolean => value === '' || NAME.test(value);

/**
 * Whether the label selector has no requirements. In Kubernetes such a selector selects every object, but in
 * `allowedNamespaces` it selects no namespace, as in Cluster API Provider AWS.
 */
export const isEmptySelector = (selector: LabelSelector): boolean => requirementsOf(selector).length === 0;

/**
 * Whether the label selector selects the labels, as LabelSelectorAsSelector of Kubernetes does: each requirement must
 * be met, and an absent label meets `NotIn` and `DoesNotExist`. Returns Left with the problem if the selector is
 * invalid in Kubernetes. An invalid selector must allow no namespace.
 */
export function evaluateSelector(selector: LabelSelector, labels: Labels): E.Either<string, boolean> {
  const requirements = requirementsOf(selector);
  const problem = requirements.map(findRequirementProblem).find((each) => each !== undefined);
  return problem === undefined
    ? E.right(requirements.every((each) => isRequirementMet(each, labels)))
    : E.left(problem);
}

const requirementsOf = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): readonly Requirement[] => [
  ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
  ...matchExpressions.map(({ key, operator, values = [] }) => ({ key, operator, values })),
];

function findRequirementProblem({ key, operator, values }: Requirement): string | undefined {
  if (!isLabelKey(key)) return `"${key}" is not a label key`;
  const invalid = values.find((value) => !isLabelValue(value));
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
