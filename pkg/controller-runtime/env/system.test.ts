import { mock } from 'node:test';
import { expect } from 'chai';
import { systemClock, systemRandom } from './system.ts';

describe('systemClock', () => {
  it('never fires a timer before its delay is over on the monotonic clock', async () => {
    for (const span of [0, 1, 3.7, 12]) {
      const start = systemClock.monotonic();
      await new Promise<void>((resolve) => systemClock.after(span, resolve));
      expect(systemClock.monotonic() - start).to.be.at.least(span);
    }
  });

  it('keeps a timer above 2^31-1 ms armed', async () => {
    const fired: string[] = [];
    const warned: string[] = [];
    const onWarning = ({ name }: Error): void => void warned.push(name);
    process.on('warning', onWarning);
    const timers = [2 ** 31, 2 ** 40, Infinity].map((span) => systemClock.after(span, () => fired.push(`${span}`)));
    await new Promise<void>((resolve) => systemClock.after(30, resolve));
    for (const timer of timers) timer.cancel();
    process.off('warning', onWarning);
    expect(fired).to.deep.equal([]);
    expect(warned, 'warnings of Node about a delay that is too long').to.deep.equal([]);
  });

  it('arms a timer again that Node fires too early', () => {
    // The test advances Node's mocked timers but not `performance.now`, with which the clock measures time. So for the
    // clock, the timers fire too early.
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const fired: string[] = [];
      systemClock.after(60_000, () => fired.push('early'));
      systemClock.after(2 ** 32, () => fired.push('far too early'));
      mock.timers.tick(2 ** 31);
      expect(fired).to.deep.equal([]);
    } finally {
      mock.timers.reset();
    }
  });

  it('does not fire a cancelled timer, and ignores a second cancel', async () => {
    let fired = false;
    const timer = systemClock.after(1, () => (fired = true));
    timer.cancel();
    timer.cancel();
    await new Promise<void>((resolve) => systemClock.after(10, resolve));
    expect(fired).to.equal(false);
  });

  it('throws for a delay that is NaN', () => {
    expect(() => systemClock.after(NaN, () => {})).to.throw(RangeError);
  });
});

describe('systemRandom', () => {
  it('returns numbers in [0, 1) and version 4 UUIDs', () => {
    expect(systemRandom.next()).to.be.within(0, 1);
    expect(systemRandom.uuid()).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
