import type { Clock, Ms, Timer } from '../env/clock.ts';
import type { ObjectKey } from '../kube/types.ts';

/** client-go's default for controllers: 5 ms after the first failure, doubling up to 1000 s (default_rate_limiters.go). */
const BASE_BACKOFF: Ms = 5;
const LONGEST_BACKOFF: Ms = 1_000_000;

/**
 * `low` is for the backlog of a first list and for resyncs: what changes now goes first, as in controller-runtime. `high` is
 * for what other keys wait for, and for that one time.
 */
export type Priority = 'low' | 'normal' | 'high';

/** In the order in which they are handed out. */
const PRIORITIES: readonly Priority[] = ['high', 'normal', 'low'];
const isHigher = (one: Priority, other: Priority): boolean => PRIORITIES.indexOf(one) < PRIORITIES.indexOf(other);

export interface WorkqueueMetrics {
  added(): void;
  retried(): void;
  /** How long, in ms, a key was ready before a worker took it. */
  queuedFor(span: Ms): void;
  /** How long, in ms, a worker had a key. */
  workedFor(span: Ms): void;
  /** Gauges are read when somebody asks, so that no timer has to keep them fresh. */
  observe(queue: { depth(): number; processing(): readonly Ms[] }): void;
}

export interface WorkqueueOptions {
  readonly clock: Clock;
  readonly metrics?: WorkqueueMetrics;
}

/** What is to be done for one key: at most one per key, at the earliest time anybody asked for. */
interface Item {
  readonly key: ObjectKey;
  priority: Priority;
  when:
    | { readonly kind: 'waiting'; readonly until: Ms; readonly timer: Timer }
    | { readonly kind: 'ready'; readonly since: Ms };
}

interface Processing {
  readonly since: Ms;
  readonly priority: Priority;
}

/**
 * The queue between watches and workers, to the semantics of client-go's workqueue and controller-runtime's priority
 * queue.
 *
 * - A key is handed out to one worker at a time. Added meanwhile, it is handed out again after `done`.
 * - However often a key is added, it is handed out once; the earliest time and the highest priority asked for count.
 * - A key added is handed out after that moment, not before: the worker sees what the adder saw.
 */
export class Workqueue {
  private readonly clock: Clock;
  private readonly metrics: WorkqueueMetrics | undefined;
  private readonly items = new Map<string, Item>();
  private readonly processing = new Map<string, Processing>();
  /** Ready and in nobody's hands, oldest first: a Map iterates in the order of insertion. */
  private readonly lanes: Readonly<Record<Priority, Map<string, Item>>> = {
    high: new Map(),
    normal: new Map(),
    low: new Map(),
  };
  /** How often a key was added with backoff since it was last forgotten. */
  private readonly failures = new Map<string, number>();
  private readonly workers: ((key: ObjectKey | undefined) => void)[] = [];
  private shuttingDown = false;

  constructor(options: WorkqueueOptions) {
    this.clock = options.clock;
    this.metrics = options.metrics;
    this.metrics?.observe({
      depth: () => [...this.items.values()].filter(({ when }) => when.kind === 'ready').length,
      processing: () => [...this.processing.values()].map(({ since }) => this.clock.monotonic() - since),
    });
  }

  /** How many keys are ready and wait for a worker. */
  get length(): number {
    return PRIORITIES.reduce((sum, priority) => sum + this.lanes[priority].size, 0);
  }

  /** Makes the key ready now. Does nothing after a shutdown. */
  add(key: ObjectKey, priority: Priority = 'normal'): void {
    if (this.shuttingDown) return;
    const id = idOf(key);
    const item = this.items.get(id);
    if (item === undefined) return this.becomeReady({ key, priority, when: this.readyNow() });
    this.raise(item, priority);
    if (item.when.kind === 'waiting') {
      item.when.timer.cancel();
      item.when = this.readyNow();
      this.becomeReady(item);
    }
  }

