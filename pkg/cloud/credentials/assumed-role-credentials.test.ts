import { expect } from 'chai';
import { formatTimestamp, parseTimestamp } from 'controller-runtime/env';
import { MemoryLogger, VirtualClock } from 'controller-runtime/testing';
import { newAssumedRoleSource } from './assumed-role-credentials.ts';
import { CallerAccounts } from './caller-identity.ts';
import { CredentialPool, type AwsCredentials, type AwsCredentialSource } from './credential-pool.ts';
import { configWith } from '../testing/config.ts';
import { NoCredentials } from '../errors/sdk-failure.ts';
import type { RoleToAssume } from '../sts/sts-api.ts';
import { FakeTransport, proxyPage, queryError, queryResponse } from '../testing/fake-transport.ts';
import type { AwsResponse } from '../transport/transport.ts';
import { describeCredentialsProblem, type CredentialsProblem } from './credentials-problem.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const ARN = 'arn:aws:iam::111122223333:role/team/fargate';

describe('The credentials of an assumed role', () => {
  let clock: VirtualClock;
  let logger: MemoryLogger;
  let transport: FakeTransport;
  let pool: CredentialPool;
  let base: AwsCredentialSource & { credentials: AwsCredentials; fetched: number; refusals: number };

  const granted = (name: string, seconds = 3_600): AwsResponse =>
    queryResponse(
      'AssumeRole',
      `<Credentials><AccessKeyId>ASIA-${name}</AccessKeyId><SecretAccessKey>secret-${name}</SecretAccessKey>` +
        `<SessionToken>token-${name}</SessionToken>` +
        `<Expiration>${formatTimestamp(clock.now() + seconds * SECOND)}</Expiration></Credentials>`,
    );
  const source = (changes: Partial<RoleToAssume> = {}, from: AwsCredentialSource = base, region?: string) => {
    const shared = configWith({ clock, logger, transport, pool, region });
    const accounts = new CallerAccounts({ ...shared, signal: new AbortController().signal });
    return newAssumedRoleSource(
      { ...shared, accounts },
      {
        key: `role of ${from.key}`,
        role: { arn: ARN, sessionName: 'capaf-x', durationSeconds: 3_600, policyArns: [], ...changes },
        base: from,
        baseName: 'AWSClusterStaticIdentity "team-a"',
      },
    );
  };
  const asked = (index = 0): Readonly<Record<string, unknown>> => {
    const { Action: _action, Version: _version, ...rest } = transport.body(index);
    return rest;
  };
  async function problemOf(from: AwsCredentialSource): Promise<Omit<CredentialsProblem, 'failure'>> {
    try {
      await pool.get(from);
    } catch (error) {
      if (!(error instanceof NoCredentials)) throw error;
      const { failure: _failure, ...problem } = error.problem;
      return { ...problem, message: describeCredentialsProblem(error.problem) };
    }
    throw new Error('credentials were had');
  }

  beforeEach(() => {
    clock = new VirtualClock();
    logger = new MemoryLogger();
    transport = new FakeTransport(() => granted('1'));
    pool = new CredentialPool(clock, new AbortController().signal, 10 * 60_000);
    base = {
      key: 'base',
      credentials: { accessKeyId: 'AKIA-BASE', secretAccessKey: 'base-secret' },
      fetched: 0,
      refusals: 0,
      async fetch() {
        this.fetched += 1;
        return this.credentials;
      },
      onRejected() {
        this.refusals += 1;
      },
    };
  });

  for (const { of, sessionToken, wanted, given } of [
    { of: 'a user', sessionToken: undefined, wanted: 43_200, given: '43200' },
    { of: 'a session', sessionToken: 'token', wanted: 43_200, given: '3600' },
    { of: 'a session', sessionToken: 'token', wanted: 900, given: '900' },
  ])
    it(`last ${given} s when ${of} requests ${wanted} s`, async () => {
      base.credentials = { ...base.credentials, ...(sessionToken !== undefined && { sessionToken }) };
      await pool.get(source({ durationSeconds: wanted }));
      expect(asked()).to.include({ DurationSeconds: given });
    });

  for (const { arn, region, host } of [
    { arn: ARN, region: 'eu-west-1', host: 'sts.eu-west-1.amazonaws.com' },
    { arn: ARN, region: undefined, host: 'sts.us-east-1.amazonaws.com' },
    { arn: ARN, region: 'cn-north-1', host: 'sts.us-east-1.amazonaws.com' },
    {
      arn: 'arn:aws-cn:iam::111122223333:role/x',
      region: 'cn-northwest-1',
      host: 'sts.cn-northwest-1.amazonaws.com.cn',
    },
    { arn: 'arn:aws-us-gov:iam::111122223333:role/x', region: 'eu-west-1', host: 'sts.us-gov-west-1.amazonaws.com' },
  ])
    it(`of ${arn} are requested from ${host} by a manager in ${region ?? 'an unknown region'}`, async () => {
      await pool.get(source({ arn }, base, region));
      expect(transport.requests[0]?.hostname).to.equal(host);
    });

  it('are requested with the time of AWS after STS has refused a request because of a wrong clock', async () => {
    const sentAt = (index: number): number =>
      parseTimestamp(
        (transport.requests[index]?.headers['x-amz-date'] ?? '').replace(
          /^(....)(..)(..)T(..)(..)(..)Z$/,
          '$1-$2-$3T$4:$5:$6Z',
        ),
      ) ?? NaN;
    transport.respond = () => {
      const refusal = queryError('SignatureDoesNotMatch', 'Signature expired: 1 is now earlier than 2', 403);
      return { ...refusal, headers: { ...refusal.headers, date: formatTimestamp(sentAt(0) + 60 * MINUTE) } };
    };
    expect((await problemOf(source())).reason).to.equal('AssumeRoleFailed');
    transport.respond = () => granted('2');
    await clock.advance(5 * SECOND);
    await pool.get(source());
    expect(base.refusals, 'the base stays in use').to.equal(0);
    expect(sentAt(1) - sentAt(0)).to.be.within(59 * MINUTE, 61 * MINUTE);
  });

  describe('fail', () => {
    it('when a proxy answers instead of STS, because that is no mistake of the identity', async () => {
      transport.respond = () => proxyPage(407);
      expect((await problemOf(source())).reason).to.equal('AssumeRoleFailed');
    });

    it('when AWS rejects the base, which is fetched again before its next use', async () => {
      transport.respond = () => queryError('InvalidClientTokenId', 'The security token is invalid.', 403);
      expect(await problemOf(source())).to.deep.equal({
        reason: 'CredentialsInvalid',
        message:
          'AWS rejects the credentials of AWSClusterStaticIdentity "team-a": The security token is invalid. ' +
          '(STS AssumeRole: InvalidClientTokenId)',
        whose: 'AWSClusterStaticIdentity "team-a"',
      });
      expect(base.refusals).to.equal(1);
      await clock.advance(5 * SECOND);
      transport.respond = () => granted('2');
      await pool.get(source());
      expect(base.fetched).to.equal(2);
    });

    it('when the base has no credentials, with the problem of the base', async () => {
      const problem: CredentialsProblem = { reason: 'SecretNotFound', message: 'no Secret' };
      base.fetch = () => Promise.reject(new NoCredentials(problem));
      expect(await problemOf(source())).to.deep.equal(problem);
      expect(transport.requests).to.deep.equal([]);
    });

    it('when the response has no credentials, without quoting the response', async () => {
      transport.respond = () =>
        queryResponse('AssumeRole', '<Credentials><AccessKeyId>ASIA-1</AccessKeyId></Credentials>');
      const { reason, message } = await problemOf(source());
      expect(reason).to.equal('AssumeRoleFailed');
      expect(message).to.contain('SecretAccessKey: expected string').and.not.contain('ASIA-1');
    });
  });

  it('are never logged', async () => {
    await pool.get(source({ externalId: 'external-id' }));
    const log = JSON.stringify(logger.lines);
    expect(log).to.contain('AssumeRole');
    for (const secret of ['AKIA-BASE', 'base-secret', 'ASIA-1', 'secret-1', 'token-1'])
      expect(log).to.not.contain(secret);
  });
});
