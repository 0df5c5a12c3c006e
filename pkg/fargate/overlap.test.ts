import { expect } from 'chai';
import fc from 'fast-check';
import type { FargateSelector } from '../cloud/index.ts';
import { doSelectorsMeet, doesSelectorCover, findOverlap, findTaken, isPreferred } from './overlap.ts';
import { matchesWildcard } from './wildcard.ts';

const selector = (namespace: string, labels: Readonly<Record<string, string>> = {}): FargateSelector => ({
  namespace,
  labels,
});

/** The letter `z` stands for all letters that no pattern contains, because real texts can contain such letters. */
const texts = (longest: number): readonly string[] =>
  longest === 0 ? [''] : ['', ...texts(longest - 1).flatMap((rest) => ['a', 'z'].map((letter) => letter + rest))];
const TEXTS = texts(4);
const KEYS = ['k', 'l', 'm', 'n'];

const pattern = (letters: string) => fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 2 });
const aSelector = fc.record({
  namespace: pattern('a*?'),
  labels: fc.dictionary(fc.constantFrom('k', 'l', '*', '?'), pattern('a*?'), { maxKeys: 2 }),
});

/** Reports whether a pod with the labels of `pod` matches the labels of the selector. */
const hasLabels = (pod: ReadonlyMap<string, string>, { labels }: FargateSelector): boolean =>
  Object.entries(labels).every(([key, value]) =>
    [...pod].some(([podKey, podValue]) => matchesWildcard(key, podKey) && matchesWildcard(value, podValue)),
  );

function* pods(keys: readonly string[], values: readonly string[]): Generator<ReadonlyMap<string, string>> {
  const [key, ...rest] = keys;
  if (key === undefined) {
    yield new Map();
    return;
  }
  for (const others of pods(rest, values)) {
    yield others;
    for (const value of values) yield new Map([...others, [key, value]]);
  }
}
const PODS = [...pods(KEYS, texts(2))];

describe('two selectors', () => {
  it('meet exactly if a pod can match both', () => {
    fc.assert(
      fc.property(aSelector, aSelector, (one, other) => {
        const both = [one, other];
        const isPossible =
          TEXTS.some((text) => both.every(({ namespace }) => matchesWildcard(namespace, text))) &&
          PODS.some((pod) => both.every((each) => hasLabels(pod, each)));
        expect(doSelectorsMeet(one, other)).to.equal(isPossible);
        expect(doSelectorsMeet(other, one)).to.equal(isPossible);
      }),
    );
  });

  it('cover each other only if every pod of the one matches the other', () => {
    fc.assert(
      fc.property(aSelector, aSelector, (general, special) => {
        if (!doesSelectorCover(general, special)) return;
        for (const text of TEXTS)
          if (matchesWildcard(special.namespace, text)) expect(matchesWildcard(general.namespace, text)).to.equal(true);
        for (const pod of PODS) if (hasLabels(pod, special)) expect(hasLabels(pod, general)).to.equal(true);
      }),
    );
  });

  for (const [general, special] of [
    [selector('*'), selector('web', { app: 'x' })],
    [selector('team-*'), selector('team-?-*')],
    [selector('w', { 'app*': '*' }), selector('w', { 'app*': 'y' })],
  ] as const)
    it(`cover: ${JSON.stringify(general)} covers ${JSON.stringify(special)}`, () =>
      expect(doesSelectorCover(general, special)).to.equal(true));
});

describe('two profiles', () => {
  const me = { name: 'b', selectors: [selector('web'), selector('api', { app: 'x' })] };

  it('overlap in the first two selectors that a pod can match both', () => {
    const other = { name: 'c', selectors: [selector('db'), selector('api')] };
    expect(findOverlap(me, other)).to.deep.equal({ mine: me.selectors[1], theirs: other.selectors[1] });
    expect(findOverlap(me, { name: 'c', selectors: [selector('db')] })).to.equal(undefined);
  });

  it('are preferred by the bytes of their names', () => {
    expect(isPreferred('B', 'a')).to.equal(true);
    expect(isPreferred('a', 'a-1')).to.equal(true);
    expect(isPreferred('\u{FFFD}', '\u{1F600}')).to.equal(true);
    expect(isPreferred('b', 'b')).to.equal(false);
  });

  it('lose the selectors that the other one covers, if EKS prefers that one', () => {
    const web = { name: 'a', selectors: [selector('db'), selector('w*')] };
    expect(findTaken(me, web)).to.deep.equal([me.selectors[0]]);
    expect(findTaken(me, { ...web, name: 'c' })).to.deep.equal([]);
  });
});
