import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';

/**
 * The part of IAM's policy language that trust policies use:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
 */
export interface Statement {
  readonly effect: string;
  /** `Service`, `AWS`, … with their values; `Principal: "*"` is type `*`. */
  readonly principals: readonly { readonly type: string; readonly values: readonly string[] }[];
  /** The statement names its principals by NotPrincipal. */
  readonly exceptPrincipals: boolean;
  readonly actions: readonly string[];
  /** The statement names its actions by NotAction. */
  readonly exceptActions: boolean;
  readonly conditions: readonly Condition[];
  /** Whatever else stands in the statement, `Sid` aside, as sorted JSON. */
  readonly rest: string;
}

export interface Condition {
  readonly operator: string;
  readonly key: string;
  readonly values: readonly string[];
}

const Texts = t.union([t.string, t.array(t.string)]);
const Scalar = t.union([t.string, t.boolean, t.number]);
const Values = t.union([Scalar, t.array(Scalar)]);
const Principal = t.union([t.string, t.record(t.string, Texts)]);
const RawStatement = t.intersection([
  t.type({ Effect: t.string }),
  t.partial({
    Principal,
    NotPrincipal: Principal,
    Action: Texts,
    NotAction: Texts,
    Condition: t.record(t.string, t.record(t.string, Values)),
  }),
]);
type RawStatement = t.TypeOf<typeof RawStatement>;
const Document = t.type({ Statement: t.union([RawStatement, t.array(RawStatement)]) });

const UNDERSTOOD: readonly string[] = [
  'Sid',
  'Effect',
  'Principal',
  'NotPrincipal',
  'Action',
  'NotAction',
  'Condition',
];

/** The statements of a policy document, or `undefined` where the text is none. */
export function parseStatements(document: string): readonly Statement[] | undefined {
  const decoded = E.tryCatch(
    (): unknown => JSON.parse(document),
    () => undefined,
  );
  const policy = E.isRight(decoded) ? Document.decode(decoded.right) : decoded;
  return E.isRight(policy) ? list<RawStatement>(policy.right.Statement).map(toStatement) : undefined;
}

/** Whether a statement speaks of this service and this action, whatever its effect and conditions. */
export function names(statement: Statement, service: string, action: string): boolean {
  const principal = statement.principals.some(
    ({ type, values }) => type === '*' || (type === 'Service' && values.some((value) => value === service)),
  );
  const named = statement.actions.some((pattern) => wildcard(pattern.toLowerCase(), action.toLowerCase()));
  return principal !== statement.exceptPrincipals && named !== statement.exceptActions;
}

/**
 * Whether a condition is met by a request, whose keys are in lower case; `undefined` where that cannot be told: a key
 * that the request does not say, an operator or a policy variable that is not understood.
 */
export function conditionHolds(condition: Condition, request: ReadonlyMap<string, string>): boolean | undefined {
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
  ['stringlike', wildcard],
  // IAM's documentation: "ArnEquals and ArnLike behave identically"; each of the six parts is matched on its own.
  ['arnequals', arnMatches],
  ['arnlike', arnMatches],
  ['bool', (wanted, value) => wanted.toLowerCase() === value.toLowerCase()],
]);

const ARN_PARTS = 6;

function arnMatches(pattern: string, arn: string): boolean {
  const patterns = arnParts(pattern);
  const parts = arnParts(arn);
  return patterns.length === ARN_PARTS && patterns.every((each, i) => wildcard(each, parts[i] ?? ''));
}

function arnParts(arn: string): readonly string[] {
  const parts = arn.split(':');
  return [
    ...parts.slice(0, ARN_PARTS - 1),
    ...(parts.length < ARN_PARTS ? [] : [parts.slice(ARN_PARTS - 1).join(':')]),
  ];
}

/** `*` is any run of characters, `?` exactly one. */
function wildcard(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(text);
}

function toStatement(raw: RawStatement): Statement {
  const rest = Object.entries(raw).filter(([key]) => !UNDERSTOOD.includes(key));
  return {
    effect: raw.Effect,
    principals: toPrincipals(raw.Principal ?? raw.NotPrincipal ?? {}),
    exceptPrincipals: raw.NotPrincipal !== undefined,
    actions: list(raw.Action ?? raw.NotAction ?? []),
    exceptActions: raw.NotAction !== undefined,
    conditions: Object.entries(raw.Condition ?? {}).flatMap(([operator, byKey]) =>
      Object.entries(byKey).map(([key, values]) => ({ operator, key, values: list(values).map(String) })),
    ),
    rest: JSON.stringify(rest.toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function toPrincipals(principal: t.TypeOf<typeof Principal>): Statement['principals'] {
  return typeof principal === 'string'
    ? [{ type: principal, values: [] }]
    : Object.entries(principal).map(([type, values]) => ({ type, values: list(values) }));
}

function list<A>(one: A | readonly A[]): readonly A[] {
  return isList(one) ? one : [one];
}

const isList = <A>(one: A | readonly A[]): one is readonly A[] => Array.isArray(one);
