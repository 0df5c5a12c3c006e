import { expect } from 'chai';
import { isLeft, isRight } from 'fp-ts/lib/Either.js';
import { VirtualClock } from 'controller-runtime/testing';
import { recordOf } from '../../shared/record.ts';
import { baseNameOf } from '../../shared/profile-names.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { identityOf } from '../model/owner.ts';
import {
  type ObjectParts,
  EKS_CLUSTER,
  FULL_RECORD,
  PLACE,
  ROLE,
  ROLE_ARN,
  TARGET,
  aDeletedObject,
  aFailure,
  aProfile,
  aRole,
  anObject,
  desiredInputs,
  observed,
} from '../testing/builders.ts';
import { CAPA_TAGS, FOREIGN_TAGS, SHARED_ROLE, SHARED_ROLE_ARN } from '../testing/fixtures.ts';
import { aSimulatedRole, awsWith, withoutRoles } from '../testing/reconcile-state.ts';
import { type SimulatedAws, type SimulatedSession, sessionOn } from '../testing/simulated-aws.ts';
import { AccessEntryReader, entriesToRead } from './access-entries.ts';
import type { Looking, ProfilesAndRoles } from '../model/observed-state.ts';

const HOUR = 60 * 60_000;
const ENTRY = { type: 'FARGATE_LINUX', roleId: 'AROAEXAMPLE', createdAt: 1_000 };
const DENIED = aFailure({ code: 'AccessDeniedException', statusCode: 403, message: 'no' });
const OUTAGE = aFailure({ code: 'NoAnswer' });

const lookingFor = (parts: ObjectParts, over: Partial<Looking> & { isDeleted?: boolean } = {}): Looking => {
  const { isDeleted = false, ...rest } = over;
  const object = isDeleted ? aDeletedObject(parts) : anObject(parts);
  const identity = identityOf(object, desiredInputs(), baseNameOf(object));
  const isLeaving = isDeleting(object);
  return { object, identity, record: recordOf(object), isLeaving, isLeavingWithCluster: false, ...rest };
};

