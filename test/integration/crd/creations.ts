import { LABEL_KEY_FORM, LABEL_VALUE_FORM, NAMESPACE_FORM } from '../../../api/v1beta2/index.ts';
export type Spec = Readonly<Record<string, unknown>>;

export interface Case {
  readonly what: string;
  /** Replaces or adds fields of a valid spec; a field with the value `undefined` is removed. */
  readonly spec: Spec;
  /** Why the API server refuses the object, each as `field: message`; empty if the API server accepts the object. */
  readonly causes: readonly string[];
}

type Row = readonly [what: string, spec: Spec, ...causes: readonly string[]];
const toCase = ([what, spec, ...causes]: Row): Case => ({ what, spec, causes });

const NO_CLUSTER =
  'spec.clusterName: Required value: missing; set it to the name of a Cluster in the same namespace, or set eksCluster';
const NO_SELECTOR = 'Fargate Profile requires at least one selector.';
const NO_NAMESPACE =
  'spec.selectors[0].namespace: Required value: Fargate Profile must have at least one selector with at least one namespace value.';
const BAD_PROFILE_NAME =
  'The Fargate profile name parameter contains invalid characters. It should begin with letter or digit and can have ' +
  'any of the following characters: the set of Unicode letters, digits, hyphens and underscores.';
const FORBIDDEN_CHARACTER =
  'has a character that AWS does not allow; use letters, digits, and spaces of any language, and _ . : / = + - @';
const LENGTH_OF_KEY = 'is empty or too long; use 1 to 128 characters';
const RESERVED = 'is reserved for controllers, which mark their own resources with it; use another key';
const NO_VALUE = 'has no value; write a value, or "" for the empty one';
const BESIDE_ARN =
  'spec.roleARN: Forbidden: cannot be combined with roleName, rolePath, rolePermissionsBoundary or ' +
  'roleAdditionalPolicies; set roleARN alone, or remove it';
const NOT_A_POLICY =
  'not the ARN of a managed policy; use an ARN such as arn:aws:iam::aws:policy/CloudWatchLogsFullAccess';
const OBJECT_NAME_FORM =
  'use lower-case letters, digits, hyphens, and dots, with a letter or digit at the beginning and the end of each part';
const ROLE = 'arn:aws:iam::123456789012:role/pods';
const POLICY = 'arn:aws:iam::aws:policy/CloudWatchLogsFullAccess';

const invalid = (path: string, value: string, message: string): string =>
  `spec.${path}: Invalid value: ${JSON.stringify(value)}: ${message}`;

/**
 * A field of the spec: its path in the API server's messages, and a function that returns a spec with a value in it.
 */
interface Place {
  readonly path: string;
  readonly specWith: (value: string) => Spec;
}
const field = (path: string): Place => ({ path, specWith: (value) => ({ [path]: value }) });
const NAMESPACE: Place = { path: 'selectors[0].namespace', specWith: (namespace) => selector({ namespace }) };
const SUBNET: Place = { path: 'subnetIDs[1]', specWith: (id) => ({ subnetIDs: ['subnet-1', id] }) };
const TAG: Place = { path: 'additionalTags[a]', specWith: (a) => ({ additionalTags: { a } }) };
const POLICIES: Place = {
  path: 'roleAdditionalPolicies[1]',
  specWith: (arn) => ({ roleAdditionalPolicies: [POLICY, arn] }),
};
const LABEL: Place = {
  path: 'selectors[0].labels[app]',
  specWith: (app) => selector({ labels: { app } }),
};
const IDENTITY: Place = {
  path: 'eksCluster.identityRef.name',
  specWith: (name) => inEks({ name: 'tools', identityRef: { kind: 'AWSClusterRoleIdentity', name } }),
};
const KEEP: Place = {
  path: 'updateStrategy.replace.keepPredecessorFor',
  specWith: (keepPredecessorFor) => ({ updateStrategy: { type: 'Replace', replace: { keepPredecessorFor } } }),
};
const DRAIN: Place = {
  path: 'updateStrategy.replace.drainTimeout',
  specWith: (drainTimeout) => ({ updateStrategy: { type: 'Replace', replace: { drainTimeout } } }),
};

const titleOf = (path: string, value: string): string =>
  value.length > 60 ? `${path} of ${[...value].length} characters` : `${path} ${JSON.stringify(value)}`;
