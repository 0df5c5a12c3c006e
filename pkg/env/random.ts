/** The only source of randomness in the product. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A version 4 UUID. */
  uuid(): string;
}
