import type { Rule } from 'controller-runtime/schema';
import {
  CLUSTER_CHOICE_RULES,
  CREATE_ANOTHER,
  GAINED_EKS_CLUSTER_RULES,
  REGION_IMMUTABLE,
  isEmpty,
  required,
} from './cluster-validation-rules.ts';

// CEL rules of the CRD. Three properties of the API server's validation shape these rules:
//
// - If an update leaves a node of the object unchanged, the API server does not refuse the update because of that node
//   (ratcheting). So each rule is on the smallest node that it concerns, and users can still label, change, and delete
//   objects that an older or looser CRD admitted.
// - A violated structural bound (maxLength, maxItems, …) keeps all rules from running. So the bounds are wide and serve
//   only the CEL cost estimator. CEL rules enforce the real limits, and the user sees all mistakes together.
// - The user sees `<field path>: <kind of error>: <message>`. The messages about the form of selectors and profileName
//   begin with EKS's wording. Each message states the mistake, then the right value.

const isEmptyList = (field: string): string => `(!has(${field}) || size(${field}) == 0)`;

/** Requires `condition` of each tag key `k`. The error message contains the first key that violates it. */
const tagKeyRule = (condition: string, wrong: string, right: string): Rule => ({
  rule: `self.all(k, ${condition})`,
  message: `a tag key ${wrong}; ${right}`,
  messageExpression: `'tag key "' + self.filter(k, !(${condition}))[0] + '" ${wrong}; ${right}'`,
});

/**
 * Refuses a map entry with the value `null`, for example an empty value that a template has rendered. The schema must
 * declare the values as nullable: otherwise the API server drops the entry before it evaluates this rule, and a
 * selector that lost a label selects more pods.
 */
const noNullValue = (entry: string): Rule => ({
  rule: 'self.all(k, dyn(self[k]) != null)',
  message: `a ${entry} has no value; write a value, or "" for the empty one`,
  messageExpression: `'${entry} "' + self.filter(k, dyn(self[k]) == null)[0] + '" has no value; write a value, or "" for the empty one'`,
});

export const SELECTOR_RULES: readonly Rule[] = [
  required(
    'namespace',
    `has(self.__namespace__) && self.__namespace__ != ''`,
    'Fargate Profile must have at least one selector with at least one namespace value.',
  ),
];

/** The name of a Kubernetes namespace, in which EKS also accepts the wildcards `*` and `?`. */
export const NAMESPACE_PATTERN = /^[a-z0-9*?]([-a-z0-9*?]*[a-z0-9*?])?$/;
/** A Kubernetes label key, in which EKS also accepts the wildcards `*` and `?`. */
export const LABEL_KEY_PATTERN =
  /^([a-z0-9*?]([-a-z0-9.*?]*[a-z0-9*?])?[/])?[A-Za-z0-9*?]([-A-Za-z0-9_.*?]*[A-Za-z0-9*?])?$/;
/** A Kubernetes label value, in which EKS also accepts the wildcards `*` and `?`. */
const LABEL_VALUE_PATTERN = /^([A-Za-z0-9*?]([-A-Za-z0-9_.*?]*[A-Za-z0-9*?])?)?$/;
export const NAMESPACE_FORM =
  'the name of a Kubernetes namespace has only lower-case letters, digits, and hyphens, begins and ends with a letter or digit, and may have the wildcards * and ? here';
export const LABEL_KEY_FORM =
  'the key of a Kubernetes label has only letters, digits, hyphens, underscores, and dots after an optional DNS name and slash, and may have the wildcards * and ? here';
export const LABEL_VALUE_FORM =
  'the value of a Kubernetes label has only letters, digits, hyphens, underscores, and dots, begins and ends with a letter or digit, and may have the wildcards * and ? here';

export const NAMESPACE_RULES: readonly Rule[] = [
  {
    rule: `self == '' || self.matches('${NAMESPACE_PATTERN.source}')`,
    message: `The namespace provided is invalid: ${NAMESPACE_FORM}`,
  },
];

export const LABELS_RULES: readonly Rule[] = [
  noNullValue('label'),
  {
    rule: `self.all(k, k.matches('${LABEL_KEY_PATTERN.source}'))`,
    message: `Selector label provided is invalid: ${LABEL_KEY_FORM}`,
  },
];

export const LABEL_VALUE_RULES: readonly Rule[] = [
  { rule: `self.matches('${LABEL_VALUE_PATTERN.source}')`, message: `no pod can have this label: ${LABEL_VALUE_FORM}` },
];

const NO_SELECTOR = 'Fargate Profile requires at least one selector.';

