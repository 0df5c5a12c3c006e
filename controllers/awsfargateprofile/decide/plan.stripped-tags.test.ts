import { expect } from 'chai';
import { ClusterName, ProfileName, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { statusAfter } from '../status/status.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { roleNameFor } from '../../../pkg/fargate/names.ts';
import {
  CAPA_TAG,
  CLUSTER_ARN,
  EKS_CLUSTER_TAG,
  MOVED,
  NAMESPACE_TAG,
  OWNER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  RECORDED,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import { READY, completedPass, conditionsOf } from '../testing/completed-pass.ts';
import { describePlan } from '../testing/mutations.ts';
import { testPlans } from '../testing/plan-tables.ts';
import { plan } from './plan.ts';

const STATUS: AWSFargateProfileStatus = {
  ...RECORDED,
  profileName: PROFILE,
  profileARN: aProfile().arn,
  profileStatus: 'ACTIVE',
  role: { name: ROLE, id: aRole().id, managed: true },
  initialization: { provisioned: true },
};
const MISSING = 'stop: OwnershipTagMissing';
const seen = (profileTags: object, roleTags: object = ROLE_TAGS): Observed =>
  observed({ profile: aProfile({ tags: { ...profileTags } }), role: aRole({ tags: { ...roleTags } }) });
const onlyRole = (tags: object): Observed => observed({ role: aRole({ tags: { ...tags } }) });

const of = (parts: Parameters<typeof anObject>[0]): Desired => desiredOf(anObject(parts));
const ofDeletion = (parts: Parameters<typeof anObject>[0], abandonment?: 'retain' | 'removeFinalizer'): Desired =>
  desiredOfDeletion(aDeletedObject(parts), { abandonment });
const retained = { surplus: 'retain' } as const;

const stored = { status: STATUS };
const staging = { 'kubernetes.io/cluster/staging': 'owned' };
const withStatus = (over: AWSFargateProfileStatus): Parameters<typeof anObject>[0] => ({
  status: { ...STATUS, ...over },
});
const withRole = (over: AWSFargateProfileStatus['role']) => withStatus({ role: { ...STATUS.role, ...over } });
const ofRoleARN = of({ spec: { roleARN: ROLE_ARN }, ...stored });
const web = ProfileName.of('web');
const computed = (tags: Readonly<Record<string, string>>): Observed =>
  observed({ role: aRole({ name: roleNameFor(ClusterName.of('prod'), web), tags }) });
const ofCapa = computed({ [CAPA_TAG]: 'owned' });
const unproven = (isUnready: boolean, spec: Partial<AWSFargateProfileSpec> = {}): Desired =>
  desiredOfDeletion(aDeletedObject({ spec: { ...spec, profileName: web }, metadata: { annotations: {} } }), {
    targetSource: isUnready ? 'unreadyControlPlane' : 'record',
  });
const unbegun = desiredOfDeletion(aDeletedObject({ spec: { profileName: web } }), {
  targetSource: 'unreadyControlPlane',
});
const ofName = (name: ProfileName, tags: Readonly<Record<string, string>>): Observed =>
  observed({ profile: aProfile({ name, tags }) });
const FORMER = aProfile({ name: ProfileName.of('former'), tags: {} });
const replacing = of({
  spec: { updateStrategy: { type: 'Replace' } },
  status: { ...STATUS, predecessors: [{ name: FORMER.name, arn: FORMER.arn }] },
});
const seenBeside = (former: FargateProfile): Observed => {
  const { profiles, ...rest } = seen(PROFILE_TAGS);
  return { ...rest, profiles: [...profiles, { name: former.name, found: former }] };
};
const OF_ALL = RoleName.of('eks-fargate.cluster-api-provider-aws.sigs.k8s.io');
const never = { adoptionPolicy: 'Never' } as const;
const NOT_OWNED = 'stop: ProfileNotOwned';

describe('plan, about a profile or role whose tags were removed', () => {
  testPlans({
    'for the profile, if': [
      ['the one on record has no tags', of(stored), seen({}), MISSING],
      ['the one on record has no owner tag', of(stored), seen({ team: 'web' }), MISSING],
      ['the one on record has the tag of another cluster', of(stored), seen(staging), MISSING],
      ['the object is deleted', ofDeletion(stored), seen({}), MISSING],
      ['the object is deleted, and the role lacks tags too', ofDeletion(stored), seen({}, {}), MISSING],
      [
        'the tag of CAPA is left',
        ofDeletion(stored),
        seen({ [CAPA_TAG]: 'owned' }),
        'delete unwanted profile; stop: DeletingProfile',
      ],
      ['another AWSFargateProfile is the owner', ofDeletion(stored), seen({ [OWNER_TAG]: 'team-b/web' }), 'in order'],
      ['it has another ARN than the one on record', of(withStatus({ profileARN: 'other' })), seen({}), NOT_OWNED],
      ['the object was moved', of(MOVED), seen({}), MISSING],
      ['the object was moved and is deleted', ofDeletion(MOVED), seen({}), MISSING],
      ['the object was moved, and another cluster has the profile', of(MOVED), seen(staging), NOT_OWNED],
      ['nothing is on record, as before the first pass', of({}), seen({}), NOT_OWNED],
      [
        'adoptionPolicy is Always',
        of({ spec: { adoptionPolicy: 'Always' }, ...stored }),
        seen({}),
        'tag profile with prod,owner; stop: Outdated',
      ],
      [
        'the object retains it in a cluster that is being deleted',
        { ...ofDeletion(stored), ...retained },
        seen({}),
        'stop: RetainBlocksClusterDeletion',
      ],
    ],
    'for a former profile that the object replaces, if': [
      ['the record has its ARN', replacing, seenBeside(FORMER), 'in order: OwnershipTagMissing'],
      ['the record has another ARN', replacing, seenBeside({ ...FORMER, arn: 'other' }), 'in order'],
    ],
    'for the profile of a deleted object whose control plane is not ready, if': [
      ['CAPA may have created it', unproven(true), ofName(web, { [CAPA_TAG]: 'owned' }), MISSING],
      [
        'CAPA did, and adoptionPolicy is Never',
        unproven(true, never),
        ofName(web, { [CAPA_TAG]: 'owned' }),
        'in order',
      ],
      ['it has no tags', unproven(true), ofName(web, {}), 'in order'],
    ],
    'for the role, if': [
      ['the one on record has no tags', of(stored), seen(PROFILE_TAGS, {}), MISSING],
      ['the object is deleted', ofDeletion(stored), onlyRole({}), MISSING],
      ['it lost its namespace tag', ofDeletion(stored), onlyRole({ [EKS_CLUSTER_TAG]: CLUSTER_ARN }), MISSING],
      ['it serves another namespace now', ofDeletion(stored), onlyRole({ [NAMESPACE_TAG]: 'team-b' }), 'in order'],
      [
        'the one on record has only the tag of CAPA',
        of(stored),
        seen(PROFILE_TAGS, { [CAPA_TAG]: 'owned' }),
        'tag role with eks-cluster,namespace; stop: Outdated',
      ],
      ['it has another id than the one on record', ofDeletion(withRole({ id: 'AROAOTHER' })), onlyRole({}), 'in order'],
      ['it is not managed', ofDeletion(withRole({ managed: false })), onlyRole({}), 'in order'],
      [
        'it is the shared one of CAPA, whatever status says',
        ofDeletion(withRole({ name: OF_ALL })),
        observed({ role: aRole({ name: OF_ALL, tags: {} }) }),
        'in order',
      ],
      ['the object was moved', ofDeletion(MOVED), onlyRole({}), MISSING],
      ['the object was moved, and another cluster has the role', ofDeletion(MOVED), onlyRole(staging), 'in order'],
      ['spec.roleARN names it, and the profile has its tags', ofRoleARN, seen(PROFILE_TAGS, {}), 'in order'],
      ['CAPA may have created it, and the control plane is not ready', unproven(true), ofCapa, MISSING],
      ['it has no tags, and the control plane is not ready', unproven(true), computed({}), 'in order'],
      ['CAPA may have, but the object is marked to have created nothing', unbegun, ofCapa, 'in order'],
      ['CAPA may have created it, but the record names another cluster', unproven(false), ofCapa, 'in order'],
      [
        'the object was moved, and the spec names the role',
        ofDeletion({ ...MOVED, spec: { roleName: RoleName.of(ROLE) } }),
        onlyRole({}),
        'in order',
      ],
    ],
  });

  /** Returns the status after a reconcile of the object, and the plan of the next one. */
  function passOver(
    object: AWSFargateProfile,
    world: Observed,
    over: Parameters<typeof desiredOf>[1] = {},
  ): { status: AWSFargateProfileStatus; next: string } {
    const desiredIn = (each: AWSFargateProfile): Desired =>
      each.metadata.deletionTimestamp === undefined ? desiredOf(each, over) : desiredOfDeletion(each, over);
    const desired = desiredIn(object);
    const status = statusAfter(completedPass({ object, end: plan(desired, world).end, desired, seen: world }));
    return { status, next: describePlan(plan(desiredIn({ ...object, status }), world)) };
  }

  for (const [situation, object, world] of [
    ['with a record', anObject({ status: STATUS }), seen({}, {})],
    ['after a move', anObject(MOVED), seen({}, {})],
    ['in a deletion after a move', aDeletedObject(MOVED), seen({}, {})],
    ['a role in a deletion after a move', aDeletedObject(MOVED), onlyRole({})],
  ] as const)
    it(`is not forgotten by the next pass: ${situation}`, () => {
      const { status, next } = passOver(object, world);
      expect(next).to.equal(MISSING);
      if (object.metadata.deletionTimestamp === undefined)
        expect(status.role).to.include({ name: ROLE, id: aRole().id, managed: true });
    });

  it('is not forgotten by the next pass, when the object retains it and status has the name of another profile', () => {
    const object = aDeletedObject({ status: { ...STATUS, profileName: ProfileName.of('earlier') } });
    const { status, next } = passOver(object, seen({}), retained);
    expect(status.profileARN).to.equal(STATUS.profileARN);
    expect(next).to.equal('stop: RetainBlocksClusterDeletion');
  });

  describe('does not hide a profile or role that does not work', () => {
    const ready = anObject({
      status: {
        ...STATUS,
        ...READY,
        role: { name: ROLE, id: aRole().id, managed: true, attachedPolicies: [POD_EXECUTION_POLICY] },
      },
    });
    const WORKING = 'True / Ready';
    const BROKEN = 'False / OwnershipTagMissing';
    const stripped = { tags: {} };
    const world = (profile: Partial<FargateProfile> | undefined, role: Partial<FoundRole> | undefined): Observed =>
      observed({ profile: profile && aProfile(profile), role: role && aRole(role) });
    const cases: readonly (readonly [situation: string, seen: Observed, ready: string])[] = [
      ['the role without tags, and the profile as it was', world({}, stripped), WORKING],
      ['the profile without tags, and the role as it was', world(stripped, {}), WORKING],
      ['both without tags', world(stripped, stripped), WORKING],
      [
        'the profile without tags, and the role with another value of a wanted tag',
        world(stripped, { tags: { ...ROLE_TAGS, [CAPA_TAG]: 'shared' } }),
        WORKING,
      ],
      [
        'both without tags, and a policy that another client attached',
        world(stripped, { ...stripped, attached: [POD_EXECUTION_POLICY, 'arn:aws:iam::aws:policy/Theirs'] }),
        WORKING,
      ],
      ['the role without tags, and no profile', world(undefined, stripped), BROKEN],
      [
        'the role without tags, and a profile that is CREATE_FAILED',
        world({ status: 'CREATE_FAILED' }, stripped),
        BROKEN,
      ],
      ['the profile without tags and DELETING', world({ ...stripped, status: 'DELETING' }, {}), BROKEN],
      ['the profile without tags and DELETE_FAILED', world({ ...stripped, status: 'DELETE_FAILED' }, {}), BROKEN],
      ['the profile without tags, and no role', world(stripped, undefined), BROKEN],
      ['the profile without tags, and a role that was recreated', world(stripped, { id: 'AROAANOTHER' }), BROKEN],
      [
        'the profile without tags, and a role of another owner',
        world(stripped, { tags: { [NAMESPACE_TAG]: 'team-b' } }),
        BROKEN,
      ],
      ['the role without tags, with another trust policy', world({}, { ...stripped, trust: '{}' }), BROKEN],
      ['the role without tags and without policies', world({}, { ...stripped, attached: [] }), BROKEN],
    ];
    for (const [situation, seenInAws, expected] of cases)
      it(`${situation}: Ready is ${expected}`, () => {
        const { status, next } = passOver(ready, seenInAws);
        expect(next).to.equal(MISSING);
        expect(conditionsOf(status)['Ready']).to.equal(expected);
        expect(status.ready).to.equal(expected === WORKING);
      });

    it('shows in each condition whether profile and role work', () => {
      const { Ready: _ready, ...parts } = conditionsOf(passOver(ready, world(undefined, stripped)).status);
      expect(parts).to.include({
        EKSFargateProfileReady: 'False / WaitingForRole',
        IAMFargateRolesReady: BROKEN,
        Stalled: 'True / OwnershipTagMissing',
      });
      expect(conditionsOf(passOver(ready, world({ ...stripped, status: 'DELETING' }, {})).status)).to.include({
        EKSFargateProfileReady: BROKEN,
        IAMFargateRolesReady: 'True / Ready',
      });
    });

    it('is Ready without the permissions boundary that only the limits of the operator ask for', () => {
      const limits = { permissionsBoundary: 'arn:aws:iam::*:policy/bound' };
      const { status } = passOver(ready, world({}, stripped), { limits });
      expect(conditionsOf(status)['Ready']).to.equal(WORKING);
    });
  });
});
