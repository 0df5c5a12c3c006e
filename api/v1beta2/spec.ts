import { list, map, object, oneOf, optional, optionalText, string, text, type TypeOf } from 'controller-runtime/schema';
import { ClusterName, ProfileName, RoleArn, RoleName, EksClusterName } from '../names.ts';
import {
  CLUSTER_NAME_RULES,
  EKS_CLUSTER_NAME_RULES,
  EKS_CLUSTER_RULES,
  IDENTITY_NAME_RULES,
  IDENTITY_REF_RULES,
  REGION_RULES,
} from './cluster-validation-rules.ts';
import {
  LABELS_RULES,
  LONGEST_DRAIN,
  MAX_ADDITIONAL_TAGS,
  MAX_DURATION_TEXT,
  LABEL_VALUE_RULES,
  NAMESPACE_RULES,
  POLICY_ARN_RULES,
  PROFILE_NAME_RULES,
  DRAIN_RULES,
  KEEP_RULES,
  ROLE_ARN_RULES,
  ROLE_NAME_RULES,
  ROLE_PATH_RULES,
  SELECTORS_RULES,
  SELECTOR_RULES,
  SPEC_RULES,
  SUBNET_ID_RULES,
  TAGS_RULES,
  TAG_VALUE_RULES,
} from './validation-rules.ts';

const IMMUTABLE = 'Immutable once the profile is provisioned.';
const REPLACED = 'Immutable once the profile is provisioned, unless updateStrategy.type is Replace.';

/** These bounds only limit the API server's cost estimate for CEL rules. Some rules enforce lower limits. */
export const WIDE = { text: 1024, labelValue: 128, arn: 2048, list: 100, subnets: 1000, tags: 200 };

export const Selector = object(
  {
    namespace: optional(
      string({
        description:
          'The namespace of the pods. Required. The wildcards * (any characters) and ? (one character) are allowed.',
        maxLength: WIDE.text,
        rules: NAMESPACE_RULES,
      }),
    ),
    labels: optional(
      map(string({ nullable: true, maxLength: WIDE.labelValue, rules: LABEL_VALUE_RULES }), {
        description:
          'A pod matches only if it has all of these labels. Default: every pod in the namespace matches. The wildcards * and ? ' +
          'are allowed in keys and values. EKS allows five labels per selector; AWS raises this quota on request.',
        maxProperties: WIDE.list,
        rules: LABELS_RULES,
      }),
    ),
  },
  { description: 'Selects pods by namespace and labels.', rules: SELECTOR_RULES },
);
export interface Selector extends TypeOf<typeof Selector> {}

const IdentityRef = object(
  {
    kind: string({
      description: 'AWSClusterControllerIdentity, AWSClusterRoleIdentity, or AWSClusterStaticIdentity.',
      wanted: 'AWSClusterControllerIdentity, AWSClusterRoleIdentity, or AWSClusterStaticIdentity',
      maxLength: WIDE.text,
    }),
    name: string({
      description: 'The name of the identity object.',
      wanted: 'the name of the identity object',
      maxLength: WIDE.text,
      rules: IDENTITY_NAME_RULES,
    }),
  },
  {
    description:
      'The Cluster API Provider AWS identity whose credentials the controller uses; its allowedNamespaces must ' +
      "allow this object's namespace. Default: the controller's own credentials, under the rules of the " +
      'AWSClusterControllerIdentity "default" if there is one. Can be changed at any time.',
    rules: IDENTITY_REF_RULES,
  },
);

const EksClusterReference = object(
  {
    name: text(EksClusterName, {
      description: 'The name of the cluster in EKS. Required. Immutable.',
      wanted: 'the name of the cluster in EKS',
      maxLength: WIDE.text,
      rules: EKS_CLUSTER_NAME_RULES,
    }),
    region: optionalText(
      string({
        description: "The AWS region of the EKS cluster. Default: the manager's region. Immutable.",
        maxLength: WIDE.text,
        rules: REGION_RULES,
      }),
    ),
    identityRef: optional(IdentityRef),
  },
  {
    description:
      'An EKS cluster that Cluster API does not manage. The administrator must allow it for the namespace with the ' +
      'flag --allow-eks-cluster. For a cluster that Cluster API manages, use clusterName.',
    rules: EKS_CLUSTER_RULES,
  },
);

