import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { findRole, wantedRoleArn } from './compare.ts';

// An EKS cluster with the authentication mode CONFIG_MAP admits pods by the ConfigMap aws-auth, in which a role ARN must
// not have a path: https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html

/**
 * A provisioned object may have its profile back after a deletion in AWS, because pods may have joined the cluster
 * before.
 */
export const findRolePathBlocker = (desired: Desired, observed: Observed): Reason | undefined =>
  isCreationChecked(desired) ? findRolePathProblem(desired, observed, { isLive: false }) : undefined;

/** Without a ready control plane nothing is created, and the EKS cluster may not exist yet. */
const isCreationChecked = ({ creationBlocker, isProvisioned }: Desired): boolean =>
  creationBlocker === undefined && !isProvisioned;

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
  const isForeign = found !== undefined && roleOwnership(found, identity).kind === 'foreign';
  const field = kind === 'existing' ? 'spec.roleARN' : isForeign ? 'spec.roleName' : 'spec.rolePath';
  return newReason('RolePathNotMapped', { name, path, field, cluster: identity.eksCluster, isLive });
}

export const pathOf = (desired: Desired, observed: Observed): string =>
  (desired.wanted && parseRoleArn(wantedRoleArn(desired, observed, desired.wanted.role))?.path) ?? '/';
