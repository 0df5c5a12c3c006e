import { isLeft, right, type Either } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { isRecord, type UnknownRecord } from '../json/record.ts';
import type { Json, OpenApi, Rule } from './openapi.ts';

/**
 * The declaration of a value: an io-ts decoder, an OpenAPI schema, and, through {@link TypeOf}, a TypeScript type.
 *
 * The decoder checks types and keeps unknown fields. Its result shares the parts of the input that it does not convert:
 * with 5,000 objects in the caches, copies would take megabytes. Bounds, patterns, defaults, and rules are in the
 * OpenAPI schema only, so the decoder accepts objects that were stored under a CRD with different ones.
 */
export interface Field<out A> extends t.Decoder<unknown, A> {
  readonly openapi: OpenApi;
  /** Says what a user can do if the field with this path is missing, for example `set spec.roleARN to a string`. */
  readonly remedy: (path: string) => string;
}

export type TypeOf<F> = F extends Field<infer A> ? A : never;

interface Optional<out A> {
  readonly optional: Field<A>;
  readonly emptyIsAbsent: boolean;
}

type Property = Field<unknown> | Optional<unknown>;
type Properties = Readonly<Record<string, Property>>;

type OptionalKeys<P> = { [K in keyof P]: P[K] extends Optional<unknown> ? K : never }[keyof P];

export type ObjectOf<P> = {
  readonly [K in Exclude<keyof P, OptionalKeys<P>>]: TypeOf<P[K]>;
} & {
  readonly [K in OptionalKeys<P>]?: P[K] extends Optional<infer A> ? A : never;
};

interface Docs {
  readonly description?: string;
  /** Lets rules see `null`, which the API server otherwise drops. A rule must refuse it, as the decoder does. */
  readonly nullable?: true;
  readonly default?: Json;
  readonly rules?: readonly Rule[];
  /** What a user must set the field to if it is missing, for example `the ARN of an IAM role`. */
  readonly wanted?: string;
}

type StringDocs = Docs & Pick<OpenApi, 'minLength' | 'maxLength'> & { readonly format?: 'date-time' };
type ListDocs = Docs & Pick<OpenApi, 'maxItems' | 'x-kubernetes-list-type' | 'x-kubernetes-list-map-keys'>;

const schema = (shape: OpenApi, { rules, wanted: _wanted, ...docs }: Docs & OpenApi): OpenApi => ({
  ...docs,
  ...shape,
  ...(rules !== undefined && { 'x-kubernetes-validations': rules }),
});

const field = <A>(
  decoder: Omit<t.Decoder<unknown, A>, 'decode'>,
  openapi: OpenApi,
  remedy: Field<A>['remedy'],
): Field<A> => ({
  name: decoder.name,
  validate: decoder.validate,
  decode: (input) => decoder.validate(input, [{ key: '', type: t.unknown, actual: input }]),
  openapi,
  remedy,
});

const setTo = (wanted: string) => (path: string) => `set ${path} to ${wanted}`;

const primitive = <A>(name: string, is: (u: unknown) => u is A, openapi: OpenApi, wanted = `a ${name}`): Field<A> =>
  field(
    { name, validate: (input, context) => (is(input) ? t.success(input) : fail(name, input, context)) },
    openapi,
    setTo(wanted),
  );

const fail = <A>(expected: string, input: unknown, context: t.Context): t.Validation<A> =>
  t.failure(input, context, expected);

/** `push(...added)` with a hundred thousand errors would overflow the stack. */
const addAll = (errors: t.Errors, added: t.Errors): void => {
  for (const error of added) errors.push(error);
};

const isString = (u: unknown): u is string => typeof u === 'string';
const isBoolean = (u: unknown): u is boolean => typeof u === 'boolean';
const isNumber = (u: unknown): u is number => typeof u === 'number' && Number.isFinite(u);
const isInteger = (u: unknown): u is number => Number.isSafeInteger(u);

export const string = (docs: StringDocs = {}): Field<string> =>
  primitive('string', isString, schema({ type: 'string' }, docs), docs.wanted);

declare const brand: unique symbol;

