declare const brand: unique symbol;

/** A nominal type: two nouns that are both text cannot be mixed up. Made by codecs and by the functions that compute them. */
export type Brand<A, Name extends string> = A & { readonly [brand]: Name };
