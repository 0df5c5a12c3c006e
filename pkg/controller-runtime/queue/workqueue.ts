import type { Clock, Ms, Timer } from '../env/clock.ts';
import { keyText } from '../client/object-key.ts';
import type { ObjectKey } from '../client/types.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { ReadyKeys, isHigher, type QueuePriority, type ReadyItem, type Slots } from './ready-keys.ts';

/** As in client-go (default_rate_limiters.go). A key's backoff doubles up to {@link MAX_BACKOFF}. */
const BASE_BACKOFF: Ms = 5;
/**
 * Two minutes, in milliseconds; client-go's limit is 1000 s. After an outage of the API server, the deletion of a whole
 * cluster can wait for one key, and users wait for that deletion.
 */
const MAX_BACKOFF: Ms = 2 * 60_000;

export type WorkqueueMetrics = ReturnType<Metrics['workqueue']>;

export interface WorkqueueOptions {
  readonly clock: Clock;
  readonly metrics?: WorkqueueMetrics;
  /** How many keys can be processed at the same time. If undefined, as many as there are calls of `get`. */
  readonly slots?: Slots;
  /**
   * A key's group within its namespace, for example the remote system that its reconcile calls. Read when the key
   * becomes ready, and when a ready key is added again. If undefined, a namespace is one group.
   */
  readonly groupOf?: (key: ObjectKey) => string;
}

const UNLIMITED: Slots = { group: Infinity, namespace: Infinity, total: Infinity };

interface Item {
  readonly key: ObjectKey;
  priority: QueuePriority;
  /** Set while the key is ready and not being processed. */
  ready?: ReadyKey;
  state:
    | { readonly kind: 'waiting'; readonly until: Ms; readonly timer: Timer }
    | { readonly kind: 'ready'; readonly since: Ms };
}

interface ReadyKey extends ReadyItem {
  readonly key: ObjectKey;
}

interface Processing {
  readonly since: Ms;
  readonly ready: ReadyKey;
}

/**
 * The workqueue between watches and workers, with the semantics of client-go's workqueue and controller-runtime's
 * priority queue.
 *
 * - A key is handed out to one worker at a time. A key that is added while a worker processes it is handed out again
 *   after `done`.
 * - A key that is added several times is handed out once, with the earliest time and the highest priority of its
 *   additions.
 * - A key is handed out only after it was added, so the worker sees at least the state that caused the addition.
 * - {@link ReadyKeys} chooses the next key: namespaces take turns, then their groups.
 */
export class Workqueue {
  private readonly clock: Clock;
  private readonly metrics: WorkqueueMetrics | undefined;
  private readonly items = new Map<string, Item>();
  private readonly processing = new Map<string, Processing>();
  private readonly ready: ReadyKeys<ReadyKey>;
  private readonly groupOf: (key: ObjectKey) => string;
  private readonly slots: Slots;
  /** How often each key was added with backoff since `forget`. */
  private readonly failures = new Map<string, number>();
  private readonly idleWorkers: ((key: ObjectKey | undefined) => void)[] = [];
  private shuttingDown = false;

  constructor(options: WorkqueueOptions) {
    this.clock = options.clock;
    this.metrics = options.metrics;
    this.slots = options.slots ?? UNLIMITED;
    this.groupOf = options.groupOf ?? (() => '');
    this.ready = new ReadyKeys(this.slots);
    this.metrics?.registerGauges({
      depth: () => this.length,
      processing: () => [...this.processing.values()].map(({ since }) => this.clock.monotonic() - since),
    });
  }

  /** Counts the keys that a worker can take, now or after another worker has called `done` for the same key. */
  get length(): number {
    return [...this.items.values()].filter(({ state }) => state.kind === 'ready').length;
  }

  get mostWorkers(): number {
    return this.slots.total;
  }

  add(key: ObjectKey, priority: QueuePriority = 'normal'): void {
    if (this.shuttingDown) return;
    const id = keyText(key);
    const item = this.items.get(id);
    if (item === undefined) return this.makeReady({ key, priority, state: this.readyState() });
    raisePriority(item, priority);
    if (item.state.kind === 'waiting') {
      item.state.timer.cancel();
      item.state = this.readyState();
      this.makeReady(item);
    } else if (item.ready !== undefined) this.replace(item, item.ready);
  }

