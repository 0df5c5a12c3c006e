import { expect } from 'chai';
import fc from 'fast-check';
import { AccountId, EksClusterName, ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import { type AWSFargateProfileStatus, RECORD_ANNOTATION } from '../../api/v1beta2/index.ts';
import {
  FIRST_RECORD,
  MAX_RECORD,
  type ProfileRecord,
  type ReadRecord,
  formatRecord,
  isNeverBegun,
  isTooLong,
  recordOf,
  profileIdOf,
  readRecord,
  servedIn,
} from './record.ts';

const WEB = { namespace: 'team-a', name: 'web', uid: 'uid', resourceVersion: '1' };

/** Reads the record of an object with only this annotation. Each call uses a new object. */
const read = (text: string | undefined, metadata: object = {}): ReadRecord =>
  readRecord({
    metadata: { ...WEB, ...metadata, ...(text !== undefined && { annotations: { [RECORD_ANNOTATION]: text } }) },
  });
const readFields = (fields: object): ReadRecord => read(JSON.stringify({ v: 1, for: 'team-a/web', ...fields }));
const recorded = (fields: object): ProfileRecord | undefined => {
  const answer = readFields(fields);
  return answer.kind === 'recorded' ? answer.record : undefined;
};

const FULL: ProfileRecord = {
  in: {
    kind: 'known',
    account: AccountId.of('111122223333'),
    region: 'eu-west-1',
    eksCluster: EksClusterName.of('team-a_prod'),
  },
  identity: { kind: 'AWSClusterRoleIdentity', name: 'web' },
  profiles: [
    { name: ProfileName.of('web'), id: '0ec0ffee', served: true, activeSince: 2_001, drainSince: 3_000 },
    { name: ProfileName.of('9999-web'), requestedAt: 4_000 },
  ],
  last: 1_500,
  roles: [
    { name: RoleName.of('web_fargate'), id: 'AROAWEB', checked: true },
    { name: RoleName.of('theirs'), id: 'AROATHEIRS', managed: false },
    { name: RoleName.of('next'), requestedAt: 4_000 },
  ],
  entry: RoleArn.of('arn:aws:iam::111122223333:role/web_fargate'),
  deleting: true,
};

describe('A record', () => {
  it('has these words, which older and newer versions of the controller read', () => {
    expect(JSON.parse(formatRecord(FULL, { metadata: WEB }))).to.deep.equal({
      v: 1,
      for: 'team-a/web',
      in: '111122223333/eu-west-1/team-a_prod',
      identity: 'AWSClusterRoleIdentity/web',
      profiles: [
        {
          name: 'web',
          id: '0ec0ffee',
          served: true,
          activeSince: '1970-01-01T00:00:02.001Z',
          drainSince: '1970-01-01T00:00:03.000Z',
        },
        { name: '9999-web', requestedAt: '1970-01-01T00:00:04.000Z' },
      ],
      last: '1970-01-01T00:00:01.500Z',
      roles: [
        { name: 'web_fargate', id: 'AROAWEB', checked: true },
        { name: 'theirs', id: 'AROATHEIRS', managed: false },
        { name: 'next', requestedAt: '1970-01-01T00:00:04.000Z' },
      ],
      entry: 'arn:aws:iam::111122223333:role/web_fargate',
      deleting: true,
    });
  });

  it('keeps the keys of newer versions', () => {
    const others = { pods: [{ name: 'x' }], constructor: 1, none: null };
    const record = recorded({ ...others, deleting: true });
    expect(record?.others).to.deep.equal(others);
    const written = JSON.parse(formatRecord({ ...FIRST_RECORD, others }, { metadata: WEB })) as object;
    expect(written).to.deep.include(others);
  });

  for (const [situation, text] of [
    ['the annotation is missing', undefined],
    ['the object has another name', formatRecord(FULL, { metadata: { ...WEB, name: 'api' } })],
    ['the object is in another namespace', formatRecord(FULL, { metadata: { ...WEB, namespace: 'team-b' } })],
    ['it names no object', JSON.stringify({ v: 1 })],
  ] as const)
    it(`is none if ${situation}`, () => expect(read(text)).to.deep.equal({ kind: 'absent' }));

  describe('is unreadable, and not absent,', () => {
    const [profile, role] = [{ name: 'web' }, { name: 'web' }];
    for (const [problem, answer] of [
      ['is not a JSON object', read('')],
      ['is not a JSON object', read('{"v":1')],
      ['is not a JSON object', read('null')],
      ['is not a JSON object', read('[]')],
      ['has another version than 1', readFields({ v: 2 })],
      ['has another version than 1', readFields({ v: '1' })],
      ['is longer than 32768 characters', readFields({ x: 'x'.repeat(MAX_RECORD) })],
      ['is nested too deeply', read(`{"v":1,"for":"team-a/web","x":${'['.repeat(15_000)}${']'.repeat(15_000)}}`)],
      ['has no <account>/<region>/<EKS cluster>', readFields({ in: 'here' })],
      ['has no <account>/<region>/<EKS cluster>', readFields({ in: '111122223333/eu-west-1/prod/x' })],
      ['has no <account>/<region>/<EKS cluster>', readFields({ in: '111122223333/eu-west-1/pr od' })],
      ['has no <account>/<region>/<EKS cluster>', readFields({ in: '11112222333/eu-west-1/prod' })],
      ['has no text in in', readFields({ in: 7 })],
      ['has an identity that is not <kind>/<name>', readFields({ identity: 'web' })],
      ['has an identity that is not <kind>/<name>', readFields({ identity: '/web' })],
      ['has an identity that is not <kind>/<name>', readFields({ identity: 'Kind/web/x' })],
      ['has no text in identity', readFields({ identity: {} })],
      ['has no list of objects in profiles', readFields({ profiles: {} })],
      ['has no list of objects in profiles', readFields({ profiles: ['web'] })],
      ['has no list of objects in profiles', readFields({ profiles: null })],
      ['has no list of objects in roles', readFields({ roles: 'web' })],
      ['has no text in profiles[].name', readFields({ profiles: [{}] })],
      ['has a profile with a name that EKS does not allow', readFields({ profiles: [{ name: 'my web' }] })],
      ['has no text in roles[].name', readFields({ roles: [{ name: 1 }] })],
      ['has a role with a name that IAM does not allow', readFields({ roles: [{ name: 'my web' }] })],
      ['has no text in id', readFields({ profiles: [{ ...profile, id: 7 }] })],
      ['has no text in id', readFields({ roles: [{ ...role, id: '' }] })],
      ['has neither true nor false in profiles[].served', readFields({ profiles: [{ ...profile, served: 'true' }] })],
      ['has neither true nor false in roles[].managed', readFields({ roles: [{ ...role, managed: 'false' }] })],
      ['has neither true nor false in roles[].checked', readFields({ roles: [{ ...role, checked: 1 }] })],
      ['has neither true nor false in deleting', readFields({ deleting: 'yes' })],
      ['has no text in a time', readFields({ last: 1_500 })],
      ['has a time that is not a date', readFields({ last: 'yesterday' })],
      ...['requestedAt', 'activeSince', 'drainSince'].map(
        (field) => ['has a time that is not a date', readFields({ profiles: [{ ...profile, [field]: 'x' }] })] as const,
      ),
      ['has a time that is not a date', readFields({ roles: [{ ...role, requestedAt: 'x' }] })],
      ['has no text in entry', readFields({ entry: 7 })],
    ] as const)
      it(`if it ${problem}`, () => {
        expect(answer).to.have.property('kind', 'unreadable');
        expect(answer).to.have.property('problem').that.includes(problem);
      });
  });

  it('of any text is read, is none or is unreadable, and what is read can be written', () => {
    const aKey = fc.constantFrom('v', 'for', 'in', 'identity', 'profiles', 'last', 'roles', 'entry', 'deleting', 'x');
    const aField = fc.oneof(
      fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text) as unknown),
      fc.constantFrom('nowhere', '111122223333/eu-west-1/prod', 'Kind/name', '2026-11-21T03:25:00Z', true),
      fc.array(fc.dictionary(fc.constantFrom('name', 'id', 'served', 'requestedAt'), fc.string()), { maxLength: 3 }),
    );
    const ofFields = fc
      .dictionary(aKey, aField)
      .map((fields) => JSON.stringify({ v: 1, for: 'team-a/web', ...fields }));
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), ofFields), (text) => {
        const answer = read(text);
        if (answer.kind === 'recorded')
          expect(read(formatRecord(answer.record, { metadata: WEB }))).to.deep.equal(answer);
        else expect(answer.kind).to.be.oneOf(['absent', 'unreadable']);
      }),
    );
  });

  it('of any content is read as it was written', () => {
    const aTime = fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 });
    const [yes, no] = [fc.constant(true as const), fc.constant(false as const)];
    const anId = fc.constantFrom('0ec0ffee', '"\\', '\u0000\n', '\ud800');
    const aName = fc.constantFrom('web', '9999-web', 'wéb', '\u{20BB7}').map((name) => ProfileName.of(name));
    const aProfile = fc.record(
      { name: aName, id: anId, requestedAt: aTime, served: yes, activeSince: aTime, drainSince: aTime },
      { requiredKeys: ['name'] },
    );
    const aRoleName = fc.constantFrom('web', 'W@b').map((name) => RoleName.of(name));
    const aRole = fc.record(
      { name: aRoleName, id: anId, requestedAt: aTime, checked: yes, managed: no },
      { requiredKeys: ['name'] },
    );
    const aRecord = fc.record(
      {
        in: fc.constantFrom<ProfileRecord['in']>(FULL.in, { kind: 'none' }, { kind: 'unknown' }),
        profiles: fc.array(aProfile, { maxLength: 3 }),
        roles: fc.array(aRole, { maxLength: 3 }),
        last: aTime,
        entry: fc.string({ minLength: 1 }).map((arn) => RoleArn.of(arn)),
        deleting: yes,
        identity: fc.constant({ kind: 'Kind', name: 'name' }),
      },
      { requiredKeys: ['in', 'profiles', 'roles'] },
    );
    fc.assert(
      fc.property(aRecord, (record) => {
        expect(read(formatRecord(record, { metadata: WEB }))).to.deep.equal({ kind: 'recorded', record });
      }),
    );
  });

  it('is too long to be written exactly when it could not be read again', () => {
    const withText = (length: number): ProfileRecord => ({ ...FIRST_RECORD, others: { x: 'x'.repeat(length) } });
    const rest = formatRecord(withText(0), { metadata: WEB }).length;
    const profiles = (count: number) => Array.from({ length: count }, () => ({ name: ProfileName.of('web') }));
    const roles = (count: number) => Array.from({ length: count }, () => ({ name: RoleName.of('web') }));
    for (const [record, tooLong] of [
      [withText(MAX_RECORD - rest), false],
      [withText(MAX_RECORD - rest + 1), true],
      [{ ...FIRST_RECORD, profiles: profiles(50), roles: roles(50) }, false],
      [{ ...FIRST_RECORD, profiles: profiles(51) }, true],
      [{ ...FIRST_RECORD, roles: roles(51) }, true],
    ] as const) {
      expect(isTooLong(record, { metadata: WEB })).to.equal(tooLong);
      expect(read(formatRecord(record, { metadata: WEB })).kind).to.equal(tooLong ? 'unreadable' : 'recorded');
    }
  });
});

