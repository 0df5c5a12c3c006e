import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { Registry } from 'prom-client';
import { EksClusterName, RoleName } from '../../api/names.ts';
import { MemoryLogger } from '../env/testing/memory-logger.ts';
import { SeededRandom } from '../env/testing/seeded-random.ts';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import type { CredentialSource, CredentialSources } from './credentials.ts';
import { CredentialPool } from './credentials.ts';
import { AWS_ENDPOINTS } from './testing/endpoints.ts';
import { newLimiter } from './limiter.ts';
import { awsMetrics } from './metrics.ts';
import { newSessions } from './sessions.ts';
import { failureOf } from './testing/calls.ts';
import { FakeTransport, eksError, json, page, queryError, result, silence } from './testing/fake-transport.ts';
import type { AwsRequest } from './transport.ts';
import type { CredentialsProblem, Session, SessionRequest, Sessions } from './types.ts';

const cluster = EksClusterName.of('c');
const caller = (account: string) => result('GetCallerIdentity', `<Account>${account}</Account><Arn>arn</Arn>`);
const isSts = ({ hostname }: AwsRequest): boolean => hostname.startsWith('sts.');
const keyOf = ({ headers }: AwsRequest): string | undefined =>
  /Credential=([^/]+)/.exec(headers['authorization'] ?? '')?.[1];

