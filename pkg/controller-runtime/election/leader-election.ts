import { DeadlineExceeded, deadline, sleep, withDeadline } from '../async/deadline.ts';
import type { Clock, Ms } from '../env/clock.ts';
import type { Logger } from '../log/logger.ts';
import type { Random } from '../env/random.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../client/errors.ts';
import type { EventRecorder } from '../events/events.ts';
import { keyText } from '../client/object-key.ts';
import { type GrantOption, remedyOf } from '../client/permission-remedies.ts';
import type { KubeClient, KubeObject, ObjectKey } from '../client/types.ts';
import type { HealthCheck } from '../http/health.ts';
import type { LeaderElectionMetrics } from '../metrics/metrics.ts';
import { LeaseLock, leaseSpecOf, type Instant, type LeaseVersion, type WrittenLease } from './lease.ts';
import { DEFAULT_TIMINGS, HEALTH_TOLERANCE, JITTER_FACTOR, validateTimings, type ElectionTimings } from './timings.ts';

export interface Leadership {
  /**
   * Returns the time until another process can take the lease; 0 or less if it already can. `Infinity` without
   * election.
   */
  remaining(): Ms;
}

export interface LeaderElectionOptions extends GrantOption {
  readonly kube: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly lease: ObjectKey;
  readonly hostname: string;
  readonly timings?: ElectionTimings;
  readonly metrics?: LeaderElectionMetrics;
  readonly recorder?: EventRecorder;
}

/** Another process holds the lease or may soon hold it. */
export class LeadershipLost extends Error {
  override readonly name = 'LeadershipLost';

  constructor(why: string, options?: ErrorOptions) {
    // The same text as in controller-runtime, so that operators find it in logs.
    super(`leader election lost: ${why}`, options);
  }
}

interface ObservedLease extends LeaseVersion {
  /**
   * When this process first read a Lease with this spec, on the monotonic clock. A candidate uses this time, and not
   * `renewTime`, to decide whether the lease has expired.
   */
  readonly observedAt: Ms;
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'candidate'; readonly observed: ObservedLease | undefined }
  /** `sentAt` is when this process sent its latest successful write of the Lease. */
  | { readonly kind: 'leading'; readonly lease: LeaseVersion; readonly sentAt: Instant }
  | { readonly kind: 'lost'; readonly sentAt: Instant }
  | { readonly kind: 'released' };

/**
 * Leader election on a Lease, to client-go's rules (tools/leaderelection): the process calls `acquire`, then `hold`
 * while it works, then `release`. A process that loses the lease must exit, because its work may still be running.
 *
 * A candidate takes another holder's lease only after the Lease's spec has not changed for the lease duration in that
 * spec, by the candidate's own monotonic clock. A leader counts that duration from before it sent its last renewal. So
 * two processes never lead at the same time, unless another client changes or deletes the Lease.
 */
export class LeaderElection implements Leadership {
  readonly identity: string;
  private readonly options: LeaderElectionOptions;
  private readonly timings: ElectionTimings;
  private readonly logger: Logger;
  private readonly lock: LeaseLock;
  private state: State = { kind: 'idle' };
  private lastReportedLeader: string | undefined;

  constructor(options: LeaderElectionOptions) {
    this.options = options;
    this.timings = options.timings ?? DEFAULT_TIMINGS;
    validateTimings(this.timings);
    this.identity = `${options.hostname}_${options.random.uuid()}`;
    this.logger = options.logger.with({ lease: options.lease });
    const { leaseDuration } = this.timings;
    this.lock = new LeaseLock({ ...options, identity: this.identity, leaseDuration });
  }

  remaining(): Ms {
    if (this.state.kind !== 'leading') return 0;
    const { clock } = this.options;
    const { sentAt } = this.state;
    // Of the two ages, the larger one counts, because Linux's monotonic clock stops while a machine is suspended. If
    // the wall clock is set ahead, this process only counts as not leading until it renews the lease.
    return this.timings.leaseDuration - Math.max(clock.monotonic() - sentAt.monotonic, clock.now() - sentAt.wall);
  }

