import { sequenceT } from 'fp-ts/lib/Apply.js';
import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { ProfileName, RoleName } from '../../../api/names.ts';
import type { AwsFailure } from '../../../pkg/cloud/errors/failure.ts';
import type { PodExecutionRoles, Role } from '../../../pkg/cloud/iam/iam-api.ts';
import type { FargateProfiles } from '../../../pkg/cloud/eks/eks-api.ts';
import type { Call } from '../../../pkg/cloud/call/aws-call.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { isRecorded } from '../decide/compare.ts';
import { canReadRolesLater, transitReason } from '../decide/wait-for-eks-change.ts';
import { withCurrentRoleName } from '../goal/desired/desired.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole, Observed, ObservedProfile, ObservedRole } from '../model/observed-state.ts';
import type { Reason } from '../reasons/reasons.ts';

/** The calls that read the state of AWS. */
export interface AwsReader {
  readonly profiles: Pick<FargateProfiles, 'describe'>;
  readonly roles: Pick<PodExecutionRoles, 'get' | 'attachedPolicies' | 'inlinePolicies' | 'instanceProfiles'>;
}

/** The state of the EKS cluster and of the object's Fargate profiles, as EKS describes them. */
export type ObservedProfiles = Pick<Observed, 'cluster' | 'profiles'>;

/** The result of reading AWS: the whole state, or only the Fargate profiles if their state alone ends the reconcile. */
export type Observation =
  /**
   * `desired` is the desired state. {@link withCurrentRoleName} may have replaced its computed role name by the name of
   * the role that the existing Fargate profile uses.
   */
  | { readonly kind: 'whole'; readonly observed: Observed; readonly desired: Desired }
  /**
   * Only the Fargate profiles were read, because the state of the IAM roles does not matter: EKS is creating or
   * deleting a Fargate profile of the object, or the spec is invalid. The reconcile ends for `reason`.
   */
  | {
      readonly kind: 'profilesOnly';
      readonly observed: ObservedProfiles;
      readonly desired?: Desired;
      readonly reason: Reason;
    };

/** Reads each Fargate profile whose name is desired or recorded in status, with one call per name. */
export async function observeProfiles(
  { profiles }: AwsReader,
  { identity, names }: Desired,
): Promise<E.Either<AwsFailure, ObservedProfiles>> {
  const read = TE.traverseArray((name: ProfileName) =>
    pipe(
      profiles.describe(identity.eksCluster, name),
      TE.map((lookup) => ({ name, lookup })),
    ),
  );
  const lookups = await read(names.profiles)();
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
 * Reads each IAM role whose name is desired or recorded in status, at the same time as the Fargate profiles are read.
 *
 * Returns `undefined` if the reconcile probably does not need the roles yet. This is so while status says that EKS is
 * creating or deleting a profile. It is also so while the object is being deleted, because the controller deletes the
 * profile before the roles.
 */
export async function observeRolesEarly(
  reader: AwsReader,
  desired: Desired,
  { wasInTransit }: { readonly wasInTransit: boolean },
): Promise<E.Either<AwsFailure, readonly ObservedRole[]> | undefined> {
  if (wasInTransit || desired.wanted === undefined) return undefined;
  return observeRoles(reader, desired)();
}

/**
 * Completes the observed state with the IAM roles. `early` is the result of {@link observeRolesEarly}. While EKS
 * creates or deletes a Fargate profile, this function makes no AWS call, because the reconcile only waits for EKS.
 */
export async function completeObservation(
  reader: AwsReader,
  desired: Desired,
  observed: ObservedProfiles,
  early: E.Either<AwsFailure, readonly ObservedRole[]> | undefined,
): Promise<E.Either<AwsFailure, Observation>> {
  const reason = transitReason(desired, observed.profiles);
  if (reason !== undefined) return E.right({ kind: 'profilesOnly', observed, desired, reason });
  if (canReadRolesLater(desired, observed.profiles)) {
    const roles = desired.names.roles.map((name) => ({ name, found: 'unread' }) as const);
    return E.right({ kind: 'whole', observed: { ...observed, roles }, desired });
  }
  const current = withCurrentRoleName(desired, observed.profiles);
  const roles = early !== undefined && current === desired ? early : await observeRoles(reader, current)();
  if (E.isLeft(roles)) return roles;
  return E.right({ kind: 'whole', observed: { ...observed, roles: roles.right }, desired: current });
}

const observeRoles = (reader: AwsReader, desired: Desired): Call<readonly ObservedRole[]> =>
  TE.traverseArray((name: RoleName) => observeRole(reader, desired, name))(desired.names.roles);

function observeRole(reader: AwsReader, desired: Desired, name: RoleName): Call<ObservedRole> {
  const { wanted, recorded } = desired;
  const isOnlyUsed = wanted?.role.kind === 'existing' && isSameRoleName(wanted.role.name, name);
  const isUnwanted = !isSameRoleName(wanted?.role.name, name);
  const hasOtherPath = (role: Role): boolean => wanted?.role.kind === 'managed' && wanted.role.path !== role.path;
  // IAM refuses to list the policies of a role that does not exist. So the policies are read at the same time as the
  // role only if status has the id of the role, which shows that the role has existed.
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

/**
 * Reads the managed policies of a role, unless it is the role of spec.roleARN. For a role that the controller is going
 * to delete, this function also reads the inline policies and the instance profiles, because IAM deletes no role that
 * has them.
 */
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
