import { expect } from 'chai';
import { type LeaseVersion, mutationsOutsideLease } from './lease-history.ts';

const version = (holder: string, renewedAt: number, durationMs = 4_000): LeaseVersion => ({
  holder,
  acquiredAt: renewedAt,
  renewedAt,
  durationMs,
  transitions: 0,
});

const call = (at: number, mutates = true) => ({
  at,
  mutates,
  service: 'iam' as const,
  operation: mutates ? 'CreateRole' : 'GetRole',
  status: 200,
});

describe('mutationsOutsideLease', () => {
  const found = (versions: readonly LeaseVersion[], at: number): readonly string[] =>
    mutationsOutsideLease(versions, 'a', [call(at)]);

  it('finds no calls while each renewal comes before the lease expires', () => {
    const versions = [version('a', 1_000), version('a', 3_000)];
    for (const at of [1_000, 3_500, 7_000]) expect(found(versions, at), `at ${at}`).to.deep.equal([]);
  });

  it('finds calls after the lease has expired, even if the lease has another holder', () => {
    const late = ['iam:CreateRole 200 of a 1 ms after its lease expired'];
    expect(found([version('a', 3_000)], 7_001)).to.deep.equal(late);
    expect(found([version('a', 3_000), version('a', 9_000)], 7_001), 'renewed too late').to.deep.equal(late);
    expect(found([version('a', 3_000), version('b', 7_000)], 7_001)).to.deep.equal(late);
  });

  it('finds calls before the first lease', () => {
    expect(found([version('b', 500), version('a', 1_000)], 999)).to.deep.equal([
      'iam:CreateRole 200 of a before its first lease',
    ]);
  });

  it('finds calls after the lease was released or taken by another manager', () => {
    expect(found([version('a', 1_000), version('', 2_000, 1_000)], 2_005)).to.deep.equal([
      'iam:CreateRole 200 of a 5 ms after the lease was released',
    ]);
    expect(found([version('a', 1_000), version('b', 2_000)], 2_005)).to.deep.equal([
      'iam:CreateRole 200 of a 5 ms after the lease was taken by b',
    ]);
  });

  it('ignores reads', () => {
    expect(mutationsOutsideLease([], 'a', [call(1, false)])).to.deep.equal([]);
  });
});
