import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { tryJson } from 'controller-runtime/json';
import { matchesWildcard } from './wildcard.ts';

/** A statement of a trust policy: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html */
export interface Statement {
  readonly effect: string;
  /** By type, such as `Service` or `AWS`. `Principal: "*"` has the type `*`. */
  readonly principals: readonly { readonly type: string; readonly values: readonly string[] }[];
  /** Whether the principals come from NotPrincipal instead of Principal. */
  readonly isNotPrincipal: boolean;
  readonly actions: readonly string[];
  /** Whether the actions come from NotAction instead of Action. */
  readonly isNotAction: boolean;
  readonly conditions: readonly PolicyCondition[];
  /** A JSON list of all other fields except `Sid`, sorted by name. Statements that differ in it are not equal. */
  readonly otherFields: string;
}

export interface PolicyCondition {
  readonly operator: string;
  readonly key: string;
  readonly values: readonly string[];
}

const StringOrList = t.union([t.string, t.array(t.string)]);
const ConditionValue = t.union([t.string, t.boolean, t.number]);
const ConditionValues = t.union([ConditionValue, t.array(ConditionValue)]);
const Principal = t.union([t.string, t.record(t.string, StringOrList)]);
const RawStatement = t.intersection([
  t.type({ Effect: t.string }),
  t.partial({
    Principal,
    NotPrincipal: Principal,
    Action: StringOrList,
    NotAction: StringOrList,
    Condition: t.record(t.string, t.record(t.string, ConditionValues)),
  }),
]);
type RawStatement = t.TypeOf<typeof RawStatement>;
const PolicyDocument = t.type({ Statement: t.union([RawStatement, t.array(RawStatement)]) });

const PARSED_FIELDS: readonly string[] = [
  'Sid',
  'Effect',
  'Principal',
  'NotPrincipal',
  'Action',
  'NotAction',
  'Condition',
];

export function parseStatements(document: string): readonly Statement[] | undefined {
  const policy = PolicyDocument.decode(tryJson(document));
  return E.isRight(policy) ? toList<RawStatement>(policy.right.Statement).map(toStatement) : undefined;
}

/** Whether the statement applies to the service and the action. Ignores effect and conditions. */
export function isStatementFor(statement: Statement, service: string, action: string): boolean {
  const principal = statement.principals.some(
    ({ type, values }) => type === '*' || (type === 'Service' && values.some((value) => value === service)),
  );
  const named = statement.actions.some((pattern) => matchesWildcard(pattern.toLowerCase(), action.toLowerCase()));
  return principal !== statement.isNotPrincipal && named !== statement.isNotAction;
}

/**
 * The keys of `request` are in lower case. Returns `undefined` if the result is unknown because of an absent key, an
 * unknown operator, or a policy variable.
 */
export function isConditionMet(condition: PolicyCondition, request: ReadonlyMap<string, string>): boolean | undefined {
  const found = request.get(condition.key.toLowerCase());
  const operator = condition.operator
    .toLowerCase()
    .replace(/^(forallvalues|foranyvalue):/, '')
    .replace(/ifexists$/, '');
  if (found === undefined || condition.values.some((value) => value.includes('${'))) {
    return undefined;
  }
  if (operator === 'null') {
    return condition.values.some((value) => value.toLowerCase() === 'false');
  }
  const negated = /^(string|arn)not/.test(operator);
  const matches = MATCHERS.get(negated ? operator.replace('not', '') : operator);
  return matches && condition.values.some((value) => matches(value, found)) !== negated;
}

type Matcher = (pattern: string, value: string) => boolean;
const MATCHERS: ReadonlyMap<string, Matcher> = new Map([
  ['stringequals', (wanted, value) => wanted === value],
  ['stringequalsignorecase', (wanted, value) => wanted.toLowerCase() === value.toLowerCase()],
  ['stringlike', matchesWildcard],
  // IAM: "ArnEquals and ArnLike behave identically". Each of the six parts of an ARN is matched separately.
  ['arnequals', matchesArn],
  ['arnlike', matchesArn],
  ['bool', (wanted, value) => wanted.toLowerCase() === value.toLowerCase()],
]);

const ARN_PARTS = 6;

function matchesArn(pattern: string, arn: string): boolean {
  const patterns = arnParts(pattern);
  const parts = arnParts(arn);
  return patterns.length === ARN_PARTS && patterns.every((each, i) => matchesWildcard(each, parts[i] ?? ''));
}

function arnParts(arn: string): readonly string[] {
  const parts = arn.split(':');
  return [
    ...parts.slice(0, ARN_PARTS - 1),
    ...(parts.length < ARN_PARTS ? [] : [parts.slice(ARN_PARTS - 1).join(':')]),
  ];
}

function toStatement(raw: RawStatement): Statement {
  const rest = Object.entries(raw).filter(([key]) => !PARSED_FIELDS.includes(key));
  return {
    effect: raw.Effect,
    principals: toPrincipals(raw.Principal ?? raw.NotPrincipal ?? {}),
    isNotPrincipal: raw.NotPrincipal !== undefined,
    actions: toList(raw.Action ?? raw.NotAction ?? []),
    isNotAction: raw.NotAction !== undefined,
    conditions: Object.entries(raw.Condition ?? {}).flatMap(([operator, byKey]) =>
      Object.entries(byKey).map(([key, values]) => ({ operator, key, values: toList(values).map(String) })),
    ),
    otherFields: JSON.stringify(rest.toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function toPrincipals(principal: t.TypeOf<typeof Principal>): Statement['principals'] {
  return typeof principal === 'string'
    ? [{ type: principal, values: [] }]
    : Object.entries(principal).map(([type, values]) => ({ type, values: toList(values) }));
}

function toList<A>(one: A | readonly A[]): readonly A[] {
  return isList(one) ? one : [one];
}

const isList = <A>(one: A | readonly A[]): one is readonly A[] => Array.isArray(one);
