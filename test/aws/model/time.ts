/**
 * A time in an answer of AWS, in milliseconds since the epoch. The encoders write it as a number in the JSON of EKS,
 * and as ISO 8601 text in the XML of IAM and STS.
 */
export class Instant {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }
}
