import { cut, MAX_FACT } from 'controller-runtime/text';
import { RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { POD_EXECUTION_POLICY_NAME } from '../../../pkg/fargate/arns.ts';
import { type TrustMistake, FARGATE_PODS_PRINCIPAL } from '../../../pkg/fargate/trust-policy.ts';
import { defineReason, MINUTE, SECOND, pollRarely, pollForUserAction, pollDoubling } from './definition.ts';
import {
  type SpecChangeable,
  RETRIES,
  CONTINUES,
  IF_UNREACHABLE,
  quoted,
  listed,
  OR_REPLACE_OBJECT,
} from './wording.ts';

const iam = { conditionType: 'IAMFargateRolesReady' } as const;

const ROLE_CONTENTS = `with a trust policy for ${FARGATE_PODS_PRINCIPAL} and the policy ${POD_EXECUTION_POLICY_NAME}`;

const ROLE_OF_CAPA =
  'This is the name of the role that Cluster API Provider AWS shares between all Fargate profiles of the account, so the controller uses a role of this name but does not create it';

const TRUST_CORRECTIONS: Readonly<Record<TrustMistake, string>> = {
  notAllowed: `Fix the trust policy of the role: the principal must be the service ${FARGATE_PODS_PRINCIPAL}, and the action sts:AssumeRole`,
  denied: 'Remove the statement that denies this from the trust policy of the role',
  condition: 'Fix this condition in the trust policy of the role, so that it allows what EKS sends',
};

/** With an access entry, EKS admits a role that has a path. */
const CHANGE_MODE =
  'change the authentication mode of the EKS cluster to API_AND_CONFIG_MAP (in spec.accessConfig.authenticationMode of its control plane, or with aws eks update-cluster-config). You cannot change it back to CONFIG_MAP';

type Named = { readonly name: string };

const ENTRY_STATES = {
  outdated: 'Its access entry still belongs to the deleted role, so new pods cannot join the EKS cluster',
  missing: 'The EKS cluster has no access entry for it, so new pods cannot join the cluster',
  unknown: 'Its access entry may still belong to the deleted role; new pods then cannot join the EKS cluster',
} as const;

export const ROLE_REASONS = {
  /**
   * `other` is set if IAM's role with this name has a different ARN from spec.roleARN, which is `wanted`. `isOfCapa`
   * means that Cluster API Provider AWS shares this role between profiles.
   */
  RoleNotFound: defineReason<
    Named &
      SpecChangeable & {
        readonly other?: { readonly arn: string; readonly wanted: string };
        readonly isOfCapa?: boolean;
      }
  >({
    nature: 'human',
    ...iam,
    poll: pollForUserAction,
    describe: ({ name, other, isOfCapa = false }) =>
      other === undefined
        ? `IAM role ${quoted(name)}, which the spec names, does not exist. ${isOfCapa ? ROLE_OF_CAPA : 'The controller does not manage this role, so it does not create it'}`
        : `IAM role ${quoted(name)} has the ARN ${other.arn}, but spec.roleARN is ${other.wanted}`,
    remedy: ({ other, isOfCapa = false, isProvisioned = false }) =>
      isProvisioned
        ? `Recreate the role with the ARN in status.podExecutionRoleARN, ${ROLE_CONTENTS}. If EKS still has the access entry of the deleted role, this condition then says how to recreate the entry. ${OR_REPLACE_OBJECT}. ${RETRIES}`
        : other === undefined
          ? isOfCapa
            ? `Set spec.roleName to another name, or remove it, and the controller creates a role. Or create the role yourself, ${ROLE_CONTENTS}. ${RETRIES}`
            : `Create the role ${ROLE_CONTENTS}. Or fix the field that names it, spec.roleARN or spec.roleName. ${RETRIES}`
          : `Set spec.roleARN to the ARN of the role. ${CONTINUES}`,
  }),
  /** `mistake` is `undefined` if only EKS rejects the role. `ours` means that the controller manages the policy. */
  RoleTrustInvalid: defineReason<
    Named & { readonly problem: string; readonly mistake?: TrustMistake; readonly ours: boolean }
  >({
    nature: 'human',
    ...iam,
    poll: pollForUserAction,
    describe: ({ name, problem }) => `EKS Fargate cannot assume IAM role ${quoted(name)}: ${problem}`,
    remedy: ({ mistake, ours }) => {
      if (mistake !== undefined) return `${TRUST_CORRECTIONS[mistake]}. ${RETRIES}`;
      return ours
        ? `The trust policy in IAM already allows this, so do not change it. Probably another policy denies sts:AssumeRole for the role, such as a resource control policy of AWS Organizations: fix that policy, or ask AWS Support for the cause. ${RETRIES}`
        : `The controller finds no mistake in the trust policy of the role. Check the conditions in it that only AWS can evaluate, for example on an organization, and other policies that deny sts:AssumeRole for the role, such as a resource control policy of AWS Organizations. ${RETRIES}`;
    },
  }),
  /** `settings` are fields below `spec`. */
  RoleSettingsConflict: defineReason<
    Named & SpecChangeable & { readonly other?: string; readonly settings: readonly string[] }
  >({
    nature: 'human',
    ...iam,
    poll: pollRarely,
    endedBySibling: 'changed',
    describe: ({ name, other = 'another Fargate profile', settings }) =>
      `IAM role ${quoted(name)} is also used by ${other}, and this object has different values for ${listed(settings.map((setting) => `spec.${setting}`))}`,
    remedy: ({ isProvisioned = false }) =>
      isProvisioned
        ? `Set the same values in both objects, as far as the API server accepts them. ${OR_REPLACE_OBJECT}. Until then the controller changes nothing in AWS for this object`
        : 'Set the same values in both objects, or give this object another role with spec.roleName. Until then the controller changes nothing in AWS for this object',
  }),
  /** `other` is another manager's object that is being deleted or gets another role. */
  WaitingForRoleDeletion: defineReason<Named & { readonly other: string }>({
    nature: 'wait',
    ...iam,
    poll: pollDoubling(2 * SECOND, 30 * SECOND),
    describe: ({ name, other }) =>
      `${other}, which another manager reconciles, is being deleted or gets another role, so that manager may be deleting IAM role ${quoted(name)}`,
    remedy: ({ other }) =>
      `The controller continues when ${other} no longer has the role. To continue at once, set another role in spec.roleName`,
  }),
  /** `refusal` is AWS's error message about the access entry. */
  RoleRecreated: defineReason<
    Named & {
      readonly arn: string;
      readonly id: string;
      readonly cluster: string;
      readonly entry: 'outdated' | 'missing' | 'unknown';
      readonly refusal?: string;
    }
  >({
    nature: 'human',
    ...iam,
    poll: pollForUserAction,
    describe: ({ name, id, entry }) =>
      `IAM role ${quoted(name)} was recreated with the ID ${id}. ${ENTRY_STATES[entry]}`,
    remedy: ({ arn, cluster, entry, refusal }) =>
      `In EKS cluster ${quoted(cluster)}, ${entry === 'missing' ? `create the access entry of ${arn}` : `recreate the access entry of ${arn}`} with type FARGATE_LINUX. The controller notices the new access entry within ten minutes if it is allowed to call eks:DescribeAccessEntry. Otherwise, once the access entry is there, remove the annotation ${RECORD_ANNOTATION}, and the controller writes it again` +
      (refusal === undefined
        ? ''
        : `. Or, if AWS denies the controller a request, allow it eks:DescribeAccessEntry, eks:DeleteAccessEntry and eks:CreateAccessEntry, and it replaces the access entry of a role that it created. AWS rejects the controller's request about the access entry. AWS says: ${cut(refusal, MAX_FACT)}`),
  }),
  /** `detail` is the error of the failed AWS call, if there was one. */
  RestoringRole: defineReason<Named & { readonly cluster: string; readonly detail?: string }>({
    nature: 'wait',
    ...iam,
    poll: pollDoubling(2 * SECOND, MINUTE),
    describe: ({ name, cluster }) =>
      `IAM role ${quoted(name)} was deleted, so the controller recreates it and its access entry in EKS cluster ${quoted(cluster)}. Until then new pods cannot start`,
    remedy: ({ detail }) =>
      detail === undefined
        ? RETRIES
        : `${IF_UNREACHABLE}. ${RETRIES}. The controller could not read the access entry: ${cut(detail, MAX_FACT)}`,
  }),
  /** `isLive`: the profile stays, because a user may have added the role to aws-auth without its path. */
  RolePathNotMapped: defineReason<
    Named & { readonly path: string; readonly field: string; readonly cluster: string; readonly isLive?: boolean }
  >({
    nature: 'human',
    ...iam,
    poll: pollForUserAction,
    describe: ({ name, path, cluster }) =>
      `IAM role ${quoted(name)} has the path ${path}, but EKS cluster ${quoted(cluster)} uses authentication mode CONFIG_MAP, and its ConfigMap aws-auth does not support role ARNs with a path`,
    remedy: ({ field, isLive = false }) =>
      isLive
        ? `If new pods can join the EKS cluster, no action is needed. If not, ${CHANGE_MODE}. ${OR_REPLACE_OBJECT}. Give the new object a role without a path`
        : `Either ${field === 'spec.rolePath' ? 'remove spec.rolePath, which is / by default' : `set ${field} to a role without a path`}, or ${CHANGE_MODE}. ${RETRIES}`,
  }),
  RoleBlocked: defineReason<Named & { readonly blockers: readonly string[] }>({
    nature: 'human',
    ...iam,
    poll: pollForUserAction,
    describe: ({ name, blockers }) =>
      `the controller cannot delete IAM role ${quoted(name)}, because it still has ${listed(blockers)}`,
    remedy: ({ blockers }) => `Remove ${listed(blockers)} from the role. The controller then deletes the role`,
  }),
} as const;
