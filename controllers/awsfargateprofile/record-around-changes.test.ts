import { expect } from 'chai';
import { ProfileName, RoleName } from '../../api/names.ts';
import type { ProfileRecord, RecordedProfile, RecordedRole } from '../shared/record.ts';
import type { Mutation, MutationOutcome, ReconcileEnd } from './model/change.ts';
import type { Observed } from './model/observed-state.ts';
import { newReason } from './reasons/reasons.ts';
import {
  hasAnythingInAws,
  isAnythingLeft,
  located,
  recordAfter,
  recordAhead,
  recordAtEnd,
  withDrainSince,
  withoutDeletion,
} from './record-around-changes.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  HERE,
  NOW,
  PROFILE,
  PROFILE_ID,
  ROLE,
  ROLE_ARN,
  aFailure,
  aProfile,
  aRole,
  anObject,
  asDesired,
  desiredOf,
  observed,
} from './testing/builders.ts';
import { SHARED_ROLE, SHARED_ROLE_ARN, SHARED_ROLE_NAME } from './testing/fixtures.ts';
import {
  ATTACH_POLICY,
  CREATE_ACCESS_ENTRY,
  CREATE_PROFILE,
  CREATE_ROLE,
  DELETE_ACCESS_ENTRY,
  DELETE_PROFILE,
  DELETE_ROLE,
} from './testing/mutations.ts';

const EARLIER = NOW - 10_000;
const OTHER = { name: ProfileName.of('other'), id: 'another', served: true } as const;
const OTHER_ROLE = { name: RoleName.of('other'), id: 'AROAOTHER' };
const record = (over: Partial<ProfileRecord> = {}): ProfileRecord => ({ in: HERE, profiles: [], roles: [], ...over });
const profiles = (...entries: readonly RecordedProfile[]): ProfileRecord => record({ profiles: entries });
const roles = (...entries: readonly RecordedRole[]): ProfileRecord => record({ roles: entries });
const desired = desiredOf();

describe('The record before a change', () => {
  const ahead = (before: ProfileRecord, mutation: Mutation): ProfileRecord => recordAhead(before, mutation, NOW);
  const request = { name: PROFILE, requestedAt: NOW };
  const roleRequest = { name: ROLE, requestedAt: NOW };

  it('names the profile and the role that AWS is asked for, and when', () => {
    expect(ahead(profiles(OTHER), CREATE_PROFILE)).to.deep.equal(profiles(OTHER, request));
    expect(ahead(roles(OTHER_ROLE), CREATE_ROLE)).to.deep.equal(roles(OTHER_ROLE, roleRequest));
  });

  it('keeps the time of a request of the name that AWS has not answered', () => {
    const open = profiles({ ...request, requestedAt: EARLIER });
    expect(ahead(open, CREATE_PROFILE)).to.deep.equal(open);
    const openRole = roles({ name: RoleName.of(ROLE.toUpperCase()), requestedAt: EARLIER });
    expect(ahead(openRole, CREATE_ROLE), 'in other capital letters').to.deep.equal(openRole);
  });

  it('keeps the former id of a role that is created again, because its access entry is not right', () => {
    const former = { name: ROLE, id: 'AROAFORMER', checked: true } as const;
    expect(ahead(roles(former), CREATE_ROLE)).to.deep.equal(roles({ ...former, requestedAt: NOW }));
  });

  it('names the access entry that is deleted to be created again, but not one that goes with its role', () => {
    for (const [because, entry] of [
      ['profileCreation', ROLE_ARN],
      ['roleRecreated', ROLE_ARN],
      ['roleDeletion', undefined],
    ] as const)
      expect(ahead(record(), { ...DELETE_ACCESS_ENTRY, because }).entry, because).to.equal(entry);
  });

  it('has the place and the identity', () => {
    const identity = { kind: 'AWSClusterRoleIdentity', name: 'web' };
    const former = { kind: 'AWSClusterRoleIdentity', name: 'former' };
    for (const before of [record({ in: { kind: 'none' } }), record({ in: { kind: 'unknown' }, identity: former })])
      expect(located(before, desired, identity)).to.deep.include({ in: HERE, identity });
    expect(located(record({ identity: former }), desired, undefined), 'now its own credentials').to.deep.equal(
      record(),
    );
    expect(HERE).to.deep.equal({ kind: 'known', account: ACCOUNT, region: 'eu-west-1', eksCluster: EKS_CLUSTER });
  });

  it('stays as it is before any other change', () => {
    const before = record({ profiles: [OTHER], roles: [OTHER_ROLE], last: NOW, deleting: true });
    for (const mutation of [DELETE_PROFILE, DELETE_ROLE, ATTACH_POLICY, CREATE_ACCESS_ENTRY])
      expect(ahead(before, mutation), mutation.kind).to.deep.equal(before);
  });
});

