import { ClusterName, ProfileName, RoleArn, RoleName } from '../names.ts';
import { list, map, object, oneOf, optional, optionalText, string, text } from '../schema/field.ts';
import type { TypeOf } from '../schema/field.ts';
import {
  CLUSTER_NAME_RULES,
  LABELS_RULES,
  NAMESPACE_RULES,
  POLICY_ARN_RULES,
  PROFILE_NAME_RULES,
  ROLE_ARN_RULES,
  ROLE_NAME_RULES,
  ROLE_PATH_RULES,
  SELECTORS_RULES,
  SELECTOR_RULES,
  SPEC_RULES,
  SUBNET_ID_RULES,
  TAGS_RULES,
  TAG_VALUE_RULES,
} from './rules.ts';

const IMMUTABLE = 'Immutable once the profile was provisioned.';

/** For the cost estimator alone: see rules.ts. */
const WIDE = { text: 1024, arn: 2048, list: 100, subnets: 1000, tags: 200 };

export const Selector = object(
  {
    namespace: optional(
      string({
        description:
          'The namespace of the pods; required. The wildcards * (any characters) and ? (exactly one) are allowed.',
        maxLength: WIDE.text,
        rules: NAMESPACE_RULES,
      }),
    ),
    labels: optional(
      map(string({ maxLength: WIDE.text }), {
        description:
          'The labels that a pod must carry, all of them. Absent: any pod of the namespace. The wildcards * and ? are ' +
          'allowed in keys and values. EKS takes five labels a selector unless AWS raised that quota.',
        maxProperties: WIDE.list,
        rules: LABELS_RULES,
      }),
    ),
  },
  { description: 'Selects pods by namespace and labels.', rules: SELECTOR_RULES },
);
export interface Selector extends TypeOf<typeof Selector> {}

export const UpdateStrategyType = oneOf(['Reject'], {
  description:
    'Reject: once the profile was provisioned, a change of a field that EKS cannot change is refused. Create another ' +
    'object for the new profile, and delete this one when the pods have moved.',
  default: 'Reject',
});
export type UpdateStrategyType = TypeOf<typeof UpdateStrategyType>;

export const UpdateStrategy = object(
  { type: optional(UpdateStrategyType) },
  { description: 'What happens when a field is changed that EKS cannot change in an existing profile.' },
);
export interface UpdateStrategy extends TypeOf<typeof UpdateStrategy> {}

// No schema default: an absent field may be one that another CRD dropped, and then the annotation that mirrors Retain counts.
export const DeletionPolicy = oneOf(['Delete', 'Retain'], {
  description:
    'What happens in AWS when this object is deleted. Delete: the profile goes, and the role if this controller made it. ' +
    'Retain: both stay, with their tags, and an object of the same name finds them again. Absent means Delete, unless ' +
    'the annotation aws-fargate.cluster.x-k8s.io/retain is there, which the controller sets beside Retain. An EKS cluster ' +
    'that still has profiles cannot be deleted.',
});
export type DeletionPolicy = TypeOf<typeof DeletionPolicy>;

export const AdoptionPolicy = oneOf(['Owned', 'Always', 'Never'], {
  description:
    'What happens when EKS already has a profile of this name. Owned: it is taken over if its tags say that it belongs to ' +
    'this object, or that Cluster API Provider AWS made it for this object. Always: also if it belongs to nobody and ' +
    'equals the spec, its role included. Never: it is left alone, whatever its tags. A profile that was taken over is ' +
    'deleted with the object.',
  default: 'Owned',
});
export type AdoptionPolicy = TypeOf<typeof AdoptionPolicy>;

