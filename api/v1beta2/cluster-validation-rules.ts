import type { Rule } from 'controller-runtime/schema';

// A new object must set exactly one of spec.clusterName and spec.eksCluster. While CAPA's CRD without eksCluster is
// installed, the API server drops eksCluster. So the rules accept later updates of an object that has lost the field,
// and a user can set the field again.

export const CREATE_ANOTHER = 'create another AWSFargateProfile instead';

export const required = (field: string, rule: string, message: string): Rule => ({
  rule,
  message,
  fieldPath: `.${field}`,
  reason: 'FieldValueRequired',
});

const immutable = (field: string): Rule => ({
  rule: 'self == oldSelf',
  message: `${field} is immutable; ${CREATE_ANOTHER}`,
  messageExpression: `'${field} is immutable: "' + oldSelf + '" cannot become "' + self + '"; ${CREATE_ANOTHER}'`,
  reason: 'FieldValueForbidden',
});

export const isEmpty = (field: string): string => `(!has(${field}) || ${field} == '')`;

const hasClusterName = (spec: string): string => `(has(${spec}.clusterName) && ${spec}.clusterName != '')`;

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names */
const OBJECT_NAME = String.raw`'^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'`;
const OBJECT_NAME_FORM =
  'use lower-case letters, digits, hyphens, and dots, with a letter or digit at the beginning and the end of each part';

/** Cluster API refuses a Cluster whose name cannot be the value of the label cluster.x-k8s.io/cluster-name. */
export const CLUSTER_NAME_RULES: readonly Rule[] = [
  immutable('clusterName'),
  { rule: 'size(self) <= 63', message: 'no Cluster has this name: it is longer than 63 characters' },
  {
    rule: `self == '' || self.matches(${OBJECT_NAME})`,
    message: `no Cluster can have this name; ${OBJECT_NAME_FORM}`,
  },
];

/** A spec must have exactly one of the fields clusterName and eksCluster. */
export const CLUSTER_CHOICE_RULES: readonly Rule[] = [
  {
    ...required(
      'clusterName',
      `${hasClusterName('self')} || has(self.eksCluster) || ` +
        `(oldSelf.hasValue() && !${hasClusterName('oldSelf.value()')} && !has(oldSelf.value().eksCluster))`,
      'missing; set it to the name of a Cluster in the same namespace, or set eksCluster',
    ),
    optionalOldSelf: true,
  },
  {
    rule: `!${hasClusterName('self')} || !has(self.eksCluster)`,
    message: 'cannot be combined with clusterName; set one of the two',
    fieldPath: '.eksCluster',
    reason: 'FieldValueForbidden',
  },
  {
    rule: `!${hasClusterName('oldSelf')} || ${hasClusterName('self')} || !has(self.eksCluster)`,
    message: `cannot replace clusterName, which is immutable; ${CREATE_ANOTHER}`,
    fieldPath: '.eksCluster',
    reason: 'FieldValueForbidden',
  },
  {
    rule: `!has(oldSelf.eksCluster) || has(self.eksCluster) || !${hasClusterName('self')}`,
    message: `cannot replace eksCluster, which is immutable; ${CREATE_ANOTHER}`,
    fieldPath: '.clusterName',
    reason: 'FieldValueForbidden',
  },
];

export const EKS_CLUSTER_RULES: readonly Rule[] = [
  required('name', `has(self.name) && self.name != ''`, 'missing; set it to the name of the cluster in EKS'),
];

/** https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html */
export const EKS_CLUSTER_NAME_RULES: readonly Rule[] = [
  immutable('name'),
  { rule: 'size(self) <= 100', message: 'longer than 100 characters; use at most 100' },
  {
    rule: `self == '' || self.matches('^[0-9A-Za-z][A-Za-z0-9_-]*$')`,
    message: 'not the name of a cluster in EKS; use letters, digits, hyphens, and underscores',
  },
];

export const REGION_RULES: readonly Rule[] = [
  {
    rule: `self == '' || self.matches('^[a-z]+(-[a-z0-9]+)+$')`,
    message: 'not the name of an AWS region; use a name such as eu-west-1',
  },
];

export const IDENTITY_NAME_RULES: readonly Rule[] = [
  {
    rule: `self == '' || self.matches(${OBJECT_NAME})`,
    message: `no identity can have this name; ${OBJECT_NAME_FORM}`,
  },
];

export const IDENTITY_REF_RULES: readonly Rule[] = [
  required('name', `has(self.name) && self.name != ''`, 'missing; set it to the name of the identity object'),
  required(
    'kind',
    `has(self.kind) && self.kind in ['AWSClusterControllerIdentity', 'AWSClusterRoleIdentity', 'AWSClusterStaticIdentity']`,
    'not a kind of identity; use AWSClusterControllerIdentity, AWSClusterRoleIdentity or AWSClusterStaticIdentity',
  ),
  {
    rule: `!has(self.kind) || self.kind != 'AWSClusterControllerIdentity' || !has(self.name) || self.name in ['', 'default']`,
    message: 'an AWSClusterControllerIdentity always has the name default',
    fieldPath: '.name',
  },
];

/** A CEL expression for the region in spec.eksCluster, or in status if the spec does not set a region. */
const regionOf = (object: string): string =>
  `(!${isEmpty(`${object}.spec.eksCluster.region`)} ? ${object}.spec.eksCluster.region : ` +
  `has(oldSelf.status) && has(oldSelf.status.region) ? oldSelf.status.region : '')`;

/** This rule is on the whole object, because only there can CEL read status. */
export const REGION_IMMUTABLE: Rule = {
  rule:
    '!has(self.spec) || !has(oldSelf.spec) || !has(self.spec.eksCluster) || !has(oldSelf.spec.eksCluster) || ' +
    `${regionOf('self')} == ${regionOf('oldSelf')}`,
  message: `region is immutable; ${CREATE_ANOTHER}`,
  fieldPath: '.spec.eksCluster.region',
  reason: 'FieldValueForbidden',
};

/**
 * A CEL expression for updates that restore a spec.eksCluster that another provider's CRD has dropped. It refuses such
 * an update if `<field>` and `status.<known>` are both set and differ. It accepts every other update.
 */
const equalsStatusIfRestored = (field: string, known: string): string =>
  '!has(self.spec) || !has(oldSelf.spec) || !has(self.spec.eksCluster) || has(oldSelf.spec.eksCluster) || ' +
  `!has(self.spec.eksCluster.${field}) || !has(oldSelf.status) || !has(oldSelf.status.${known}) || ` +
  `self.spec.eksCluster.${field} == oldSelf.status.${known}`;

/**
 * If another provider's CRD has dropped an object's spec.eksCluster, a user can restore the field only with its former
 * value, which the rules read from status. If the status is lost too, the controller compares the value with the
 * location in the annotation `aws-fargate.cluster.x-k8s.io/record`.
 */
export const GAINED_EKS_CLUSTER_RULES: readonly Rule[] = [
  {
    rule: equalsStatusIfRestored('name', 'eksClusterName'),
    message: 'another EKS cluster than before; set it to status.eksClusterName',
    fieldPath: '.spec.eksCluster.name',
    reason: 'FieldValueForbidden',
  },
  {
    rule: equalsStatusIfRestored('region', 'region'),
    message: 'another region than before; set it to status.region',
    fieldPath: '.spec.eksCluster.region',
    reason: 'FieldValueForbidden',
  },
];
