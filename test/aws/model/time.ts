/** A moment in an answer, milliseconds since the epoch. The wire writes it: a number in JSON, ISO 8601 in XML. */
export class Instant {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }
}
