import { fieldAt, textAt } from '../../api/record.ts';
import type { Clock, Ms } from '../env/clock.ts';
import { untilAborted } from '../env/deadline.ts';
import type { Logger } from '../env/logger.ts';
import type { Random } from '../env/random.ts';
import { Reflector } from '../kube/reflector.ts';
import { Store } from '../kube/store.ts';
import type { KubeClient, KubeObject, ObjectKey } from '../kube/types.ts';
import { LEASES } from './lease.ts';

export interface ReleaseWatchOptions {
  readonly kube: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly lease: ObjectKey;
}

/**
 * Tells a candidate that the lease was given up, by a watch of that one Lease.
 *
 * It is a hint for when to try, and no more: whether the lease may be taken is decided on what the attempt itself reads.
 * A watch that is refused or broken costs the candidate its haste, and nothing else.
 */
export class ReleaseWatch {
  private readonly options: ReleaseWatchOptions;
  private readonly stopping = new AbortController();
  private isWatching = false;
  /** Seen since the last wait ended: a release during an attempt must not be missed. */
  private isReleased = false;
  private wake: (() => void) | undefined;

  constructor(options: ReleaseWatchOptions) {
    this.options = options;
  }

  /** Waits `span` ms, or until the lease is given up. Throws the signal's reason when it aborts first. */
  async wait(span: Ms, signal: AbortSignal): Promise<void> {
    this.start();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.options.clock.after(span, resolve);
    this.wake = resolve;
    if (this.isReleased) resolve();
    try {
      await untilAborted(signal, () => promise);
    } finally {
      timer.cancel();
      this.wake = undefined;
      this.isReleased = false;
    }
  }

  stop(): void {
    this.stopping.abort(new Error('the lease is not waited for any more'));
  }

  /** Not before somebody waits: most processes are alone, and lead at once. */
  private start(): void {
    if (this.isWatching) return;
    this.isWatching = true;
    const { kube, lease, logger, clock, random } = this.options;
    const store = new Store({ name: 'leases.coordination.k8s.io', logger });
    store.onChange((change) => {
      if (change.type !== 'deleted') this.see(change.object);
    });
    const reflector = new Reflector({
      client: kube,
      store,
      resolve: () => Promise.resolve(LEASES),
      clock,
      random,
      logger,
      namespace: lease.namespace,
      fieldSelector: `metadata.name=${lease.name}`,
    });
    reflector
      .run(this.stopping.signal)
      .catch((error: unknown) => logger.error('The watch of the lease has ended', error));
  }

  private see(object: KubeObject): void {
    if (textAt(fieldAt(object, 'spec'), 'holderIdentity') !== undefined) return;
    this.isReleased = true;
    this.wake?.();
  }
}
