import type { Clock, Ms } from '../../pkg/env/clock.ts';
import { KubeError } from '../../pkg/kube/errors.ts';
import { keyText } from '../../pkg/kube/object-key.ts';
import type { ObjectKey } from '../../pkg/kube/types.ts';
import type { ApiRejection } from './api-rejections.ts';
import { describeApiError } from './api-rejections.ts';

/**
 * How long errors of the API server must last before users are told. Two causes of errors usually end earlier: a restart
 * of the API server, and conflicts with a client that writes one object in many small steps.
 */
const PATIENCE: Ms = 60_000;

const CONFLICT: ApiRejection = {
  message: 'another client changes this object again and again, so every write of the controller has a conflict',
  remedy:
    'Find the other client in metadata.managedFields of this object (kubectl get --show-managed-fields -o yaml), and stop its changes',
};

/**
 * Detects errors of the API server that last. Conflicts and server errors usually end within seconds, and users need
 * not know about them. For each object, this class records since when all attempts have failed.
 */
export class PersistentErrors {
  private readonly clock: Pick<Clock, 'monotonic'>;
  private readonly since = new Map<string, Ms>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.clock = clock;
  }

  /**
   * Records a write conflict. Returns the text to report to users; `undefined` if writes have not failed long enough.
   */
  conflict(key: ObjectKey): ApiRejection | undefined {
    return this.isLong(key) ? CONFLICT : undefined;
  }

  /**
   * Records that the API server refused a request. Returns the text to report to users, or `undefined` if requests have
   * not been refused long enough. Other errors are not recorded, and the result is `undefined`: after a request without
   * an answer, the API server would not take the text either.
   */
  failure(key: ObjectKey, error: unknown): ApiRejection | undefined {
    if (!(error instanceof KubeError) || error.status === 0 || !this.isLong(key)) return undefined;
    return { message: describeApiError(error), remedy: 'Check the health of the API server' };
  }

  /** Forgets the failures of an object, because an attempt has succeeded or the object is gone. */
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
