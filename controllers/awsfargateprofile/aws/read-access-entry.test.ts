import { expect } from 'chai';
import { isLeft, isRight } from 'fp-ts/lib/Either.js';
import { VirtualClock } from '../../../pkg/env/testing/virtual-clock.ts';
import { EKS_CLUSTER, ROLE_ARN, aFailure } from '../testing/builders.ts';
import { aSimulatedRole, awsWith } from '../testing/pass-state.ts';
import type { SimulatedAws } from '../testing/simulated-aws.ts';
import { type SimulatedSession, sessionOn } from '../testing/simulated-session.ts';
import { AccessEntryReader } from './read-access-entry.ts';

const HOUR = 60 * 60_000;
const ENTRY = { type: 'FARGATE_LINUX', roleId: 'AROAEXAMPLE', createdAt: 1_000 };
const DENIED = aFailure({ code: 'AccessDeniedException', statusCode: 403, message: 'no' });
const OUTAGE = aFailure({ code: 'NoAnswer' });

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

  it('asks for the authentication mode again for a recreated role, and remembers the new mode', async () => {
    aws.authenticationMode = 'CONFIG_MAP';
    await read();
    aws.authenticationMode = 'API';
    const { signal } = new AbortController();
    const answer = await reader.read(session, CLUSTER, ROLE_ARN, signal, { asksModeAgain: true });
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

  it('answers no pass with the failure of another pass', async () => {
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
      expect(isRight(denied) && denied.right).to.deep.include({ found: undefined, isUnreadable: true });
      expect(isRight(denied) && denied.right.refusal).to.include('AccessDeniedException');
      session.onCall = (called) => (called === operation ? OUTAGE : undefined);
      expect(isLeft(await read())).to.equal(true);
    });
});