describe('The record after a change', () => {
  const failed = (statusCode: number, code = 'Any'): MutationOutcome => ({
    kind: 'failed',
    failure: aFailure({ code, statusCode }),
  });
  /** AWS refused the request, so nothing can appear because of it. */
  const REFUSED: readonly MutationOutcome[] = [
    { kind: 'nameTaken' },
    { kind: 'siblingBusy', by: OTHER.name, doing: 'CREATING' },
    { kind: 'clusterUpdating', failure: aFailure() },
    { kind: 'roleRejected', failure: aFailure() },
    failed(400),
  ];
  /** AWS may have made the change. */
  const OPEN: readonly MutationOutcome[] = [failed(500), failed(400, 'Undecodable'), { kind: 'clusterGone' }];
  const afterProfile = (before: ProfileRecord, outcome: MutationOutcome): ProfileRecord =>
    recordAfter(recordAhead(before, CREATE_PROFILE, NOW), before, CREATE_PROFILE, outcome);
  const afterRole = (before: ProfileRecord, outcome: MutationOutcome): ProfileRecord =>
    recordAfter(recordAhead(before, CREATE_ROLE, NOW), before, CREATE_ROLE, outcome);

  it('has the id of a created profile and role, which a read has not shown yet', () => {
    expect(afterProfile(profiles(OTHER), { kind: 'done', profile: aProfile() })).to.deep.equal(
      profiles(OTHER, { name: PROFILE, id: PROFILE_ID, requestedAt: NOW }),
    );
    const otherRequest = { name: OTHER_ROLE.name, requestedAt: EARLIER };
    expect(afterRole(roles(otherRequest), { kind: 'done', role: aRole() })).to.deep.equal(
      roles(otherRequest, { name: ROLE, id: 'AROAEXAMPLE', requestedAt: NOW }),
    );
  });

  it('keeps the former id of a role that was created again', () => {
    const former = { name: ROLE, id: 'AROAFORMER' };
    expect(afterRole(roles(former), { kind: 'done', role: aRole() }).roles).to.deep.equal([
      { ...former, requestedAt: NOW },
    ]);
  });

  it('is as before if AWS refused the create, so that an earlier request without an answer stays open', () => {
    const open = profiles(OTHER, { name: PROFILE, requestedAt: EARLIER });
    const openRole = roles(OTHER_ROLE, { name: ROLE, requestedAt: EARLIER });
    for (const outcome of REFUSED) {
      for (const before of [profiles(OTHER), open])
        expect(afterProfile(before, outcome), outcome.kind).to.deep.equal(before);
      for (const before of [roles(OTHER_ROLE), openRole])
        expect(afterRole(before, outcome), outcome.kind).to.deep.equal(before);
    }
  });

  it('keeps the request if AWS gave no definite answer', () => {
    for (const outcome of OPEN) {
      expect(afterProfile(profiles(), outcome).profiles).to.deep.equal([{ name: PROFILE, requestedAt: NOW }]);
      expect(afterRole(roles(), outcome).roles).to.deep.equal([{ name: ROLE, requestedAt: NOW }]);
    }
  });

  it('does not name a role that was deleted, and still names a profile until AWS has shown it gone', () => {
    const before = record({ profiles: [OTHER], roles: [{ name: ROLE, id: 'AROAEXAMPLE' }, OTHER_ROLE] });
    for (const [outcome, left] of [
      [{ kind: 'done' }, [OTHER_ROLE]],
      [{ kind: 'gone' }, [OTHER_ROLE]],
      [failed(400), before.roles],
      [failed(500), before.roles],
    ] as const)
      expect(recordAfter(before, before, DELETE_ROLE, outcome).roles).to.deep.equal(left);
    const deletion = { ...DELETE_PROFILE, name: OTHER.name };
    for (const kind of ['done', 'gone'] as const)
      expect(recordAfter(before, before, deletion, { kind })).to.deep.equal(before);
  });
});