  /**
   * Fails when this process still runs long after its lease expired, as client-go's HealthzAdaptor does: if a deadlock
   * or an endless loop prevents its exit, the kubelet must restart it.
   */
  readonly healthCheck: HealthCheck = {
    name: 'leaderElection',
    check: () => {
      if (this.state.kind !== 'leading' && this.state.kind !== 'lost') return undefined;
      const age = this.options.clock.monotonic() - this.state.sentAt.monotonic;
      const overdue = age - this.timings.leaseDuration;
      return overdue > HEALTH_TOLERANCE
        ? `the lease ${keyText(this.options.lease)} ran out ${Math.floor(overdue / 1000)} s ago and was not renewed`
        : undefined;
    },
  };

  /** Resolves when this process leads. */
  async acquire(signal: AbortSignal): Promise<void> {
    const { clock, random, metrics } = this.options;
    const { retryPeriod } = this.timings;
    this.state = { kind: 'candidate', observed: undefined };
    this.logger.info('Attempting to acquire the lease', { identity: this.identity });
    while (!(await this.tryAcquireOrRenew(signal)))
      await sleep(clock, retryPeriod * (1 + JITTER_FACTOR * random.next()), signal);
    metrics?.setLeading(true);
    this.logger.info('Acquired the lease', { identity: this.identity });
    this.recordEvent('became leader');
  }

  /**
   * Renews the lease until the signal aborts. Throws {@link LeadershipLost}, for example when it cannot renew in time.
   */
  async hold(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await sleep(this.options.clock, this.timings.retryPeriod, signal);
        await this.renew(signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      this.recordEvent('stopped leading');
      if (this.state.kind === 'leading') this.state = { kind: 'lost', sentAt: this.state.sentAt };
      this.options.metrics?.setLeading(false);
      throw error;
    }
  }

  /** The caller must first end all work that needs leadership. Never throws: a lease that is not released expires. */
  async release(): Promise<void> {
    if (this.state.kind === 'idle' || this.state.kind === 'lost' || this.state.kind === 'released') return;
    this.recordEvent('stopped leading');
    this.state = { kind: 'released' };
    this.options.metrics?.setLeading(false);
    try {
      await withDeadline(this.options.clock, this.timings.renewDeadline, undefined, 'releasing the lease', (signal) =>
        this.clearHolder(signal),
      );
    } catch (error) {
      this.logger.error('Failed to release the lease', error);
    }
  }

  /** Repeats a failed attempt until the renew deadline. */
  private async renew(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const { renewDeadline, retryPeriod } = this.timings;
    const limit = deadline(clock, renewDeadline, signal, 'renewing the lease');
    try {
      while (!(await this.tryAcquireOrRenew(limit.signal))) await sleep(clock, retryPeriod, limit.signal);
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      throw new LeadershipLost('the lease could not be renewed in time', { cause: error });
    } finally {
      limit.dispose();
    }
  }