  /**
   * Adds the key after `delay`. The default priority is `low` for a key that is being processed with `low`, and
   * `normal` for any other.
   */
  addAfter(key: ObjectKey, delay: Ms, priority?: QueuePriority): void {
    if (this.shuttingDown) return;
    const id = keyText(key);
    const chosen = priority ?? (this.processing.get(id)?.ready.priority === 'low' ? 'low' : 'normal');
    if (!(delay > 0)) return this.add(key, chosen);
    this.metrics?.recordRetry();
    const until = this.clock.monotonic() + delay;
    const item = this.items.get(id);
    if (item === undefined) {
      this.items.set(id, { key, priority: chosen, state: this.waitingState(id, until, delay) });
      return;
    }
    raisePriority(item, chosen);
    if (item.ready !== undefined) this.replace(item, item.ready);
    if (item.state.kind === 'waiting' && until < item.state.until) {
      item.state.timer.cancel();
      item.state = this.waitingState(id, until, delay);
    }
  }

  /** Adds the key after its backoff, which doubles at each call until `forget`. */
  addRateLimited(key: ObjectKey): void {
    const id = keyText(key);
    const failures = this.failures.get(id) ?? 0;
    this.failures.set(id, failures + 1);
    this.addAfter(key, Math.min(BASE_BACKOFF * 2 ** failures, MAX_BACKOFF));
  }

  /** Resets only the backoff. The key stays queued. */
  forget(key: ObjectKey): void {
    this.failures.delete(keyText(key));
  }

  /** The worker must call `done` for the key. Returns `undefined` after `shutDown` when no key can be handed out. */
  get(): Promise<ObjectKey | undefined> {
    const next = this.takeNext();
    if (next !== undefined) return Promise.resolve(next);
    if (this.shuttingDown) return Promise.resolve(undefined);
    return new Promise((resolve) => this.idleWorkers.push(resolve));
  }

  done(key: ObjectKey): void {
    const id = keyText(key);
    const processed = this.processing.get(id);
    if (processed === undefined) return;
    this.processing.delete(id);
    this.ready.finish(processed.ready);
    this.metrics?.recordWorkDuration(this.clock.monotonic() - processed.since);
    const again = this.items.get(id);
    if (again?.state.kind === 'ready') this.enterReady(again);
    this.dispatch();
  }

  /** Ignores later additions, and removes the keys that are not ready yet. Ready keys are still handed out. */
  shutDown(): void {
    this.shuttingDown = true;
    for (const [id, { state }] of this.items) {
      if (state.kind !== 'waiting') continue;
      state.timer.cancel();
      this.items.delete(id);
    }
    this.dispatch();
    // Each `get` that still waits returns `undefined`, because no key can be handed out.
    for (const worker of this.idleWorkers.splice(0)) worker(undefined);
  }

  private readyState(): Item['state'] {
    return { kind: 'ready', since: this.clock.monotonic() };
  }

  private waitingState(id: string, until: Ms, delay: Ms): Item['state'] {
    const timer = this.clock.after(delay, () => {
      const item = this.items.get(id);
      if (item === undefined) return;
      item.state = this.readyState();
      this.makeReady(item);
    });
    return { kind: 'waiting', until, timer };
  }

  private makeReady(item: Item): void {
    const id = keyText(item.key);
    this.items.set(id, item);
    this.metrics?.recordAdd();
    if (this.processing.has(id)) return;
    this.enterReady(item);
    // A single event can add a key twice with different priorities. Dispatching in a microtask lets an idle worker take
    // the key only after both additions.
    queueMicrotask(() => this.dispatch());
  }

  private enterReady(item: Item): void {
    const { key, priority, state } = item;
    const readySince = state.kind === 'ready' ? state.since : this.clock.monotonic();
    const ready = { id: keyText(key), key, namespace: key.namespace, group: this.groupOf(key), priority, readySince };
    item.ready = ready;
    this.ready.add(ready);
  }

  /** Moves a ready key if its group or priority has changed. Otherwise the key keeps its place in the order. */
  private replace(item: Item, before: ReadyKey): void {
    if (this.groupOf(item.key) === before.group && item.priority === before.priority) return;
    this.ready.delete(before);
    this.enterReady(item);
    this.dispatch();
  }

  private dispatch(): void {
    while (this.idleWorkers.length > 0) {
      const next = this.takeNext();
      if (next === undefined) return;
      this.idleWorkers.shift()?.(next);
    }
  }

  private takeNext(): ObjectKey | undefined {
    const now = this.clock.monotonic();
    const ready = this.ready.take();
    if (ready === undefined) return undefined;
    this.items.delete(ready.id);
    this.processing.set(ready.id, { since: now, ready });
    this.metrics?.recordQueueDuration(now - ready.readySince);
    return ready.key;
  }
}

function raisePriority(item: Item, priority: QueuePriority): void {
  const current = item.ready?.priority ?? item.priority;
  item.priority = isHigher(priority, current) ? priority : current;
}
