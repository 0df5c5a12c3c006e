import { createReadStream } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import { Composer, LineCounter, Parser, YAMLMap, isMap, isNode, isScalar, visit } from 'yaml';
import type { Document, ScalarTag, Tags } from 'yaml';
import { fieldAt, textAt } from 'controller-runtime/json';
import { describeProblem, type Field, toProblem } from 'controller-runtime/schema';
import { errorMessage, toJson, yamlProblem } from 'controller-runtime/text';
import { Failure, MAX_FILE_BYTES, type Io, readText } from './io.ts';

export type Path = readonly (string | number)[];

/** A document from a file, or an object from the API server. */
export interface SourceDocument {
  readonly file: string;
  readonly value: unknown;
  /** Returns the position of the value, or of the nearest existing value around it, such as `cluster.yaml:12:7`. */
  readonly at: (path: Path) => string;
}

/** Real documents are nested about 20 levels deep. The YAML parser itself fails at about 800. */
const MAX_DEPTH = 100;
/** Limits YAML aliases that contain aliases, because each level multiplies the size of the document. */
const MAX_ALIASES = 100;
const SHOWN_PROBLEMS = 10;

/** Whether duplicate keys in a document are an error. Otherwise the last one counts, as in kubectl. */
type IsStrict = (value: unknown) => boolean;

/** Reads a file. Each item of a Kubernetes List counts as a document. @throws Failure with file, line, and column */
export async function readDocuments(
  path: string,
  { readStdin, signal }: Pick<Io, 'readStdin' | 'signal'>,
  isStrict?: IsStrict,
) {
  const file = path === '-' ? 'standard input' : path;
  const reading = path === '-' ? readStdin() : readText(createReadStream(path, { encoding: 'utf8', signal }));
  const text = await reading.catch((cause: unknown) => {
    throw new Failure(`reading ${file}`, { cause });
  });
  const documents: SourceDocument[] = [];
  for (const document of parseDocuments(file, text, isStrict)) {
    documents.push(document);
    // Lets a signal end the program between two documents, because the YAML parser takes seconds for 1 MiB.
    await setImmediate(undefined, { signal });
  }
  return documents;
}

/** @throws Failure with file, line, and column */
export function* parseDocuments(
  file: string,
  text: string,
  isStrict: IsStrict = () => true,
): Generator<SourceDocument> {
  if (Buffer.byteLength(text) > MAX_FILE_BYTES)
    throw new Failure(`${file} is too large: capaf reads at most ${MAX_FILE_BYTES / 1024 / 1024} MiB`);
  const json = E.tryCatch((): unknown => JSON.parse(text), errorMessage);
  // The YAML parser, which finds positions, is slow. So it parses a JSON file only when a message needs a position.
  let yaml: SourceDocument | undefined;
  const at = (path: Path): string => (yaml ??= parseYaml(file, text, isStrict).next().value)?.at(path) ?? file;
  if (E.isRight(json) && isStrict(json.right)) requireUniqueKeys(file, text);
  for (const document of E.isLeft(json) ? parseYaml(file, text, isStrict) : [{ file, value: json.right, at }]) {
    requireFlat(file, document.value);
    yield* objectsIn(document);
  }
}

const objectsIn = (document: SourceDocument): readonly SourceDocument[] =>
  textAt(document.value, 'kind')?.endsWith('List') === true
    ? itemsAt(document.value, ['items']).map(({ item, path }) => ({
        ...document,
        value: item,
        at: (inner) => document.at([...path, ...inner]),
      }))
    : [document];

/** Needed because `JSON.parse` accepts duplicate keys. In valid JSON, a key is a string before a colon. */
function requireUniqueKeys(file: string, text: string): void {
  const objects: Set<unknown>[] = [];
  let last = { token: '', index: 0 };
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}:]/g)) {
    if (token === '{') objects.push(new Set());
    if (token === '}') objects.pop();
    if (token === ':') {
      const key: unknown = JSON.parse(last.token);
      if (objects.at(-1)?.has(key) === true) throw new Failure(`${placeIn(file, text, last.index)}: ${isTwice(key)}`);
      objects.at(-1)?.add(key);
    }
    last = { token, index };
  }
}

const isTwice = (key: unknown): string => `the key ${toJson(key)} is there twice`;

function placeIn(file: string, text: string, offset: number): string {
  const lines = text.slice(0, offset).split('\n');
  return `${file}:${lines.length}:${(lines.at(-1) ?? '').length + 1}`;
}

const INTEGER = 'tag:yaml.org,2002:int';
const BOOLEAN = 'tag:yaml.org,2002:bool';

