/**
 * The AWS region and the identity (credentials) with which a key is processed. Both are empty for a key that needs no
 * AWS.
 */
export interface Backend {
  readonly region: string;
  readonly identity: string;
}

/**
 * Whether a key may be processed now.
 *
 * - `share`: the region and the identity of the key use less than their shares of the workers.
 * - `spare`: the shares are used up, but a worker is idle, or an urgent key gets an additional worker.
 * - `none`: all workers are busy.
 */
export type Claim = 'share' | 'spare' | 'none';

/**
 * The highest number of keys that are processed at the same time, divided by the number of workers
 * (`--awsfargateprofile-concurrency`). It is greater than 1 so that keys of slow regions do not delay the other keys.
 * It bounds memory and connections.
 */
const MOST_IN_TOTAL = 3;
/**
 * The highest number of keys of one AWS region that are processed at the same time, divided by the number of workers.
 */
const MOST_OF_A_REGION = 2;

/**
 * Urgent keys get additional workers until the number of keys that are being processed is this many times the number of
 * workers. The workers between this limit and {@link MOST_IN_TOTAL} are kept for regions below their shares.
 */
const MOST_WITH_URGENT = 2;

/** How many keys of one region and identity are being processed, and how many are ready. */
interface Use {
  ready: number;
  running: number;
}

interface RegionShares {
  readonly perIdentity: number;
  readonly running: number;
  /**
   * How many running keys of the region count against the total number of workers. Running keys beyond the share of
   * their identity or of the region do not count.
   */
  readonly counted: number;
}

/** The division of the workers between regions and identities at this moment. */
interface Shares {
  readonly perRegion: number;
  readonly regions: ReadonlyMap<string, RegionShares>;
  readonly counted: number;
}

/**
 * Divides the workers equally between the regions that have work, and the workers of a region equally between its
 * identities. A region may use all workers while no other region has work.
 *
 * A region may already use more workers than its share when keys of other regions arrive. The workqueue then does not
 * count the excess workers, and gives the other regions additional workers at once. So the other regions do not wait
 * for a region that does not answer. The same rule holds for the identities of a region.
 */
export class WorkerShares {
  /** The largest number of keys that are processed at the same time. */
  readonly most: number;
  private readonly workers: number;
  /** Region → identity → the numbers of ready and running keys of the workqueue with this region and identity. */
  private readonly regions = new Map<string, Map<string, Use>>();
  private running = 0;
  /**
   * The division of the workers, computed from `regions` when it is needed; undefined after each change of `regions`.
   */
  private shares: Shares | undefined;

  constructor(workers: number) {
    this.workers = workers;
    this.most = MOST_IN_TOTAL * workers;
  }

  addReady(backend: Backend): void {
    this.change(backend, (use) => (use.ready += 1));
  }

  removeReady(backend: Backend): void {
    this.change(backend, (use) => (use.ready -= 1));
  }

  start(backend: Backend): void {
    this.running += 1;
    this.change(backend, (use) => (use.running += 1));
  }

  finish(backend: Backend): void {
    this.running -= 1;
    this.change(backend, (use) => (use.running -= 1));
  }

  /**
   * Returns whether a ready key with this region and identity may be processed now. The result also tells whether the
   * key is within the worker shares of its region and identity. If all workers are busy, an urgent key can get an
   * additional worker, because other keys wait for its reconcile, and because the rate limit of AWS calls may hold back
   * all busy workers.
   */
  claim({ region, identity }: Backend, isUrgent = false): Claim {
    if (this.running >= this.most) return 'none';
    this.shares ??= this.computeShares();
    const { perRegion, regions, counted } = this.shares;
    const shares = regions.get(region);
    const running = this.regions.get(region)?.get(identity)?.running ?? 0;
    const isWithinShare =
      shares !== undefined &&
      running < shares.perIdentity &&
      shares.counted < perRegion &&
      shares.running < MOST_OF_A_REGION * this.workers &&
      counted < this.workers;
    if (isWithinShare) return 'share';
    return this.running < (isUrgent ? MOST_WITH_URGENT : 1) * this.workers ? 'spare' : 'none';
  }

  private change({ region, identity }: Backend, apply: (use: Use) => void): void {
    const identities = this.regions.get(region) ?? new Map<string, Use>();
    const use = identities.get(identity) ?? { ready: 0, running: 0 };
    apply(use);
    if (use.ready > 0 || use.running > 0) identities.set(identity, use);
    else identities.delete(identity);
    if (identities.size > 0) this.regions.set(region, identities);
    else this.regions.delete(region);
    this.shares = undefined;
  }

  private computeShares(): Shares {
    const perRegion = divide(this.workers, this.regions.size);
    const regions = new Map<string, RegionShares>();
    let total = 0;
    for (const [region, identities] of this.regions) {
      const perIdentity = divide(perRegion, identities.size);
      let [running, withinShares] = [0, 0];
      for (const use of identities.values()) {
        running += use.running;
        withinShares += Math.min(use.running, perIdentity);
      }
      const counted = Math.min(withinShares, perRegion);
      regions.set(region, { perIdentity, running, counted });
      total += counted;
    }
    return { perRegion, regions, counted: total };
  }
}

const divide = (workers: number, parts: number): number => Math.max(1, Math.floor(workers / Math.max(1, parts)));