export const AWSFargateProfileSpec = object(
  {
    clusterName: text(ClusterName, {
      description: 'The name of the Cluster, in the same namespace, that the profile belongs to; required. Immutable.',
      maxLength: WIDE.text,
      rules: CLUSTER_NAME_RULES,
    }),
    profileName: optionalText(
      text(ProfileName, {
        description:
          'The name of the profile in EKS. Absent: computed as <namespace>_<name>, or as a hash of that if it is too ' +
          `long; status.profileName shows it. If several profiles match a pod, EKS takes the first by name. ${IMMUTABLE}`,
        maxLength: WIDE.text,
        rules: PROFILE_NAME_RULES,
      }),
    ),
    selectors: optional(
      list(Selector, {
        description:
          'Which pods run on Fargate: those that match any of the selectors; at least one is required. EKS takes five ' +
          `unless AWS raised that quota. ${IMMUTABLE}`,
        maxItems: WIDE.list,
        'x-kubernetes-list-type': 'atomic',
        rules: SELECTORS_RULES,
      }),
    ),
    subnetIDs: optional(
      list(
        string({ description: 'The id of a private subnet in AWS.', maxLength: WIDE.text, rules: SUBNET_ID_RULES }),
        {
          description:
            'The private subnets that the pods run in, by their ids in AWS. Absent or empty: the private subnets of the ' +
            `cluster's control plane. ${IMMUTABLE}`,
          maxItems: WIDE.subnets,
          'x-kubernetes-list-type': 'atomic',
        },
      ),
    ),
    additionalTags: optional(
      map(string({ maxLength: WIDE.text, rules: TAG_VALUE_RULES }), {
        description:
          'Tags for the profile, and for the role if this controller made it, beside those of the control plane and the ' +
          "controller's own. Can be changed at any time; a tag that was set outside of the controller is never removed.",
        maxProperties: WIDE.tags,
        rules: TAGS_RULES,
      }),
    ),
    roleARN: optionalText(
      text(RoleArn, {
        description:
          'The ARN of an existing IAM role to use as pod execution role. It is used as it is, and never changed or ' +
          'deleted. Excludes roleName, rolePath, rolePermissionsBoundary and roleAdditionalPolicies. ' +
          IMMUTABLE,
        maxLength: WIDE.arn,
        rules: ROLE_ARN_RULES,
      }),
    ),
    roleName: optionalText(
      text(RoleName, {
        description:
          'The name of the pod execution role. If there is such a role and it is not of this controller, it is used as ' +
          'it is, and never changed or deleted; if there is none, it is made and later deleted. Absent: a role is made ' +
          `for this profile under a computed name, which status.role.name shows. ${IMMUTABLE}`,
        maxLength: WIDE.text,
        rules: ROLE_NAME_RULES,
      }),
    ),
    rolePath: optionalText(
      string({
        description:
          'The path of the role that is made, such as /team-a/. Absent: /. In clusters that authenticate by the ' +
          `aws-auth ConfigMap alone, a role with another path than / cannot be used. ${IMMUTABLE}`,
        maxLength: WIDE.text,
        rules: ROLE_PATH_RULES,
      }),
    ),
    rolePermissionsBoundary: optionalText(
      string({
        description:
          'The ARN of the managed policy that bounds the permissions of the role that is made. See ' +
          `https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html. ${IMMUTABLE}`,
        maxLength: WIDE.arn,
        rules: POLICY_ARN_RULES,
      }),
    ),
    roleAdditionalPolicies: optional(
      list(string({ description: 'The ARN of a managed policy.', maxLength: WIDE.arn, rules: POLICY_ARN_RULES }), {
        description:
          'The ARNs of managed policies to attach to the role that is made, beside AmazonEKSFargatePodExecutionRolePolicy: ' +
          'to send logs to CloudWatch, for example. Can be changed at any time.',
        maxItems: WIDE.list,
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
    updateStrategy: optional(UpdateStrategy),
    deletionPolicy: optional(DeletionPolicy),
    adoptionPolicy: optional(AdoptionPolicy),
  },
  { description: 'What is wanted: a profile in EKS and the role of its pods.', rules: SPEC_RULES },
);
export interface AWSFargateProfileSpec extends TypeOf<typeof AWSFargateProfileSpec> {}
