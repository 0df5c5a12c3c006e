import { CreateFargateProfileCommand, EKSClient } from '@aws-sdk/client-eks';
import { CreateRoleCommand, GetRoleCommand, IAMClient } from '@aws-sdk/client-iam';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { expect } from 'chai';
import { Emulator } from './emulator.ts';
import { expectNothingLeft, leftovers } from './admin/expect-nothing-left.ts';
import type { FaultKind } from './faults.ts';
import { EmulatorRequestHandler } from './transport/request-handler.ts';
import { type EmulatorServer, startServer } from './transport/server.ts';

const trust = JSON.stringify({
  Version: '2012-10-17',
  Statement: {
    Effect: 'Allow',
    Principal: { Service: 'eks-fargate-pods.amazonaws.com' },
    Action: 'sts:AssumeRole',
  },
});

const credentials = { accessKeyId: 'me', secretAccessKey: 'secret' };
const key = { accessKeyId: 'me', account: '123456789012' };
const stranger = { accessKeyId: 'stranger', account: '123456789012', foreign: true };
const oneAttempt = { region: 'us-east-1', credentials, maxAttempts: 1 };

async function errorOf(call: Promise<unknown>): Promise<Error> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Error) return error;
  expect.fail('the call succeeded');
}

const statusOf = (error: Error): unknown => {
  const metadata: unknown = '$metadata' in error ? error.$metadata : undefined;
  return typeof metadata === 'object' && metadata !== null && 'httpStatusCode' in metadata
    ? metadata.httpStatusCode
    : undefined;
};

/**
 * The two ways in which AWS SDK clients reach the AWS emulator: in the same process, through a replaced HTTP handler of
 * the SDK, or over a real socket.
 */
const transports = [
  { way: 'in process', overHttp: false },
  { way: 'over HTTP', overHttp: true },
];

