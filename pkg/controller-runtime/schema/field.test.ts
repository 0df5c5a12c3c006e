import { expect } from 'chai';
import fc from 'fast-check';
import { isLeft, isRight, right, type Either } from 'fp-ts/lib/Either.js';
import {
  anything,
  boolean,
  integer,
  list,
  map,
  nullable,
  number,
  object,
  oneOf,
  optional,
  optionalText,
  string,
  view,
} from './field.ts';
import type { Field } from './field.ts';
import { decode, describeProblem, type DecodeProblem } from './problem.ts';

const words = <A>(result: Either<readonly DecodeProblem[], A>): readonly string[] =>
  isLeft(result) ? result.left.map(describeProblem) : [];

describe('a field', () => {
  const one: readonly (readonly [what: string, field: Field<unknown>, input: unknown, problem?: string])[] = [
    ['text', string(), 'a'],
    ['empty text', string({ minLength: 1 }), ''],
    ['a number for text', string(), 7, 'expected string, got 7'],
    ['nothing for text', string(), undefined, 'expected string, got nothing'],
    ['null for text', string(), null, 'expected string, got null'],
    ['a boolean', boolean(), false],
    ['text for a boolean', boolean(), 'true', 'expected boolean, got "true"'],
    ['a number', number(), -1.5],
    ['NaN', number(), Number.NaN, 'expected number, got NaN'],
    ['Infinity', number(), Number.POSITIVE_INFINITY, 'expected number, got Infinity'],
    ['an integer', integer({ format: 'int64' }), -1],
    ['a fraction for an integer', integer({ format: 'int64' }), 1.5, 'expected integer, got 1.5'],
    ['NaN for an integer', integer({ format: 'int64' }), Number.NaN, 'expected integer, got NaN'],
    [
      'an integer that JavaScript cannot represent exactly',
      integer({ format: 'int64' }),
      2 ** 53,
      'expected integer, got 9007199254740992',
    ],
    ['a word', oneOf(['A', 'B']), 'B'],
    ['another word', oneOf(['A', 'B']), 'C', 'expected "A" or "B", got "C"'],
    ['null for a nullable field', nullable(string()), null],
    ['nothing for a nullable field', nullable(string()), undefined, 'expected string, got nothing'],
    ['a list', list(string()), ['a']],
    ['an object for a list', list(string()), { 0: 'a' }, 'expected array, got an object'],
    ['a map', map(string()), { a: 'b' }],
    ['a list for a map', map(string()), ['a'], 'expected object, got an array'],
    ['anything', anything(), { a: [1] }],
    ['null for anything', anything(), null, 'expected object, got null'],
    ['an object', object({ a: string() }), { a: 'b' }],
    ['text for an object', object({ a: string() }), 'a', 'expected object, got "a"'],
  ];
  for (const [what, field, input, problem] of one) {
    it(`${problem === undefined ? 'takes' : 'refuses'} ${what}`, () => {
      const result = decode(field, input);
      expect(words(result)).to.deep.equal(problem === undefined ? [] : [problem]);
      if (problem === undefined) expect(result).to.deep.equal(right(input));
    });
  }

  const Thing = object({
    name: string(),
    note: optional(string()),
    alias: optionalText(string()),
    mark: optional(nullable(string())),
    parts: optional(list(object({ size: number(), tags: optional(map(string())) }))),
  });

  it('keeps unknown fields', () => {
    const input = { name: 'a', colour: 'red', parts: [{ size: 1, weight: 2 }] };
    expect(decode(Thing, input)).to.deep.equal(right(input));
  });

  it('distinguishes absent, null and empty', () => {
    const kept = { name: 'a', note: '', mark: null, parts: [] };
    expect(decode(Thing, kept)).to.deep.equal(right(kept));
    expect(decode(Thing, { name: 'a', note: undefined })).to.deep.equal(right({ name: 'a' }));
    expect(words(decode(Thing, { name: 'a', note: null }))).to.deep.equal(['note: expected string, got null']);
  });

  it('decodes empty optionalText as absent, and does not change its input', () => {
    const input = Object.freeze({ name: 'a', alias: '' });
    const result = decode(Thing, input);
    expect(isRight(result) && 'alias' in result.right).to.equal(false);
    expect(input).to.deep.equal({ name: 'a', alias: '' });
  });

  it('returns the parts of its input that it does not convert, and copies only what holds a converted part', () => {
    const upper = view(string(), (text) => text.toUpperCase());
    const tags = map(list(object({ name: upper, note: optionalText(string()) })));
    const input = {
      kept: [{ name: 'A' }],
      converted: [{ name: 'B' }, { name: 'c' }],
      emptied: [{ name: 'D', note: '' }],
    };
    const decoded = decode(tags, input);
    if (isLeft(decoded)) throw new Error('undecodable');
    expect(decoded.right['kept']).to.equal(input.kept);
    expect(decoded.right['converted']?.[0]).to.equal(input.converted[0]);
    expect(decoded.right).to.deep.equal({
      kept: [{ name: 'A' }],
      converted: [{ name: 'B' }, { name: 'C' }],
      emptied: [{ name: 'D' }],
    });
    expect(input.converted[1]).to.deep.equal({ name: 'c' });
  });

  it('names every problem with its path', () => {
    const input = { note: 1, parts: [{ size: 1 }, { size: '2', tags: { 'a/b': 3, c: 4 } }, 5] };
    expect(words(decode(Thing, input))).to.deep.equal([
      'name is missing: set name to a string',
      'note: expected string, got 1',
      'parts[1].size: expected number, got "2"',
      'parts[1].tags["a/b"]: expected string, got 3',
      'parts[1].tags.c: expected string, got 4',
      'parts[2]: expected object, got 5',
    ]);
  });

  it('says what a user can set if a field is missing', () => {
    const Whole = object({
      leaf: string({ wanted: 'the name of a leaf' }),
      word: oneOf(['A', 'B']),
      one: object({ 'with-hyphen': object({ size: integer({ format: 'int32' }), note: optional(string()) }) }),
      several: object({ flags: list(boolean()), tags: map(string()) }),
      other: object({ note: optional(string()) }, { wanted: 'a note' }),
    });
    const missing = ['leaf', 'word', 'one', 'several', 'other'];
    expect(words(decode(Whole, {}))).to.deep.equal(
      [
        'set leaf to the name of a leaf',
        'set word to A or B',
        'set one.with-hyphen.size to an integer',
        'set several with flags and tags',
        'set other with a note',
      ].map((remedy, index) => `${missing[index]} is missing: ${remedy}`),
    );
    expect(
      words(decode(object({ one: Whole }), { one: { leaf: 'a', word: 'A', one: {}, other: {}, several: {} } })),
    ).to.deep.equal([
      'one.one.with-hyphen is missing: set one.one.with-hyphen.size to an integer',
      'one.several.flags is missing: set one.several.flags to a list',
      'one.several.tags is missing: set one.several.tags to a map',
    ]);
    expect(Whole.openapi.properties?.['leaf']).to.deep.equal({ type: 'string' });
  });

  it('reads __proto__ and constructor like any other key', () => {
    const result = decode(map(string()), JSON.parse('{"__proto__": "a", "constructor": "b"}'));
    expect(isRight(result) && Object.entries(result.right)).to.deep.equal([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
    expect(words(decode(object({ constructor: string() }), {}))).to.have.length(1);
  });

  it('converts a decoded value by view, and keeps the problems of an undecodable value', () => {
    const Length = view(object({ text: string() }), ({ text }) => text.length);
    expect(decode(Length, { text: 'abc' })).to.deep.equal(right(3));
    expect(words(decode(Length, { text: 1 }))).to.deep.equal(['text: expected string, got 1']);
  });

  it('decodes every JSON value unchanged or reports its problems', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.record({ name: fc.string(), parts: fc.jsonValue() })), (input) => {
        const result = decode(object({ name: string(), parts: optional(list(map(string()))) }), input);
        if (isRight(result)) expect(result.right).to.deep.equal(input);
        else expect(result.left).not.to.deep.equal([]);
      }),
    );
  });
});

