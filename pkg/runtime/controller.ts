import type { Clock, Ms } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import { isPanic } from '../env/panic.ts';
import type { Random } from '../env/random.ts';
import type { ObjectKey } from '../kube/types.ts';
import type { Reconcile, Requeue, Runnable } from './types.ts';
import type { Workqueue } from './workqueue.ts';

/** How a pass ended, in the words of the label `result` of `controller_runtime_reconcile_total`. */
export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after';

export interface ControllerMetrics {
  /** A worker took (+1) or gave back (-1) a key. */
  active(by: 1 | -1): void;
  reconciled(result: ReconcileResult, span: Ms): void;
  failed(kind: 'retried' | 'terminal' | 'panic'): void;
}

export interface ControllerOptions {
  /** In logs and metrics: the kind in lower case, as controller-runtime names its controllers. */
  readonly name: string;
  readonly object: { readonly group: string; readonly kind: string };
  /** How many keys are worked on at the same time. */
  readonly concurrency: number;
  readonly queue: Workqueue;
  readonly reconcile: Reconcile;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: ControllerMetrics;
}

type Outcome = Requeue | { readonly kind: 'error' | 'panic'; readonly error: unknown } | { readonly kind: 'stopped' };

/**
 * Works off a queue with a number of workers, a key never in two of them, to the contract of controller-runtime:
 *
 * | the pass            | the key                    | counted as             |
 * |---------------------|----------------------------|------------------------|
 * | `done`              | forgotten                  | success                |
 * | `after`             | forgotten, added after     | requeue_after          |
 * | `backoff`           | added with backoff         | requeue                |
 * | `conflict`          | added with backoff         | requeue                |
 * | `terminal`          | left until it changes      | error, terminal        |
 * | throws              | added with backoff         | error                  |
 * | throws a panic      | added with backoff         | error, panic           |
 *
 * `run` ends when the signal aborts and every running pass has returned; what is still queued is left.
 */
export class Controller implements Runnable {
  readonly name: string;
  readonly needsLeadership = true;
  private readonly options: ControllerOptions;
  private readonly logger: Logger;

  constructor(options: ControllerOptions) {
    if (!Number.isInteger(options.concurrency) || options.concurrency < 1)
      throw new Error(
        `${options.name}: the number of workers must be a positive whole number, not ${options.concurrency}`,
      );
    this.options = options;
    this.name = options.name;
    this.logger = options.logger.with({
      controller: options.name,
      controllerGroup: options.object.group,
      controllerKind: options.object.kind,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue, concurrency } = this.options;
    const stop = (): void => queue.shutDown();
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    this.logger.info('Starting workers', { workers: concurrency });
    await Promise.all(Array.from({ length: concurrency }, () => this.work(signal)));
    this.logger.info('All workers finished');
  }

  private async work(signal: AbortSignal): Promise<void> {
    const { queue, metrics } = this.options;
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      metrics?.active(1);
      try {
        if (!signal.aborted) await this.handle(key, signal);
      } finally {
        queue.done(key);
        metrics?.active(-1);
      }
    }
  }

  private async handle(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const { clock, random, metrics, object } = this.options;
    const logger = this.logger.with({
      [object.kind]: key,
      namespace: key.namespace,
      name: key.name,
      reconcileID: random.uuid(),
    });
    const started = clock.monotonic();
    const outcome = await this.pass(key, { logger, signal });
    const result = this.settle(key, outcome, logger);
    metrics?.reconciled(result, clock.monotonic() - started);
  }

  /** Never throws: one broken pass must not cost a worker. */
  private async pass(key: ObjectKey, context: Parameters<Reconcile>[1]): Promise<Outcome> {
    try {
      const next = await this.options.reconcile(key, context);
      if (next.kind === 'after' && !(next.delay >= 0))
        return { kind: 'panic', error: new RangeError(`a requeue after ${next.delay} ms`) };
      return next;
    } catch (error) {
      if (isPanic(error)) return { kind: 'panic', error };
      // A stop makes every await of a pass throw: that is no failure of the pass.
      return context.signal.aborted ? { kind: 'stopped' } : { kind: 'error', error };
    }
  }

  private settle(key: ObjectKey, outcome: Outcome, logger: Logger): ReconcileResult {
    const { queue, metrics } = this.options;
    switch (outcome.kind) {
      case 'done':
        queue.forget(key);
        return 'success';
      case 'after':
        logger.debug('Reconcile done, requeueing', { after: `${Math.round(outcome.delay)}ms`, why: outcome.why });
        queue.forget(key);
        queue.addAfter(key, outcome.delay, outcome.priority);
        return 'requeue_after';
      case 'backoff':
        logger.debug('Reconcile done, requeueing with backoff', { why: outcome.why });
        queue.addRateLimited(key);
        return 'requeue';
      case 'conflict':
        logger.debug('Somebody else wrote first, requeueing with backoff');
        queue.addRateLimited(key);
        return 'requeue';
      case 'stopped':
        logger.debug('Reconcile stopped');
        return 'requeue';
      case 'terminal':
        metrics?.failed('terminal');
        logger.error('Reconciler error', outcome.error, { terminal: true });
        return 'error';
      case 'error':
        metrics?.failed('retried');
        queue.addRateLimited(key);
        logger.error('Reconciler error', outcome.error);
        return 'error';
      case 'panic':
        metrics?.failed('panic');
        queue.addRateLimited(key);
        logger.error('Observed a panic', outcome.error);
        return 'error';
    }
  }
}
