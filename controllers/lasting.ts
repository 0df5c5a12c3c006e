import type { Clock, Ms } from '../pkg/env/clock.ts';
import { KubeError } from '../pkg/kube/errors.ts';
import { keyText } from '../pkg/kube/paths.ts';
import type { ObjectKey } from '../pkg/kube/types.ts';
import type { Refusal } from './refusals.ts';
import { wordsOf } from './refusals.ts';

/** The restart of an API server, and whoever writes an object in many small steps, are done by then. */
const PATIENCE: Ms = 60_000;

const CONFLICT: Refusal = {
  words: 'somebody else changes the object all the time, and each write came too late',
  cure: 'Find out who it is: kubectl get --show-managed-fields -o yaml',
};

/**
 * What as a rule passes by itself, and is told where it does not: somebody else who wrote first, and errors of the API
 * server's own. Remembers since when each object has met with nothing else.
 */
export class Lasting {
  private readonly clock: Pick<Clock, 'monotonic'>;
  private readonly since = new Map<string, Ms>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.clock = clock;
  }

  /** Somebody else wrote first, once more. `undefined`: not for long yet. */
  conflict(key: ObjectKey): Refusal | undefined {
    return this.isLong(key) ? CONFLICT : undefined;
  }

  /** The API server answered with an error, once more. `undefined`: not for long yet, or it was another kind of error. */
  failure(key: ObjectKey, error: unknown): Refusal | undefined {
    if (!(error instanceof KubeError) || error.status === 0 || !this.isLong(key)) return undefined;
    return { words: wordsOf(error), cure: 'See to the API server' };
  }

  /** It went well, or the object is gone. */
  over(key: ObjectKey): void {
    this.since.delete(keyText(key));
  }

  private isLong(key: ObjectKey): boolean {
    const now = this.clock.monotonic();
    const since = this.since.get(keyText(key)) ?? now;
    this.since.set(keyText(key), since);
    return now - since >= PATIENCE;
  }
}
