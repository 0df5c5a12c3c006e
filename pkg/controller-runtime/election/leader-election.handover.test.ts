import { expect } from 'chai';
import type { TransportRequest } from '../client/transport.ts';
import { type ElectionEnvironment, hang, newEnvironmentForEachTest } from '../testing/election.ts';

/** The longest pause between two attempts of a candidate: the retry period plus the largest jitter. */
const LONGEST_RETRY = 4_400;

let environment: ElectionEnvironment;

/** Starts a leader and a candidate that has waited for ten seconds. */
async function startLeaderAndCandidate() {
  const leader = await environment.leader('pod-1');
  const candidate = environment.candidate('pod-2');
  candidate.start();
  await environment.clock.advance(10_000);
  expect(candidate.state).to.equal('waiting');
  return { leader, candidate };
}

describe('A candidate', () => {
  newEnvironmentForEachTest((made) => (environment = made));

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
    await environment.clock.advance(LONGEST_RETRY);
    expect(candidate.state).to.equal('leading');
    expect(leader.logger.linesWith('Failed to release the lease')).to.deep.equal([]);
  });

  it('is one of several that try at the same time, and the others log no error', async () => {
    environment.server.latency = 50;
    const candidates = ['pod-1', 'pod-2', 'pod-3'].map((name) => environment.candidate(name).start());
    await environment.clock.advance(1_000);
    expect(candidates.filter(({ state }) => state === 'leading')).to.have.length(1);
    const lines = candidates.flatMap(({ logger }) => logger.lines);
    expect(lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
    expect(lines.filter(({ message }) => message === 'Another candidate was faster')).to.have.length(2);
  });
});
