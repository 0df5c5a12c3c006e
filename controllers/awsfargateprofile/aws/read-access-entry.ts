import * as E from 'fp-ts/lib/Either.js';
import type { RoleArn } from '../../../api/names.ts';
import { describeFailure, isRefused } from '../../../pkg/cloud/index.ts';
import type { AwsFailure, Session } from '../../../pkg/cloud/index.ts';
import type { Clock } from '../../../pkg/env/clock.ts';
import type { ObservedAccessEntry } from '../model/observed-state.ts';
import type { AskedCluster } from './authentication-mode-cache.ts';
import { AuthenticationModes } from './authentication-mode-cache.ts';

type Reader = Pick<Session, 'account' | 'region' | 'clusters' | 'accessEntries'>;

/** Reads EKS access entries, and the authentication mode of EKS clusters. */
export class AccessEntryReader {
  private readonly modes: AuthenticationModes;

  constructor(clock: Clock) {
    this.modes = new AuthenticationModes(clock);
  }

  /**
   * Reads the EKS access entry of an IAM role. If AWS refuses the call, the result is still a Right, with the error
   * message in `refusal`, because the controller also works without permission for access entries. Any other failed
   * call gives a Left, for example a call without an answer. If `asksModeAgain` is true, the authentication mode of the
   * EKS cluster is read from EKS, not from the cache.
   */
  async read(
    session: Reader,
    cluster: AskedCluster,
    principal: RoleArn,
    signal: AbortSignal,
    { asksModeAgain = false }: { readonly asksModeAgain?: boolean } = {},
  ): Promise<E.Either<AwsFailure, ObservedAccessEntry>> {
    const mode = await this.modes.read(session, cluster, signal, () => !asksModeAgain);
    if (E.isLeft(mode)) return refused({ principal, mode: undefined }, mode.left);
    const known = { principal, mode: mode.right };
    if (known.mode === 'CONFIG_MAP') return E.right({ ...known, found: undefined });
    const lookup = await session.accessEntries.describe(cluster.eksCluster, principal)();
    if (E.isLeft(lookup)) return refused(known, lookup.left);
    return E.right({ ...known, found: lookup.right.kind === 'found' ? lookup.right.entry : undefined });
  }

  /**
   * Reads the authentication mode of an EKS cluster; `unreadable` if AWS refuses to show it. Before a creation, a cached
   * mode CONFIG_MAP is not trusted, because a user may have changed the mode so that the creation can go on.
   */
  async readMode(
    session: Reader,
    cluster: AskedCluster,
    signal: AbortSignal,
    before: 'creation' | 'readiness',
  ): Promise<E.Either<AwsFailure, string>> {
    const isTrusted = (mode: string) => before === 'readiness' || mode !== 'CONFIG_MAP';
    const mode = await this.modes.read(session, cluster, signal, isTrusted);
    return E.isLeft(mode) && isRefused(mode.left) ? E.right('unreadable') : mode;
  }
}

const refused = (
  known: Pick<ObservedAccessEntry, 'principal' | 'mode'>,
  failure: AwsFailure,
): E.Either<AwsFailure, ObservedAccessEntry> =>
  isRefused(failure)
    ? E.right({ ...known, found: undefined, refusal: describeFailure(failure), isUnreadable: true })
    : E.left(failure);
