import { isLeft } from 'fp-ts/lib/Either.js';
import type { Clock, Ms } from '../env/clock.ts';
import { formatMicroTime } from '../env/timestamp.ts';
import type { KubeClient, KubeObject, ObjectKey, Resource } from '../client/types.ts';
import * as s from '../schema/field.ts';
import { decode, describeProblems } from '../schema/problem.ts';

export const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };

const LeaseSpec = s.object({
  /** Empty or absent when no process holds the lease. */
  holderIdentity: s.optional(s.string()),
  leaseDurationSeconds: s.optional(s.number()),
  /** Both times are for people only. Candidates do not use them to decide whether the lease has expired. */
  acquireTime: s.optional(s.string()),
  renewTime: s.optional(s.string()),
  leaseTransitions: s.optional(s.number()),
});
export type LeaseSpec = s.TypeOf<typeof LeaseSpec>;

/** Throws an error that describes the fields whose type is wrong. */
export function leaseSpecOf(object: KubeObject): LeaseSpec {
  const decoded = decode(s.object({ spec: s.optional(LeaseSpec) }), object);
  if (isLeft(decoded))
    throw new Error(`the lease ${object.metadata.name} cannot be read: ${describeProblems(decoded.left)}`);
  return decoded.right.spec ?? {};
}

export interface LeaseLockOptions {
  readonly kube: KubeClient;
  readonly clock: Clock;
  readonly lease: ObjectKey;
  readonly identity: string;
  readonly leaseDuration: Ms;
}

export interface LeaseVersion {
  readonly object: KubeObject;
  readonly spec: LeaseSpec;
}

export interface Instant {
  readonly monotonic: Ms;
  readonly wall: Ms;
}

export interface WrittenLease {
  readonly object: KubeObject;
  /** For the lease duration after this instant, no other candidate takes the lease. */
  readonly sentAt: Instant;
}

/** Reads and writes the Lease of one election, as client-go's LeaseLock does. */
export class LeaseLock {
  private readonly options: LeaseLockOptions;

  constructor(options: LeaseLockOptions) {
    this.options = options;
  }

  get(signal: AbortSignal): Promise<KubeObject | undefined> {
    return this.options.kube.get(LEASES, this.options.lease, { signal });
  }

  async create(signal: AbortSignal): Promise<WrittenLease> {
    const { kube, lease } = this.options;
    const sentAt = this.now();
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: lease.name, namespace: lease.namespace },
      spec: { ...this.newSpec(), leaseTransitions: 0 },
    };
    const object = await kube.create(LEASES, lease.namespace, body, { signal });
    return { object, sentAt };
  }

  /** Makes this process the holder, or renews its lease. Rejects with a conflict if the Lease has changed. */
  async update({ object: read, spec }: LeaseVersion, signal: AbortSignal): Promise<WrittenLease> {
    const { holderIdentity, acquireTime, leaseTransitions = 0 } = spec;
    const isRenewal = holderIdentity === this.options.identity;
    const sentAt = this.now();
    const changes = {
      ...(isRenewal && acquireTime !== undefined && { acquireTime }),
      leaseTransitions: isRenewal ? leaseTransitions : leaseTransitions + 1,
    };
    return { object: await this.patch(read, changes, signal), sentAt };
  }

  /** Returns false and writes nothing if another process is the holder. */
  async clearHolder(signal: AbortSignal): Promise<boolean> {
    // A write whose response was lost may have made this process the holder.
    const object = await this.get(signal);
    if (object === undefined || leaseSpecOf(object).holderIdentity !== this.options.identity) return false;
    await this.patch(object, { holderIdentity: '', leaseDurationSeconds: 1 }, signal);
    return true;
  }

  private patch({ metadata }: KubeObject, changes: LeaseSpec, signal: AbortSignal): Promise<KubeObject> {
    const { resourceVersion } = metadata;
    const patch = { metadata: { resourceVersion }, spec: { ...this.newSpec(), ...changes } };
    return this.options.kube.mergePatch(LEASES, this.options.lease, patch, { signal });
  }

  private newSpec(): LeaseSpec {
    const now = formatMicroTime(this.options.clock.now());
    return {
      holderIdentity: this.options.identity,
      // Rounded up, so that no other candidate takes the lease before it expires for this process.
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
