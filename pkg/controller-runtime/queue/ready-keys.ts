import type { Ms } from '../env/clock.ts';

/**
 * The priority of a key. It applies the next time the key is handed out.
 *
 * - `urgent` is for a key whose reconcile other keys wait for.
 * - `low` is for resyncs and for the objects of a watch's initial list, as in controller-runtime, so that changed
 *   objects are reconciled earlier.
 */
export type QueuePriority = 'urgent' | 'normal' | 'low';

const NOT_LOW: readonly QueuePriority[] = ['urgent', 'normal'];
const PRIORITIES: readonly QueuePriority[] = [...NOT_LOW, 'low'];

export const isHigher = (one: QueuePriority, other: QueuePriority): boolean =>
  PRIORITIES.indexOf(one) < PRIORITIES.indexOf(other);

/** How many keys can be processed at the same time: per group, per namespace, and in total. */
export interface Slots {
  readonly group: number;
  readonly namespace: number;
  readonly total: number;
}

/**
 * Keys of priority `low` use at most this fraction of a namespace's slots and of the total, so that a changed object
 * finds a free slot while many resyncs wait for a remote system.
 */
const LOW_PART = 1 / 4;

/** In every fourth hand-out, a group takes the key that has waited longest, so that no priority starves another. */
const HAND_OUTS_PER_LONGEST_WAIT = 4;

export interface ReadyItem {
  readonly id: string;
  readonly namespace: string;
  /** The keys of a group wait for the same remote system, so a hanging system blocks only the slots of its group. */
  readonly group: string;
  readonly priority: QueuePriority;
  /** On the monotonic clock. */
  readonly readySince: Ms;
}

interface Running {
  all: number;
  /** Running items with priority `low`. */
  low: number;
}

interface Group<Item> {
  running: number;
  handOuts: number;
  /** Oldest first. */
  readonly ready: Readonly<Record<QueuePriority, Map<string, Item>>>;
}

interface Namespace<Item> {
  readonly running: Running;
  /** The groups with ready or running items. A group that hands out an item moves to the end. */
  readonly groups: Map<string, Group<Item>>;
}

/**
 * Chooses the next ready key: namespaces with a free slot take turns, then their groups. Within a group, keys are
 * ordered by priority, then first in, first out.
 */
export class ReadyKeys<Item extends ReadyItem> {
  private readonly slots: Slots;
  private readonly namespaces = new Map<string, Namespace<Item>>();
  private readonly running: Running = { all: 0, low: 0 };

  constructor(slots: Slots) {
    this.slots = slots;
  }

  add(item: Item): void {
    this.groupOf(item).ready[item.priority].set(item.id, item);
  }

  delete(item: Item): void {
    this.groupOf(item).ready[item.priority].delete(item.id);
    this.forgetIfEmpty(item);
  }

  /** Returns the next item to process, or `undefined` if none of the ready items has a free slot. */
  take(): Item | undefined {
    const { slots } = this;
    if (this.running.all >= slots.total) return undefined;
    for (const [namespace, { running, groups }] of this.namespaces) {
      if (running.all >= slots.namespace) continue;
      const low = hasSlotForLow(this.running, slots.total) && hasSlotForLow(running, slots.namespace);
      for (const [name, group] of groups) {
        const item = group.running >= slots.group ? undefined : nextOf(group, low ? PRIORITIES : NOT_LOW);
        if (item === undefined) continue;
        this.start(item, group);
        moveToEnd(groups, name);
        moveToEnd(this.namespaces, namespace);
        return item;
      }
    }
    return undefined;
  }

  /** `item` must come from {@link take}. */
  finish(item: Item): void {
    this.countRunning(item, -1);
    this.groupOf(item).running -= 1;
    this.forgetIfEmpty(item);
  }

  private start(item: Item, group: Group<Item>): void {
    group.ready[item.priority].delete(item.id);
    group.handOuts += 1;
    group.running += 1;
    this.countRunning(item, 1);
  }

  private countRunning(item: Item, change: 1 | -1): void {
    for (const running of [this.running, this.namespaceOf(item).running]) {
      running.all += change;
      if (item.priority === 'low') running.low += change;
    }
  }

  private namespaceOf({ namespace }: Item): Namespace<Item> {
    const known = this.namespaces.get(namespace);
    if (known !== undefined) return known;
    const added: Namespace<Item> = { running: { all: 0, low: 0 }, groups: new Map() };
    this.namespaces.set(namespace, added);
    return added;
  }

  private groupOf(item: Item): Group<Item> {
    const { groups } = this.namespaceOf(item);
    const known = groups.get(item.group);
    if (known !== undefined) return known;
    const added = { running: 0, handOuts: 0, ready: { urgent: new Map(), normal: new Map(), low: new Map() } };
    groups.set(item.group, added);
    return added;
  }

  private forgetIfEmpty(item: Item): void {
    const { groups } = this.namespaceOf(item);
    const { running, ready } = this.groupOf(item);
    if (running > 0 || PRIORITIES.some((priority) => ready[priority].size > 0)) return;
    groups.delete(item.group);
    if (groups.size === 0) this.namespaces.delete(item.namespace);
  }
}

const hasSlotForLow = ({ low }: Running, slots: number): boolean => low < Math.max(1, LOW_PART * slots);

function nextOf<Item extends ReadyItem>(
  { handOuts, ready }: Group<Item>,
  priorities: readonly QueuePriority[],
): Item | undefined {
  const firsts = priorities.flatMap((priority) => {
    const [first] = ready[priority].values();
    return first === undefined ? [] : [first];
  });
  if (handOuts % HAND_OUTS_PER_LONGEST_WAIT !== HAND_OUTS_PER_LONGEST_WAIT - 1) return firsts[0];
  return firsts.reduce<Item | undefined>(
    (longest, each) => (longest === undefined || each.readySince < longest.readySince ? each : longest),
    undefined,
  );
}

function moveToEnd<Value>(map: Map<string, Value>, key: string): void {
  const value = map.get(key);
  if (value === undefined) return;
  map.delete(key);
  map.set(key, value);
}