describe('entriesToRead', () => {
  const plain = lookingFor({});
  const checked = lookingFor({ record: FULL_RECORD });
  const withRole = (role: object, record: object = {}, spec: object = {}): Looking =>
    lookingFor({ spec, record: { ...FULL_RECORD, roles: [{ name: ROLE, id: 'AROAEXAMPLE', ...role }], ...record } });
  const deletion = lookingFor({ record: FULL_RECORD }, { isDeleted: true });
  const roleAlone = observed({ role: aRole() });
  const live = observed({ profile: aProfile(), role: aRole() });
  const withStatus = (status: string): ProfilesAndRoles => observed({ profile: aProfile({ status }), role: aRole() });
  const used = observed({ profile: aProfile({ tags: FOREIGN_TAGS }), role: aRole() });
  const shared = { roleARN: SHARED_ROLE_ARN };
  const usingShared = observed({ profile: aProfile({ podExecutionRoleArn: SHARED_ROLE_ARN }), role: SHARED_ROLE });
  const sharedBefore = (id: string) => ({ roles: [{ name: SHARED_ROLE.name, id, managed: false }] });

  for (const [situation, looking, seen, entries] of [
    ['a profile is to be created', plain, roleAlone, [ROLE_ARN]],
    ['role and profile are to be created', plain, observed(), [ROLE_ARN]],
    [
      'role and profile are to be created, with a path',
      lookingFor({ spec: { rolePath: '/x/' } }),
      observed(),
      [ROLE_ARN.replace('/', '/x/')],
    ],
    ['a failed profile is to be created again', checked, withStatus('CREATE_FAILED'), [ROLE_ARN]],
    [
      'a profile that differs is to be replaced',
      checked,
      observed({ profile: aProfile({ selectors: [] }), role: aRole() }),
      [ROLE_ARN],
    ],
    ['the role has to be adopted', plain, observed({ role: aRole({ tags: CAPA_TAGS }) }), [ROLE_ARN]],
    ['a role of another owner has the name', plain, observed({ role: aRole({ tags: {} }) }), []],
    [
      'the profile is to be created with a role of another owner',
      lookingFor({ spec: shared }),
      observed({ role: SHARED_ROLE }),
      [],
    ],
    ['EKS creates the profile', plain, withoutRoles(observed({ profile: aProfile({ status: 'CREATING' }) })), []],
    ['the EKS cluster is gone', plain, { ...roleAlone, cluster: 'gone' }, []],
    ['the profile is ACTIVE, and the role was never checked', withRole({}), live, [ROLE_ARN]],
    ['the profile is ACTIVE, and the role was checked', checked, live, []],
    [
      'the role was created again under an ACTIVE profile',
      withRole({ id: 'AROAFORMER', checked: true }),
      live,
      [ROLE_ARN],
    ],
    ['its access entry is being recreated', withRole({ checked: true }, { entry: ROLE_ARN }), live, [ROLE_ARN]],
    [
      'another owner has created its role again',
      withRole({}, sharedBefore('AROAFORMER'), shared),
      usingShared,
      [SHARED_ROLE_ARN],
    ],
    ['a role of another owner is not recorded', lookingFor({ spec: shared }), usingShared, [SHARED_ROLE_ARN]],
    [
      'a role of another owner is not recorded, and its object is deleted',
      lookingFor({ spec: shared }, { isDeleted: true }),
      usingShared,
      [],
    ],
    ['another owner has left its role as it was', withRole({}, sharedBefore(SHARED_ROLE.id), shared), usingShared, []],
    [
      'a former role is unused',
      lookingFor({ spec: { roleName: SHARED_ROLE.name }, record: FULL_RECORD }),
      { ...live, profiles: usingShared.profiles },
      [ROLE_ARN],
    ],
    ['the role of a deleted object is unused', deletion, roleAlone, [ROLE_ARN]],
    ['another profile uses the role of a deleted object', deletion, used, []],
    ['the profile of a deleted object is deleted first', deletion, withoutRoles(live), []],
    [
      'the EKS cluster of a deleted object is being deleted',
      { ...deletion, isLeavingWithCluster: true },
      roleAlone,
      [],
    ],
    ['the EKS cluster of a deleted object is gone', deletion, { ...roleAlone, cluster: 'gone' }, []],
  ] satisfies readonly (readonly [string, Looking, ProfilesAndRoles, readonly string[]])[])
    it(`${entries.length > 0 ? 'are to be read' : 'are of no concern'} if ${situation}`, () =>
      expect(entriesToRead(looking, seen, PLACE)).to.deep.equal(entries));
});

