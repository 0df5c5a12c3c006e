import { keyText, KubeError, type ObjectKey } from 'controller-runtime/client';
import type { Clock, Ms } from 'controller-runtime/env';
import { type ApiRejection, apiRejectionFrom, describeApiError } from './api-rejections.ts';

/**
 * How long errors last before they are reported to users. A restart of the API server, and conflicts with a client that
 * writes one object in many small steps, usually end earlier.
 */
const PATIENCE: Ms = 60_000;

const CONFLICT: ApiRejection = {
  message: "another client changes this object again and again, so each of the controller's writes has a conflict",
  remedy:
    'Find the other client in metadata.managedFields of this object (kubectl get --show-managed-fields -o yaml), and stop its changes',
};

/** Remembers since when all requests for an object have failed. Users need not know about errors of a few seconds. */
export class PersistentErrors {
  private readonly clock: Pick<Clock, 'monotonic'>;
  private readonly since = new Map<string, Ms>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.clock = clock;
  }

  /** Returns `undefined` if the object's writes have failed for less than {@link PATIENCE}. */
  conflict(key: ObjectKey): ApiRejection | undefined {
    return this.isLong(key) ? CONFLICT : undefined;
  }

  /**
   * Immediately reports an error that only a user can fix. Returns `undefined` for other errors if the object's
   * requests have failed for less than {@link PATIENCE}, or if `error` shows that the API server does not answer: then
   * it would not accept a status that reports the failure either.
   */
  failure(key: ObjectKey, error: unknown): ApiRejection | undefined {
    const rejection = apiRejectionFrom(error);
    if (rejection !== undefined) return rejection;
    if (!(error instanceof KubeError) || error.status === 0 || !this.isLong(key)) return undefined;
    return { message: describeApiError(error), remedy: 'Check the health of the API server' };
  }

  clear(key: ObjectKey): void {
    this.since.delete(keyText(key));
  }

  private isLong(key: ObjectKey): boolean {
    const now = this.clock.monotonic();
    const since = this.since.get(keyText(key)) ?? now;
    this.since.set(keyText(key), since);
    return now - since >= PATIENCE;
  }
}