  /**
   * Returns false when another process holds the lease, or when the attempt failed, which is logged. When this process
   * led, and another process has taken the lease or the lease ran out, throws {@link LeadershipLost}.
   */
  private async tryAcquireOrRenew(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.options;
    try {
      // Half of the deadline, as in controller-runtime: after a request that hangs, there is time for a second attempt.
      return await withDeadline(clock, this.timings.renewDeadline / 2, signal, 'reaching the API server', (limited) =>
        this.state.kind === 'leading' ? this.tryRenew(this.state.lease, limited) : this.tryAcquire(limited),
      );
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof LeadershipLost) throw error;
      const remedy = remedyOf(error, this.options);
      const keys = remedy === undefined ? {} : { remedy };
      if (this.state.kind === 'leading') this.logger.error('Failed to renew the lease', error, keys);
      else if (isConflict(error) || isAlreadyExists(error)) this.logger.info('Another candidate was faster');
      else this.logger.error('Failed to acquire the lease', error, keys);
      return false;
    }
  }

  /** Overwrites the version that this process wrote last, and reads the Lease only if the Lease has changed since. */
  private async tryRenew(lease: LeaseVersion, signal: AbortSignal): Promise<boolean> {
    try {
      return this.becomeLeader(await this.lock.update(lease, signal), signal);
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
    // Another client changed or deleted the Lease, or the last renewal succeeded and its response was lost.
    this.options.metrics?.recordSlowPath();
    const object = await this.lock.get(signal);
    if (object === undefined) {
      if (this.remaining() > 0) return this.becomeLeader(await this.lock.create(signal), signal);
      throw new LeadershipLost('the lease ran out, and is gone');
    }
    const { spec } = this.observe(object);
    // Unlike client-go, this does not renew a lease that another process has held and released in the meantime: this
    // process must stop, because its work began before that.
    if (spec.holderIdentity === this.identity && spec.leaseTransitions === lease.spec.leaseTransitions)
      return this.becomeLeader(await this.lock.update({ object, spec }, signal), signal);
    const holder = spec.holderIdentity ?? '';
    const taker = holder === '' || holder === this.identity ? 'another process, which has released it since' : holder;
    throw new LeadershipLost(`the lease was taken by ${taker}`);
  }

  private async tryAcquire(signal: AbortSignal): Promise<boolean> {
    const object = await this.lock.get(signal);
    if (object === undefined) return this.becomeLeader(await this.lock.create(signal), signal);
    const observed = this.observe(object);
    const { holderIdentity: holder, leaseDurationSeconds = 0 } = observed.spec;
    const isHeldByOther = holder !== undefined && holder !== '' && holder !== this.identity;
    if (isHeldByOther && this.options.clock.monotonic() <= observed.observedAt + leaseDurationSeconds * 1000) {
      this.logger.debug('The lease is held and has not expired', { holder });
      return false;
    }
    return this.becomeLeader(await this.lock.update(observed, signal), signal);
  }

  /** Keeps `observedAt` while the Lease's spec stays the same. */
  private observe(object: KubeObject): ObservedLease {
    const spec = leaseSpecOf(object);
    const before = this.state.kind === 'candidate' ? this.state.observed : undefined;
    const isUnchanged = before !== undefined && JSON.stringify(before.spec) === JSON.stringify(spec);
    const observed = { object, spec, observedAt: isUnchanged ? before.observedAt : this.options.clock.monotonic() };
    if (this.state.kind === 'candidate') this.state = { kind: 'candidate', observed };
    if (spec.holderIdentity !== undefined && spec.holderIdentity !== '') this.reportLeader(spec.holderIdentity);
    return observed;
  }

  private becomeLeader({ object, sentAt }: WrittenLease, signal: AbortSignal): boolean {
    // The response came after the attempt was aborted. The next attempt reads the Lease.
    if (signal.aborted) return false;
    this.state = { kind: 'leading', lease: { object, spec: leaseSpecOf(object) }, sentAt };
    this.reportLeader(this.identity);
    return true;
  }

  private async clearHolder(signal: AbortSignal): Promise<void> {
    let isCleared: boolean;
    try {
      isCleared = await this.lock.clearHolder(signal);
    } catch (error) {
      if (!isConflict(error)) throw error;
      // An aborted renewal of this process may have reached the API server between the read and the write of
      // `clearHolder`. So this process reads and writes the Lease again.
      isCleared = await this.lock.clearHolder(signal);
    }
    if (isCleared) this.logger.info('Released the lease', { identity: this.identity });
  }

  /** The message is client-go's. */
  private recordEvent(what: 'became leader' | 'stopped leading'): void {
    if (this.state.kind !== 'leading') return;
    const { metadata } = this.state.lease.object;
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata };
    this.options.recorder?.record(lease, 'Normal', 'LeaderElection', `${this.identity} ${what}`);
  }

  private reportLeader(identity: string): void {
    if (identity === this.lastReportedLeader) return;
    this.lastReportedLeader = identity;
    this.logger.info('New leader elected', { leader: identity });
  }
}
