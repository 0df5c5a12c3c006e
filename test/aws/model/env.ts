/** Everything that a deterministic run must be able to repeat. */
export interface ModelEnv {
  readonly uuid: () => string;
  /** Upper-case letters and digits, as in access key and role ids. */
  readonly id: (prefix: string, length: number) => string;
  /** [0, 1) */
  readonly random: () => number;
}

const idAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const hex = '0123456789abcdef';

/** Same seed, same ids. The generator is mulberry32: small, and good enough for names. */
export function seededEnv(seed: number): ModelEnv {
  let state = seed >>> 0;
  const random = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const draw = (alphabet: string, length: number): string =>
    Array.from({ length }, () => alphabet.charAt(Math.floor(random() * alphabet.length))).join('');
  return {
    random,
    id: (prefix, length) => prefix + draw(idAlphabet, length - prefix.length),
    uuid: () => [8, 4, 4, 4, 12].map((length) => draw(hex, length)).join('-'),
  };
}
