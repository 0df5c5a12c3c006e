import type { Ms } from '../env/clock.ts';

/**
 * An answer of the API server that is not 2xx, or no answer (`status` 0, reason `NoAnswer`).
 *
 * `reason` is the Status object's reason (`NotFound`, `Conflict`, `Invalid`, `Forbidden`, `Expired`, …), or one of ours:
 * `NotServed` (404 whose body is no Status: the kind is unknown to the server), `NoAnswer`, `Interrupted` (a watch that had
 * begun), `Undecodable`.
 */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly status: number;
  readonly reason: string;
  /** What the server asked for in Retry-After. */
  readonly retryAfter: Ms | undefined;
  /** The reasons in the Status' `details.causes`, e.g. `NamespaceTerminating`. */
  readonly causes: readonly string[];

  constructor(
    message: string,
    facts: {
      readonly status: number;
      readonly reason: string;
      readonly retryAfter?: Ms;
      readonly causes?: readonly string[];
      readonly cause?: unknown;
    },
  ) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
    this.reason = facts.reason;
    this.retryAfter = facts.retryAfter;
    this.causes = facts.causes ?? [];
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
/** The list or watch is older than what the server keeps: list anew. */
export const isExpired = is('Expired', 'Gone');
export const isForbidden = is('Forbidden');
export const isInvalid = is('Invalid');
export const isNoAnswer = is('NoAnswer');
export const isInterrupted = is('Interrupted');
export const isUndecodable = is('Undecodable');
