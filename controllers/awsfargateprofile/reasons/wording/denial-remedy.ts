import type { Denial, PolicyKind } from '../../../../pkg/cloud/index.ts';
import { type SpecChangeable, quoted } from './phrases.ts';

export type DeniedCall = SpecChangeable & {
  readonly denial: Denial;
  /** The action of the call. AWS may have denied another action. */
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

/** The caller adds the full stop. */
export function remedyForPolicy(action: string, policy: Denial['policy']): string {
  if (policy?.isExplicit === true) return `Remove the denial of ${action} from ${PLACES[policy.kind]}`;
  return policy === undefined || policy.kind === 'identity-based policy'
    ? `Allow ${action} ${OWN_CREDENTIALS}`
    : `Allow ${action} in ${PLACES[policy.kind]}`;
}

/** AWS names no action where it does not offer the service. */
export function remedyForDenial({ denial, called, region, account, isProvisioned = false }: DeniedCall): string {
  const { action, policy } = denial;
  if (action === undefined && policy === undefined && called.startsWith('eks:')) {
    const whose = account === undefined ? 'the account' : `account ${account}`;
    return `AWS names no denied action. Look whether AWS offers EKS Fargate in region ${quoted(region)}, and whether ${whose} may use it; AWS Support can tell. If both is so, allow ${called} ${OWN_CREDENTIALS}`;
  }
  const remedy = remedyForPolicy(action ?? called, policy);
  // The API server refuses a change of these fields once the object is provisioned.
  return action === 'iam:CreateRole' && !isProvisioned
    ? `${remedy}. Or, if the policy demands a permissions boundary, set spec.rolePermissionsBoundary. Or set spec.roleARN to an existing role`
    : remedy;
}
