/** The only source of randomness in the manager. Tests use a SeededRandom. */
export interface Random {
  /** Returns a number in [0, 1). */
  next(): number;
  uuid(): string;
}
