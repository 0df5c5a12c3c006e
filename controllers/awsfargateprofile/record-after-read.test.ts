import { expect } from 'chai';
import { ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import { type AWSFargateProfileSpec, TAKE_OVER_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../pkg/cloud/index.ts';
import {
  EMPTY_RECORD,
  FIRST_RECORD,
  type ProfileRecord,
  type RecordedProfile,
  type RecordedRole,
} from '../shared/record.ts';
import { baseNameOf } from '../shared/profile-names.ts';
import type { FoundRole, Looking, ProfilesAndRoles } from './model/observed-state.ts';
import { identityOf } from './model/owner.ts';
import {
  type Unanswered,
  mergeRecords,
  updateRecord,
  withLast,
  withLostRecord,
  withRefusedRequests,
  withUnanswered,
} from './record-after-read.ts';
import {
  EKS_CLUSTER_TAG,
  HERE,
  NAMESPACE_TAG,
  NOW,
  PROFILE,
  PROFILE_ID,
  ROLE,
  ROLE_ARN,
  aProfile,
  aRole,
  anObject,
  desiredInputs,
} from './testing/builders.ts';
import { FOREIGN_TAGS } from './testing/fixtures.ts';

const MINUTE = 60_000;
const OTHER = ProfileName.of('other');
const ARN_OF_ANOTHER = aProfile().arn.replace(PROFILE_ID, 'another');

const record = (over: Partial<ProfileRecord> = {}): ProfileRecord => ({ in: HERE, profiles: [], roles: [], ...over });
const profileEntry = (over: Partial<RecordedProfile> = {}): RecordedProfile => ({
  name: PROFILE,
  id: PROFILE_ID,
  ...over,
});
const { id: _none, ...REQUEST } = profileEntry({ requestedAt: NOW });
const roleEntry = (over: Partial<RecordedRole> = {}): RecordedRole => ({ name: ROLE, id: 'AROAEXAMPLE', ...over });
const { id: _noId, ...ROLE_REQUEST } = roleEntry({ requestedAt: NOW });

const survey = (parts: Partial<ProfilesAndRoles> = {}): ProfilesAndRoles => ({
  depth: 'survey',
  cluster: 'there',
  profiles: [],
  roles: [],
  ...parts,
});
const ours = (...profiles: readonly FargateProfile[]): ProfilesAndRoles => survey({ profiles });
/** The profiles without tags, so that nothing shows that they are the object's. */
const untagged = (...profiles: readonly FargateProfile[]): ProfilesAndRoles =>
  ours(...profiles.map((profile) => ({ ...profile, tags: {} })));
const iam = (found: FoundRole | 'unread' | undefined): ProfilesAndRoles => survey({ roles: [{ name: ROLE, found }] });
const UNTAGGED_ROLE = aRole({ tags: {} });
const ROLE_OF_OTHER_CLUSTER = aRole({
  tags: { [EKS_CLUSTER_TAG]: 'arn:aws:eks:eu-west-1:111122223333:cluster/other', [NAMESPACE_TAG]: 'team-a' },
});

/** No profile of these tests fits this spec, and the object may have created a profile with any name. */
const DIFFERENT: Partial<AWSFargateProfileSpec> = {
  selectors: [{ namespace: 'different' }],
  updateStrategy: { type: 'Replace' },
};

function lookingFor(before: ProfileRecord, spec = DIFFERENT, takeOver?: string): Looking {
  const annotations = takeOver === undefined ? {} : { [TAKE_OVER_ANNOTATION]: takeOver };
  const object = anObject({ spec, metadata: { annotations } });
  const identity = identityOf(object, desiredInputs(), baseNameOf(object, before));
  return { object, identity, record: before, isLeaving: false, isLeavingWithCluster: false };
}

interface Given {
  /** How long this process has known each unanswered create request. */
  readonly age?: number;
  readonly unanswered?: Unanswered;
  readonly spec?: Partial<AWSFargateProfileSpec>;
  /** The annotation by which a user declares profiles to be this object's. */
  readonly takeOver?: string;
}

const updated = (before: ProfileRecord, seen: ProfilesAndRoles, { age = 0, unanswered, spec, takeOver }: Given = {}) =>
  updateRecord(lookingFor(before, spec, takeOver), seen, {
    unanswered: unanswered ?? withUnanswered({}, before, 0),
    now: age,
  });

describe('The record, after a reconcile has read AWS,', () => {
  describe('of a profile', () => {
    const rows: readonly (readonly [
      situation: string,
      entry: RecordedProfile,
      seen: ProfilesAndRoles,
      age: number,
      after: RecordedProfile | undefined,
    ])[] = [
      ['keeps the one that is there', profileEntry(), ours(aProfile()), 0, profileEntry()],
      [
        'keeps what is known of it',
        profileEntry({ activeSince: 1 }),
        ours(aProfile()),
        0,
        profileEntry({ activeSince: 1 }),
      ],
      ['keeps one whose tags were removed', profileEntry(), untagged(aProfile()), 0, profileEntry()],
      [
        'drops one that the tags give to another object',
        profileEntry(),
        ours(aProfile({ tags: FOREIGN_TAGS })),
        0,
        undefined,
      ],
      ['drops one that a survey does not show', profileEntry({ served: true }), survey(), 0, undefined],
      ['keeps one that a glance has not read', profileEntry(), survey({ depth: 'glance' }), MINUTE, profileEntry()],
      ['drops one of an EKS cluster that is gone', profileEntry(), survey({ cluster: 'gone' }), 0, undefined],
      ['drops a request in an EKS cluster that is gone', REQUEST, survey({ cluster: 'gone' }), 0, undefined],
      [
        'drops one that has another id, and is foreign now',
        profileEntry(),
        untagged(aProfile({ arn: ARN_OF_ANOTHER })),
        0,
        undefined,
      ],
      ['keeps a request for a minute', REQUEST, survey(), MINUTE - 1, REQUEST],
      ['drops a request that a survey after a minute does not show', REQUEST, survey(), MINUTE, undefined],
      ['keeps a request that no survey has looked for', REQUEST, survey({ depth: 'glance' }), MINUTE, REQUEST],
      [
        'keeps the id of a request whose profile is not visible yet',
        profileEntry({ requestedAt: NOW }),
        survey(),
        MINUTE - 1,
        profileEntry({ requestedAt: NOW }),
      ],
      [
        'closes a request whose profile is there',
        profileEntry({ requestedAt: NOW }),
        ours(aProfile()),
        0,
        profileEntry(),
      ],
      [
        'keeps the request of one that EKS is creating',
        profileEntry({ requestedAt: NOW }),
        ours(aProfile({ status: 'CREATING' })),
        0,
        profileEntry({ requestedAt: NOW }),
      ],
      ['gives the request its id', REQUEST, ours(aProfile({ createdAt: NOW + 1 })), 0, profileEntry()],
      [
        "gives it to one of the second of AWS's Date",
        REQUEST,
        ours(aProfile({ createdAt: NOW - 1_000 })),
        0,
        profileEntry(),
      ],
      ['gives it within two minutes', REQUEST, ours(aProfile({ createdAt: NOW + 2 * MINUTE - 1 })), 0, profileEntry()],
      [
        'drops a request whose name a foreign profile has',
        REQUEST,
        untagged(aProfile({ createdAt: NOW })),
        0,
        undefined,
      ],
      [
        'gives an entry of a lost status its id',
        { name: PROFILE, served: true },
        ours(aProfile()),
        0,
        profileEntry({ served: true }),
      ],
    ];
    for (const [situation, entry, seen, age, after] of rows)
      it(situation, () => {
        const { record: left } = updated(record({ profiles: [entry] }), seen, { age });
        expect(left.profiles).to.deep.equal(after === undefined ? [] : [after]);
      });

    // No create request in the record explains these profiles, so the record marks them as served.
    for (const [situation, entries, found] of [
      ['that no record has', [], aProfile()],
      ['that was made again under the name', [profileEntry()], aProfile({ arn: ARN_OF_ANOTHER })],
      ['whose name a record has that knows neither its id nor a request', [{ name: PROFILE }], aProfile()],
      ['that is older than the request for its name', [REQUEST], aProfile({ createdAt: NOW - 1_001 })],
      ['that is too young for the request for its name', [REQUEST], aProfile({ createdAt: NOW + 2 * MINUTE })],
      ['of which AWS tells no time of creation, with a request for its name', [REQUEST], aProfile()],
    ] as const)
      it(`enters one ${situation} as one that served`, () => {
        const id = found.arn.split('/').at(-1) ?? '';
        expect(updated(record({ profiles: entries }), ours(found)).record.profiles).to.deep.equal([
          { name: PROFILE, id, served: true },
        ]);
      });

    it('enters no profile of another owner', () => {
      expect(updated(record(), untagged(aProfile())).record.profiles).to.deep.equal([]);
    });
  });

  describe('if another record has made a profile,', () => {
    const last = NOW;
    const served = record({ last, profiles: [profileEntry({ served: true })] });
    const stranger = (over: Partial<FargateProfile> = {}): FargateProfile =>
      aProfile({ name: OTHER, arn: ARN_OF_ANOTHER, createdAt: last, ...over });
    const ENTERED = { name: OTHER, id: 'another', served: true };

    for (const [situation, before, found, options] of [
      ['is younger than what served', served, stranger({ createdAt: last + 1 }), {}],
      ['is as old as what served', served, stranger(), {}],
      ['is five minutes older than what served', served, stranger({ createdAt: last - 300_000 }), {}],
      ['is younger than what served and is gone', record({ last }), stranger(), {}],
      ['is younger, and another one is to be taken over', served, stranger(), { takeOver: 'yet-another' }],
      ['has failed', served, stranger({ status: 'CREATE_FAILED' }), {}],
      [
        'is a day older, beside a recorded one, with a name that the object does not choose',
        served,
        stranger({ createdAt: last - 86_400_000 }),
        { spec: {} },
      ],
      [
        'is beside one that the spec asks for, with a name that the object does not choose',
        record(),
        stranger(),
        { spec: {} },
      ],
    ] as const)
      it(`holds back one that ${situation}`, () => {
        const { record: after, elsewhere } = updated(before, ours(aProfile(), found), options);
        expect(elsewhere).to.include(found);
        expect(after.profiles).to.not.deep.include(ENTERED);
      });

    for (const [situation, before, found, options] of [
      ['is more than five minutes older than what served', served, stranger({ createdAt: last - 300_001 }), {}],
      ['is younger, while nothing has served', record(), stranger(), {}],
      [
        'is beside one that the spec does not ask for either',
        record(),
        stranger(),
        { spec: { selectors: [{ namespace: 'different' }] } },
      ],
      [
        'is younger, while a create request may have been lost',
        served,
        stranger(),
        { unanswered: withLostRecord({}, 0) },
      ],
      ['is to be taken over', served, stranger(), { takeOver: 'yet-another, another' }],
      [
        'is what the spec asks for',
        served,
        stranger(),
        { spec: { profileName: OTHER, updateStrategy: { type: 'Replace' } } },
      ],
    ] as const)
      it(`enters one that ${situation}`, () => {
        const { record: after, elsewhere } = updated(before, ours(aProfile(), found), options);
        expect(elsewhere).to.deep.equal([]);
        expect(after.profiles).to.deep.include(ENTERED);
      });

    it('enters the only one, also with a name that the object does not choose', () => {
      expect(updated(record(), ours(stranger()), { spec: {} }).elsewhere).to.deep.equal([]);
    });

    it('enters a failed one that is older, with a name that the object does not choose', () => {
      const found = stranger({ status: 'CREATE_FAILED', createdAt: last - 86_400_000 });
      const { record: after } = updated(served, ours(aProfile(), found), { spec: {} });
      expect(after.profiles).to.deep.include(ENTERED);
    });

    it('holds back one that has taken the name of a recorded one', () => {
      const found = aProfile({ arn: ARN_OF_ANOTHER, createdAt: last });
      const { record: after, elsewhere } = updated(served, ours(found));
      expect([after.profiles, elsewhere]).to.deep.equal([[], [found]]);
    });

    for (const [situation, entry, entered] of [
      ['this record has requested', REQUEST, profileEntry()],
      [
        'status named without an id when the record was lost',
        { name: PROFILE, served: true },
        profileEntry({ served: true }),
      ],
    ] as const)
      it(`holds back none that ${situation}`, () => {
        const before = record({ last, profiles: [entry] });
        const { record: after, elsewhere } = updated(before, ours(aProfile({ createdAt: NOW + 1 })));
        expect([after.profiles, elsewhere]).to.deep.equal([[entered], []]);
      });
  });

  describe('of a role', () => {
    const used = roleEntry({ managed: false });
    const USER_PROVIDED = { roleARN: ROLE_ARN };
    const rows: readonly (readonly [
      situation: string,
      entry: RecordedRole | undefined,
      seen: ProfilesAndRoles,
      age: number,
      after: RecordedRole | undefined,
      spec?: Partial<AWSFargateProfileSpec>,
    ])[] = [
      ['keeps the one that is there', roleEntry({ checked: true }), iam(aRole()), 0, roleEntry({ checked: true })],
      ['keeps one whose tags were removed', roleEntry(), iam(UNTAGGED_ROLE), 0, roleEntry()],
      ['keeps one that the reconcile has not read', roleEntry(), iam('unread'), MINUTE, roleEntry()],
      ['keeps one that the reconcile had no reason to read', roleEntry(), survey(), MINUTE, roleEntry()],
      ['drops one that IAM does not have', roleEntry(), iam(undefined), 0, undefined],
      [
        'keeps the former id of one that IAM does not have and a profile uses',
        roleEntry(),
        { ...iam(undefined), profiles: [aProfile()] },
        0,
        roleEntry(),
      ],
      ['drops one that the tags give to another EKS cluster', roleEntry(), iam(ROLE_OF_OTHER_CLUSTER), 0, undefined],
      [
        'drops one that has another id and belongs to another owner',
        roleEntry(),
        iam(aRole({ id: 'AROANEW', tags: {} })),
        0,
        undefined,
      ],
      [
        'keeps the former id of one that was made again',
        roleEntry({ checked: true }),
        iam(aRole({ id: 'AROANEW' })),
        0,
        roleEntry({ checked: true }),
      ],
      ['keeps a request for a minute', ROLE_REQUEST, iam(undefined), MINUTE - 1, ROLE_REQUEST],
      ['drops a request after a minute', ROLE_REQUEST, iam(undefined), MINUTE, undefined],
      ['gives a request the id of the role', ROLE_REQUEST, iam(aRole()), 0, roleEntry()],
      ['closes a request whose role is there', roleEntry({ requestedAt: NOW }), iam(aRole()), 0, roleEntry()],
      ['drops a request whose name another owner has', ROLE_REQUEST, iam(UNTAGGED_ROLE), 0, undefined],
      ['keeps a role of another owner that the profile uses', used, iam(aRole({ id: 'AROANEW', tags: {} })), 0, used],
      ['keeps a role of another owner that is gone', used, iam(undefined), MINUTE, used],
      ['drops one that spec.roleARN names since', roleEntry(), iam(aRole()), 0, undefined, USER_PROVIDED],
      ['keeps one of another owner that spec.roleARN names', used, iam(UNTAGGED_ROLE), 0, used, USER_PROVIDED],
      ['enters none of ours that spec.roleARN names', undefined, iam(aRole()), 0, undefined, USER_PROVIDED],
      ['enters one of ours', undefined, iam(aRole()), 0, roleEntry()],
      ['enters none of another owner', undefined, iam(UNTAGGED_ROLE), 0, undefined],
      [
        'knows it in other capital letters',
        roleEntry({ name: RoleName.of(ROLE.toUpperCase()) }),
        iam(aRole()),
        0,
        roleEntry({ name: RoleName.of(ROLE.toUpperCase()) }),
      ],
    ];
    for (const [situation, entry, seen, age, after, spec = {}] of rows)
      it(situation, () => {
        const before = record({ roles: entry === undefined ? [] : [entry] });
        expect(updated(before, seen, { age, spec }).record.roles).to.deep.equal(after === undefined ? [] : [after]);
      });
  });

  it('keeps all else', () => {
    const before = record({
      last: 7,
      entry: ROLE_ARN,
      deleting: true,
      identity: { kind: 'Kind', name: 'name' },
      others: { x: 1 },
    });
    expect(updated(before, survey()).record).to.deep.equal(before);
  });
});

describe('A create request without an answer', () => {
  const open = record({ profiles: [REQUEST], roles: [ROLE_REQUEST] });

  it('is as old as the time for which this process has known it', () => {
    const first = withUnanswered({}, open, 100);
    expect(withUnanswered(first, open, 200)).to.deep.equal(first);
    const again = withUnanswered(first, record({ profiles: [{ ...REQUEST, requestedAt: NOW + 1 }] }), 300);
    expect(Object.values(again)).to.deep.equal([{ since: 300 }]);
  });

  it('is forgotten once it is answered', () => {
    const answered = record({ profiles: [profileEntry()], roles: [roleEntry()] });
    expect(withUnanswered(withUnanswered({}, open, 100), answered, 200)).to.deep.equal({});
  });

  it('of a profile is separate from the create request of a role with the same name', () => {
    const name = 'same';
    const both = record({
      profiles: [{ name: ProfileName.of(name), requestedAt: NOW }],
      roles: [{ name: RoleName.of(name), requestedAt: NOW }],
    });
    expect(Object.keys(withUnanswered({}, both, 0))).to.have.length(2);
  });

  it('that this process does not know yet is new, however old the record is', () => {
    const { record: after } = updated(open, iam(undefined), { unanswered: {}, age: 10 * MINUTE });
    expect(after).to.deep.equal(open);
  });
});

describe('A create request that AWS has refused', () => {
  const ahead = record({
    profiles: [REQUEST, { name: OTHER, requestedAt: NOW }],
    roles: [ROLE_REQUEST],
    last: NOW - 1,
  });
  const refused = record({ profiles: [{ name: OTHER, requestedAt: NOW }], last: NOW - 1 });
  const unanswered = withRefusedRequests(withUnanswered({}, ahead, 0), ahead, refused);

  it('is closed by the next read, although the annotation still has it', () => {
    for (const depth of ['survey', 'glance'] as const)
      expect(updated(ahead, survey({ depth }), { unanswered }).record).to.deep.equal(refused);
  });

  it('does not explain a profile that another management cluster creates under the same name', () => {
    const created = aProfile({ createdAt: NOW });
    const { record: after, elsewhere } = updated(ahead, ours(created), { unanswered });
    expect(after.profiles).to.deep.equal(refused.profiles);
    expect(elsewhere).to.deep.equal([created]);
  });
});

describe('An object without a record', () => {
  const lost = { ...EMPTY_RECORD };

  it('may have lost an unanswered request for a minute, also once the first reconcile has recorded a place', () => {
    const unanswered = withUnanswered(withUnanswered({}, lost, 0), record(), 0);
    for (const before of [lost, record()]) {
      expect(updated(before, survey(), { unanswered, age: MINUTE - 1 }).isLost).to.equal(true);
      expect(updated(before, survey(), { unanswered, age: MINUTE }).isLost).to.equal(false);
    }
  });

  it('has lost none if its record names a place, or that nothing was created', () => {
    for (const before of [record(), FIRST_RECORD]) expect(updated(before, survey()).isLost).to.equal(false);
  });
});

describe('mergeRecords', () => {
  const merged = (annotation: ProfileRecord, recorded?: ProfileRecord) => mergeRecords(annotation, recorded, true);
  const mine = record({ profiles: [profileEntry({ served: true })], roles: [roleEntry({ checked: true })], last: 20 });

  it('is the annotation, or else what status tells, for a process that has recorded nothing', () => {
    expect(merged(mine)).to.equal(mine);
    expect(mergeRecords(mine, undefined, false)).to.equal(mine);
  });

  it('keeps what this process has recorded if another client sets an old annotation back', () => {
    const old = record({ profiles: [profileEntry()], last: 10 });
    const both = { ...mine, profiles: [...mine.profiles, { name: OTHER, id: 'another' }] };
    expect(merged(old, both)).to.deep.equal(both);
    expect(merged({ ...FIRST_RECORD, last: 30 }, mine)).to.deep.equal({ ...mine, last: 30 });
  });

  it('keeps the entries of both, of which those with another id are others', () => {
    const annotation = record({
      profiles: [profileEntry({ id: 'another' }), { name: OTHER }],
      roles: [roleEntry({ id: 'AROANEW' }), { name: RoleName.of('other') }],
    });
    const { profiles, roles } = merged(annotation, mine);
    expect(profiles).to.deep.equal([...mine.profiles, ...annotation.profiles]);
    expect(roles).to.deep.equal([...mine.roles, ...annotation.roles]);
  });

  it('takes entries of one name for the same while one of them has no id, and keeps what either knows', () => {
    const requests = record({
      profiles: [REQUEST],
      roles: [{ ...ROLE_REQUEST, name: RoleName.of(ROLE.toUpperCase()) }],
    });
    const [profile, role] = [mine.profiles[0], mine.roles[0]];
    for (const [annotation, known] of [
      [requests, mine],
      [
        { ...mine, roles: [] },
        { ...requests, roles: [] },
      ],
    ] as const) {
      const { profiles, roles } = merged(annotation, known);
      // In the first case, the annotation still contains the create request, but this process knows that AWS has
      // answered it. So the request stays closed.
      expect(profiles).to.deep.equal([known === mine ? profile : { ...profile, requestedAt: NOW }]);
      expect(roles).to.deep.equal(known === mine ? [role] : []);
    }
  });

  it('prefers what this process has recorded of an entry', () => {
    const old = record({ profiles: [profileEntry({ activeSince: 1 })] });
    const { profiles } = merged(old, record({ profiles: [profileEntry({ activeSince: 2 })] }));
    expect(profiles).to.deep.equal([profileEntry({ activeSince: 2 })]);
  });

  it('has no creation time of a profile that served if neither has one', () => {
    expect(merged(record(), record())).to.not.have.property('last');
  });

  it('takes a deletion that has begun from the annotation alone', () => {
    expect(merged(record(), record({ deleting: true }))).to.not.have.property('deleting');
    expect(merged(record({ deleting: true }), record())).to.have.property('deleting', true);
  });

  it('takes the place from the annotation, and if that has none from this process', () => {
    const elsewhere = { ...HERE, region: 'eu-north-1' };
    expect(merged(record({ in: elsewhere }), mine).in).to.equal(elsewhere);
    expect(merged(FIRST_RECORD, mine).in).to.equal(HERE);
    expect(mergeRecords(EMPTY_RECORD, mine, false).in).to.equal(HERE);
  });

  it('keeps the access entry that is being recreated', () => {
    const [entry, other] = [ROLE_ARN, RoleArn.of('arn:aws:iam::111122223333:role/other')];
    expect(merged(record(), record({ entry })).entry).to.equal(entry);
    expect(merged(record({ entry: other }), record()).entry).to.equal(other);
  });

  it('forgets the ids of roles if the annotation was removed, which declares their access entries to be right', () => {
    const { profiles, roles } = mergeRecords(EMPTY_RECORD, mine, false);
    expect(profiles, 'not those of profiles').to.deep.equal(mine.profiles);
    expect(roles).to.deep.equal([{ name: ROLE }]);
  });
});

describe('withLast', () => {
  const profiles = [profileEntry({ served: true }), { name: OTHER, id: PROFILE_ID }];
  const found = (createdAt: number, over: Partial<FargateProfile> = {}) => aProfile({ createdAt, ...over });

  for (const [situation, last, seen, after] of [
    ['rises with a younger profile that served', 10, [found(20)], 20],
    ['never falls', 30, [found(20)], 30],
    ['outlives the profiles', 30, [], 30],
    ['does not count a profile that has never served', 10, [found(20, { name: OTHER })], 10],
    ['does not count a profile with another id', 10, [found(20, { arn: ARN_OF_ANOTHER })], 10],
    ['is none without a profile that served', undefined, [found(20, { name: OTHER })], undefined],
    ['is none without a time of creation', undefined, [aProfile()], undefined],
  ] as const)
    it(situation, () => {
      const before = record({ profiles, ...(last !== undefined && { last }) });
      expect(withLast(before, seen).last).to.equal(after);
    });
});
