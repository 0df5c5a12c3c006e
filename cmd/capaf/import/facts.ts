import * as E from 'fp-ts/lib/Either.js';
import { EksClusterName, ProfileName, RoleArn, type RoleName } from '../../../api/names.ts';
import { isRecord } from '../../../api/record.ts';
import * as s from '../../../api/schema/field.ts';
import { cut } from '../../../api/text.ts';
import { LABEL_KEY_FORM, LABEL_KEY_PATTERN, NAMESPACE_FORM, NAMESPACE_PATTERN } from '../../../api/v1beta2/index.ts';
import type { FargateSelector } from '../../../pkg/cloud/index.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { findProfileNameProblem } from '../../../pkg/fargate/names.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import { type Path, type SourceDocument, decodeAt, valueAt } from '../documents.ts';

/** A Fargate profile as its present owner describes it. A fact is `undefined` if the source does not tell it. */
export interface SourceProfile extends Partial<Omit<Facts, Known>>, Pick<Facts, Known> {
  /** The owner and the place, such as `eksctl ClusterConfig, cluster.yaml:12:5`. */
  readonly source: string;
  /** Of a role whose account the source does not tell. */
  readonly roleName?: RoleName | undefined;
  /** The usual cause of a difference from AWS. */
  readonly usualDifference?: string;
  /** How the present owner gives the profile up without deleting it. */
  readonly release: readonly string[];
}

type Facts = ReturnType<typeof readFacts>;
type Known = 'tags' | 'unknown';
type Fact = 'cluster' | 'name' | 'role' | 'selectors' | 'subnets' | 'tags' | 'region' | 'arn';
/** What a source calls a fact. Of several names, the first that has a value counts. */
type Names = Readonly<Partial<Record<Fact, readonly string[]>>>;

/** ACK and Crossplane can refer to another object instead. */
const REFERENCES: Readonly<Partial<Record<Fact, RegExp>>> = {
  cluster: /^cluster(?:Name)?(?:Ref|Selector)$/,
  role: /^podExecutionRole(?:Arn)?(?:Ref|Selector)$/,
  subnets: /^subnet(?:Id)?(?:Refs|Selector)$/,
};

/**
 * Reads each fact at the first of the paths that has it. A reference to another object, or an intrinsic function of
 * CloudFormation, is no value.
 *
 * @throws Failure if a value is wrong, or a required fact is absent
 */
