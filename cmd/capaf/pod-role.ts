import { type EksClusterName, type RoleArn, RoleName } from '../../api/names.ts';
import type { AccessEntry, Role, Session } from '../../pkg/cloud/index.ts';
import { isOutdated } from '../../pkg/fargate/access-entries.ts';
import { parseRoleArn } from '../../pkg/fargate/arns.ts';
import { seen } from './aws.ts';

/** How pods with an execution role can join the EKS cluster. */
type PodRole =
  | { readonly kind: 'hasEntry' | 'ofAwsAuth' | 'perhapsOfAwsAuth' }
  | { readonly kind: 'absent' | 'noEntry' | 'notSeen' }
  /** The access entry belongs to an earlier role of this name, so pods cannot join. */
  | { readonly kind: 'outdated'; readonly role: Role; readonly entry: AccessEntry };

/** `mode` is the cluster's authentication mode, if known. @throws Unseen */
export async function readPodRole(
  { roles, accessEntries }: Session,
  cluster: EksClusterName,
  mode: string | undefined,
  arn: RoleArn,
): Promise<PodRole> {
  const [role, lookup] = await Promise.all([
    seen(roles.get(parseRoleArn(arn)?.name ?? RoleName.of(arn))),
    mode?.startsWith('API') === true ? seen(accessEntries.describe(cluster, arn)) : undefined,
  ]);
  if (role === undefined) return { kind: 'absent' };
  if (mode === undefined) return { kind: 'notSeen' };
  if (lookup === undefined) return { kind: 'ofAwsAuth' };
  if (lookup.kind !== 'found') return { kind: mode === 'API' ? 'noEntry' : 'perhapsOfAwsAuth' };
  const { entry } = lookup;
  return isOutdated(entry, role) ? { kind: 'outdated', role, entry } : { kind: 'hasEntry' };
}
