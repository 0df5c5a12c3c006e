import * as E from 'fp-ts/lib/Either.js';
import fc from 'fast-check';
import { propertyRuns } from 'controller-runtime/testing';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { ProfileRecord, RecordedProfile } from '../../shared/record.ts';
import { type DesiredInputs, desiredFor } from '../desired/desired.ts';
import { plan } from '../plan/plan.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import type { Plan } from '../model/change.ts';
import { newReason } from '../reasons/reasons.ts';
import {
  CREATION_FACTS,
  EKS_CLUSTER,
  HERE,
  NAMESPACE_TAG,
  NOW,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  desiredInputs,
  updatedRecordFor,
} from './builders.ts';
import { CAPA_TAGS, FOREIGN_TAGS, SHARED_ROLE_ARN, SHARED_ROLE_NAME, TRUST_POLICIES, recordTag } from './fixtures.ts';

/** What a plan depends on: an object, its record, its status, and what AWS shows. All parts are random. */
export interface Situation {
  readonly object: AWSFargateProfile;
  readonly isDeleted: boolean;
  readonly isBlocked: boolean;
  readonly isQuotaExceeded: boolean;
  readonly seen: Observed;
  /** How long this process has known the unanswered create requests, in ms. */
  readonly age: number;
}

export interface Planned extends Situation {
  readonly desired: Desired;
  readonly plan: Plan;
}

export const POLICY = 'arn:aws:iam::111122223333:policy/extra';
export const BOUNDARY = 'arn:aws:iam::111122223333:policy/bound';
export const TAG = 'team';
const MINUTE = 60_000;
const RECORD = recordTag(`tag ${TAG}`, `policy ${POLICY}`, `boundary ${BOUNDARY}`);

const anyName = fc.constantFrom(PROFILE, ProfileName.of(`9999-${PROFILE}`), ProfileName.of('other'));
/** Generates `usual`, or sometimes another value, so that blockers end only some of the plans early. */
const mostly = <A>(usual: A, ...others: readonly A[]): fc.Arbitrary<A> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(usual, ...others) });

/** Distinguishes two profiles with the same name. */
const anyId = mostly('first', 'second');
const idOf = (name: string, id: string): string => `${id}-of-${name}`;
const anyTime = fc.constantFrom(NOW - 120 * MINUTE, NOW - 2 * MINUTE, NOW - 30_000, NOW);
const anySelectors = mostly('web', 'other').map((namespace) => [{ namespace, labels: {} }]);
const anyRoleArn = mostly(ROLE_ARN, SHARED_ROLE_ARN);
const optional = { requiredKeys: [] };

const anyProfile = fc
  .record({
    name: anyName,
    id: anyId,
    createdAt: anyTime,
    status: mostly('ACTIVE', 'CREATING', 'DELETING', 'CREATE_FAILED', 'DELETE_FAILED', 'x'),
    selectors: anySelectors,
    podExecutionRoleArn: anyRoleArn,
    tags: mostly<Tags>(
      PROFILE_TAGS,
      { ...PROFILE_TAGS, ...RECORD, [TAG]: 'x' },
      { ...PROFILE_TAGS, [TAG]: 'x' },
      { ...FOREIGN_TAGS, ...RECORD, [TAG]: 'x' },
      CAPA_TAGS,
      {},
    ),
  })
  .map(({ id, ...profile }) =>
    aProfile({
      ...profile,
      arn: `arn:aws:eks:eu-west-1:111122223333:fargateprofile/${EKS_CLUSTER}/${profile.name}/${idOf(profile.name, id)}`,
    }),
  );

const anyRole = (name: RoleName): fc.Arbitrary<FoundRole | undefined> =>
  fc.option(
    fc
      .record({
        id: mostly('AROAEXAMPLE', 'AROAFORMER'),
        path: mostly('/', '/pods/'),
        attached: fc.subarray([POD_EXECUTION_POLICY, POLICY]),
        trust: mostly<string>(TRUST_POLICIES.ours, ...Object.values(TRUST_POLICIES)),
        permissionsBoundary: fc.constantFrom('', '', BOUNDARY),
        tags: mostly<Tags>(
          { ...ROLE_TAGS, ...RECORD, [TAG]: 'x' },
          ROLE_TAGS,
          { ...ROLE_TAGS, [TAG]: 'x' },
          { ...ROLE_TAGS, ...RECORD, [NAMESPACE_TAG]: 'team-b', [TAG]: 'x' },
          CAPA_TAGS,
          {},
        ),
      })
      .map(({ permissionsBoundary, ...role }) =>
        aRole({ ...role, name, ...(permissionsBoundary !== '' && { permissionsBoundary }) }),
      ),
    { nil: undefined },
  );

const NAMES = [ROLE, SHARED_ROLE_NAME, RoleName.of('former-role')];
const anySeen: fc.Arbitrary<Observed> = fc
  .record({
    profiles: fc.uniqueArray(anyProfile, { maxLength: 3, selector: ({ name }) => name }),
    roles: fc.tuple(...NAMES.map(anyRole)),
    isGone: mostly(false, false, false, true),
  })
  .map(({ profiles, roles, isGone }) => ({
    depth: 'survey',
    cluster: isGone ? 'gone' : 'there',
    profiles: isGone ? [] : profiles,
    roles: NAMES.map((name, index) => ({ name, found: roles[index] })),
    accessEntries: [],
    authenticationMode: 'API_AND_CONFIG_MAP',
  }));

