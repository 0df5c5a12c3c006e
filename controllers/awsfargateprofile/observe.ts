import { sequenceT } from 'fp-ts/lib/Apply.js';
import * as O from 'fp-ts/lib/Option.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { ProfileName, RoleName } from '../../api/names.ts';
import type { AwsFailure } from '../../pkg/cloud/failure.ts';
import type { Call, EksClusters, FargateProfiles, PodExecutionRoles, ProfileLookup } from '../../pkg/cloud/types.ts';
import type { Desired, FoundRole, Observed, ObservedProfile, ObservedRole } from './model.ts';

/** What is read of AWS. */
export interface Eyes {
  readonly profiles: Pick<FargateProfiles, 'describe'>;
  readonly clusters: EksClusters;
  readonly roles: Pick<PodExecutionRoles, 'get' | 'attachedPolicies' | 'inlinePolicies' | 'instanceProfiles'>;
}

/**
 * Reads each profile and role whose name is desired or recorded, before anything is changed: three calls for an object
 * at rest. Left: the first read that failed; then nothing is known.
 */
export function observe(eyes: Eyes, desired: Desired): TE.TaskEither<AwsFailure, Observed> {
  return pipe(
    sequenceT(TE.ApplyPar)(
      TE.traverseArray((name: ProfileName) => observeProfile(eyes, desired, name))(desired.names.profiles),
      TE.traverseArray((name: RoleName) => observeRole(eyes, desired, name))(desired.names.roles),
    ),
    TE.map(([lookups, roles]) => ({
      cluster: lookups.some(({ lookup }) => lookup.kind === 'clusterGone') ? 'gone' : 'there',
      profiles: lookups.map(({ name, lookup }): ObservedProfile => ({
        name,
        found: lookup.kind === 'found' ? lookup.profile : undefined,
      })),
      roles,
    })),
  );
}

function observeProfile(
  { profiles }: Eyes,
  desired: Desired,
  name: ProfileName,
): Call<{ readonly name: ProfileName; readonly lookup: ProfileLookup }> {
  return pipe(
    profiles.describe(desired.owner.eksCluster, name),
    TE.map((lookup) => ({ name, lookup })),
  );
}

function observeRole({ roles }: Eyes, desired: Desired, name: RoleName): Call<ObservedRole> {
  const { wanted } = desired;
  const isOnlyUsed = wanted?.role.kind === 'existing' && wanted.role.name === name;
  const nothing: Call<readonly string[]> = TE.right([]);
  return pipe(
    roles.get(name),
    TE.chain(
      O.match(
        (): Call<ObservedRole> => TE.right({ name, found: undefined }),
        (role) =>
          pipe(
            sequenceT(TE.ApplyPar)(
              isOnlyUsed ? nothing : roles.attachedPolicies(name),
              // What blocks a deletion is of interest only to one.
              wanted === undefined ? roles.inlinePolicies(name) : nothing,
              wanted === undefined ? roles.instanceProfiles(name) : nothing,
            ),
            TE.map(([attached, inline, instanceProfiles]): ObservedRole => ({
              name,
              found: { ...role, attached, blockers: blockersOf(inline, instanceProfiles) } satisfies FoundRole,
            })),
          ),
      ),
    ),
  );
}

const blockersOf = (inline: readonly string[], instanceProfiles: readonly string[]): readonly string[] => [
  ...inline.map((policy) => `the inline policy "${policy}"`),
  ...instanceProfiles.map((profile) => `the instance profile "${profile}"`),
];