const accept = ({ path, specWith }: Place, ...values: readonly string[]): readonly Row[] =>
  values.map((value) => [titleOf(path, value), specWith(value)]);
const refuse = ({ path, specWith }: Place, message: string, ...values: readonly string[]): readonly Row[] =>
  values.map((value) => [titleOf(path, value), specWith(value), invalid(path, value, message)]);

const selector = (fields: object): Spec => ({ selectors: [{ namespace: 'a', ...fields }] });
const tags = (...keys: readonly string[]): Spec => ({
  additionalTags: Object.fromEntries(keys.map((key) => [key, 'v'])),
});
const refuseTag = (problem: string, ...keys: readonly string[]): readonly Row[] =>
  keys.map((key) => [
    titleOf('tag', key),
    tags('fine', key),
    `spec.additionalTags: Invalid value: tag key "${key}" ${problem}`,
  ]);
const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `tag-${i}`);
const inEks = (eksCluster: object): Spec => ({ clusterName: undefined, eksCluster });
const LONG_NAME = `-${'a'.repeat(100)}`;

/** Specs of new AWSFargateProfiles, with the reasons for which the API server refuses them. */
const ROWS: readonly Row[] = [
  ['only the required fields', {}],
  ['no clusterName', { clusterName: undefined }, NO_CLUSTER],
  ['an empty clusterName', { clusterName: '' }, NO_CLUSTER],
  ...accept(field('clusterName'), 'eu-1.prod', '1'.repeat(63)),
  ...refuse(
    field('clusterName'),
    `no Cluster can have this name; ${OBJECT_NAME_FORM}`,
    '${CLUSTER_NAME}',
    'prod/eu',
    'my cluster',
    'Prod',
    'prod-',
    'prod..eu',
  ),
  ...refuse(field('clusterName'), 'no Cluster has this name: it is longer than 63 characters', 'c'.repeat(64)),

  [
    'only an eksCluster, with region and identity',
    inEks({
      name: 'Tools_1-a',
      region: 'us-gov-east-1',
      identityRef: { kind: 'AWSClusterRoleIdentity', name: 'team-a' },
    }),
  ],
  [
    'clusterName and eksCluster',
    { eksCluster: { name: 'tools' } },
    'spec.eksCluster: Forbidden: cannot be combined with clusterName; set one of the two',
  ],
  [
    'an eksCluster without name and with a bad region and identity',
    inEks({ region: 'Ireland', identityRef: { kind: 'Secret' } }),
    'spec.eksCluster.name: Required value: missing; set it to the name of the cluster in EKS',
    invalid('eksCluster.region', 'Ireland', 'not the name of an AWS region; use a name such as eu-west-1'),
    'spec.eksCluster.identityRef.name: Required value: missing; set it to the name of the identity object',
    'spec.eksCluster.identityRef.kind: Required value: not a kind of identity; use AWSClusterControllerIdentity, AWSClusterRoleIdentity or AWSClusterStaticIdentity',
  ],
  [
    'an eksCluster with a name that EKS does not allow',
    inEks({ name: LONG_NAME }),
    invalid('eksCluster.name', LONG_NAME, 'longer than 100 characters; use at most 100'),
    invalid(
      'eksCluster.name',
      LONG_NAME,
      'not the name of a cluster in EKS; use letters, digits, hyphens, and underscores',
    ),
  ],

  ...accept(IDENTITY, 'team-a.dev'),
  ...refuse(IDENTITY, `no identity can have this name; ${OBJECT_NAME_FORM}`, '${IDENTITY}', 'team a'),
  [
    'an AWSClusterControllerIdentity of another name',
    inEks({ name: 'tools', identityRef: { kind: 'AWSClusterControllerIdentity', name: 'team-a' } }),
    'spec.eksCluster.identityRef.name: Invalid value: an AWSClusterControllerIdentity always has the name default',
  ],

  ['no selectors', { selectors: undefined }, `spec.selectors: Required value: ${NO_SELECTOR}`],
  ['an empty list of selectors', { selectors: [] }, `spec.selectors: Invalid value: ${NO_SELECTOR}`],
  ['six selectors, for accounts with a raised quota', { selectors: numbered(6).map((namespace) => ({ namespace })) }],
  ['a selector without namespace', selector({ namespace: undefined, labels: { a: 'b' } }), NO_NAMESPACE],
  ['an empty namespace', selector({ namespace: '' }), NO_NAMESPACE],
  ...accept(NAMESPACE, '*-team-?', '*'),
  ...refuse(NAMESPACE, `The namespace provided is invalid: ${NAMESPACE_FORM}`, 'Upper', '-a', 'a-', 'kafka_east_1'),
  [
    'six labels with wildcards and prefixes',
    selector({ labels: { 'app.kubernetes.io/name': '*', 'a?/B*': 'x', '*': '', c: '', d: '', e: '' } }),
  ],
  [
    'a label without a value',
    selector({ labels: { app: 'web', compute: null } }),
    `spec.selectors[0].labels: Invalid value: label "compute" ${NO_VALUE}`,
  ],
  ...['-a', 'a/b/c', '', 'UPPER/a'].map((key): Row => [
    `label ${JSON.stringify(key)}`,
    selector({ labels: { [key]: 'x' } }),
    `spec.selectors[0].labels: Invalid value: Selector label provided is invalid: ${LABEL_KEY_FORM}`,
  ]),

  ...accept(LABEL, '', 'a_B.9', 'v*', '?'),
  ...refuse(LABEL, `no pod can have this label: ${LABEL_VALUE_FORM}`, '${APP}', 'my app', 'shop/web', '-a', 'a.'),

  ...accept(field('profileName'), '', 'Größe_9-東京', 'EKS-x', 'ö'.repeat(100)),
  ...refuse(
    field('profileName'),
    'The Fargate profile name parameter should not be greater than 100 characters.',
    'a'.repeat(101),
  ),
  ...refuse(field('profileName'), `The fargate profile name starts with the reserved prefix: 'eks-'.`, 'eks-x'),
  ...refuse(field('profileName'), BAD_PROFILE_NAME, '-a', '_a', 'a.b'),

  ['an empty list of subnets', { subnetIDs: [] }],
  ...accept(SUBNET, 'subnet-0123456789abcdef0'),
  ...refuse(
    SUBNET,
    'not the id of a subnet in AWS; use an id such as subnet-0123456789abcdef0',
    '',
    'vpc-1',
    'subnet-',
    'subnet-A',
  ),

  ['47 tags', tags(...numbered(47))],
  [
    '48 tags',
    tags(...numbered(48)),
    'spec.additionalTags: Invalid value: more than 47 tags; AWS allows 50, and the controller sets three of them',
  ],
  ['every character that AWS allows in tags', { additionalTags: { 'aZ9 _.:=+-@/': 'aZ9 _.:=+-@/', empty: '' } }],
  [
    'letters, digits, and spaces of any language in tags',
    { additionalTags: { owner: 'Équipe Données', 所有者: '平台\u3000团队 ٣', 'Équipe 𝒳': 'é'.repeat(256) } },
  ],
  [
    'tags that look like those of controllers, and the longest key, which has more bytes',
    tags('sigs.k8s.io/cluster-api-provider-aws/role', 'kubernetes.io/clusters', '𝒳'.repeat(128)),
  ],
  ...refuse(TAG, FORBIDDEN_CHARACTER, 'b;c', 'a\tb', 'a\nb', 'a\u0301', '🙂'),
  ...refuse(TAG, 'longer than 256 characters; use at most 256', 'v'.repeat(257)),
  ...refuseTag(LENGTH_OF_KEY, '', 'k'.repeat(129)),
  ...refuseTag('has the prefix aws:, which AWS reserves; use another key', 'aws:name', 'AWS:name'),
  ...refuseTag(FORBIDDEN_CHARACTER, 'a;b'),
  ...refuseTag(RESERVED, 'kubernetes.io/cluster/x', 'Sigs.k8s.io/cluster-api-provider-aws-fargate/owner'),
  [
    'a tag without a value',
    { additionalTags: { owner: null } },
    `spec.additionalTags: Invalid value: tag "owner" ${NO_VALUE}`,
  ],

  ...accept(field('roleName'), '', 'aZ9_+=,.@-'.padEnd(64, 'x')),
  ...refuse(field('roleName'), 'longer than 64 characters; use at most 64', 'r'.repeat(65)),
  ...refuse(
    field('roleName'),
    'not the name of a role; use letters, digits and _ + = , . @ -, and put the path into rolePath',
    'team/pods',
  ),
  ...accept(field('rolePath'), '', '/', '/a/b/', `/${'p'.repeat(510)}/`),
  ...refuse(
    field('rolePath'),
    'not the path of a role; use a path that begins and ends with a slash, such as /team-a/',
    '/a',
    'a/',
    '/a b/',
  ),
  ...refuse(field('rolePath'), 'longer than 512 characters; use at most 512', `/${'p'.repeat(511)}/`),
  ...accept(field('rolePermissionsBoundary'), '', POLICY, 'arn:aws-cn:iam::123456789012:policy/team/boundary'),
  ...refuse(field('rolePermissionsBoundary'), NOT_A_POLICY, ROLE),
  ...accept(POLICIES, 'arn:aws-us-gov:iam::123456789012:policy/x', 'arn:aws:iam::aws:policy/service-role/x'),
  ...refuse(
    POLICIES,
    NOT_A_POLICY,
    'CloudWatchLogsFullAccess',
    'arn:aws:iam::1:policy/x',
    'arn:aws:iam::aws:policy/${LOGS}',
  ),
  ...accept(field('roleARN'), 'arn:aws-cn:iam::123456789012:role/team/pods'),
  ...refuse(
    field('roleARN'),
    'not the ARN of an IAM role; use an ARN such as arn:aws:iam::123456789012:role/pods',
    '',
    'arn:aws:iam::123:role/pods',
    'arn:aws:sts::123456789012:assumed-role/x/y',
    'arn:aws:iam::123456789012:role/${ROLE}',
    'arn:aws:iam::123456789012:role/pods/',
  ),
  [
    'roleARN with empty role fields',
    { roleARN: ROLE, roleName: '', rolePath: '', rolePermissionsBoundary: '', roleAdditionalPolicies: [] },
  ],
  ...[
    { roleName: 'pods' },
    { rolePath: '/a/' },
    { rolePermissionsBoundary: POLICY },
    { roleAdditionalPolicies: [POLICY] },
  ].map((beside): Row => [`roleARN with ${Object.keys(beside)[0]}`, { roleARN: ROLE, ...beside }, BESIDE_ARN]),

  ...accept(field('deletionPolicy'), 'Delete', 'Retain'),
  ...accept(field('adoptionPolicy'), 'Owned', 'Always', 'Never'),
  ['updateStrategy Reject', { updateStrategy: { type: 'Reject' } }],
  ...accept(KEEP, '', '0s', '1h30m', '1.5h', '168h'),
  ...refuse(KEEP, 'not a duration of at most 168h; use for example 30m or 1h30m', '168h1s', '-5m', '10', '1d'),
  ...accept(DRAIN, '0s', '24h'),
  ...refuse(DRAIN, 'not a duration of at most 24h; use for example 30m or 1h30m', '24h1s', '-5m', '500ms'),
];
export const CREATIONS = ROWS.map(toCase);

