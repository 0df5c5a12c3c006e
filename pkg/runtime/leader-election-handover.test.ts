import { expect } from 'chai';
import { sleep } from '../env/deadline.ts';
import type { Intercept } from '../kube/testing/fake-api-server.ts';
import { json } from '../kube/testing/fake-api-server.ts';
import type { TransportRequest } from '../kube/transport.ts';
import { LEASE, World, hang, held } from './testing/election.ts';
import type { Candidate } from './testing/election.ts';

/** The retry period with all its jitter. */
const LONGEST_RETRY = 4_400;

const watches = (world: World): readonly string[] =>
  world.server.requests.filter(({ path }) => path.includes('fieldSelector')).map(({ path }) => path);

/** How often anybody looked whether the lease can be had. */
const looks = (world: World): number =>
  world.server.requests.filter(({ method, path }) => method === 'GET' && path.endsWith(`/${LEASE.name}`)).length;

const forbidden: Intercept = ({ path }) =>
  path.includes('fieldSelector')
    ? json(403, { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: 'not for you' })
    : undefined;

/** One that leads, and one that waits, both for a while. */
async function leaderAndNext(intercept?: Intercept): Promise<{ world: World; leader: Candidate; next: Candidate }> {
  const world = new World();
  const leader = await world.leader('pod-1');
  const next = world.candidate('pod-2');
  if (intercept !== undefined) next.intercept = intercept;
  next.start();
  await world.clock.advance(10_000);
  expect(next.state).to.equal('waiting');
  return { world, leader, next };
}

