import type { Rows, World } from './world.ts';

/**
 * The states that were reached, each as a row of numbers, with the state from which each was reached first. States are
 * equal only if their whole rows are equal, so a hash collision cannot hide a state.
 */
export class States {
  readonly rows: Rows;
  private readonly parents: number[] = [];
  private readonly depths: number[] = [];
  private content: Int32Array;
  private index = new Int32Array(1 << 16).fill(-1);

  constructor(rows: Rows) {
    this.rows = rows;
    this.content = new Int32Array(rows.width << 10);
  }

  get size(): number {
    return this.parents.length;
  }

  /**
   * The number of transitions from the start to the state that was added last. In a breadth-first search, no state is
   * farther away.
   */
  get diameter(): number {
    return this.depths.at(-1) ?? 0;
  }

  parent(state: number): number {
    return this.parents[state] ?? -1;
  }

  world(state: number): World {
    return this.rows.read(this.row(state));
  }

  /** Adds a state, and returns its number. For a new state, this is the value of `size` before the call. */
  add(world: World, parent: number): number {
    const row = this.rows.write(world);
    const slot = this.slotOf(row);
    const known = this.index[slot] ?? -1;
    if (known !== -1) return known;
    const state = this.parents.push(parent) - 1;
    this.depths.push(parent === -1 ? 0 : (this.depths[parent] ?? 0) + 1);
    this.index[slot] = state;
    if ((state + 1) * row.length > this.content.length) {
      const grown = new Int32Array(this.content.length * 2);
      grown.set(this.content);
      this.content = grown;
    }
    this.content.set(row, state * row.length);
    if (this.size * 2 > this.index.length) {
      this.index = new Int32Array(this.index.length * 2).fill(-1);
      for (let each = 0; each < this.size; each++) this.index[this.slotOf(this.row(each))] = each;
    }
    return state;
  }

  private row(state: number): Int32Array {
    const { width } = this.rows;
    return this.content.subarray(state * width, (state + 1) * width);
  }

  /**
   * Returns the slot of an equal row in the open-addressing hash table. If there is none, returns the free slot for
   * this row.
   */
  private slotOf(row: Int32Array): number {
    const mask = this.index.length - 1;
    let slot = hashOf(row) & mask;
    for (let known = this.index[slot] ?? -1; known !== -1 && !this.isEqual(known, row); known = this.index[slot] ?? -1)
      slot = (slot + 1) & mask;
    return slot;
  }

  private isEqual(state: number, row: Int32Array): boolean {
    const start = state * row.length;
    for (let at = 0; at < row.length; at++) if (this.content[start + at] !== row[at]) return false;
    return true;
  }
}

function hashOf(row: Int32Array): number {
  let value = 0x811c9dc5;
  for (const each of row) {
    value = Math.imul(value ^ each, 0x01000193);
    value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  }
  return value ^ (value >>> 13);
}
