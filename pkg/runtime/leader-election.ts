import { DeadlineExceeded, deadline, sleep, withDeadline } from '../env/deadline.ts';
import type { Clock, Ms } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Random } from '../env/random.ts';
import { formatMicroTime } from '../env/timestamp.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../kube/errors.ts';
import type { EventRecorder } from '../kube/events.ts';
import { keyText } from '../kube/paths.ts';
import { remedyOf } from '../kube/remedies.ts';
import type { KubeClient, KubeObject, ObjectKey } from '../kube/types.ts';
import type { HealthCheck } from './health.ts';
import { LEASES, leaseSpecOf } from './lease.ts';
import type { LeaseSpec } from './lease.ts';
import type { LeaderElectionMetrics } from './metrics.ts';
import { ReleaseWatch } from './release-watch.ts';
import type { Leadership } from './types.ts';

/** client-go's JitterFactor: a candidate asks again after the retry period plus up to 1.2 times that. */
const JITTER_FACTOR = 1.2;
/** kube-controller-manager's: how long after its lease a leader that neither renews nor ends is put up with. */
const HEALTH_TOLERANCE: Ms = 20_000;

export interface ElectionTimings {
  /** How long the others wait after the last renewal they saw. */
  readonly leaseDuration: Ms;
  /** How long the leader tries to renew before it gives up. */
  readonly renewDeadline: Ms;
  readonly retryPeriod: Ms;
}

/** client-go's and Cluster API's defaults. */
const DEFAULT_TIMINGS: ElectionTimings = { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 };

export interface LeaderElectionOptions {
  readonly kube: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly lease: ObjectKey;
  /** The host name: the identity is `hostname_uuid`. */
  readonly hostname: string;
  readonly timings?: ElectionTimings;
  readonly metrics?: LeaderElectionMetrics;
  /** Told on the Lease who leads from when to when. */
  readonly recorder?: EventRecorder;
}

/** The lease is or may soon be somebody else's. */
export class LeadershipLost extends Error {
  override readonly name = 'LeadershipLost';

  constructor(why: string, options?: ErrorOptions) {
    // The words of controller-runtime, for whoever searches logs.
    super(`leader election lost: ${why}`, options);
  }
}

/** An instant on both clocks of this machine. */
interface Instant {
  readonly monotonic: Ms;
  readonly wall: Ms;
}

/** A Lease as this process saw it change: its own clock, not the record's, says how old it is. */
interface Observed {
  readonly object: KubeObject;
  readonly spec: LeaseSpec;
  readonly at: Ms;
}

type State =
  | { readonly kind: 'idle' }
  /** Somebody else leads, or nobody was seen to. */
  | { readonly kind: 'candidate'; readonly seen: Observed | undefined }
  /** `sent`: from then on no other candidate can take the lease for its duration. */
  | { readonly kind: 'leading'; readonly lease: Observed; readonly sent: Instant }
  | { readonly kind: 'lost'; readonly sent: Instant }
  | { readonly kind: 'released' };

/**
 * Leader election on a Lease, to client-go's rules (tools/leaderelection): `acquire`, then `hold` while the work is done,
 * then `release`. Whoever loses the lease ends the process, since work of a former leader may still be under way in it.
 * Beyond client-go a candidate watches the Lease, and tries at once when it is given up.
 *
 * A candidate takes the lease only after it has seen it unchanged for its whole duration on its own monotonic clock; a
 * leader counts from before it sent its last renewal. So however the wall clocks differ, two never lead at once.
 */
export class LeaderElection implements Leadership {
  readonly identity: string;
  private readonly options: LeaderElectionOptions;
  private readonly timings: ElectionTimings;
  private readonly logger: Logger;
  private state: State = { kind: 'idle' };
  private reportedLeader: string | undefined;

  constructor(options: LeaderElectionOptions) {
    this.options = options;
    this.timings = options.timings ?? DEFAULT_TIMINGS;
    checkTimings(this.timings);
    this.identity = `${options.hostname}_${options.random.uuid()}`;
    this.logger = options.logger.with({ lease: options.lease });
    options.metrics?.leading(false);
  }

  remaining(): Ms {
    if (this.state.kind !== 'leading') return 0;
    const { sent } = this.state;
    const now = this.now();
    // Linux's monotonic clock stands still while a machine is suspended, and its wall clock is right when it wakes. One
    // that was only set ahead costs nothing but the time until the next renewal.
    return this.timings.leaseDuration - Math.max(now.monotonic - sent.monotonic, now.wall - sent.wall);
  }

  /**
   * For `/healthz`: fails when this process led, its lease ran out long ago, and it goes on all the same. It should have
   * ended; what keeps it (a deadlock, a loop) only a restart cures. client-go's HealthzAdaptor.
   */
  readonly healthCheck: HealthCheck = {
    name: 'leaderElection',
    check: () => {
      if (this.state.kind !== 'leading' && this.state.kind !== 'lost') return undefined;
      const overdue = this.now().monotonic - this.state.sent.monotonic - this.timings.leaseDuration;
      return overdue > HEALTH_TOLERANCE
        ? `the lease ${keyText(this.options.lease)} ran out ${Math.floor(overdue / 1000)} s ago and was not renewed`
        : undefined;
    },
  };