describe('The record at the end of a reconcile', () => {
  const WAITS = newReason('Creating', { name: PROFILE });
  const ENTRY = { name: PROFILE, id: PROFILE_ID } as const;

  function atEnd(
    before: Partial<ProfileRecord>,
    seen: Observed = asDesired(),
    {
      end = 'inSync',
      kept = [],
      spec = {},
    }: { end?: ReconcileEnd; kept?: readonly { name: string }[]; spec?: object } = {},
  ): ProfileRecord {
    const asked = desiredOf(anObject({ record: { in: HERE, ...before }, spec }), {}, seen);
    return recordAtEnd(record(before), asked, seen, { end, kept });
  }
  const profilesAtEnd = (before: RecordedProfile, ...rest: [seen?: Observed, over?: Parameters<typeof atEnd>[2]]) =>
    atEnd({ profiles: [before] }, ...rest).profiles;
  const world = (profile: Parameters<typeof aProfile>[0]): Observed =>
    observed({ profile: aProfile(profile), role: aRole() });

  describe('has of a profile', () => {
    it('that it has served, and since when, once the reconcile ends in order', () => {
      expect(profilesAtEnd(ENTRY)).to.deep.equal([{ ...ENTRY, served: true, activeSince: NOW }]);
    });

    it('since when it is ACTIVE, if the reconcile still waits for something else', () => {
      expect(profilesAtEnd(ENTRY, asDesired(), { end: WAITS })).to.deep.equal([{ ...ENTRY, activeSince: NOW }]);
    });

    it('the earlier time for which it is ACTIVE, and now instead of a time in the future', () => {
      expect(profilesAtEnd({ ...ENTRY, activeSince: EARLIER })).to.have.nested.property('[0].activeSince', EARLIER);
      expect(profilesAtEnd({ ...ENTRY, activeSince: NOW + 1 })).to.have.nested.property('[0].activeSince', NOW);
    });

    for (const [situation, seen, spec] of [
      ['is not ACTIVE any more', world({ status: 'UPDATING' }), {}],
      ['is gone', observed({ role: aRole() }), {}],
      ['has another id', world({ arn: 'a/b/c/again' }), {}],
      ['differs from the spec', world({ selectors: [] }), {}],
      ['is not desired', world({}), { profileName: ProfileName.of('web') }],
    ] as const)
      it(`no time if it ${situation}`, () => {
        for (const end of ['inSync', WAITS] as const)
          expect(profilesAtEnd({ ...ENTRY, activeSince: EARLIER }, seen, { end, spec })).to.deep.equal([ENTRY]);
      });
  });

  it('has since when a predecessor is drained, unless the health issues of its successor keep it', () => {
    const predecessor = aProfile({ name: OTHER.name, arn: aProfile().arn.replace(PROFILE_ID, OTHER.id) });
    const issue = { code: 'PodExecutionRoleAlreadyInUse', message: 'no', resourceIds: [] };
    const drained = { ...OTHER, drainSince: EARLIER };
    for (const [health, entry] of [
      [[], drained],
      [[issue], OTHER],
    ] as const) {
      const seen = { ...asDesired(), profiles: [aProfile({ health }), predecessor] };
      const spec = { updateStrategy: { type: 'Replace' } };
      expect(atEnd({ profiles: [ENTRY, drained] }, seen, { spec }).profiles).to.deep.include(entry);
    }
  });

  it('has the time of creation of the youngest profile that served', () => {
    expect(atEnd({ profiles: [ENTRY] }, world({ createdAt: EARLIER })).last).to.equal(EARLIER);
    expect(atEnd({ profiles: [ENTRY] }, world({ createdAt: EARLIER }), { end: WAITS }).last).to.equal(undefined);
  });

  describe('has of a role', () => {
    const CHECKED = { name: ROLE, id: 'AROAEXAMPLE', checked: true };

    it('that its access entry is right, once the reconcile ends in order', () => {
      for (const before of [[], [{ name: ROLE, id: 'AROAFORMER' }], [{ name: RoleName.of(ROLE.toUpperCase()) }]])
        expect(atEnd({ roles: before }).roles).to.deep.equal([CHECKED]);
      const former = { name: ROLE, id: 'AROAFORMER' };
      expect(atEnd({ roles: [former] }, asDesired(), { end: WAITS }).roles).to.deep.equal([former]);
    });

    it('that it belongs to another owner, with its id, by which the next reconcile knows it', () => {
      const theirs = { name: SHARED_ROLE_NAME, id: SHARED_ROLE.id, managed: false };
      const using = observed({ profile: aProfile({ podExecutionRoleArn: SHARED_ROLE_ARN }), role: SHARED_ROLE });
      for (const spec of [{ roleARN: SHARED_ROLE_ARN }, { roleName: SHARED_ROLE_NAME }])
        expect(atEnd({}, using, { spec }).roles).to.deep.equal([theirs]);
      expect(atEnd({ roles: [{ ...theirs, managed: false }] }).roles, 'used before').to.deep.equal([CHECKED]);
      expect(atEnd({}, asDesired(), { spec: { roleARN: ROLE_ARN } }).roles, 'in spite of its tags').to.deep.equal([
        { name: ROLE, id: CHECKED.id, managed: false },
      ]);
    });

    it('nothing if another object or profile needs it', () => {
      const left = { kept: [{ name: 'OTHER' }], end: WAITS };
      expect(atEnd({ roles: [OTHER_ROLE, { name: ROLE }] }, asDesired(), left).roles).to.deep.equal([{ name: ROLE }]);
      expect(atEnd({ roles: [OTHER_ROLE] }).roles, 'not yet deleted').to.deep.equal([OTHER_ROLE, CHECKED]);
    });
  });

  it('names the access entry that is being recreated until the reconcile ends in order', () => {
    expect(atEnd({ entry: ROLE_ARN }, asDesired(), { end: WAITS }).entry).to.equal(ROLE_ARN);
    expect(atEnd({ entry: ROLE_ARN })).to.not.have.property('entry');
  });

  it('has all else as it was', () => {
    const others = { others: { x: 1 }, deleting: true, identity: { kind: 'Kind', name: 'name' }, last: NOW } as const;
    expect(atEnd(others)).to.deep.include(others);
  });
});