describe('sessions', () => {
  let clock: VirtualClock;
  let logger: MemoryLogger;
  let transport: FakeTransport;
  let source: { fetched: number } & CredentialSource;
  let stop: AbortController;
  let sessions: Sessions;
  let find: CredentialSources['find'];

  beforeEach(() => {
    clock = new VirtualClock();
    logger = new MemoryLogger();
    stop = new AbortController();
    transport = new FakeTransport((request) =>
      isSts(request)
        ? caller('111122223333')
        : eksError('ResourceNotFoundException', 'No cluster found for name: c.', 404),
    );
    source = {
      key: 'manager',
      fetched: 0,
      async fetch() {
        this.fetched += 1;
        return {
          accessKeyId: `KEY${this.fetched}`,
          secretAccessKey: 's',
          expiresAt: clock.now() + 3_600_000,
        };
      },
    };
    find = () => TE.right(source);
    sessions = newSessions({
      clock,
      random: new SeededRandom(1),
      logger,
      transport,
      limiter: newLimiter(clock),
      metrics: awsMetrics(new Registry()),
      endpoints: AWS_ENDPOINTS,
      sources: { find: (...asked) => find(...asked) },
      pool: new CredentialPool(clock, stop.signal),
      version: 'v1.2.3',
      signal: stop.signal,
    });
  });

  const request = (changes: Partial<SessionRequest> = {}): SessionRequest => ({
    region: 'eu-west-1',
    identity: undefined,
    namespace: 'default',
    signal: new AbortController().signal,
    mutationBudget: () => 10_000,
    ...changes,
  });

  async function open(changes: Partial<SessionRequest> = {}): Promise<Session> {
    const opened = await sessions.open(request(changes))();
    if (E.isLeft(opened)) throw new Error(`${opened.left.reason}: ${opened.left.message}`);
    return opened.right;
  }

  async function problem(changes: Partial<SessionRequest> = {}): Promise<CredentialsProblem> {
    const opened = await sessions.open(request(changes))();
    if (E.isRight(opened)) throw new Error('the session was opened');
    return opened.left;
  }

  it('know their account, region and partition', async () => {
    expect(await open()).to.include({ account: '111122223333', region: 'eu-west-1' });
    expect(await open({ region: 'cn-north-1' })).to.include({ region: 'cn-north-1' });
  });

  it('ask once for the account of the same credentials, even at once and from two regions', async () => {
    await Promise.all([open(), open(), open({ region: 'us-east-1' })]);
    await open();
    expect(transport.requests.filter(isSts)).to.have.length(1);
    expect(source.fetched).to.equal(1);
  });

  it('ask anew when the credentials are others', async () => {
    await open();
    transport.answer = (sent) => (isSts(sent) ? caller('999988887777') : json({}));
    await clock.advance(56 * 60_000);
    expect((await open()).account).to.equal('999988887777');
    expect(transport.requests.map(keyOf)).to.deep.equal(['KEY1', 'KEY2']);
  });

  it('send to their region, with the credentials of the moment', async () => {
    const eu = await open();
    const us = await open({ region: 'us-east-1' });
    await eu.clusters.describe(cluster)();
    await clock.advance(56 * 60_000);
    await us.clusters.describe(cluster)();
    const sent = transport.requests.filter((each) => !isSts(each));
    expect(sent.map((each) => [each.hostname, keyOf(each)])).to.deep.equal([
      ['eks.eu-west-1.amazonaws.com', 'KEY1'],
      ['eks.us-east-1.amazonaws.com', 'KEY2'],
    ]);
  });

  it('send nothing with credentials of another account than the one they were opened in', async () => {
    const session = await open();
    await session.clusters.describe(cluster)();
    transport.answer = (sent) => (isSts(sent) ? caller('999988887777') : json({}));
    await clock.advance(56 * 60_000);
    expect(await failureOf(session.roles.delete(RoleName.of('r')))).to.include({
      code: 'NoCredentials',
      message:
        'the credentials of the manager itself belong to account 999988887777 by now, and no longer to 111122223333',
    });
    expect(E.isLeft(await session.clusters.describe(cluster)())).to.equal(true);
    expect(transport.requests.map((sent) => [sent.hostname.split('.')[0], keyOf(sent)])).to.deep.equal([
      ['sts', 'KEY1'],
      ['eks', 'KEY1'],
      ['sts', 'KEY2'],
    ]);
    expect((await open()).account).to.equal('999988887777');
  });

  it('end with the signal they were opened with', async () => {
    const pass = new AbortController();
    const session = await open({ signal: pass.signal });
    transport.answer = silence;
    const failure = failureOf(session.clusters.describe(cluster));
    await clock.settle();
    pass.abort(new Error('stop'));
    expect(await failure).to.include({ code: 'NoAnswer', message: 'stop' });
  });

  it('send no mutation without leadership, and reads all the same', async () => {
    const session = await open({ mutationBudget: () => 0 });
    expect((await failureOf(session.roles.delete(RoleName.of('r')))).code).to.equal('NotDispatched');
    expect(E.isRight(await session.clusters.describe(cluster)())).to.equal(true);
  });

  it('log their calls with account, region and what tells the pass apart', async () => {
    const pass = new MemoryLogger();
    const session = await open({ logger: pass.with({ reconcileID: 'r1' }) });
    await session.clusters.describe(cluster)();
    expect(pass.said('AWS call')[0]?.keys).to.include({
      reconcileID: 'r1',
      account: '111122223333',
      region: 'eu-west-1',
      operation: 'DescribeCluster',
      errorCode: 'ResourceNotFoundException',
    });
    expect(logger.said('AWS call').map(({ keys }) => keys['operation'])).to.deep.equal(['GetCallerIdentity']);
  });

  it('never log a secret', async () => {
    const session = await open();
    await session.clusters.describe(cluster)();
    expect(JSON.stringify(logger.lines)).to.not.contain('KEY1');
  });

  describe('are not opened', () => {
    it('without credentials, and say where they were looked for', async () => {
      source.fetch = () => Promise.reject(new Error('looked in the usual places'));
      expect(await problem()).to.deep.equal({
        reason: 'CredentialsMissing',
        message: 'no AWS credentials: looked in the usual places',
      });
      expect(transport.requests).to.deep.equal([]);
    });

    it('with credentials that AWS refuses; these are fetched anew, and then it works', async () => {
      transport.answer = () => queryError('ExpiredToken', 'The security token included in the request is expired', 403);
      const refused = await problem();
      expect(refused).to.include({
        reason: 'CredentialsInvalid',
        message:
          'AWS rejects the credentials of the manager itself: The security token included in the request is expired ' +
          '(STS GetCallerIdentity: ExpiredToken)',
      });
      expect(refused.failure).to.include({ code: 'ExpiredToken', statusCode: 403 });
      transport.answer = () => caller('111122223333');
      expect((await open()).account).to.equal('111122223333');
      expect(source.fetched).to.equal(2);
    });

    it('while the account cannot be asked for; it is asked again the next time', async () => {
      transport.answer = () => page(503);
      expect(await problem()).to.include({ reason: 'AccountUnknown' });
      transport.answer = () => caller('111122223333');
      expect((await open()).account).to.equal('111122223333');
    });

    it('for an identity whose source cannot be found', async () => {
      const notFound: CredentialsProblem = { reason: 'IdentityNotFound', message: 'there is none' };
      find = () => TE.left(notFound);
      expect(await problem()).to.equal(notFound);
      expect(transport.requests).to.deep.equal([]);
    });

    it('when the pass has ended, while others go on waiting for the same account', async () => {
      let release: (() => void) | undefined;
      transport.answer = () =>
        new Promise((resolve) => {
          release = () => resolve(caller('111122223333'));
        });
      const pass = new AbortController();
      const gaveUp = problem({ signal: pass.signal });
      const waiting = open();
      await clock.settle();
      pass.abort(new Error('stop'));
      expect(await gaveUp).to.deep.equal({
        reason: 'Interrupted',
        message: 'the AWS session was not opened: stop',
      });
      release?.();
      expect((await waiting).account).to.equal('111122223333');
      expect(transport.requests).to.have.length(1);
    });
  });

  it('leave a mistake of the program what it is: nobody’s credentials are the matter', async () => {
    const mistake = new TypeError('x is not a function');
    const thrownBy = async (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);
    const credentials = await source.fetch(stop.signal);
    source.fetch = () => Promise.reject(mistake);
    expect(await thrownBy(open())).to.equal(mistake);
    source.fetch = async () => credentials;
    const careless = await open({
      mutationBudget: () => {
        throw mistake;
      },
    });
    expect(await thrownBy(careless.roles.delete(RoleName.of('r'))())).to.equal(mistake);
  });

  it('fetch credentials anew after a call that AWS refused for them, and ask for their account', async () => {
    const session = await open();
    transport.answer = (sent) =>
      isSts(sent)
        ? caller('111122223333')
        : keyOf(sent) === 'KEY1'
          ? eksError('UnrecognizedClientException', 'The security token is invalid.', 403)
          : eksError('ResourceNotFoundException', 'No cluster found for name: c.', 404);
    expect((await failureOf(session.clusters.describe(cluster))).code).to.equal('UnrecognizedClientException');
    const next = await open();
    expect(E.isRight(await next.clusters.describe(cluster)())).to.equal(true);
    expect(source.fetched).to.equal(2);
  });

  it('a call whose credentials run out on the way says so, and has no effect', async () => {
    const session = await open();
    source.fetch = () => Promise.reject(new Error('gone'));
    await clock.advance(60 * 60_000);
    expect(await failureOf(session.roles.delete(RoleName.of('r')))).to.include({
      code: 'NoCredentials',
      message: 'no AWS credentials: gone',
    });
    expect(transport.requests.filter((sent) => !isSts(sent))).to.deep.equal([]);
  });
});
