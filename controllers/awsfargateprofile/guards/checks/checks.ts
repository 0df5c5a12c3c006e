import * as E from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { ProfileName } from '../../../../api/names.ts';
import type { ProfileLookup, AwsFailure, Role } from '../../../../pkg/cloud/index.ts';
import type { Clock, Ms } from '../../../../pkg/env/clock.ts';
import type { Tags } from '../../../../pkg/fargate/tags/tag-keys.ts';
import { jsonEqual } from '../../../../pkg/kube/patches.ts';
import { callContext, reasonForFailure } from '../../aws/failure-reasons.ts';
import { type Mutation, isRoleRemoval, subjectOf } from '../../model/mutation.ts';
import { newReason } from '../../reasons/reasons.ts';
import { failureBackoffExpired, refusalExpired } from './backoff-checks.ts';
import { type Check, type Obstacle, stop } from '../guards.ts';
import type { PassState, RoleUsage } from '../pass-state.ts';
import { tagsWithoutOwner } from '../claims.ts';
import type { DeletionCheckServices } from './live-checks.ts';
import { readRoleUsage, readUsageByProfiles } from './role-usage.ts';

export interface CheckServices extends DeletionCheckServices {
  readonly clock: Clock;
  /**
   * How long a change in AWS may take from now, in ms. The value is 0 or less if this process may have lost its leader
   * lease.
   */
  readonly mutationTimeLeft: () => Ms;
}

/**
 * Returns all checks that run before a change in AWS, in their order: the cheapest first. The checks for a pause and
 * for another CRD are last, because a pause may begin while the check of an IAM role reads all Fargate profiles of the
 * EKS cluster.
 */
export function newChecks(services: CheckServices): readonly Check[] {
  return [
    refusalExpired(services),
    failureBackoffExpired(services),
    leaseValid(services),
    tagsUnchanged(),
    roleUnused(services),
    accessEntryUnused(),
  ];
}

/** Returns a check that holds back every change in AWS if this process may have lost its leader lease. */
export function leaseValid({ mutationTimeLeft }: Pick<CheckServices, 'mutationTimeLeft'>): Check {
  return async () =>
    mutationTimeLeft() > 0 ? undefined : stop(newReason('NotNow', { because: 'the lease may have run out' }));
}

/**
 * Returns a check for a profile or role without this controller's tags, before the controller adopts or deletes it. The
 * check reads the tags again, because an object of another namespace may have adopted the resource meanwhile.
 */
export function tagsUnchanged(): Check {
  return async (mutation, pass) => {
    const known = tagsWithoutOwner(mutation, pass);
    if (known === undefined) return undefined;
    const { session, target, desired } = pass;
    const tags = await readTags(mutation, pass);
    if (E.isLeft(tags))
      return stop(reasonForFailure(tags.left, callContext(target, { session, abandonment: desired.abandonment })));
    return jsonEqual(tags.right, known)
      ? undefined
      : stop(newReason('Outdated', { because: 'the tags have changed meanwhile' }));
  };
}

function readTags(mutation: Mutation, { session, target }: PassState): Promise<E.Either<AwsFailure, Tags | undefined>> {
  const { profiles, roles } = session;
  if (mutation.kind === 'tagRole') return TE.map((role: Role | undefined) => role?.tags)(roles.get(mutation.name))();
  const profile = profiles.describe(target.eksCluster, ProfileName.of(subjectOf(mutation)));
  return TE.map((lookup: ProfileLookup) => (lookup.kind === 'found' ? lookup.profile.tags : undefined))(profile)();
}

/**
 * Returns a check that prevents the deletion of an IAM role that another AWSFargateProfile or another Fargate profile
 * uses. A reconcile checks a role once, because this process lets no other reconcile change the same role meanwhile.
 */
export function roleUnused({ live }: Pick<CheckServices, 'live'>): Check {
  return async (mutation, pass) => {
    if (!isRoleRemoval(mutation)) return undefined;
    const usage = pass.roleUsage.get(mutation.name) ?? (await readRoleUsage(live, pass, mutation.name));
    pass.roleUsage.set(mutation.name, usage);
    return obstacleFor(usage);
  };
}

/**
 * Returns a check for the deletion of an EKS access entry that is older than its IAM role, before a profile is created.
 * The check prevents the deletion while another live profile of the EKS cluster uses the role. The controller replaces
 * such an entry later, when the created profile is ACTIVE.
 */
export function accessEntryUnused(): Check {
  return async (mutation, pass) => {
    if (mutation.kind !== 'deleteAccessEntry' || mutation.because !== 'profileCreation') return undefined;
    const usage = await readUsageByProfiles(pass, mutation.principal, new Set());
    return obstacleFor(usage);
  };
}

function obstacleFor(usage: RoleUsage): Obstacle | undefined {
  switch (usage.kind) {
    case 'unused':
      return undefined;
    case 'used':
      return { kind: 'keep', by: usage.by };
    case 'unknown':
      return stop(usage.reason);
  }
}
