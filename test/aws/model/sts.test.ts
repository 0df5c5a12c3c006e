import { expect } from 'chai';
import { account, Bench } from './bench.ts';
import type { Output } from './context.ts';
import type { Input } from './input.ts';
import { isRecord } from './input.ts';
import type { Principal } from './principals.ts';

const other = '999999999999';

function trust(principal: string, condition: Input = {}): string {
  return JSON.stringify({
    Version: '2012-10-17',
    Statement: { Effect: 'Allow', Principal: { AWS: principal }, Action: 'sts:AssumeRole', Condition: condition },
  });
}

describe('STS', () => {
  let bench: Bench;
  const assume = (input: Input, principal = bench.caller): Output =>
    bench.run('sts', 'AssumeRole', { RoleSessionName: 'session', ...input }, principal);
  const refused = (input: Input, principal = bench.caller): readonly [string, number] => {
    const error = bench.refused('sts', 'AssumeRole', { RoleSessionName: 'session', ...input }, principal);
    return [error.code, error.status];
  };
  const putRole = (name: string, document: string, maxSession = 43_200): string => {
    bench.run('iam', 'CreateRole', {
      RoleName: name,
      AssumeRolePolicyDocument: document,
      MaxSessionDuration: maxSession,
    });
    return `arn:aws:iam::${account}:role/${name}`;
  };
  const sessionOf = (output: Output): Principal => {
    const credentials = isRecord(output['Credentials']) ? output['Credentials'] : {};
    return bench.model.principals.authenticate(
      'sts',
      { accessKeyId: String(credentials['AccessKeyId']), sessionToken: String(credentials['SessionToken']) },
      bench.now,
    );
  };

  beforeEach(() => {
    bench = new Bench();
  });

  it('says who is calling, even to whom everything is denied', () => {
    bench.model.principals.deny({ principal: '*', action: '*' });
    expect(bench.run('sts', 'GetCallerIdentity', {})).to.deep.equal({
      UserId: bench.caller.userId,
      Account: account,
      Arn: `arn:aws:iam::${account}:user/me`,
    });
  });

  it('gives a session of a role to those whom it trusts, over accounts', () => {
    const stranger = bench.key('stranger', other);
    const RoleArn = putRole('r', trust(`arn:aws:iam::${other}:root`));
    const session = sessionOf(assume({ RoleArn }, stranger));
    expect(bench.run('sts', 'GetCallerIdentity', {}, session)).to.include({
      Account: account,
      Arn: `arn:aws:sts::${account}:assumed-role/r/session`,
    });
    expect(refused({ RoleArn })).to.deep.equal(['AccessDenied', 403]);
  });

  it('does not say whether a role exists', () => {
    const RoleArn = `arn:aws:iam::${account}:role/nobody`;
    expect(bench.refused('sts', 'AssumeRole', { RoleArn, RoleSessionName: 'session' }).message).to.equal(
      `User: ${bench.caller.arn} is not authorized to perform: sts:AssumeRole on resource: ${RoleArn}`,
    );
  });

  it('asks for the external id', () => {
    const RoleArn = putRole('r', trust(account, { StringEquals: { 'sts:ExternalId': 'secret' } }));
    expect(refused({ RoleArn })).to.deep.equal(['AccessDenied', 403]);
    expect(refused({ RoleArn, ExternalId: 'wrong' })).to.deep.equal(['AccessDenied', 403]);
    assume({ RoleArn, ExternalId: 'secret' });
  });

  it('bounds the duration by 900..43200 seconds, by the role, and by one hour in a chain', () => {
    const RoleArn = putRole('r', trust('*'), 7_200);
    for (const DurationSeconds of [899, 43_201, 7_201]) {
      expect(refused({ RoleArn, DurationSeconds })).to.deep.equal(['ValidationError', 400]);
    }
    const session = sessionOf(assume({ RoleArn, DurationSeconds: 7_200 }));
    const chained = bench.refused(
      'sts',
      'AssumeRole',
      { RoleArn, RoleSessionName: 'again', DurationSeconds: 3_601 },
      session,
    );
    expect([chained.code, chained.message]).to.deep.equal([
      'ValidationError',
      'The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining',
    ]);
    assume({ RoleArn, DurationSeconds: 3_600 }, session);
  });

  it('checks the session name', () => {
    const RoleArn = putRole('r', trust('*'));
    for (const RoleSessionName of ['a', 'a b', 'x'.repeat(65), undefined]) {
      expect(refused({ RoleArn, RoleSessionName })).to.deep.equal(['ValidationError', 400]);
    }
  });

  it('keeps the session policies for whoever looks', () => {
    const RoleArn = putRole('r', trust('*'));
    const Policy = '{"Version":"2012-10-17","Statement":[]}';
    const session = sessionOf(assume({ RoleArn, Policy, PolicyArns: [{ arn: 'arn:aws:iam::aws:policy/X' }] })).session;
    expect(session).to.deep.include({ inlinePolicy: Policy, policyArns: ['arn:aws:iam::aws:policy/X'] });
    expect(refused({ RoleArn, Policy: 'not json' })).to.deep.equal(['MalformedPolicyDocument', 400]);
  });

  it('refuses credentials that ran out or that it does not know, each service in its own words', () => {
    const RoleArn = putRole('r', trust('*'));
    const session = sessionOf(assume({ RoleArn, DurationSeconds: 900 }));
    const key = { accessKeyId: session.accessKeyId, sessionToken: session.session?.token ?? '' };
    const code = (service: 'eks' | 'iam', presented: { accessKeyId: string; sessionToken?: string }): string => {
      try {
        bench.model.principals.authenticate(service, presented, bench.now);
        return 'accepted';
      } catch (error) {
        return isRecord(error) ? `${String(error['code'])} ${String(error['status'])}` : String(error);
      }
    };
    bench.pass(899_999);
    expect(code('eks', key)).to.equal('accepted');
    expect(code('eks', { accessKeyId: key.accessKeyId })).to.equal('UnrecognizedClientException 403');
    bench.pass(1);
    expect(code('eks', key)).to.equal('ExpiredTokenException 403');
    expect(code('iam', key)).to.equal('ExpiredToken 403');
    expect(code('iam', { accessKeyId: 'AKIANOBODY' })).to.equal('InvalidClientTokenId 403');
  });

  it('lets a test end every session, and no key', () => {
    const session = sessionOf(assume({ RoleArn: putRole('r', trust('*')) }));
    bench.model.principals.expireSessions(bench.now);
    const key = { accessKeyId: session.accessKeyId, sessionToken: session.session?.token ?? '' };
    expect(() => bench.model.principals.authenticate('sts', key, bench.now)).to.throw('is expired');
    bench.model.principals.authenticate('sts', { accessKeyId: bench.caller.accessKeyId }, bench.now);
  });

  it('sees a new role late when told to', () => {
    bench = new Bench({ iam: { trustVisibleToStsMs: 1_000 } });
    const RoleArn = putRole('r', trust('*'));
    expect(refused({ RoleArn })).to.deep.equal(['AccessDenied', 403]);
    bench.pass(1_000);
    assume({ RoleArn });
  });
});
