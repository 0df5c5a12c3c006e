import { isRecord } from '../input.ts';
import { iamErrors } from '../errors.ts';

/**
 * A request to assume a role: the principal, and the values of the condition keys that the role's trust policy can use.
 */
export interface AssumeRequest {
  readonly principal: { readonly service: string } | { readonly arn: string; readonly account: string };
  /** The value of each condition key; the keys are in lower case, e.g. `aws:sourcearn`. */
  readonly context: Readonly<Record<string, string>>;
}

interface Statement {
  readonly effect: 'Allow' | 'Deny';
  readonly principals: readonly { readonly kind: string; readonly id: string }[];
  readonly actions: readonly string[];
  readonly conditions: readonly Condition[];
}

interface Condition {
  readonly operator: string;
  readonly key: string;
  readonly values: readonly string[];
}

/** Returns the values of a policy element, which can be a single value or a list. */
export function texts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  return Array.isArray(value) ? value.flatMap(texts) : [];
}

function readStatement(value: unknown): Statement {
  if (!isRecord(value)) throw iamErrors.malformedPolicy('Syntax errors in policy.');
  if ('Resource' in value) throw iamErrors.malformedPolicy('Has prohibited field Resource');
  const effect = value['Effect'];
  if (effect !== 'Allow' && effect !== 'Deny') throw iamErrors.malformedPolicy('Missing required field Effect');
  if (value['Principal'] === undefined) throw iamErrors.malformedPolicy('Missing required field Principal');
  if (value['Action'] === undefined) throw iamErrors.malformedPolicy('Missing required field Action');
  const actions = texts(value['Action']);
  if (actions.some((action) => !/^(?:sts:|\*$)/i.test(action))) {
    throw iamErrors.malformedPolicy('AssumeRole policy may only specify STS AssumeRole actions.');
  }
  const principal = value['Principal'];
  const principals =
    principal === '*'
      ? [{ kind: 'AWS', id: '*' }]
      : isRecord(principal)
        ? Object.entries(principal).flatMap(([kind, ids]) => texts(ids).map((id) => ({ kind, id })))
        : [];
  const conditions = Object.entries(isRecord(value['Condition']) ? value['Condition'] : {}).flatMap(
    ([operator, byKey]) =>
      Object.entries(isRecord(byKey) ? byKey : {}).map(([key, values]) => ({
        operator,
        key: key.toLowerCase(),
        values: texts(values),
      })),
  );
  return { effect, principals, actions, conditions };
}

/**
 * Parses a trust policy.
 * @throws IAM's error MalformedPolicyDocument for an invalid policy
 */
export function readTrustPolicy(document: string): readonly Statement[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(document);
  } catch {
    throw iamErrors.malformedPolicy('This policy contains invalid Json');
  }
  if (!isRecord(parsed)) throw iamErrors.malformedPolicy('Syntax errors in policy.');
  const version = parsed['Version'];
  if (version !== undefined && version !== '2012-10-17' && version !== '2008-10-17') {
    throw iamErrors.malformedPolicy('The policy must contain a valid version string');
  }
  const statement = parsed['Statement'];
  if (statement === undefined) throw iamErrors.malformedPolicy('Missing required field Statement');
  return (Array.isArray(statement) ? statement : [statement]).map(readStatement);
}

/** Whether the text matches the pattern. `*` stands for any characters, and `?` for exactly one character. */
export function matchesGlob(pattern: string, text: string): boolean {
  // matches[n]: whether the part of the pattern that was read so far matches the first n characters of the text. This
  // takes the same time for every pattern of the same length, unlike a regular expression with several stars.
  const characters = [...text];
  let matches = [true, ...characters.map(() => false)];
  for (const wanted of pattern) {
    const before = matches;
    matches = [];
    for (const [n, isSame] of before.entries()) {
      const isNext = n > 0 && before[n - 1] === true && (wanted === '?' || wanted === characters[n - 1]);
      matches.push(wanted === '*' ? isSame || matches[n - 1] === true : isNext);
    }
  }
  return matches.at(-1) === true;
}

/**
 * Whether the ARN matches the pattern, as the IAM condition operator ArnLike decides. Each of the six parts of an ARN
 * is compared alone, so a wildcard in one part never reaches into the next part.
 */
export function arnLike(pattern: string, arn: string): boolean {
  const parts = (text: string): readonly string[] => {
    const pieces = text.split(':');
    return [...pieces.slice(0, 5), pieces.slice(5).join(':')];
  };
  const patterns = parts(pattern);
  const values = parts(arn);
  return patterns.length === values.length && patterns.every((part, index) => matchesGlob(part, values[index] ?? ''));
}

const operators: Readonly<Record<string, (expected: string, actual: string) => boolean>> = {
  StringEquals: (expected, actual) => expected === actual,
  StringLike: matchesGlob,
  ArnEquals: arnLike,
  ArnLike: arnLike,
};

function holds({ operator, key, values }: Condition, context: AssumeRequest['context']): boolean {
  const [actual, compare] = [context[key], operators[operator]];
  // A condition of a trust policy does not hold if this code does not know its operator. So an Allow statement with
  // such an operator allows nothing.
  return actual !== undefined && compare !== undefined && values.some((value) => compare(value, actual));
}

function isMeant(statement: Statement, request: AssumeRequest): boolean {
  const who = request.principal;
  return statement.principals.some(({ kind, id }) => {
    if ('service' in who) return kind === 'Service' && id === who.service;
    if (kind !== 'AWS') return false;
    const root = /^arn:[^:]+:iam::(\d{12}):root$/.exec(id);
    return id === '*' || id === who.arn || id === who.account || root?.[1] === who.account;
  });
}

export function allowsAssume(document: string, request: AssumeRequest): boolean {
  const applicable = readTrustPolicy(document).filter(
    (statement) =>
      statement.actions.some((action) => matchesGlob(action.toLowerCase(), 'sts:assumerole')) &&
      isMeant(statement, request) &&
      statement.conditions.every((condition) => holds(condition, request.context)),
  );
  return (
    applicable.some((statement) => statement.effect === 'Allow') &&
    !applicable.some((statement) => statement.effect === 'Deny')
  );
}
