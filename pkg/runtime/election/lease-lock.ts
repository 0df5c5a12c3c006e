import type { Clock, Ms } from '../../env/clock.ts';
import { formatMicroTime } from '../../env/timestamp.ts';
import type { KubeClient, KubeObject, ObjectKey } from '../../kube/types.ts';
import { LEASES, leaseSpecOf } from './lease.ts';
import type { LeaseSpec } from './lease.ts';

export interface LeaseLockOptions {
  readonly kube: KubeClient;
  readonly clock: Clock;
  readonly lease: ObjectKey;
  /** The `holderIdentity` that this process writes to the Lease. */
  readonly identity: string;
  readonly leaseDuration: Ms;
}

/** One version of the Lease as the API server returned it. */
export interface LeaseVersion {
  readonly object: KubeObject;
  readonly spec: LeaseSpec;
}

/** An instant, as the monotonic clock and the wall clock of this machine show it. */
export interface Instant {
  readonly monotonic: Ms;
  readonly wall: Ms;
}

/** A Lease that this process has written with itself as holder. */
export interface WrittenLease {
  readonly object: KubeObject;
  /**
   * When the write of the Lease was sent. For the lease duration after this instant, no other candidate takes the
   * lease.
   */
  readonly sentAt: Instant;
}

/**
 * Reads and writes the Lease of one election, as client-go's LeaseLock does. A method rejects with a KubeError when its
 * request to the API server fails.
 */
export class LeaseLock {
  private readonly options: LeaseLockOptions;

  constructor(options: LeaseLockOptions) {
    this.options = options;
  }

  get(signal: AbortSignal): Promise<KubeObject | undefined> {
    return this.options.kube.get(LEASES, this.options.lease, { signal });
  }

  /** Creates the Lease with this process as holder. */
  async create(signal: AbortSignal): Promise<WrittenLease> {
    const { kube, lease } = this.options;
    const sentAt = this.now();
    const object = await kube.create(
      LEASES,
      lease.namespace,
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: lease.name, namespace: lease.namespace },
        spec: { ...this.newSpec(), leaseTransitions: 0 },
      },
      { signal },
    );
    return { object, sentAt };
  }

  /**
   * Makes this process the holder of the Lease, or renews the lease if this process holds it already. The API server
   * answers 409 Conflict if the Lease has changed since the given version.
   */
  async update({ object: read, spec }: LeaseVersion, signal: AbortSignal): Promise<WrittenLease> {
    const { kube, lease, identity } = this.options;
    const { holderIdentity, acquireTime, leaseTransitions = 0 } = spec;
    const isRenewal = holderIdentity === identity;
    const sentAt = this.now();
    const object = await kube.mergePatch(
      LEASES,
      lease,
      {
        metadata: { resourceVersion: read.metadata.resourceVersion },
        spec: {
          ...this.newSpec(),
          ...(isRenewal && acquireTime !== undefined ? { acquireTime } : {}),
          leaseTransitions: isRenewal ? leaseTransitions : leaseTransitions + 1,
        },
      },
      { signal },
    );
    return { object, sentAt };
  }

  /** Empties the holder of the Lease if this process is the holder. Otherwise returns false and writes nothing. */
  async clearHolder(signal: AbortSignal): Promise<boolean> {
    const { kube, lease, identity } = this.options;
    // The Lease is read first, because a write whose response was lost may have made this process the holder.
    const object = await this.get(signal);
    if (object === undefined || leaseSpecOf(object).holderIdentity !== identity) return false;
    await kube.mergePatch(
      LEASES,
      lease,
      {
        metadata: { resourceVersion: object.metadata.resourceVersion },
        spec: { ...this.newSpec(), holderIdentity: '', leaseDurationSeconds: 1 },
      },
      { signal },
    );
    return true;
  }

  private newSpec(): LeaseSpec {
    const now = formatMicroTime(this.options.clock.now());
    return {
      holderIdentity: this.options.identity,
      // The Lease stores whole seconds. The lease duration is rounded up, so that no other candidate takes the lease
      // before it expires for this process.
      leaseDurationSeconds: Math.ceil(this.options.leaseDuration / 1000),
      acquireTime: now,
      renewTime: now,
    };
  }

  private now(): Instant {
    const { clock } = this.options;
    return { monotonic: clock.monotonic(), wall: clock.now() };
  }
}
