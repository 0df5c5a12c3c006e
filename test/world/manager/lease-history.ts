import type { CallRecord } from '../../aws/call-log.ts';
import { eventually } from '../../support/eventually.ts';
import { lineOf } from '../aws/calls.ts';
import type { World } from '../world.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/capaf-system/leases';
const NAME = 'capaf-leader-election';

/** The fields of a Lease that the tests read. */
interface Lease {
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

/**
 * One version of the leader election Lease, with times in milliseconds since the epoch. The leader takes the times from
 * its own clock.
 */
export interface LeaseVersion {
  /** The identity of the manager that holds the Lease; empty: the leader has released the Lease. */
  readonly holder: string;
  readonly acquiredAt: number;
  readonly renewedAt: number;
  readonly durationMs: number;
  readonly transitions: number;
}

/** Every version of the leader election Lease that a watch has sent since `leaseHistoryOf` was called. */
export interface LeaseHistory {
  readonly versions: readonly LeaseVersion[];
  /**
   * The newest version of the Lease in which the given manager is the holder.
   * @throws if the manager never held the Lease
   */
  lastOf(holder: string): LeaseVersion;
  /** Waits until the given manager holds the Lease, and returns the first version of the Lease that shows it. */
  waitForHolder(holder: string): Promise<LeaseVersion>;
  stop(): Promise<void>;
}

export function leaseHistoryOf({ controlPlane }: Pick<World, 'controlPlane'>): LeaseHistory {
  const versions: LeaseVersion[] = [];
  const stopping = new AbortController();
  const watching = (async () => {
    const events = controlPlane.api.watch<Lease>(LEASES, { fieldSelector: `metadata.name=${NAME}` }, stopping.signal);
    for await (const { object } of events) versions.push(versionOf(object));
    if (!stopping.signal.aborted) throw new Error('the watch of the Lease ended');
  })();
  // A failed watch must not be an unhandled rejection. `waitForHolder` and `stop` throw the error of the watch.
  let broken: unknown;
  watching.catch((error: unknown) => (broken = error));
  return {
    versions,
    lastOf: (holder) =>
      versions.findLast((version) => version.holder === holder) ?? fail(`${holder} never held the Lease`),
    waitForHolder: (holder) =>
      eventually(
        () => {
          if (broken !== undefined) throw new Error('the watch of the Lease broke', { cause: broken });
          return versions.find((version) => version.holder === holder) ?? fail(JSON.stringify(versions.at(-1)));
        },
        { what: `the acquisition of the Lease by ${holder}`, intervalMs: 20 },
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
 * Returns a description of each AWS call with which a manager changed AWS while it did not hold the Lease. Such a call
 * comes before the manager acquired the Lease, or after the manager released it, lost it to another manager, or let it
 * expire.
 */
export function mutationsOutsideLease(
  versions: readonly LeaseVersion[],
  holder: string,
  calls: readonly Pick<CallRecord, 'at' | 'mutates' | 'service' | 'operation' | 'status' | 'errorCode'>[],
): readonly string[] {
  return calls
    .filter(({ mutates }) => mutates)
    .flatMap((call) => {
      const violation = findViolation(versions, holder, call.at);
      return violation === undefined ? [] : [`${lineOf(call)} of ${holder} ${violation}`];
    });
}

function findViolation(versions: readonly LeaseVersion[], holder: string, at: number): string | undefined {
  const before = versions.filter(({ renewedAt }) => renewedAt <= at);
  const own = before.findLast((version) => version.holder === holder);
  if (own === undefined) return 'before its first lease';
  const expiredAt = own.renewedAt + own.durationMs;
  if (at > expiredAt) return `${at - expiredAt} ms after its lease expired`;
  const next = before.at(-1);
  if (next === undefined || next.holder === holder) return undefined;
  return `${at - next.renewedAt} ms after the lease was ${next.holder === '' ? 'released' : `taken by ${next.holder}`}`;
}
