import type { Rule } from '../schema/openapi.ts';

// CEL rules of the CRD. They follow from how the API server evaluates them:
//
// - Each stands on the smallest node that it is about. An update is forgiven what it leaves unchanged, node by node, so
//   an object that an older or looser CRD let in can still be labelled, tagged, mended and deleted.
// - The structural bounds beside them (maxLength, maxItems, …) are wide and only there for the cost estimator: a violated
//   one would keep all rules from running. The real limits are rules, so that all mistakes are shown at once.
// - Where EKS itself would refuse, the message is EKS's own.

/** `''` means the same as no value. */
const isEmpty = (field: string): string => `(!has(${field}) || ${field} == '')`;
const isEmptyList = (field: string): string => `(!has(${field}) || size(${field}) == 0)`;

const required = (field: string, rule: string, message: string): Rule => ({
  rule,
  message,
  fieldPath: `.${field}`,
  reason: 'FieldValueRequired',
});

/** A rule on a map that finds fault with single keys names the first that is wrong. */
const keyRule = (condition: string, message: string): Rule => ({
  rule: `self.all(k, ${condition})`,
  message: `${message}.`,
  messageExpression: `'${message}: "' + self.filter(k, !(${condition}))[0] + '"'`,
});

export const SELECTOR_RULES: readonly Rule[] = [
  required(
    'namespace',
    `has(self.namespace) && self.namespace != ''`,
    'Fargate Profile must have at least one selector with at least one namespace value.',
  ),
];

export const NAMESPACE_RULES: readonly Rule[] = [
  {
    rule: String.raw`self == '' || self.matches('^[a-z0-9*?]([-a-z0-9*?]*[a-z0-9*?])?$')`,
    message: 'The namespace provided is invalid.',
  },
];

/** A qualified name of Kubernetes in which EKS also takes the wildcards. */
export const LABELS_RULES: readonly Rule[] = [
  {
    rule:
      `self.all(k, k.matches('^([a-z0-9*?]([-a-z0-9.*?]*[a-z0-9*?])?/)?` +
      `[A-Za-z0-9*?]([-A-Za-z0-9_.*?]*[A-Za-z0-9*?])?$'))`,
    message: 'Selector label provided is invalid.',
  },
];

const NO_SELECTOR = 'Fargate Profile requires at least one selector.';

/** No upper limit: the quota of five is raised by AWS on request, and EKS says when it is exceeded. */
export const SELECTORS_RULES: readonly Rule[] = [{ rule: 'size(self) >= 1', message: NO_SELECTOR }];

export const PROFILE_NAME_RULES: readonly Rule[] = [
  {
    rule: `!self.startsWith('eks-')`,
    message: `The fargate profile name starts with the reserved prefix: 'eks-'.`,
  },
  {
    rule: 'size(self) <= 100',
    message: 'The Fargate profile name parameter should not be greater than 100 characters.',
  },
  {
    rule: String.raw`self.matches('^([\\p{L}\\p{N}][\\p{L}\\p{N}_-]*)?$')`,
    message:
      'The Fargate profile name parameter contains invalid characters. It should begin with letter or digit and can ' +
      'have any of the following characters: the set of Unicode letters, digits, hyphens and underscores.',
  },
];

export const SUBNET_ID_RULES: readonly Rule[] = [
  {
    rule: `self.matches('^subnet-[0-9a-z-]+$')`,
    message: 'A subnet is named by its id in AWS, such as subnet-0123456789abcdef0.',
  },
];

/** What AWS takes in keys and values of tags, https://docs.aws.amazon.com/IAM/latest/UserGuide/id_tags.html, in ASCII. */
const TAG_CHARACTERS = String.raw`'^[a-zA-Z0-9\\s_.:=+@/-]*$'`;
const ALLOWED_CHARACTERS = 'letters, digits, spaces and _ . : / = + - @';

