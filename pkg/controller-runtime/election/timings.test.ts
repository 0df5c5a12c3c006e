import { expect } from 'chai';
import { validateTimings, type ElectionTimings } from './timings.ts';

describe('validateTimings', () => {
  const good: ElectionTimings = { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 };

  it('accepts timings that leave time to retry', () => {
    validateTimings(good);
    validateTimings({ leaseDuration: 1_000, renewDeadline: 700, retryPeriod: 500 });
  });

  it('rejects other timings and names the flag', () => {
    for (const [timings, problem] of [
      [{ ...good, leaseDuration: 10_000 }, '--leader-elect-lease-duration must be greater than'],
      [{ ...good, leaseDuration: NaN }, '--leader-elect-lease-duration must be at least 1s'],
      [{ ...good, retryPeriod: 0 }, '--leader-elect-retry-period must be greater than zero'],
      [{ ...good, retryPeriod: NaN }, '--leader-elect-retry-period must be greater than zero'],
      [{ ...good, renewDeadline: 2_400 }, '--leader-elect-renew-deadline must be greater than 1.2 times'],
      [{ ...good, renewDeadline: NaN }, '--leader-elect-lease-duration must be greater than'],
    ] as const)
      expect(() => validateTimings(timings), JSON.stringify(timings)).to.throw(problem);
  });
});
