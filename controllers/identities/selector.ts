import * as E from 'fp-ts/lib/Either.js';
import type { LabelSelector } from '../../api/external/identity.ts';

type Labels = Readonly<Record<string, string>>;

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** Kubernetes' IsQualifiedName and IsValidLabelValue (apimachinery, util/validation). */
const NAME = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const SUBDOMAIN = String.raw`[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*`;
const KEY = new RegExp(`^(?:(?=[^/]{1,253}/)${SUBDOMAIN}/)?${NAME}$`);
const VALUE = new RegExp(`^(?:${NAME})?$`);

/** Whether it selects by nothing: Kubernetes then selects everything, CAPA nothing. */
export const isEmptySelector = (selector: LabelSelector): boolean => requirementsOf(selector).length === 0;

/**
 * Whether the labels are selected, as Kubernetes' LabelSelectorAsSelector has it: every requirement holds, and `NotIn` and
 * `DoesNotExist` hold where there is no such label. Left, in words, for a selector that it would refuse: what cannot be
 * understood must not let anybody in.
 */
export function selects(selector: LabelSelector, labels: Labels): E.Either<string, boolean> {
  const requirements = requirementsOf(selector);
  const problem = requirements.map(problemOf).find((each) => each !== undefined);
  return problem === undefined ? E.right(requirements.every((each) => holds(each, labels))) : E.left(problem);
}

const requirementsOf = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): readonly Requirement[] => [
  ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
  ...matchExpressions.map(({ key, operator, values = [] }) => ({ key, operator, values })),
];

function problemOf({ key, operator, values }: Requirement): string | undefined {
  if (!KEY.test(key)) return `"${key}" is no label key`;
  const wrong = values.find((value) => !VALUE.test(value));
  if (wrong !== undefined) return `"${wrong}" is no label value`;
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length === 0 ? `operator ${operator} for key "${key}" needs values` : undefined;
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0 ? undefined : `operator ${operator} for key "${key}" takes no values`;
    default:
      return `"${operator}" is no operator of a label selector`;
  }
}

function holds({ key, operator, values }: Requirement, labels: Labels): boolean {
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
