import { CreateFargateProfileCommand, EKSClient, ListNodegroupsCommand } from '@aws-sdk/client-eks';
import { CreateRoleCommand, DeleteRoleCommand, GetRoleCommand, IAMClient, ListUsersCommand } from '@aws-sdk/client-iam';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import type { CallRecord } from './call-log.ts';
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
      ['garbage-after', { name: 'Error', status: 200, exists: true }],
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
      ['stall-after', true],
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

    it('applies a fault to the nth call, a number of times, or by input values', async () => {
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
      emulator.admin.clearFaults();
      emulator.admin.addFault({ kind: 'throttle', operation: '*', where: { RoleName: 'other' } });
      await createRole();
      const error = await errorOf(iam.send(new GetRoleCommand({ RoleName: 'other' })));
      expect(error.name).to.equal('Throttling');
    });

    it('applies a fault to a part of the calls, at irregular places', async () => {
      const placesOfFaults = async (): Promise<readonly number[]> => {
        emulator.admin.addFault({ kind: 'throttle', operation: '*', chance: 1 / 4 });
        const results = await inTurn(60, () =>
          sts.send(new GetCallerIdentityCommand({})).then(
            () => 'ok',
            () => 'fault',
          ),
        );
        return results.flatMap((result, place) => (result === 'fault' ? [place] : []));
      };
      const places = await placesOfFaults();
      expect(places.length).to.be.within(8, 25);
      expect(new Set(places.map((place) => place % 4)), 'the places in groups of four calls').to.have.property(
        'size',
        4,
      );
      emulator.admin.clearFaults();
      expect(await placesOfFaults(), 'the places of another fault').to.not.deep.equal(places);
    });

    it('logs caller, operation, time and result', async () => {
      await createRole();
      await errorOf(iam.send(new GetRoleCommand({ RoleName: 'nobody' })));
      const [made, missed] = emulator.admin.calls();
      expect(made).to.include({
        service: 'iam',
        operation: 'CreateRole',
        accessKeyId: 'me',
        account: '123456789012',
        mutates: true,
        applied: true,
        status: 200,
      });
      expect(made?.identifiers).to.deep.equal({ RoleName: 'r' });
      expect(made?.userAgent).to.contain('aws-sdk-js');
      const refused = await errorOf(createRole());
      expect(refused.name).to.equal('EntityAlreadyExistsException');
      expect(emulator.admin.calls().at(-1)).to.include({ mutates: true, applied: false, status: 409 });
      expect(missed).to.include({ mutates: false, applied: false, status: 404, errorCode: 'NoSuchEntity' });
      expect(emulator.admin.calls({ mutates: true })).to.have.length(2);
      expect(emulator.admin.calls({ afterSeq: made?.seq ?? 0 })).to.have.length(2);
      expect(emulator.admin.calls({ accessKeyId: 'stranger' })).to.have.length(0);
    });

    it('calls listeners right before and right after the effect', async () => {
      const phases: string[] = [];
      const stop = emulator.onCall(async (call: CallRecord, phase) => {
        await Promise.resolve();
        phases.push(`${call.operation} ${phase} ${roleExists()}`);
      });
      await createRole();
      stop();
      await iam.send(new DeleteRoleCommand({ RoleName: 'r' }));
      expect(phases).to.deep.equal(['CreateRole before false', 'CreateRole after true']);
    });

    it('drops a call without effect and answer when a listener returns lost', async () => {
      const stop = emulator.onCall((_, phase) => (phase === 'before' ? 'lost' : undefined));
      const abort = new AbortController();
      const command = new CreateRoleCommand({ RoleName: 'r', AssumeRolePolicyDocument: trust });
      const call = errorOf(iam.send(command, { abortSignal: abort.signal }));
      await eventually(() => emulator.admin.calls().length === 1);
      stop();
      abort.abort();
      expect((await call).name).to.equal('AbortError');
      const [lost] = emulator.admin.calls();
      expect(lost).to.include({ operation: 'CreateRole', applied: false }).and.not.to.have.property('status');
      expect(roleExists()).to.equal(false);
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

    it('is empty after a reset, with the initial keys', async () => {
      await createRole();
      emulator.admin.addFault({ kind: 'throttle', operation: '*' });
      emulator.admin.setConfig({ eks: { createMs: 1 } });
      emulator.admin.reset();
      expect(roleExists()).to.equal(false);
      expect(emulator.admin.calls()).to.deep.equal([]);
      expect(emulator.admin.config().eks.createMs).to.equal(2_000);
      await createRole();
    });

    it('refuses an unknown operation as AWS does', async () => {
      const nodegroups = await errorOf(eks.send(new ListNodegroupsCommand({ clusterName: 'c' })));
      expect([nodegroups.name, statusOf(nodegroups)]).to.deep.equal(['UnknownOperationException', 404]);
      const users = await errorOf(iam.send(new ListUsersCommand({})));
      expect([users.name, users.message]).to.deep.equal([
        'InvalidAction',
        'Could not find operation ListUsers for version 2010-05-08',
      ]);
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

describe('the emulator under a virtual clock', () => {
  it('waits only on this clock, and has the same trace for the same seed', async () => {
    const traces = await Promise.all(
      [1, 2].map(async () => {
        const slept: number[] = [];
        let now = 1_000_000;
        const clock = {
          now: () => now,
          sleep: async (ms: number) => {
            slept.push(ms);
            now += ms;
          },
        };
        const emulator = new Emulator({ clock, keys: [key], config: { latencyMs: [10, 90] } });
        const iam = new IAMClient({ ...oneAttempt, requestHandler: new EmulatorRequestHandler(emulator) });
        emulator.admin.addFault({ kind: 'slow:5000', operation: 'GetRole' });
        const made = await iam.send(new CreateRoleCommand({ RoleName: 'r', AssumeRolePolicyDocument: trust }));
        await iam.send(new GetRoleCommand({ RoleName: 'r' }));
        const times = emulator.admin.calls().map(({ at, actedAt }) => [at, actedAt]);
        return { slept, times, id: made.Role?.RoleId, requestId: made.$metadata.requestId };
      }),
    );
    expect(traces[0]).to.deep.equal(traces[1]);
    const [first, second, third] = traces[0]?.slept ?? [];
    expect(first).to.be.within(10, 90);
    expect(second).to.be.within(10, 90);
    expect(third).to.equal(5_000);
    expect(traces[0]?.times[0]).to.deep.equal([1_000_000, 1_000_000 + (first ?? 0)]);
  });

  it('knows the time of the next transition', () => {
    const emulator = new Emulator({ clock: { now: () => 1_000, sleep: async () => undefined } });
    emulator.admin.createCluster({ name: 'c' });
    expect(emulator.model.state.nextTransitionAt()).to.equal(undefined);
    emulator.admin.putProfile({
      cluster: 'c',
      name: 'p',
      podExecutionRoleArn: 'arn:aws:iam::123456789012:role/r',
      status: 'CREATING',
      next: { afterMs: 500, to: 'ACTIVE' },
    });
    expect(emulator.model.state.nextTransitionAt()).to.equal(1_500);
  });
});