/**
 * The API server adds this cause when it refuses an object that violates the structural schema of the CRD. The cause
 * means that the API server has not run the validation rules of the CRD.
 */
export const UNCHECKED =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the ' +
  'existing errors to complete validation';

const wrongType = (path: string, wanted: string, got: string): string =>
  `spec.${path}: Invalid value: "${got}": spec.${path} in body must be of type ${wanted}: "${got}"`;
const notOneOf = (path: string, value: string, ...supported: readonly string[]): string =>
  `spec.${path}: Unsupported value: "${value}": supported values: ${supported.map((each) => `"${each}"`).join(', ')}`;

const MALFORMED_ROWS: readonly Row[] = [
  ['a number for a name', { clusterName: 7 }, wrongType('clusterName', 'string', 'integer')],
  [
    'a selector without a value',
    { selectors: [{ namespace: 'a' }, null] },
    wrongType('selectors[1]', 'object', 'null'),
  ],
  [
    'an unknown updateStrategy',
    { updateStrategy: { type: 'Recreate' } },
    notOneOf('updateStrategy.type', 'Recreate', 'Reject', 'Replace'),
  ],
  ['an unknown deletionPolicy', { deletionPolicy: 'Orphan' }, notOneOf('deletionPolicy', 'Orphan', 'Delete', 'Retain')],
  [
    'an unknown adoptionPolicy',
    { adoptionPolicy: 'IfOwned' },
    notOneOf('adoptionPolicy', 'IfOwned', 'Owned', 'Always', 'Never'),
  ],
];
/** AWSFargateProfiles that violate the structural schema of the CRD. */
export const MALFORMED = MALFORMED_ROWS.map(toCase);