for (const { way, overHttp } of transports) {
  describe(`the emulator ${way}`, () => {
    let emulator: Emulator;
    let server: EmulatorServer | undefined;
    let iam: IAMClient;
    let eks: EKSClient;
    let sts: STSClient;

    beforeEach(async () => {
      emulator = new Emulator({ keys: [key, stranger] });
      server = overHttp ? await startServer({ emulator }) : undefined;
      const config =
        server === undefined
          ? { ...oneAttempt, requestHandler: new EmulatorRequestHandler(emulator) }
          : { ...oneAttempt, endpoint: server.url };
      iam = new IAMClient(config);
      eks = new EKSClient(config);
      sts = new STSClient(config);
    });

    afterEach(async () => {
      for (const client of [iam, eks, sts]) client.destroy();
      await server?.close();
    });

    const createRole = (abortSignal?: AbortSignal): Promise<unknown> =>
      iam.send(
        new CreateRoleCommand({ RoleName: 'r', AssumeRolePolicyDocument: trust }),
        abortSignal === undefined ? {} : { abortSignal },
      );
    const roleExists = (): boolean => emulator.admin.roles().some(({ name }) => name === 'r');

    const refusals: readonly (readonly [FaultKind, { name: string; status?: number; exists: boolean }])[] = [
      ['500-before', { name: 'ServiceFailureException', status: 500, exists: false }],
      ['500-after', { name: 'ServiceFailureException', status: 500, exists: true }],
      ['throttle', { name: 'Throttling', status: 400, exists: false }],
      ['html-503', { name: 'Unknown', status: 503, exists: false }],
      ['reset', { name: 'TimeoutError', exists: false }],
      ['reset-after', { name: 'TimeoutError', exists: true }],
      ['error:AccessDenied:so: there', { name: 'AccessDenied', status: 403, exists: false }],
    ];
    for (const [kind, { name, status, exists }] of refusals) {
      it(`${kind}: the SDK sees ${name}, the role is ${exists ? 'there' : 'not there'}`, async () => {
        emulator.admin.addFault({ kind, operation: 'iam:CreateRole' });
        const error = await errorOf(createRole());
        expect({ name: error.name, status: statusOf(error) }, error.message).to.deep.equal({ name, status });
        expect(roleExists()).to.equal(exists);
        expect(emulator.admin.calls().at(-1)).to.include({ fault: kind, applied: exists });
      });
    }

    for (const [kind, exists] of [
      ['no-answer-before', false],
      ['no-answer-after', true],
    ] as const) {
      it(`${kind}: no answer comes until the caller aborts`, async () => {
        emulator.admin.addFault({ kind, operation: 'CreateRole' });
        const abort = new AbortController();
        const settled = errorOf(createRole(abort.signal));
        await seen(emulator, exists ? 'acted' : 'arrived');
        abort.abort();
        expect((await settled).name).to.equal('AbortError');
        expect(roleExists()).to.equal(exists);
        expect(emulator.admin.calls().at(-1)).not.to.have.property('status');
      });
    }

    it('never receives a call that was aborted before', async () => {
      const error = await errorOf(createRole(AbortSignal.abort()));
      expect(error.name).to.equal('AbortError');
      expect(emulator.admin.calls()).to.deep.equal([]);
    });

    it('applies a fault to the nth call, or a number of times', async () => {
      const named = (operation: string): Promise<unknown> =>
        sts.send(new GetCallerIdentityCommand({})).then(
          () => 'ok',
          () => operation,
        );
      const id = emulator.admin.addFault({ kind: 'throttle', operation: '*', nth: 2 });
      expect(await inTurn(4, () => named('nth'))).to.deep.equal(['ok', 'nth', 'ok', 'ok']);
      emulator.admin.removeFault({ id });
      emulator.admin.addFault({ kind: 'throttle', operation: 'sts:*', times: 2 });
      expect(await inTurn(4, () => named('times'))).to.deep.equal(['times', 'times', 'ok', 'ok']);
    });

    it('lists leftovers without foreign resources', async () => {
      const cluster = emulator.admin.createCluster({ name: 'c' });
      emulator.admin.putRole({ name: 'put', trustPolicy: trust });
      const theirs = new IAMClient({
        ...oneAttempt,
        requestHandler: new EmulatorRequestHandler(emulator),
        credentials: { ...credentials, accessKeyId: 'stranger' },
      });
      await theirs.send(new CreateRoleCommand({ RoleName: 'theirs', AssumeRolePolicyDocument: trust }));
      await expectNothingLeft(emulator.admin);
      await createRole();
      await eks.send(
        new CreateFargateProfileCommand({
          clusterName: 'c',
          fargateProfileName: 'p',
          podExecutionRoleArn: 'arn:aws:iam::123456789012:role/r',
          selectors: [{ namespace: 'a' }],
        }),
      );
      expect(leftovers(emulator.admin.snapshot()).map((left) => left.replace(/[0-9a-f-]{36}/, 'id'))).to.deep.equal([
        `${cluster.arn.replace(':cluster/', ':fargateprofile/')}/p/id CREATING`,
        'arn:aws:iam::123456789012:role/r',
        `${cluster.arn.replace(':cluster/', ':access-entry/')}/role/123456789012/r/id`,
      ]);
      emulator.admin.removeProfile({ cluster: 'c', name: 'p' });
      emulator.admin.removeRole({ name: 'r' });
      expect(leftovers(emulator.admin.snapshot()), 'after a client has removed profile and role').to.deep.equal([]);
    });

    it('refuses a call of IAM that is signed for another region than that of its partition', async () => {
      const elsewhere = new IAMClient({
        ...oneAttempt,
        region: 'eu-west-1',
        endpoint: 'http://127.0.0.1',
        requestHandler: new EmulatorRequestHandler(emulator),
      });
      const error = await errorOf(elsewhere.send(new GetRoleCommand({ RoleName: 'r' })));
      expect([error.name, statusOf(error)]).to.deep.equal(['SignatureDoesNotMatch', 403]);
    });
  });
}

async function inTurn<T>(times: number, call: () => Promise<T>): Promise<T[]> {
  const answers: T[] = [];
  for (let index = 0; index < times; index += 1) answers.push(await call());
  return answers;
}

/**
 * Waits until the AWS emulator has received an AWS call (`arrived`), or until it has executed the AWS call that it
 * received last (`acted`).
 */
async function seen(emulator: Emulator, what: 'arrived' | 'acted'): Promise<void> {
  for (;;) {
    const call = emulator.admin.calls().at(-1);
    if (call !== undefined && (what === 'arrived' || call.actedAt !== undefined)) return;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
