import * as E from 'fp-ts/lib/Either.js';
import type { KubeClient, ObjectKey, Resource } from 'controller-runtime/client';
import { type Leadership, LEASE_SAFETY_MARGIN } from 'controller-runtime/election';
import type { Clock, Ms } from 'controller-runtime/env';
import { jsonEqual } from 'controller-runtime/json';
import { ProfileName } from '../../../api/names.ts';
import type { AwsFailure } from '../../../pkg/cloud/index.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import { reasonForFailure } from '../aws/failure-reasons.ts';
import { type Mutation, needsSurvey, subjectOf, isCreation, isDestructive } from '../model/change.ts';
import { newReason, reasonForSchema } from '../reasons/reasons.ts';
import { type Guard, stop, type ReconcileState } from './guards.ts';
import { tagsWithoutOwner } from './role-users/claims.ts';
import type { RoleUserServices } from './role-users/role-users.ts';
import { findProfile } from '../model/observed-state.ts';
import { isRetryOfFailedProfile, mutationKey, refusalFor } from '../retry-state.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { ServedSchema } from '../../shared/crd/served-schema.ts';
import { findLiveBlocker } from '../../shared/live-profiles.ts';
import { CREATE_FAILED } from '../model/profile-status.ts';

export interface CheckServices extends LiveGuardServices, RoleUserServices {
  readonly clock: Clock;
  /** How much time a change may take, in ms. 0 or less if this process may have lost its leader lease. */
  readonly mutationTimeLeft: () => Ms;
}

const LONGEST_MUTATION: Ms = 10_000;

/** How much time a change may take, in ms. At 0 or less, the change must not be sent. */
export const mutationTimeLeft = (leadership: Leadership): Ms =>
  Math.min(LONGEST_MUTATION, leadership.remaining() - LEASE_SAFETY_MARGIN);

export function leaseValid({ mutationTimeLeft: timeLeft }: Pick<CheckServices, 'mutationTimeLeft'>): Guard {
  return async () =>
    timeLeft() > 0 ? undefined : stop(newReason('NotNow', { because: 'the lease may have run out' }));
}

/**
 * A reconcile that has read only the recorded profiles (a glance) must not create or delete profiles, or change roles.
 * Only a survey, which reads every profile of the EKS cluster, shows everything that the object has, and which other
 * profiles use its role.
 */
export function afterSurvey(): Guard {
  return async (mutation, { observed }) =>
    needsSurvey(mutation) && observed.depth === 'glance'
      ? stop(newReason('ReadAgain', { because: 'all profiles of the EKS cluster have to be read first' }))
      : undefined;
}

/**
 * Reads the tags again before a change of a resource that lacks this controller's tags, because an object in another
 * namespace may have adopted the resource.
 */
export function tagsUnchanged(): Guard {
  return async (mutation, reconcile) => {
    const known = tagsWithoutOwner(mutation, reconcile);
    if (known === undefined) return undefined;
    const tags = await readTags(mutation, reconcile);
    if (E.isLeft(tags)) return stop(reasonForFailure(tags.left, reconcile));
    return jsonEqual(tags.right, known)
      ? undefined
      : stop(newReason('ReadAgain', { because: 'the tags have changed meanwhile' }));
  };
}

async function readTags(
  mutation: Mutation,
  { session, target }: ReconcileState,
): Promise<E.Either<AwsFailure, Tags | undefined>> {
  const { profiles, roles } = session;
  if (mutation.kind === 'tagRole') {
    const role = await roles.get(mutation.name);
    return E.isLeft(role) ? role : E.right(role.right?.tags);
  }
  const lookup = await profiles.describe(target.eksCluster, ProfileName.of(subjectOf(mutation)));
  if (E.isLeft(lookup)) return lookup;
  return E.right(lookup.right.kind === 'found' ? lookup.right.profile.tags : undefined);
}

/** A refused change is not sent again until its backoff ends or the spec changes. */
export function refusalExpired({ clock }: Pick<CheckServices, 'clock'>): Guard {
  return async (mutation, { object, retry, target }) => {
    const generation = object.metadata.generation ?? 0;
    const reason = refusalFor(retry.state, mutationKey(mutation, target.identity), generation, clock.monotonic());
    return reason && stop(reason);
  };
}

export function failureBackoffExpired({ clock }: Pick<CheckServices, 'clock'>): Guard {
  return async (mutation, { observed, retry, desired }) => {
    if (!isRetryOfFailedProfile(mutation, observed)) return undefined;
    const found = findProfile(observed.profiles, mutation.name);
    const now = clock.monotonic();
    if (found === undefined || now >= (retry.state.recovery?.notBefore ?? now)) return undefined;
    const facts = { name: found.name, issues: found.health };
    return stop(
      found.status === CREATE_FAILED
        ? newReason('CreateFailed', facts)
        : newReason('DeleteFailed', { ...facts, abandonment: desired.abandonment }),
    );
  };
}

/**
 * Returns why nothing may be deleted for the object now, in Kubernetes or in AWS. Asks the API server, because an outdated
 * answer could lead to a deletion that cannot be undone.
 */
export type FindLiveBlocker = (object: AWSFargateProfile, signal: AbortSignal) => Promise<string | undefined>;

interface LiveBlockerSources {
  readonly client: KubeClient;
  readonly clusters: () => Resource | undefined;
  /** Returns the Cluster whose pause also pauses the object. Left if the Cluster is not known yet. */
  readonly clusterKeyOf: (object: AWSFargateProfile) => E.Either<string, ObjectKey | undefined>;
}

export const newFindLiveBlocker =
  ({ client, clusters, clusterKeyOf }: LiveBlockerSources): FindLiveBlocker =>
  async (object, signal) => {
    const cluster = clusterKeyOf(object);
    return E.isLeft(cluster) ? cluster.left : findLiveBlocker(client, clusters(), object, cluster.right, signal);
  };

export interface LiveGuardServices {
  readonly findLiveBlocker: FindLiveBlocker;
  readonly schema: Pick<ServedSchema, 'check'>;
}

export const newLiveGuards = (services: LiveGuardServices): readonly Guard[] => [
  noLiveBlocker(services),
  schemaIsOurs(services),
];

/** Asks the API server, because the cache may not show yet that the object is paused, changed, gone, or being moved. */
export function noLiveBlocker(services: Pick<LiveGuardServices, 'findLiveBlocker'>): Guard {
  return async (mutation, { object, signal }) => {
    if (!isDestructive(mutation)) return undefined;
    const because = await services.findLiveBlocker(object, signal);
    return because === undefined ? undefined : stop(newReason('NotNow', { because }));
  };
}

/**
 * Checks the installed CRD again, because the check at the start of the reconcile may be outdated by now. Another
 * provider's CRD hides the fields that it lacks, so this process may not know the whole spec.
 */
export function schemaIsOurs({ schema }: Pick<LiveGuardServices, 'schema'>): Guard {
  return async (mutation, { signal }) => {
    const isGuarded = isDestructive(mutation) || isCreation(mutation);
    const reason = isGuarded ? reasonForSchema(await schema.check(signal)) : undefined;
    return reason && stop(reason);
  };
}
