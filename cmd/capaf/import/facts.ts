import * as E from 'fp-ts/lib/Either.js';
import { EksClusterName, ProfileName, RoleArn } from '../../../api/names.ts';
import * as s from 'controller-runtime/schema';
import { isRecord } from 'controller-runtime/json';
import { LABEL_KEY_FORM, LABEL_KEY_PATTERN, NAMESPACE_FORM, NAMESPACE_PATTERN } from '../../../api/v1beta2/index.ts';
import type { FargateSelector } from '../../../pkg/cloud/index.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { findProfileNameProblem } from '../../../pkg/fargate/names.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import { type Path, type SourceDocument, decodeAt, valueAt } from '../documents.ts';

/** A Fargate profile as its current owner describes it. A fact is `undefined` if the source does not contain it. */
export interface SourceProfile extends Partial<Omit<Facts, 'tags'>>, Pick<Facts, 'tags'> {
  /** The owner and the place, such as `eksctl ClusterConfig, cluster.yaml:12:5`. */
  readonly source: string;
  /** CloudFormation tags the resources that it creates with this logical ID. */
  readonly logicalId?: string;
  /** How the current owner releases the profile without deleting it. */
  readonly release: readonly string[];
}

type Facts = ReturnType<typeof readFacts>;
type Fact = keyof typeof FIELDS;

/** Each fact's field names in the EKS API, CloudFormation, Terraform, and manifests. */
const FIELDS = {
  cluster: /^cluster_?name$/i,
  name: /^(?:fargate_?profile_?)?name$/i,
  role: /^(?:fargate)?pod_?execution_?role_?arn$/i,
  selectors: /^selectors?$/i,
  subnets: /^subnet(?:s|_?ids)$/i,
  tags: /^tags(?:_?all)?$/i,
  region: /^region$/i,
  arn: /^(?:fargate_?profile_?)?arn$/i,
};

/** For each fact, the first path that contains it counts. @throws Failure if a value is wrong or missing */
export function readFacts(document: SourceDocument, paths: readonly Path[], required: readonly Fact[]) {
  // The longest name comes first: Terraform's `tags_all` precedes `tags`, because it also contains the `default_tags`.
  const fields = paths.flatMap((path) =>
    Object.keys(valueAt(document.value, path) ?? {})
      .toSorted((a, b) => b.length - a.length)
      .map((key) => ({ key, path: [...path, key], value: valueAt(document.value, [...path, key]) })),
  );
  const read = <A>(fact: Fact, field: s.Field<A>): A | undefined => {
    const found = fields.find(({ key, value }) => FIELDS[fact].test(key) && !isEmpty(value));
    if (found !== undefined) return hasIntrinsic(found.value) ? undefined : decodeAt(document, found.path, field);
    if (required.includes(fact)) decodeAt(document, paths[0] ?? [], absent(`the ${fact} of a Fargate profile`));
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
  };
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

const absent = (wanted: string) => s.refine(s.anything(), () => E.left(wanted));

/** Finds CloudFormation's functions, such as `{"Ref": "Role"}` or in YAML `!Ref Role`, whose results are not known. */
function hasIntrinsic(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const [key = '', ...others] = Object.keys(value);
  return (others.length === 0 && /^(?:Ref$|Fn::|!)/.test(key)) || Object.values(value).some(hasIntrinsic);
}

/** `to` returns `undefined` for an invalid text. */
const valid = <A>(wanted: string, to: (text: string) => A | undefined): s.Field<A> =>
  s.refine(s.string({ wanted }), (text) => {
    const value = to(text);
    return value === undefined ? E.left(wanted) : E.right(value);
  });

const matching = (wanted: string, pattern: RegExp) => valid(wanted, (text) => (pattern.test(text) ? text : undefined));

export const clusterField = valid('the name of a cluster in EKS', (name) =>
  /^[0-9A-Za-z][\w-]{0,99}$/.test(name) ? EksClusterName.of(name) : undefined,
);
export const profileField = valid(
  'the name of a Fargate profile: up to 100 letters, digits, hyphens, and underscores, without the prefix eks-',
  (name) => (findProfileNameProblem(name) === undefined ? ProfileName.of(name) : undefined),
);
const roleField = valid('the ARN of an IAM role, such as arn:aws:iam::123456789012:role/pods', (arn) =>
  parseRoleArn(arn) === undefined ? undefined : RoleArn.of(arn),
);
/** Names must be valid, so that a name from a file cannot become an option of a printed command. */
export const objectNameField = matching('the name of an object', /^[a-z0-9][-a-z0-9.]{0,252}$/);
export const namespaceNameField = matching('the name of a namespace', /^[a-z0-9][-a-z0-9]{0,62}$/);
const regionField = matching('an AWS region, such as eu-west-1', /^[a-z]+(?:-[a-z0-9]+)+$/);
const arnField = matching('the ARN of a Fargate profile', /^arn:[a-z-]+:eks:[a-z]+(?:-[a-z0-9]+)+:/);
const subnetsField = s.list(matching('the id of a subnet, such as subnet-0123456789abcdef0', /^subnet-[0-9a-z-]+$/));

/** A map, or CloudFormation's list of keys and values. */
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

const selectorsField = s.list(
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