export function readFacts(document: SourceDocument, paths: readonly Path[], names: Names, required: readonly Fact[]) {
  /** For each fact that is not known, why: `PodExecutionRoleArn is !GetAtt Role.Arn`. */
  const unknown: string[] = [];
  const read = <A>(fact: Fact, field: s.Field<A>): A | undefined => {
    const candidates = paths.flatMap((path) => (names[fact] ?? []).map((key) => [...path, key]));
    const path = candidates.find((each) => !isEmpty(valueAt(document.value, each))) ?? candidates[0];
    if (path === undefined) return undefined;
    const key = path.at(-1);
    const value = valueAt(document.value, path);
    const intrinsic = findIntrinsic(value);
    if (intrinsic === undefined && (!isEmpty(value) || required.includes(fact))) return decodeAt(document, path, field);
    const siblings = Object.keys(valueAt(document.value, path.slice(0, -1)) ?? {});
    const reference = siblings.find((sibling) => REFERENCES[fact]?.test(sibling));
    if (intrinsic !== undefined) unknown.push(`${key} is ${intrinsic}`);
    else if (reference !== undefined) unknown.push(`${reference} refers to another object`);
    else if (fact === 'subnets') unknown.push(`${key} is absent, so EKS has chosen the private subnets of the cluster`);
    else if (fact === 'name' || fact === 'role') unknown.push(`${key} is absent`);
    return undefined;
  };
  return {
    cluster: read('cluster', clusterField),
    region: read('region', regionField) ?? read('arn', arnField)?.split(':')[3],
    name: read('name', profileField),
    roleARN: read('role', roleField),
    selectors: read('selectors', selectorsField),
    subnetIDs: read('subnets', subnetsField),
    tags: read('tags', pairsField) ?? {},
    unknown,
  };
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

const SHOWN_INTRINSIC = 80;

/** At any depth of a value, in the form of YAML: `!GetAtt Role.Arn`. */
function findIntrinsic(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const entries = Object.entries(value);
  const [[key, argument] = ['', undefined]] = entries;
  if (entries.length === 1 && /^(?:Ref$|Fn::|!)/.test(key)) {
    const shown = typeof argument === 'string' ? argument : JSON.stringify(argument);
    return cut(`!${key.replace(/^(?:Fn::|!)/, '')} ${shown}`, SHOWN_INTRINSIC);
  }
  return entries.map(([, inner]) => findIntrinsic(inner)).find((found) => found !== undefined);
}

/** `to` gives `undefined` for a wrong text. */
const valid = <A>(wanted: string, to: (text: string) => A | undefined): s.Field<A> =>
  s.refine(s.string({ wanted }), (text) => {
    const value = to(text);
    return value === undefined ? E.left(wanted) : E.right(value);
  });

const matching = (wanted: string, pattern: RegExp) => valid(wanted, (text) => (pattern.test(text) ? text : undefined));

const clusterField = valid('the name of a cluster in EKS', (name) =>
  /^[0-9A-Za-z][\w-]{0,99}$/.test(name) ? EksClusterName.of(name) : undefined,
);
const profileField = valid(
  'the name of a Fargate profile: up to 100 letters, digits, hyphens and underscores, without the prefix eks-',
  (name) => (findProfileNameProblem(name) === undefined ? ProfileName.of(name) : undefined),
);
const roleField = valid('the ARN of an IAM role, such as arn:aws:iam::123456789012:role/pods', (arn) =>
  parseRoleArn(arn) === undefined ? undefined : RoleArn.of(arn),
);
const regionField = matching('an AWS region, such as eu-west-1', /^[a-z]+(?:-[a-z0-9]+)+$/);
const arnField = matching('the ARN of a Fargate profile', /^arn:[a-z-]+:eks:[a-z]+(?:-[a-z0-9]+)+:/);
const subnetsField = s.list(matching('the id of a subnet, such as subnet-0123456789abcdef0', /^subnet-[0-9a-z-]+$/));

/** A map, or the list of CloudFormation, which takes numbers and booleans as texts. */
const pairsField: s.Field<Tags> = s.view(
  s.listOr(s.list(s.object({ Key: s.string(), Value: s.string() })), s.map(s.string())),
  (found) => (isRecord(found) ? found : Object.fromEntries(found.map(({ Key, Value }) => [Key, Value]))),
);

const labelsField = s.refine(pairsField, (labels) =>
  Object.keys(labels).every((key) => LABEL_KEY_PATTERN.test(key))
    ? E.right(labels)
    : E.left(`other keys: ${LABEL_KEY_FORM}`),
);
const namespaceField = matching(`a namespace: ${NAMESPACE_FORM}`, NAMESPACE_PATTERN);
const maybe = <A>(field: s.Field<A>) => s.optional(s.nullable(field));

export const selectorsField = s.list(
  s.refine(
    s.object({
      namespace: maybe(namespaceField),
      Namespace: maybe(namespaceField),
      labels: maybe(labelsField),
      Labels: maybe(labelsField),
    }),
    ({ namespace, Namespace, labels, Labels }): E.Either<string, FargateSelector> => {
      const found = namespace ?? Namespace;
      return found === null || found === undefined
        ? E.left('a selector with a namespace')
        : E.right({ namespace: found, labels: labels ?? Labels ?? {} });
    },
  ),
  { wanted: 'a list of selectors with a namespace' },
);

/** Quotes a text of a file for a command that the user copies into a shell. */
export const shellQuoted = (text: string): string =>
  /^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
