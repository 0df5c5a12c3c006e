import { cut, MAX_FACT } from 'controller-runtime/text';
import { RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { POD_EXECUTION_POLICY_NAME } from '../../../pkg/fargate/arns.ts';
import { type TrustMistake, FARGATE_PODS_PRINCIPAL } from '../../../pkg/fargate/trust-policy.ts';
import { defineReason, IAM, IN_AWS, IN_KUBERNETES, type Named } from './definition.ts';
import { pollSoon } from './delays.ts';
import {
  type SpecChangeable,
  retries,
  continues,
  capitalized,
  IF_UNREACHABLE,
  quoted,
  listed,
  OR_REPLACE_OBJECT,
  type Abandonable,
  remedyForDeletion,
} from './wording.ts';

const ROLE_CONTENTS = `with a trust policy for ${FARGATE_PODS_PRINCIPAL} and the policy ${POD_EXECUTION_POLICY_NAME}`;

const ROLE_OF_CAPA =
  'This is the name of the role that Cluster API Provider AWS shares between all Fargate profiles of the account, so the controller uses a role of this name but does not create it';

const TRUST_CORRECTIONS: Readonly<Record<TrustMistake, string>> = {
  notAllowed: `Fix the trust policy of the role: the principal must be the service ${FARGATE_PODS_PRINCIPAL}, and the action sts:AssumeRole`,
  denied: 'Remove the statement that denies this from the trust policy of the role',
  condition: 'Fix this condition in the trust policy of the role, so that it allows what EKS sends',
};

/** In this mode, EKS also admits roles through access entries, which allow a role with a path. */
const CHANGE_MODE =
  'change the authentication mode of the EKS cluster to API_AND_CONFIG_MAP (in spec.accessConfig.authenticationMode of its control plane, or with aws eks update-cluster-config), a change that you cannot undo';

const ALLOW_ENTRIES =
  'Allow the controller to call eks:DescribeAccessEntry, eks:DeleteAccessEntry, and eks:CreateAccessEntry';

const fieldsOf = (settings: readonly string[]): string => listed(settings.map((setting) => `spec.${setting}`));

const JOINS = 'so new pods cannot join the EKS cluster';
const ENTRY_STATES = {
  outdated: `its access entry still belongs to the deleted role, ${JOINS}`,
  missing: `the EKS cluster has no access entry for it, ${JOINS}`,
  unknown: 'its access entry may still belong to the deleted role, so new pods may not be able to join the EKS cluster',
} as const;

export const ROLE_REASONS = {
  /**
   * `field` is the field that contains the role; `undefined` if none does. `other` is set if IAM's role with this name
   * has a different ARN from spec.roleARN, which is `desired`. `isOfCapa` means that Cluster API Provider AWS shares
   * this role between profiles. `isInUse`: a profile of this object uses the role.
   */
  RoleNotFound: defineReason<
    Named &
      SpecChangeable & {
        readonly field?: 'spec.roleARN' | 'spec.roleName';
        readonly other?: { readonly arn: string; readonly desired: string };
        readonly isOfCapa?: boolean;
        readonly isInUse?: boolean;
      }
  >({
    ...IN_AWS,
    ...IAM,
    problem: ({ name, field, other, isOfCapa = false, isInUse = false }) =>
      other === undefined
        ? `IAM role ${quoted(name)}${field === undefined ? '' : ` (${field})`} does not exist${isInUse ? ', so new pods cannot start' : ''}. ${isOfCapa ? ROLE_OF_CAPA : 'The controller does not manage this role, so it does not create it'}`
        : `IAM role ${quoted(name)} has the ARN ${other.arn}, but spec.roleARN is ${other.desired}`,
    remedy: ({ field, other, isOfCapa = false, isSpecFixed = false }) =>
      isSpecFixed
        ? `Recreate the role with the ARN in status.podExecutionRoleARN, ${ROLE_CONTENTS}, ${OR_REPLACE_OBJECT}`
        : other === undefined
          ? isOfCapa
            ? `Set spec.roleName to another name, so that the controller creates a role, or create the role yourself, ${ROLE_CONTENTS}`
            : `Create the role ${ROLE_CONTENTS}${field === undefined ? '' : `, or fix ${field}`}`
          : 'Set spec.roleARN to the ARN of the role',
    outlook: ({ other, isSpecFixed = false }) => (other === undefined || isSpecFixed ? retries() : continues()),
  }),
  /**
   * `mistake` is `undefined` if only EKS rejects the role. `ours` means that the controller manages the trust policy.
   */
  RoleTrustInvalid: defineReason<
    Named & {
      readonly problem?: string;
      readonly mistake?: TrustMistake;
      readonly said?: string;
      readonly ours: boolean;
    }
  >({
    ...IN_AWS,
    ...IAM,
    problem: ({ name, problem }) =>
      `EKS Fargate cannot assume IAM role ${quoted(name)}${problem === undefined ? '' : `: ${problem}`}`,
    remedy: ({ mistake, ours }) => {
      if (mistake !== undefined) return TRUST_CORRECTIONS[mistake];
      return ours
        ? 'Do not change the trust policy, which already allows this. Find the policy that denies sts:AssumeRole for the role, such as a resource control policy of AWS Organizations, or ask AWS Support for the cause'
        : 'Check the conditions in the trust policy of the role that only AWS can evaluate, for example on an organization, and other policies that deny sts:AssumeRole for the role, such as a resource control policy of AWS Organizations';
    },
    outlook: retries,
    quote: ({ said }) => (said === undefined ? undefined : { by: 'EKS', said }),
  }),
  /**
   * `settings` are fields below `spec`. `unknownUser` is a Fargate profile whose settings no object here specifies.
   * `path` is the role's path in IAM, if the role would have to be recreated. The other user may specify the same path
   * as this object.
   */
  RoleSettingsConflict: defineReason<
    Named &
      SpecChangeable & {
        readonly other?: string;
        readonly unknownUser?: string;
        readonly path?: string | undefined;
        readonly settings: readonly string[];
      }
  >({
    ...IN_KUBERNETES,
    ...IAM,
    endedBySibling: 'changed',
    problem: ({ name, other = 'another Fargate profile', unknownUser, path, settings }) =>
      path !== undefined
        ? `IAM role ${quoted(name)} has the path ${path}, and the controller cannot recreate it with the path in spec.rolePath, because ${other} also uses it`
        : unknownUser === undefined
          ? `IAM role ${quoted(name)} is also used by ${other}, and this object has different values for ${fieldsOf(settings)}`
          : `IAM role ${quoted(name)} is also used by Fargate profile ${quoted(unknownUser)}, whose AWSFargateProfile names another role, is being deleted, or is not in this management cluster, and the role differs from this object's ${fieldsOf(settings)}`,
    remedy: ({ unknownUser, path, settings, isSpecFixed = false }) => {
      const isImmutable = settings.some((field) => field === 'rolePath' || field === 'rolePermissionsBoundary');
      const orElse = isSpecFixed ? OR_REPLACE_OBJECT : 'or give this object another role with spec.roleName';
      if (unknownUser !== undefined)
        return `Change ${fieldsOf(settings)} to match the role${isImmutable ? ' if the API server accepts this' : ''}, delete that Fargate profile if no pods need it, ${orElse}`;
      if (path !== undefined) return `Set spec.rolePath to ${path} if the API server accepts this, ${orElse}`;
      const limit = isImmutable ? ', as far as the API server accepts them' : '';
      return `Set the same values in both objects${limit}, ${orElse}`;
    },
    outlook: ({ unknownUser }) =>
      unknownUser === undefined
        ? 'Until then the controller changes nothing in AWS for this object'
        : 'Until then the controller keeps these settings of the role, and makes no other changes in AWS for this object',
  }),
  /** `other` is another manager's object that is being deleted or is switching to another role. */
  WaitingForRoleDeletion: defineReason<Named & { readonly other: string }>({
    nature: 'wait',
    ...IAM,
    poll: pollSoon,
    problem: ({ name, other }) =>
      `${other} is being deleted or is switching to another role. Another manager reconciles it, and may be deleting IAM role ${quoted(name)}, which this object needs`,
    remedy: () => 'To continue immediately, set another role in spec.roleName',
    outlook: ({ other }) => `The controller continues when ${other} no longer uses the role`,
  }),
  /**
   * `refusal` is AWS's error message about the access entry. `unknown`: the controller is not allowed to read the
   * entry. `ours`: the controller created the role, so it replaces the entry if AWS lets it.
   */
  RoleRecreated: defineReason<
    Named & {
      readonly arn: string;
      readonly id: string;
      readonly cluster: string;
      readonly entry: 'outdated' | 'missing' | 'unknown';
      readonly ours: boolean;
      readonly refusal?: string;
    }
  >({
    ...IN_AWS,
    ...IAM,
    problem: ({ name, id, entry }) =>
      `IAM role ${quoted(name)} was recreated with the ID ${id}, and ${ENTRY_STATES[entry]}`,
    remedy: ({ arn, cluster, entry, ours, refusal }) => {
      const verb = entry === 'missing' ? 'create' : 'recreate';
      const recreation = `${verb} the access entry of ${arn} in EKS cluster ${quoted(cluster)} with type FARGATE_LINUX`;
      if (ours && refusal !== undefined) return `${ALLOW_ENTRIES}, or ${recreation}`;
      return entry === 'unknown'
        ? `${capitalized(recreation)}, and then remove the annotation ${RECORD_ANNOTATION} from this object, because the controller is not allowed to read the entry`
        : capitalized(recreation);
    },
    outlook: ({ entry, ours, refusal }) => {
      if (ours && refusal !== undefined) return 'Once this is allowed, the controller replaces the access entry';
      return entry === 'unknown'
        ? 'The controller then writes the annotation again'
        : 'The controller notices the new access entry within ten minutes';
    },
    quote: ({ refusal }) => (refusal === undefined ? undefined : { by: 'AWS', said: cut(refusal, MAX_FACT) }),
  }),
  /** `detail` is the error of the failed AWS call, if there was one. */
  RestoringRole: defineReason<Named & { readonly cluster: string; readonly detail?: string }>({
    nature: 'wait',
    ...IAM,
    poll: pollSoon,
    problem: ({ name, cluster }) =>
      `IAM role ${quoted(name)} was deleted, so new pods cannot start. The controller is recreating the role and its access entry in EKS cluster ${quoted(cluster)}`,
    remedy: ({ detail }) => (detail === undefined ? undefined : IF_UNREACHABLE),
    outlook: ({ detail }) => (detail === undefined ? 'No action is needed' : retries()),
    quote: ({ detail }) => (detail === undefined ? undefined : { said: cut(detail, MAX_FACT) }),
  }),
  /**
   * `isLive`: the profile already exists, so this is only advice. The profile may work, because a user may have added
   * the role to aws-auth with its path left out.
   */
  RolePathNotMapped: defineReason<
    Named & { readonly path: string; readonly field: string; readonly cluster: string; readonly isLive?: boolean }
  >({
    ...IN_AWS,
    ...IAM,
    problem: ({ name, path, cluster }) =>
      `IAM role ${quoted(name)} has the path ${path}, but EKS cluster ${quoted(cluster)} uses authentication mode CONFIG_MAP, and its ConfigMap aws-auth does not support role ARNs with a path`,
    remedy: ({ field, isLive = false }) =>
      isLive
        ? `If new pods cannot join the EKS cluster, ${CHANGE_MODE}, ${OR_REPLACE_OBJECT}; give the new object a role without a path`
        : `${field === 'spec.rolePath' ? 'Remove spec.rolePath (the default is /)' : `Set ${field} to a role without a path`}, or ${CHANGE_MODE}`,
    outlook: ({ isLive = false }) => (isLive ? undefined : retries()),
  }),
  RoleBlocked: defineReason<Named & Abandonable & { readonly blockers: readonly string[] }>({
    ...IN_AWS,
    ...IAM,
    problem: ({ name, blockers }) =>
      `the controller cannot delete IAM role ${quoted(name)}, because it still has ${listed(blockers)}`,
    remedy: ({ blockers, abandonment }) =>
      remedyForDeletion(
        `Remove ${listed(blockers)} from the role, so that the controller can delete it`,
        abandonment,
        true,
      ),
  }),
} as const;
