import type { Ms } from '../../env/clock.ts';
import type { Claim } from './worker-shares.ts';

/**
 * An item that has been ready for this long goes before the other items of its group (cluster, region and identity).
 * The time is about the longest time of a reconcile that waits for AWS; other reconciles end in well under a second.
 */
const OLD_AFTER: Ms = 10_000;

/** The fields of an item by which the round robin chooses the next item. */
export interface RoundRobinItem {
  readonly id: string;
  readonly namespace: string;
  /** The cluster, region and identity of the item. */
  readonly group: string;
  /**
   * The place of the item in its group (its cluster, region and identity); the lowest goes first. Items with the same
   * order are taken in the order in which they came.
   */
  readonly order: string;
  /** The monotonic time, in ms, at which the item became ready. */
  readonly readySince: Ms;
}

export const isOld = ({ readySince }: RoundRobinItem, now: Ms): boolean => now - readySince >= OLD_AFTER;

/**
 * The ready items of one priority. The namespaces take turns, and within a namespace its clusters take turns, so that
 * many items of one namespace or cluster do not delay those of another. The items of a cluster with the same region and
 * identity are one group. A cluster has several groups while its items differ in region or identity.
 */
export class RoundRobin<Item extends RoundRobinItem> {
  /**
   * The items by namespace, group and ID. When an item is taken, its namespace and its group move to the end of their
   * Maps.
   */
  private readonly namespaces = new Map<string, Map<string, Map<string, Item>>>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(item: Item): void {
    const groups = this.namespaces.get(item.namespace) ?? new Map<string, Map<string, Item>>();
    const items = groups.get(item.group) ?? new Map<string, Item>();
    if (!items.has(item.id)) this.count += 1;
    items.set(item.id, item);
    groups.set(item.group, items);
    this.namespaces.set(item.namespace, groups);
  }

  delete({ id, namespace, group }: Item): boolean {
    const groups = this.namespaces.get(namespace);
    const items = groups?.get(group);
    if (groups === undefined || items === undefined || !items.delete(id)) return false;
    this.count -= 1;
    if (items.size === 0) groups.delete(group);
    if (groups.size === 0) this.namespaces.delete(namespace);
    return true;
  }

  /**
   * Removes the item, and moves its namespace and its group (its cluster, region and identity) to the end of the round
   * robin.
   */
  take(item: Item): void {
    this.delete(item);
    moveToEnd(this.namespaces, item.namespace);
    const groups = this.namespaces.get(item.namespace);
    if (groups !== undefined) moveToEnd(groups, item.group);
  }

  /**
   * Yields the first item of each group (cluster, region and identity), in the round-robin order of the namespaces and
   * of their groups. If the caller deletes the item, the next item of the same group follows.
   *
   * An item that has been ready for ten seconds is the first of its group, whatever its `order`. Otherwise objects that
   * fail again and again would keep objects with a later `order` waiting.
   */
  *inTurn(now: Ms): Generator<Item> {
    for (const groups of this.namespaces.values()) {
      for (const items of groups.values()) {
        const [longest] = items.values();
        const first = longest !== undefined && isOld(longest, now) ? longest : firstByOrder(items);
        if (first === undefined) continue;
        yield first;
        if (items.has(first.id)) continue;
        // The group may be large, and the caller may delete all of its items. So the others are sorted once.
        for (const next of inOrder(items, now)) {
          yield next;
          if (items.has(next.id)) break;
        }
      }
    }
  }

  /**
   * Returns the item that has been ready for the longest time, among the items whose region and identity use less than
   * their share of the workers. For such an item, `claim` returns `share`.
   */
  oldest(claim: (item: Item) => Claim): Item | undefined {
    let oldest: Item | undefined;
    for (const groups of this.namespaces.values()) {
      for (const items of groups.values()) {
        const [first] = items.values();
        if (first === undefined || first.readySince >= (oldest?.readySince ?? Infinity)) continue;
        if (claim(first) === 'share') oldest = first;
      }
    }
    return oldest;
  }
}

function moveToEnd<Value>(map: Map<string, Value>, key: string): void {
  const value = map.get(key);
  if (value === undefined) return;
  map.delete(key);
  map.set(key, value);
}

function firstByOrder<Item extends RoundRobinItem>(items: ReadonlyMap<string, Item>): Item | undefined {
  let first: Item | undefined;
  for (const item of items.values()) if (first === undefined || item.order < first.order) first = item;
  return first;
}

function inOrder<Item extends RoundRobinItem>(items: ReadonlyMap<string, Item>, now: Ms): readonly Item[] {
  const [old, others]: [Item[], Item[]] = [[], []];
  for (const item of items.values()) (isOld(item, now) ? old : others).push(item);
  return [...old, ...others.toSorted((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0))];
}
