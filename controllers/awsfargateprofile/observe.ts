import { sequenceT } from 'fp-ts/lib/Apply.js';
import * as O from 'fp-ts/lib/Option.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { ProfileName, RoleName } from '../../api/names.ts';
import type { AwsFailure } from '../../pkg/cloud/failure.ts';
import type {
  Call,
  EksClusters,
  FargateProfiles,
  PodExecutionRoles,
  ProfileLookup,
  Role,
} from '../../pkg/cloud/types.ts';
import { foundRoles, isMadeAnew } from './comparison.ts';
import { areRolesForLater, transitOf } from './decide.ts';
import { withRoleInUse } from './desired.ts';
import type { Desired, FoundRole, Observed, ObservedProfile, ObservedRole } from './model.ts';
import type { Why } from './reasons.ts';

/** What is read of AWS. */
export interface Eyes {
  readonly profiles: Pick<FargateProfiles, 'describe'>;
  readonly clusters: EksClusters;
  readonly roles: Pick<PodExecutionRoles, 'get' | 'attachedPolicies' | 'inlinePolicies' | 'instanceProfiles'>;
}

/** What a look at AWS brought: all, or only that a profile of ours is in transit, which has to be waited for anyway. */
export type Sight =
  /** But for roles that can wait. `desired` is what was asked with, adapted to the names of what is in use already. */
  | { readonly kind: 'whole'; readonly observed: Observed; readonly desired: Desired }
  | { readonly kind: 'transit'; readonly seen: SeenProfiles; readonly why: Why };

export type SeenProfiles = Pick<Observed, 'cluster' | 'profiles'>;

/**
 * Reads each profile and role whose name is desired or recorded, before anything is changed: three calls for an object
 * at rest, one for a poll of a profile in transit, and for one that is to be deleted. Left: the first read that failed;
 * then nothing is known but what `heard` was told: what was seen of the profiles, as soon as it was.
 */
export function observe(
  eyes: Eyes,
  desired: Desired,
  heard: (profiles: SeenProfiles) => void = () => {},
): TE.TaskEither<AwsFailure, Sight> {
  return pipe(
    TE.traverseArray((name: ProfileName) => observeProfile(eyes, desired, name))(desired.names.profiles),
    TE.chain((lookups) => {
      const seen = {
        cluster: lookups.some(({ lookup }) => lookup.kind === 'clusterGone') ? 'gone' : 'there',
        profiles: lookups.map(({ name, lookup }): ObservedProfile => ({
          name,
          found: lookup.kind === 'found' ? lookup.profile : undefined,
        })),
      } as const;
      heard(seen);
      const why = transitOf(desired, seen.profiles);
      if (why !== undefined) return TE.right<AwsFailure, Sight>({ kind: 'transit', seen, why });
      if (areRolesForLater(desired, seen.profiles)) {
        const roles = desired.names.roles.map((name) => ({ name, found: 'unread' }) as const);
        return TE.right<AwsFailure, Sight>({ kind: 'whole', observed: { ...seen, roles }, desired });
      }
      const adapted = withRoleInUse(desired, seen.profiles);
      return pipe(
        TE.traverseArray((name: RoleName) => observeRole(eyes, adapted, name))(adapted.names.roles),
        TE.chain((roles) => withAuthenticationMode(eyes, adapted, { ...seen, roles })),
        TE.map((observed): Sight => ({ kind: 'whole', observed, desired: adapted })),
      );
    }),
  );
}

/** How the cluster knows its roles matters only where one was made anew; then it is one more read. */
function withAuthenticationMode({ clusters }: Eyes, desired: Desired, observed: Observed): Call<Observed> {
  const isNeeded = foundRoles(observed.roles).some((found) => isMadeAnew(desired, found));
  if (!isNeeded || desired.wanted === undefined) return TE.right(observed);
  return pipe(
    clusters.describe(desired.owner.eksCluster),
    TE.map(
      O.match(
        () => observed,
        // A cluster that does not say is from before access entries.
        ({ authenticationMode = 'CONFIG_MAP' }) => ({ ...observed, authenticationMode }),
      ),
    ),
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
  // What blocks a deletion is of interest only to one.
  const isToGo = (role: Role): boolean =>
    wanted?.role.name !== name || (wanted.role.kind === 'managed' && wanted.role.path !== role.path);
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
              isToGo(role) ? roles.inlinePolicies(name) : nothing,
              isToGo(role) ? roles.instanceProfiles(name) : nothing,
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
