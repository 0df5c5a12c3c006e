import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MemoryLogger } from 'controller-runtime/testing';
import { errorMessage, errorStack } from 'controller-runtime/text';
import { newManagerCredentialSource, describeProviderChain } from './manager-credentials.ts';
import { FakeTransport, queryResponse } from '../testing/fake-transport.ts';

const signal = (): AbortSignal => new AbortController().signal;

describe("The manager's credentials", () => {
  let folder: string;
  let before: NodeJS.ProcessEnv;

  beforeEach(async () => {
    before = process.env;
    folder = await mkdtemp(join(tmpdir(), 'credentials-'));
    process.env = {
      PATH: before['PATH'],
      HOME: folder,
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_CONFIG_FILE: join(folder, 'config'),
      AWS_SHARED_CREDENTIALS_FILE: join(folder, 'credentials'),
    };
  });

  afterEach(async () => {
    process.env = before;
    await rm(folder, { recursive: true });
  });

  const fetch = (transport = new FakeTransport()): Promise<unknown> =>
    newManagerCredentialSource(transport, process.env, new MemoryLogger()).fetch(signal());

  it('come from the environment', async () => {
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_SESSION_TOKEN: 'c' });
    expect(await fetch()).to.deep.equal({ accessKeyId: 'a', secretAccessKey: 'b', sessionToken: 'c' });
  });

  it('come from the shared file, which is read for each fetch', async () => {
    const file = join(folder, 'credentials');
    await writeFile(file, '[default]\naws_access_key_id = one\naws_secret_access_key = x\n');
    expect(await fetch()).to.include({ accessKeyId: 'one' });
    await writeFile(file, '[default]\naws_access_key_id = two\naws_secret_access_key = x\n');
    expect(await fetch()).to.include({ accessKeyId: 'two' });
  });

  it('come from a web identity, requested through the transport', async () => {
    const token = join(folder, 'token');
    await writeFile(token, 'web-identity-token');
    Object.assign(process.env, {
      AWS_WEB_IDENTITY_TOKEN_FILE: token,
      AWS_ROLE_ARN: 'arn:aws:iam::111122223333:role/manager',
      AWS_REGION: 'eu-west-1',
    });
    const transport = FakeTransport.inOrder(
      queryResponse(
        'AssumeRoleWithWebIdentity',
        '<Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s</SecretAccessKey>' +
          '<SessionToken>t</SessionToken><Expiration>2030-01-01T00:00:00Z</Expiration></Credentials>',
      ),
    );
    expect(await fetch(transport)).to.deep.equal({
      accessKeyId: 'ASIA1',
      secretAccessKey: 's',
      sessionToken: 't',
      expiresAt: 1_893_456_000_000,
    });
    expect(transport.body(0)).to.include({
      Action: 'AssumeRoleWithWebIdentity',
      WebIdentityToken: 'web-identity-token',
    });
    expect(transport.requests[0]?.hostname).to.equal('sts.eu-west-1.amazonaws.com');
  });

  it('report where they were looked for when there are none', async () => {
    const failure = await fetch().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).to.be.instanceOf(Error);
    expect(failure).to.have.property(
      'message',
      'the AWS SDK looked in these places: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (not set); the shared configuration files (profile ' +
        'default); AWS_WEB_IDENTITY_TOKEN_FILE (not set); the instance metadata service (not asked, ' +
        'because AWS_EC2_METADATA_DISABLED is set)',
    );
    expect(failure).to.have.property('cause');
  });

  it('report a credential_process that fails, without its arguments and its output', async () => {
    await writeFile(
      join(folder, 'config'),
      '[default]\ncredential_process = sh -c "echo hush >&2; exit 7" --client-secret=hush\n',
    );
    const failure = await fetch().catch((error: unknown) => error);
    expect(errorMessage(failure)).to.contain('Could not load credentials from any providers');
    expect(`${errorMessage(failure)} ${errorStack(failure)}`).not.to.contain('hush');
  });

  it('are described by the settings that exist, without secret values', () => {
    const places = describeProviderChain({
      AWS_ACCESS_KEY_ID: 'AKIASECRET',
      AWS_SECRET_ACCESS_KEY: 'hush',
      AWS_PROFILE: 'dev',
      AWS_WEB_IDENTITY_TOKEN_FILE: '/token',
      AWS_ROLE_ARN: 'arn:aws:iam::111122223333:role/manager',
      AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://localhost/credentials?token=hush',
    }).join(', ');
    expect(places).to.equal(
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (set), the shared configuration files (profile dev), the web ' +
        'identity token of arn:aws:iam::111122223333:role/manager, the container credentials of ' +
        'AWS_CONTAINER_CREDENTIALS_FULL_URI',
    );
  });

  it('come from the instance metadata service last', () => {
    expect(describeProviderChain({}).at(-1)).to.equal('the instance metadata service');
  });
});
