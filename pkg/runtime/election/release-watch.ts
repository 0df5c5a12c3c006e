import { fieldAt, textAt } from '../../../api/record.ts';
import type { Clock, Ms } from '../../env/clock.ts';
import { untilAborted } from '../../async/deadline.ts';
import type { Logger } from '../../env/logger.ts';
import type { Random } from '../../env/random.ts';
import { Reflector } from '../../kube/cache/reflector.ts';
import { Store } from '../../kube/cache/store.ts';
import type { KubeClient, KubeObject, ObjectKey } from '../../kube/types.ts';
import { LEASES } from './lease.ts';

export interface ReleaseWatchOptions {
  readonly kube: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly lease: ObjectKey;
}

/**
 * Wakes the candidate when the leader releases the lease. The watch only says when to make an attempt, which reads the
 * Lease and decides. If the watch does not work, the retry period applies.
 */
export class ReleaseWatch {
  private readonly options: ReleaseWatchOptions;
  private readonly stopping = new AbortController();
  private isWatching = false;
  /** Since the latest `wait` ended, e.g. while the candidate tried to acquire the lease. */
  private isReleased = false;
  private wake: (() => void) | undefined;

  constructor(options: ReleaseWatchOptions) {
    this.options = options;
  }

  /** Waits `span` ms, or until the leader releases the lease. */
  async wait(span: Ms, signal: AbortSignal): Promise<void> {
    this.startWatching();
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

  /** Only at the first `wait`: a single replica becomes leader at once, and never needs the watch. */
  private startWatching(): void {
    if (this.isWatching) return;
    this.isWatching = true;
    const { kube, lease, logger, clock, random } = this.options;
    const store = new Store({ name: 'leases.coordination.k8s.io', logger });
    store.onChange((change) => {
      if (change.type !== 'deleted') this.observeLease(change.object);
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

  private observeLease(object: KubeObject): void {
    if (textAt(fieldAt(object, 'spec'), 'holderIdentity') !== undefined) return;
    this.isReleased = true;
    this.wake?.();
  }
}
