import * as E from 'fp-ts/lib/Either.js';
import type { AccountId, ProfileName } from '../../../../api/names.ts';
import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import { type AwsLocation, parseRoleArn, partitionOf, roleArn } from '../../../../pkg/fargate/arns.ts';
import { findProfileNameProblem, isSameRoleName } from '../../../../pkg/fargate/names.ts';
import type { OperatorLimits } from '../../../../pkg/fargate/operator-limits.ts';
import { NO_LIMITS, findEksClusterExcess, requiredBoundary } from '../../../../pkg/fargate/operator-limits.ts';
import type { Ms } from '../../../../pkg/env/clock.ts';
import { parseDuration } from '../../../../pkg/env/duration.ts';
import type { Desired } from '../../model/desired-state.ts';
import type { ControlPlaneFacts, Surplus, Target, TargetSource } from '../../model/goal-kinds.ts';
import { isReplaceable } from '../../../shared/object-state.ts';
import { baseNameOf, currentProfileNameOf, profileNameOf } from '../../../shared/profile-names.ts';
import type { ObservedProfile } from '../../model/observed-state.ts';
import type { Abandonment } from '../../reasons/wording/abandonment.ts';
import type { Reason } from '../../reasons/reasons.ts';
import { findExcess } from './check-spec-against-operator-limits.ts';
import { distinctRoles, identityOf, namesOnDeletion, namesWithRecorded, withReplacement } from './names-to-look-for.ts';
import { recordedStateOf } from './recorded-state.ts';
import { isInEksCluster, roleSettingsConflict } from './role-sharing.ts';
import { type ChosenName, chooseName } from './wanted-name.ts';
import { wantedProfile, wantedRole } from './wanted-profile-and-role.ts';
import { withEmptyFields } from '../../../../api/external/index.ts';
import { isRecord } from '../../../../api/record.ts';

export interface DesiredInputs {
  readonly target: Target;
  readonly targetSource: TargetSource;
  /** `undefined` if nothing is to be created or corrected. */
  readonly controlPlaneFacts: ControlPlaneFacts | undefined;
  readonly surplus: Surplus;
  readonly abandonment?: Abandonment | undefined;
  readonly account: AccountId;
  readonly limits: OperatorLimits;
  readonly roleConflict?: Reason | undefined;
  readonly isCreateUnconfirmed: boolean;
  /** Wall clock, ms since 1970. */
  readonly now: Ms;
}

/**
 * Without `controlPlaneFacts` nothing is wanted. `profiles` are those under the names of {@link candidateProfiles};
 * `undefined` before EKS was read. Left if AWS cannot fulfil the spec.
 */
export function desiredFor(
  object: AWSFargateProfile,
  inputs: DesiredInputs,
  profiles?: readonly ObservedProfile[],
): E.Either<Reason, Desired> {
  const desired = desiredUnderName(namesFor(object, inputs, profiles), object, inputs, profiles);
  return profiles === undefined ? desired : E.map((each: Desired) => withRoleInUse(each, profiles))(desired);
}

export function candidateProfiles(object: AWSFargateProfile, { names, wanted }: Desired): readonly ProfileName[] {
  const computed = profileNameOf(object);
  const isAsked = wanted !== undefined && findProfileNameProblem(computed) === undefined;
  return isAsked ? [...new Set([...names.profiles, computed])] : names.profiles;
}

export function roleConflictOf(
  object: AWSFargateProfile,
  inputs: Omit<DesiredInputs, 'roleConflict'>,
  roleSharers: readonly AWSFargateProfile[],
): Reason | undefined {
  if (inputs.controlPlaneFacts === undefined) return undefined;
  const place = placeOf(inputs);
  const location = { ...place, eksCluster: inputs.target.eksCluster };
  const required = requiredBoundary(inputs.limits, place);
  return roleSettingsConflict(
    object,
    roleSharers.filter((sharer) => isInEksCluster(sharer, object, location)),
    {
      controlPlaneTags: inputs.controlPlaneFacts.controlPlaneTags,
      boundaryOf: ({ spec }) => required ?? spec.rolePermissionsBoundary,
    },
  );
}

function namesFor(
  object: AWSFargateProfile,
  inputs: DesiredInputs,
  profiles: readonly ObservedProfile[] | undefined,
): ChosenName {
  if (inputs.controlPlaneFacts === undefined) return { name: profileNameOf(object), base: profileNameOf(object) };
  if (profiles === undefined) return { name: currentProfileNameOf(object), base: baseNameOf(object) };
  return chooseName(object, (base) => identityOf(object, inputs, placeOf(inputs), base), profiles);
}

