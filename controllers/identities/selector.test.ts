import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { isEmptySelector, selects } from './selector.ts';

const LABELS = { team: 'a', 'example.org/stage': 'production', empty: '' };

describe('a label selector', () => {
  for (const [key, operator, values, selected] of [
    ['team', 'In', ['a'], true],
    ['team', 'In', ['b', 'a'], true],
    ['team', 'In', ['b'], false],
    ['absent', 'In', ['a'], false],
    ['empty', 'In', [''], true],
    ['team', 'NotIn', ['a'], false],
    ['team', 'NotIn', ['b'], true],
    ['absent', 'NotIn', ['a'], true],
    ['team', 'Exists', undefined, true],
    ['absent', 'Exists', [], false],
    ['toString', 'Exists', undefined, false],
    ['team', 'DoesNotExist', undefined, false],
    ['absent', 'DoesNotExist', undefined, true],
    ['example.org/stage', 'In', ['production'], true],
  ] as const)
    it(`${key} ${operator} ${(values ?? []).join(',')} ${selected ? 'selects' : 'does not select'}`, () => {
      const expression = { key, operator, ...(values !== undefined && { values }) };
      expect(selects({ matchExpressions: [expression] }, LABELS)).to.deep.equal(E.right(selected));
    });

  it('selects where all of it holds', () => {
    const matchExpressions = [{ key: 'absent', operator: 'DoesNotExist' }];
    expect(selects({ matchLabels: { team: 'a' }, matchExpressions }, LABELS)).to.deep.equal(E.right(true));
    expect(selects({ matchLabels: { team: 'b' }, matchExpressions }, LABELS)).to.deep.equal(E.right(false));
  });

  for (const [key, operator, values, words] of [
    ['team', 'in', ['a'], '"in" is no operator of a label selector'],
    ['team', 'In', [], 'operator In for key "team" needs values'],
    ['absent', 'NotIn', undefined, 'operator NotIn for key "absent" needs values'],
    ['absent', 'DoesNotExist', ['x'], 'operator DoesNotExist for key "absent" takes no values'],
    ['team', 'Exists', ['a'], 'operator Exists for key "team" takes no values'],
    ['', 'DoesNotExist', undefined, '"" is no label key'],
    ['no key', 'DoesNotExist', undefined, '"no key" is no label key'],
    ['Example.org/x', 'DoesNotExist', undefined, '"Example.org/x" is no label key'],
    ['a/b/c', 'DoesNotExist', undefined, '"a/b/c" is no label key'],
    ['x'.repeat(64), 'DoesNotExist', undefined, `"${'x'.repeat(64)}" is no label key`],
    ['team', 'NotIn', ['no value'], '"no value" is no label value'],
  ] as const)
    it(`with ${key} ${operator} ${(values ?? []).join(',')} is none, and lets nobody in`, () => {
      const expression = { key, operator, ...(values !== undefined && { values }) };
      expect(selects({ matchExpressions: [expression] }, LABELS)).to.deep.equal(E.left(words));
    });

  it('that selects by nothing is told', () => {
    for (const empty of [{}, { matchLabels: {} }, { matchExpressions: [] }])
      expect(isEmptySelector(empty)).to.equal(true);
    expect(isEmptySelector({ matchLabels: { team: 'a' } })).to.equal(false);
    expect(isEmptySelector({ matchExpressions: [{ key: 'a', operator: 'Exists' }] })).to.equal(false);
  });
});
