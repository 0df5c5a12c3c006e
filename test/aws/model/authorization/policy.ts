import { isRecord } from '../input.ts';
import { matchesGlob } from '../iam/trust-policy.ts';

/**
 * A question that IAM answers with an identity policy: may this action be performed on this resource? `context` has the
 * condition keys of the request in lower case.
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

/** The elements of a statement that this evaluator knows. NotAction, NotResource and Principal are not among them. */
const ELEMENTS: readonly string[] = ['Sid', 'Effect', 'Action', 'Resource', 'Condition'];

/**
 * Reads an identity policy.
 *
 * @throws Error for an element that this evaluator does not know, because it cannot tell what the element allows.
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
 * Whether the policy allows the action of the question. Without a statement that allows the action, the action is
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

/** A condition about a key that the request does not have is met only by the operator Null with the value `true`. */
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

function texts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.flatMap(texts) : [];
}