describe('LeaderElection, seeing the lease given up', () => {
  it('leads as soon as the watch tells', async () => {
    const { world, leader, next } = await leaderAndNext();
    world.server.watchLag = 300;
    await leader.stop();
    await world.clock.advance(299);
    expect(next.state).to.equal('waiting');
    await world.clock.advance(1);
    expect(next.state).to.equal('leading');
    expect(world.spec()).to.include({ holderIdentity: next.identity, leaseTransitions: 1 });
    await next.stop();
    expect(world.server.openWatches).to.equal(0);
    expect(world.clock.pendingTimers()).to.deep.equal([]);
  });

  it('gives it up over a renewal that the stop cut off, and that arrives all the same, after the last look', async () => {
    const { world, leader, next } = await leaderAndNext();
    const renewal = Promise.withResolvers<TransportRequest>();
    leader.intercept = (request) => {
      renewal.resolve(request);
      return hang();
    };
    await world.clock.advance(2_000);
    const sent = await renewal.promise;
    leader.intercept = async (request) => {
      if (request.method !== 'GET') return undefined;
      leader.intercept = () => undefined;
      const looked = await world.server.send(request);
      await world.server.send({ ...sent, signal: request.signal });
      return looked;
    };
    await leader.stop();
    await world.clock.settle();
    expect(next.state).to.equal('leading');
    expect(leader.logger.said('Failed to release the lease')).to.deep.equal([]);
    await next.stop();
  });

  it('watches that one Lease, and only while it waits', async () => {
    const { world, leader, next } = await leaderAndNext();
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${LEASE.namespace}/leases`;
    for (const path of watches(world)) {
      expect(path).to.match(new RegExp(`^${leases}\\?`));
      expect(new URL(path, 'https://kubernetes.test').searchParams.get('fieldSelector')).to.equal(
        `metadata.name=${LEASE.name}`,
      );
    }
    expect(world.server.openWatches).to.equal(1);
    await leader.stop();
    await world.clock.settle();
    expect([next.state, world.server.openWatches]).to.deep.equal(['leading', 0]);
    await next.stop();
  });

  it('opens no watch where it leads at once', async () => {
    const world = new World();
    const leader = await world.leader();
    await leader.stop();
    expect(watches(world)).to.deep.equal([]);
  });

  it('sees one that is given up before the watch is open', async () => {
    for (const givenUpAfter of [150, 350, 450]) {
      const world = new World();
      world.write(held('pod-0'));
      world.server.latency = 100;
      const next = world.candidate().start();
      // It looks until 100, lists until 200, and its watch is open at 500.
      next.intercept = async ({ path, signal }) => {
        if (path.includes('watch=true')) await sleep(world.clock, 200, signal);
        return undefined;
      };
      await world.clock.advance(givenUpAfter);
      expect(world.server.openWatches).to.equal(0);
      world.write(held(''));
      await world.clock.advance(1_000);
      expect(next.state, `given up after ${givenUpAfter} ms`).to.equal('leading');
      await Promise.all([next.stop(), world.clock.advance(1_000)]);
    }
  });

  it('looks once more when it is given up while the answer to a look is on its way', async () => {
    const { world, leader, next } = await leaderAndNext();
    next.intercept = async (request) => {
      if (!request.path.endsWith(`/${LEASE.name}`)) return undefined;
      next.intercept = () => undefined;
      const answer = await world.server.send(request);
      await leader.stop();
      await sleep(world.clock, 100, request.signal);
      return answer;
    };
    await world.clock.runUntil(() => world.spec().holderIdentity === '', { limitMs: LONGEST_RETRY });
    await world.clock.advance(99);
    expect(next.state).to.equal('waiting');
    await world.clock.advance(1);
    expect(next.state).to.equal('leading');
    await next.stop();
  });

  it('leaves one winner, and tells no failure of the others', async () => {
    const world = new World();
    const leader = await world.leader('pod-0');
    const candidates = ['pod-1', 'pod-2', 'pod-3'].map((name) => world.candidate(name).start());
    await world.clock.advance(10_000);
    world.server.latency = 50;
    const stopped = leader.stop();
    await world.clock.advance(1_000);
    await stopped;
    expect(candidates.filter(({ state }) => state === 'leading')).to.have.length(1);
    const lines = candidates.flatMap(({ logger }) => logger.lines);
    expect(lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
    expect(lines.filter(({ message }) => message === 'Another candidate was faster')).to.have.length(2);
    await Promise.all([...candidates.map((candidate) => candidate.stop()), world.clock.advance(60_000)]);
  });

  it('is not hurried by renewals, nor by a Lease that is deleted: its holder makes it anew', async () => {
    const world = new World();
    world.write(held('pod-0'));
    const next = world.candidate().start();
    for (let renewal = 0; renewal < 120; renewal++) {
      await world.clock.advance(500);
      world.write(held('pod-0', { renewTime: `${2020 + renewal}-01-01T00:00:00.000000Z` }));
    }
    expect(looks(world)).to.be.within(60_000 / LONGEST_RETRY, 60_000 / 2_000);
    const before = looks(world);
    world.server.storage.delete(world.server.kind('leases'), LEASE, {});
    await world.clock.settle();
    expect(looks(world)).to.equal(before);
    await next.stop();
  });

  for (const [how, intercept] of [
    ['refused', forbidden],
    ['never answered', ({ path }) => (path.includes('fieldSelector') ? hang() : undefined)],
  ] as const satisfies readonly (readonly [string, Intercept])[])
    it(`asks again after the retry period all the same where the watch is ${how}`, async () => {
      const { world, leader, next } = await leaderAndNext(intercept);
      await leader.stop();
      await world.clock.advance(LONGEST_RETRY);
      expect(next.state).to.equal('leading');
      await next.stop();
      expect(world.clock.pendingTimers()).to.deep.equal([]);
    });

  it('says that the watch is refused, and asks for it ever less often', async () => {
    let asked = 0;
    const { world, leader, next } = await leaderAndNext((request) => {
      const answer = forbidden(request);
      if (answer !== undefined) asked += 1;
      return answer;
    });
    const [line] = next.logger.said('The reflector failed and will try again');
    expect(line?.keys).to.include({ resource: 'leases.coordination.k8s.io' });
    expect(line?.keys['error']).to.contain('not for you');
    await world.clock.advance(60_000);
    asked = 0;
    await world.clock.advance(600_000);
    expect(asked).to.be.within(600 / 30, 600 / 15);
    await Promise.all([leader.stop(), next.stop(), world.clock.advance(60_000)]);
  });
});
