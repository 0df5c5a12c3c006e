import { LABEL_KEY_FORM, NAMESPACE_FORM } from '../../../api/v1beta2/index.ts';
export type Spec = Readonly<Record<string, unknown>>;

const NO_SELECTOR = 'Fargate Profile requires at least one selector.';
const NO_NAMESPACE = 'Fargate Profile must have at least one selector with at least one namespace value.';
const BAD_NAME =
  'The Fargate profile name parameter contains invalid characters. It should begin with letter or digit and can have ' +
  'any of the following characters: the set of Unicode letters, digits, hyphens and underscores.';
const ALLOWED = 'letters, digits and spaces of any language, and _ . : / = + - @';
const NO_VALUE = 'has no value; write a value, or "" for the empty one';
const RESERVED = 'is reserved for controllers, which mark their own resources with it; use another key';
const BESIDE_ARN =
  'cannot be combined with roleName, rolePath, rolePermissionsBoundary or roleAdditionalPolicies; set roleARN alone, ' +
  'or remove it';
const NOT_A_POLICY =
  'not the ARN of a managed policy; use an ARN such as arn:aws:iam::aws:policy/CloudWatchLogsFullAccess';
const LONG_NAME = `-${'a'.repeat(100)}`;
const ROLE = 'arn:aws:iam::123456789012:role/pods';
const POLICY = 'arn:aws:iam::aws:policy/CloudWatchLogsFullAccess';

const selector = (fields: object): Spec => ({ selectors: [{ namespace: 'a', ...fields }] });
const tags = (...keys: readonly string[]): Spec => ({
  additionalTags: Object.fromEntries(keys.map((key) => [key, 'v'])),
});
const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `tag-${i}`);

export interface Case {
  readonly what: string;
  readonly spec: Spec;
  /**
   * The reasons for which the API server refuses the object, each as `field: message`; undefined: the API server
   * accepts the object.
   */
  readonly causes?: readonly string[];
}

/**
 * Test cases that create an AWSFargateProfile. Each case replaces or adds fields of a valid spec. A field with the
 * value `undefined` is removed from the valid spec.
 */
