import type { ReadObstacle } from 'controller-runtime/cache';
import { FINALIZER } from '../../../api/v1beta2/index.ts';
import type { Denial, PolicyKind } from '../../../pkg/cloud/index.ts';
import { type Quote, RETRIES } from '../../shared/message.ts';

export const retries = (): string => RETRIES;
export const continues = (): string => 'The controller then continues';

export const IF_UNREACHABLE =
  'If this lasts longer than ten minutes, check the network between the manager and AWS: proxy, firewall, VPC endpoint';

export const quoted = (text: string): string => `"${text}"`;
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
export const listed = (texts: readonly string[]): string => texts.join(', ');
export const enumerated = (names: readonly string[]): string =>
  names.length <= 3 ? listed(names) : `${listed(names.slice(0, 3))} and ${names.length - 3} more`;

/** `obstacle` says why the controller cannot read an object or a kind. The caller adds the period. */
export function remedyForUnreadable(obstacle: ReadObstacle | undefined): string {
  switch (obstacle?.kind) {
    case 'notServed':
      return `Check that the CRD ${obstacle.resource} is installed`;
    case 'forbidden':
      return "Allow the manager's ServiceAccount to read these objects";
    case undefined:
      return "If this lasts longer than five minutes, check that the manager's ServiceAccount is allowed to read these objects";
  }
}

export type SpecChangeable = {
  /** If true, the API server rejects changes to the fields that EKS cannot change. */
  readonly isSpecFixed?: boolean;
};

const replacement =
  'create another AWSFargateProfile with selectors for the same pods, and delete this object when the new one is Ready';
export const REPLACE_OBJECT = capitalized(replacement);
export const OR_REPLACE_OBJECT = `or ${replacement}`;

/** `detail` describes the problem. The code that finds the problem writes this text. */
export type Description = { readonly detail: string };

export const quoteAws = ({ detail: said }: Description): Quote => ({ by: 'AWS', said });

/** Whether the EKS cluster comes from spec.eksCluster instead of from a control plane. */
export type OfTarget = { readonly isOfObject?: boolean };

export const identityField = ({ isOfObject = false }: OfTarget): string =>
  isOfObject ? 'spec.eksCluster.identityRef' : 'spec.identityRef of the control plane';

/** Where a profile's subnets come from. With `eks`, EKS chooses them. */
export type SubnetSource = 'spec' | 'controlPlane' | 'eks';

export function describeSubnetCorrection(source: SubnetSource): string {
  switch (source) {
    case 'spec':
      return 'Fix spec.subnetIDs, or the AWS resource that it names';
    case 'controlPlane':
      return 'Fix spec.network.subnets of the control plane, or name other subnets in spec.subnetIDs';
    case 'eks':
      return 'Name private subnets in spec.subnetIDs';
  }
}

export type DeniedCall = SpecChangeable & {
  readonly denial: Denial;
  /** The called action. AWS may have denied a different one. */
  readonly called: string;
  readonly region: string;
  readonly account?: string | undefined;
};

const OWN_CREDENTIALS = 'for the credentials that the controller uses';

const PLACES: Readonly<Record<PolicyKind, string>> = {
  'identity-based policy': 'the IAM policies of the credentials that the controller uses',
  'resource-based policy': 'the policy of the resource, which for a role is its trust policy',
  'service control policy': 'the service control policies of AWS Organizations',
  'resource control policy': 'the resource control policies of AWS Organizations',
  'VPC endpoint policy': 'the policy of the VPC endpoint between the manager and AWS',
  'permissions boundary': 'the permissions boundary of the user or role of these credentials',
  'session policy':
    'the session policy of these credentials, which for an AWSClusterRoleIdentity is in spec.inlinePolicy and spec.policyARNs',
};

export function remedyForPolicy(action: string, policy: Denial['policy']): string {
  if (policy?.isExplicit === true) return `Remove the denial of ${action} from ${PLACES[policy.kind]}`;
  return policy === undefined || policy.kind === 'identity-based policy'
    ? `Allow ${action} ${OWN_CREDENTIALS}`
    : `Allow ${action} in ${PLACES[policy.kind]}`;
}

/** Where AWS does not offer EKS Fargate, its error contains no action. */
export function remedyForDenial({ denial, called, region, account, isSpecFixed = false }: DeniedCall): string {
  const { action, policy } = denial;
  if (action === undefined && policy === undefined && called.startsWith('eks:')) {
    const whose = account === undefined ? 'the account' : `account ${account}`;
    return `Allow ${called} ${OWN_CREDENTIALS}. If this is allowed, AWS may not offer EKS Fargate in region ${quoted(region)} or to ${whose}: ask AWS Support`;
  }
  const remedy = remedyForPolicy(action ?? called, policy);
  // The API server rejects a change to these fields once the object is provisioned.
  return action === 'iam:CreateRole' && !isSpecFixed
    ? `${remedy}, or set spec.roleARN to an existing role. If your IAM policy allows iam:CreateRole only with a permissions boundary, set spec.rolePermissionsBoundary`
    : remedy;
}

/**
 * How a user can get rid of a deleted object while its profile and role stay in AWS: with `deletionPolicy: Retain`, or
 * by removing the finalizer. While the EKS cluster is being deleted, only removing the finalizer helps, because an
 * object with `Retain` also waits until its profile is gone.
 */
export type Abandonment = 'retain' | 'removeFinalizer';

/**
 * `condition` begins the sentence and says when to do this, for example "If the profile no longer exists".
 * `isProfileGone`: only the role is left in AWS.
 */
export function describeAbandonment(abandonment: Abandonment, condition: string, isProfileGone = false): string {
  const action =
    abandonment === 'retain'
      ? 'set spec.deletionPolicy to Retain'
      : `remove ${FINALIZER} from metadata.finalizers of this object`;
  return `${condition}, ${action}; ${isProfileGone ? 'the role then stays' : 'the profile and role then stay'} in AWS`;
}

export type Abandonable = { readonly abandonment?: Abandonment | undefined };

/** The removal of the finalizer is hard to undo, so it is advised only for the case that `lasting` describes. */
export function remedyFor(
  action: string,
  abandonment: Abandonment | undefined,
  lasting = 'you can no longer get credentials for the AWS account',
  isProfileGone = false,
): string {
  switch (abandonment) {
    case undefined:
      return action;
    case 'retain':
      return `${action}. ${describeAbandonment(abandonment, 'To end the deletion of this object immediately', isProfileGone)}`;
    case 'removeFinalizer':
      return `${action}. ${describeAbandonment(abandonment, `If ${lasting}`, isProfileGone)}`;
  }
}

/**
 * Like {@link remedyFor}, for a deletion that AWS does not carry out. A profile that stays blocks the deletion of its EKS
 * cluster, so the removal of the finalizer is then no way out.
 */
export const remedyForDeletion = (
  action: string,
  abandonment: Abandonment | undefined,
  isProfileGone: boolean,
): string =>
  abandonment === 'removeFinalizer' && !isProfileGone
    ? action
    : remedyFor(action, abandonment, 'this is not possible', isProfileGone);
