import { RoleArn } from '../../api/names.ts';
import type { FargateProfile } from '../../pkg/cloud/types.ts';
import { foldCase } from '../../pkg/fargate/tags.ts';
import type { Tags } from '../../pkg/fargate/tags.ts';
import type { FoundRole, Mutation, Observed, ObservedProfile, Outcome } from './model.ts';

/** The outcomes that say how the world is now. */
export type Applied = Extract<Outcome, { kind: 'done' | 'vanished' | 'clusterGone' }>;

/**
 * What is observed after a mutation that AWS carried out: its answer folded in, so that a pass reads the world once.
 *
 * An accepted create or delete of a profile is only begun: `CREATING`, `DELETING`. Nothing else changes, and what is
 * folded in never outlives its pass.
 */
export function apply(observed: Observed, mutation: Mutation, outcome: Applied): Observed {
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
        outcome.kind === 'vanished' ? undefined : found && { ...found, status: 'DELETING' },
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
        ...((outcome.kind === 'done' ? outcome.role : undefined) ?? { ...mutation.role, arn: RoleArn.of(''), id: '' }),
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
  }
}

const withoutProfile = ({ name }: ObservedProfile): ObservedProfile => ({ name, found: undefined });

/** A role that turned out to be used by something else stays, and is not looked at again in this pass. */
export function keepRole(observed: Observed, name: FoundRole['name'], keep: string): Observed {
  return withRole(observed, name, (found) => found && { ...found, keep });
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

/** IAM replaces a tag whose key differs in case alone. */
const withTags = (tags: Tags, added: Tags): Tags => ({ ...without(tags, Object.keys(added), foldCase), ...added });

function without(tags: Tags, keys: readonly string[], fold: (key: string) => string = (key) => key): Tags {
  const gone = new Set(keys.map(fold));
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !gone.has(fold(key))));
}
