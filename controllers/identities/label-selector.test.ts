import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { isEmptySelector, evaluateSelector } from './label-selector.ts';

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
      expect(evaluateSelector({ matchExpressions: [expression] }, LABELS)).to.deep.equal(E.right(selected));
    });

  it('selects labels that meet all requirements', () => {
    const matchExpressions = [{ key: 'absent', operator: 'DoesNotExist' }];
    expect(evaluateSelector({ matchLabels: { team: 'a' }, matchExpressions }, LABELS)).to.deep.equal(E.right(true));
    expect(evaluateSelector({ matchLabels: { team: 'b' }, matchExpressions }, LABELS)).to.deep.equal(E.right(false));
  });

  for (const [key, operator, values, problem] of [
    ['team', 'in', ['a'], '"in" is not an operator of a label selector'],
    ['team', 'In', [], 'operator In for key "team" needs values'],
    ['absent', 'NotIn', undefined, 'operator NotIn for key "absent" needs values'],
    ['absent', 'DoesNotExist', ['x'], 'operator DoesNotExist for key "absent" takes no values'],
    ['team', 'Exists', ['a'], 'operator Exists for key "team" takes no values'],
    ['', 'DoesNotExist', undefined, '"" is not a label key'],
    ['no key', 'DoesNotExist', undefined, '"no key" is not a label key'],
    ['Example.org/x', 'DoesNotExist', undefined, '"Example.org/x" is not a label key'],
    ['a/b/c', 'DoesNotExist', undefined, '"a/b/c" is not a label key'],
    ['x'.repeat(64), 'DoesNotExist', undefined, `"${'x'.repeat(64)}" is not a label key`],
    ['team', 'NotIn', ['no value'], '"no value" is not a label value'],
  ] as const)
    it(`with ${key} ${operator} ${(values ?? []).join(',')} is invalid`, () => {
      const expression = { key, operator, ...(values !== undefined && { values }) };
      expect(evaluateSelector({ matchExpressions: [expression] }, LABELS)).to.deep.equal(E.left(problem));
    });

  it('is empty without requirements', () => {
    for (const empty of [{}, { matchLabels: {} }, { matchExpressions: [] }])
      expect(isEmptySelector(empty)).to.equal(true);
    expect(isEmptySelector({ matchLabels: { team: 'a' } })).to.equal(false);
    expect(isEmptySelector({ matchExpressions: [{ key: 'a', operator: 'Exists' }] })).to.equal(false);
  });
});
