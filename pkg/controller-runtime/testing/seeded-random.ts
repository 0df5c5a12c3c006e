import type { Random } from '../env/random.ts';

/** Pseudo-random numbers from a seed, by the generator sfc32. The same seed gives the same numbers. */
export class SeededRandom implements Random {
  private a = 0x9e3779b9;
  private b = 0x243f6a88;
  private c: number;
  private counter = 1;

  constructor(seed: number) {
    this.c = seed | 0;
    // The first numbers of the generator sfc32 depend too much on the seed, so they are discarded.
    for (let i = 0; i < 15; i++) this.bits();
  }

  next(): number {
    // Uses 53 random bits, which is the precision of a JavaScript number.
    return ((this.bits() >>> 5) * 2 ** 26 + (this.bits() >>> 6)) / 2 ** 53;
  }

  uuid(): string {
    const hex = Array.from({ length: 4 }, () => this.bits().toString(16).padStart(8, '0')).join('');
    const variant = '89ab'.charAt(parseInt(hex.charAt(16), 16) & 3);
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      variant + hex.slice(17, 20),
      hex.slice(20),
    ].join('-');
  }

  private bits(): number {
    const sum = (this.a + this.b + this.counter) | 0;
    this.counter = (this.counter + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}