const UpdateStrategyType = oneOf(['Reject', 'Replace'], {
  description:
    'How the controller handles a change to selectors, subnetIDs, profileName, roleARN, or roleName. EKS cannot make ' +
    'these changes to an existing profile. Reject: the API server rejects the change once the profile is provisioned. Replace: the controller creates a ' +
    "new profile, and deletes the old profile when the new one is ACTIVE; EKS then stops the old profile's pods immediately, " +
    'without regard to PodDisruptionBudgets. Default: Reject. Can be changed at any time.',
});

const Replace = object(
  {
    keepPredecessorFor: optional(
      string({
        description:
          'How long the old profile remains after the new profile has become ACTIVE: a duration such as 30m or ' +
          '1h30m, at most 168h. The controller waits at least 30 seconds. Default: 0s.',
        maxLength: MAX_DURATION_TEXT,
        rules: KEEP_RULES,
      }),
    ),
    drainTimeout: optional(
      string({
        description:
          "Evict the old profile's pods before the profile is deleted, as kubectl drain does, and wait for them and for their " +
          `PodDisruptionBudgets for at most this long: a duration such as 10m or 1h30m, at most ${LONGEST_DRAIN}. The controller evicts only ` +
          "pods that the new profile takes and that have a controller other than a Job. The controller's AWS identity needs " +
          'access to the EKS cluster: see docs/drain.md. Default: no eviction.',
        maxLength: MAX_DURATION_TEXT,
        rules: DRAIN_RULES,
      }),
    ),
  },
  { description: 'Settings of the Replace strategy.' },
);

const UpdateStrategy = object(
  { type: optional(UpdateStrategyType), replace: optional(Replace) },
  { description: 'How the controller handles changes that EKS cannot make to an existing profile.' },
);

// No default: after another provider's CRD has dropped `Retain`, a default `Delete` would override the annotation
// aws-fargate.cluster.x-k8s.io/retain, in which the controller repeats `Retain`.
const DeletionPolicy = oneOf(['Delete', 'Retain'], {
  description:
    'What happens in AWS when this object is deleted. Delete: the controller deletes the profile, and the role if the controller ' +
    'created or adopted it. Retain: the profile and the role remain, with their tags, and a new object with the same name uses them again; EKS does ' +
    'not delete a cluster that still has profiles. Default: Delete, unless the object has the annotation ' +
    'aws-fargate.cluster.x-k8s.io/retain, which the controller sets for Retain. Can be changed at any time.',
});

export const AdoptionPolicy = oneOf(['Owned', 'Always', 'Never'], {
  description:
    'What happens if EKS already has a profile with this name. Owned: the controller adopts the profile if its tags say that ' +
    'it belongs to this object, or that Cluster API Provider AWS created it for this object. Always: the controller also ' +
    'adopts a profile that has no owner tag and equals the spec, including the role. Never: the controller does not change an ' +
    'existing profile, even with matching tags. An adopted profile is deleted with the object.',
  default: 'Owned',
});
export type AdoptionPolicy = TypeOf<typeof AdoptionPolicy>;

