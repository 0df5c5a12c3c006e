import { Readable } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import * as s from 'controller-runtime/schema';
import { propertyRuns } from 'controller-runtime/testing';
import { errorMessage } from 'controller-runtime/text';
import { Failure, MAX_FILE_BYTES, readText } from './io.ts';
import { decodeAt, parseDocuments, readDocuments } from './documents.ts';

const valuesIn = (text: string): readonly unknown[] => Array.from(parseDocuments('file', text), ({ value }) => value);

function* endless(): Generator<string> {
  for (;;) yield '#'.repeat(1_000_000);
}

const messageOf = (text: string): string => {
  try {
    expect([...parseDocuments('file', text)]).to.be.an('array');
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
  return 'no failure';
};

describe('parseDocuments', () => {
  it('reads JSON, and each document of YAML', () => {
    expect(valuesIn('{"a": [1, null]}')).to.deep.equal([{ a: [1, null] }]);
    expect(valuesIn('a: 1\n---\n# nothing\n---\nb: 2\n')).to.deep.equal([{ a: 1 }, { b: 2 }]);
  });

  it('keeps prototype keys as plain keys', () => {
    for (const text of ['{"__proto__": {"a": "b"}}', '__proto__: { a: b }'])
      expect(valuesIn(text).map((value) => Object.entries(value as object))).to.deep.equal([
        [['__proto__', { a: 'b' }]],
      ]);
    expect(({} as Record<string, unknown>)['a']).to.equal(undefined);
  });

  it('reads short tags of CloudFormation as intrinsic functions', () => {
    const [document] = parseDocuments('file', 'A: !Ref B\nC: !Join [",", [!GetAtt D.Arn]]\n');
    expect(document?.value).to.deep.equal({
      A: { '!Ref': 'B' },
      C: { '!Join': [',', [{ '!GetAtt': 'D.Arn' }]] },
    });
    expect(document?.at(['C', '!Join', 1, 0])).to.equal('file:2:25');
  });

  // The values that kubectl 1.32 prints for these words.
  const words: readonly (readonly [word: string, value: unknown])[] = [
    ...['yes', 'Yes', 'YES', 'y', 'on', 'true'].map((word) => [word, true] as const),
    ...['no', 'No', 'NO', 'n', 'off', 'false'].map((word) => [word, false] as const),
    ['010', 8],
    ['-010', -8],
    ['0777_7', 4095],
    ['0o10', 8],
    ['08', 8],
    ['09.5', 9.5],
    ['1_000', 1000],
    ['0b11', 3],
    ['0x1F', 31],
    ['1e3', 1000],
    ['1:20', '1:20'],
    ['2020-01-01', '2020-01-01'],
    ['.', '.'],
    ['yEs', 'yEs'],
    ['"yes"', 'yes'],
    ["'010'", '010'],
  ];
  for (const [word, value] of words)
    it(`reads ${word} as kubectl does`, () => expect(valuesIn(`a: ${word}`)).to.deep.equal([{ a: value }]));

  it('rejects duplicate keys in JSON, and reports their position', () => {
    expect(messageOf('{"a": {"b": 1, "c": [{"b": 2}, {"b": 3}]},\n "a" : 1}')).to.equal(
      'file:2:2: the key "a" is there twice',
    );
    expect(messageOf('{"a\\"": 1, "\\u0061\\"": 2}')).to.equal('file:1:12: the key "a\\"" is there twice');
    expect(messageOf('{"a": "b", "b": "a", "c": {"a": ": {"}, "d": {"a": 1}}')).to.equal('no failure');
  });

  it('rejects input that would take too much time or memory', async () => {
    expect(messageOf(await readText(Readable.from(endless())))).to.equal(
      'file is too large: capaf reads at most 8 MiB',
    );
    expect(messageOf(`"${'x'.repeat(MAX_FILE_BYTES)}"`)).to.equal('file is too large: capaf reads at most 8 MiB');
    expect(messageOf('['.repeat(20_000))).to.match(/^file:1:\d+: .*call stack/);
    expect(messageOf(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)).to.contain('nested deeper than 100 levels');
    expect(messageOf('- '.repeat(5_000))).to.match(/^file:1:\d+: .*call stack/);
  });

  it('reads many keys in linear time', () => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `k${index}: 1`).join('\n');
    expect(messageOf(keys)).to.equal('no failure');
    expect(messageOf(`${keys}\nk7: 2`)).to.equal('file:5001:1: the key "k7" is there twice');
  });

  it('returns a value or a Failure for any text', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.string({ unit: fc.constantFrom(...'{}[]:,-&*!"\'#|> \n\ta1'.split('')) }),
    );
    fc.assert(
      fc.property(text, (any) => {
        expect(messageOf(any)).to.be.a('string');
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});

describe('readDocuments', () => {
  it('ends between two documents when the signal aborts', async () => {
    const stop = new AbortController();
    const readStdin = async (): Promise<string> => 'a: 1\n---\n'.repeat(1_000);
    const reading = readDocuments('-', { readStdin, signal: stop.signal }).then(
      (documents) => `${documents.length} documents`,
      (error: unknown) => errorMessage(error),
    );
    setImmediate(() => stop.abort(new Error('received SIGINT')));
    expect(await reading).to.equal('The operation was aborted: received SIGINT');
  });
});

describe('decodeAt', () => {
  const Port = s.object({ port: s.number() });
  const failure = (text: string, path: readonly (string | number)[]): string => {
    const [document] = parseDocuments('file', text);
    if (document === undefined) return 'no document';
    try {
      return JSON.stringify(decodeAt(document, path, Port));
    } catch (error) {
      return error instanceof Failure ? error.message : String(error);
    }
  };

  it('names line, column and the whole path of each wrong field', () => {
    expect(failure('list:\n  - port: 1\n  - port: x\n', ['list', 1])).to.equal(
      'file:3:11: list[1].port: expected number, got "x"',
    );
    expect(failure('{\n "list": [\n  {"port": true}]}', ['list', 0])).to.equal(
      'file:3:12: list[0].port: expected number, got true',
    );
  });

  it('names the place around a field that is missing', () => {
    expect(failure('list:\n  - name: a\n', ['list', 0])).to.equal(
      'file:2:5: list[0].port is missing: set list[0].port to a number',
    );
  });
});
