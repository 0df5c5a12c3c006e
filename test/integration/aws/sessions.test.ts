import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { Registry } from 'prom-client';
import { EksClusterName, ProfileName, RoleName } from '../../../api/names.ts';
import {
  CallerAccounts,
  CredentialPool,
  resolveEndpoints,
  newLimiter,
  awsMetrics,
  newSessions,
  undiciTransport,
} from '../../../pkg/cloud/index.ts';
import * as errors from '../../../pkg/cloud/index.ts';
import type { AwsFailure, Call, NewFargateProfile, Session } from '../../../pkg/cloud/index.ts';
import type { Clock } from '../../../pkg/env/clock.ts';
import { systemClock, systemRandom } from '../../../pkg/env/system.ts';
import { MemoryLogger } from '../../../pkg/env/testing/memory-logger.ts';
import { roleArn } from '../../../pkg/fargate/arns.ts';
import { trustPolicy } from '../../../pkg/fargate/trust-policy.ts';
import { Emulator } from '../../aws/emulator.ts';
import type { FaultKind } from '../../aws/faults.ts';
import { type EmulatorServer, startServer } from '../../aws/transport/server.ts';
import { eventually } from '../../support/eventually.ts';

const region = 'eu-west-1';
const cluster = EksClusterName.of('default_prod');
const roleName = RoleName.of('pods');

/**
 * The long timers that run, such as the deadlines of AWS calls. They end only when a test calls `expireDeadlines`: a
 * deadline in real time could pass on a busy machine although AWS answers.
 */
const deadlines = new Set<() => void>();
const clockWithoutDeadlines: Clock = {
  ...systemClock,
  after: (delay, fire) => {
    if (delay < 10_000) return systemClock.after(delay, fire);
    deadlines.add(fire);
    return { cancel: () => void deadlines.delete(fire) };
  },
};
const expireDeadlines = (): void => {
  for (const fire of deadlines) fire();
};

async function failure(call: Call<unknown>): Promise<AwsFailure> {
  const outcome = await call();
  if (E.isRight(outcome)) throw new Error(`answered ${JSON.stringify(outcome.right)}`);
  return outcome.left;
}

const right = <A>(either: E.Either<unknown, A>): A => {
  if (E.isLeft(either)) throw new Error(JSON.stringify(either.left));
  return either.right;
};

// The simulation proves what the manager does with the answers of AWS. It has no network.
describe('a fault of the network between an AWS session and the emulator', () => {
  let emulator: Emulator;
  let server: EmulatorServer;
  let transport: ReturnType<typeof undiciTransport>;
  let session: Session;

  beforeEach(async () => {
    emulator = new Emulator({});
    server = await startServer({ emulator });
    transport = undiciTransport();
    session = await openSession();
    emulator.admin.createCluster({ name: cluster, region, subnets: [{ id: 'subnet-1' }] });
    const trust = trustPolicy({ partition: 'aws', region, account: session.account, cluster });
    right(await session.roles.create({ name: roleName, path: '/', trust, tags: { a: 'b' } })());
  });
  afterEach(async () => {
    await transport.close();
    await server.close();
  });

  async function openSession(): Promise<Session> {
    const { accessKeyId, secretAccessKey } = emulator.admin.registerKey({});
    const { signal } = new AbortController();
    const shared = {
      clock: clockWithoutDeadlines,
      logger: new MemoryLogger(),
      transport,
      limiter: newLimiter(clockWithoutDeadlines),
      metrics: awsMetrics(new Registry()),
      endpoints: right(resolveEndpoints({ serviceEndpoints: [], environment: { AWS_ENDPOINT_URL: server.url } })),
      pool: new CredentialPool(clockWithoutDeadlines, signal, 10 * 60_000),
      region,
      version: 'test',
    };
    const sessions = newSessions({
      ...shared,
      random: systemRandom,
      sources: { find: () => TE.right({ key: 'manager', fetch: async () => ({ accessKeyId, secretAccessKey }) }) },
      accounts: new CallerAccounts({ ...shared, signal }),
    });
    const request = { region, identity: undefined, namespace: 'default', signal, mutationBudget: () => 10_000 };
    return right(await sessions.open(request)());
  }

  const name = ProfileName.of('default_web');
  const wanted = (): NewFargateProfile => ({
    cluster,
    name,
    podExecutionRoleArn: roleArn({ partition: 'aws', account: session.account }, '/', roleName),
    subnets: ['subnet-1'],
    selectors: [{ namespace: 'web', labels: { app: 'x' } }],
    tags: { a: 'b' },
  });
  const sent = (operation: string): number =>
    emulator.admin.calls().filter((call) => call.operation === operation).length;

  const unavailable: readonly FaultKind[] = ['500-before', '500-after', 'reset', 'reset-after', 'html-503'];
  const silent: readonly FaultKind[] = ['no-answer-before', 'no-answer-after', 'stall-after'];

  for (const kind of [...unavailable, ...silent]) {
    it(`${kind} makes an EKS or IAM mutation fail with an unknown effect after one attempt`, async () => {
      emulator.admin.addFault({ kind, operation: 'CreateFargateProfile' });
      emulator.admin.addFault({ kind, operation: 'DeleteRole' });
      for (const [operation, call] of [
        ['CreateFargateProfile', session.profiles.create(wanted())],
        ['DeleteRole', session.roles.delete(roleName)],
      ] as const) {
        const failed = failure(call);
        if (silent.includes(kind)) {
          await eventually(() => sent(operation) === 1, { what: operation });
          expireDeadlines();
        }
        expect(await failed).to.satisfy(errors.isUnavailable);
        expect(sent(operation)).to.equal(1);
      }
    });
  }

  it('an undecodable answer is a failure', async () => {
    emulator.admin.addFault({ kind: 'garbage-after', operation: '*' });
    for (const call of [
      session.profiles.create(wanted()),
      session.profiles.describe(cluster, name),
      session.roles.get(roleName),
      session.roles.delete(roleName),
    ])
      expect((await failure(call)).code).to.equal('Undecodable');
  });

  it('throttling is a failure after one attempt', async () => {
    emulator.admin.addFault({ kind: 'throttle', operation: '*' });
    expect(await failure(session.profiles.describe(cluster, name))).to.satisfy(errors.isThrottled);
    expect(await failure(session.roles.get(roleName))).to.satisfy(errors.isThrottled);
    expect([sent('DescribeFargateProfile'), sent('GetRole')]).to.deep.equal([1, 1]);
  });
});