describe('recordOf', () => {
  const arn = 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/prod/web/0ec0ffee';
  const STATUS: AWSFargateProfileStatus = {
    account: AccountId.of('111122223333'),
    region: 'eu-west-1',
    eksClusterName: EksClusterName.of('prod'),
    identityRef: { kind: 'AWSClusterRoleIdentity', name: 'web' },
    profileName: ProfileName.of('web'),
    profileARN: arn,
    predecessors: [{ name: ProfileName.of('web') }, { name: ProfileName.of('9999-web') }],
    role: { name: RoleName.of('web_fargate'), id: 'AROAWEB', managed: true },
  };
  const of = (status: AWSFargateProfileStatus, annotation?: string): ProfileRecord =>
    recordOf({
      metadata: { ...WEB, ...(annotation !== undefined && { annotations: { [RECORD_ANNOTATION]: annotation } }) },
      status,
    });

  it('reads status if there is no record, and treats each profile in status as `served`', () => {
    expect(of(STATUS)).to.deep.equal({
      in: { kind: 'known', account: '111122223333', region: 'eu-west-1', eksCluster: 'prod' },
      identity: { kind: 'AWSClusterRoleIdentity', name: 'web' },
      profiles: [
        { name: 'web', served: true, id: '0ec0ffee' },
        { name: '9999-web', served: true },
      ],
      roles: [{ name: 'web_fargate', id: 'AROAWEB' }],
    });
    expect(of({ ...STATUS, role: { name: RoleName.of('theirs'), managed: false } }).roles).to.deep.equal([
      { name: 'theirs', managed: false },
    ]);
  });

  it('takes nothing of status if there is a record', () => {
    expect(of(STATUS, formatRecord(FIRST_RECORD, { metadata: WEB }))).to.deep.equal(FIRST_RECORD);
  });

  it('returns an unknown location if status lacks a part of the location, and omits names that AWS rejects', () => {
    const nothing = { in: { kind: 'unknown' }, profiles: [], roles: [] };
    for (const field of ['account', 'region', 'eksClusterName'] as const) {
      const { [field]: _lost, ...rest } = STATUS;
      expect(of(rest), field).to.deep.equal(nothing);
    }
    const rejected = { profileName: ProfileName.of('my web'), role: { name: RoleName.of('my web') } };
    expect(of({ ...STATUS, ...rejected, predecessors: [] })).to.deep.include({ profiles: [], roles: [] });
    const { profileName: _name, predecessors: _before, ...withoutProfile } = STATUS;
    expect(of(withoutProfile).profiles).to.deep.equal([]);
    for (const identityRef of [{ name: 'web' }, { kind: 'AWSClusterRoleIdentity' }])
      expect(of({ ...STATUS, identityRef })).to.not.have.property('identity');
  });

  it('says that nothing was created only if the record does', () => {
    const isBegun = (annotations: object, status?: AWSFargateProfileStatus): boolean =>
      !isNeverBegun({
        apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
        kind: 'AWSFargateProfile',
        metadata: { ...WEB, annotations: { ...annotations } },
        spec: {},
        ...(status && { status }),
      });
    const never = { [RECORD_ANNOTATION]: formatRecord(FIRST_RECORD, { metadata: WEB }) };
    expect(isBegun(never, { profileARN: 'arn' }), 'profile').to.equal(true);
    expect(isBegun(never, { role: { name: RoleName.of('role'), id: 'AROA' } }), 'role').to.equal(true);
    expect(
      isBegun(never, { role: { name: RoleName.of('role'), id: 'AROA', managed: false } }),
      "a user's role",
    ).to.equal(false);
    expect(isBegun(never)).to.equal(false);
    expect(isBegun({}), 'lost').to.equal(true);
    expect(isBegun({ [RECORD_ANNOTATION]: '{' }), 'unreadable').to.equal(true);
    expect(isBegun({ [RECORD_ANNOTATION]: formatRecord(FULL, { metadata: WEB }) }), 'elsewhere').to.equal(true);
  });
});

describe('servedIn', () => {
  const arnWith = (id: string) => ({ arn: `arn:aws:eks:eu-west-1:111122223333:fargateprofile/prod/web/${id}` });
  const name = ProfileName.of('web');

  it('finds the profile that served last, by its id alone', () => {
    const among = ['a', 'b', 'c', 'd'].map(arnWith);
    const profiles = [
      { name, id: 'a', served: true },
      { name, id: 'b', served: true },
      { name, id: 'gone', served: true },
      { name, served: true },
      { name, id: 'c' },
    ] as const;
    expect(servedIn({ ...FIRST_RECORD, profiles }, among)).to.deep.equal(arnWith('b'));
    expect(servedIn(FIRST_RECORD, among)).to.equal(undefined);
  });

  it('reads the id at the end of an ARN', () => {
    expect(profileIdOf(arnWith('0ec0ffee').arn)).to.equal('0ec0ffee');
    expect(profileIdOf('arn:aws:eks:eu-west-1:111122223333:cluster/prod')).to.equal(undefined);
  });
});
