import { expect } from 'chai';
import { changesOutsideTheLease } from './lease-history.ts';
import type { LeaseVersion } from './lease-history.ts';

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

describe('changes outside the lease', () => {
  const found = (versions: readonly LeaseVersion[], at: number): readonly string[] =>
    changesOutsideTheLease(versions, 'a', [call(at)]);

  it('are none while each renewal comes before the lease runs out', () => {
    const versions = [version('a', 1_000), version('a', 3_000)];
    for (const at of [1_000, 3_500, 7_000]) expect(found(versions, at), `at ${at}`).to.deep.equal([]);
  });

  it('are all that come later, whoever has the lease then', () => {
    const words = ['iam:CreateRole 200 of a 1 ms after its lease ran out'];
    expect(found([version('a', 3_000)], 7_001)).to.deep.equal(words);
    expect(found([version('a', 3_000), version('a', 9_000)], 7_001), 'renewed too late').to.deep.equal(words);
    expect(found([version('a', 3_000), version('b', 7_000)], 7_001)).to.deep.equal(words);
  });

  it('are those before the first lease', () => {
    expect(found([version('b', 500), version('a', 1_000)], 999)).to.deep.equal([
      'iam:CreateRole 200 of a before it led',
    ]);
  });

  it('are those after the lease was given up, or taken by force', () => {
    expect(found([version('a', 1_000), version('', 2_000, 1_000)], 2_005)).to.deep.equal([
      'iam:CreateRole 200 of a 5 ms after the lease was given up',
    ]);
    expect(found([version('a', 1_000), version('b', 2_000)], 2_005)).to.deep.equal([
      'iam:CreateRole 200 of a 5 ms after the lease was taken by b',
    ]);
  });

  it('are no reads', () => {
    expect(changesOutsideTheLease([], 'a', [call(1, false)])).to.deep.equal([]);
  });
});
