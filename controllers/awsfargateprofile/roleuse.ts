import * as E from 'fp-ts/lib/Either.js';
import type { RoleName } from '../../api/names.ts';
import { askerOf, whyOfFailure } from './failures.ts';
import type { LiveReads } from './live.ts';
import { roleNamed } from './comparison.ts';
import type { Desired, Observed, Target } from './model.ts';
import type { Why } from './reasons.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { Session } from '../../pkg/cloud/types.ts';

export type RoleUse =
  | { readonly kind: 'unused' }
  | { readonly kind: 'used'; readonly by: string }
  | { readonly kind: 'unknown'; readonly why: Why };

interface Question {
  readonly object: AWSFargateProfile;
  readonly target: Target;
  readonly desired: Desired;
  readonly observed: Observed;
  readonly session: Session;
  readonly signal: AbortSignal;
}

/**
 * Whether anything but the object itself uses the role, asked live: another AWSFargateProfile that carries our finalizer
 * and names it, or, for a role whose name somebody chose (so that anybody may know of it), a profile of the EKS cluster.
 */
export async function isRoleInUse(live: LiveReads, question: Question, name: RoleName): Promise<RoleUse> {
  const { object, session, signal } = question;
  const other = await live.otherUserOf(object, { name, account: session.account }, signal);
  if (other !== undefined) return { kind: 'used', by: `AWSFargateProfile ${other}` };
  const isComputed = question.desired.owner.namesOfCapa.some((each) => each.toLowerCase() === name.toLowerCase());
  return isComputed || question.observed.cluster === 'gone' ? { kind: 'unused' } : usedByProfile(question, name);
}

async function usedByProfile(question: Question, name: RoleName): Promise<RoleUse> {
  const { session, target, desired, observed } = question;
  const unknown = (failure: Parameters<typeof whyOfFailure>[0]): RoleUse => ({
    kind: 'unknown',
    why: whyOfFailure(failure, askerOf(target, session)),
  });
  const arn = roleNamed(observed.roles, name)?.arn;
  const listing = await session.profiles.list(target.eksCluster)();
  if (E.isLeft(listing)) return unknown(listing.left);
  if (listing.right.kind === 'clusterGone') return { kind: 'unused' };
  for (const profile of listing.right.names) {
    if (desired.names.profiles.includes(profile)) continue;
    const lookup = await session.profiles.describe(target.eksCluster, profile)();
    if (E.isLeft(lookup)) return unknown(lookup.left);
    if (lookup.right.kind === 'found' && lookup.right.profile.podExecutionRoleArn === arn) {
      return { kind: 'used', by: `Fargate profile "${profile}"` };
    }
  }
  return { kind: 'unused' };
}