/** A nominal type: the compiler refuses, for example, a UserName where a GroupName is expected. */
export type Brand<A, Name extends string> = A & { readonly [brand]: Name };

/** The codec of a string with a nominal type. It accepts any string; other code validates length and characters. */
interface Branded<A extends string> extends t.Decoder<unknown, A> {
  of(text: string): A;
}

export const branded = <A extends Brand<string, string>>(): Branded<A> => ({
  ...primitive('string', (u): u is A => isString(u), {}),
  of: (computed) => computed as A,
});

/** Declares a string with a nominal type. `decoder` is a codec from `api/names.ts`, such as RoleName. */
export const text = <A extends string>(decoder: t.Decoder<unknown, A>, docs: StringDocs = {}): Field<A> =>
  field(decoder, schema({ type: 'string' }, docs), setTo(docs.wanted ?? 'a string'));

export const boolean = (docs: Docs = {}): Field<boolean> =>
  primitive('boolean', isBoolean, schema({ type: 'boolean' }, docs), 'true or false');

/** The decoder refuses NaN and infinities. */
export const number = (): Field<number> => primitive('number', isNumber, { type: 'number' });

/** Between -(2^53 - 1) and 2^53 - 1, the range that JavaScript represents exactly. */
export const integer = (
  docs: Docs & { readonly format: 'int32' | 'int64'; readonly minimum?: number },
): Field<number> => primitive('integer', isInteger, schema({ type: 'integer' }, docs), 'an integer');

/** Declares a string that is one of `words`. The decoder refuses others. */
export const oneOf = <const W extends string>(words: readonly W[], docs: Docs = {}): Field<W> => {
  const is = (u: unknown): u is W => words.some((word) => word === u);
  return primitive(
    words.map((word) => JSON.stringify(word)).join(' or '),
    is,
    schema({ type: 'string', enum: words }, docs),
    words.join(' or '),
  );
};

export const nullable = <A>(inner: Field<A>): Field<A | null> =>
  field(
    {
      name: `${inner.name} or null`,
      validate: (input, context) => (input === null ? t.success(null) : inner.validate(input, context)),
    },
    { ...inner.openapi, nullable: true },
    inner.remedy,
  );

/** Declares a property that can be absent. `null` does not count as absent; {@link nullable} allows `null`. */
export const optional = <A>(inner: Field<A>): Optional<A> => ({ optional: inner, emptyIsAbsent: false });

/** Declares optional text in which `''` means absent: the decoder omits the empty property from its result. */
export const optionalText = <A extends string>(inner: Field<A>): Optional<A> => ({
  optional: inner,
  emptyIsAbsent: true,
});

const isOptional = (property: Property): property is Optional<unknown> => 'optional' in property;

export const list = <A>(item: Field<A>, docs: ListDocs = {}): Field<readonly A[]> =>
  field(
    {
      name: 'array',
      validate: (input, context) => {
        if (!Array.isArray(input)) return fail('array', input, context);
        const elements: readonly unknown[] = input;
        const errors: t.Errors = [];
        const decoded: A[] = [];
        elements.forEach((element, index) => {
          const result = item.validate(element, t.appendContext(context, String(index), item, element));
          if (isLeft(result)) addAll(errors, result.left);
          else decoded.push(result.right);
        });
        if (errors.length > 0) return t.failures(errors);
        // Here and in `map`, the cast is safe: each element is the decoded one.
        return right(elements.every((element, index) => element === decoded[index]) ? (input as A[]) : decoded);
      },
    },
    schema({ type: 'array', items: item.openapi }, docs),
    setTo(docs.wanted ?? 'a list'),
  );

