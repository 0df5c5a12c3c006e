import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import type { Decision } from '../model/decision.ts';
import { stopWith } from '../model/decision.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import type { Reason } from '../reasons/reasons.ts';
import { newReason } from '../reasons/reasons.ts';
import { findRole, wantedRoleArn } from './compare.ts';

// An EKS cluster with the authentication mode CONFIG_MAP admits pods by the ConfigMap aws-auth, in which a role ARN must
// not have a path: https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html

/**
 * Returns the decision to stop, or to read the authentication mode first, before a Fargate profile is created with a
 * role that the EKS cluster cannot admit. `undefined` if the path of the role does not matter. A provisioned object may
 * have its profile back after a deletion in AWS, because pods may have joined the EKS cluster before.
 */
export function findRolePathBlocker(desired: Desired, observed: Observed): Decision | undefined {
  // Without a ready control plane nothing is created, and the EKS cluster may not exist yet.
  if (desired.creationBlocker !== undefined || desired.recorded.isProvisioned) return undefined;
  const reason = findRolePathProblem(desired, observed, { isLive: false });
  return reason === undefined ? readModeFirst(desired, observed, 'creation') : stopWith(reason);
}

/** Returns the decision to read the authentication mode if it matters for the role and is not known. */
export const readModeFirst = (
  desired: Desired,
  observed: Observed,
  before: 'creation' | 'readiness',
): Decision | undefined =>
  observed.authenticationMode === undefined && pathOf(desired, observed) !== '/'
    ? { kind: 'readAuthenticationMode', before }
    : undefined;

/** Returns why pods cannot join the EKS cluster because of the path of their role; `undefined` if they can. */
export function findRolePathProblem(
  desired: Desired,
  observed: Observed,
  { isLive }: { readonly isLive: boolean },
): Reason | undefined {
  const path = pathOf(desired, observed);
  const { wanted, identity } = desired;
  if (wanted === undefined || path === '/' || observed.authenticationMode !== 'CONFIG_MAP') return undefined;
  const { kind, name } = wanted.role;
  const found = findRole(observed.roles, name);
  const isForeign = kind === 'managed' && found !== undefined && roleOwnership(found, identity).kind === 'foreign';
  const field = kind === 'existing' ? 'spec.roleARN' : isForeign ? 'spec.roleName' : 'spec.rolePath';
  return newReason('RolePathNotMapped', { name, path, field, cluster: identity.eksCluster, isLive });
}

/** Returns the IAM path of the role of the Fargate profile. */
const pathOf = (desired: Desired, observed: Observed): string =>
  (desired.wanted && parseRoleArn(wantedRoleArn(desired, observed, desired.wanted.role))?.path) ?? '/';
