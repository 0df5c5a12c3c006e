import * as E from 'fp-ts/lib/Either.js';
import type { RoleArn, RoleName } from '../../../../api/names.ts';
import type { AwsFailure } from '../../../../pkg/cloud/index.ts';
import { callContext, reasonForFailure } from '../../aws/failure-reasons.ts';
import { findProfile, findRole } from '../../model/observed-state.ts';
import type { LiveChecks } from '../checks.ts';
import { newReason } from '../../reasons/reasons.ts';
import { OWNER_TAG, keepCase, tagValue } from '../../../../pkg/fargate/tags/tag-keys.ts';
import type { ReconcileState, RoleUsage } from '../guards.ts';
import type { RoleUsers } from './other-role-users.ts';

type Question = Pick<ReconcileState, 'object' | 'target' | 'desired' | 'observed' | 'session' | 'signal'>;

/** EKS is asked even about a computed name: a user may have chosen the role for a profile in the AWS console. */
export async function readRoleUsage(live: LiveChecks, question: Question, name: RoleName): Promise<RoleUsage> {
  const { object, target, desired, observed, signal } = question;
  const { account, region } = desired.place;
  const role = { name, location: { account, region, eksCluster: target.eksCluster } };
  const users = await live.readRoleUsers(object, role, signal);
  if (users.other !== undefined) return { kind: 'used', by: `AWSFargateProfile ${users.other}` };
  if (observed.cluster === 'gone') return { kind: 'unused' };
  return readUsageByProfiles(question, findRole(observed.roles, name)?.arn, users);
}

const NO_USERS: RoleUsers = { other: undefined, leaving: new Map() };

export async function readUsageByProfiles(
  { session, target, desired, observed }: Question,
  arn: RoleArn | undefined,
  { leaving }: Omit<RoleUsers, 'other'> = NO_USERS,
): Promise<RoleUsage> {
  const unknown = (failure: AwsFailure): RoleUsage => ({
    kind: 'unknown',
    reason: reasonForFailure(failure, callContext(target, { session, abandonment: desired.abandonment })),
  });
  const listing = await session.profiles.list(target.eksCluster);
  if (E.isLeft(listing)) return unknown(listing.left);
  if (listing.right.kind === 'clusterGone') return { kind: 'unused' };
  let usage: RoleUsage = { kind: 'unused' };
  for (const profile of listing.right.names) {
    // EKS cannot change the role of a profile, so one that this pass has read with another role does not count.
    const seen = findProfile(observed.profiles, profile);
    if (seen !== undefined && seen.podExecutionRoleArn !== arn) continue;
    const lookup = await session.profiles.describe(target.eksCluster, profile);
    if (E.isLeft(lookup)) return unknown(lookup.left);
    if (lookup.right.kind !== 'found' || lookup.right.profile.podExecutionRoleArn !== arn) continue;
    const { status, tags } = lookup.right.profile;
    const leaver = leaving.get(tagValue(tags, OWNER_TAG, keepCase) ?? '');
    if (leaver !== undefined) return { kind: 'used', by: `AWSFargateProfile ${leaver}` };
    if (status !== 'DELETING') return { kind: 'used', by: `Fargate profile "${profile}"` };
    usage = { kind: 'unknown', reason: newReason('DeletingProfile', { name: profile }) };
  }
  return usage;
}
