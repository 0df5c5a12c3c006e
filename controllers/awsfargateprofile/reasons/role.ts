import { ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { LimitExcess } from '../../../pkg/fargate/limits.ts';
import type { ConditionPart, Description, SpecChangeable } from './entry.ts';
import {
  CONTINUES,
  MINUTE,
  OR_REPLACE_OBJECT,
  REPLACE_OBJECT,
  RETRIES,
  SECOND,
  defineReason,
  enumerated,
  listed,
  pollDoubling,
  pollForUserAction,
  pollGrowing,
  pollRarely,
  quoted,
} from './entry.ts';

const iam = { part: 'IAMFargateRolesReady' } as const;

type Named = { readonly name: string };

/** Returns for each field a sentence about the values that the operator allows, without repetitions. */
function describeAllowed(excess: readonly LimitExcess[]): string {
  const sentences = excess.map(({ field, allowed }) => {
    const name = field.replace(/\[\d+\]$/, '');
    const patterns = allowed.filter((pattern) => pattern !== 'none');
    return patterns.length === 0
      ? `Remove the value from ${name}`
      : `Use only values in ${name} that match ${enumerated(patterns)}`;
  });
  return [...new Set(sentences)].join('. ');
}

const EKS_CLUSTER_FIELD = 'spec.eksCluster';

/**
 * Returns a sentence about the EKS clusters that the operator allows. spec.eksCluster cannot be changed, so only the
 * operator or another object helps.
 */
function describeAllowedClusters(excess: readonly LimitExcess[]): string {
  const patterns = [...new Set(excess.flatMap(({ allowed }) => allowed))];
  const ask =
    'Ask the operator to allow this EKS cluster with the flag --allow-eks-cluster=<namespace>=<account>/<region>/<name> of the manager';
  return patterns.length === 0
    ? ask
    : `${ask}. Or create another AWSFargateProfile, in an EKS cluster that matches ${enumerated(patterns)}`;
}

/** Condition reasons about the pod execution role. */
export const ROLE_REASONS = {
  RoleNotOwned: defineReason<Named & SpecChangeable & { readonly whose: string }>({
    nature: 'human',
    ...iam,
    poll: pollForUserAction,
    describe: ({ name, whose }) =>
      `IAM role ${quoted(name)} belongs to ${whose}. This controller does not change or delete it`,
    remedy: ({ isProvisioned = false }) =>
      `${isProvisioned ? REPLACE_OBJECT : 'To run the pods with this role as it is, set spec.roleARN to the ARN of the role. To let the controller create a role with another name, set spec.roleName'}. If the existing role is deleted in IAM, the controller creates a role with this name`,
  }),
  /**
   * `other` is set if IAM has another role of this name than spec.roleARN names. It has the ARN in IAM and the ARN
   * `wanted` by spec.roleARN.
   */
  RoleNotFound: defineReason<
    Named & SpecChangeable & { readonly other?: { readonly arn: string; readonly wanted: string } }
  >({
    nature: 'human',
    ...iam,
    poll: pollForUserAction,
    describe: ({ name, other }) =>
      other === undefined
        ? `IAM role ${quoted(name)} does not exist. The controller does not create it, because it is a role of another owner that the spec names`
        : `IAM role ${quoted(name)} has the ARN ${other.arn}, but spec.roleARN is ${other.wanted}`,
    remedy: ({ other, isProvisioned = false }) =>
      isProvisioned
        ? `Create the role again with the ARN that the profile uses; if EKS has an access entry for the role, a condition then says how to renew the entry. ${OR_REPLACE_OBJECT}. ${RETRIES}`
        : other === undefined
          ? `Create the role. Or correct the field that names it, spec.roleARN or spec.roleName. ${RETRIES}`
          : `Set spec.roleARN to the ARN of the role. ${CONTINUES}`,
  }),
  /** `ours` tells whether the controller manages the trust policy of the role. */
  RoleTrustInvalid: defineReason<Named & { readonly problem: string; readonly ours: boolean }>({
    nature: 'human',
    ...iam,
    poll: pollForUserAction,
    describe: ({ name, problem }) => `EKS Fargate cannot assume IAM role ${quoted(name)}: ${problem}`,
    remedy: ({ ours }) =>
      ours
        ? `The trust policy of the role is correct, so look for another cause, such as a service control policy of AWS Organizations. ${RETRIES}`
        : `Correct the trust policy of the role. ${RETRIES}`,
  }),
  /**
   * `other` is the object or profile that also uses the role, if it is known. `settings` are the fields below `spec`
   * whose values differ between the two users of the role.
   */
  RoleSettingsConflict: defineReason<
    Named & SpecChangeable & { readonly other?: string; readonly settings: readonly string[] }
  >({
    nature: 'human',
    ...iam,
    poll: pollRarely,
    endedBySibling: 'changed',
    describe: ({ name, other = 'another Fargate profile', settings }) =>
      `IAM role ${quoted(name)} is also used by ${other}, and this object has other values in ${listed(settings.map((setting) => `spec.${setting}`))}`,
    remedy: ({ isProvisioned = false }) =>
      isProvisioned
        ? `Set the same values in both objects, as far as the API server accepts them. ${OR_REPLACE_OBJECT}. Until then the controller changes nothing in AWS for this object`
        : 'Set the same values in both objects, or give this object another role with spec.roleName. Until then the controller changes nothing in AWS for this object',
  }),
  /** `other` is an AWSFargateProfile of another manager. It has the role, and is being deleted or gets another role. */
  WaitingForRoleDeletion: defineReason<Named & { readonly other: string }>({
    nature: 'wait',
    ...iam,
    poll: pollDoubling(2 * SECOND, 30 * SECOND),
    describe: ({ name, other }) =>
      `${other} has IAM role ${quoted(name)}, and is being deleted or gets another role. So the manager that reconciles that object may be deleting the role now`,
    remedy: () =>
      `The controller continues when that object no longer has the role. To continue at once, give this object another role with spec.roleName`,
  }),
  /** `refusal` is the error message of AWS if AWS does not let the controller recreate the access entry. */
  RoleRecreated: defineReason<
    Named & { readonly arn: string; readonly id: string; readonly cluster: string; readonly refusal?: string }
  >({
    nature: 'human',
    ...iam,
    poll: pollForUserAction,
    describe: ({ name, id, refusal }) =>
      `IAM role ${quoted(name)} was deleted and created again, with the new ID ${id}. The access entry in the EKS cluster does not belong to this role, so new pods of this Fargate profile cannot join the cluster` +
      (refusal === undefined
        ? ''
        : `. AWS does not allow the controller to create the entry again. AWS says: ${refusal}`),
    remedy: ({ arn, id, cluster, refusal }) =>
      `In EKS cluster ${quoted(cluster)}, delete the access entry of ${arn} and create it again with type FARGATE_LINUX. Then set the annotation ${ACCESS_ENTRY_RENEWED_ANNOTATION}=${id} on this object` +
      (refusal === undefined
        ? ''
        : '. Or allow the request that AWS refuses: then the controller creates the entry again'),
  }),
  /** `detail` says why the controller cannot continue now. */
  RestoringRole: defineReason<Named & { readonly cluster: string; readonly detail?: string }>({
    nature: 'wait',
    ...iam,
    poll: pollDoubling(2 * SECOND, MINUTE),
    describe: ({ name, cluster, detail }) =>
      `IAM role ${quoted(name)} was deleted, so the controller creates the role and its access entry in EKS cluster ${quoted(cluster)} again. Until then new pods of this Fargate profile cannot start` +
      (detail === undefined ? '' : `. AWS gives no usable answer: ${detail}`),
    remedy: () => RETRIES,
  }),
  /**
   * The spec has values that the flags of the manager do not allow. This prevents the creation of a profile. For an
   * existing profile it does not change Ready.
   */
  NotAllowedByOperator: defineReason<{ readonly excess: readonly LimitExcess[]; readonly about: ConditionPart }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ excess }) =>
      `the operator of this controller does not allow ${excess.map(({ field, value }) => `${quoted(value)} in ${field}`).join(' and ')}`,
    remedy: ({ excess }) =>
      excess.some(({ field }) => field === EKS_CLUSTER_FIELD)
        ? `${describeAllowedClusters(excess)}. ${CONTINUES}`
        : `${describeAllowed(excess)}. Or ask the operator to allow ${excess.length === 1 ? 'this value' : 'these values'} in the flags of the manager. ${CONTINUES}`,
  }),
  RoleBlocked: defineReason<Named & { readonly blockers: readonly string[] }>({
    nature: 'human',
    ...iam,
    poll: pollForUserAction,
    describe: ({ name, blockers }) =>
      `the controller cannot delete IAM role ${quoted(name)}, because it still has ${listed(blockers)}`,
    remedy: ({ blockers }) =>
      `Remove ${listed(blockers)} from the role. The controller then deletes the role on its own`,
  }),
  Propagating: defineReason<Description>({
    nature: 'wait',
    poll: pollGrowing,
    describe: ({ detail }) => detail,
    remedy: () => RETRIES,
  }),
} as const;
