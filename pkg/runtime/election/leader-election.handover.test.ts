import { expect } from 'chai';
import { sleep } from '../../async/deadline.ts';
import { json, type Intercept } from '../../kube/testing/fake-api-server.ts';
import type { TransportRequest } from '../../kube/transport/transport.ts';
import {
  type ElectionEnvironment,
  LEASE,
  hang,
  heldLease,
  newEnvironmentForEachTest,
  releasedLease,
} from '../testing/election.ts';

/** Between two attempts of a candidate: the retry period plus the largest jitter. */
const LONGEST_RETRY = 4_400;

const watches = (environment: ElectionEnvironment): readonly string[] =>
  environment.server.requests.filter(({ path }) => path.includes('fieldSelector')).map(({ path }) => path);

/** Counts how often the candidates have read the Lease. */
const looks = (environment: ElectionEnvironment): number =>
  environment.server.requests.filter(({ method, path }) => method === 'GET' && path.endsWith(`/${LEASE.name}`)).length;

const forbidden: Intercept = ({ path }) =>
  path.includes('fieldSelector')
    ? json(403, { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: 'not for you' })
    : undefined;

let environment: ElectionEnvironment;

/** Starts a leader and a candidate that has waited for ten seconds. */
async function startLeaderAndCandidate(intercept: Intercept = () => undefined) {
  const leader = await environment.leader('pod-1');
  const candidate = environment.candidate('pod-2');
  candidate.intercept = intercept;
  candidate.start();
  await environment.clock.advance(10_000);
  expect(candidate.state).to.equal('waiting');
  return { leader, candidate };
}

describe('A candidate that watches the Lease', () => {
  newEnvironmentForEachTest((made) => (environment = made));

  it('becomes leader as soon as the watch reports the release', async () => {
    const { leader, candidate } = await startLeaderAndCandidate();
    environment.server.watchLag = 300;
    await leader.stop();
    await environment.clock.advance(299);
    expect(candidate.state).to.equal('waiting');
    await environment.clock.advance(1);
    expect(candidate.state).to.equal('leading');
    expect(environment.spec()).to.include({ holderIdentity: candidate.identity, leaseTransitions: 1 });
  });

  it('becomes leader although a late renewal of the former leader arrives during the release', async () => {
    const { leader, candidate } = await startLeaderAndCandidate();
    const renewal = Promise.withResolvers<TransportRequest>();
    leader.intercept = (request) => {
      renewal.resolve(request);
      return hang();
    };
    await environment.clock.advance(2_000);
    const sent = await renewal.promise;
    leader.intercept = async (request) => {
      if (request.method !== 'GET') return undefined;
      leader.intercept = () => undefined;
      const looked = await environment.server.send(request);
      await environment.server.send({ ...sent, signal: request.signal });
      return looked;
    };
    await leader.stop();
    await environment.clock.settle();
    expect(candidate.state).to.equal('leading');
    expect(leader.logger.linesWith('Failed to release the lease')).to.deep.equal([]);
  });

  it('watches only that Lease, and only while it waits', async () => {
    const { leader, candidate } = await startLeaderAndCandidate();
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${LEASE.namespace}/leases`;
    for (const path of watches(environment)) {
      expect(path).to.match(new RegExp(`^${leases}\\?`));
      expect(new URL(path, 'https://kubernetes.test').searchParams.get('fieldSelector')).to.equal(
        `metadata.name=${LEASE.name}`,
      );
    }
    expect(environment.server.openWatches).to.equal(1);
    await leader.stop();
    await environment.clock.settle();
    expect([candidate.state, environment.server.openWatches]).to.deep.equal(['leading', 0]);
  });

  it('opens no watch when it becomes leader at once', async () => {
    const leader = await environment.leader();
    await leader.stop();
    expect(watches(environment)).to.deep.equal([]);
  });

  for (const givenUpAfter of [150, 350, 450])
    it(`sees a release after ${givenUpAfter} ms, before its watch is open`, async () => {
      environment.write(heldLease('pod-0'));
      environment.server.latency = 100;
      const candidate = environment.candidate().start();
      // The candidate reads the Lease within 100 ms, lists within 200 ms, and watches by 500 ms.
      candidate.intercept = async ({ path, signal }) => {
        if (path.includes('watch=true')) await sleep(environment.clock, 200, signal);
        return undefined;
      };
      await environment.clock.advance(givenUpAfter);
      expect(environment.server.openWatches).to.equal(0);
      environment.write(releasedLease());
      await environment.clock.advance(1_000);
      expect(candidate.state).to.equal('leading');
    });

  it('makes another attempt after a release during an attempt', async () => {
    const { leader, candidate } = await startLeaderAndCandidate();
    candidate.intercept = async (request) => {
      if (!request.path.endsWith(`/${LEASE.name}`)) return undefined;
      candidate.intercept = () => undefined;
      const answer = await environment.server.send(request);
      await leader.stop();
      await sleep(environment.clock, 100, request.signal);
      return answer;
    };
    await environment.clock.runUntil(() => environment.spec().holderIdentity === '', { limitMs: LONGEST_RETRY });
    await environment.clock.advance(99);
    expect(candidate.state).to.equal('waiting');
    await environment.clock.advance(1);
    expect(candidate.state).to.equal('leading');
  });

  it('competes with others for a release: one wins and the others log no error', async () => {
    const leader = await environment.leader('pod-0');
    const candidates = ['pod-1', 'pod-2', 'pod-3'].map((name) => environment.candidate(name).start());
    await environment.clock.advance(10_000);
    environment.server.latency = 50;
    const stopped = leader.stop();
    await environment.clock.advance(1_000);
    await stopped;
    expect(candidates.filter(({ state }) => state === 'leading')).to.have.length(1);
    const lines = candidates.flatMap(({ logger }) => logger.lines);
    expect(lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
    expect(lines.filter(({ message }) => message === 'Another candidate was faster')).to.have.length(2);
  });

  it('makes no extra attempt after a renewal, or after a deletion of the Lease', async () => {
    environment.write(heldLease('pod-0'));
    environment.candidate().start();
    for (let renewal = 0; renewal < 120; renewal++) {
      await environment.clock.advance(500);
      environment.write(heldLease('pod-0', { renewTime: `${2020 + renewal}-01-01T00:00:00.000000Z` }));
    }
    expect(looks(environment)).to.be.within(60_000 / LONGEST_RETRY, 60_000 / 2_000);
    const before = looks(environment);
    environment.server.storage.delete(environment.server.kind('leases'), LEASE, {});
    await environment.clock.settle();
    expect(looks(environment)).to.equal(before);
  });

  for (const [how, intercept] of [
    ['refused', forbidden],
    ['never served', ({ path }) => (path.includes('fieldSelector') ? hang() : undefined)],
  ] as const satisfies readonly (readonly [string, Intercept])[])
    it(`makes an attempt after the retry period when the watch is ${how}`, async () => {
      const { leader, candidate } = await startLeaderAndCandidate(intercept);
      await leader.stop();
      await environment.clock.advance(LONGEST_RETRY);
      expect(candidate.state).to.equal('leading');
    });
});
