import { expect } from 'chai';
import { isLeft, right } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { ProfileName } from '../names.ts';
import { decode, describeProblem } from './problem.ts';

const words = (decoder: t.Decoder<unknown, unknown>, input: unknown): readonly string[] => {
  const result = decode(decoder, input);
  return isLeft(result) ? result.left.map(describeProblem) : [];
};

describe('a decode problem', () => {
  it('has no path when the input itself is wrong', () => {
    expect(words(t.string, 7)).to.deep.equal(['expected string, got 7']);
  });

  it('has the path of the field, not the way through unions and intersections', () => {
    const decoder = t.intersection([
      t.type({ list: t.array(t.union([t.string, t.null])) }),
      t.partial({ map: t.record(t.string, t.boolean) }),
    ]);
    expect(words(decoder, { list: ['a', 7], map: { 'a.b': 1 } })).to.deep.equal([
      'list[1]: expected string, got 7',
      'list[1]: expected null, got 7',
      'map["a.b"]: expected boolean, got 1',
    ]);
  });

  it('shows no more of a value than is needed to recognise it', () => {
    expect(words(t.number, 'x'.repeat(1000))).to.deep.equal([`expected number, got "${'x'.repeat(59)}…`]);
    expect(words(t.number, { secret: 1 })).to.deep.equal(['expected number, got an object']);
    expect(words(t.number, [1])).to.deep.equal(['expected number, got an array']);
  });
});

describe('a branded name', () => {
  it('is read from text alone, and made from computed text', () => {
    expect(decode(ProfileName, 'a')).to.deep.equal(right(ProfileName.of('a')));
    expect(words(ProfileName, 7)).to.deep.equal(['expected string, got 7']);
  });
});
