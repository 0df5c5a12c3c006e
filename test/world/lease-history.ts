import type { CallRecord } from '../aws/call-log.ts';
import { eventually } from '../support/eventually.ts';
import { lineOf } from './calls.ts';
import type { World } from './world.ts';

const NAME = 'capaf-leader-election';

/** A Lease as its spec is in JSON. */
interface Lease {
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

/** One version of the Lease. Times are milliseconds since the epoch, as the holder's clock had them. */
export interface LeaseVersion {
  /** Empty: it was given up. */
  readonly holder: string;
  readonly acquiredAt: number;
  readonly renewedAt: number;
  readonly durationMs: number;
  readonly transitions: number;
}

/** Every version of the managers' Lease from some moment on, as a watch brings them. */
export interface LeaseHistory {
  readonly versions: readonly LeaseVersion[];
  /** The last version in which it was that holder's. */
  lastOf(holder: string): LeaseVersion;
  /** Waits until it is that holder's, and gives the version with which it became so. */
  takenBy(holder: string): Promise<LeaseVersion>;
  stop(): Promise<void>;
}

export function leaseHistoryOf({ controlPlane }: Pick<World, 'controlPlane'>, namespace = 'default'): LeaseHistory {
  const versions: LeaseVersion[] = [];
  const stopping = new AbortController();
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const watching = (async () => {
    const events = controlPlane.api.watch<Lease>(path, { fieldSelector: `metadata.name=${NAME}` }, stopping.signal);
    for await (const { object } of events) versions.push(versionOf(object));
    if (!stopping.signal.aborted) throw new Error('the watch of the Lease has ended');
  })();
  // Whoever waits in vain is told, and so is `stop`.
  let broken: unknown;
  watching.catch((error: unknown) => (broken = error));
  return {
    versions,
    lastOf: (holder) =>
      versions.findLast((version) => version.holder === holder) ?? fail(`the lease was never held by ${holder}`),
    takenBy: (holder) =>
      eventually(
        () => {
          if (broken !== undefined) throw new Error('the watch of the Lease broke', { cause: broken });
          return versions.find((version) => version.holder === holder) ?? fail(JSON.stringify(versions.at(-1)));
        },
        { what: `the lease of ${holder}`, timeoutMs: 30_000, intervalMs: 20 },
      ),
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
}

function fail(message: string): never {
  throw new Error(message);
}

function versionOf({ spec }: Lease): LeaseVersion {
  return {
    holder: spec.holderIdentity ?? '',
    acquiredAt: Date.parse(spec.acquireTime ?? ''),
    renewedAt: Date.parse(spec.renewTime ?? ''),
    durationMs: (spec.leaseDurationSeconds ?? 0) * 1000,
    transitions: spec.leaseTransitions ?? 0,
  };
}

/**
 * The changes that somebody asked of AWS at a moment when the lease was not theirs: before they had it, after it ran out,
 * after it was given up or somebody else's. In words; there should be none.
 */
export function changesOutsideTheLease(
  versions: readonly LeaseVersion[],
  holder: string,
  calls: readonly Pick<CallRecord, 'at' | 'mutates' | 'service' | 'operation' | 'status' | 'errorCode'>[],
): readonly string[] {
  return calls
    .filter(({ mutates }) => mutates)
    .flatMap((call) => {
      const objection = objectionTo(versions, holder, call.at);
      return objection === undefined ? [] : [`${lineOf(call)} of ${holder} ${objection}`];
    });
}

function objectionTo(versions: readonly LeaseVersion[], holder: string, at: number): string | undefined {
  const before = versions.filter(({ renewedAt }) => renewedAt <= at);
  const own = before.findLast((version) => version.holder === holder);
  if (own === undefined) return 'before it led';
  const ranOutAt = own.renewedAt + own.durationMs;
  if (at > ranOutAt) return `${at - ranOutAt} ms after its lease ran out`;
  const next = before.at(-1);
  if (next === undefined || next.holder === holder) return undefined;
  return `${at - next.renewedAt} ms after the lease was ${next.holder === '' ? 'given up' : `taken by ${next.holder}`}`;
}
