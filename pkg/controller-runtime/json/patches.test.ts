import { expect } from 'chai';
import fc from 'fast-check';
import { applyMergePatch, diffMergePatch, jsonEqual } from './patches.ts';

/** Every JavaScript object has properties with the last three names. */
const FIELDS = ['a', 'b', 'c', 'd', 'constructor', 'toString', '__proto__'];

describe('diffMergePatch', () => {
  const cases: readonly [string, object, object, object | undefined][] = [
    ['nothing changed', { a: 1, b: { c: [1, { d: 2 }] } }, { b: { c: [1, { d: 2 }] }, a: 1 }, undefined],
    ['a field changed', { a: 1, b: 2 }, { a: 1, b: 3 }, { b: 3 }],
    ['a field came', {}, { a: 1 }, { a: 1 }],
    ['a field went', { a: 1 }, {}, { a: null }],
    ['a field became undefined', { a: 1 }, { a: undefined }, { a: null }],
    ['a field became null', { a: 1 }, { a: null }, { a: null }],
    ['null came where nothing was', {}, { a: null }, undefined],
    ['deep inside', { a: { b: { c: 1, d: 2 } } }, { a: { b: { c: 1 } } }, { a: { b: { d: null } } }],
    ['a list item changed: the list is replaced', { a: [1, 2] }, { a: [1, 3] }, { a: [1, 3] }],
    ['a list was emptied', { a: [1] }, { a: [] }, { a: [] }],
    ['a list became an object', { a: [1] }, { a: { b: 1 } }, { a: { b: 1 } }],
    ['an object became text', { a: { b: 1 } }, { a: 'x' }, { a: 'x' }],
    ['an empty object came', {}, { a: {} }, { a: {} }],
    ['nulls in a new object are no removals', {}, { a: { b: null, c: { d: null } } }, { a: { c: {} } }],
    ['an object lost its last field', { a: { b: 1 } }, { a: {} }, { a: { b: null } }],
  ];
  for (const [what, before, after, patch] of cases)
    it(what, () => expect(diffMergePatch({ ...before }, { ...after })).to.deep.equal(patch));

  // The generated values have no null, because a merge patch cannot set a field to null.
  const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean());
  const { tree } = fc.letrec<{ tree: unknown; node: Record<string, unknown> }>((tie) => ({
    node: fc.dictionary(fc.constantFrom(...FIELDS), tie('tree'), { maxKeys: 3 }),
    tree: fc.oneof({ depthSize: 'small' }, leaf, tie('node'), fc.array(tie('tree'), { maxLength: 3 })),
  }));
  const json = fc.dictionary(fc.constantFrom(...FIELDS), tree);

  it('turns any before into any after', () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        const patch = diffMergePatch(before, after);
        expect(applyMergePatch(before, patch ?? {})).to.deep.equal(after);
        expect(patch === undefined).to.equal(jsonEqual(before, after));
      }),
    );
  });
});
