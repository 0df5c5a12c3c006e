declare const brand: unique symbol;

/**
 * A nominal type: the compiler refuses, for example, a RoleName where a ProfileName is expected. Values of nominal
 * types come from codecs and from the functions that compute names.
 */
export type Brand<A, Name extends string> = A & { readonly [brand]: Name };