/** AWS raises the quota of five selectors on request, and EKS enforces the quota, so no rule limits their number. */
export const SELECTORS_RULES: readonly Rule[] = [{ rule: 'size(self) >= 1', message: NO_SELECTOR }];

/** The messages are EKS's own words. */
export const PROFILE_NAME_PROBLEMS = {
  prefix: "The fargate profile name starts with the reserved prefix: 'eks-'.",
  length: 'The Fargate profile name parameter should not be greater than 100 characters.',
  characters:
    'The Fargate profile name parameter contains invalid characters. It should begin with letter or digit and can ' +
    'have any of the following characters: the set of Unicode letters, digits, hyphens and underscores.',
};

export const PROFILE_NAME_RULES: readonly Rule[] = [
  { rule: `!self.startsWith('eks-')`, message: PROFILE_NAME_PROBLEMS.prefix },
  { rule: 'size(self) <= 100', message: PROFILE_NAME_PROBLEMS.length },
  {
    rule: String.raw`self.matches('^([\\p{L}\\p{N}][\\p{L}\\p{N}_-]*)?$')`,
    message: PROFILE_NAME_PROBLEMS.characters,
  },
];

export const SUBNET_ID_RULES: readonly Rule[] = [
  {
    rule: `self.matches('^subnet-[0-9a-z-]+$')`,
    message: 'not the id of a subnet in AWS; use an id such as subnet-0123456789abcdef0',
  },
];

/**
 * https://docs.aws.amazon.com/IAM/latest/APIReference/API_Tag.html. pkg/fargate/tags/tag-limits.ts applies the same
 * rule to the control plane's tags.
 */
const TAG_CHARACTERS = String.raw`'^[\\p{L}\\p{Z}\\p{N}_.:/=+@-]*$'`;
const ALLOWED_CHARACTERS = 'letters, digits, and spaces of any language, and _ . : / = + - @';
const FORBIDDEN_CHARACTER = 'has a character that AWS does not allow';

/** The limits of EKS and IAM: tags per resource, characters per tag key, and characters per tag value. */
export const MAX_TAGS = 50;
export const MAX_TAG_KEY = 128;
export const MAX_TAG_VALUE = 256;
/** The controller sets three tags on a role: Cluster, EKS cluster, and namespace. */
export const MAX_ADDITIONAL_TAGS = MAX_TAGS - 3;

export const TAGS_RULES: readonly Rule[] = [
  noNullValue('tag'),
  {
    rule: `size(self) <= ${MAX_ADDITIONAL_TAGS}`,
    message: `more than ${MAX_ADDITIONAL_TAGS} tags; AWS allows ${MAX_TAGS}, and the controller sets three of them`,
  },
  tagKeyRule(`size(k) >= 1 && size(k) <= ${MAX_TAG_KEY}`, 'is empty or too long', `use 1 to ${MAX_TAG_KEY} characters`),
  tagKeyRule(`!k.lowerAscii().startsWith('aws:')`, 'has the prefix aws:, which AWS reserves', 'use another key'),
  tagKeyRule(`k.matches(${TAG_CHARACTERS})`, FORBIDDEN_CHARACTER, `use ${ALLOWED_CHARACTERS}`),
  tagKeyRule(
    `!k.lowerAscii().startsWith('kubernetes.io/cluster/') && ` +
      `!k.lowerAscii().startsWith('sigs.k8s.io/cluster-api-provider-aws-fargate/')`,
    'is reserved for controllers, which mark their own resources with it',
    'use another key',
  ),
];

export const TAG_VALUE_RULES: readonly Rule[] = [
  {
    rule: `size(self) <= ${MAX_TAG_VALUE}`,
    message: `longer than ${MAX_TAG_VALUE} characters; use at most ${MAX_TAG_VALUE}`,
  },
  { rule: `self.matches(${TAG_CHARACTERS})`, message: `${FORBIDDEN_CHARACTER}; use ${ALLOWED_CHARACTERS}` },
];

/** https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html */
export const ROLE_NAME_RULES: readonly Rule[] = [
  { rule: 'size(self) <= 64', message: 'longer than 64 characters; use at most 64' },
  {
    rule: `self.matches('^[a-zA-Z0-9_+=,.@-]*$')`,
    message: 'not the name of a role; use letters, digits and _ + = , . @ -, and put the path into rolePath',
  },
];

export const ROLE_PATH_RULES: readonly Rule[] = [
  { rule: 'size(self) <= 512', message: 'longer than 512 characters; use at most 512' },
  {
    rule: `self == '' || self.matches('^/([!-~]+/)?$')`,
    message: 'not the path of a role; use a path that begins and ends with a slash, such as /team-a/',
  },
];

