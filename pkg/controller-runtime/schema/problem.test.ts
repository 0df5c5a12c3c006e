import { expect } from 'chai';
import { isLeft, right } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { type Brand, boolean, branded, map } from './field.ts';
import { decode, describeProblem, describeProblems } from './problem.ts';

const words = (decoder: t.Decoder<unknown, unknown>, input: unknown): readonly string[] => {
  const result = decode(decoder, input);
  return isLeft(result) ? result.left.map(describeProblem) : [];
};

type WidgetName = Brand<string, 'WidgetName'>;
const WidgetName = branded<WidgetName>();

describe('a decode problem', () => {
  it('has no path if the input as a whole is wrong', () => {
    expect(words(t.string, 7)).to.deep.equal(['expected string, got 7']);
  });

  it('truncates a long value, and hides the contents of objects and arrays', () => {
    expect(words(t.number, 'x'.repeat(1000))).to.deep.equal([`expected number, got "${'x'.repeat(59)}…`]);
    expect(words(t.number, { secret: 1 })).to.deep.equal(['expected number, got an object']);
    expect(words(t.number, [1])).to.deep.equal(['expected number, got an array']);
  });
});

describe('a text of decode problems', () => {
  const problemsOf = (input: unknown) => {
    const result = decode(map(boolean()), input);
    return isLeft(result) ? result.left : [];
  };

  it('names the first mistakes and the number of the others', () => {
    const wrong = Object.fromEntries(Array.from({ length: 150_000 }, (_, index) => [`key${index}`, index]));
    const described = describeProblems(problemsOf(wrong));
    expect(described).to.match(/^key0: expected boolean, got 0; key1: .*; and 149990 more$/);
    expect(described.length).to.be.below(1_000);
  });

  it('truncates the path of a long key', () => {
    const described = describeProblems(problemsOf({ ['k'.repeat(100_000)]: 1 }));
    expect(described).to.equal(`${'k'.repeat(200)}…: expected boolean, got 1`);
  });
});

describe('a branded name', () => {
  it('decodes strings only, and brands a computed string by of', () => {
    expect(decode(WidgetName, 'a')).to.deep.equal(right(WidgetName.of('a')));
    expect(words(WidgetName, 7)).to.deep.equal(['expected string, got 7']);
  });
});
