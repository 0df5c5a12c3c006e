import * as E from 'fp-ts/lib/Either.js';
import { type Ms, parseDuration } from 'controller-runtime/env';
import { isRecord } from 'controller-runtime/json';
import type { AccountId, ProfileName, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileSpec } from '../../../api/v1beta2/index.ts';
import { withEmptyFields } from '../../../api/external/index.ts';
import { parseRoleArn, type AwsLocation } from '../../../pkg/fargate/arns.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import {
  type OperatorLimits,
  NO_LIMITS,
  requiredBoundary,
  type LimitExcess,
  findPolicyExcess,
  findRoleExcess,
} from '../../../pkg/fargate/operator-limits.ts';
import { type ProfileRecord, recordOf, isEntryOf, roleEntryOf } from '../../shared/record.ts';
import { isProvisioned, isReplaceable, isSpecFixed } from '../../shared/object-state.ts';
import { baseNameOf } from '../../shared/profile-names.ts';
import type {
  Desired,
  DesiredResources,
  DesiredRole,
  ObjectIdentity,
  SharersSettings,
} from '../model/desired-state.ts';
import { findRole, fitsSpec, type Observed } from '../model/observed-state.ts';
import type { PursueGoal } from '../goal/goal.ts';
import { identityOf, placeOf, isRoleTaggedOurs, oursOf, ownershipOf } from '../model/owner.ts';
import type { UpdatedRecord } from '../record-after-read.ts';
import { newReason, type Reason } from '../reasons/reasons.ts';
import { desiredProfile, desiredRole } from './profile-and-role.ts';
import { chooseName } from './choose-name.ts';

export interface DesiredInputs extends Omit<PursueGoal, 'kind'> {
  readonly account: AccountId;
  readonly limits: OperatorLimits;
  readonly isQuotaExceeded: boolean;
  /** Returns what other objects want that use the role. By default, no other object uses it. */
  readonly sharersSettings?: (role: RoleName) => SharersSettings;
}

/**
 * Without `creationFacts`, no profile or role is desired. A Left says why AWS cannot fulfill the spec. `awsTime` is
 * AWS's time as of its last answer, in ms since 1970.
 */
export function desiredFor(
  object: AWSFargateProfile,
  inputs: DesiredInputs,
  { record, elsewhere, isLost }: UpdatedRecord,
  observed: Observed,
  awsTime: Ms,
): E.Either<Reason, Desired> {
  const { target, creationFacts, unwanted, abandonment, limits } = inputs;
  const place = placeOf(target, inputs.account);
  const byRecord = identityOf(object, inputs, baseNameOf(object, record));
  const identity = identityOf(object, inputs, baseNameOf(object, withoutForeign(record, byRecord, observed)));
  const isLeaving = creationFacts === undefined;
  const common = {
    identity,
    userProvidedRole: object.spec.roleARN,
    place,
    unwanted,
    abandonment,
    isLeavingWithCluster: inputs.isLeavingWithCluster,
    now: awsTime,
    isReplaceable: isReplaceable(object),
    keepPredecessorFor: parseDuration(object.spec.updateStrategy?.replace?.keepPredecessorFor ?? '') ?? 0,
    drainTimeout: parseDuration(object.spec.updateStrategy?.replace?.drainTimeout ?? '') ?? 0,
    record,
    elsewhere,
    isLost,
    isProvisioned: isProvisioned(object),
    isSpecFixed: isSpecFixed(object),
    isQuotaExceeded: inputs.isQuotaExceeded,
    isUnproven: inputs.targetSource === 'unreadyControlPlane' && record.in.kind !== 'none',
    creationBlocker: creationFacts?.creationBlocker,
    // The operator's limits do not block a deletion.
    limits: isLeaving ? NO_LIMITS : limits,
    excess: isLeaving ? [] : findExcess(object.spec, limits, place),
    emptySelectorFields: isLeaving ? [] : findEmptySelectorFields(object),
  } as const;
  if (isLeaving) return E.right({ ...common, profile: undefined, role: undefined });
  const ours = oursOf(common, observed.profiles);
  const isOwnRole = (name: RoleName): boolean => isKnownRole(common, observed, name);
  const name = chooseName(object, {
    base: identity.profileName,
    record,
    ours,
    all: observed.profiles,
    fits: (profile) => fitsSpec(object, identity, profile, isOwnRole),
  });
  const existing = ours.find((each) => each.name === name);
  const resources = desiredProfileAndRole(object, inputs, common, { name, existing, isOwnRole });
  return E.map((both: DesiredResources): Desired => ({
    ...common,
    ...both,
  }))(resources);
}

