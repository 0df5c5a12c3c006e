import type { Ms } from '../../env/clock.ts';
import type { RoundRobinItem } from './round-robin.ts';
import { RoundRobin, isOld } from './round-robin.ts';
import type { Backend, Claim } from './worker-shares.ts';
import { WorkerShares } from './worker-shares.ts';

/**
 * The priority of a key in the workqueue. A priority applies only to the next time that the key is handed out.
 *
 * - `low` is for the objects of a watch's initial list and for resyncs, so that changed objects are reconciled before
 *   them, as in controller-runtime.
 * - `head` is for a key that may be the first key with work to do in its cluster. The workqueue checks this only when a
 *   worker could take the key, because until then another key may become the first. A key that is not the first gets
 *   the priority `normal`.
 * - `high` is for a key whose reconcile other keys wait for.
 */
export type QueuePriority = 'low' | 'normal' | 'head' | 'high';

const PRIORITIES_HIGHEST_FIRST: readonly QueuePriority[] = ['high', 'head', 'normal', 'low'];
export const isHigher = (one: QueuePriority, other: QueuePriority): boolean =>
  PRIORITIES_HIGHEST_FIRST.indexOf(one) < PRIORITIES_HIGHEST_FIRST.indexOf(other);

/**
 * Of this number of keys that the workqueue hands out, one is chosen by its waiting time: the key that has been ready
 * for the longest time, whatever its priority. This key must have been ready for at least ten seconds.
 */
const HAND_OUTS_PER_LONGEST_WAITING_KEY = 4;

export interface ReadyItem extends RoundRobinItem {
  /**
   * {@link ReadyKeys} changes the priority `head` to `normal` if the key is not the first key with work to do in its
   * cluster.
   */
  priority: QueuePriority;
  readonly backend: Backend;
}

export interface ReadyKeysOptions<Item> {
  /** The number of workers; undefined: any number of keys may be processed at the same time. */
  readonly workers: number | undefined;
  /**
   * Whether the item is now the first item with work to do in its cluster. Without this function, every item counts as
   * the first.
   */
  readonly isHead?: ((item: Item) => boolean) | undefined;
}

/**
 * The keys that are ready for a worker, and the choice of the next one:
 *
 * 1. A key whose region and identity use less than their share of the workers goes before all others.
 * 2. Higher priorities go first, and keys with priority `high` may use additional workers. Every fourth hand-out is for
 *    the key that has been ready for the longest time, if that is at least ten seconds.
 * 3. Within a priority, the namespaces take turns, and the clusters of a namespace take turns.
 * 4. Within a cluster, a key that has been ready for at least ten seconds goes first. The other keys are sorted by
 *    their `order`.
 */
export class ReadyKeys<Item extends ReadyItem> {
  private readonly levels: readonly { readonly priority: QueuePriority; readonly items: RoundRobin<Item> }[];
  private readonly shares: WorkerShares | undefined;
  private readonly isHead: (item: Item) => boolean;
  private handOutsSinceLongestWaitingKey = 0;

  constructor({ workers, isHead = () => true }: ReadyKeysOptions<Item>) {
    this.levels = PRIORITIES_HIGHEST_FIRST.map((priority) => ({ priority, items: new RoundRobin<Item>() }));
    this.shares = workers === undefined ? undefined : new WorkerShares(workers);
    this.isHead = isHead;
  }

  /** The largest number of keys that workers process at the same time; undefined: not limited. */
  get most(): number | undefined {
    return this.shares?.most;
  }

  get size(): number {
    return this.levels.reduce((sum, { items }) => sum + items.size, 0);
  }

  add(item: Item): void {
    this.itemsOf(item.priority).add(item);
    this.shares?.addReady(item.backend);
  }

  /** Removes an item, unless a worker is processing it. Returns whether the item was ready. */
  delete(item: Item): boolean {
    const wasReady = this.itemsOf(item.priority).delete(item);
    if (wasReady) this.shares?.removeReady(item.backend);
    return wasReady;
  }

  canTake(item: Item): boolean {
    return this.claim(item) !== 'none';
  }

  /** Removes and returns the next item; undefined when no item is ready or all workers are busy. */
  take(now: Ms): Item | undefined {
    const longestWaiting = this.longestWaitingItem(now);
    const item = longestWaiting ?? this.nextItem(now);
    if (item === undefined) return undefined;
    this.handOutsSinceLongestWaitingKey = longestWaiting === undefined ? this.handOutsSinceLongestWaitingKey + 1 : 0;
    this.itemsOf(item.priority).take(item);
    this.shares?.removeReady(item.backend);
    this.shares?.start(item.backend);
    return item;
  }

  /** Records that a worker has processed an item that {@link take} has returned. */
  finish({ backend }: Item): void {
    this.shares?.finish(backend);
  }

  /**
   * Returns the item that has been ready for the longest time, among the items within their shares of the workers.
   * Returns undefined if this item has been ready for less than ten seconds, or if fewer than three items were chosen
   * by priority since the last item that was chosen by its waiting time.
   */
  private longestWaitingItem(now: Ms): Item | undefined {
    if (this.handOutsSinceLongestWaitingKey < HAND_OUTS_PER_LONGEST_WAITING_KEY - 1) return undefined;
    let oldest: Item | undefined;
    for (const { items } of this.levels) {
      const item = items.oldest((one) => this.claim(one));
      if (item !== undefined && item.readySince < (oldest?.readySince ?? Infinity)) oldest = item;
    }
    return oldest !== undefined && isOld(oldest, now) ? oldest : undefined;
  }

  private nextItem(now: Ms): Item | undefined {
    let spare: Item | undefined;
    for (const { items } of this.levels) {
      for (const item of items.inTurn(now)) {
        const claim = this.claim(item);
        if (claim === 'none') continue;
        if (item.priority === 'head' && !this.isHead(item)) this.makeNormal(item);
        else if (claim === 'share') return item;
        else spare ??= item;
      }
    }
    return spare;
  }

  private makeNormal(item: Item): void {
    this.itemsOf(item.priority).delete(item);
    item.priority = 'normal';
    this.itemsOf(item.priority).add(item);
  }

  private claim({ backend, priority }: Item): Claim {
    return this.shares?.claim(backend, priority === 'high') ?? 'share';
  }

  private itemsOf(priority: QueuePriority): RoundRobin<Item> {
    const level = this.levels.find((one) => one.priority === priority);
    if (level === undefined) throw new TypeError(`unknown priority ${priority}`);
    return level.items;
  }
}
