import type { Ms } from '../env/clock.ts';

/**
 * A request to the API server that failed: with a response other than 2xx, or without a complete and decodable response
 * (`status` 0). `reason` is that of the Status in the response (`NotFound`, `Conflict`, …), or one that this client sets:
 *
 * - `NotServed`: 404 without a Status in the body; the API server does not serve the kind.
 * - `NoAnswer`: there was no response within the deadline, or none at all.
 * - `Interrupted`: the connection of an open watch broke.
 * - `Undecodable`: the response is not what the API defines.
 */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly status: number;
  readonly reason: string;
  /** The response's Retry-After, in ms. */
  readonly retryAfter: Ms | undefined;
  /** The reasons from `details.causes` in the Status, e.g. `NamespaceTerminating`. */
  readonly causes: readonly string[];
  /** The message in the response. Undefined without a response. */
  readonly said: string | undefined;

  constructor(
    message: string,
    facts: {
      readonly status: number;
      readonly reason: string;
      readonly retryAfter?: Ms;
      readonly causes?: readonly string[];
      readonly said?: string;
      readonly cause?: unknown;
    },
  ) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
    this.reason = facts.reason;
    this.retryAfter = facts.retryAfter;
    this.causes = facts.causes ?? [];
    this.said = facts.said;
  }
}

const is =
  (...reasons: readonly string[]) =>
  (error: unknown): error is KubeError =>
    error instanceof KubeError && reasons.includes(error.reason);

export const isConflict = is('Conflict');
export const isAlreadyExists = is('AlreadyExists');
export const isNotFound = is('NotFound');
export const isNotServed = is('NotServed');
/** A resourceVersion or a continue token is older than the API server's history: the objects must be listed again. */
export const isExpired = is('Expired', 'Gone');
export const isForbidden = is('Forbidden');
export const isInvalid = is('Invalid');
export const isNoAnswer = is('NoAnswer');
export const isInterrupted = is('Interrupted');
export const isUndecodable = is('Undecodable');
