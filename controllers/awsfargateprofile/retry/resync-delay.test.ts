import { expect } from 'chai';
import { VirtualClock } from '../../../pkg/env/testing/virtual-clock.ts';
import { resyncDelay } from './resync-delay.ts';

const MINUTE = 60_000;

describe('The delay of a resync', () => {
  it('ends at a time that the resyncs of the same few seconds share', async () => {
    const clock = new VirtualClock();
    const first = clock.monotonic() + resyncDelay(clock, 9.52 * MINUTE, 10 * MINUTE);
    await clock.advance(1_234);
    const second = clock.monotonic() + resyncDelay(clock, 9.5 * MINUTE, 10 * MINUTE);
    expect(second).to.equal(first);
  });

  it('is at most a twentieth of the resync interval and at most 5 s shorter, and never longer', async () => {
    const clock = new VirtualClock();
    for (const resync of [5_000, 20_000, 10 * MINUTE, 600 * MINUTE])
      for (const share of [0, 0.01, 0.9, 0.95, 1, 1.1]) {
        await clock.advance(777);
        const delay = share * resync;
        const shortest = Math.max(0, delay - Math.min(resync / 20, 5_000));
        expect(resyncDelay(clock, delay, resync), `${delay} of ${resync}`).to.be.within(shortest, delay);
      }
  });
});
