import { expect } from 'chai';
import { account, ModelFixture } from '../model-fixture.ts';
import type { Output } from '../context.ts';
import { type Input, isRecord } from '../input.ts';
import type { Principal } from './principals.ts';

const other = '999999999999';

function trust(principal: string, condition: Input = {}): string {
  return JSON.stringify({
    Version: '2012-10-17',
    Statement: { Effect: 'Allow', Principal: { AWS: principal }, Action: 'sts:AssumeRole', Condition: condition },
  });
}

describe('STS', () => {
  let fixture: ModelFixture;
  const assume = (input: Input, principal = fixture.caller): Output =>
    fixture.run('sts', 'AssumeRole', { RoleSessionName: 'session', ...input }, principal);
  const refused = (input: Input, principal = fixture.caller): readonly [string, number] => {
    const error = fixture.refused('sts', 'AssumeRole', { RoleSessionName: 'session', ...input }, principal);
    return [error.code, error.status];
  };
  const putRole = (name: string, document: string): string => {
    fixture.run('iam', 'CreateRole', { RoleName: name, AssumeRolePolicyDocument: document });
    return `arn:aws:iam::${account}:role/${name}`;
  };
  const sessionOf = (output: Output): Principal => {
    const credentials = isRecord(output['Credentials']) ? output['Credentials'] : {};
    return fixture.model.principals.authenticate(
      'sts',
      { accessKeyId: String(credentials['AccessKeyId']), sessionToken: String(credentials['SessionToken']) },
      fixture.now,
    );
  };

  beforeEach(() => {
    fixture = new ModelFixture();
  });

  it('answers GetCallerIdentity even to a caller without permissions', () => {
    fixture.model.principals.deny({ principal: '*', action: '*' });
    expect(fixture.run('sts', 'GetCallerIdentity', {})).to.deep.equal({
      UserId: fixture.caller.userId,
      Account: account,
      Arn: `arn:aws:iam::${account}:user/me`,
    });
  });

  it('gives a role session to trusted principals of any account', () => {
    const stranger = fixture.key('stranger', other);
    const RoleArn = putRole('r', trust(`arn:aws:iam::${other}:root`));
    const session = sessionOf(assume({ RoleArn }, stranger));
    expect(fixture.run('sts', 'GetCallerIdentity', {}, session)).to.include({
      Account: account,
      Arn: `arn:aws:sts::${account}:assumed-role/r/session`,
    });
    expect(refused({ RoleArn })).to.deep.equal(['AccessDenied', 403]);
  });

  it('has the same error for a missing role', () => {
    const RoleArn = `arn:aws:iam::${account}:role/nobody`;
    expect(fixture.refused('sts', 'AssumeRole', { RoleArn, RoleSessionName: 'session' }).message).to.equal(
      `User: ${fixture.caller.arn} is not authorized to perform: sts:AssumeRole on resource: ${RoleArn}`,
    );
  });

  it('checks the external id', () => {
    const RoleArn = putRole('r', trust(account, { StringEquals: { 'sts:ExternalId': 'secret' } }));
    expect(refused({ RoleArn })).to.deep.equal(['AccessDenied', 403]);
    expect(refused({ RoleArn, ExternalId: 'wrong' })).to.deep.equal(['AccessDenied', 403]);
    assume({ RoleArn, ExternalId: 'secret' });
  });

  it('limits the duration to 900..43200 seconds, and to one hour, which is the role’s maximum and that of chained roles', () => {
    const RoleArn = putRole('r', trust('*'));
    for (const DurationSeconds of [899, 43_201, 3_601]) {
      expect(refused({ RoleArn, DurationSeconds })).to.deep.equal(['ValidationError', 400]);
    }
    const session = sessionOf(assume({ RoleArn, DurationSeconds: 3_600 }));
    const chained = fixture.refused(
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

  it('checks the session policy', () => {
    const RoleArn = putRole('r', trust('*'));
    assume({ RoleArn, Policy: '{"Version":"2012-10-17","Statement":[]}' });
    expect(refused({ RoleArn, Policy: 'not json' })).to.deep.equal(['MalformedPolicyDocument', 400]);
  });

  it('refuses expired and unknown credentials with the error of each service', () => {
    const RoleArn = putRole('r', trust('*'));
    const session = sessionOf(assume({ RoleArn, DurationSeconds: 900 }));
    const key = { accessKeyId: session.accessKeyId, sessionToken: session.session?.token ?? '' };
    const code = (service: 'eks' | 'iam', presented: { accessKeyId: string; sessionToken?: string }): string => {
      try {
        fixture.model.principals.authenticate(service, presented, fixture.now);
        return 'accepted';
      } catch (error) {
        return isRecord(error) ? `${String(error['code'])} ${String(error['status'])}` : String(error);
      }
    };
    fixture.advance(899_999);
    expect(code('eks', key)).to.equal('accepted');
    expect(code('eks', { accessKeyId: key.accessKeyId })).to.equal('UnrecognizedClientException 403');
    fixture.advance(1);
    expect(code('eks', key)).to.equal('ExpiredTokenException 403');
    expect(code('iam', key)).to.equal('ExpiredToken 403');
    expect(code('iam', { accessKeyId: 'AKIANOBODY' })).to.equal('InvalidClientTokenId 403');
  });
});
