import * as E from 'fp-ts/lib/Either.js';
import type { EksClusterName } from '../../../api/names.ts';
import { SingleFlight } from '../../../pkg/async/single-flight.ts';
import type { AwsFailure, Session } from '../../../pkg/cloud/index.ts';
import { Lru } from '../../../pkg/collections/lru.ts';
import type { Clock, Ms } from '../../../pkg/env/clock.ts';

/** The mode changes at most twice in the life of a cluster: EKS accepts no change back to an earlier mode. */
const MODE_KNOWN_FOR: Ms = 60 * 60_000;
const MOST_MODES = 1_000;

interface KnownMode {
  readonly mode: string;
  readonly until: Ms;
}

type Reader = Pick<Session, 'account' | 'region' | 'clusters'>;

export interface AskedCluster {
  readonly eksCluster: EksClusterName;
  /** A cluster that is made again has the same name and another UID, and may have another mode. */
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

  /** From the cache, if `isTrusted` is true for the cached mode. Concurrent reads share one call to EKS. */
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
      // Clusters that are older than access entries have no mode: they use the ConfigMap aws-auth. A deleted cluster has
      // no access entries either.
      const mode = response.right?.authenticationMode ?? 'CONFIG_MAP';
      this.modes.set(key, { mode, until: this.clock.monotonic() + MODE_KNOWN_FOR });
      return E.right(mode);
    };
    const shared = await this.lookups.run(key, signal, ask);
    // The credentials of another reconcile may be why the shared call failed, so this reconcile calls EKS itself.
    return E.isRight(shared) || call.isOwn ? shared : ask();
  }
}

const keyOf = ({ account, region }: Reader, { eksCluster, controlPlaneUid = '' }: AskedCluster): string =>
  `${account}/${region}/${eksCluster}/${controlPlaneUid}`;