  /**
   * Makes the key ready `delay` ms from now, unless it is so earlier. The priority is, if not given, `low` for a key that is
   * being processed with it.
   */
  addAfter(key: ObjectKey, delay: Ms, priority?: Priority): void {
    if (this.shuttingDown) return;
    const id = idOf(key);
    const chosen = priority ?? (this.processing.get(id)?.priority === 'low' ? 'low' : 'normal');
    if (!(delay > 0)) return this.add(key, chosen);
    this.metrics?.retried();
    const until = this.clock.monotonic() + delay;
    const item = this.items.get(id);
    if (item === undefined) {
      this.items.set(id, { key, priority: chosen, when: this.waiting(id, until, delay) });
      return;
    }
    this.raise(item, chosen);
    if (item.when.kind === 'waiting' && until < item.when.until) {
      item.when.timer.cancel();
      item.when = this.waiting(id, until, delay);
    }
  }

  /** Makes the key ready after its backoff, which doubles at each call until `forget`. */
  addRateLimited(key: ObjectKey): void {
    const id = idOf(key);
    const failures = this.failures.get(id) ?? 0;
    this.failures.set(id, failures + 1);
    this.addAfter(key, Math.min(BASE_BACKOFF * 2 ** failures, LONGEST_BACKOFF));
  }

  /** Starts the key's backoff anew. Does not take it off the queue. */
  forget(key: ObjectKey): void {
    this.failures.delete(idOf(key));
  }

  /** The next key, as soon as there is one; `undefined` once the queue is shut down and empty. Call `done` afterwards. */
  get(): Promise<ObjectKey | undefined> {
    const item = this.next();
    if (item !== undefined) return Promise.resolve(this.handOut(item));
    if (this.shuttingDown) return Promise.resolve(undefined);
    return new Promise((resolve) => this.workers.push(resolve));
  }

  /** Gives a key back. It is ready again at once if it was added in the meantime. */
  done(key: ObjectKey): void {
    const id = idOf(key);
    const processed = this.processing.get(id);
    if (processed === undefined) return;
    this.processing.delete(id);
    this.metrics?.workedFor(this.clock.monotonic() - processed.since);
    const again = this.items.get(id);
    if (again?.when.kind === 'ready') this.offer(id, again);
  }

  /** No more keys come in, what waits for a time is dropped, what is ready is still handed out. */
  shutDown(): void {
    this.shuttingDown = true;
    for (const [id, { when }] of this.items) {
      if (when.kind !== 'waiting') continue;
      when.timer.cancel();
      this.items.delete(id);
    }
    // Workers wait only while nothing is ready.
    for (const worker of this.workers.splice(0)) worker(undefined);
  }

  private readyNow(): Item['when'] {
    return { kind: 'ready', since: this.clock.monotonic() };
  }

  private waiting(id: string, until: Ms, delay: Ms): Item['when'] {
    const timer = this.clock.after(delay, () => {
      const item = this.items.get(id);
      if (item === undefined) return;
      item.when = this.readyNow();
      this.becomeReady(item);
    });
    return { kind: 'waiting', until, timer };
  }

  private becomeReady(item: Item): void {
    const id = idOf(item.key);
    this.items.set(id, item);
    this.metrics?.added();
    if (!this.processing.has(id)) this.offer(id, item);
  }

  private raise(item: Item, priority: Priority): void {
    if (!isHigher(priority, item.priority)) return;
    const id = idOf(item.key);
    if (this.lanes[item.priority].delete(id)) this.lanes[priority].set(id, item);
    item.priority = priority;
  }

  private offer(id: string, item: Item): void {
    this.lanes[item.priority].set(id, item);
    const worker = this.workers.shift();
    if (worker === undefined) return;
    const next = this.next();
    if (next !== undefined) worker(this.handOut(next));
  }

  private next(): Item | undefined {
    for (const priority of PRIORITIES) for (const item of this.lanes[priority].values()) return item;
    return undefined;
  }

  private handOut(item: Item): ObjectKey {
    const id = idOf(item.key);
    const now = this.clock.monotonic();
    this.lanes[item.priority].delete(id);
    this.items.delete(id);
    this.processing.set(id, { since: now, priority: item.priority });
    if (item.when.kind === 'ready') this.metrics?.queuedFor(now - item.when.since);
    return item.key;
  }
}

/** Neither part can hold a slash. */
const idOf = ({ namespace, name }: ObjectKey): string => `${namespace}/${name}`;