const anySpec: fc.Arbitrary<Partial<AWSFargateProfileSpec>> = fc.record(
  {
    additionalTags: fc.constant({ [TAG]: 'x' }),
    roleAdditionalPolicies: fc.constant([POLICY]),
    rolePermissionsBoundary: fc.constant(BOUNDARY),
    selectors: anySelectors,
    profileName: mostly(PROFILE, ProfileName.of('other')),
    updateStrategy: fc.constant({ type: 'Replace' as const }),
    adoptionPolicy: fc.constantFrom('Always' as const, 'Never' as const),
  },
  optional,
);
/**
 * The API server rejects a spec that sets a role in two ways, or that contains role settings together with
 * spec.roleARN.
 */
const anyRoleInSpec = mostly<Partial<AWSFargateProfileSpec>>(
  {},
  { roleName: SHARED_ROLE_NAME },
  { roleARN: RoleArn.of(SHARED_ROLE_ARN) },
);

const anyEntry: fc.Arbitrary<RecordedProfile> = fc
  .tuple(
    anyName,
    fc.record({ id: anyId, requestedAt: anyTime, served: fc.constant(true as const), activeSince: anyTime }, optional),
  )
  .map(([name, { id, ...rest }]) => ({ name, ...rest, ...(id !== undefined && { id: idOf(name, id) }) }));
const anyRecord: fc.Arbitrary<Partial<ProfileRecord>> = fc
  .tuple(
    fc.record({
      in: mostly<ProfileRecord['in']>(HERE, { kind: 'none' }, { kind: 'unknown' }),
      profiles: fc.uniqueArray(anyEntry, { maxLength: 3, selector: ({ name }) => name }),
      roles: fc.subarray(NAMES).map((names) => names.map((name) => ({ name, id: 'AROAEXAMPLE' }))),
    }),
    mostly<Partial<ProfileRecord>>({}, { last: NOW - 2 * MINUTE }),
  )
  .map(([record, rest]) => ({ ...record, ...rest }));

/** A client that may write an object's status can write anything into it. */
const anyStatus: fc.Arbitrary<AWSFargateProfileStatus> = fc.record(
  {
    initialization: fc.constant({ provisioned: true }),
    profileName: anyName,
    profileARN: anyId.map((id) => `arn:aws:eks:eu-west-1:111122223333:fargateprofile/${EKS_CLUSTER}/x/${id}`),
    profileStatus: fc.constantFrom('ACTIVE', 'CREATE_FAILED', 'DELETING'),
    predecessors: anyName.map((name) => [{ name, status: 'ACTIVE' }]),
    role: fc.constantFrom(...NAMES).map((name) => ({
      name,
      id: 'AROAFORMER',
      managed: true,
      attachedPolicies: [POLICY],
      permissionsBoundary: BOUNDARY,
    })),
    activeSince: fc.constant('2026-11-01T00:00:00Z'),
    createRequestedAt: fc.constant('2026-11-21T03:25:00Z'),
  },
  optional,
);

const anySituation: fc.Arbitrary<Situation> = fc
  .record({
    spec: anySpec,
    role: anyRoleInSpec,
    record: anyRecord,
    status: anyStatus,
    isDeleted: mostly(false, true),
    isBlocked: mostly(false, true),
    isQuotaExceeded: fc.boolean(),
    seen: anySeen,
    age: fc.constantFrom(0, MINUTE),
  })
  .map(({ spec, role, record, status, ...rest }) => {
    const { roleAdditionalPolicies: _policies, rolePermissionsBoundary: _boundary, ...withoutRole } = spec;
    const parts = { spec: { ...('roleARN' in role ? withoutRole : spec), ...role }, record, status };
    return { ...rest, object: rest.isDeleted ? aDeletedObject(parts) : anObject(parts) };
  });

/** Returns the situation with its plan. `undefined` if AWS cannot fulfill the spec. */
export function planFor(situation: Situation): Planned | undefined {
  const { object, isDeleted, isBlocked, isQuotaExceeded, seen, age } = situation;
  const creationBlocker = isBlocked ? newReason('ClusterDeleting', { what: 'Cluster team-a/prod' }) : undefined;
  const inputs: Partial<DesiredInputs> = {
    creationFacts: isDeleted ? undefined : { ...CREATION_FACTS, creationBlocker },
    isQuotaExceeded,
  };
  const desired = desiredFor(object, desiredInputs(inputs), updatedRecordFor(object, seen, inputs, age), seen, NOW);
  return E.isLeft(desired) ? undefined : { ...situation, desired: desired.right, plan: plan(desired.right, seen) };
}

/** Checks the plans of random situations. */
export const forEachPlan = (check: (planned: Planned) => void): void =>
  fc.assert(
    fc.property(anySituation, (situation) => {
      const planned = planFor(situation);
      if (planned !== undefined) check(planned);
    }),
    { numRuns: propertyRuns(500) },
  );