/** AWS allows 50, and two are ours: the one that CAPA sets too, and the one that names the owner. */
export const TAGS_RULES: readonly Rule[] = [
  { rule: 'size(self) <= 48', message: 'At most 48 tags: AWS allows 50, and the controller adds two.' },
  keyRule('size(k) >= 1 && size(k) <= 128', 'The key of a tag has 1 to 128 characters'),
  keyRule(`!k.lowerAscii().startsWith('aws:')`, 'The prefix aws: is reserved by AWS'),
  keyRule(`k.matches(${TAG_CHARACTERS})`, `The key of a tag can have ${ALLOWED_CHARACTERS}`),
  keyRule(
    `!k.lowerAscii().startsWith('kubernetes.io/cluster/') && ` +
      `!k.lowerAscii().startsWith('sigs.k8s.io/cluster-api-provider-aws-fargate/')`,
    'This tag is set by the controller, which tells by it what it owns',
  ),
];

export const TAG_VALUE_RULES: readonly Rule[] = [
  { rule: 'size(self) <= 256', message: 'The value of a tag has at most 256 characters.' },
  { rule: `self.matches(${TAG_CHARACTERS})`, message: `The value of a tag can have ${ALLOWED_CHARACTERS}.` },
];

/** https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html */
export const ROLE_NAME_RULES: readonly Rule[] = [
  { rule: 'size(self) <= 64', message: 'The name of a role has at most 64 characters.' },
  {
    rule: `self.matches('^[a-zA-Z0-9_+=,.@-]*$')`,
    message: 'The name of a role, given without its path, can have letters, digits and _ + = , . @ -.',
  },
];

export const ROLE_PATH_RULES: readonly Rule[] = [
  { rule: 'size(self) <= 512', message: 'The path of a role has at most 512 characters.' },
  {
    rule: `self == '' || self.matches('^/([!-~]+/)?$')`,
    message: 'The path of a role begins and ends with a slash, such as /team-a/.',
  },
];

export const ROLE_ARN_RULES: readonly Rule[] = [
  {
    rule: `self.matches('^arn:aws[a-z0-9-]*:iam::[0-9]{12}:role/[!-~]+$')`,
    message: 'This is not the ARN of an IAM role, such as arn:aws:iam::123456789012:role/pods.',
  },
];

export const POLICY_ARN_RULES: readonly Rule[] = [
  {
    rule: `self == '' || self.matches('^arn:aws[a-z0-9-]*:iam::(aws|[0-9]{12}):policy/[!-~]+$')`,
    message: 'This is not the ARN of a managed policy, such as arn:aws:iam::aws:policy/CloudWatchLogsFullAccess.',
  },
];

export const CLUSTER_NAME_RULES: readonly Rule[] = [
  {
    rule: 'self == oldSelf',
    message: 'clusterName is immutable.',
    messageExpression: `'clusterName is immutable: "' + oldSelf + '" cannot become "' + self + '"'`,
    reason: 'FieldValueForbidden',
  },
];

/** Only rules that no object of CAPA's can break: they are checked again whenever anything in the spec changes. */
export const SPEC_RULES: readonly Rule[] = [
  required(
    'clusterName',
    `has(self.clusterName) && self.clusterName != ''`,
    'The name of the Cluster that the profile belongs to is missing.',
  ),
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
      `!has(self.roleARN) || ${['roleName', 'rolePath', 'rolePermissionsBoundary'].map((f) => isEmpty(`self.${f}`)).join(' && ')}` +
      ` && ${isEmptyList('self.roleAdditionalPolicies')}`,
    message:
      'A role given by its ARN is used as it is: roleName, rolePath, rolePermissionsBoundary and roleAdditionalPolicies ' +
      'must not be set beside it.',
    fieldPath: '.roleARN',
    reason: 'FieldValueForbidden',
  },
];