  /** Resolves when this process leads; throws the signal's reason when it aborts first. */
  async acquire(signal: AbortSignal): Promise<void> {
    const { random, metrics } = this.options;
    const { retryPeriod } = this.timings;
    this.state = { kind: 'candidate', seen: undefined };
    this.logger.info('Attempting to acquire the lease', { identity: this.identity });
    const release = new ReleaseWatch({ ...this.options, logger: this.logger });
    try {
      while (!(await this.attempt(signal)))
        await release.wait(retryPeriod * (1 + JITTER_FACTOR * random.next()), signal);
    } finally {
      release.stop();
    }
    metrics?.leading(true);
    this.logger.info('Acquired the lease', { identity: this.identity });
    this.tell('became leader');
  }

  /** Keeps the lease until the signal aborts. Throws {@link LeadershipLost} when it cannot be kept. */
  async hold(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await sleep(this.options.clock, this.timings.retryPeriod, signal);
        await this.renew(signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      this.tell('stopped leading');
      if (this.state.kind === 'leading') this.state = { kind: 'lost', sent: this.state.sent };
      this.options.metrics?.leading(false);
      throw error;
    }
  }

  /**
   * Gives the lease up, so that the next leader need not wait for it to expire. To be called when nothing is under way
   * any more that leadership must guard. Never throws: the lease then expires by itself.
   */
  async release(): Promise<void> {
    if (this.state.kind === 'idle' || this.state.kind === 'lost' || this.state.kind === 'released') return;
    this.tell('stopped leading');
    this.state = { kind: 'released' };
    this.options.metrics?.leading(false);
    try {
      await withDeadline(this.options.clock, this.timings.renewDeadline, undefined, 'releasing the lease', (signal) =>
        this.giveUp(signal),
      );
    } catch (error) {
      this.logger.error('Failed to release the lease', error);
    }
  }

  /** Tries again and again for the renew deadline. */
  private async renew(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const { renewDeadline, retryPeriod } = this.timings;
    const round = deadline(clock, renewDeadline, signal, 'renewing the lease');
    try {
      while (!(await this.attempt(round.signal))) await sleep(clock, retryPeriod, round.signal);
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      throw new LeadershipLost('the lease could not be renewed in time', { cause: error });
    } finally {
      round.dispose();
    }
  }

