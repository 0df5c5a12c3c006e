import { isRecord } from '../input.ts';
import { matchesGlob, texts } from '../iam/trust-policy.ts';

/**
 * A question for an IAM identity policy: may the caller perform this action on this resource? `context` has the values
 * of the condition keys of the request; the keys are in lower case.
 */
export interface Question {
  readonly action: string;
  readonly resource: string;
  readonly context: Readonly<Record<string, string | readonly string[]>>;
}

export interface PolicyStatement {
  readonly sid: string;
  readonly effect: 'Allow' | 'Deny';
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly conditions: readonly PolicyCondition[];
}

interface PolicyCondition {
  readonly operator: string;
  readonly key: string;
  readonly values: readonly string[];
}

/**
 * The elements of a policy statement that this evaluator supports. It does not support NotAction, NotResource and
 * Principal.
 */
const ELEMENTS: readonly string[] = ['Sid', 'Effect', 'Action', 'Resource', 'Condition'];

/**
 * Reads an identity policy.
 *
 * @throws Error for an element that this evaluator does not support, because ignoring the element could change the
 * meaning of the policy.
 */
export function readIdentityPolicy(document: string): readonly PolicyStatement[] {
  const policy: unknown = JSON.parse(document);
  if (!isRecord(policy) || policy['Version'] !== '2012-10-17' || !Array.isArray(policy['Statement'])) {
    throw new Error('an identity policy needs Version 2012-10-17 and a list of statements');
  }
  return policy['Statement'].map((statement: unknown, index) => readStatement(statement, index));
}

function readStatement(value: unknown, index: number): PolicyStatement {
  if (!isRecord(value)) throw new Error(`statement ${index} is not an object`);
  const unknown = Object.keys(value).filter((name) => !ELEMENTS.includes(name));
  if (unknown.length > 0) throw new Error(`statement ${index} has unknown elements: ${unknown.join(', ')}`);
  const { Sid: sid, Effect: effect, Action: actions, Resource: resources, Condition: condition = {} } = value;
  if (effect !== 'Allow' && effect !== 'Deny') throw new Error(`statement ${index} has no Effect`);
  if (!isRecord(condition)) throw new Error(`the Condition of statement ${index} is not an object`);
  return {
    sid: typeof sid === 'string' ? sid : `statement ${index}`,
    effect,
    actions: texts(actions),
    resources: texts(resources),
    conditions: Object.entries(condition).flatMap(([operator, byKey]) =>
      Object.entries(isRecord(byKey) ? byKey : {}).map(([key, values]) => ({
        operator: knownOperator(operator),
        key: key.toLowerCase(),
        values: texts(values),
      })),
    ),
  };
}

/**
 * Whether the identity policy allows the action on the resource. As in IAM, an action that no statement allows is
 * denied.
 */
export function isAllowed(policy: readonly PolicyStatement[], question: Question): boolean {
  const matching = policy.filter((statement) => appliesTo(statement, question));
  return matching.some(({ effect }) => effect === 'Allow') && matching.every(({ effect }) => effect === 'Allow');
}

export function appliesTo({ actions, resources, conditions }: PolicyStatement, question: Question): boolean {
  return (
    actions.some((action) => matchesGlob(action.toLowerCase(), question.action.toLowerCase())) &&
    resources.some((resource) => matchesGlob(resource, question.resource)) &&
    conditions.every((condition) => isMet(condition, question.context))
  );
}

type Comparison = (pattern: string, value: string) => boolean;

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  StringEquals: (wanted, value) => wanted === value,
  StringLike: matchesGlob,
  ArnEquals: matchesGlob,
  ArnLike: matchesGlob,
};

function knownOperator(operator: string): string {
  if (operator === 'Null' || Object.hasOwn(COMPARISONS, operator)) return operator;
  throw new Error(`unknown condition operator ${operator}`);
}

/**
 * Whether a condition of a policy statement holds for a request. If the request lacks the condition key, only the
 * operator Null with the value `true` holds.
 */
function isMet({ operator, key, values }: PolicyCondition, context: Question['context']): boolean {
  const found = context[key];
  if (operator === 'Null') return values.includes(String(found === undefined));
  const compare = COMPARISONS[operator];
  return (
    compare !== undefined &&
    texts(found).length > 0 &&
    texts(found).every((value) => values.some((wanted) => compare(wanted, value)))
  );
}
