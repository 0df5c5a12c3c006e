import { expect } from 'chai';
import { ProfileName, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { statusAfter } from '../status/status.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import type { FargateProfile } from '../../../pkg/cloud/eks/eks-api.ts';
import { messageOf } from '../reasons/reasons.ts';
import {
  CAPA_TAG,
  CLUSTER_ARN,
  EKS_CLUSTER_TAG,
  MOVED,
  NAMESPACE_TAG,
  NOW,
  OWNER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  RECORDED,
  ROLE,
  ROLE_TAGS,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import { READY, conditionsOf } from '../testing/completed-pass.ts';
import { describeDecision } from '../testing/mutations.ts';
import { decide } from './decide.ts';

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

describe('a profile or role whose tags were removed', () => {
  type Row = readonly [situation: string, desired: Desired, seen: Observed, decision: string];
  const rows: readonly Row[] = [
    ['the profile on record has no tags', of({ status: STATUS }), seen({}), MISSING],
    ['the profile on record has no owner tag', of({ status: STATUS }), seen({ team: 'web' }), MISSING],
    [
      'the profile on record has no owner tag, and the tag of another cluster',
      of({ status: STATUS }),
      seen({ 'kubernetes.io/cluster/staging': 'owned' }),
      MISSING,
    ],
    ['the profile on record, in a deletion', ofDeletion({ status: STATUS }), seen({}), MISSING],
    ['the profile on record, in a deletion, with its role', ofDeletion({ status: STATUS }), seen({}, {}), MISSING],
    [
      'the tag of Cluster API Provider AWS is left',
      ofDeletion({ status: STATUS }),
      seen({ [CAPA_TAG]: 'owned' }),
      `delete profile ${PROFILE}, unwanted`,
    ],
    [
      'another AWSFargateProfile is the owner',
      ofDeletion({ status: STATUS }),
      seen({ [OWNER_TAG]: 'team-b/web' }),
      'settled',
    ],
    [
      'the profile has another ARN than the one on record',
      of({ status: { ...STATUS, profileARN: `${aProfile().arn}-other` } }),
      seen({}),
      'stop: ProfileNotOwned',
    ],
    ['the profile after a move', of(MOVED), seen({}), MISSING],
    ['the profile after a move, in a deletion', ofDeletion(MOVED), seen({}), MISSING],
    [
      'the profile of another cluster after a move',
      of(MOVED),
      seen({ 'kubernetes.io/cluster/staging': 'owned' }),
      'stop: ProfileNotOwned',
    ],
    ['nothing is on record, as before the first pass', of({}), seen({}), 'stop: ProfileNotOwned'],
    [
      'adoptionPolicy Always adopts the profile',
      of({ spec: { adoptionPolicy: 'Always' }, status: STATUS }),
      seen({}),
      'tag profile',
    ],

    ['the role on record has no tags', of({ status: STATUS }), seen(PROFILE_TAGS, {}), MISSING],
    ['the role on record, in a deletion', ofDeletion({ status: STATUS }), onlyRole({}), MISSING],
    [
      'the role on record has lost its namespace tag',
      ofDeletion({ status: STATUS }),
      onlyRole({ [EKS_CLUSTER_TAG]: CLUSTER_ARN }),
      MISSING,
    ],
    [
      'the role on record serves another namespace now',
      ofDeletion({ status: STATUS }),
      onlyRole({ [NAMESPACE_TAG]: 'team-b' }),
      'settled',
    ],
    [
      'the role has another id than the one on record',
      ofDeletion({ status: { ...STATUS, role: { ...STATUS.role, id: 'AROAOTHER' } } }),
      onlyRole({}),
      'settled',
    ],
    [
      'the role is not managed',
      ofDeletion({ status: { ...STATUS, role: { ...STATUS.role, managed: false } } }),
      onlyRole({}),
      'settled',
    ],
    ['the role after a move', ofDeletion(MOVED), onlyRole({}), MISSING],
    [
      'a role that the spec names, after a move',
      ofDeletion({ ...MOVED, spec: { roleName: RoleName.of(ROLE) } }),
      onlyRole({}),
      'settled',
    ],
  ];
  for (const [situation, desired, world, decision] of rows) {
    it(`${situation}: ${decision}`, () =>
      expect(describeDecision(decide(desired, world))).to.match(new RegExp(`^${decision.replace('/', '.')}`)));
  }

  it('still blocks the deletion of its cluster while the object retains it', () => {
    const desired = { ...ofDeletion({ status: STATUS }), ...retained };
    expect(describeDecision(decide(desired, seen({})))).to.equal('stop: RetainBlocksClusterDeletion');
  });

  const messageFor = (desired: Desired, world: Observed): string => {
    const decision = decide(desired, world);
    return decision.kind === 'stop' ? messageOf(decision.reason) : decision.kind;
  };

  it('is named with the tags to restore, and with the ways to end a deletion without them', () => {
    expect(messageFor(of({ status: STATUS }), seen({}))).to.equal(
      `Fargate profile "${PROFILE}" lacks the tag ${OWNER_TAG}, so the controller does not change or delete it. If the Fargate profile belongs to this object, tag it with ${OWNER_TAG}=team-a/web. The controller then continues on its own. If the Fargate profile belongs to another owner, do not tag it: the controller then changes nothing in AWS for this object.`,
    );
    expect(messageFor(ofDeletion({ status: STATUS }, 'retain'), onlyRole({}))).to.equal(
      `IAM role "${ROLE}" lacks the tags ${EKS_CLUSTER_TAG}, ${NAMESPACE_TAG}, so the controller does not change or delete it. If the IAM role belongs to this object, tag it with ${EKS_CLUSTER_TAG}=${CLUSTER_ARN}, ${NAMESPACE_TAG}=team-a, or delete it in AWS. The controller then continues on its own. Or, if the IAM role belongs to another owner, set spec.deletionPolicy to Retain: then the deletion of this object ends, and its profile and role stay in AWS.`,
    );
    expect(messageFor(ofDeletion({ status: STATUS }, 'removeFinalizer'), seen({}))).to.contain(
      'Or, if the Fargate profile belongs to another owner, remove awsfargateprofile.infrastructure.cluster.x-k8s.io from metadata.finalizers of this object',
    );
  });

  /** Returns the status after a reconcile of the object, and the decision of the next reconcile. */
  function passOver(
    object: AWSFargateProfile,
    world: Observed,
    over: Parameters<typeof desiredOf>[1] = {},
  ): { status: AWSFargateProfileStatus; next: string } {
    const desiredIn = (each: AWSFargateProfile): Desired =>
      each.metadata.deletionTimestamp === undefined ? desiredOf(each, over) : desiredOfDeletion(each, over);
    const desired = desiredIn(object);
    const decision = decide(desired, world);
    const end = decision.kind === 'stop' ? ({ kind: 'stopped', reason: decision.reason } as const) : expect.fail();
    const status = statusAfter({ object, end, desired, observed: world, steps: [], now: NOW, waited: 0, attempts: 0 });
    return { status, next: describeDecision(decide(desiredIn({ ...object, status }), world)) };
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

  it('leaves Ready as it is, and is shown in Stalled', () => {
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'Ready',
      lastTransitionTime: '2026-11-21T03:00:00Z',
    } as const;
    const conditions = [
      ready,
      { ...ready, type: 'IAMFargateRolesReady' },
      { ...ready, type: 'EKSFargateProfileReady' },
    ];
    const object = anObject({
      status: { ...STATUS, ready: true, observedGeneration: anObject().metadata.generation ?? 0, conditions },
    });
    const { status } = passOver(object, seen({}));
    expect(status.ready).to.equal(true);
    const shown = status.conditions?.map(({ type, status: value, reason }) => `${type} ${value} ${reason}`);
    expect(shown).to.include.members([
      'Ready True Ready',
      'EKSFargateProfileReady True Ready',
      'Stalled True OwnershipTagMissing',
    ]);
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
