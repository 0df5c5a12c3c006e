/** The only source of randomness in the manager. Tests use a SeededRandom. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  uuid(): string;
}
