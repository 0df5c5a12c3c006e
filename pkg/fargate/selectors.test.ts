import { expect } from 'chai';
import fc from 'fast-check';
import type { LooseSelector } from './selectors.ts';
import { sameSelectors, toSelectors } from './selectors.ts';

describe('selectors', () => {
  it('order of selectors and of labels does not matter', () => {
    expect(
      sameSelectors(
        [{ namespace: 'a', labels: { x: '1', y: '2' } }, { namespace: 'b' }],
        [{ namespace: 'b' }, { namespace: 'a', labels: { y: '2', x: '1' } }],
      ),
    ).to.equal(true);
  });

  it('absent and empty labels are the same', () => {
    expect(sameSelectors([{ namespace: 'a' }], [{ namespace: 'a', labels: {} }])).to.equal(true);
  });

  it('a repeated selector adds nothing', () => {
    expect(sameSelectors([{ namespace: 'a' }, { namespace: 'a' }], [{ namespace: 'a' }])).to.equal(true);
  });

  const different: readonly (readonly [string, readonly LooseSelector[], readonly LooseSelector[]])[] = [
    ['another namespace', [{ namespace: 'a' }], [{ namespace: 'b' }]],
    ['one selector more', [{ namespace: 'a' }], [{ namespace: 'a' }, { namespace: 'b' }]],
    ['another label value', [{ namespace: 'a', labels: { x: '1' } }], [{ namespace: 'a', labels: { x: '2' } }]],
    ['another label key', [{ namespace: 'a', labels: { x: '1' } }], [{ namespace: 'a', labels: { y: '1' } }]],
    ['one label more', [{ namespace: 'a', labels: { x: '1' } }], [{ namespace: 'a', labels: { x: '1', y: '1' } }]],
    [
      'labels of two selectors in one',
      [{ namespace: 'a', labels: { x: '1', y: '1' } }],
      [
        { namespace: 'a', labels: { x: '1' } },
        { namespace: 'a', labels: { y: '1' } },
      ],
    ],
  ];
  for (const [what, a, b] of different) {
    it(`${what} is a difference`, () => {
      expect(sameSelectors(a, b)).to.equal(false);
      expect(sameSelectors(b, a)).to.equal(false);
    });
  }

  it('any shuffle is the same set', () => {
    const selector = fc.record({ namespace: fc.string(), labels: fc.dictionary(fc.string(), fc.string()) });
    const shuffled = fc
      .uniqueArray(selector)
      .chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })));
    fc.assert(fc.property(shuffled, ([a, b]) => sameSelectors(a, b)));
  });

  it('fills in what a spec may leave out', () => {
    expect(toSelectors([{ namespace: 'a' }])).to.deep.equal([{ namespace: 'a', labels: {} }]);
  });
});
