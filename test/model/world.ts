import { hash } from 'node:crypto';
import type { Objects } from './api-server.ts';
import type { Aws } from './aws.ts';
import type { Answered, Memory, ReconcileStart, Request } from './reconcile.ts';

export const CLUSTER_PATH = 'clusters/prod';
export const CONTROL_PLANE_PATH = 'awsmanagedcontrolplanes/prod-control-plane';
export const pathOf = (name: string): string => `awsfargateprofiles/${name}`;

/** A pass that waits for the answers to its requests. */
export interface SimulatedReconcile {
  readonly start: ReconcileStart;
  readonly answered: readonly Answered[];
  readonly requests: readonly Request[];
}

export interface Manager {
  readonly memory: Memory;
  /** The content of the manager's caches, which may be outdated. */
  readonly cache: Objects;
  /** The names of the objects for which only a watch event can start another reconcile. */
  readonly asleep: readonly string[];
  readonly reconcile?: SimulatedReconcile | undefined;
}

/** State that is hidden from the manager: it bounds the exploration, and the properties refer to it. */
export interface Ledger {
  /** How many more actions of users and other clients, and how many faults, may follow. */
  readonly actions: number;
  readonly faults: number;
  /**
   * The number of objects that were created so far. An object that is created again under the same name gets another
   * uid.
   */
  readonly created: number;
  /** The ARNs of the resources that may stay in AWS although their object is gone. */
  readonly retained: readonly string[];
  /** The parts of an object that a user has saved. */
  readonly backup?: Readonly<Record<string, unknown>> | undefined;
}

/** A state of the model. */
export interface World {
  readonly objects: Objects;
  readonly aws: Aws;
  readonly ledger: Ledger;
  readonly managers: readonly Manager[];
}

/** Assigns the same number to equal values, so that a state can be stored as a row of numbers. */
export class Numbers {
  private readonly known = new Map<string, number>();
  private readonly ofObject = new WeakMap<object, number>();
  private readonly values: unknown[] = [undefined];

  get size(): number {
    return this.values.length;
  }

  of(value: object | undefined): number {
    return value === undefined ? 0 : (this.ofObject.get(value) ?? this.ofText(value));
  }

  /** Returns the number of a value. To save memory, keeps only a 128-bit hash of the value's text. */
  private ofText(value: object): number {
    const key = hash('md5', JSON.stringify(value), 'base64');
    const known = this.known.get(key);
    if (known === undefined) this.known.set(key, this.addUnique(value));
    else this.ofObject.set(value, known);
    return known ?? this.values.length - 1;
  }

  /** Adds a value that differs from all others. */
  addUnique(value: object): number {
    const number = this.values.push(value) - 1;
    this.ofObject.set(value, number);
    return number;
  }

  value(number: number): unknown {
    return this.values[number];
  }
}

/** Writes states of a scenario as rows of numbers, and reads them. */
export class Rows {
  readonly numbers = new Numbers();
  readonly width: number;
  private readonly paths: readonly string[];
  private readonly managers: number;

  constructor(paths: readonly string[], managers: number) {
    this.paths = paths;
    this.managers = managers;
    this.width = paths.length + 2 + managers * (paths.length + 3);
  }

  write({ objects, aws, ledger, managers }: World): Int32Array {
    const { numbers, paths } = this;
    const row = new Int32Array(this.width);
    let at = 0;
    const put = (value: object | undefined): void => void (row[at++] = numbers.of(value));
    for (const path of paths) put(objects[path]);
    put(aws);
    put(ledger);
    for (const { memory, cache, asleep, reconcile } of managers) {
      for (const path of paths) put(cache[path]);
      put(memory);
      put(asleep);
      put(reconcile);
    }
    return row;
  }

  read(row: Int32Array): World {
    let at = 0;
    const take = (): unknown => this.numbers.value(row[at++] ?? 0);
    const takeObjects = (): Objects =>
      Object.fromEntries(
        this.paths.flatMap((path) => {
          const object = take();
          return object === undefined ? [] : [[path, object]];
        }),
      ) as Objects;
    const objects = takeObjects();
    const aws = take() as Aws;
    const ledger = take() as Ledger;
    const managers = Array.from({ length: this.managers }, (): Manager => ({
      cache: takeObjects(),
      memory: take() as Memory,
      asleep: take() as readonly string[],
      reconcile: take() as SimulatedReconcile | undefined,
    }));
    return { objects, aws, ledger, managers };
  }
}