export const AWSFargateProfileSpec = object(
  {
    clusterName: optionalText(
      text(ClusterName, {
        description:
          "The name of the profile's Cluster, in the same namespace. Set exactly one of clusterName and eksCluster. Immutable.",
        maxLength: WIDE.text,
        rules: CLUSTER_NAME_RULES,
      }),
    ),
    eksCluster: optional(EksClusterReference),
    profileName: optionalText(
      text(ProfileName, {
        description:
          'The name of the profile in EKS. Default: the name in status.profileName, as long as that profile belongs to this ' +
          'object; otherwise <namespace>_<name>, or a hash of it if it is too long. At most 100 letters, digits, hyphens, and underscores. If several profiles match a ' +
          `pod, EKS uses the profile whose name sorts first. ${REPLACED}`,
        maxLength: WIDE.text,
        rules: PROFILE_NAME_RULES,
      }),
    ),
    selectors: optional(
      list(Selector, {
        description:
          'The pods that run on Fargate: a pod must match one of the selectors when it is created. At least one selector is ' +
          `required. EKS allows five; AWS raises this quota on request. ${REPLACED}`,
        maxItems: WIDE.list,
        'x-kubernetes-list-type': 'atomic',
        rules: SELECTORS_RULES,
      }),
    ),
    subnetIDs: optional(
      list(
        string({ description: 'The ID of a private subnet in AWS.', maxLength: WIDE.text, rules: SUBNET_ID_RULES }),
        {
          description:
            'The IDs of the private subnets in which the pods run. Default, also if empty: the private subnets that the ' +
            'control plane has when the profile is created; with eksCluster, the subnets that EKS chooses. status.subnets shows ' +
            `them. ${REPLACED}`,
          maxItems: WIDE.subnets,
          'x-kubernetes-list-type': 'atomic',
        },
      ),
    ),
    additionalTags: optional(
      map(string({ nullable: true, maxLength: WIDE.text, rules: TAG_VALUE_RULES }), {
        description:
          'Additional tags of the profile, and of the role if the controller created or adopted it. The additionalTags of the control ' +
          "plane and the controller's own tags are set too. IAM ignores the case of letters in keys, so two keys that differ " +
          `only in case must have the same value, unless roleARN is set. At most ${MAX_ADDITIONAL_TAGS}. Can be changed at any time; the ` +
          'controller removes only tags that it has set.',
        maxProperties: WIDE.tags,
        rules: TAGS_RULES,
      }),
    ),
    roleARN: optionalText(
      text(RoleArn, {
        description:
          'The ARN of an existing IAM role to use as the pod execution role. The controller never changes or deletes it. ' +
          'Its path must be / if the cluster authenticates by the aws-auth ConfigMap only. Default: the role of roleName. Cannot be combined with roleName, rolePath, rolePermissionsBoundary, or ' +
          `roleAdditionalPolicies. ${REPLACED}`,
        maxLength: WIDE.arn,
        rules: ROLE_ARN_RULES,
      }),
    ),
    roleName: optionalText(
      text(RoleName, {
        description:
          'The name of the pod execution role, without its path. If the role does not exist, the controller creates it, and ' +
          'deletes it with the object. The controller uses an existing role that it does not own, but never changes or ' +
          'deletes it. It never creates a role with the name of the role that Cluster API Provider AWS shares between ' +
          'profiles, eks-fargate.cluster-api-provider-aws.sigs.k8s.io. Default: a computed name, which status.role.name shows. At most 64 characters. ' +
          REPLACED,
        maxLength: WIDE.text,
        rules: ROLE_NAME_RULES,
      }),
    ),
    rolePath: optionalText(
      string({
        description:
          'The path of the role that the controller creates, such as /team-a/. Default: /. At most 512 characters. If ' +
          `the cluster authenticates by the aws-auth ConfigMap only, the path must be /. Immutable once the profile is provisioned, unless updateStrategy.type is Replace and roleName changes too.`,
        maxLength: WIDE.text,
        rules: ROLE_PATH_RULES,
      }),
    ),
    rolePermissionsBoundary: optionalText(
      string({
        description:
          'The ARN of a managed policy: the permissions boundary of the role that the controller creates. Default: none. See ' +
          `https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html. ${IMMUTABLE}`,
        maxLength: WIDE.arn,
        rules: POLICY_ARN_RULES,
      }),
    ),
    roleAdditionalPolicies: optional(
      list(string({ description: 'The ARN of a managed policy.', maxLength: WIDE.arn, rules: POLICY_ARN_RULES }), {
        description:
          'The ARNs of additional managed policies for the role that the controller creates, for example to send logs to ' +
          'CloudWatch. Default: none; AmazonEKSFargatePodExecutionRolePolicy is always attached. Can be changed at any time.',
        maxItems: WIDE.list,
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
    updateStrategy: optional(UpdateStrategy),
    deletionPolicy: optional(DeletionPolicy),
    adoptionPolicy: optional(AdoptionPolicy),
  },
  {
    description: "The desired state of the profile in EKS and of its pods' role.",
    wanted: 'selectors, and clusterName or eksCluster',
    rules: SPEC_RULES,
  },
);
export interface AWSFargateProfileSpec extends TypeOf<typeof AWSFargateProfileSpec> {}
