/**
 * A time in an AWS answer, in milliseconds since the epoch. EKS writes the time as a number in JSON; IAM and STS write
 * the time as ISO 8601 in XML.
 */
export class Instant {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }
}
