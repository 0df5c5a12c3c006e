import { expect } from 'chai';
import { ClusterName, ProfileName, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { roleNameFor } from '../../../pkg/fargate/names.ts';
import type { RecordedRole } from '../../shared/record.ts';
import type { DesiredInputs } from '../desired/desired.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import { statusAfter } from '../report/status.ts';
import {
  type ObjectParts,
  CAPA_TAG,
  CLUSTER_ARN,
  EKS_CLUSTER_TAG,
  NAMESPACE_TAG,
  FULL_RECORD,
  OWNER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_ID,
  PROFILE_TAGS,
  RECORDED,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  observed,
} from '../testing/builders.ts';
import { READY, completedReconcile, conditionsOf } from '../testing/completed-reconcile.ts';
import { describePlan } from '../testing/mutations.ts';
import { type Desires, deleted, living, testPlans } from '../testing/plan-tables.ts';
import { plan } from './plan.ts';

const MISSING = 'stop: OwnershipTagMissing';
const seen = (profileTags: object, roleTags: object = ROLE_TAGS): Observed =>
  observed({ profile: aProfile({ tags: { ...profileTags } }), role: aRole({ tags: { ...roleTags } }) });
const onlyRole = (tags: object): Observed => observed({ role: aRole({ tags: { ...tags } }) });

const recorded = living({ record: FULL_RECORD });
const leaving = deleted({ record: FULL_RECORD });
const staging = { 'kubernetes.io/cluster/staging': 'owned' };
const withProfileId = (id: string): ObjectParts => ({
  record: { ...FULL_RECORD, profiles: [{ ...FULL_RECORD.profiles[0], id }] },
});
const withRole = (over: Partial<RecordedRole>): ObjectParts => ({
  record: { ...FULL_RECORD, roles: [{ ...FULL_RECORD.roles[0], ...over }] },
});
const web = ProfileName.of('web');
const WITHOUT_RECORD = { metadata: { annotations: {} } };
/** The status of an object without a record, for example after `kubectl replace`. */
const TOLD_BY_STATUS: ObjectParts = {
  ...WITHOUT_RECORD,
  status: {
    ...RECORDED,
    profileName: PROFILE,
    profileARN: aProfile().arn,
    role: { name: ROLE, id: aRole().id, managed: true },
  },
};
const computed = (tags: Readonly<Record<string, string>>): Observed =>
  observed({ role: aRole({ name: roleNameFor(ClusterName.of('prod'), web), tags }) });
const ofCapa = computed({ [CAPA_TAG]: 'owned' });
const unproven = (isUnready: boolean, spec: Partial<AWSFargateProfileSpec> = {}): Desires =>
  deleted(
    { ...WITHOUT_RECORD, spec: { ...spec, profileName: web } },
    { targetSource: isUnready ? 'unreadyControlPlane' : 'record' },
  );
const unbegun = deleted({ spec: { profileName: web } }, { targetSource: 'unreadyControlPlane' });
const ofName = (name: ProfileName, tags: Readonly<Record<string, string>>): Observed =>
  observed({ profile: aProfile({ name, tags }) });
const FORMER = aProfile({ name: ProfileName.of('former'), tags: {} });
const replacing = living({
  spec: { updateStrategy: { type: 'Replace' } },
  record: {
    ...FULL_RECORD,
    profiles: [{ name: FORMER.name, id: PROFILE_ID, served: true }, ...FULL_RECORD.profiles],
  },
});
const seenBeside = (former: FargateProfile): Observed => {
  const { profiles, ...rest } = seen(PROFILE_TAGS);
  return { ...rest, profiles: [...profiles, former] };
};
const OF_ALL = RoleName.of('eks-fargate.cluster-api-provider-aws.sigs.k8s.io');
const never = { adoptionPolicy: 'Never' } as const;
const NOT_OWNED = 'stop: ProfileNotOwned';

describe('plan, about a profile or role whose tags were removed', () => {
  testPlans({
    'for the profile, if': [
      ['the recorded one has no tags', recorded, seen({}), MISSING],
      ['the recorded one has no owner tag', recorded, seen({ team: 'web' }), MISSING],
      ['the recorded one has the tag of another cluster', recorded, seen(staging), MISSING],
      ['status tells of it, and the record is lost', living(TOLD_BY_STATUS), seen({}), MISSING],
      ['the object is deleted', leaving, seen({}), MISSING],
      ['the object is deleted, and the role lacks tags too', leaving, seen({}, {}), MISSING],
      [
        'the tag of CAPA is left',
        leaving,
        seen({ [CAPA_TAG]: 'owned' }),
        'delete unwanted profile; stop: DeletingProfile',
      ],
      ['another AWSFargateProfile is the owner', leaving, seen({ [OWNER_TAG]: 'team-b/web' }), 'in order'],
      ['it has another id than the recorded one', living(withProfileId('other')), seen({}), NOT_OWNED],
      ['nothing is recorded, as before the first reconcile', living(), seen({}), NOT_OWNED],
      [
        'adoptionPolicy is Always',
        living({ spec: { adoptionPolicy: 'Always' }, record: FULL_RECORD }),
        seen({}),
        'tag profile with prod,owner; stop: ReadAgain',
      ],
      [
        'the object retains it in a cluster that is being deleted',
        deleted({ record: FULL_RECORD }, { unwanted: 'retain' }),
        seen({}),
        'stop: RetainBlocksClusterDeletion',
      ],
    ],
    'for a former profile that the object replaces, if': [
      ['the record has its id', replacing, seenBeside(FORMER), 'in order: OwnershipTagMissing'],
      ['the record has another id', replacing, seenBeside({ ...FORMER, arn: 'a/b/c/other' }), 'in order'],
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
      ['the recorded one has no tags', recorded, seen(PROFILE_TAGS, {}), MISSING],
      ['status tells of it, and the record is lost', deleted(TOLD_BY_STATUS), onlyRole({}), MISSING],
      ['the object is deleted', leaving, onlyRole({}), MISSING],
      ['it lost its namespace tag', leaving, onlyRole({ [EKS_CLUSTER_TAG]: CLUSTER_ARN }), MISSING],
      ['it serves another namespace now', leaving, onlyRole({ [NAMESPACE_TAG]: 'team-b' }), 'in order'],
      [
        'the recorded one has only the tag of CAPA',
        recorded,
        seen(PROFILE_TAGS, { [CAPA_TAG]: 'owned' }),
        'tag role with eks-cluster,namespace; stop: ReadAgain',
      ],
      ['it has another id than the recorded one', deleted(withRole({ id: 'AROAOTHER' })), onlyRole({}), 'in order'],
      ['it is not managed', deleted(withRole({ managed: false })), onlyRole({}), 'in order'],
      [
        'it is the shared one of CAPA, whatever the record says',
        deleted(withRole({ name: OF_ALL })),
        observed({ role: aRole({ name: OF_ALL, tags: {} }) }),
        'in order',
      ],
      [
        'spec.roleARN names it, and the profile has its tags',
        living({ spec: { roleARN: ROLE_ARN }, record: FULL_RECORD }),
        seen(PROFILE_TAGS, {}),
        'in order',
      ],
      ['CAPA may have created it, and the control plane is not ready', unproven(true), ofCapa, MISSING],
      ['it has no tags, and the control plane is not ready', unproven(true), computed({}), 'in order'],
      ['CAPA may have, but the object is marked to have created nothing', unbegun, ofCapa, 'in order'],
      ['CAPA may have created it, but the record names another cluster', unproven(false), ofCapa, 'in order'],
    ],
  });

  describe("tells whether a profile is the object's, if", () => {
    for (const [situation, desires, world, profiles] of [
      ['it has its tags', recorded, seen(PROFILE_TAGS), [{ name: PROFILE, isProven: true }]],
      ['the plan creates it', living(), onlyRole(ROLE_TAGS), [{ name: PROFILE, isProven: true }]],
      ['the record has its id', recorded, seen({}), [{ name: PROFILE, isProven: true }]],
      [
        'CAPA may have created it, and the control plane is not ready',
        unproven(true),
        ofName(web, { [CAPA_TAG]: 'owned' }),
        [{ name: web, isProven: false }],
      ],
      ['it has no tags, and nothing is recorded', living(), seen({}), []],
      ['another AWSFargateProfile is the owner', recorded, seen({ [OWNER_TAG]: 'team-b/web' }), []],
    ] as const)
      it(situation, () => expect(plan(desires(world), world).profiles).to.deep.equal(profiles));
  });

  /**
   * Returns the status after a reconcile of the object, and the plan of the next reconcile, which begins with the
   * record of the first.
   */
  function reconcileOver(
    parts: ObjectParts,
    world: Observed,
    { isDeleted = false, ...over }: Partial<DesiredInputs> & { isDeleted?: boolean } = {},
  ): { status: AWSFargateProfileStatus; next: string } {
    const desires = (of: ObjectParts): Desired => (isDeleted ? deleted : living)(of, over)(world);
    const desired = desires(parts);
    const object = (isDeleted ? aDeletedObject : anObject)(parts);
    const reconcile = completedReconcile({ object, end: plan(desired, world).end, desired, seen: world });
    const status = statusAfter(reconcile);
    return { status, next: describePlan(plan(desires({ ...parts, record: reconcile.record ?? {}, status }), world)) };
  }

  for (const [situation, parts, world, isDeleted] of [
    ['both', { record: FULL_RECORD }, seen({}, {}), false],
    ['both in a deletion', { record: FULL_RECORD }, seen({}, {}), true],
    ['a role in a deletion', { record: FULL_RECORD }, onlyRole({}), true],
  ] as const)
    it(`is not forgotten by the next reconcile: ${situation}`, () => {
      const { status, next } = reconcileOver(parts, world, { isDeleted });
      expect(next).to.equal(MISSING);
      if (!isDeleted) expect(status.role).to.include({ name: ROLE, id: aRole().id, managed: true });
    });

  it('is not forgotten by the next reconcile, when the object retains it and status has the name of another profile', () => {
    const parts = { record: FULL_RECORD, status: { profileName: ProfileName.of('earlier') } };
    const { status, next } = reconcileOver(parts, seen({}), { isDeleted: true, unwanted: 'retain' });
    expect(status.profileARN).to.equal(aProfile().arn);
    expect(next).to.equal('stop: RetainBlocksClusterDeletion');
  });

  describe('does not hide a profile or role that does not work', () => {
    const ready: ObjectParts = {
      record: FULL_RECORD,
      status: { ...RECORDED, ...READY, role: { name: ROLE, id: aRole().id, managed: true } },
    };
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
        'the profile without tags, and the role with another value of a desired tag',
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
        const { status, next } = reconcileOver(ready, seenInAws);
        expect(next).to.equal(MISSING);
        expect(conditionsOf(status)['Ready']).to.equal(expected);
        expect(status.ready).to.equal(expected === WORKING);
      });

    it('shows in each condition whether profile and role work', () => {
      const { Ready: _ready, ...parts } = conditionsOf(reconcileOver(ready, world(undefined, stripped)).status);
      expect(parts).to.include({
        EKSFargateProfileReady: 'False / WaitingForRole',
        IAMFargateRolesReady: BROKEN,
        Stalled: 'True / OwnershipTagMissing',
      });
      expect(conditionsOf(reconcileOver(ready, world({ ...stripped, status: 'DELETING' }, {})).status)).to.include({
        EKSFargateProfileReady: BROKEN,
        IAMFargateRolesReady: 'True / Ready',
      });
    });

    it('is Ready without the permissions boundary that only the limits of the operator ask for', () => {
      const limits = { permissionsBoundary: 'arn:aws:iam::*:policy/bound' };
      const { status } = reconcileOver(ready, world({}, stripped), { limits });
      expect(conditionsOf(status)['Ready']).to.equal(WORKING);
    });
  });
});
