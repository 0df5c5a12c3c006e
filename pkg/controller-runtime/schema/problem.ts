import { mapLeft, type Either } from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import { cut } from '../text/cut.ts';

/** `path` leads to the wrong field, or is `''` if the input as a whole is wrong. */
export interface DecodeProblem {
  readonly path: string;
  readonly expected: string;
  readonly got: string;
  /** What a user can do about a missing field, for example `set spec.strategy.type to managed`. */
  readonly remedy?: string;
}

/** Returns a message such as `spec.selectors[3].namespace: expected string, got 7`. */
export const describeProblem = ({ path, expected, got, remedy }: DecodeProblem): string =>
  remedy === undefined
    ? `${path === '' ? '' : `${path}: `}expected ${expected}, got ${got}`
    : `${path} is missing: ${remedy}`;

/** One error message lists at most this many. After correcting them, the user sees the others. */
const SHOWN_PROBLEMS = 10;

export const describeProblems = (problems: readonly DecodeProblem[]): string =>
  problems.slice(0, SHOWN_PROBLEMS).map(describeProblem).join('; ') +
  (problems.length > SHOWN_PROBLEMS ? `; and ${problems.length - SHOWN_PROBLEMS} more` : '');

export const decode = <A>(decoder: t.Decoder<unknown, A>, input: unknown): Either<readonly DecodeProblem[], A> =>
  mapLeft((errors: t.Errors) => errors.map(toProblem))(decoder.decode(input));

export function toProblem({ value, context, message }: t.ValidationError): DecodeProblem {
  const type = context.at(-1)?.type;
  const path = cut(pathOf(context), SHOWN_PATH);
  const isMissing = value === undefined && path !== '' && type !== undefined && hasRemedy(type);
  return {
    path,
    expected: message ?? type?.name ?? 'another value',
    got: formatValue(value),
    ...(isMissing && { remedy: type.remedy(path) }),
  };
}

const hasRemedy = (decoder: object): decoder is { readonly remedy: (path: string) => string } =>
  'remedy' in decoder && typeof decoder.remedy === 'function';

/** Omits the first entry of the context, which is the whole input. */
const pathOf = (context: t.Context): string =>
  context
    .map(({ key }, index) => {
      const parent = context[index - 1];
      if (parent === undefined) return '';
      if (Array.isArray(parent.actual)) return `[${key}]`;
      // The path of a mistake in a map contains the map key, which may be long.
      const shown = key.slice(0, SHOWN_PATH + 1);
      return /^[A-Za-z_$][\w$-]*$/.test(shown) ? `.${shown}` : `[${JSON.stringify(shown)}]`;
    })
    .join('')
    .replace(/^\./, '');

/**
 * How much of a value a message shows, in UTF-16 code units. Users recognize a longer value by its beginning, and the
 * message fits into a condition.
 */
const SHOWN_CHARACTERS = 61;
/**
 * The longest path that a message shows, in UTF-16 code units. Only a path with a map key can be longer, because users
 * choose map keys.
 */
const SHOWN_PATH = 201;

const formatValue = (value: unknown): string => {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
  const text = typeof value === 'string' ? JSON.stringify(cut(value, SHOWN_CHARACTERS)) : String(value);
  return cut(text, SHOWN_CHARACTERS);
};