/**
 * EKS cannot change these fields of a profile, and pods depend on it once it was there. Before that, every mistake can be
 * mended in place. Status is in sight of rules on the whole object alone, so that is where they stand.
 */
const onceProvisioned = (condition: string): string =>
  `!has(self.spec) || !has(oldSelf.spec) || !oldSelf.?status.?initialization.?provisioned.orValue(false) || ${condition}`;

const IMMUTABLE = 'is immutable once the profile was provisioned';

const isSame = (field: string): string =>
  `(${isEmpty(`self.spec.${field}`)} ? ${isEmpty(`oldSelf.spec.${field}`)} : ` +
  `has(oldSelf.spec.${field}) && self.spec.${field} == oldSelf.spec.${field})`;

const valueOf = (field: string): string => `(has(${field}) ? ${field} : '')`;

/** `exception` is when a change is none in truth. */
const immutableText = (field: string, exception?: string): Rule => ({
  rule: onceProvisioned(exception === undefined ? isSame(field) : `${isSame(field)} || ${exception}`),
  message: `${field} ${IMMUTABLE}.`,
  messageExpression:
    `'${field} ${IMMUTABLE}: "' + ${valueOf(`oldSelf.spec.${field}`)} + ` +
    `'" cannot become "' + ${valueOf(`self.spec.${field}`)} + '"'`,
  fieldPath: `.spec.${field}`,
  reason: 'FieldValueForbidden',
});

/** Another order is no change. */
const immutableSet = (field: string): Rule => {
  const [now, before] = [`self.spec.${field}`, `oldSelf.spec.${field}`];
  return {
    rule: onceProvisioned(
      `(${isEmptyList(now)} ? ${isEmptyList(before)} : ` +
        `has(${before}) && ${now}.all(x, x in ${before}) && ${before}.all(x, x in ${now}))`,
    ),
    message: `${field} ${IMMUTABLE}.`,
    fieldPath: `.spec.${field}`,
    reason: 'FieldValueForbidden',
  };
};

/**
 * Cluster API Provider AWS writes the name that it computed into an empty field, late, and `kubectl replace` takes it out
 * again: the profile or role stays the same one. Status knows the name; where it does not, the form tells: CEL has no hash.
 */
const lateFilling = (field: string, known: string, isComputed: (name: string) => string): string =>
  `(${isEmpty(`self.spec.${field}`)} ? ${isComputed(`oldSelf.spec.${field}`)} : ` +
  `${isEmpty(`oldSelf.spec.${field}`)} && (self.${known.replaceAll('.', '.?').replace(/^/, '?')}.hasValue() ? ` +
  `self.spec.${field} == self.${known} : ${isComputed(`self.spec.${field}`)}))`;

const isHashed = (name: string): string => `${name}.matches('^capa_[0-9a-z]{27}$')`;

/** CAPA's names: `<namespace>_<name>`, dots of the name replaced, or a hash. Rules do not see the namespace. */
const isComputedProfileName = (name: string): string =>
  `(${name}.endsWith('_' + self.metadata.name.replace('.', '_')) || ${isHashed(name)})`;

/** The default role of CAPA's installations without IAM, `<Cluster>-<profile>_fargate`, or a hash. */
const isComputedRoleName = (name: string): string =>
  `(${name} == 'eks-fargate.cluster-api-provider-aws.sigs.k8s.io' || ${name}.endsWith('_fargate') || ${isHashed(name)})`;

export const ROOT_RULES: readonly Rule[] = [
  {
    ...required('spec', 'has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))', 'There is no spec.'),
    optionalOldSelf: true,
  },
  immutableText('profileName', lateFilling('profileName', 'status.profileName', isComputedProfileName)),
  immutableSet('selectors'),
  immutableSet('subnetIDs'),
  immutableText('roleARN'),
  immutableText('roleName', lateFilling('roleName', 'status.role.name', isComputedRoleName)),
  immutableText('rolePath'),
  immutableText('rolePermissionsBoundary'),
];
