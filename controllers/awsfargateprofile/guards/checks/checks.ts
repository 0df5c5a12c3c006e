import * as E from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { ProfileName } from '../../../../api/names.ts';
import { type ProfileLookup, type AwsFailure, type Role, LEASE_SAFETY_MARGIN } from '../../../../pkg/cloud/index.ts';
import type { Clock, Ms } from '../../../../pkg/env/clock.ts';
import type { Tags } from '../../../../pkg/fargate/tags/tag-keys.ts';
import { jsonEqual } from '../../../../pkg/kube/patches.ts';
import { callContext, reasonForFailure } from '../../aws/failure-reasons.ts';
import { type Mutation, isQueuedMutation, isRoleRemoval, subjectOf } from '../../model/mutation.ts';
import { newReason } from '../../reasons/reasons.ts';
import { failureBackoffExpired, refusalExpired } from './backoff-checks.ts';
import { type Check, stop } from '../guards.ts';
import type { PassState } from '../pass-state.ts';
import { tagsWithoutOwner } from '../role-users/claims.ts';
import { type RoleUserServices, roleUnused } from '../role-users/role-users.ts';
import type { LiveGuardServices } from './live-checks.ts';
import type { Leadership } from '../../../../pkg/runtime/leadership.ts';

export interface CheckServices extends LiveGuardServices, RoleUserServices {
  readonly clock: Clock;
  /** 0 or less if this process may have lost its leader lease. */
  readonly mutationTimeLeft: () => Ms;
}

/** The cheapest checks come first. */
export function newChecks(services: CheckServices): readonly Check[] {
  return [
    refusalExpired(services),
    failureBackoffExpired(services),
    leaseValid(services),
    afterSurvey(),
    tagsUnchanged(),
    roleUnused(services),
  ];
}

const LONGEST_MUTATION: Ms = 10_000;

/** With 0 or less, the change must not be sent. */
export const mutationTimeLeft = (leadership: Leadership): Ms =>
  Math.min(LONGEST_MUTATION, leadership.remaining() - LEASE_SAFETY_MARGIN);

export function leaseValid({ mutationTimeLeft: timeLeft }: Pick<CheckServices, 'mutationTimeLeft'>): Check {
  return async () =>
    timeLeft() > 0 ? undefined : stop(newReason('NotNow', { because: 'the lease may have run out' }));
}

/** Only a survey shows all that the object has, so no profile or role is created or deleted after a glance. */
export function afterSurvey(): Check {
  return async (mutation, { observed }) => {
    const isOfSurvey = isQueuedMutation(mutation) || mutation.kind === 'createRole' || isRoleRemoval(mutation);
    return isOfSurvey && observed.depth === 'glance'
      ? stop(newReason('Outdated', { because: 'all profiles of the EKS cluster have to be read first' }))
      : undefined;
  };
}

/** An object of another namespace may meanwhile have adopted a resource that lacks the tags of this controller. */
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
