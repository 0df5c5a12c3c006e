import { expect } from 'chai';
import fc from 'fast-check';
import type { Ms } from '../env/clock.ts';
import { propertyRuns } from '../testing/property-runs.ts';
import { ElectionEnvironment, hang, unavailable, type Candidate } from '../testing/election.ts';

type Fault = 'none' | 'fails' | 'hangs' | 'responseLost' | 'responseSlow' | 'slow';
interface Phase {
  readonly span: Ms;
  /** The faults of the candidates' connections to the API server, one fault per candidate. */
  readonly faults: readonly Fault[];
}

const aFault = fc.constantFrom<Fault>('none', 'none', 'fails', 'hangs', 'responseLost', 'responseSlow', 'slow');
const aPhase: fc.Arbitrary<Phase> = fc.record({
  span: fc.integer({ min: 100, max: 25_000 }),
  faults: fc.tuple(aFault, aFault, aFault),
});
const somePhases = fc.array(aPhase, { minLength: 1, maxLength: 8, size: 'max' });

describe('The leader election under random faults', () => {
  function setFault(candidate: Candidate, environment: ElectionEnvironment, fault: Fault): void {
    candidate.intercept = async (request) => {
      switch (fault) {
        case 'none':
          return undefined;
        case 'fails':
          return unavailable();
        case 'hangs':
          return hang();
        case 'responseLost':
          await environment.server.send(request);
          return new Error('socket hang up');
        case 'responseSlow': {
          const response = await environment.server.send(request);
          await new Promise<void>((resolve) => environment.clock.after(4_500, resolve));
          return response;
        }
        case 'slow':
          await new Promise<void>((resolve) => environment.clock.after(environment.random.next() * 8_000, resolve));
          return undefined;
      }
    };
  }

  it('never has two leaders, and soon has one', async () => {
    let leaders = 0;
    await fc.assert(
      fc.asyncProperty(somePhases, fc.constantFrom(0, 400), fc.integer(), async (phases, latency, seed) => {
        const environment = new ElectionEnvironment(seed);
        environment.server.latency = latency;
        const skews = [0, 40_000, -40_000];
        const candidates = skews.map((skew, index) => environment.candidate(`pod-${index}`, skew).start());
        const look = (): void => {
          const leading = candidates.filter(({ election }) => election.remaining() > 0);
          expect(leading.map(({ identity }) => identity)).to.have.length.at.most(1);
        };
        for (const { span, faults } of phases) {
          candidates.forEach((candidate, index) => setFault(candidate, environment, faults[index] ?? 'none'));
          for (let passed = 0; passed < span; passed += 500) {
            await environment.clock.advance(500);
            look();
            // A process that lost the lease exits, and its Deployment starts another process.
            candidates.forEach((candidate, index) => {
              if (candidate.state === 'lost')
                candidates[index] = environment.candidate(`pod-${index}`, skews[index] ?? 0).start();
            });
          }
        }
        for (const candidate of candidates) candidate.intercept = () => undefined;
        // The lease expires after 15 s. Then a candidate may need two attempts: the pause before each attempt is at
        // most the longest retry period, and the request of the first attempt may hang for 5 s.
        await environment.clock.advance(15_000 + 2 * 4_400 + 5_000);
        look();
        leaders += candidates.filter(({ state }) => state === 'leading').length;
        expect(candidates.filter(({ state }) => state === 'leading')).to.have.length(1);
        await Promise.all([...candidates.map((candidate) => candidate.stop()), environment.clock.advance(60_000)]);
      }),
      { numRuns: propertyRuns(100) },
    );
    expect(leaders).to.be.at.least(propertyRuns(100));
  });
});