export const ROLE_ARN_RULES: readonly Rule[] = [
  {
    rule: `self.matches('^arn:aws[a-z0-9-]*:iam::[0-9]{12}:role/([!-~]+/)?[a-zA-Z0-9_+=,.@-]{1,64}$')`,
    message: 'not the ARN of an IAM role; use an ARN such as arn:aws:iam::123456789012:role/pods',
  },
];

export const POLICY_ARN_RULES: readonly Rule[] = [
  {
    rule: `self == '' || self.matches('^arn:aws[a-z0-9-]*:iam::(aws|[0-9]{12}):policy/([!-~]+/)?[a-zA-Z0-9_+=,.@-]{1,128}$')`,
    message: 'not the ARN of a managed policy; use an ARN such as arn:aws:iam::aws:policy/CloudWatchLogsFullAccess',
  },
];

const isDefaultPath = (spec: string): string => `(!has(${spec}.rolePath) || ${spec}.rolePath in ['', '/'])`;

/**
 * The API server checks these rules at each change of the spec, even for an object that was created under CAPA's CRD of
 * the same name. So a rule must not refuse a spec that CAPA's CRD admits.
 */
export const SPEC_RULES: readonly Rule[] = [
  ...CLUSTER_CHOICE_RULES,
  {
    ...required(
      'selectors',
      'has(self.selectors) || (oldSelf.hasValue() && !has(oldSelf.value().selectors))',
      NO_SELECTOR,
    ),
    optionalOldSelf: true,
  },
  {
    rule:
      `!has(self.roleARN) || ${isEmpty('self.roleName')} && ${isDefaultPath('self')} && ` +
      `${isEmpty('self.rolePermissionsBoundary')} && ${isEmptyList('self.roleAdditionalPolicies')}`,
    message:
      'cannot be combined with roleName, rolePath, rolePermissionsBoundary or roleAdditionalPolicies; set roleARN alone, ' +
      'or remove it',
    fieldPath: '.roleARN',
    reason: 'FieldValueForbidden',
  },
];

const atMost = (longest: string): readonly Rule[] => [
  {
    rule: `self == '' || self.matches('^([0-9]+(\\\\.[0-9]+)?(s|m|h))+$') && duration(self) <= duration('${longest}')`,
    message: `not a duration of at most ${longest}; use for example 30m or 1h30m`,
  },
];

/** A week. */
export const KEEP_RULES = atMost('168h');
export const LONGEST_DRAIN = '24h';
export const DRAIN_RULES = atMost(LONGEST_DRAIN);
/** In characters. */
export const MAX_DURATION_TEXT = 64;

/**
 * Requires `condition` once `status.initialization.provisioned` is true, because pods depend on the profile from then
 * on. Before that, the controller replaces the profile when a field changes that EKS cannot change. The rule must be on
 * the whole object, because only there can CEL read status.
 */
const onceProvisioned = (condition: string): string =>
  `!has(self.spec) || !has(oldSelf.spec) || !oldSelf.?status.?initialization.?provisioned.orValue(false) || ${condition}`;

const IMMUTABLE = 'is immutable once the profile is provisioned';

/** A CEL expression for the text of a field, or `''` if the field is absent. */
const valueOf = (field: string): string => `(has(${field}) ? ${field} : '')`;

const isTextKept = (field: string): string => `${valueOf(`self.spec.${field}`)} == ${valueOf(`oldSelf.spec.${field}`)}`;

/** Whether the controller replaces the profile. One update can set this strategy and also change an immutable field. */
const IS_REPLACED = `self.spec.?updateStrategy.?type.orValue('') == 'Replace'`;

const REPLACE = `set updateStrategy.type to Replace, or ${CREATE_ANOTHER}`;

/**
 * Forbids a change of a text field. `exceptions` are CEL conditions under which the new text is allowed, and `remedy`
 * is what the user can do instead.
 */
const immutableTextOnceProvisioned = (field: string, remedy: string, ...exceptions: readonly string[]): Rule => ({
  rule: onceProvisioned([isTextKept(field), ...exceptions].join(' || ')),
  message: `${field} ${IMMUTABLE}; ${remedy}`,
  messageExpression:
    `'${field} ${IMMUTABLE}: "' + ${valueOf(`oldSelf.spec.${field}`)} + ` +
    `'" cannot become "' + ${valueOf(`self.spec.${field}`)} + '"; ${remedy}'`,
  fieldPath: `.spec.${field}`,
  reason: 'FieldValueForbidden',
});

