import type { Clock, Ms, Timer } from '../../env/clock.ts';
import type { ObjectKey } from '../../kube/types.ts';
import type { QueuePriority, ReadyItem } from './ready-keys.ts';
import { ReadyKeys, isHigher } from './ready-keys.ts';
import type { Backend } from './worker-shares.ts';

/**
 * The shortest and the longest backoff of a key, as client-go's default for controllers: 5 ms after the first failure,
 * doubling up to 1000 s (default_rate_limiters.go).
 */
const BASE_BACKOFF: Ms = 5;
const MAX_BACKOFF: Ms = 1_000_000;

export interface WorkqueueMetrics {
  recordAdd(): void;
  recordRetry(): void;
  /** Records how long, in ms, a key was ready before a worker took it. */
  recordQueueDuration(span: Ms): void;
  /** Records how long, in ms, a worker processed a key. */
  recordWorkDuration(span: Ms): void;
  /** Registers gauges whose values are computed at each scrape of Prometheus. */
  registerGauges(queue: { depth(): number; processing(): readonly Ms[] }): void;
}

/** The values by which the workqueue divides its workers between the keys. */
export interface Placement extends Omit<Backend, 'namespace'> {
  readonly cluster: string;
  /**
   * The place of the key among the keys of its cluster. The key with the lowest `order`, compared as text, goes first.
   */
  readonly order: string;
}

export interface WorkqueueOptions {
  readonly clock: Clock;
  readonly metrics?: WorkqueueMetrics;
  /**
   * The number of workers, which the workqueue divides between the namespaces, regions and identities that have work. Undefined:
   * every call of `get` gets a key as soon as a key is ready.
   */
  readonly workers?: number;
  /**
   * Returns the cluster, order, region and identity of a key. Called when the key becomes ready, and when a ready key
   * is added again.
   */
  readonly placementOf?: (key: ObjectKey) => Placement;
  /**
   * Whether the key is now the first key with work to do in its cluster. Called for a key of priority `head` when a
   * worker could take the key. Undefined: every key counts as the first.
   */
  readonly isHead?: (key: ObjectKey) => boolean;
}

const NO_PLACEMENT: Placement = { cluster: '', order: '', region: '', identity: '' };

/** A key in the workqueue. Each key has at most one item, with the earliest time of all additions of the key. */
interface Item {
  readonly key: ObjectKey;
  priority: QueuePriority;
  /** The entry of the item among the ready keys, while the key is ready and not being processed. */
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
 * - {@link ReadyKeys} chooses the next key: fair between namespaces, clusters, regions and identities.
 */
export class Workqueue {
  private readonly clock: Clock;
  private readonly metrics: WorkqueueMetrics | undefined;
  private readonly items = new Map<string, Item>();
  private readonly processing = new Map<string, Processing>();
  /** The keys that are ready and are not being processed. */
  private readonly ready: ReadyKeys<ReadyKey>;
  private readonly placementOf: (key: ObjectKey) => Placement;
  /** How often each key was added with backoff since its last `forget`. */
  private readonly failures = new Map<string, number>();
  private readonly idleWorkers: ((key: ObjectKey | undefined) => void)[] = [];
  private shuttingDown = false;

  constructor(options: WorkqueueOptions) {
    this.clock = options.clock;
    this.metrics = options.metrics;
    const { workers, isHead } = options;
    this.ready = new ReadyKeys({ workers, isHead: isHead && (({ key }) => isHead(key)) });
    this.placementOf = options.placementOf ?? (() => NO_PLACEMENT);
    this.metrics?.registerGauges({
      depth: () => [...this.items.values()].filter(({ state }) => state.kind === 'ready').length,
      processing: () => [...this.processing.values()].map(({ since }) => this.clock.monotonic() - since),
    });
  }

  /** The number of keys that are ready and wait for a worker. */
  get length(): number {
    return this.ready.size;
  }

  /** The largest number of keys that are processed at the same time; undefined: not limited. */
  get mostWorkers(): number | undefined {
    return this.ready.most;
  }

