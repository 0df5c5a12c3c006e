import { sequenceT } from 'fp-ts/lib/Apply.js';
import type * as E from 'fp-ts/lib/Either.js';
import * as O from 'fp-ts/lib/Option.js';
import * as T from 'fp-ts/lib/Task.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { ProfileName, RoleName } from '../../api/names.ts';
import type { AwsFailure } from '../../pkg/cloud/failure.ts';
import type { Call, EksClusters, FargateProfiles, PodExecutionRoles, Role } from '../../pkg/cloud/types.ts';
import { foundRoles, isMadeAnew, isRecorded } from './comparison.ts';
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

/** What is known before anything is read. */
export interface Looking {
  /** A profile was in transit when last seen: most likely it still is, and that is all there will be to know. */
  readonly inTransit: boolean;
  /** Told what is seen of the profiles, as soon as it is. */
  readonly heard?: (profiles: SeenProfiles) => void;
}

/**
 * Reads each profile and role whose name is desired or recorded, before anything is changed: three calls side by side for
 * an object at rest, one for a poll of a profile in transit, and for a profile that is to be deleted. Left: the first read
 * that failed, the profile's before the role's; then nothing is known but what `heard` was told.
 */
export function observe(
  eyes: Eyes,
  desired: Desired,
  { inTransit, heard = () => {} }: Looking,
): TE.TaskEither<AwsFailure, Sight> {
  // Where what the profile is like will hardly keep the role from being needed, it is read beside it: a line waits for this.
  const beside = inTransit || desired.wanted === undefined ? undefined : observeRoles(eyes, desired);
  return pipe(
    sequenceT(TE.ApplyPar)(
      pipe(
        observeProfiles(eyes, desired),
        TE.map((seen) => {
          heard(seen);
          return seen;
        }),
      ),
      TE.fromTask<EarlyRoles | undefined, AwsFailure>(beside ?? T.of(undefined)),
    ),
    TE.chain(([seen, early]) => {
      const why = transitOf(desired, seen.profiles);
      if (why !== undefined) return TE.right<AwsFailure, Sight>({ kind: 'transit', seen, why });
      if (areRolesForLater(desired, seen.profiles)) {
        const roles = desired.names.roles.map((name) => ({ name, found: 'unread' }) as const);
        return TE.right<AwsFailure, Sight>({ kind: 'whole', observed: { ...seen, roles }, desired });
      }
      const adapted = withRoleInUse(desired, seen.profiles);
      return pipe(
        early !== undefined && adapted === desired ? TE.fromEither(early) : observeRoles(eyes, adapted),
        TE.chain((roles) => withAuthenticationMode(eyes, adapted, { ...seen, roles })),
        TE.map((observed): Sight => ({ kind: 'whole', observed, desired: adapted })),
      );
    }),
  );
}

/** Read beside the profiles, whose own failure counts first. */
type EarlyRoles = E.Either<AwsFailure, readonly ObservedRole[]>;

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

function observeProfiles({ profiles }: Eyes, { owner, names }: Desired): Call<SeenProfiles> {
  return pipe(
    TE.traverseArray((name: ProfileName) =>
      pipe(
        profiles.describe(owner.eksCluster, name),
        TE.map((lookup) => ({ name, lookup })),
      ),
    )(names.profiles),
    TE.map((lookups) => ({
      cluster: lookups.some(({ lookup }) => lookup.kind === 'clusterGone') ? 'gone' : 'there',
      profiles: lookups.map(({ name, lookup }): ObservedProfile => ({
        name,
        found: lookup.kind === 'found' ? lookup.profile : undefined,
      })),
    })),
  );
}

const observeRoles = (eyes: Eyes, desired: Desired): Call<readonly ObservedRole[]> =>
  TE.traverseArray((name: RoleName) => observeRole(eyes, desired, name))(desired.names.roles);

function observeRole(eyes: Eyes, desired: Desired, name: RoleName): Call<ObservedRole> {
  const { wanted, records } = desired;
  const isOnlyUsed = wanted?.role.kind === 'existing' && wanted.role.name === name;
  // What blocks a deletion is of interest only to one.
  const isToGo = wanted?.role.name !== name;
  const isToMove = (role: Role): boolean => wanted?.role.kind === 'managed' && wanted.role.path !== role.path;
  // A role that was seen before will be there: what it has is read beside it. Of one that is not there it would be refused.
  const wasSeen = records.roleId !== undefined && isRecorded(desired, name);
  const beside = wasSeen ? havingsOf(eyes, name, { isOnlyUsed, isToGo }) : undefined;
  return pipe(
    sequenceT(TE.ApplyPar)(
      eyes.roles.get(name),
      TE.fromTask<E.Either<AwsFailure, Havings> | undefined, AwsFailure>(beside ?? T.of(undefined)),
    ),
    TE.chain(([found, early]) =>
      pipe(
        found,
        O.match(
          (): Call<ObservedRole> => TE.right({ name, found: undefined }),
          (role) =>
            pipe(
              early !== undefined && (isToGo || !isToMove(role))
                ? TE.fromEither(early)
                : havingsOf(eyes, name, { isOnlyUsed, isToGo: isToGo || isToMove(role) }),
              TE.map((havings): ObservedRole => ({ name, found: { ...role, ...havings } })),
            ),
        ),
      ),
    ),
  );
}

type Havings = Pick<FoundRole, 'attached' | 'blockers'>;

const NOTHING: Call<readonly string[]> = TE.right([]);

/** What hangs on a role, as far as it matters. */
function havingsOf(
  { roles }: Eyes,
  name: RoleName,
  { isOnlyUsed, isToGo }: { readonly isOnlyUsed: boolean; readonly isToGo: boolean },
): Call<Havings> {
  return pipe(
    sequenceT(TE.ApplyPar)(
      isOnlyUsed ? NOTHING : roles.attachedPolicies(name),
      isToGo ? roles.inlinePolicies(name) : NOTHING,
      isToGo ? roles.instanceProfiles(name) : NOTHING,
    ),
    TE.map(([attached, inline, instanceProfiles]) => ({
      attached,
      blockers: blockersOf(inline, instanceProfiles),
    })),
  );
}

const blockersOf = (inline: readonly string[], instanceProfiles: readonly string[]): readonly string[] => [
  ...inline.map((policy) => `the inline policy "${policy}"`),
  ...instanceProfiles.map((profile) => `the instance profile "${profile}"`),
];