/**
 * Forbids a change of a list, except for its order. `read` returns a CEL expression for the elements, in which elements
 * with the same meaning are equal.
 */
const immutableSetOnceProvisioned = (field: string, read: (spec: string) => string): Rule => {
  const [now, before] = [read('self.spec'), read('oldSelf.spec')];
  return {
    // Compares the whole lists first: in very long lists, CEL's cost limit would stop the comparison of the elements.
    rule: onceProvisioned(
      `${IS_REPLACED} || ${now} == ${before} || ${now}.all(x, x in ${before}) && ${before}.all(x, x in ${now})`,
    ),
    message: `${field} ${IMMUTABLE}; ${REPLACE}`,
    fieldPath: `.spec.${field}`,
    reason: 'FieldValueForbidden',
  };
};

/** A CEL expression for the selectors, in which absent labels equal empty labels. */
const selectorsOf = (spec: string): string =>
  `(has(${spec}.selectors) ? ${spec}.selectors.map(s, [dyn(has(s.__namespace__) ? s.__namespace__ : ''), has(s.labels) ? dyn(s.labels) : dyn({})]) : [])`;

/** A CEL expression for the subnets in the spec, or for those in use if the spec does not set any. */
const subnetsOf = (spec: string): string =>
  `(has(${spec}.subnetIDs) && size(${spec}.subnetIDs) > 0 ? ${spec}.subnetIDs : ` +
  `has(oldSelf.status) && has(oldSelf.status.subnets) ? oldSelf.status.subnets : [])`;

/**
 * A CEL expression that is true if a name field changes from empty to the computed name or back. Such a change replaces
 * nothing: CAPA writes the computed name into an empty field, and `kubectl replace` with the user's manifest empties
 * the field again. A name that fills the field must equal the name in status. If status has no name, or if the field
 * becomes empty, the expression checks only the form of the name, because CEL cannot compute the hash in the name.
 */
const isComputedNameFilled = (field: string, known: string, isComputed: (name: string) => string): string =>
  `(${isEmpty(`self.spec.${field}`)} ? ${isComputed(`oldSelf.spec.${field}`)} : ` +
  `${isEmpty(`oldSelf.spec.${field}`)} && (self.${known.replaceAll('.', '.?').replace(/^/, '?')}.hasValue() ? ` +
  `self.spec.${field} == self.${known} : ${isComputed(`self.spec.${field}`)}))`;

const isHashed = (name: string): string => `${name}.matches('^capa_[0-9a-z]{27}$')`;

/** CAPA's form: `<namespace>_<name>` with underscores for dots, or a hash. Skips the namespace: CEL cannot read it. */
const isComputedProfileName = (name: string): string =>
  `(${name}.endsWith('_' + self.metadata.name.replace('.', '_')) || ${isHashed(name)})`;

/** CAPA's forms: `<Cluster>-<profile>_fargate`, a hash, or the shared role if CAPA is not allowed to create roles. */
const isComputedRoleName = (name: string): string =>
  `(${name} == 'eks-fargate.cluster-api-provider-aws.sigs.k8s.io' || ${name}.endsWith('_fargate') || ${isHashed(name)})`;

export const ROOT_RULES: readonly Rule[] = [
  {
    ...required(
      'spec',
      'has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))',
      'missing; set at least selectors and clusterName or eksCluster',
    ),
    optionalOldSelf: true,
  },
  ...GAINED_EKS_CLUSTER_RULES,
  REGION_IMMUTABLE,
  immutableTextOnceProvisioned(
    'profileName',
    REPLACE,
    IS_REPLACED,
    isComputedNameFilled('profileName', 'status.profileName', isComputedProfileName),
  ),
  immutableSetOnceProvisioned('selectors', selectorsOf),
  immutableSetOnceProvisioned('subnetIDs', subnetsOf),
  immutableTextOnceProvisioned('roleARN', REPLACE, IS_REPLACED),
  immutableTextOnceProvisioned(
    'roleName',
    REPLACE,
    IS_REPLACED,
    isComputedNameFilled('roleName', 'status.role.name', isComputedRoleName),
  ),
  immutableTextOnceProvisioned(
    'rolePath',
    `set updateStrategy.type to Replace and change roleName too, or ${CREATE_ANOTHER}`,
    `${isDefaultPath('self.spec')} && ${isDefaultPath('oldSelf.spec')}`,
    `${IS_REPLACED} && !(${isTextKept('roleName')} && ${isTextKept('roleARN')})`,
  ),
  immutableTextOnceProvisioned('rolePermissionsBoundary', CREATE_ANOTHER),
];
