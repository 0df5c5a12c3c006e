export type Spec = Readonly<Record<string, unknown>>;

const NO_SELECTOR = 'Fargate Profile requires at least one selector.';
const NO_NAMESPACE = 'Fargate Profile must have at least one selector with at least one namespace value.';
const BAD_NAME =
  'The Fargate profile name parameter contains invalid characters. It should begin with letter or digit and can have ' +
  'any of the following characters: the set of Unicode letters, digits, hyphens and underscores.';
const ALLOWED = 'letters, digits, spaces and _ . : / = + - @';
const OURS = 'This tag is set by the controller, which tells by it what it owns';
const BESIDE_ARN =
  'A role given by its ARN is used as it is: roleName, rolePath, rolePermissionsBoundary and roleAdditionalPolicies ' +
  'must not be set beside it.';
const NOT_A_POLICY =
  'This is not the ARN of a managed policy, such as arn:aws:iam::aws:policy/CloudWatchLogsFullAccess.';
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
  /** `field: message` of each cause; nothing: accepted. */
  readonly causes?: readonly string[];
}

/** Each as the spec of a new object, over a spec that is right. `undefined` takes a field out. */
export const CREATIONS: readonly Case[] = [
  { what: 'what is needed and nothing else', spec: {} },
  {
    what: 'no clusterName',
    spec: { clusterName: undefined },
    causes: ['spec.clusterName: Required value: The name of the Cluster that the profile belongs to is missing.'],
  },
  {
    what: 'an empty clusterName',
    spec: { clusterName: '' },
    causes: ['spec.clusterName: Required value: The name of the Cluster that the profile belongs to is missing.'],
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
    what: 'six selectors, for accounts of which AWS raised the quota',
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
  ...['Upper', '-a', 'a-', 'a.b', 'a b'].map((namespace) => ({
    what: `the namespace ${JSON.stringify(namespace)}`,
    spec: selector({ namespace }),
    causes: [
      `spec.selectors[0].namespace: Invalid value: ${JSON.stringify(namespace)}: The namespace provided is invalid.`,
    ],
  })),
  {
    what: 'wildcards and prefixes in labels',
    spec: selector({ labels: { 'app.kubernetes.io/name': '*', 'a?/B*': 'x', '*': '' } }),
  },
  {
    what: 'six labels, for accounts of which AWS raised the quota',
    spec: selector({ labels: { a: '', b: '', c: '', d: '', e: '', f: '' } }),
  },
  ...['-a', 'a/b/c', 'a b', '', 'UPPER/a'].map((key) => ({
    what: `the label ${JSON.stringify(key)}`,
    spec: selector({ labels: { [key]: 'x' } }),
    causes: ['spec.selectors[0].labels: Invalid value: Selector label provided is invalid.'],
  })),

  { what: 'an empty profileName', spec: { profileName: '' } },
  { what: 'a profileName of letters and digits of any script', spec: { profileName: 'Größe_9-東京' } },
  { what: 'a profileName of 100 characters that are 200 bytes', spec: { profileName: 'ö'.repeat(100) } },
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
  { what: 'the reserved prefix in other letters', spec: { profileName: 'EKS-x' } },
  ...['-a', '_a', 'a.b', 'a b', 'a/b'].map((profileName) => ({
    what: `the profileName ${JSON.stringify(profileName)}`,
    spec: { profileName },
    causes: [`spec.profileName: Invalid value: "${profileName}": ${BAD_NAME}`],
  })),

  { what: 'no subnets and an empty list of them', spec: { subnetIDs: [] } },
  { what: 'subnets', spec: { subnetIDs: ['subnet-0123456789abcdef0', 'subnet-12345678'] } },
  ...['', 'vpc-1', 'subnet-', 'subnet-A'].map((id) => ({
    what: `the subnet ${JSON.stringify(id)}`,
    spec: { subnetIDs: ['subnet-1', id] },
    causes: [
      `spec.subnetIDs[1]: Invalid value: "${id}": A subnet is named by its id in AWS, such as subnet-0123456789abcdef0.`,
    ],
  })),

  { what: '48 tags', spec: tags(...numbered(48)) },
  {
    what: '49 tags',
    spec: tags(...numbered(49)),
    causes: ['spec.additionalTags: Invalid value: At most 48 tags: AWS allows 50, and the controller adds two.'],
  },
  {
    what: 'every character that tags can have',
    spec: { additionalTags: { 'aZ9 _.:=+-@/': 'aZ9 _.:=+-@/', empty: '' } },
  },
  {
    what: 'the tag of another cluster tool',
    spec: tags('sigs.k8s.io/cluster-api-provider-aws/role', 'kubernetes.io/clusters'),
  },
  { what: 'a key of 128 characters', spec: tags('k'.repeat(128)) },
  {
    what: 'a key of 129 characters',
    spec: tags('k'.repeat(129)),
    causes: [`spec.additionalTags: Invalid value: The key of a tag has 1 to 128 characters: "${'k'.repeat(129)}"`],
  },
  {
    what: 'an empty key',
    spec: tags(''),
    causes: ['spec.additionalTags: Invalid value: The key of a tag has 1 to 128 characters: ""'],
  },
  ...['aws:name', 'AWS:name'].map((key) => ({
    what: `the tag ${key}`,
    spec: tags('fine', key),
    causes: [`spec.additionalTags: Invalid value: The prefix aws: is reserved by AWS: "${key}"`],
  })),
  {
    what: 'a key with a character that tags cannot have',
    spec: tags('a;b'),
    causes: [`spec.additionalTags: Invalid value: The key of a tag can have ${ALLOWED}: "a;b"`],
  },
  ...['kubernetes.io/cluster/x', 'Kubernetes.io/Cluster/x', 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner'].map(
    (key) => ({
      what: `the tag ${key}`,
      spec: tags(key),
      causes: [`spec.additionalTags: Invalid value: ${OURS}: "${key}"`],
    }),
  ),
  { what: 'a tag of 256 characters', spec: { additionalTags: { a: 'v'.repeat(256) } } },
  {
    what: 'a tag of 257 characters',
    spec: { additionalTags: { a: 'v'.repeat(257) } },
    causes: [
      `spec.additionalTags[a]: Invalid value: "${'v'.repeat(257)}": The value of a tag has at most 256 characters.`,
    ],
  },
  {
    what: 'a tag with a character that tags cannot have',
    spec: { additionalTags: { a: 'b;c' } },
    causes: [`spec.additionalTags[a]: Invalid value: "b;c": The value of a tag can have ${ALLOWED}.`],
  },

  { what: 'an empty roleName', spec: { roleName: '' } },
  { what: 'a roleName of 64 characters', spec: { roleName: 'aZ9_+=,.@-'.padEnd(64, 'x') } },
  {
    what: 'a roleName of 65 characters',
    spec: { roleName: 'r'.repeat(65) },
    causes: [`spec.roleName: Invalid value: "${'r'.repeat(65)}": The name of a role has at most 64 characters.`],
  },
  {
    what: 'a roleName with its path',
    spec: { roleName: 'team/pods' },
    causes: [
      'spec.roleName: Invalid value: "team/pods": The name of a role, given without its path, can have letters, digits and _ + = , . @ -.',
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
      `spec.rolePath: Invalid value: "${rolePath}": The path of a role begins and ends with a slash, such as /team-a/.`,
    ],
  })),
  { what: 'a rolePath of 512 characters', spec: { rolePath: `/${'p'.repeat(510)}/` } },
  {
    what: 'a rolePath of 513 characters',
    spec: { rolePath: `/${'p'.repeat(511)}/` },
    causes: [`spec.rolePath: Invalid value: "/${'p'.repeat(511)}/": The path of a role has at most 512 characters.`],
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
      `spec.roleARN: Invalid value: "${roleARN}": This is not the ARN of an IAM role, such as arn:aws:iam::123456789012:role/pods.`,
    ],
  })),
  {
    what: 'roleARN beside empty fields of a role',
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
    what: `roleARN beside ${field}`,
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
];

/** What the server adds when the structure is violated: then it runs no rules. */
export const UNCHECKED =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the ' +
  'existing errors to complete validation';

/** Violations of the structure: in the server's own words. */
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
    what: 'an updateStrategy that is not there yet',
    spec: { updateStrategy: { type: 'Replace' } },
    causes: ['spec.updateStrategy.type: Unsupported value: "Replace": supported values: "Reject"'],
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
