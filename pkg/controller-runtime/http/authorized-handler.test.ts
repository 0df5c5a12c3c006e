import { expect } from 'chai';
import { MemoryLogger } from '../testing/memory-logger.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import type { Resource } from '../client/types.ts';
import type { HttpHandler, HttpRequest } from './http-server.ts';
import { authorizedHandler } from './authorized-handler.ts';

const PROMETHEUS = {
  username: 'system:serviceaccount:monitoring:prometheus',
  uid: 'u-1',
  groups: ['system:authenticated'],
  extra: { 'authentication.kubernetes.io/node-name': ['n'] },
};

interface SentReview {
  readonly plural: string;
  readonly spec: Record<string, unknown>;
}

/**
 * Creates a handler whose requests a fake API server reviews. Unless `answer` is given, the fake API server accepts
 * only the token `good`, and allows only GET requests for /metrics.
 */
function fixture(answer?: (review: SentReview, signal: AbortSignal) => Promise<unknown>) {
  const clock = new VirtualClock();
  const logger = new MemoryLogger();
  const sent: SentReview[] = [];
  const respond = async ({ plural, spec }: SentReview): Promise<unknown> => {
    if (plural === 'tokenreviews')
      return {
        status: spec['token'] === 'good' ? { authenticated: true, user: PROMETHEUS } : { authenticated: false },
      };
    const { path, verb } = spec['nonResourceAttributes'] as { readonly path: string; readonly verb: string };
    return { status: { allowed: path === '/metrics' && verb === 'get' } };
  };
  const client = {
    review: async ({ plural }: Resource, object: unknown, { signal }: { readonly signal: AbortSignal }) => {
      const review = { plural, spec: (object as { readonly spec: Record<string, unknown> }).spec };
      sent.push(review);
      return (answer ?? respond)(review, signal);
    },
  };
  const inner: HttpHandler = ({ path }) => ({ status: 200, body: path });
  const handler = authorizedHandler(inner, { client, clock, logger });
  const request = (authorization: string | undefined, options: Partial<HttpRequest> = {}) =>
    handler({
      method: 'GET',
      path: '/metrics',
      query: new URLSearchParams(),
      readBody: async () => '',
      signal: new AbortController().signal,
      ...(authorization !== undefined && { authorization }),
      ...options,
    });
  const status = async (...args: Parameters<typeof request>): Promise<number> => (await request(...args)).status;
  const reviews = (): readonly string[] => sent.map(({ plural }) => plural);
  return { clock, logger, sent, reviews, request, status };
}

describe('authorizedHandler', () => {
  it('passes on the request of a user with permission', async () => {
    const { request, sent } = fixture();
    expect(await request('Bearer good')).to.deep.equal({ status: 200, body: '/metrics' });
    const { username, ...rest } = PROMETHEUS;
    expect(sent).to.deep.equal([
      { plural: 'tokenreviews', spec: { token: 'good' } },
      {
        plural: 'subjectaccessreviews',
        spec: { user: username, ...rest, nonResourceAttributes: { path: '/metrics', verb: 'get' } },
      },
    ]);
  });

  it('responds 401 without asking the API server if there is no bearer token', async () => {
    const { request, status, reviews } = fixture();
    expect(await request(undefined)).to.deep.include({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    for (const header of ['', 'Bearer', 'Bearer ', 'Basic Z29vZA==', 'good', 'Bearer a b'])
      expect(await status(header), header).to.equal(401);
    expect(reviews()).to.deep.equal([]);
  });

  it('responds 401 to an unknown token and 403 without permission', async () => {
    const { status, request } = fixture();
    expect(await status('Bearer bad')).to.equal(401);
    expect(await request('bearer good', { method: 'PUT', path: '/debug/flags/v' })).to.deep.equal({
      status: 403,
      body: `Authorization denied for user ${PROMETHEUS.username}\n`,
    });
    expect(await status('Bearer good', { method: 'PUT' })).to.equal(403);
  });

  it('reuses positive results for a limited time', async () => {
    const { clock, status, reviews } = fixture();
    const [token, access] = ['tokenreviews', 'subjectaccessreviews'];
    const ask = async (...args: Parameters<typeof status>): Promise<readonly string[]> => {
      const before = reviews().length;
      await status(...args);
      return reviews().slice(before);
    };
    const denied = { path: '/debug/pprof/heap' };
    expect(await ask('Bearer good')).to.deep.equal([token, access]);
    expect(await ask('Bearer good')).to.deep.equal([]);
    for (let times = 0; times < 2; times++) {
      expect(await ask('Bearer good', denied)).to.deep.equal([access]);
      expect(await ask('Bearer bad')).to.deep.equal([token]);
    }
    await clock.advance(59_999);
    expect(await ask('Bearer good')).to.deep.equal([]);
    await clock.advance(1);
    expect(await ask('Bearer good')).to.deep.equal([token]);
    await clock.advance(240_000);
    expect(await ask('Bearer good')).to.deep.equal([token, access]);
  });

  it('reviews only a few tokens at a time, and keeps the result for a known token among a thousand unknown ones', async () => {
    let open = 0;
    let most = 0;
    const { status, reviews } = fixture(async ({ plural, spec }) => {
      most = Math.max(most, (open += 1));
      await Promise.resolve();
      open -= 1;
      if (plural !== 'tokenreviews') return { status: { allowed: true } };
      return { status: spec['token'] === 'good' ? { authenticated: true, user: PROMETHEUS } : {} };
    });
    await status('Bearer good');
    for (let burst = 0; burst < 10; burst++) {
      const statuses = await Promise.all(Array.from({ length: 120 }, (_none, n) => status(`Bearer ${burst}-${n}`)));
      expect(statuses.filter((each) => each === 401)).to.have.length(16);
      expect(statuses.filter((each) => each === 500)).to.have.length(104);
    }
    expect(most).to.equal(16);
    const before = reviews().length;
    expect(await status('Bearer good')).to.equal(200);
    expect(reviews().length).to.equal(before);
  });

  it('responds 500 after ten seconds without an answer, logs it, and asks again', async () => {
    const { clock, logger, status, reviews } = fixture(() => new Promise(() => {}));
    for (const asked of [1, 2]) {
      const answer = status('Bearer good');
      await clock.advance(10_000);
      expect(await answer).to.equal(500);
      expect(reviews()).to.have.length(asked);
    }
    expect(logger.linesWith('Failed to authorize a request for diagnostics')).to.have.length(2);
    expect(clock.pendingTimers()).to.deep.equal([]);
  });

  it('stops asking when the client closes the connection', async () => {
    let seen: AbortSignal | undefined;
    const { clock, status, logger } = fixture((_review, signal) => {
      seen = signal;
      return new Promise(() => {});
    });
    const closing = new AbortController();
    const answer = status('Bearer good', { signal: closing.signal });
    await clock.advance(0);
    closing.abort(new Error('closed'));
    expect(await answer).to.equal(500);
    expect(seen?.aborted).to.equal(true);
    expect(logger.linesWith('Failed to authorize a request for diagnostics')).to.deep.equal([]);
  });
});
