import * as E from 'fp-ts/lib/Either.js';
import type { EksClusterName } from '../../../api/names.ts';
import { SingleFlight } from '../../../pkg/async/single-flight.ts';
import type { AwsFailure, Session } from '../../../pkg/cloud/index.ts';
import { Lru } from '../../../pkg/collections/lru.ts';
import type { Clock, Ms } from '../../../pkg/env/clock.ts';

/**
 * How long the controller caches the authentication mode of an EKS cluster. The mode changes at most twice in the life
 * of a cluster, because EKS accepts no change back to an earlier mode.
 */
const MODE_KNOWN_FOR: Ms = 60 * 60_000;
/**
 * The maximum number of EKS clusters whose authentication mode is cached. Beyond this number, the least recently used
 * mode leaves the cache.
 */
const MOST_MODES = 1_000;

interface KnownMode {
  readonly mode: string;
  readonly until: Ms;
}

type Reader = Pick<Session, 'account' | 'region' | 'clusters'>;

/** An EKS cluster whose authentication mode is asked for. */
export interface AskedCluster {
  readonly eksCluster: EksClusterName;
  /**
   * The UID of the control plane, if there is one. A cluster that is made again has the same name and another UID, and
   * may have another mode.
   */
  readonly controlPlaneUid?: string | undefined;
}

type Mode = E.Either<AwsFailure, string>;

/** Reads the authentication mode of EKS clusters, and caches it for an hour. */
export class AuthenticationModes {
  private readonly clock: Clock;
  private readonly modes: Lru<KnownMode>;
  private readonly lookups = new SingleFlight<Mode>();

  constructor(clock: Clock) {
    this.clock = clock;
    this.modes = new Lru({ maxEntries: MOST_MODES, expireAfterAccess: { clock, span: MODE_KNOWN_FOR } });
  }

  /**
   * Returns the authentication mode of the EKS cluster, from the cache if possible and if `isTrusted` is true for the
   * cached mode. Reconciles that ask at the same time share one call to EKS.
   */
  async read(
    session: Reader,
    cluster: AskedCluster,
    signal: AbortSignal,
    isTrusted: (mode: string) => boolean,
  ): Promise<Mode> {
    const key = keyOf(session, cluster);
    const known = this.modes.get(key);
    if (known !== undefined && this.clock.monotonic() < known.until && isTrusted(known.mode))
      return E.right(known.mode);
    const call = { isOwn: false };
    const ask = async (): Promise<Mode> => {
      call.isOwn = true;
      const response = await session.clusters.describe(cluster.eksCluster)();
      if (E.isLeft(response)) return response;
      // EKS gives no authentication mode for clusters that are older than access entries: they use the ConfigMap
      // aws-auth. A deleted cluster has no access entries either, so it is treated like these clusters.
      const mode = response.right?.authenticationMode ?? 'CONFIG_MAP';
      this.modes.set(key, { mode, until: this.clock.monotonic() + MODE_KNOWN_FOR });
      return E.right(mode);
    };
    const shared = await this.lookups.run(key, signal, ask);
    // Reconciles that ask at the same time share one call to EKS, which uses the credentials of the first of them. If
    // the call failed with the credentials of another reconcile, these credentials may be the cause, so this reconcile
    // calls EKS itself.
    return E.isRight(shared) || call.isOwn ? shared : ask();
  }
}

const keyOf = ({ account, region }: Reader, { eksCluster, controlPlaneUid = '' }: AskedCluster): string =>
  `${account}/${region}/${eksCluster}/${controlPlaneUid}`;