  /**
   * Takes or renews the lease. False: it is somebody else's, or the attempt failed (which is logged). Throws
   * {@link LeadershipLost} when it was ours and is not any more.
   */
  private async attempt(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.options;
    try {
      // Half the renew deadline, as controller-runtime has it: a request that hangs leaves time for another.
      return await withDeadline(clock, this.timings.renewDeadline / 2, signal, 'reaching the API server', (limited) =>
        this.state.kind === 'leading' ? this.keep(this.state.lease, limited) : this.take(limited),
      );
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof LeadershipLost) throw error;
      const remedy = remedyOf(error);
      const keys = remedy === undefined ? {} : { remedy };
      if (this.state.kind === 'leading') this.logger.error('Failed to renew the lease', error, keys);
      // All candidates see a release at the same moment.
      else if (isConflict(error) || isAlreadyExists(error)) this.logger.info('Another candidate was faster');
      else this.logger.error('Failed to acquire the lease', error, keys);
      return false;
    }
  }

  /** Renews: at once over the record that this process wrote last, and only where that was changed after a look. */
  private async keep(lease: Observed, signal: AbortSignal): Promise<boolean> {
    const { kube, lease: key, metrics } = this.options;
    try {
      return await this.write(lease, signal);
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
    // Somebody wrote or deleted the Lease, or our last renewal arrived although its answer did not: look.
    metrics?.slowPath();
    const object = await kube.get(LEASES, key, { signal });
    if (object === undefined) {
      if (this.remaining() > 0) return this.create(signal);
      throw new LeadershipLost('the lease ran out, and is gone');
    }
    const { spec } = this.see(object);
    // Stricter than client-go, which takes a lease again that another has held and given up meanwhile: what this process
    // has in hand is of before that time.
    if (spec.holderIdentity === this.identity && spec.leaseTransitions === lease.spec.leaseTransitions)
      return this.write({ ...lease, object, spec }, signal);
    const holder = spec.holderIdentity ?? '';
    const taker = holder === '' || holder === this.identity ? 'somebody who has given it up since' : holder;
    throw new LeadershipLost(`the lease was taken by ${taker}`);
  }

  private async take(signal: AbortSignal): Promise<boolean> {
    const object = await this.options.kube.get(LEASES, this.options.lease, { signal });
    if (object === undefined) return this.create(signal);
    const seen = this.see(object);
    const { holderIdentity: holder, leaseDurationSeconds = 0 } = seen.spec;
    const isOthers = holder !== undefined && holder !== '' && holder !== this.identity;
    if (isOthers && this.now().monotonic <= seen.at + leaseDurationSeconds * 1000) {
      this.logger.debug('The lease is held and has not expired', { holder });
      return false;
    }
    return this.write(seen, signal);
  }

  /** Notes what was read; what is the same as before keeps the time at which it was first seen. */
  private see(object: KubeObject): Observed {
    const spec = leaseSpecOf(object);
    const before = this.state.kind === 'candidate' ? this.state.seen : undefined;
    const unchanged = before !== undefined && JSON.stringify(before.spec) === JSON.stringify(spec);
    const seen = { object, spec, at: unchanged ? before.at : this.options.clock.monotonic() };
    if (this.state.kind === 'candidate') this.state = { kind: 'candidate', seen };
    if (spec.holderIdentity !== undefined && spec.holderIdentity !== '') this.reportLeader(spec.holderIdentity);
    return seen;
  }

  private async create(signal: AbortSignal): Promise<boolean> {
    const { kube, lease } = this.options;
    const sent = this.now();
    const object = await kube.create(
      LEASES,
      lease.namespace,
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: lease.name, namespace: lease.namespace },
        spec: { ...this.record(), leaseTransitions: 0 },
      },
      { signal },
    );
    return this.lead(object, sent, signal);
  }

  /** Writes our record over the one that was read; the resourceVersion makes sure that it is that one (409 otherwise). */
  private async write(seen: Observed, signal: AbortSignal): Promise<boolean> {
    const { kube, lease } = this.options;
    const { holderIdentity, acquireTime, leaseTransitions = 0 } = seen.spec;
    const renewal = holderIdentity === this.identity;
    const sent = this.now();
    const object = await kube.mergePatch(
      LEASES,
      lease,
      {
        metadata: { resourceVersion: seen.object.metadata.resourceVersion },
        spec: {
          ...this.record(),
          ...(renewal && acquireTime !== undefined ? { acquireTime } : {}),
          leaseTransitions: renewal ? leaseTransitions : leaseTransitions + 1,
        },
      },
      { signal },
    );
    return this.lead(object, sent, signal);
  }

  private lead(object: KubeObject, sent: Instant, signal: AbortSignal): boolean {
    // An answer that nobody waits for any more changes nothing: the next look finds what it did.
    if (signal.aborted) return false;
    this.state = { kind: 'leading', lease: { object, spec: leaseSpecOf(object), at: sent.monotonic }, sent };
    this.reportLeader(this.identity);
    return true;
  }

  private async giveUp(signal: AbortSignal): Promise<void> {
    try {
      await this.empty(signal);
    } catch (error) {
      if (!isConflict(error)) throw error;
      // A renewal that the stop cut off has arrived all the same, between the look and the write: the next look sees it.
      await this.empty(signal);
    }
  }

  private async empty(signal: AbortSignal): Promise<void> {
    const { kube, lease } = this.options;
    const object = await kube.get(LEASES, lease, { signal });
    // A write whose answer never came may have made us holder even when we do not know it.
    if (object === undefined || leaseSpecOf(object).holderIdentity !== this.identity) return;
    await kube.mergePatch(
      LEASES,
      lease,
      {
        metadata: { resourceVersion: object.metadata.resourceVersion },
        spec: { ...this.record(), holderIdentity: '', leaseDurationSeconds: 1 },
      },
      { signal },
    );
    this.logger.info('Released the lease', { identity: this.identity });
  }

  private record(): LeaseSpec {
    const now = formatMicroTime(this.options.clock.now());
    return {
      holderIdentity: this.identity,
      // Rounded up: the others must not wait for less than this process counts on.
      leaseDurationSeconds: Math.ceil(this.timings.leaseDuration / 1000),
      acquireTime: now,
      renewTime: now,
    };
  }

  /** An Event on the Lease, in client-go's words. */
  private tell(what: 'became leader' | 'stopped leading'): void {
    if (this.state.kind !== 'leading') return;
    const { metadata } = this.state.lease.object;
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata };
    this.options.recorder?.record(lease, 'Normal', 'LeaderElection', `${this.identity} ${what}`);
  }

  private now(): Instant {
    const { clock } = this.options;
    return { monotonic: clock.monotonic(), wall: clock.now() };
  }

  private reportLeader(identity: string): void {
    if (identity === this.reportedLeader) return;
    this.reportedLeader = identity;
    this.logger.info('New leader elected', { leader: identity });
  }
}

/** client-go's rules for the three spans. Throws an error that names the flags. */
export function checkTimings({ leaseDuration, renewDeadline, retryPeriod }: ElectionTimings): void {
  if (!(leaseDuration >= 1000)) throw new Error('--leader-elect-lease-duration must be at least 1s');
  if (!(retryPeriod > 0)) throw new Error('--leader-elect-retry-period must be greater than zero');
  if (!(leaseDuration > renewDeadline))
    throw new Error('--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline');
  if (!(renewDeadline > JITTER_FACTOR * retryPeriod))
    throw new Error(
      `--leader-elect-renew-deadline must be greater than ${JITTER_FACTOR} times --leader-elect-retry-period`,
    );
}
