import { expect } from 'chai';
import { escapeHidden, hasHidden, toPrintableLine } from './printable.ts';

describe('escapeHidden', () => {
  const cases: readonly (readonly [what: string, text: string, escaped: string])[] = [
    ['an escape character', 'a\u001b[31mb', 'a\\u001b[31mb'],
    ['a C1 control sequence introducer', 'a\u009b31mb', 'a\\u009b31mb'],
    ['DEL', 'a\u007fb', 'a\\u007fb'],
    ['a carriage return', 'a\rb', 'a\\u000db'],
    ['a right-to-left override', 'a\u202eb', 'a\\u202eb'],
    ['a bidi isolate', 'a\u2066b\u2069', 'a\\u2066b\\u2069'],
    ['a right-to-left mark', 'a\u200fb', 'a\\u200fb'],
    ['a line separator', 'a\u2028b', 'a\\u2028b'],
    ['half a surrogate pair', 'a\ud83d😀', 'a\\ud83d😀'],
    ['nothing in tabs, line feeds and letters of any script', 'a\tb\nc ä שלום 😀', 'a\tb\nc ä שלום 😀'],
  ];
  for (const [what, text, escaped] of cases)
    it(`escapes ${what}`, () => {
      expect(escapeHidden(text)).to.equal(escaped);
      expect(hasHidden(text)).to.equal(text !== escaped);
    });
});

describe('toPrintableLine', () => {
  it('joins the lines of a text', () => {
    expect(toPrintableLine('refused:\n  Warning  Forged\r\n')).to.equal('refused: Warning  Forged');
    expect(toPrintableLine('one\u009b\n\ntwo')).to.equal('one\\u009b two');
  });

  it('gives a line that fits into a condition, also after escaping', () => {
    expect(toPrintableLine('\u202e'.repeat(40_000))).to.have.lengthOf(32_768);
  });
});
