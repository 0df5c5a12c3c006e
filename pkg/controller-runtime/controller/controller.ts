import { nextTurn } from '../async/deadline.ts';
import type { Clock, Ms } from '../env/clock.ts';
import type { Logger } from '../log/logger.ts';
import { isPanic } from '../env/panic.ts';
import type { Random } from '../env/random.ts';
import type { ObjectKey } from '../client/types.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Runnable } from '../manager/runnable.ts';
import type { Workqueue } from '../queue/workqueue.ts';
import type { QueuePriority } from '../queue/ready-keys.ts';

/** When the key is reconciled again. A key whose reconcile throws is retried with its backoff. */
export type Requeue =
  | { readonly kind: 'done' }
  | { readonly kind: 'after'; readonly delay: Ms; readonly reason: string; readonly priority?: QueuePriority }
  /** The key is retried with its backoff, and no error is counted. */
  | { readonly kind: 'backoff'; readonly reason: string }
  /** Handled like `backoff`: another client changed the Kubernetes object after this reconcile had read it. */
  | { readonly kind: 'conflict' }
  /** An error is counted, and the key is not retried until a watch reports a change of the object. */
  | { readonly kind: 'terminal'; readonly error: unknown };

export interface ReconcileContext {
  /** Adds the object and the `reconcileID` to each log line. */
  readonly logger: Logger;
  /** Aborts when the manager stops or loses its lease. */
  readonly signal: AbortSignal;
}

export type Reconcile = (key: ObjectKey, context: ReconcileContext) => Promise<Requeue>;

export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after';

export interface ControllerOptions {
  /** For logs and metrics. By controller-runtime's convention, the kind in lower case. */
  readonly name: string;
  readonly object: { readonly group: string; readonly kind: string };
  /** How many keys are reconciled at the same time, if the workqueue has enough slots. */
  readonly concurrency: number;
  readonly queue: Workqueue;
  readonly reconcile: Reconcile;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: ReturnType<Metrics['controller']>;
}

type ReconcileOutcome =
  Requeue | { readonly kind: 'error' | 'panic'; readonly error: unknown } | { readonly kind: 'stopped' };

/**
 * Reconciles the keys of a queue with several workers, as a controller of controller-runtime does:
 *
 * | the reconciler          | the key                                       | counted as      |
 * |-------------------------|-----------------------------------------------|-----------------|
 * | returns `done`          | loses its backoff                             | success         |
 * | returns `after`         | loses its backoff, is added after the delay   | requeue_after   |
 * | returns `backoff`       | is added with backoff                         | requeue         |
 * | returns `conflict`      | is added with backoff                         | requeue         |
 * | returns `terminal`      | is not added before its object changes        | error, terminal |
 * | throws an error         | is added with backoff                         | error           |
 * | throws a panic          | is added with backoff                         | error, panic    |
 *
 * `run` resolves when the signal has aborted and every running reconcile has returned. Queued keys are not reconciled.
 */
export class Controller implements Runnable {
  readonly name: string;
  private readonly options: ControllerOptions;
  private readonly logger: Logger;
  private readonly maxConcurrentReconciles: number;
  /** Set when a reconcile has begun in this turn of the event loop. */
  private turn: Promise<void> | undefined;

  constructor(options: ControllerOptions) {
    if (!Number.isInteger(options.concurrency) || options.concurrency < 1)
      throw new Error(
        `${options.name}: the number of workers must be a positive whole number, not ${options.concurrency}`,
      );
    this.options = options;
    this.name = options.name;
    this.maxConcurrentReconciles = Math.min(options.queue.mostWorkers, options.concurrency);
    options.metrics?.setMaxConcurrentReconciles(this.maxConcurrentReconciles);
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
    await Promise.all(Array.from({ length: this.maxConcurrentReconciles }, () => this.runWorker(signal)));
    this.logger.info('All workers finished');
  }

  private async runWorker(signal: AbortSignal): Promise<void> {
    const { queue, metrics } = this.options;
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      metrics?.addActiveWorkers(1);
      try {
        await this.startInTurn(signal);
        if (!signal.aborted) await this.processKey(key, signal);
      } finally {
        queue.done(key);
        metrics?.addActiveWorkers(-1);
      }
    }
  }

  /**
   * Starts one reconcile in each turn of the event loop. Otherwise, many reconciles that await nothing would run in a
   * row while requests, timers, and health checks wait.
   */
  private async startInTurn(signal: AbortSignal): Promise<void> {
    while (this.turn !== undefined) await this.turn;
    this.turn = nextTurn(this.options.clock, signal).then(() => (this.turn = undefined));
  }

  private async processKey(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const { clock, random, metrics, object } = this.options;
    const logger = this.logger.with({
      [object.kind]: key,
      namespace: key.namespace,
      name: key.name,
      reconcileID: random.uuid(),
    });
    const started = clock.monotonic();
    const outcome = await this.reconcileKey(key, { logger, signal });
    const result = this.requeueByOutcome(key, outcome, logger);
    metrics?.recordReconcile(result, clock.monotonic() - started);
  }

  private async reconcileKey(key: ObjectKey, context: Parameters<Reconcile>[1]): Promise<ReconcileOutcome> {
    try {
      const next = await this.options.reconcile(key, context);
      if (next.kind === 'after' && !(next.delay >= 0))
        return { kind: 'panic', error: new RangeError(`a requeue after ${next.delay} ms`) };
      return next;
    } catch (error) {
      if (isPanic(error)) return { kind: 'panic', error };
      // When the controller stops, the aborted signal makes the awaits of the reconciler throw. That is not an error.
      return context.signal.aborted ? { kind: 'stopped' } : { kind: 'error', error };
    }
  }

  private requeueByOutcome(key: ObjectKey, outcome: ReconcileOutcome, logger: Logger): ReconcileResult {
    const { queue, metrics } = this.options;
    switch (outcome.kind) {
      case 'done':
        queue.forget(key);
        return 'success';
      case 'after':
        logger.debug('Reconcile done, requeueing', { after: `${Math.round(outcome.delay)}ms`, reason: outcome.reason });
        queue.forget(key);
        queue.addAfter(key, outcome.delay, outcome.priority);
        return 'requeue_after';
      case 'backoff':
        logger.debug('Reconcile done, requeueing with backoff', { reason: outcome.reason });
        queue.addRateLimited(key);
        return 'requeue';
      case 'conflict':
        logger.debug('Another client changed the object first, requeueing with backoff');
        queue.addRateLimited(key);
        return 'requeue';
      case 'stopped':
        logger.debug('Reconcile stopped');
        return 'requeue';
      case 'terminal':
        metrics?.recordError('terminal');
        logger.error('Reconciler error', outcome.error, { terminal: true });
        return 'error';
      case 'error':
        metrics?.recordError('retried');
        queue.addRateLimited(key);
        logger.error('Reconciler error', outcome.error);
        return 'error';
      case 'panic':
        metrics?.recordError('panic');
        queue.addRateLimited(key);
        logger.error('Observed a panic', outcome.error);
        return 'error';
    }
  }
}