export const CREATIONS: readonly Case[] = [
  { what: 'only the required fields', spec: {} },
  {
    what: 'no clusterName',
    spec: { clusterName: undefined },
    causes: [
      'spec.clusterName: Required value: missing; set it to the name of a Cluster in the same namespace, or set eksCluster',
    ],
  },
  {
    what: 'an empty clusterName',
    spec: { clusterName: '' },
    causes: [
      'spec.clusterName: Required value: missing; set it to the name of a Cluster in the same namespace, or set eksCluster',
    ],
  },

  { what: 'only an eksCluster', spec: { clusterName: undefined, eksCluster: { name: 'tools' } } },
  {
    what: 'an eksCluster with region and identity',
    spec: {
      clusterName: undefined,
      eksCluster: {
        name: 'Tools_1-a',
        region: 'us-gov-east-1',
        identityRef: { kind: 'AWSClusterRoleIdentity', name: 'team-a' },
      },
    },
  },
  {
    what: 'clusterName and eksCluster',
    spec: { eksCluster: { name: 'tools' } },
    causes: ['spec.eksCluster: Forbidden: cannot be combined with clusterName; set one of the two'],
  },
  {
    what: 'an eksCluster without name and with a bad region and identity',
    spec: { clusterName: undefined, eksCluster: { region: 'Ireland', identityRef: { kind: 'Secret' } } },
    causes: [
      'spec.eksCluster.name: Required value: missing; set it to the name of the cluster in EKS',
      'spec.eksCluster.region: Invalid value: "Ireland": not the name of an AWS region; use a name such as eu-west-1',
      'spec.eksCluster.identityRef.name: Required value: missing; set it to the name of the identity object',
      'spec.eksCluster.identityRef.kind: Required value: not a kind of identity; use AWSClusterControllerIdentity, AWSClusterRoleIdentity or AWSClusterStaticIdentity',
    ],
  },
  {
    what: 'an eksCluster with a name that EKS does not allow',
    spec: { clusterName: undefined, eksCluster: { name: LONG_NAME } },
    causes: [
      `spec.eksCluster.name: Invalid value: "${LONG_NAME}": longer than 100 characters; use at most 100`,
      `spec.eksCluster.name: Invalid value: "${LONG_NAME}": not the name of a cluster in EKS; use letters, digits, hyphens and underscores`,
    ],
  },

  {
    what: 'no selectors',
    spec: { selectors: undefined },
    causes: [`spec.selectors: Required value: ${NO_SELECTOR}`],
  },
  {
    what: 'an empty list of selectors',
    spec: { selectors: [] },
    causes: [`spec.selectors: Invalid value: ${NO_SELECTOR}`],
  },
  {
    what: 'six selectors, for accounts with a raised quota',
    spec: { selectors: numbered(6).map((namespace) => ({ namespace })) },
  },
  {
    what: 'a selector without namespace',
    spec: selector({ namespace: undefined, labels: { a: 'b' } }),
    causes: [`spec.selectors[0].namespace: Required value: ${NO_NAMESPACE}`],
  },
  {
    what: 'an empty namespace',
    spec: selector({ namespace: '' }),
    causes: [`spec.selectors[0].namespace: Required value: ${NO_NAMESPACE}`],
  },
  { what: 'wildcards in the namespace', spec: selector({ namespace: '*-team-?' }) },
  { what: 'a namespace of one character', spec: selector({ namespace: '*' }) },
  ...['Upper', '-a', 'a-', 'a.b', 'a b', 'kafka_east_1'].map((namespace) => ({
    what: `the namespace ${JSON.stringify(namespace)}`,
    spec: selector({ namespace }),
    causes: [
      `spec.selectors[0].namespace: Invalid value: ${JSON.stringify(namespace)}: The namespace provided is invalid: ${NAMESPACE_FORM}`,
    ],
  })),
  {
    what: 'wildcards and prefixes in labels',
    spec: selector({ labels: { 'app.kubernetes.io/name': '*', 'a?/B*': 'x', '*': '' } }),
  },
  {
    what: 'six labels, for accounts with a raised quota',
    spec: selector({ labels: { a: '', b: '', c: '', d: '', e: '', f: '' } }),
  },
  {
    what: 'a label without a value',
    spec: selector({ labels: { app: 'web', compute: null } }),
    causes: [`spec.selectors[0].labels: Invalid value: label "compute" ${NO_VALUE}`],
  },
  ...['-a', 'a/b/c', 'a b', '', 'UPPER/a'].map((key) => ({
    what: `the label ${JSON.stringify(key)}`,
    spec: selector({ labels: { [key]: 'x' } }),
    causes: [`spec.selectors[0].labels: Invalid value: Selector label provided is invalid: ${LABEL_KEY_FORM}`],
  })),

  { what: 'an empty profileName', spec: { profileName: '' } },
  { what: 'a profileName of letters and digits of any script', spec: { profileName: 'Größe_9-東京' } },
  { what: 'a profileName of 100 characters with 200 bytes', spec: { profileName: 'ö'.repeat(100) } },
  {
    what: 'a profileName of 101 characters',
    spec: { profileName: 'a'.repeat(101) },
    causes: [
      `spec.profileName: Invalid value: "${'a'.repeat(101)}": The Fargate profile name parameter should not be greater than 100 characters.`,
    ],
  },
  {
    what: 'the reserved prefix',
    spec: { profileName: 'eks-x' },
    causes: [
      `spec.profileName: Invalid value: "eks-x": The fargate profile name starts with the reserved prefix: 'eks-'.`,
    ],
  },
  { what: 'the reserved prefix in upper case', spec: { profileName: 'EKS-x' } },
  ...['-a', '_a', 'a.b', 'a b', 'a/b'].map((profileName) => ({
    what: `the profileName ${JSON.stringify(profileName)}`,
    spec: { profileName },
    causes: [`spec.profileName: Invalid value: "${profileName}": ${BAD_NAME}`],
  })),

  { what: 'an empty list of subnets', spec: { subnetIDs: [] } },
  { what: 'subnets', spec: { subnetIDs: ['subnet-0123456789abcdef0', 'subnet-12345678'] } },
  ...['', 'vpc-1', 'subnet-', 'subnet-A'].map((id) => ({
    what: `the subnet ${JSON.stringify(id)}`,
    spec: { subnetIDs: ['subnet-1', id] },
    causes: [
      `spec.subnetIDs[1]: Invalid value: "${id}": not the id of a subnet in AWS; use an id such as subnet-0123456789abcdef0`,
    ],
  })),

  { what: '47 tags', spec: tags(...numbered(47)) },
  {
    what: '48 tags',
    spec: tags(...numbered(48)),
    causes: [
      'spec.additionalTags: Invalid value: more than 47 tags; AWS allows 50, and the controller sets three of them',
    ],
  },
  {
    what: 'every character that AWS allows in tags',
    spec: { additionalTags: { 'aZ9 _.:=+-@/': 'aZ9 _.:=+-@/', empty: '' } },
  },
  {
    what: 'letters, digits and spaces of any language in tags',
    spec: { additionalTags: { owner: 'Équipe Données', 所有者: '平台\u3000团队 ٣', 'Équipe 𝒳': 'é'.repeat(256) } },
  },
  { what: 'a key of 128 characters with more bytes', spec: tags('𝒳'.repeat(128)) },
  ...['a\tb', 'a\nb', 'a\u0301', '🙂'].map((value) => ({
    what: `the tag value ${JSON.stringify(value)}, which AWS does not allow`,
    spec: { additionalTags: { a: value } },
    causes: [
      `spec.additionalTags[a]: Invalid value: ${JSON.stringify(value)}: has a character that AWS does not allow; use ${ALLOWED}`,
    ],
  })),
  {
    what: 'the tag of another cluster tool',
    spec: tags('sigs.k8s.io/cluster-api-provider-aws/role', 'kubernetes.io/clusters'),
  },
  { what: 'a key of 128 characters', spec: tags('k'.repeat(128)) },
  {
    what: 'a key of 129 characters',
    spec: tags('k'.repeat(129)),
    causes: [
      `spec.additionalTags: Invalid value: tag key "${'k'.repeat(129)}" is empty or too long; use 1 to 128 characters`,
    ],
  },
  {
    what: 'an empty key',
    spec: tags(''),
    causes: ['spec.additionalTags: Invalid value: tag key "" is empty or too long; use 1 to 128 characters'],
  },
  ...['aws:name', 'AWS:name'].map((key) => ({
    what: `the tag ${key}`,
    spec: tags('fine', key),
    causes: [
      `spec.additionalTags: Invalid value: tag key "${key}" has the prefix aws:, which AWS reserves; use another key`,
    ],
  })),
  {
    what: 'a key with a character that AWS does not allow',
    spec: tags('a;b'),
    causes: [
      `spec.additionalTags: Invalid value: tag key "a;b" has a character that AWS does not allow; use ${ALLOWED}`,
    ],
  },
  ...['kubernetes.io/cluster/x', 'Kubernetes.io/Cluster/x', 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner'].map(
    (key) => ({
      what: `the tag ${key}`,
      spec: tags(key),
      causes: [`spec.additionalTags: Invalid value: tag key "${key}" ${RESERVED}`],
    }),
  ),
  {
    what: 'a tag without a value',
    spec: { additionalTags: { owner: null } },
    causes: [`spec.additionalTags: Invalid value: tag "owner" ${NO_VALUE}`],
  },
  { what: 'a tag of 256 characters', spec: { additionalTags: { a: 'v'.repeat(256) } } },
  {
    what: 'a tag of 257 characters',
    spec: { additionalTags: { a: 'v'.repeat(257) } },
    causes: [
      `spec.additionalTags[a]: Invalid value: "${'v'.repeat(257)}": longer than 256 characters; use at most 256`,
    ],
  },
  {
    what: 'a tag with a character that AWS does not allow',
    spec: { additionalTags: { a: 'b;c' } },
    causes: [`spec.additionalTags[a]: Invalid value: "b;c": has a character that AWS does not allow; use ${ALLOWED}`],
  },

  { what: 'an empty roleName', spec: { roleName: '' } },
  { what: 'a roleName of 64 characters', spec: { roleName: 'aZ9_+=,.@-'.padEnd(64, 'x') } },
  {
    what: 'a roleName of 65 characters',
    spec: { roleName: 'r'.repeat(65) },
    causes: [`spec.roleName: Invalid value: "${'r'.repeat(65)}": longer than 64 characters; use at most 64`],
  },
  {
    what: 'a roleName with its path',
    spec: { roleName: 'team/pods' },
    causes: [
      'spec.roleName: Invalid value: "team/pods": not the name of a role; use letters, digits and _ + = , . @ -, and put the path into rolePath',
    ],
  },
  ...['', '/', '/a/', '/a/b/'].map((rolePath) => ({
    what: `the rolePath ${JSON.stringify(rolePath)}`,
    spec: { rolePath },
  })),
  ...['a', '/a', 'a/', '/a b/'].map((rolePath) => ({
    what: `the rolePath ${JSON.stringify(rolePath)}`,
    spec: { rolePath },
    causes: [
      `spec.rolePath: Invalid value: "${rolePath}": not the path of a role; use a path that begins and ends with a slash, such as /team-a/`,
    ],
  })),
  { what: 'a rolePath of 512 characters', spec: { rolePath: `/${'p'.repeat(510)}/` } },
  {
    what: 'a rolePath of 513 characters',
    spec: { rolePath: `/${'p'.repeat(511)}/` },
    causes: [`spec.rolePath: Invalid value: "/${'p'.repeat(511)}/": longer than 512 characters; use at most 512`],
  },
  ...['', POLICY, 'arn:aws-cn:iam::123456789012:policy/team/boundary'].map((arn) => ({
    what: `the rolePermissionsBoundary ${JSON.stringify(arn)}`,
    spec: { rolePermissionsBoundary: arn },
  })),
  {
    what: 'a rolePermissionsBoundary that is a role',
    spec: { rolePermissionsBoundary: ROLE },
    causes: [`spec.rolePermissionsBoundary: Invalid value: "${ROLE}": ${NOT_A_POLICY}`],
  },
  {
    what: 'additional policies',
    spec: { roleAdditionalPolicies: [POLICY, 'arn:aws-us-gov:iam::123456789012:policy/x'] },
  },
  ...['CloudWatchLogsFullAccess', 'arn:aws:iam::1:policy/x'].map((arn) => ({
    what: `the additional policy ${arn}`,
    spec: { roleAdditionalPolicies: [POLICY, arn] },
    causes: [`spec.roleAdditionalPolicies[1]: Invalid value: "${arn}": ${NOT_A_POLICY}`],
  })),
  ...[ROLE, 'arn:aws-cn:iam::123456789012:role/team/pods'].map((roleARN) => ({
    what: `the roleARN ${roleARN}`,
    spec: { roleARN },
  })),
  ...['', 'pods', 'arn:aws:iam::123:role/pods', 'arn:aws:sts::123456789012:assumed-role/x/y'].map((roleARN) => ({
    what: `the roleARN ${JSON.stringify(roleARN)}`,
    spec: { roleARN },
    causes: [
      `spec.roleARN: Invalid value: "${roleARN}": not the ARN of an IAM role; use an ARN such as arn:aws:iam::123456789012:role/pods`,
    ],
  })),
  {
    what: 'roleARN with empty role fields',
    spec: { roleARN: ROLE, roleName: '', rolePath: '', rolePermissionsBoundary: '', roleAdditionalPolicies: [] },
  },
  ...(
    [
      ['roleName', 'pods'],
      ['rolePath', '/a/'],
      ['rolePermissionsBoundary', POLICY],
      ['roleAdditionalPolicies', [POLICY]],
    ] as const
  ).map(([field, value]) => ({
    what: `roleARN with ${field}`,
    spec: { roleARN: ROLE, [field]: value },
    causes: [`spec.roleARN: Forbidden: ${BESIDE_ARN}`],
  })),

  ...['Delete', 'Retain'].map((deletionPolicy) => ({
    what: `deletionPolicy ${deletionPolicy}`,
    spec: { deletionPolicy },
  })),
  ...['Owned', 'Always', 'Never'].map((adoptionPolicy) => ({
    what: `adoptionPolicy ${adoptionPolicy}`,
    spec: { adoptionPolicy },
  })),
  { what: 'updateStrategy Reject', spec: { updateStrategy: { type: 'Reject' } } },
  ...['', '0s', '30m', '1h30m', '1.5h', '168h'].map((keepPredecessorFor) => ({
    what: `updateStrategy Replace with keepPredecessorFor "${keepPredecessorFor}"`,
    spec: { updateStrategy: { type: 'Replace', replace: { keepPredecessorFor } } },
  })),
  ...['168h1s', '-5m', '10', '1d', 'soon'].map((keepPredecessorFor) => ({
    what: `keepPredecessorFor "${keepPredecessorFor}"`,
    spec: { updateStrategy: { replace: { keepPredecessorFor } } },
    causes: [
      `spec.updateStrategy.replace.keepPredecessorFor: Invalid value: "${keepPredecessorFor}": not a duration of at most 168h; use for example 30m or 1h30m`,
    ],
  })),
];

