import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { parseTimestamp } from 'controller-runtime/env';
import { MemoryLogger, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import { EksClusterName, RoleName } from '../../api/names.ts';
import { CallerAccounts } from './credentials/caller-identity.ts';
import { CredentialPool, type AwsCredentialSource, type AwsCredentialSources } from './credentials/credential-pool.ts';
import { configWith } from './testing/config.ts';
import { AWS_ENDPOINTS } from './testing/endpoints.ts';
import { newSessions } from './open-session.ts';
import type { AwsService } from './errors/failure.ts';
import { isCredentialsInvalid, isRegionNotEnabled } from './errors/error-codes.ts';
import { expectFailure } from './testing/calls.ts';
import {
  FakeTransport,
  eksError,
  jsonResponse,
  proxyPage,
  queryError,
  queryResponse,
  neverRespond,
} from './testing/fake-transport.ts';
import type { AwsRequest } from './transport/transport.ts';
import type { Session, SessionRequest, Sessions } from './session.ts';
import type { CredentialsProblem } from './credentials/credentials-problem.ts';

const cluster = EksClusterName.of('c');
const caller = (account: string) => queryResponse('GetCallerIdentity', `<Account>${account}</Account><Arn>arn</Arn>`);
const isSts = ({ hostname }: AwsRequest): boolean => hostname.startsWith('sts.');
const keyOf = ({ headers }: AwsRequest): string | undefined =>
  /Credential=([^/]+)/.exec(headers['authorization'] ?? '')?.[1];

describe('Sessions', () => {
  let clock: VirtualClock;
  let logger: MemoryLogger;
  let transport: FakeTransport;
  let source: { fetched: number } & AwsCredentialSource;
  let stop: AbortController;
  let sessions: Sessions;
  let find: AwsCredentialSources['find'];
  /** The arguments of the calls of `urlFor`: one for each SDK client, in the order of creation, and others for STS. */
  let madeClients: string[];

  beforeEach(() => {
    clock = new VirtualClock();
    logger = new MemoryLogger();
    stop = new AbortController();
    madeClients = [];
    transport = new FakeTransport(rejecting(() => false));
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
    find = async () => E.right(source);
    sessions = sessionsIn('eu-west-1');
  });

  /**
   * Returns the AWS sessions of a manager in this region; `region` is undefined if the manager does not know its own
   * region.
   */
  function sessionsIn(region: string | undefined): Sessions {
    const pool = new CredentialPool(clock, stop.signal, 10 * 60_000);
    const urlFor = (service: AwsService, where: string): undefined => {
      madeClients.push(`${service} ${where}`);
    };
    const endpoints = { ...AWS_ENDPOINTS, urlFor };
    const shared = { ...configWith({ clock, logger, transport, pool, region }), endpoints };
    return newSessions({
      ...shared,
      random: new SeededRandom(1),
      sources: { find: (...asked) => find(...asked) },
      accounts: new CallerAccounts({ ...shared, signal: stop.signal }),
    });
  }

  const request = (changes: Partial<SessionRequest> = {}): SessionRequest => ({
    region: 'eu-west-1',
    identity: undefined,
    namespace: 'default',
    signal: new AbortController().signal,
    mutationBudget: () => 10_000,
    ...changes,
  });

  /** Returns a `respond` that rejects the credentials of these requests. */
  const rejecting = (isRejected: (request: AwsRequest) => boolean): FakeTransport['respond'] => {
    return (sent) => {
      if (isRejected(sent))
        return isSts(sent)
          ? queryError('InvalidClientTokenId', 'The security token is invalid.', 403)
          : eksError('UnrecognizedClientException', 'The security token is invalid.', 403);
      return isSts(sent)
        ? caller('111122223333')
        : eksError('ResourceNotFoundException', 'No cluster found for name: c.', 404);
    };
  };

  async function open(changes: Partial<SessionRequest> = {}): Promise<Session> {
    const opened = await sessions.open(request(changes));
    if (E.isLeft(opened)) throw new Error(`${opened.left.reason}: ${opened.left.message}`);
    return opened.right;
  }

  async function problem(changes: Partial<SessionRequest> = {}): Promise<CredentialsProblem> {
    const opened = await sessions.open(request(changes));
    if (E.isRight(opened)) throw new Error('the session was opened');
    return opened.left;
  }

  it('look up the account of the same credentials once, even from two regions at the same time', async () => {
    await Promise.all([open(), open(), open({ region: 'us-east-1' })]);
    await open();
    expect(transport.requests.filter(isSts)).to.have.length(1);
    expect(source.fetched).to.equal(1);
  });

  const eksClientsIn = (region: string): number => madeClients.filter((each) => each === `eks ${region}`).length;

  it('share the SDK clients of a region until these were not used for half an hour', async () => {
    for (let minutes = 0; minutes < 60; minutes += 20) {
      await open();
      await clock.advance(20 * 60_000);
    }
    expect(eksClientsIn('eu-west-1')).to.equal(1);
    await clock.advance(11 * 60_000);
    await open({ region: 'us-east-1' });
    await open();
    expect(eksClientsIn('eu-west-1')).to.equal(2);
  });

  it('keep the SDK clients of a limited number of regions', async () => {
    await open();
    for (let index = 0; index < 100; index++) await open({ region: `us-east-${index}` });
    await open({ region: 'us-east-99' });
    expect(eksClientsIn('us-east-99')).to.equal(1);
    await open();
    expect(eksClientsIn('eu-west-1')).to.equal(2);
  });

  it('send calls to their region with the current credentials', async () => {
    const eu = await open();
    const us = await open({ region: 'us-east-1' });
    await eu.clusters.describe(cluster);
    await clock.advance(56 * 60_000);
    await us.clusters.describe(cluster);
    const sent = transport.requests.filter((each) => !isSts(each));
    expect(sent.map((each) => [each.hostname, keyOf(each)])).to.deep.equal([
      ['eks.eu-west-1.amazonaws.com', 'KEY1'],
      ['eks.us-east-1.amazonaws.com', 'KEY2'],
    ]);
  });

  describe('tell the time', () => {
    const dated =
      (date: string): FakeTransport['respond'] =>
      (sent) => {
        const response = isSts(sent)
          ? caller('111122223333')
          : eksError('ResourceNotFoundException', 'No cluster.', 404);
        return { ...response, headers: { ...response.headers, date } };
      };
    const NOON = parseTimestamp('2026-11-22T12:00:00Z') ?? 0;

    it('of the manager before AWS has answered', async () => {
      const session = await open();
      await clock.advance(5_000);
      expect(session.now()).to.equal(clock.now());
    });

    it('of the last answer of AWS, also of a refusal, and what has passed since, whatever the clock of the manager says', async () => {
      const session = await open();
      transport.respond = dated('Sun, 22 Nov 2026 11:00:00 GMT');
      await session.clusters.describe(cluster);
      transport.respond = dated('Sun, 22 Nov 2026 12:00:00 GMT');
      await session.roles.get(RoleName.of('r'));
      expect(session.now()).to.equal(NOON);
      await clock.advance(2_500);
      expect(session.now()).to.equal(NOON + 2_500);
    });

    it('of the last answer that had one', async () => {
      const session = await open();
      transport.respond = dated('Sun, 22 Nov 2026 12:00:00 GMT');
      await session.clusters.describe(cluster);
      for (const respond of [rejecting(() => false), dated('some time'), dated('')]) {
        transport.respond = respond;
        await session.clusters.describe(cluster);
      }
      expect(session.now()).to.equal(NOON);
    });
  });

  it('send no call with credentials of another account than the one they were opened with', async () => {
    const session = await open();
    await session.clusters.describe(cluster);
    transport.respond = (sent) => (isSts(sent) ? caller('999988887777') : jsonResponse({}));
    await clock.advance(56 * 60_000);
    expect(await expectFailure(session.roles.delete(RoleName.of('r')))).to.include({
      code: 'NoCredentials',
      message: "the manager's own credentials belong to account 999988887777 by now, and no longer to 111122223333",
    });
    expect(E.isLeft(await session.clusters.describe(cluster))).to.equal(true);
    expect(transport.requests.map((sent) => [sent.hostname.split('.')[0], keyOf(sent)])).to.deep.equal([
      ['sts', 'KEY1'],
      ['eks', 'KEY1'],
      ['sts', 'KEY2'],
    ]);
    expect((await open()).account).to.equal('999988887777');
  });

  it('send reads, and no mutations, without leadership', async () => {
    const session = await open({ mutationBudget: () => 0 });
    expect((await expectFailure(session.roles.delete(RoleName.of('r')))).code).to.equal('NotDispatched');
    expect(E.isRight(await session.clusters.describe(cluster))).to.equal(true);
  });

  it('log their calls with account, region and the keys of the pass', async () => {
    const pass = new MemoryLogger();
    const session = await open({ logger: pass.with({ reconcileID: 'r1' }) });
    await session.clusters.describe(cluster);
    expect(pass.linesWith('AWS call')[0]?.keys).to.include({
      reconcileID: 'r1',
      account: '111122223333',
      region: 'eu-west-1',
      operation: 'DescribeCluster',
      errorCode: 'ResourceNotFoundException',
    });
    expect(logger.linesWith('AWS call').map(({ keys }) => keys['operation'])).to.deep.equal(['GetCallerIdentity']);
  });

  it('never log a secret', async () => {
    const session = await open();
    await session.clusters.describe(cluster);
    expect(JSON.stringify(logger.lines)).to.not.contain('KEY1');
  });

  describe('are not opened', () => {
    it('without credentials, and report where these were looked for', async () => {
      source.fetch = () => Promise.reject(new Error('looked in the usual places'));
      expect(await problem()).to.deep.equal({
        reason: 'CredentialsMissing',
        message: 'the controller has no AWS credentials: looked in the usual places',
      });
      expect(transport.requests).to.deep.equal([]);
    });

    it('with credentials that AWS rejects, and fetch new ones for the next session', async () => {
      transport.respond = () =>
        queryError('ExpiredToken', 'The security token included in the request is expired', 403);
      const refused = await problem();
      expect(refused).to.include({
        reason: 'CredentialsInvalid',
        message: "AWS rejects the manager's own credentials",
      });
      expect(refused.failure).to.include({ code: 'ExpiredToken', statusCode: 403 });
      transport.respond = () => caller('111122223333');
      expect((await open()).account).to.equal('111122223333');
      expect(source.fetched).to.equal(2);
    });

    it('when the account cannot be looked up, and look it up again the next time', async () => {
      transport.respond = () => proxyPage(503);
      expect(await problem()).to.include({ reason: 'AccountUnknown' });
      transport.respond = () => caller('111122223333');
      expect((await open()).account).to.equal('111122223333');
    });

    it('for an identity without a source', async () => {
      const notFound: CredentialsProblem = { reason: 'IdentityNotFound', message: 'there is none' };
      find = async () => E.left(notFound);
      expect(await problem()).to.equal(notFound);
      expect(transport.requests).to.deep.equal([]);
    });

    it('when the signal of the request aborts, while others keep waiting for the same account', async () => {
      let release: (() => void) | undefined;
      transport.respond = () =>
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

  it('throw a panic instead of a failure', async () => {
    const mistake = new TypeError('x is not a function');
    find = async () => E.right({ key: 'broken', fetch: () => Promise.reject(mistake) });
    expect(await open().catch((error: unknown) => error)).to.equal(mistake);
    find = async () => E.right(source);
    const careless = await open({
      mutationBudget: () => {
        throw mistake;
      },
    });
    const thrown = await careless.roles.delete(RoleName.of('r')).catch((error: unknown) => error);
    expect(thrown).to.equal(mistake);
  });

  it('fetch new credentials and their account after AWS has rejected a call for its credentials', async () => {
    const session = await open();
    transport.respond = rejecting((sent) => keyOf(sent) === 'KEY1');
    expect((await expectFailure(session.clusters.describe(cluster))).code).to.equal('UnrecognizedClientException');
    const next = await open();
    expect(E.isRight(await next.clusters.describe(cluster))).to.equal(true);
    expect(source.fetched).to.equal(2);
  });

  describe('in a region that is not enabled', () => {
    const CLOSED = 'af-south-1';
    const isClosed = ({ hostname }: AwsRequest): boolean => hostname.includes(CLOSED);
    beforeEach(() => {
      transport.respond = rejecting(isClosed);
    });

    for (const region of ['eu-west-1', undefined])
      it(`report the region and keep the credentials, with ${region ?? 'no region'} of the manager`, async () => {
        sessions = sessionsIn(region);
        const failures = await Promise.all(
          Array.from({ length: 10 }, async () =>
            expectFailure((await open({ region: CLOSED })).clusters.describe(cluster)),
          ),
        );
        for (const failure of failures) {
          expect(failure).to.include({ code: 'UnrecognizedClientException', acceptedIn: region ?? 'us-east-1' });
          expect([isRegionNotEnabled(failure), isCredentialsInvalid(failure)]).to.deep.equal([true, false]);
        }
        expect(E.isRight(await (await open()).clusters.describe(cluster))).to.equal(true);
        expect(source.fetched).to.equal(1);
      });

    it('in another partition keep credentials that AWS accepts in their own partition', async () => {
      sessions = sessionsIn(undefined);
      await open();
      transport.respond = rejecting(({ hostname }) => hostname.endsWith('.cn'));
      const failure = await expectFailure((await open({ region: 'cn-north-1' })).clusters.describe(cluster));
      expect(failure).to.include({ acceptedIn: 'us-east-1' });
      expect(source.fetched).to.equal(1);
    });

    it('drop credentials only once if AWS rejects them in their own partition too', async () => {
      source.fetch = async () => {
        source.fetched += 1;
        return { accessKeyId: 'KEY', secretAccessKey: 's' };
      };
      transport.respond = rejecting(() => true);
      const problems = await Promise.all(Array.from({ length: 10 }, () => problem({ region: CLOSED })));
      for (const each of problems) expect(each.reason).to.equal('CredentialsInvalid');
      await Promise.all(Array.from({ length: 10 }, () => problem()));
      expect(source.fetched).to.equal(2);
      expect(transport.requests).to.have.length(1);
      await clock.advance(5_000);
      transport.respond = rejecting(isClosed);
      await open();
    });

    it('keep the credentials while STS gives no answer about them', async () => {
      const session = await open();
      transport.respond = (sent) =>
        isSts(sent) ? proxyPage(503) : eksError('UnrecognizedClientException', 'invalid', 403);
      expect((await expectFailure(session.clusters.describe(cluster))).acceptedIn).to.equal(undefined);
      await expectFailure((await open()).clusters.describe(cluster));
      expect(source.fetched).to.equal(1);
    });
  });

  it('open while another region does not respond', async () => {
    sessions = sessionsIn(undefined);
    transport.respond = (sent) => (sent.hostname.includes('af-south-1') ? neverRespond() : caller('111122223333'));
    const hanging = problem({ region: 'af-south-1' });
    await clock.settle();
    expect((await open()).account).to.equal('111122223333');
    await clock.advance(10_000);
    expect((await hanging).reason).to.equal('AccountUnknown');
  });

  for (const region of ['us_east_1', 'eu-west-1 ', 'EU-WEST-1', 'eu-west-1.example.org', ''])
    it(`are not opened in region ${JSON.stringify(region)}, and AWS is not asked`, async () => {
      expect(await problem({ region })).to.deep.equal({
        reason: 'RegionInvalid',
        message: `"${region}" is not the name of an AWS region`,
      });
      expect(transport.requests).to.deep.equal([]);
    });

  it('fail a call whose credentials expire before it is sent, without an effect', async () => {
    const session = await open();
    source.fetch = () => Promise.reject(new Error('gone'));
    await clock.advance(60 * 60_000);
    expect(await expectFailure(session.roles.delete(RoleName.of('r')))).to.include({
      code: 'NoCredentials',
      message: 'the controller has no AWS credentials: gone',
    });
    expect(transport.requests.filter((sent) => !isSts(sent))).to.deep.equal([]);
  });
});
