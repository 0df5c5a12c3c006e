import { expect } from 'chai';
import type { Selector } from '../../api/v1beta2/index.ts';
import { areSelectorsEqual, findSelectorProblem, toSelectors } from './selectors.ts';

describe('Selectors', () => {
  for (const [selector, problem] of [
    [{ namespace: 'kafka-east-1', labels: { 'example.org/a_b*': 'x' } }, undefined],
    [{ namespace: '*', labels: {} }, undefined],
    [{ namespace: 'kafka_east_1', labels: {} }, 'spec.selectors[1].namespace "kafka_east_1": the name of a'],
    [{ namespace: '', labels: {} }, 'spec.selectors[1].namespace "": the name of a'],
    [{ namespace: 'a', labels: { '-a': 'x' } }, 'key "-a" in spec.selectors[1].labels: the key of a'],
  ] as const)
    it(`name the field that EKS cannot accept: ${problem}`, () => {
      const found = findSelectorProblem([{ namespace: 'a', labels: {} }, selector]);
      if (problem === undefined) expect(found).to.equal(undefined);
      else expect(found).to.contain(problem);
    });

  it('are equal in any order of selectors and labels', () => {
    const selectors = ['a', 'b', 'c'].map((namespace) => ({ namespace, labels: { x: '1', y: '2' } }));
    const shuffled = ['b', 'a', 'c'].map((namespace) => ({ namespace, labels: { y: '2', x: '1' } }));
    expect(areSelectorsEqual(selectors, shuffled)).to.equal(true);
  });

  it('are equal with absent and with empty labels', () => {
    expect(areSelectorsEqual([{ namespace: 'a' }], [{ namespace: 'a', labels: {} }])).to.equal(true);
  });

  it('are equal with a repeated selector', () => {
    expect(areSelectorsEqual([{ namespace: 'a' }, { namespace: 'a' }], [{ namespace: 'a' }])).to.equal(true);
  });

  const different: readonly (readonly [string, readonly Selector[], readonly Selector[]])[] = [
    ['another namespace', [{ namespace: 'a' }], [{ namespace: 'b' }]],
    ['one selector more', [{ namespace: 'a' }], [{ namespace: 'a' }, { namespace: 'b' }]],
    ['another label value', [{ namespace: 'a', labels: { x: '1' } }], [{ namespace: 'a', labels: { x: '2' } }]],
    ['another label key', [{ namespace: 'a', labels: { x: '1' } }], [{ namespace: 'a', labels: { y: '1' } }]],
    ['one label more', [{ namespace: 'a', labels: { x: '1' } }], [{ namespace: 'a', labels: { x: '1', y: '1' } }]],
  ];
  for (const [what, a, b] of different) {
    it(`differ with ${what}`, () => {
      expect(areSelectorsEqual(a, b)).to.equal(false);
      expect(areSelectorsEqual(b, a)).to.equal(false);
    });
  }

  it('get empty labels if the spec omits them', () => {
    expect(toSelectors([{ namespace: 'a' }])).to.deep.equal([{ namespace: 'a', labels: {} }]);
  });
});
