import { sequenceT } from 'fp-ts/lib/Apply.js';
import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { EksClusterName, ProfileName, RoleName } from '../../../api/names.ts';
import type { AwsFailure, PodExecutionRoles, Role, FargateProfiles, Call } from '../../../pkg/cloud/index.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { isRecorded } from '../decide/compare.ts';
import { isOfReplacement, searchFor } from '../decide/replacement.ts';
import { canReadRolesLater, transitReason } from '../decide/wait-for-eks-change.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole, Observed, ObservedProfile, ObservedRole } from '../model/observed-state.ts';

export interface AwsReader {
  readonly profiles: Pick<FargateProfiles, 'describe' | 'list'>;
  readonly roles: Pick<PodExecutionRoles, 'get' | 'attachedPolicies' | 'inlinePolicies' | 'instanceProfiles'>;
}

export type ObservedProfiles = Pick<Observed, 'cluster' | 'profiles'>;

export async function observeProfiles(
  { profiles }: AwsReader,
  eksCluster: EksClusterName,
  names: readonly ProfileName[],
): Promise<E.Either<AwsFailure, ObservedProfiles>> {
  const read = TE.traverseArray((name: ProfileName) =>
    pipe(
      profiles.describe(eksCluster, name),
      TE.map((lookup) => ({ name, lookup })),
    ),
  );
  const lookups = await read(names)();
  return pipe(
    lookups,
    E.map((all) => ({
      cluster: all.some(({ lookup }) => lookup.kind === 'clusterGone') ? 'gone' : 'there',
      profiles: all.map(({ name, lookup }): ObservedProfile => ({
        name,
        found: lookup.kind === 'found' ? lookup.profile : undefined,
      })),
    })),
  );
}

/**
 * Adds the other profiles of the object, which a replacement or a lost status leaves, to those that were read under the
 * names on record. EKS is asked for its list only if there may be such profiles.
 */
export async function findOtherProfiles(
  reader: AwsReader,
  desired: Desired,
  named: E.Right<ObservedProfiles>,
): Promise<E.Either<AwsFailure, ObservedProfiles>> {
  const { right: seen } = named;
  const isToBeRead = searchFor(desired, seen.profiles);
  if (isToBeRead === undefined || seen.cluster === 'gone') return named;
  const { eksCluster } = desired.identity;
  const listing = await reader.profiles.list(eksCluster)();
  if (E.isLeft(listing)) return listing;
  if (listing.right.kind === 'clusterGone') return E.right({ ...seen, cluster: 'gone' });
  const isKnown = (name: ProfileName): boolean => seen.profiles.some((each) => each.name === name);
  const names = listing.right.names.filter((name) => !isKnown(name) && isToBeRead(name));
  const others = await observeProfiles(reader, eksCluster, names);
  return E.map(({ cluster, profiles }: ObservedProfiles): ObservedProfiles => ({
    cluster,
    profiles: [
      ...seen.profiles,
      ...profiles.filter(({ found }) => found !== undefined && isOfReplacement(desired, found)),
    ],
  }))(others);
}

/** While EKS creates or deletes a profile, and before a deletion has deleted the profile, roles do not matter yet. */
export async function observeRoles(
  reader: AwsReader,
  desired: Desired,
  profiles: Observed['profiles'],
): Promise<E.Either<AwsFailure, readonly ObservedRole[]>> {
  const { roles } = desired.names;
  if (transitReason(desired, profiles) !== undefined || canReadRolesLater(desired, profiles))
    return E.right(roles.map((name) => ({ name, found: 'unread' })));
  return TE.traverseArray((name: RoleName) => observeRole(reader, desired, name))(roles)();
}

function observeRole(reader: AwsReader, desired: Desired, name: RoleName): Call<ObservedRole> {
  const { wanted, recorded } = desired;
  const isOnlyUsed = wanted?.role.kind === 'existing' && isSameRoleName(wanted.role.name, name);
  const isUnwanted = !isSameRoleName(wanted?.role.name, name);
  const hasOtherPath = (role: Role): boolean => wanted?.role.kind === 'managed' && wanted.role.path !== role.path;
  // IAM refuses to list the policies of a role that does not exist. So they are read at the same time as the role only
  // if status has the id of the role, which shows that the role has existed.
  const wasSeen = recorded.roleId !== undefined && isRecorded(desired, name);
  const early = wasSeen ? observeAttachments(reader, name, { isOnlyUsed, isToBeDeleted: isUnwanted }) : undefined;
  return pipe(
    sequenceT(TE.ApplyPar)(
      reader.roles.get(name),
      TE.fromTask<E.Either<AwsFailure, RoleAttachments> | undefined, AwsFailure>(early ?? (async () => undefined)),
    ),
    TE.chain(([role, attachments]) => {
      if (role === undefined) return TE.right<AwsFailure, ObservedRole>({ name, found: undefined });
      const isToBeDeleted = isUnwanted || hasOtherPath(role);
      return pipe(
        attachments !== undefined && isToBeDeleted === isUnwanted
          ? TE.fromEither(attachments)
          : observeAttachments(reader, name, { isOnlyUsed, isToBeDeleted }),
        TE.map((read): ObservedRole => ({ name, found: { ...role, ...read } })),
      );
    }),
  );
}

type RoleAttachments = Pick<FoundRole, 'attached' | 'blockers'>;

const NOTHING: Call<readonly string[]> = TE.right([]);

/** IAM deletes no role that has inline policies or instance profiles. */
function observeAttachments(
  { roles }: AwsReader,
  name: RoleName,
  { isOnlyUsed, isToBeDeleted }: { readonly isOnlyUsed: boolean; readonly isToBeDeleted: boolean },
): Call<RoleAttachments> {
  return pipe(
    sequenceT(TE.ApplyPar)(
      isOnlyUsed ? NOTHING : roles.attachedPolicies(name),
      isToBeDeleted ? roles.inlinePolicies(name) : NOTHING,
      isToBeDeleted ? roles.instanceProfiles(name) : NOTHING,
    ),
    TE.map(([attached, inline, instanceProfiles]) => ({
      attached,
      blockers: [
        ...inline.map((policy) => `the inline policy "${policy}"`),
        ...instanceProfiles.map((profile) => `the instance profile "${profile}"`),
      ],
    })),
  );
}
