import { RoleArn } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/eks/eks-api.ts';
import { foldCase } from '../../../pkg/fargate/tags/tag-map.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-map.ts';
import type { FoundRole, Observed, ObservedAccessEntry, ObservedProfile } from '../model/observed-state.ts';
import type { Mutation } from '../model/mutation.ts';
import type { MutationOutcome } from '../model/outcome.ts';

/** The outcomes of an AWS call after which the new state of AWS is known without reading AWS again. */
export type AppliedOutcome = Extract<MutationOutcome, { kind: 'done' | 'gone' | 'clusterGone' }>;

/**
 * Applies the outcome of an AWS call to the observed state, so that one reconcile reads AWS only once. After an
 * accepted create or delete request the Fargate profile counts as `CREATING` or `DELETING`. The next reconcile reads
 * AWS again.
 */
export function apply(observed: Observed, mutation: Mutation, outcome: AppliedOutcome): Observed {
  if (outcome.kind === 'clusterGone')
    return { ...observed, cluster: 'gone', profiles: observed.profiles.map(withoutProfile) };
  switch (mutation.kind) {
    case 'createProfile': {
      const { cluster, ...asked } = mutation.profile;
      return withProfile(
        observed,
        mutation.profile.name,
        () =>
          (outcome.kind === 'done' ? outcome.profile : undefined) ?? {
            ...asked,
            cluster,
            arn: '',
            status: 'CREATING',
            health: [],
          },
      );
    }
    case 'deleteProfile':
      return withProfile(observed, mutation.name, (found) =>
        outcome.kind === 'gone' ? undefined : found && { ...found, status: 'DELETING' },
      );
    case 'tagProfile':
      return withProfile(
        observed,
        mutation.name,
        (found) => found && { ...found, tags: { ...found.tags, ...mutation.tags } },
      );
    case 'untagProfile':
      return withProfile(
        observed,
        mutation.name,
        (found) => found && { ...found, tags: without(found.tags, mutation.keys) },
      );
    case 'createRole':
      return withRole(observed, mutation.role.name, () => ({
        ...((outcome.kind === 'done' ? outcome.role : undefined) ?? {
          ...mutation.role,
          arn: RoleArn.of(''),
          id: '',
          createdAt: 0,
        }),
        attached: [],
        blockers: [],
      }));
    case 'deleteRole':
      return withRole(observed, mutation.name, () => undefined);
    case 'setTrust':
      return withRole(observed, mutation.name, (found) => found && { ...found, trust: mutation.trust });
    case 'setBoundary':
      return withRole(
        observed,
        mutation.name,
        (found) => found && { ...found, permissionsBoundary: mutation.policyArn },
      );
    case 'removeBoundary':
      return withRole(observed, mutation.name, (found) => {
        if (found === undefined) return undefined;
        const { permissionsBoundary: _removed, ...rest } = found;
        return rest;
      });
    case 'attachPolicy':
      return withRole(
        observed,
        mutation.name,
        (found) => found && { ...found, attached: [...found.attached, mutation.policyArn] },
      );
    case 'detachPolicy':
      return withRole(
        observed,
        mutation.name,
        (found) => found && { ...found, attached: found.attached.filter((arn) => arn !== mutation.policyArn) },
      );
    case 'tagRole':
      return withRole(
        observed,
        mutation.name,
        (found) => found && { ...found, tags: withTags(found.tags, mutation.tags) },
      );
    case 'untagRole':
      return withRole(
        observed,
        mutation.name,
        (found) => found && { ...found, tags: without(found.tags, mutation.keys, foldCase) },
      );
    case 'createAccessEntry':
      return withAccessEntry(observed, mutation.principal, (entry) => ({
        ...entry,
        found: (outcome.kind === 'done' ? outcome.accessEntry : undefined) ?? { type: 'FARGATE_LINUX', createdAt: 0 },
        isMadeAnew: true,
      }));
    case 'deleteAccessEntry':
      return withAccessEntry(observed, mutation.principal, (entry) => ({
        ...entry,
        found: undefined,
        isDeletedByThisPass: true,
      }));
  }
}

const withoutProfile = ({ name }: ObservedProfile): ObservedProfile => ({ name, found: undefined });

/**
 * Marks an IAM role as used, so that this reconcile does not delete the role. `inUseBy` names the object or profile
 * that uses the role.
 */
export function markRoleInUse(observed: Observed, name: FoundRole['name'], inUseBy: string): Observed {
  return withRole(observed, name, (found) => found && { ...found, inUseBy });
}

/**
 * Records that a live Fargate profile uses the IAM role of an EKS access entry that is older than the role. So this
 * reconcile does not delete the entry. `inUseBy` names the profile.
 */
export function markAccessEntryInUse(observed: Observed, principal: RoleArn, inUseBy: string): Observed {
  return withAccessEntry(observed, principal, (entry) => ({ ...entry, inUseBy }));
}

/** Marks an EKS access entry that AWS refuses to change. `refusal` is the error message of AWS. */
export function markAccessEntryRefused(observed: Observed, principal: RoleArn, refusal: string): Observed {
  return withAccessEntry(observed, principal, (entry) => ({ ...entry, refusal }));
}

/**
 * Adds an EKS access entry to the observed state. Access entries are read later than the other AWS resources, and only
 * if a decision needs them.
 */
export const addAccessEntry = (observed: Observed, read: ObservedAccessEntry): Observed => ({
  ...observed,
  accessEntries: [...(observed.accessEntries ?? []).filter(({ principal }) => principal !== read.principal), read],
});

function withAccessEntry(
  observed: Observed,
  principal: RoleArn,
  change: (entry: ObservedAccessEntry) => ObservedAccessEntry,
): Observed {
  const entries = observed.accessEntries ?? [];
  return {
    ...observed,
    accessEntries: entries.map((entry) => (entry.principal === principal ? change(entry) : entry)),
  };
}

function withProfile(
  observed: Observed,
  name: FargateProfile['name'],
  change: (found: FargateProfile | undefined) => FargateProfile | undefined,
): Observed {
  return {
    ...observed,
    profiles: observed.profiles.map((profile) =>
      profile.name === name ? { name: profile.name, found: change(profile.found) } : profile,
    ),
  };
}

function withRole(
  observed: Observed,
  name: FoundRole['name'],
  change: (found: FoundRole | undefined) => FoundRole | undefined,
): Observed {
  return {
    ...observed,
    roles: observed.roles.map((role) =>
      role.name.toLowerCase() === name.toLowerCase() && role.found !== 'unread'
        ? { name: role.name, found: change(role.found) }
        : role,
    ),
  };
}

/**
 * Adds or overwrites tags of an IAM role. IAM ignores upper and lower case in tag keys, so a key in another case is
 * overwritten too.
 */
const withTags = (tags: Tags, added: Tags): Tags => ({ ...without(tags, Object.keys(added), foldCase), ...added });

function without(tags: Tags, keys: readonly string[], fold: (key: string) => string = (key) => key): Tags {
  const gone = new Set(keys.map(fold));
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !gone.has(fold(key))));
}