describe("a field's schema", () => {
  it('has each declared bound, default and rule', () => {
    const rules = [{ rule: 'self != "x"', message: 'Not x.' }];
    const Thing = object(
      {
        name: string({ description: 'A name.', maxLength: 9, rules }),
        sizes: optional(
          list(nullable(integer({ format: 'int32', minimum: 1 })), { maxItems: 3, 'x-kubernetes-list-type': 'set' }),
        ),
        tags: optional(map(string(), { maxProperties: 4 })),
        kind: optional(oneOf(['A', 'B'], { default: 'A' })),
      },
      { description: 'A thing.', required: ['name'], default: {} },
    );
    expect(Thing.openapi).to.deep.equal({
      description: 'A thing.',
      required: ['name'],
      default: {},
      type: 'object',
      properties: {
        name: {
          description: 'A name.',
          type: 'string',
          maxLength: 9,
          'x-kubernetes-validations': rules,
        },
        sizes: {
          type: 'array',
          maxItems: 3,
          'x-kubernetes-list-type': 'set',
          items: { type: 'integer', format: 'int32', minimum: 1, nullable: true },
        },
        tags: { type: 'object', maxProperties: 4, additionalProperties: { type: 'string' } },
        kind: { type: 'string', enum: ['A', 'B'], default: 'A' },
      },
    });
  });
});
