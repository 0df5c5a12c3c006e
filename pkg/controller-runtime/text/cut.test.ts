import { expect } from 'chai';
import { cut } from './cut.ts';

describe('cut', () => {
  const cases: readonly (readonly [what: string, text: string, max: number, result: string])[] = [
    ['keeps a text that fits', 'abcd', 4, 'abcd'],
    ['shortens a longer text, with an ellipsis', 'abcde', 4, 'abc…'],
    ['keeps an emoji before the cut', '😀bcde', 4, '😀b…'],
    ['leaves out an emoji that the cut would split', 'ab😀cd', 4, 'ab…'],
  ];
  for (const [what, text, max, result] of cases)
    it(what, () => {
      expect(cut(text, max)).to.equal(result);
      expect(cut(text, max).isWellFormed()).to.equal(true);
    });
});