it('The record of a living object no longer marks a deletion', () => {
  const before = record({ profiles: [OTHER], last: NOW });
  expect(withoutDeletion({ ...before, deleting: true })).to.deep.equal(before);
});

it('The record says since when a profile is being drained', () => {
  const before = profiles({ ...OTHER, drainSince: NOW }, { name: PROFILE });
  const after = profiles({ ...OTHER, drainSince: NOW }, { name: PROFILE, drainSince: NOW });
  expect(withDrainSince(before, PROFILE, NOW)).to.deep.equal(after);
  expect(withDrainSince(before, PROFILE, EARLIER)).to.deep.equal(
    profiles({ ...OTHER, drainSince: NOW }, { name: PROFILE, drainSince: EARLIER }),
  );
  expect(withDrainSince(after, PROFILE, NOW), 'nothing to write').to.equal(after);
});

describe('An object', () => {
  const nothing = record({ in: { kind: 'none' } });

  for (const [situation, of, seen, expected] of [
    ['nothing is recorded and AWS has nothing', nothing, [], false],
    ['another copy has a profile', nothing, [aProfile()], true],
    ['the record names a place', record(), [], true],
    ['another client has removed the record', record({ in: { kind: 'unknown' } }), [], true],
    ['the record names a profile', { ...nothing, profiles: [OTHER] }, [], true],
    ['the record names a role', { ...nothing, roles: [OTHER_ROLE] }, [], true],
  ] as const)
    it(`${expected ? 'may have' : 'has nothing'} in AWS if ${situation}`, () =>
      expect(hasAnythingInAws({ record: of, elsewhere: [...seen] })).to.equal(expected));

  for (const [situation, of, expected] of [
    ['a profile', profiles(OTHER), true],
    ['a role', roles(OTHER_ROLE), true],
    ['a role of another owner', roles({ ...OTHER_ROLE, managed: false }), false],
    ['nothing', record({ last: NOW, deleting: true }), false],
  ] as const)
    it(`${expected ? 'keeps' : 'loses'} its finalizer while the record names ${situation}`, () =>
      expect(isAnythingLeft(of)).to.equal(expected));
});
