import { expect } from 'chai';
import fc from 'fast-check';
import { doWildcardsMeet, doesWildcardCover, matchesWildcard } from './wildcard.ts';

describe('a wildcard pattern', () => {
  it('matches as the same regular expression does', () => {
    const over = (unit: string) => fc.string({ unit: fc.constantFrom(...unit), maxLength: 12 });
    fc.assert(
      fc.property(over('ab*?'), over('ab\n'), (pattern, text) => {
        const source = pattern.replaceAll('*', '.*').replaceAll('?', '.');
        expect(matchesWildcard(pattern, text)).to.equal(new RegExp(`^${source}$`, 's').test(text));
      }),
    );
  });
});

describe('two wildcard patterns', () => {
  const texts = (longest: number): readonly string[] =>
    longest === 0
      ? ['']
      : ['', ...texts(longest - 1).flatMap((rest) => ['a', 'b', 'z'].map((letter) => letter + rest))];
  // The shortest text that matches both patterns is at most as long as both patterns together.
  const all = texts(8);
  const aPattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 4 });

  it('meet exactly if some text matches both', () => {
    fc.assert(
      fc.property(aPattern, aPattern, (one, other) => {
        const isPossible = all.some((text) => matchesWildcard(one, text) && matchesWildcard(other, text));
        expect(doWildcardsMeet(one, other)).to.equal(isPossible);
      }),
    );
  });

  it('cover each other only if each text of the one matches the other', () => {
    fc.assert(
      fc.property(aPattern, aPattern, (general, special) => {
        if (!doesWildcardCover(general, special)) return;
        for (const text of all)
          if (matchesWildcard(special, text)) expect(matchesWildcard(general, text)).to.equal(true);
      }),
    );
  });
});
