import { mapLeft } from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';

/** One thing that is wrong with an input. `path` is `''` for the input itself. */
export interface DecodeProblem {
  readonly path: string;
  readonly expected: string;
  readonly got: string;
}

/** `spec.selectors[3].namespace: expected string, got 7` */
export const describeProblem = ({ path, expected, got }: DecodeProblem): string =>
  `${path === '' ? '' : `${path}: `}expected ${expected}, got ${got}`;

/** Decodes `input`, with all problems at once. Works for every io-ts decoder, not only for our own fields. */
export const decode = <A>(decoder: t.Decoder<unknown, A>, input: unknown): Either<readonly DecodeProblem[], A> =>
  mapLeft((errors: t.Errors) => errors.map(toProblem))(decoder.decode(input));

const toProblem = ({ value, context, message }: t.ValidationError): DecodeProblem => ({
  path: pathOf(context),
  expected: message ?? context.at(-1)?.type.name ?? 'another value',
  got: show(value),
});

/** The context's first entry is the input; the steps into a union or an intersection are io-ts's own and say nothing. */
const pathOf = (context: t.Context): string =>
  context
    .map(({ key }, index) => {
      const parent = context[index - 1];
      if (parent === undefined || isComposite(parent.type)) return '';
      if (Array.isArray(parent.actual)) return `[${key}]`;
      return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
    })
    .join('')
    .replace(/^\./, '');

const isComposite = (decoder: object): boolean =>
  '_tag' in decoder && (decoder._tag === 'UnionType' || decoder._tag === 'IntersectionType');

/** Long enough to recognise a value, short enough for a condition's message. */
const SHOWN_CHARACTERS = 60;

const show = (value: unknown): string => {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`;
};
