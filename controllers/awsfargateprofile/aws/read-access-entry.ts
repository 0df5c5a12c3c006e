import * as E from 'fp-ts/lib/Either.js';
import type { EksClusterName, RoleArn } from '../../../api/names.ts';
import { SingleFlight } from '../../../pkg/async/single-flight.ts';
import { describeFailure, isRefused } from '../../../pkg/cloud/errors/errors.ts';
import type { AwsFailure } from '../../../pkg/cloud/errors/failure.ts';
import type { Session } from '../../../pkg/cloud/session.ts';
import { Lru } from '../../../pkg/collections/lru.ts';
import type { Clock, Ms } from '../../../pkg/env/clock.ts';
import type { ObservedAccessEntry } from '../model/observed-state.ts';

/**
 * How long the controller caches the authentication mode of an EKS cluster. The mode can change at most twice in the
 * life of a cluster, because EKS allows no way back.
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

type Reader = Pick<Session, 'account' | 'region' | 'clusters' | 'accessEntries'>;
type Mode = E.Either<AwsFailure, string>;

/** Reads EKS access entries, and caches the authentication mode of each EKS cluster for an hour. */
export class AccessEntryReader {
  private readonly clock: Clock;
  private readonly modes: Lru<KnownMode>;
  private readonly lookups = new SingleFlight<Mode>();

  constructor(clock: Clock) {
    this.clock = clock;
    this.modes = new Lru({ maxEntries: MOST_MODES, expireAfterAccess: { clock, span: MODE_KNOWN_FOR } });
  }

  /**
   * Reads the EKS access entry of an IAM role. If AWS refuses the call, the result is a Right with a `refusal`, because
   * the controller also works without permission for access entries. Other failed calls, for example without an answer,
   * give a Left. With `asksModeAgain` the authentication mode of the EKS cluster is read from EKS, not from the cache.
   */
  async read(
    session: Reader,
    cluster: EksClusterName,
    principal: RoleArn,
    signal: AbortSignal,
    { asksModeAgain = false }: { readonly asksModeAgain?: boolean } = {},
  ): Promise<E.Either<AwsFailure, ObservedAccessEntry>> {
    const mode = await this.modeOf(session, cluster, signal, asksModeAgain);
    if (E.isLeft(mode)) return refused({ principal, mode: undefined }, mode.left);
    const known = { principal, mode: mode.right };
    if (known.mode === 'CONFIG_MAP') return E.right({ ...known, found: undefined });
    const lookup = await session.accessEntries.describe(cluster, principal)();
    if (E.isLeft(lookup)) return refused(known, lookup.left);
    return E.right({ ...known, found: lookup.right.kind === 'found' ? lookup.right.entry : undefined });
  }

  /**
   * Returns the authentication mode of the EKS cluster, from the cache if possible. Reconciles that ask at the same
   * time share one call to EKS.
   */
  private async modeOf(session: Reader, cluster: EksClusterName, signal: AbortSignal, isAsked: boolean): Promise<Mode> {
    const key = keyOf(session, cluster);
    const known = isAsked ? undefined : this.modes.get(key);
    if (known !== undefined && this.clock.monotonic() < known.until) return E.right(known.mode);
    const call = { isOwn: false };
    const ask = async (): Promise<Mode> => {
      call.isOwn = true;
      const response = await session.clusters.describe(cluster)();
      if (E.isLeft(response)) return response;
      // EKS gives no authentication mode for clusters that are older than access entries: they use the ConfigMap
      // aws-auth. A deleted cluster has no access entries either, so it is treated like these clusters.
      const mode = response.right?.authenticationMode ?? 'CONFIG_MAP';
      this.modes.set(key, { mode, until: this.clock.monotonic() + MODE_KNOWN_FOR });
      return E.right(mode);
    };
    const shared = await this.lookups.run(key, signal, ask);
    // The shared call uses the credentials of the reconcile that started it. If the call failed in another reconcile,
    // the cause may be those credentials, so this reconcile calls EKS itself.
    return E.isRight(shared) || call.isOwn ? shared : ask();
  }
}

const keyOf = ({ account, region }: Reader, cluster: EksClusterName): string => `${account}/${region}/${cluster}`;

const refused = (
  known: Pick<ObservedAccessEntry, 'principal' | 'mode'>,
  failure: AwsFailure,
): E.Either<AwsFailure, ObservedAccessEntry> =>
  isRefused(failure)
    ? E.right({ ...known, found: undefined, refusal: describeFailure(failure), isUnreadable: true })
    : E.left(failure);
