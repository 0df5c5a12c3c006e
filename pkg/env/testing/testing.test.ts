import { expect } from 'chai';
import { SeededRandom } from './seeded-random.ts';
import { VirtualClock } from './virtual-clock.ts';

describe('VirtualClock', () => {
  it('fires timers in the order of their due times, and of arming for equal due times', async () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    clock.after(20, () => fired.push(`c at ${clock.monotonic()}`));
    clock.after(10, () => fired.push(`a at ${clock.monotonic()}`));
    clock.after(10, () => fired.push(`b at ${clock.monotonic()}`));
    await clock.advance(20);
    expect(fired).to.deep.equal(['a at 10', 'b at 10', 'c at 20']);
  });

  it('runs the work of a timer before the next timer, and fires the timers that it armed', async () => {
    const clock = new VirtualClock();
    const trace: string[] = [];
    const work = async (): Promise<void> => {
      await Promise.resolve();
      trace.push('then');
      clock.after(5, () => trace.push('chained'));
    };
    clock.after(10, () => void work());
    clock.after(20, () => trace.push('later'));
    await clock.advance(20);
    expect(trace).to.deep.equal(['then', 'chained', 'later']);
  });

  it('moves the wall clock with the monotonic clock, and alone by jumpWallClock', async () => {
    const clock = new VirtualClock(1_000_000);
    await clock.advance(50);
    expect([clock.now(), clock.monotonic()]).to.deep.equal([1_000_050, 50]);
    await clock.advance(0.7);
    expect([clock.now(), clock.monotonic()]).to.deep.equal([1_000_050, 50.7]);
    clock.jumpWallClock(-3_600_000);
    expect([clock.now(), clock.monotonic()]).to.deep.equal([-2_599_950, 50.7]);
  });

  it('runs until a predicate holds, and throws when it never will', async () => {
    const clock = new VirtualClock();
    let count = 0;
    const tick = (): void => void clock.after(1_000, () => ((count += 1), tick()));
    tick();
    await clock.runUntil(() => count === 5, { limitMs: 10_000 });
    expect(clock.monotonic()).to.equal(5_000);
    const tooLate = await clock.runUntil(() => count === 500, { limitMs: 10_000 }).catch(String);
    expect(tooLate).to.contain('not reached within 10000 ms');
    expect(await new VirtualClock().runUntil(() => false, { limitMs: 1 }).catch(String)).to.contain(
      'no timer is armed',
    );
  });
});

describe('SeededRandom', () => {
  it('returns the same numbers for the same seed, and others for another seed', () => {
    const draw = (seed: number): readonly (number | string)[] => {
      const random = new SeededRandom(seed);
      return [random.next(), random.uuid(), random.next()];
    };
    expect(draw(1)).to.deep.equal(draw(1));
    expect(draw(1)).not.to.deep.equal(draw(2));
  });

  it('returns numbers spread over [0, 1) and version 4 UUIDs', () => {
    const random = new SeededRandom(7);
    const tenths = Array.from({ length: 10_000 }, () => Math.floor(random.next() * 10));
    for (let tenth = 0; tenth < 10; tenth++)
      expect(tenths.filter((one) => one === tenth).length, `tenth ${tenth}`).to.be.within(880, 1_120);
    const uuids = Array.from({ length: 100 }, () => random.uuid());
    for (const uuid of uuids)
      expect(uuid).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(uuids).size).to.equal(100);
  });
});