/** Removes recorded profiles whose tag now names another owner, so that this object does not reuse their names. */
function withoutForeign(record: ProfileRecord, identity: ObjectIdentity, { profiles }: Observed): ProfileRecord {
  const foreign = profiles.filter((each) => {
    const ownership = ownershipOf({ identity }, each);
    return ownership.kind === 'foreign' && ownership.claimed;
  });
  return {
    ...record,
    profiles: record.profiles.filter((entry) => !foreign.some((each) => isEntryOf([entry], each))),
  };
}

/** Finds problems that are known without reading AWS, so that a waiting object reports them immediately. */
export function findSpecProblem(object: AWSFargateProfile, inputs: DesiredInputs): Reason | undefined {
  if (inputs.creationFacts === undefined) return undefined;
  const record = recordOf(object);
  const place = placeOf(inputs.target, inputs.account);
  const base = baseNameOf(object, record);
  const identity = identityOf(object, inputs, base);
  const isThere = record.profiles.length > 0;
  const known = { name: base, existing: undefined, isOwnRole: () => false, isThere };
  const resources = desiredProfileAndRole(object, inputs, { identity, place, limits: inputs.limits }, known);
  if (E.isLeft(resources)) return resources.left;
  const excess = isThere ? [] : findExcess(object.spec, inputs.limits, place);
  return excess.length > 0 ? newReason('NotAllowedByOperator', { excess, about: 'IAMFargateRolesReady' }) : undefined;
}

function desiredProfileAndRole(
  object: AWSFargateProfile,
  inputs: DesiredInputs,
  common: Pick<Desired, 'identity' | 'place' | 'limits'>,
  {
    name,
    existing,
    isOwnRole,
    isThere = existing !== undefined,
  }: {
    readonly name: ProfileName;
    readonly existing: FargateProfile | undefined;
    readonly isOwnRole: (name: RoleName) => boolean;
    readonly isThere?: boolean;
  },
): E.Either<Reason, DesiredResources> {
  const { creationFacts } = inputs;
  if (creationFacts === undefined) throw new TypeError('nothing is desired');
  const profile = desiredProfile(object, creationFacts, common.identity, { name, isThere });
  if (E.isLeft(profile)) return profile;
  // EKS cannot change the role of a profile, so the role that the profile uses takes precedence over a computed name.
  const inUse = existing && parseRoleArn(existing.podExecutionRoleArn)?.name;
  const { capaRoleNames } = common.identity;
  const isKept = inUse !== undefined && (capaRoleNames.includes(inUse) || isOwnRole(inUse));
  const role = desiredRole(object, creationFacts, common, {
    inUse: isKept ? inUse : undefined,
    sharersSettings: inputs.sharersSettings,
  });
  return E.map((each: DesiredRole) => ({ profile: profile.right, role: each }))(role);
}

/**
 * Whether the role is this object's, by its tags or, if IAM did not return the role or its tags are missing, by the
 * record. The plan does not change a role without these tags.
 */
function isKnownRole(desired: Pick<Desired, 'identity' | 'record'>, { roles }: Observed, name: RoleName): boolean {
  const found = findRole(roles, name);
  if (found !== undefined && isRoleTaggedOurs(desired, found)) return true;
  const entry = roleEntryOf(desired.record, name);
  return entry !== undefined && entry.managed !== false && (found === undefined || entry.id === found.id);
}

/**
 * The API server rejects a label without a value, but a client-side apply over an existing object drops such a label
 * first. So this function also reads the manifest in the annotation of `kubectl apply`.
 */
export const findEmptySelectorFields = ({ metadata, spec }: AWSFargateProfile): readonly string[] =>
  withEmptyFields({ metadata }, ['spec', 'selectors'], spec.selectors ?? []).flatMap((selector, index) =>
    emptyFields(selector, `spec.selectors[${index}]`),
  );

const emptyFields = (value: unknown, path: string): readonly string[] => {
  if (value === null) return [path];
  return isRecord(value) ? Object.entries(value).flatMap(([key, field]) => emptyFields(field, `${path}.${key}`)) : [];
};

export function findExcess(
  { roleARN, rolePermissionsBoundary, roleAdditionalPolicies = [] }: AWSFargateProfileSpec,
  limits: OperatorLimits,
  place: AwsLocation,
): readonly LimitExcess[] {
  const boundary = requiredBoundary(limits, place);
  const isOtherBoundary =
    boundary !== undefined && rolePermissionsBoundary !== undefined && rolePermissionsBoundary !== boundary;
  return [
    ...(roleARN === undefined ? [] : findRoleExcess(limits, 'spec.roleARN', roleARN)),
    ...(isOtherBoundary
      ? [{ field: 'spec.rolePermissionsBoundary', value: rolePermissionsBoundary, allowed: [boundary] }]
      : []),
    ...roleAdditionalPolicies.flatMap((arn, index) =>
      findPolicyExcess(limits, `spec.roleAdditionalPolicies[${index}]`, arn),
    ),
  ];
}
