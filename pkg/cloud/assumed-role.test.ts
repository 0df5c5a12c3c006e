import { expect } from 'chai';
import { Registry } from 'prom-client';
import { formatTimestamp } from '../env/timestamp.ts';
import { MemoryLogger } from '../env/testing/memory-logger.ts';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import { assumedRole } from './assumed-role.ts';
import type { AwsCredentials, CredentialSource } from './credentials.ts';
import { CredentialPool } from './credentials.ts';
import { AWS_ENDPOINTS } from './testing/endpoints.ts';
import { newLimiter } from './limiter.ts';
import { awsMetrics } from './metrics.ts';
import { NoCredentials } from './sdk-failure.ts';
import type { RoleToAssume } from './sts/assume-role.ts';
import { FakeTransport, page, queryError, result, silence } from './testing/fake-transport.ts';
import type { AwsResponse } from './transport.ts';
import type { CredentialsProblem } from './types.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const ARN = 'arn:aws:iam::111122223333:role/team/fargate';

describe('the credentials of a role', () => {
  let clock: VirtualClock;
  let logger: MemoryLogger;
  let transport: FakeTransport;
  let pool: CredentialPool;
  let base: CredentialSource & { credentials: AwsCredentials; fetched: number; refusals: number };

  const granted = (name: string, seconds = 3_600): AwsResponse =>
    result(
      'AssumeRole',
      `<Credentials><AccessKeyId>ASIA-${name}</AccessKeyId><SecretAccessKey>secret-${name}</SecretAccessKey>` +
        `<SessionToken>token-${name}</SessionToken>` +
        `<Expiration>${formatTimestamp(clock.now() + seconds * SECOND)}</Expiration></Credentials>`,
    );
  const source = (changes: Partial<RoleToAssume> = {}, from: CredentialSource = base, region?: string) =>
    assumedRole(
      {
        clock,
        logger,
        transport,
        limiter: newLimiter(clock),
        metrics: awsMetrics(new Registry()),
        endpoints: AWS_ENDPOINTS,
        pool,
        region,
        version: 'v1',
      },
      {
        key: `role of ${from.key}`,
        role: { arn: ARN, sessionName: 'capaf-x', durationSeconds: 3_600, policyArns: [], ...changes },
        base: from,
        baseName: 'AWSClusterStaticIdentity "team-a"',
      },
    );
  const asked = (index = 0): Readonly<Record<string, unknown>> => {
    const { Action: _action, Version: _version, ...rest } = transport.body(index);
    return rest;
  };
  async function problemOf(from: CredentialSource): Promise<Omit<CredentialsProblem, 'failure'>> {
    try {
      await pool.get(from);
    } catch (error) {
      if (!(error instanceof NoCredentials)) throw error;
      const { failure: _failure, ...problem } = error.problem;
      return problem;
    }
    throw new Error('credentials were had');
  }

  beforeEach(() => {
    clock = new VirtualClock();
    logger = new MemoryLogger();
    transport = new FakeTransport(() => granted('1'));
    pool = new CredentialPool(clock, new AbortController().signal);
    base = {
      key: 'base',
      credentials: { accessKeyId: 'AKIA-BASE', secretAccessKey: 'base-secret' },
      fetched: 0,
      refusals: 0,
      async fetch() {
        this.fetched += 1;
        return this.credentials;
      },
      refused() {
        this.refusals += 1;
      },
    };
  });

  it('are asked for with the credentials of the base, once for all who need them', async () => {
    const got = await Promise.all([pool.get(source()), pool.get(source())]);
    expect(got[0]).to.deep.equal({
      accessKeyId: 'ASIA-1',
      secretAccessKey: 'secret-1',
      sessionToken: 'token-1',
      expiresAt: clock.now() + 60 * MINUTE,
    });
    expect(got[1]).to.equal(got[0]);
    expect(transport.requests).to.have.length(1);
    expect(transport.requests[0]?.headers['authorization']).to.contain('Credential=AKIA-BASE/');
    expect(asked()).to.deep.equal({ RoleArn: ARN, RoleSessionName: 'capaf-x', DurationSeconds: '3600' });
  });

  it('are asked for with all that the identity says', async () => {
    await pool.get(source({ externalId: 'id', inlinePolicy: '{}', policyArns: ['arn:a', 'arn:b'] }));
    expect(asked()).to.include({
      ExternalId: 'id',
      Policy: '{}',
      'PolicyArns.member.1.arn': 'arn:a',
      'PolicyArns.member.2.arn': 'arn:b',
    });
  });

  it('are renewed five minutes before they end, and asked for with what the base is then', async () => {
    await pool.get(source());
    await clock.advance(55 * MINUTE - 1);
    await pool.get(source());
    expect(transport.requests).to.have.length(1);
    await clock.advance(1);
    base.credentials = { accessKeyId: 'AKIA-NEXT', secretAccessKey: 'next' };
    transport.answer = () => granted('2');
    expect((await pool.get(source())).accessKeyId).to.equal('ASIA-2');
    expect(transport.requests[1]?.headers['authorization']).to.contain('Credential=AKIA-NEXT/');
  });

  for (const { of, sessionToken, wanted, given } of [
    { of: 'a user', sessionToken: undefined, wanted: 43_200, given: '43200' },
    { of: 'a session', sessionToken: 'token', wanted: 43_200, given: '3600' },
    { of: 'a session', sessionToken: 'token', wanted: 900, given: '900' },
  ])
    it(`last ${given} s when ${of} asks for ${wanted} s`, async () => {
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
    it(`of ${arn} are asked of ${host} by a manager in ${region ?? 'a place unknown'}`, async () => {
      await pool.get(source({ arn }, base, region));
      expect(transport.requests[0]?.hostname).to.equal(host);
    });

  it('serve a second role on top of them, and are fetched once for both', async () => {
    const second = source({ arn: 'arn:aws:iam::444455556666:role/second' }, source());
    transport.answer = () => granted(String(transport.requests.length));
    const [top, middle] = await Promise.all([pool.get(second), pool.get(source())]);
    expect([middle.accessKeyId, top.accessKeyId]).to.deep.equal(['ASIA-1', 'ASIA-2']);
    expect(transport.requests.map(({ headers }) => headers['x-amz-security-token'])).to.deep.equal([
      undefined,
      'token-1',
    ]);
    expect(base.fetched).to.equal(1);
  });

  describe('cannot be had', () => {
    const denied = `User: arn:aws:iam::1:user/u is not authorized to perform: sts:AssumeRole on resource: ${ARN}`;

    it('where the role trusts somebody else', async () => {
      transport.answer = () => queryError('AccessDenied', denied, 403);
      expect(await problemOf(source())).to.deep.equal({
        reason: 'AssumeRoleDenied',
        message:
          `role ${ARN} cannot be assumed with the credentials of AWSClusterStaticIdentity "team-a": ${denied} ` +
          '(STS AssumeRole: AccessDenied)',
      });
    });

    it('where STS does not take the request', async () => {
      transport.answer = () => queryError('ValidationError', 'The requested DurationSeconds exceeds', 400);
      expect((await problemOf(source())).reason).to.equal('AssumeRoleRefused');
    });

    it('where STS does not answer, and that is told as such', async () => {
      transport.answer = silence;
      const problem = problemOf(source());
      await clock.advance(10 * SECOND);
      expect(await problem).to.include({ reason: 'AssumeRoleFailed' });
      transport.answer = () => page(503);
      await clock.advance(5 * SECOND);
      expect(await problemOf(source())).to.include({ reason: 'AssumeRoleFailed' });
    });

    it('with a base that AWS rejects; that is read again before it is used again', async () => {
      transport.answer = () => queryError('InvalidClientTokenId', 'The security token is invalid.', 403);
      expect(await problemOf(source())).to.deep.equal({
        reason: 'CredentialsInvalid',
        message:
          'AWS rejects the credentials of AWSClusterStaticIdentity "team-a": The security token is invalid. ' +
          '(STS AssumeRole: InvalidClientTokenId)',
      });
      expect(base.refusals).to.equal(1);
      await clock.advance(5 * SECOND);
      transport.answer = () => granted('2');
      await pool.get(source());
      expect(base.fetched).to.equal(2);
    });

    it('without those of the base, whose problem is told', async () => {
      const problem: CredentialsProblem = { reason: 'SecretNotFound', message: 'no Secret' };
      base.fetch = () => Promise.reject(new NoCredentials(problem));
      expect(await problemOf(source())).to.deep.equal(problem);
      expect(transport.requests).to.deep.equal([]);
    });

    it('from an answer without them, of which nothing is quoted', async () => {
      transport.answer = () => result('AssumeRole', '<Credentials><AccessKeyId>ASIA-1</AccessKeyId></Credentials>');
      const { reason, message } = await problemOf(source());
      expect(reason).to.equal('AssumeRoleFailed');
      expect(message).to.contain('SecretAccessKey: expected string').and.not.contain('ASIA-1');
    });
  });

  it('are in no line of the log', async () => {
    await pool.get(source({ externalId: 'external-id' }));
    const log = JSON.stringify(logger.lines);
    expect(log).to.contain('AssumeRole');
    for (const secret of ['AKIA-BASE', 'base-secret', 'ASIA-1', 'secret-1', 'token-1'])
      expect(log).to.not.contain(secret);
  });
});
