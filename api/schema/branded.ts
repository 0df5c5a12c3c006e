import * as t from 'io-ts';

/** The codec of a string with a nominal type. It accepts any string; other code validates length and characters. */
export interface Branded<A extends string> extends t.Decoder<unknown, A> {
  of(text: string): A;
}

export const branded = <A extends Brand<string, string>>(): Branded<A> => {
  const of = (text: string): A => text as A;
  const validate: t.Validate<unknown, A> = (input, context) =>
    typeof input === 'string' ? t.success(of(input)) : t.failure(input, context, 'string');
  return {
    name: 'string',
    validate,
    decode: (input) => validate(input, [{ key: '', type: t.string, actual: input }]),
    of,
  };
};

declare const brand: unique symbol;

/** A nominal type: the compiler refuses, for example, a RoleName where a ProfileName is expected. */
export type Brand<A, Name extends string> = A & { readonly [brand]: Name };
