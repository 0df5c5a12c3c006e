/**
 * The namespace of a key, and the AWS region and the identity (credentials) with which the key is processed. Region and
 * identity are empty for a key that needs no AWS.
 */
export interface Backend {
  readonly namespace: string;
  readonly region: string;
  readonly identity: string;
}

/**
 * Whether a key may be processed now.
 *
 * - `share`: the namespace, the region and the identity of the key use less than their shares of the workers.
 * - `spare`: the shares are used up, but a worker is idle, or an urgent key gets an additional worker.
 * - `none`: all workers are busy.
 */
export type Claim = 'share' | 'spare' | 'none';

/**
 * The highest numbers of keys that are processed at the same time, divided by the number of workers
 * (`--awsfargateprofile-concurrency`). They are greater than 1 so that keys of slow regions do not delay other keys. A
 * namespace leaves workers for the other namespaces, and a region leaves workers for the other regions of its
 * namespace. The number in total bounds memory and connections.
 */
const MOST_IN_TOTAL = 4;
const MOST_OF_A_NAMESPACE = 3;
const MOST_OF_A_REGION = 2;

/**
 * Urgent keys get additional workers until the number of keys that are being processed is this many times the number of
 * workers. The workers between this limit and {@link MOST_IN_TOTAL} are kept for namespaces and regions below their
 * shares.
 */
const MOST_WITH_URGENT = 2;

/** All keys, or the keys of one namespace, of one of its regions, or of one identity in this region. */
class Part {
  /** How many keys are ready or being processed. */
  keys = 0;
  running = 0;
  readonly parts = new Map<string, Part>();
  /** The parts of which keys are being processed. */
  readonly busy = new Set<Part>();
}

/**
 * Divides the workers equally between the namespaces that have work, the workers of a namespace equally between its
 * regions, and the workers of a region equally between its identities. A namespace may use all workers while no other
 * namespace has work; the same holds for a region and for an identity.
 *
 * A region, for example, may already use more workers than its share when keys of other regions arrive. The workqueue
 * then does not count the excess workers, and gives the other regions additional workers at once. So the other regions
 * do not wait for a region that does not answer.
 */
export class WorkerShares {
  /** The largest number of keys that are processed at the same time. */
  readonly most: number;
  private readonly workers: number;
  private readonly all = new Part();
  /** The workers that count for each busy part: not more than its share. Computed when needed after each change. */
  private readonly counted = new Map<Part, number>();

  constructor(workers: number) {
    this.workers = workers;
    this.most = MOST_IN_TOTAL * workers;
  }

  addReady(backend: Backend): void {
    this.change(backend, { keys: 1, running: 0 });
  }

  removeReady(backend: Backend): void {
    this.change(backend, { keys: -1, running: 0 });
  }

  start(backend: Backend): void {
    this.change(backend, { keys: 1, running: 1 });
  }

  finish(backend: Backend): void {
    this.change(backend, { keys: -1, running: -1 });
  }

  /**
   * Returns whether a ready key of this namespace, region and identity may be processed now. The result also tells
   * whether the key is within their shares of the workers. If all workers are busy, an urgent key can get an additional
   * worker, because other keys wait for its reconcile, and because the rate limit of AWS calls may hold back all busy
   * workers.
   */
  claim(backend: Backend, isUrgent = false): Claim {
    const { running } = this.all;
    if (running >= this.most) return 'none';
    if (this.isWithinShares(backend)) return 'share';
    return running < (isUrgent ? MOST_WITH_URGENT : 1) * this.workers ? 'spare' : 'none';
  }

  private isWithinShares({ namespace, region, identity }: Backend): boolean {
    const path = [
      { name: namespace, most: MOST_OF_A_NAMESPACE },
      { name: region, most: MOST_OF_A_REGION },
      { name: identity, most: Infinity },
    ];
    let [part, share] = [this.all, this.workers];
    if (this.countedOf(part, share) >= share) return false;
    for (const { name, most } of path) {
      const inner = part.parts.get(name);
      share = shareOf(part, share);
      if (inner === undefined || inner.running >= most * this.workers || this.countedOf(inner, share) >= share)
        return false;
      part = inner;
    }
    return true;
  }

  private countedOf(part: Part, share: number): number {
    const known = this.counted.get(part);
    if (known !== undefined || part.running === 0) return known ?? 0;
    const each = shareOf(part, share);
    let sum = part.parts.size === 0 ? part.running : 0;
    for (const inner of part.busy) sum += this.countedOf(inner, each);
    const counted = Math.min(sum, share);
    this.counted.set(part, counted);
    return counted;
  }

  private change(
    { namespace, region, identity }: Backend,
    by: { readonly keys: number; readonly running: number },
  ): void {
    this.counted.clear();
    let part = this.all;
    this.all.running += by.running;
    for (const name of [namespace, region, identity]) {
      const inner = part.parts.get(name) ?? new Part();
      inner.keys += by.keys;
      inner.running += by.running;
      if (inner.keys > 0) part.parts.set(name, inner);
      else part.parts.delete(name);
      if (inner.running > 0) part.busy.add(inner);
      else part.busy.delete(inner);
      part = inner;
    }
  }
}

const shareOf = ({ parts }: Part, share: number): number => Math.max(1, Math.floor(share / Math.max(1, parts.size)));
