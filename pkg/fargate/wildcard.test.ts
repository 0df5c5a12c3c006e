import { expect } from 'chai';
import fc from 'fast-check';
import { matchesWildcard } from './wildcard.ts';

describe('a wildcard pattern', () => {
  const cases: readonly (readonly [pattern: string, text: string, matches: boolean])[] = [
    ['', '', true],
    ['', 'a', false],
    ['*', '', true],
    ['**', 'ab', true],
    ['?', '', false],
    ['a?c', 'abc', true],
    ['a*c', 'abcc', true],
    ['a*c', 'abcd', false],
    ['*.amazonaws.com', 'eks.amazonaws.com', true],
    ['*.amazonaws.com', 'eksxamazonaws.com', false],
    ['a*\n*b', 'a\n\nb', true],
    ['*a*b*c*', 'xxaxxbxxcxx', true],
    ['*a*b*c*', 'xxaxxcxxbxx', false],
  ];
  for (const [pattern, text, matches] of cases)
    it(`"${pattern}" ${matches ? 'matches' : 'does not match'} "${text}"`, () => {
      expect(matchesWildcard(pattern, text)).to.equal(matches);
    });

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