/**
 * The API server adds this cause when it refuses an object that violates the structural schema of the CRD. The cause
 * means that the API server has not run the validation rules of the CRD.
 */
export const UNCHECKED =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the ' +
  'existing errors to complete validation';

/** AWSFargateProfiles that violate the structural schema of the CRD, with the error messages of the API server. */
export const MALFORMED: readonly Case[] = [
  {
    what: 'a number for a name',
    spec: { clusterName: 7 },
    causes: ['spec.clusterName: Invalid value: "integer": spec.clusterName in body must be of type string: "integer"'],
  },
  {
    what: 'text for a list',
    spec: { selectors: 'default' },
    causes: ['spec.selectors: Invalid value: "string": spec.selectors in body must be of type array: "string"'],
  },
  {
    what: 'a number for a label',
    spec: selector({ labels: { a: 1 } }),
    causes: [
      'spec.selectors[0].labels.a: Invalid value: "integer": spec.selectors[0].labels.a in body must be of type string: "integer"',
    ],
  },
  {
    what: 'a selector without a value',
    spec: { selectors: [{ namespace: 'a' }, null] },
    causes: ['spec.selectors[1]: Invalid value: "null": spec.selectors[1] in body must be of type object: "null"'],
  },
  {
    what: 'a subnet without a value',
    spec: { subnetIDs: [null] },
    causes: ['spec.subnetIDs[0]: Invalid value: "null": spec.subnetIDs[0] in body must be of type string: "null"'],
  },
  {
    what: 'an unknown updateStrategy',
    spec: { updateStrategy: { type: 'Recreate' } },
    causes: ['spec.updateStrategy.type: Unsupported value: "Recreate": supported values: "Reject", "Replace"'],
  },
  {
    what: 'an unknown deletionPolicy',
    spec: { deletionPolicy: 'Orphan' },
    causes: ['spec.deletionPolicy: Unsupported value: "Orphan": supported values: "Delete", "Retain"'],
  },
  {
    what: 'an unknown adoptionPolicy',
    spec: { adoptionPolicy: 'IfOwned' },
    causes: ['spec.adoptionPolicy: Unsupported value: "IfOwned": supported values: "Owned", "Always", "Never"'],
  },
];