/** YAML 1.1 and 1.2 parse these unquoted words differently. kubectl uses YAML 1.1, and our parser uses 1.2. */
const OLD_WORDS: readonly ScalarTag[] = [
  { default: true, tag: BOOLEAN, test: /^(?:[Yy]|[Yy]es|YES|[Oo]n|ON)$/, resolve: () => true },
  { default: true, tag: BOOLEAN, test: /^(?:[Nn]|[Nn]o|NO|[Oo]ff|OFF)$/, resolve: () => false },
  { default: true, tag: INTEGER, test: /^[-+]?0b[01_]+$/, resolve: (text) => parseOld(text.replace('0b', ''), 2) },
  { default: true, tag: INTEGER, test: /^[-+]?0[0-7_]+$/, resolve: (text) => parseOld(text, 8) },
  { default: true, tag: INTEGER, test: /^[-+]?[1-9][\d_]*$/, resolve: (text) => parseOld(text, 10) },
];

const parseOld = (text: string, radix: number): number => Number.parseInt(text.replaceAll('_', ''), radix);

function* parseYaml(file: string, text: string, isStrict: IsStrict): Generator<SourceDocument, undefined> {
  const lineCounter = new LineCounter();
  const place = (offset: number): string => {
    const { line, col } = lineCounter.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  // No `uniqueKeys`, because the parser's own check for repeated keys takes quadratic time. `prepare` finds them.
  const customTags = (tags: Tags): Tags => [...OLD_WORDS, ...tags];
  const composer = new Composer({ uniqueKeys: false, merge: true, logLevel: 'silent', customTags });
  for (const document of composer.compose(new Parser(lineCounter.addNewLine).parse(text))) {
    const [error] = document.errors;
    if (error !== undefined) throw new Failure(`${place(error.pos[0])}: ${yamlProblem(error.message)}`);
    const repeated = prepare(document);
    const value = E.tryCatch((): unknown => document.toJS({ maxAliasCount: MAX_ALIASES }), errorMessage);
    if (E.isLeft(value)) throw new Failure(`${file}: ${value.left}`);
    if (repeated !== undefined && isStrict(value.right))
      throw new Failure(`${place(repeated.offset)}: ${isTwice(repeated.key)}`);
    if (value.right !== null) yield { file, value: value.right, at: (path) => place(offsetOf(document, path)) };
  }
}

/** Turns CloudFormation tags such as `!Ref Role` into `{"!Ref": "Role"}`. Returns the first repeated key. */
function prepare(document: Document.Parsed): { readonly key: unknown; readonly offset: number } | undefined {
  let repeated: { readonly key: unknown; readonly offset: number } | undefined;
  visit(document, {
    Node: (_, node) => {
      const seen = new Set<unknown>();
      for (const { key } of isMap(node) ? node.items : []) {
        const name = isScalar(key) ? key.value : key;
        const offset = isScalar(key) ? key.range?.[0] : undefined;
        if (seen.has(name)) repeated ??= { key: name, offset: offset ?? 0 };
        seen.add(name);
      }
      const tag = 'tag' in node ? node.tag : '';
      if (!/^![A-Za-z]/.test(tag) || !('tag' in node)) return undefined;
      const map = new YAMLMap();
      map.range = node.range ?? null;
      map.set(tag, node);
      Reflect.deleteProperty(node, 'tag');
      return map;
    },
  });
  return repeated;
}

function offsetOf(document: Document.Parsed, path: Path): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return document.contents?.range[0] ?? 0;
}

/** Refuses deep nesting, so that later recursions do not overflow the stack. */
function requireFlat(file: string, value: unknown): void {
  const depthLeft = (inner: unknown, left: number): boolean =>
    left > 0 &&
    (typeof inner !== 'object' || inner === null || Object.values(inner).every((each) => depthLeft(each, left - 1)));
  if (!depthLeft(value, MAX_DEPTH)) throw new Failure(`${file}: nested deeper than ${MAX_DEPTH} levels`);
}

export const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce(
    (inner: unknown, key) => (Array.isArray(inner) ? inner[Number(key)] : fieldAt(inner, String(key))),
    value,
  );

/** @throws Failure with the position and the path of each wrong field */
export function decodeAt<A>(document: SourceDocument, path: Path, field: Field<A>): A {
  const context = ['', ...path].map((key, index) => {
    return { key: String(key), type: field, actual: valueAt(document.value, path.slice(0, index)) };
  });
  const decoded = field.validate(context.at(-1)?.actual, context);
  if (E.isRight(decoded)) return decoded.right;
  const lines = decoded.left.slice(0, SHOWN_PROBLEMS).map((error) => {
    const keys = error.context.slice(1).map(({ key }) => key);
    return `${document.at(keys)}: ${describeProblem(toProblem(error))}`;
  });
  throw new Failure(lines.join('\n'));
}

export const itemsAt = (value: unknown, path: Path) => {
  const list: unknown = valueAt(value, path);
  return (Array.isArray(list) ? list : []).map((item: unknown, index) => ({ item, path: [...path, index] }));
};
