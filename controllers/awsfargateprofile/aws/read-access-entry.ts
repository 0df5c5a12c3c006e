import * as E from 'fp-ts/lib/Either.js';
import type { RoleArn } from '../../../api/names.ts';
import { describeFailure, isRefused, type AwsFailure, type Session } from '../../../pkg/cloud/index.ts';
import type { Clock } from '../../../pkg/env/clock.ts';
import { foundRoles, isRecreated } from '../decide/compare.ts';
import { entriesToRead, modeNeededBefore } from '../decide/further-reads.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Target } from '../model/goal-kinds.ts';
import type { Observed, ObservedAccessEntry } from '../model/observed-state.ts';
import { type Reason, isSilent, newReason } from '../reasons/reasons.ts';
import { type AskedCluster, AuthenticationModes } from './authentication-mode-cache.ts';
import { callContext, reasonForFailure } from './failure-reasons.ts';

type Reader = Pick<Session, 'account' | 'region' | 'clusters' | 'accessEntries'>;

interface AccessQuestion {
  readonly target: Target;
  readonly desired: Desired;
  readonly observed: Observed;
}

export class AccessEntryReader {
  private readonly modes: AuthenticationModes;

  constructor(clock: Clock) {
    this.modes = new AuthenticationModes(clock);
  }

  /** Completes the observed state by the access entries and the authentication mode that the plan depends on. */
  async complete(
    session: Session,
    { target, desired, observed }: AccessQuestion,
    signal: AbortSignal,
  ): Promise<E.Either<Reason, Observed>> {
    const context = callContext(target, { session, abandonment: desired.abandonment });
    const accessEntries: ObservedAccessEntry[] = [];
    for (const principal of entriesToRead(desired, observed)) {
      // Once status records that the access entry of a recreated role is right, no later pass checks the entry.
      const role = foundRoles(observed.roles).find(({ arn, id }) => arn === principal && id !== '');
      const asksModeAgain = role !== undefined && isRecreated(desired, role);
      const read = await this.read(session, target, principal, signal, { asksModeAgain });
      if (E.isLeft(read)) {
        const reason = reasonForFailure(read.left, context);
        const detail = describeFailure(read.left);
        const facts = { name: role?.name ?? '', cluster: target.eksCluster, detail };
        return E.left(asksModeAgain && !isSilent(reason) ? newReason('RestoringRole', facts) : reason);
      }
      accessEntries.push(read.right);
    }
    const before = modeNeededBefore(desired, observed);
    if (before === undefined) return E.right({ ...observed, accessEntries });
    const mode = await this.readMode(session, target, signal, before);
    return E.isLeft(mode)
      ? E.left(reasonForFailure(mode.left, context))
      : E.right({ ...observed, accessEntries, authenticationMode: mode.right });
  }

  /**
   * A refusal by AWS is a Right with the error message in `refusal`, because the controller also works without permission
   * for access entries. With `asksModeAgain`, the cached authentication mode does not count.
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
   * `unreadable` if AWS refuses to show it. Before a creation, a cached mode CONFIG_MAP is not trusted, because a user may
   * have changed the mode so that the creation can go on.
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