export const map = <A>(
  value: Field<A>,
  docs: Docs & { readonly maxProperties?: number } = {},
): Field<Readonly<Record<string, A>>> =>
  field(
    {
      name: 'object',
      validate: (input, context) => {
        if (!isRecord(input)) return fail('object', input, context);
        const errors: t.Errors = [];
        const decoded: [string, A][] = [];
        for (const [key, element] of Object.entries(input)) {
          const result = value.validate(element, t.appendContext(context, key, value, element));
          if (isLeft(result)) addAll(errors, result.left);
          else decoded.push([key, result.right]);
        }
        if (errors.length > 0) return t.failures(errors);
        const isSame = decoded.every(([key, element]) => element === input[key]);
        return right(isSame ? (input as Record<string, A>) : Object.fromEntries(decoded));
      },
    },
    schema({ type: 'object', additionalProperties: value.openapi }, docs),
    setTo(docs.wanted ?? 'a map'),
  );

/**
 * Declares an object. The decoder requires each property that is not optional; the OpenAPI schema requires only those
 * in `docs.required`. Prefer a CEL rule to `docs.required`: if a required property is missing, the API server runs no
 * CEL rule, and so reports fewer mistakes.
 */
export const object = <const P extends Properties>(
  properties: P,
  docs: Docs & { readonly required?: readonly (keyof P & string)[] } = {},
): Field<ObjectOf<P>> => {
  const entries = Object.entries<Property>(properties);
  return field(
    {
      name: 'object',
      validate: (input, context) => {
        if (!isRecord(input)) return fail('object', input, context);
        const errors: t.Errors = [];
        let decoded = input;
        const copied = (): Record<string, unknown> => {
          if (decoded === input) decoded = { ...input };
          return decoded;
        };
        for (const [key, property] of entries) {
          const element = input[key];
          const inner = isOptional(property) ? property.optional : property;
          if (isOptional(property) && (element === undefined || (property.emptyIsAbsent && element === ''))) {
            if (key in input) delete copied()[key];
            continue;
          }
          const result = inner.validate(element, t.appendContext(context, key, inner, element));
          if (isLeft(result)) addAll(errors, result.left);
          else if (result.right !== element) copied()[key] = result.right;
        }
        // The cast is safe: each required property, and each optional one that is present, has been decoded.
        return errors.length === 0 ? right(decoded as ObjectOf<P>) : t.failures(errors);
      },
    },
    schema(
      {
        type: 'object',
        properties: Object.fromEntries(
          entries.map(([key, property]) => [key, (isOptional(property) ? property.optional : property).openapi]),
        ),
      },
      docs,
    ),
    (path) => remedyOfObject(path, entries, docs.wanted),
  );
};

function remedyOfObject(
  path: string,
  entries: readonly (readonly [string, Property])[],
  wanted: string | undefined,
): string {
  const required = entries.flatMap(([key, property]) => (isOptional(property) ? [] : [{ key, property }]));
  const [first] = required;
  if (wanted === undefined && required.length === 1 && first !== undefined)
    return first.property.remedy(`${path}.${first.key}`);
  return `set ${path} with ${wanted ?? (required.map(({ key }) => key).join(' and ') || 'its fields')}`;
}

export const anything = (): Field<UnknownRecord> =>
  primitive('object', isRecord, { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, 'a map');

/** Decodes with `raw`, then converts. The OpenAPI schema is that of `raw`. */
export const view = <A, B>(raw: Field<A>, to: (a: A) => B): Field<B> => refine(raw, (a) => right(to(a)));

/** Decodes with `raw`, then converts. A Left refuses the value and says which value is expected. */
export const refine = <A, B>(raw: Field<A>, to: (a: A) => Either<string, B>): Field<B> =>
  field(
    {
      name: raw.name,
      validate: (input, context) => {
        const result = raw.validate(input, context);
        if (isLeft(result)) return result;
        const refined = to(result.right);
        return isLeft(refined) ? fail(refined.left, input, context) : right(refined.right);
      },
    },
    raw.openapi,
    raw.remedy,
  );

/** Declares a list, which `items` decodes, or a value that `other` decodes. The OpenAPI schema allows any value. */
export const listOr = <A, B>(items: Field<readonly A[]>, other: Field<B>): Field<readonly A[] | B> =>
  field<readonly A[] | B>(
    {
      name: `${items.name} or ${other.name}`,
      validate: (input, context) => (Array.isArray(input) ? items : other).validate(input, context),
    },
    { 'x-kubernetes-preserve-unknown-fields': true },
    items.remedy,
  );