  /** Makes the key ready for a worker now. Does nothing after `shutDown`. */
  add(key: ObjectKey, priority: QueuePriority = 'normal'): void {
    if (this.shuttingDown) return;
    const id = idOf(key);
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
   * Makes the key ready for a worker in `delay` ms, or earlier if the key is already queued for an earlier time. The
   * default priority is `low` for a key that is being processed with priority `low`, and `normal` for any other key.
   */
  addAfter(key: ObjectKey, delay: Ms, priority?: QueuePriority): void {
    if (this.shuttingDown) return;
    const id = idOf(key);
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

  /** Makes the key ready for a worker after the backoff of the key. The backoff doubles at each call until `forget`. */
  addRateLimited(key: ObjectKey): void {
    const id = idOf(key);
    const failures = this.failures.get(id) ?? 0;
    this.failures.set(id, failures + 1);
    this.addAfter(key, Math.min(BASE_BACKOFF * 2 ** failures, MAX_BACKOFF));
  }

  /** Resets the backoff of the key. A queued key stays in the workqueue. */
  forget(key: ObjectKey): void {
    this.failures.delete(idOf(key));
  }

  /**
   * Waits for the next key; returns `undefined` when the workqueue is shut down and no key can be handed out. The
   * worker must call `done` after it has processed the key.
   */
  get(): Promise<ObjectKey | undefined> {
    const next = this.takeNext();
    if (next !== undefined) return Promise.resolve(next);
    if (this.shuttingDown) return Promise.resolve(undefined);
    return new Promise((resolve) => this.idleWorkers.push(resolve));
  }

  /** Records that the worker has processed the key. A key that was added while it was processed is handed out again. */
  done(key: ObjectKey): void {
    const id = idOf(key);
    const processed = this.processing.get(id);
    if (processed === undefined) return;
    this.processing.delete(id);
    this.ready.finish(processed.ready);
    this.metrics?.recordWorkDuration(this.clock.monotonic() - processed.since);
    const again = this.items.get(id);
    if (again?.state.kind === 'ready') this.enterReady(again);
    this.dispatch();
  }

  /**
   * Ignores keys that are added after this call, and removes the keys that are not ready yet. Keys that are ready are
   * still handed out.
   */
  shutDown(): void {
    this.shuttingDown = true;
    for (const [id, { state }] of this.items) {
      if (state.kind !== 'waiting') continue;
      state.timer.cancel();
      this.items.delete(id);
    }
    // A worker waits in `get` only while no key can be handed out. So each `get` that still waits returns `undefined`
    // now.
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
    const id = idOf(item.key);
    this.items.set(id, item);
    this.metrics?.recordAdd();
    if (this.processing.has(id)) return;
    const ready = this.enterReady(item);
    if (this.ready.canTake(ready)) this.dispatch();
  }

  private enterReady(item: Item): ReadyKey {
    const { key, priority, state } = item;
    const placement = this.placementOf(key);
    const { order, region, identity } = placement;
    const ready: ReadyKey = {
      id: idOf(key),
      key,
      namespace: key.namespace,
      group: groupOf(placement),
      order,
      priority,
      backend: { namespace: key.namespace, region, identity },
      readySince: state.kind === 'ready' ? state.since : this.clock.monotonic(),
    };
    item.ready = ready;
    this.ready.add(ready);
    return ready;
  }

  /**
   * Moves a ready key to its new place if its cluster, region, identity, order or priority has changed. Otherwise the
   * key keeps its position in the workqueue.
   */
  private replace(item: Item, before: ReadyKey): void {
    const placement = this.placementOf(item.key);
    const isSame = groupOf(placement) === before.group && placement.order === before.order;
    if (isSame && item.priority === before.priority) return;
    this.ready.delete(before);
    const ready = this.enterReady(item);
    if (this.ready.canTake(ready)) this.dispatch();
  }

  /** Gives ready keys to idle workers, until no key can be handed out or no worker is idle. */
  private dispatch(): void {
    while (this.idleWorkers.length > 0) {
      const next = this.takeNext();
      if (next === undefined) return;
      this.idleWorkers.shift()?.(next);
    }
  }

  private takeNext(): ObjectKey | undefined {
    const now = this.clock.monotonic();
    const ready = this.ready.take(now);
    if (ready === undefined) return undefined;
    this.items.delete(ready.id);
    this.processing.set(ready.id, { since: now, ready });
    this.metrics?.recordQueueDuration(now - ready.readySince);
    return ready.key;
  }
}

const groupOf = ({ cluster, region, identity }: Placement): string => [cluster, region, identity].join('|');

function raisePriority(item: Item, priority: QueuePriority): void {
  const current = item.ready?.priority ?? item.priority;
  item.priority = isHigher(priority, current) ? priority : current;
}

/**
 * Returns the ID of a key: `namespace/name`. The ID is unique, because Kubernetes namespaces and names contain no
 * slash.
 */
const idOf = ({ namespace, name }: ObjectKey): string => `${namespace}/${name}`;