function desiredUnderName(
  { name: profileName, base }: ChosenName,
  object: AWSFargateProfile,
  inputs: DesiredInputs,
  profiles: readonly ObservedProfile[] = [],
): E.Either<Reason, Desired> {
  const { target, controlPlaneFacts, surplus, abandonment } = inputs;
  const place = placeOf(inputs);
  const identity = identityOf(object, inputs, place, base);
  const { clusterName, eksCluster: name } = target;
  const isRefused =
    clusterName === undefined &&
    findEksClusterExcess(inputs.limits, object.metadata.namespace, { ...place, name }).length > 0;
  const common = {
    identity,
    broughtRole: object.spec.roleARN,
    place,
    surplus,
    abandonment,
    isClusterLeaving: abandonment === 'removeFinalizer',
    adoptionPolicy: object.spec.adoptionPolicy ?? 'Owned',
    now: inputs.now,
    isReplaceable: controlPlaneFacts !== undefined && isReplaceable(object),
    keepPredecessorFor: parseDuration(object.spec.updateStrategy?.replace?.keepPredecessorFor ?? '') ?? 0,
    recorded: recordedStateOf(object, identity, { ...inputs, isRefused }),
    creationBlocker: controlPlaneFacts?.creationBlocker,
    // The operator's limits do not block a deletion.
    limits: controlPlaneFacts === undefined ? NO_LIMITS : inputs.limits,
    excess: controlPlaneFacts === undefined ? [] : findExcess(object.spec, inputs.limits, place),
    emptySelectorFields: controlPlaneFacts === undefined ? [] : findEmptySelectorFields(object),
  } as const;
  if (controlPlaneFacts === undefined) {
    return E.right({
      ...common,
      names: withReplacement(namesOnDeletion(object, common), object, common, profiles),
      wanted: undefined,
    });
  }
  const isToBeMade =
    profiles.length > 0 && profiles.every(({ name: each, found }) => each !== profileName || found === undefined);
  const isReplacement = common.isReplaceable && isToBeMade;
  const profile = wantedProfile(object, controlPlaneFacts, identity, { name: profileName, isReplacement });
  if (E.isLeft(profile)) return profile;
  const role = wantedRole(object, controlPlaneFacts, { identity, place, limits: inputs.limits }, base);
  if (E.isLeft(role)) return role;
  const recorded = namesWithRecorded(profile.right.name, role.right.name, common.recorded);
  const names = withReplacement(recorded, object, common, profiles);
  return E.right({
    ...common,
    names,
    wanted: { profile: profile.right, role: role.right },
    ...(inputs.roleConflict && { roleConflict: inputs.roleConflict }),
  });
}

/**
 * EKS cannot change the role of a profile. So the name of the role in use replaces the computed one if CAPA computed it
 * (before v2.7.0 from the name of the EKS cluster), or if the status of a provisioned object records it, from a
 * spec.roleName that a client has removed since.
 */
function withRoleInUse(desired: Desired, profiles: readonly ObservedProfile[]): Desired {
  const { wanted, identity, place, recorded } = desired;
  if (wanted?.role.kind !== 'managed' || wanted.role.isNamedInSpec) return desired;
  const inUse = profiles.find(({ name }) => name === wanted.profile.name)?.found?.podExecutionRoleArn;
  const parts = inUse === undefined ? undefined : parseRoleArn(inUse);
  if (parts === undefined || parts.name === wanted.role.name) return desired;
  const isKept = recorded.isProvisioned && !desired.isReplaceable && isSameRoleName(recorded.roleName, parts.name);
  if (!isKept && !identity.capaRoleNames.includes(parts.name)) return desired;
  const role = { ...wanted.role, name: parts.name, arn: roleArn(place, wanted.role.path, parts.name) };
  const roles = distinctRoles([role.name, ...desired.names.roles.filter((name) => name !== wanted.role.name)]);
  return { ...desired, wanted: { ...wanted, role }, names: { ...desired.names, roles } };
}

/** The partition follows from the region, as for the endpoints of EKS and IAM. */
const placeOf = ({ target: { region }, account }: DesiredInputs): AwsLocation => ({
  partition: partitionOf(region),
  region,
  account,
});

/**
 * The API server refuses a label without a value when it sees it, but a client-side apply over an existing object drops
 * the label before. So the annotation of `kubectl apply` is read.
 */
export const findEmptySelectorFields = ({ metadata, spec }: AWSFargateProfile): readonly string[] =>
  withEmptyFields({ metadata }, ['spec', 'selectors'], spec.selectors ?? []).flatMap((selector, index) =>
    emptyFields(selector, `spec.selectors[${index}]`),
  );

const emptyFields = (value: unknown, path: string): readonly string[] => {
  if (value === null) return [path];
  return isRecord(value) ? Object.entries(value).flatMap(([key, field]) => emptyFields(field, `${path}.${key}`)) : [];
};