describe('AccessEntryReader', () => {
  let clock: VirtualClock;
  let reader: AccessEntryReader;
  let aws: SimulatedAws;
  let session: SimulatedSession;
  beforeEach(() => {
    clock = new VirtualClock();
    reader = new AccessEntryReader(clock);
    aws = awsWith(aSimulatedRole());
    aws.authenticationMode = 'API';
    aws.accessEntries.set(ROLE_ARN, ENTRY);
    session = sessionOn(aws);
  });

  const CLUSTER = { eksCluster: EKS_CLUSTER, controlPlaneUid: 'first' };
  const read = (by = session) => reader.read(by, CLUSTER, ROLE_ARN, new AbortController().signal);
  const countOf = (operation: string, { calls } = session): number =>
    calls.filter((call) => call.startsWith(operation)).length;

  it('reads the authentication mode and the entry', async () => {
    const answer = await read();
    expect(isRight(answer) && answer.right).to.deep.include({ principal: ROLE_ARN, mode: 'API' });
    expect(isRight(answer) && answer.right.found).to.include({ type: 'FARGATE_LINUX', createdAt: 1_000 });
  });

  it('asks for the authentication mode once an hour', async () => {
    await read();
    await clock.advance(HOUR - 1);
    await read();
    expect(countOf('DescribeCluster')).to.equal(1);
    await clock.advance(1);
    await read();
    expect(countOf('DescribeCluster')).to.equal(2);
    expect(countOf('DescribeAccessEntry')).to.equal(3);
  });

  it('asks for the authentication mode once when several passes ask at the same time', async () => {
    await Promise.all([read(), read(), read()]);
    expect(countOf('DescribeCluster')).to.equal(1);
  });

  it('asks for the authentication mode again if it doubts CONFIG_MAP, and remembers the new mode', async () => {
    aws.authenticationMode = 'CONFIG_MAP';
    await read();
    aws.authenticationMode = 'API';
    const { signal } = new AbortController();
    const answer = await reader.read(session, CLUSTER, ROLE_ARN, signal, { doubtsConfigMap: true });
    expect(isRight(answer) && answer.right.mode).to.equal('API');
    expect(isRight(answer) && answer.right.found).to.include({ type: 'FARGATE_LINUX', createdAt: 1_000 });
    await read();
    expect(countOf('DescribeCluster')).to.equal(2);
  });

  it('asks for the authentication mode of a cluster that was made again under the same name', async () => {
    await read();
    aws.authenticationMode = 'CONFIG_MAP';
    const { signal } = new AbortController();
    const again = { ...CLUSTER, controlPlaneUid: 'second' };
    const answer = await reader.read(session, again, ROLE_ARN, signal);
    expect(isRight(answer) && answer.right.mode).to.equal('CONFIG_MAP');
  });

  describe('readMode', () => {
    const modeBefore = async (before: 'creation' | 'readiness') => {
      const mode = await reader.readMode(session, CLUSTER, new AbortController().signal, before);
      return isRight(mode) ? mode.right : 'failed';
    };

    it('trusts a cached mode CONFIG_MAP only for a profile that exists, because users change it to go on', async () => {
      aws.authenticationMode = 'CONFIG_MAP';
      await modeBefore('creation');
      aws.authenticationMode = 'API_AND_CONFIG_MAP';
      expect(await modeBefore('readiness')).to.equal('CONFIG_MAP');
      expect(await modeBefore('creation')).to.equal('API_AND_CONFIG_MAP');
      expect(await modeBefore('creation')).to.equal('API_AND_CONFIG_MAP');
      expect(countOf('DescribeCluster')).to.equal(2);
    });

    it('is unreadable if AWS denies the call, and fails if AWS does not answer', async () => {
      session.onCall = () => DENIED;
      expect(await modeBefore('creation')).to.equal('unreadable');
      session.onCall = () => OUTAGE;
      expect(await modeBefore('creation')).to.equal('failed');
    });
  });

  describe('complete', () => {
    const elsewhere = { rolePath: '/x/' };
    const recreated = { ...FULL_RECORD, roles: [{ name: ROLE, id: 'AROAFORMER' }] };
    const onPath = aRole({ path: '/x/' });
    const using = (status: string): ProfilesAndRoles =>
      observed({ profile: aProfile({ podExecutionRoleArn: onPath.arn, status }), role: onPath });
    const complete = async (looking: Looking, seen: ProfilesAndRoles) =>
      reader.complete({ session, target: TARGET }, looking, seen, new AbortController().signal);
    const bare = ({ depth, cluster, profiles, roles }: ProfilesAndRoles): ProfilesAndRoles => ({
      depth,
      cluster,
      profiles,
      roles,
    });

    it('adds the access entries that matter', async () => {
      const seen = bare(observed({ role: aRole() }));
      const completed = await complete(lookingFor({}), seen);
      expect(isRight(completed) && completed.right).to.deep.include(seen);
      expect(isRight(completed) && completed.right.accessEntries).to.have.length(1);
    });

    for (const [situation, looking, seen, mode] of [
      ['a role that is to be created with a path', lookingFor({ spec: elsewhere }), observed(), 'API'],
      ['an ACTIVE profile with a role with a path', lookingFor({ spec: elsewhere }), using('ACTIVE'), 'API'],
      ['a spec.roleARN with a path', lookingFor({ spec: { roleARN: onPath.arn } }), observed(), 'API'],
      ['a role without a path', lookingFor({}), observed({ role: aRole() }), undefined],
      ['a profile that EKS creates', lookingFor({ spec: elsewhere }), withoutRoles(using('CREATING')), undefined],
      ['an EKS cluster that is gone', lookingFor({ spec: elsewhere }), observed({ cluster: 'gone' }), undefined],
      ['a deletion', lookingFor({ spec: elsewhere }, { isDeleted: true }), using('ACTIVE'), undefined],
    ] satisfies readonly (readonly [string, Looking, ProfilesAndRoles, string | undefined])[])
      it(`tells ${mode ?? 'no'} authentication mode for ${situation}`, async () => {
        const completed = await complete(looking, bare(seen));
        expect(isRight(completed) && completed.right.authenticationMode).to.equal(mode);
      });

    it('ends the reconcile if AWS does not answer, and says so of a role that was created again', async () => {
      session.onCall = () => OUTAGE;
      const seen = bare(observed({ profile: aProfile(), role: aRole() }));
      for (const [record, reason] of [
        [recreated, 'RestoringRole'],
        [{ ...FULL_RECORD, roles: [{ name: ROLE, id: 'AROAEXAMPLE' }] }, 'AWSUnavailable'],
      ] as const) {
        const completed = await complete(lookingFor({ record }), seen);
        expect(isLeft(completed) && completed.left.name).to.equal(reason);
      }
    });

    for (const [situation, looking, profiles, mode] of [
      ['was created again', lookingFor({ record: recreated }), [aProfile()], 'API'],
      ['was never checked', lookingFor({}), [aProfile()], 'CONFIG_MAP'],
      ['is deleted with its object', lookingFor({ record: FULL_RECORD }, { isDeleted: true }), [], 'API'],
      ['is deleted, because the spec names another', lookingFor({ spec: { roleName: SHARED_ROLE.name } }), [], 'API'],
      ['is deleted, because the spec has another path', lookingFor({ spec: elsewhere }), [], 'API'],
    ] as const)
      it(`${mode === 'API' ? 'does not trust' : 'trusts'} a cached CONFIG_MAP for a role that ${situation}`, async () => {
        const seen = bare({ ...observed({ role: aRole() }), profiles });
        aws.authenticationMode = 'CONFIG_MAP';
        await complete(looking, seen);
        aws.authenticationMode = 'API';
        const completed = await complete(looking, seen);
        expect(isRight(completed) && completed.right.accessEntries?.[0]?.mode).to.equal(mode);
      });
  });

  it('answers no reconcile with the failure of another reconcile', async () => {
    const other = sessionOn(aws);
    other.onCall = (operation) => (operation === 'DescribeCluster' ? OUTAGE : undefined);
    const [failed, answered] = await Promise.all([read(other), read()]);
    expect([isLeft(failed), isRight(answered)]).to.deep.equal([true, true]);
  });

  it('reads no entry in mode CONFIG_MAP', async () => {
    aws.authenticationMode = 'CONFIG_MAP';
    const answer = await read();
    expect(isRight(answer) && answer.right).to.deep.equal({
      principal: ROLE_ARN,
      mode: 'CONFIG_MAP',
      found: undefined,
    });
    expect(countOf('DescribeAccessEntry')).to.equal(0);
  });

  for (const operation of ['DescribeCluster', 'DescribeAccessEntry'])
    it(`returns the words of AWS when AWS denies ${operation}, and fails when AWS does not answer`, async () => {
      session.onCall = (called) => (called === operation ? DENIED : undefined);
      const denied = await read();
      expect(isRight(denied) && denied.right).to.deep.include({ found: undefined });
      expect(isRight(denied) && denied.right.refusal).to.include('AccessDeniedException');
      session.onCall = (called) => (called === operation ? OUTAGE : undefined);
      expect(isLeft(await read())).to.equal(true);
    });
});
