import { mulberry32 } from '../../support/mulberry32.ts';

/** The source of random ids and numbers of the AWS emulator. */
export interface ModelEnv {
  readonly uuid: () => string;
  /**
   * Returns an id of `totalLength` characters: the prefix, then random upper-case letters and digits, as in the ids of
   * access keys and roles.
   */
  readonly id: (prefix: string, totalLength: number) => string;
  /** Returns a random number of at least 0 and less than 1. */
  readonly random: () => number;
}

const idAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const hex = '0123456789abcdef';

/** Returns a source of ids and numbers that depend only on the seed, so that a test run can be repeated. */
export function seededEnv(seed: number): ModelEnv {
  const random = mulberry32(seed);
  const draw = (alphabet: string, length: number): string =>
    Array.from({ length }, () => alphabet.charAt(Math.floor(random() * alphabet.length))).join('');
  return {
    random,
    id: (prefix, totalLength) => prefix + draw(idAlphabet, totalLength - prefix.length),
    uuid: () => [8, 4, 4, 4, 12].map((length) => draw(hex, length)).join('-'),
  };
}
