import { expect } from 'chai';
import fc from 'fast-check';
import type { Ms } from '../env/clock.ts';
import { World, hang, unavailable } from './testing/election.ts';
import type { Candidate } from './testing/election.ts';

type Fault = 'none' | 'fails' | 'hangs' | 'answerLost' | 'answerSlow' | 'slow';
interface Phase {
  readonly span: Ms;
  /** What ails the way of each candidate to the server. */
  readonly faults: readonly Fault[];
}

const aFault = fc.constantFrom<Fault>('none', 'none', 'fails', 'hangs', 'answerLost', 'answerSlow', 'slow');
const aPhase: fc.Arbitrary<Phase> = fc.record({
  span: fc.integer({ min: 100, max: 25_000 }),
  faults: fc.tuple(aFault, aFault, aFault),
});
const somePhases = fc.array(aPhase, { minLength: 1, maxLength: 8 });

describe('LeaderElection, whatever happens', () => {
  function ail(candidate: Candidate, world: World, fault: Fault): void {
    candidate.intercept = async (request) => {
      switch (fault) {
        case 'none':
          return undefined;
        case 'fails':
          return unavailable();
        case 'hangs':
          return hang();
        case 'answerLost':
          await world.server.send(request);
          return new Error('socket hang up');
        case 'answerSlow': {
          const answer = await world.server.send(request);
          await new Promise<void>((resolve) => world.clock.after(4_500, resolve));
          return answer;
        }
        case 'slow':
          await new Promise<void>((resolve) => world.clock.after(world.random.next() * 8_000, resolve));
          return undefined;
      }
    };
  }

  it('there are never two leaders, and soon there is one', async () => {
    let leaders = 0;
    await fc.assert(
      fc.asyncProperty(somePhases, fc.constantFrom(0, 400), fc.integer(), async (phases, latency, seed) => {
        const world = new World(seed);
        world.server.latency = latency;
        const skews = [0, 40_000, -40_000];
        const candidates = skews.map((skew, index) => world.candidate(`pod-${index}`, skew).start());
        const look = (): void => {
          const leading = candidates.filter(({ election }) => election.remaining() > 0);
          expect(leading.map(({ identity }) => identity)).to.have.length.at.most(1);
        };
        for (const { span, faults } of phases) {
          candidates.forEach((candidate, index) => ail(candidate, world, faults[index] ?? 'none'));
          for (let passed = 0; passed < span; passed += 500) {
            await world.clock.advance(500);
            look();
            // A process that lost its lease ends; its Deployment starts another.
            candidates.forEach((candidate, index) => {
              if (candidate.state === 'lost')
                candidates[index] = world.candidate(`pod-${index}`, skews[index] ?? 0).start();
            });
          }
        }
        for (const candidate of candidates) candidate.intercept = () => undefined;
        // A lease that must expire, a retry with its jitter, and one more with a request that still hangs.
        await world.clock.advance(15_000 + 2 * 4_400 + 5_000);
        look();
        leaders += candidates.filter(({ state }) => state === 'leading').length;
        expect(candidates.filter(({ state }) => state === 'leading')).to.have.length(1);
        await Promise.all([...candidates.map((candidate) => candidate.stop()), world.clock.advance(60_000)]);
      }),
      { numRuns: 100 },
    );
    expect(leaders).to.be.at.least(100);
  }).timeout(60_000);
});
