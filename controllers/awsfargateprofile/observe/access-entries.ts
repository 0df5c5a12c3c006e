import * as E from 'fp-ts/lib/Either.js';
import { SingleFlight } from 'controller-runtime/async';
import { Lru } from 'controller-runtime/collections';
import type { Clock, Ms } from 'controller-runtime/env';
import type { EksClusterName, RoleArn } from '../../../api/names.ts';
import { describeFailure, isRefused, partitionOf, type AwsFailure, type Session } from '../../../pkg/cloud/index.ts';
import { parseRoleArn, roleArn } from '../../../pkg/fargate/arns.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { roleNameOf, rolePathOf } from '../../shared/profile-names.ts';
import { type CallContext, reasonForFailure } from '../aws/failure-reasons.ts';
import {
  type Looking,
  type Observed,
  type ObservedAccessEntry,
  type ProfilesAndRoles,
  areRolesUnread,
  foundRoles,
} from '../model/observed-state.ts';
import { isRoleTaggedOurs } from '../model/owner.ts';
import { roleEntryOf } from '../../shared/record.ts';
import { isRecreated } from '../record-after-read.ts';
import { type Reason, isUnreported, newReason } from '../reasons/reasons.ts';
import { servesAsAsked } from './observe.ts';

type Reader = Pick<Session, 'account' | 'region' | 'clusters' | 'accessEntries'>;

/** The modes can be cached long: EKS refuses a change back, so a cluster's mode changes at most twice. */
const MODE_KNOWN_FOR: Ms = 60 * 60_000;
const MOST_MODES = 1_000;

interface AskedCluster {
  readonly eksCluster: EksClusterName;
  /** A recreated cluster has the same name and a different UID, and may have a different mode. */
  readonly controlPlaneUid?: string | undefined;
}

type Mode = E.Either<AwsFailure, string>;

export class AccessEntryReader {
  private readonly clock: Clock;
  private readonly modes = new Lru<{ readonly mode: string; readonly until: Ms }>({ maxEntries: MOST_MODES });
  private readonly lookups = new SingleFlight<Mode>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Reads the access entries and the authentication mode that the reconcile needs. A Left ends the reconcile. */
  async complete(
    context: CallContext & { readonly session: Session },
    looking: Looking,
    seen: ProfilesAndRoles,
    signal: AbortSignal,
  ): Promise<E.Either<Reason, Observed>> {
    const { session, target } = context;
    const accessEntries: ObservedAccessEntry[] = [];
    for (const principal of entriesToRead(looking, seen, session)) {
      const role = foundRoles(seen.roles).find(({ arn }) => arn === principal);
      const isRestored = role !== undefined && isRecreated(looking, role);
      // A recreated role's access entry is checked only once, and the entry of an unwanted role is deleted only once.
      const doubtsConfigMap = isRestored || principal !== roleArnInSpec(looking, session);
      const read = await this.read(session, target, principal, signal, { doubtsConfigMap });
      if (E.isLeft(read)) {
        const reason = reasonForFailure(read.left, context);
        const detail = describeFailure(read.left);
        const facts = { name: role?.name ?? '', cluster: target.eksCluster, detail };
        return E.left(isRestored && !isUnreported(reason) ? newReason('RestoringRole', facts) : reason);
      }
      accessEntries.push(read.right);
    }
    const before = modeNeededBefore(looking, seen);
    if (before === undefined) return E.right({ ...seen, accessEntries });
    const mode = await this.readMode(session, target, signal, before);
    return E.isLeft(mode)
      ? E.left(reasonForFailure(mode.left, context))
      : E.right({ ...seen, accessEntries, authenticationMode: mode.right });
  }

  /**
   * A refusal by AWS is a Right, because the permission for access entries is optional. With `doubtsConfigMap`, a cached
   * CONFIG_MAP is not trusted: when a user changes this mode, EKS creates an entry.
   */
  async read(
    session: Reader,
    cluster: AskedCluster,
    principal: RoleArn,
    signal: AbortSignal,
    { doubtsConfigMap = false }: { readonly doubtsConfigMap?: boolean } = {},
  ): Promise<E.Either<AwsFailure, ObservedAccessEntry>> {
    const mode = await this.cachedMode(session, cluster, signal, doubtsConfigMap);
    if (E.isLeft(mode)) return refused({ principal, mode: undefined }, mode.left);
    const known = { principal, mode: mode.right };
    if (known.mode === 'CONFIG_MAP') return E.right({ ...known, found: undefined });
    const lookup = await session.accessEntries.describe(cluster.eksCluster, principal);
    if (E.isLeft(lookup)) return refused(known, lookup.left);
    return E.right({ ...known, found: lookup.right.kind === 'found' ? lookup.right.entry : undefined });
  }

  /** Before a creation, a cached CONFIG_MAP is not trusted: a user may have changed the mode for this creation. */
  async readMode(
    session: Reader,
    cluster: AskedCluster,
    signal: AbortSignal,
    before: 'creation' | 'readiness',
  ): Promise<E.Either<AwsFailure, string>> {
    const mode = await this.cachedMode(session, cluster, signal, before === 'creation');
    return E.isLeft(mode) && isRefused(mode.left) ? E.right('unreadable') : mode;
  }

  /** Concurrent reads share one call to EKS. */
  private async cachedMode(
    session: Reader,
    cluster: AskedCluster,
    signal: AbortSignal,
    doubtsConfigMap: boolean,
  ): Promise<Mode> {
    const key = keyOf(session, cluster);
    const known = this.modes.get(key);
    const isTrusted = !doubtsConfigMap || known?.mode !== 'CONFIG_MAP';
    if (known !== undefined && this.clock.monotonic() < known.until && isTrusted) return E.right(known.mode);
    const call = { isOwn: false };
    const ask = async (): Promise<Mode> => {
      call.isOwn = true;
      const response = await session.clusters.describe(cluster.eksCluster);
      if (E.isLeft(response)) return response;
      // An EKS cluster that predates access entries shows no mode. Such a cluster and a deleted cluster count as
      // CONFIG_MAP, because neither has access entries.
      const mode = response.right?.authenticationMode ?? 'CONFIG_MAP';
      this.modes.set(key, { mode, until: this.clock.monotonic() + MODE_KNOWN_FOR });
      return E.right(mode);
    };
    const shared = await this.lookups.run(key, signal, ask);
    // The shared call may have failed because of another reconcile's credentials, so this reconcile calls EKS itself.
    return E.isRight(shared) || call.isOwn ? shared : ask();
  }
}

export function entriesToRead(
  looking: Looking,
  seen: ProfilesAndRoles,
  session: Pick<Session, 'account' | 'region'>,
): readonly RoleArn[] {
  const { object, identity, isLeaving, isLeavingWithCluster } = looking;
  if (seen.cluster === 'gone' || isLeavingWithCluster || areRolesUnread(seen)) return [];
  const ofSpec = isLeaving ? undefined : roleNameOf(object);
  const isServing = hasServing(looking, seen);
  const found = foundRoles(seen.roles).filter((role) => {
    const entry = roleEntryOf(looking.record, role.name);
    const users = seen.profiles.filter(({ podExecutionRoleArn }) => podExecutionRoleArn === role.arn);
    if (!isRoleTaggedOurs({ identity }, role))
      return isRecreated(looking, role) || (entry === undefined && users.some((each) => servesAsAsked(looking, each)));
    if (users.length === 0 || (!isServing && isSameRoleName(role.name, ofSpec))) return true;
    return entry?.checked !== true || entry.id !== role.id || looking.record.entry === role.arn;
  });
  const arns = found.map(({ arn }) => arn);
  const inSpec = roleArnInSpec(looking, session);
  const isMissing = !isServing && seen.roles.some(({ name, found: role }) => name === ofSpec && role === undefined);
  return inSpec !== undefined && isMissing ? [...arns, inSpec] : arns;
}

/** Returns the ARN of the role that the controller manages for the spec, or `undefined` if it manages none. */
function roleArnInSpec(
  { object, isLeaving }: Looking,
  { account, region }: Pick<Session, 'account' | 'region'>,
): RoleArn | undefined {
  const name = isLeaving ? undefined : roleNameOf(object);
  const place = { partition: partitionOf(region), region, account };
  return name && roleArn(place, rolePathOf(object), name);
}

const hasServing = (looking: Looking, { profiles }: ProfilesAndRoles): boolean =>
  profiles.some((profile) => servesAsAsked(looking, profile));

/**
 * Returns the next step that needs the authentication mode. Only a role with a path matters: with the ConfigMap
 * aws-auth, EKS does not admit the pods of such a role.
 */
function modeNeededBefore(looking: Looking, seen: ProfilesAndRoles): 'creation' | 'readiness' | undefined {
  if (looking.isLeaving || seen.cluster === 'gone' || areRolesUnread(seen)) return undefined;
  const { roleARN, rolePath = '/' } = looking.object.spec;
  const inSpec = roleARN === undefined ? rolePath : (parseRoleArn(roleARN)?.path ?? '/');
  const hasPath = inSpec !== '/' || foundRoles(seen.roles).some(({ path }) => path !== '/');
  if (!hasPath) return undefined;
  return hasServing(looking, seen) ? 'readiness' : 'creation';
}

const refused = (
  known: Pick<ObservedAccessEntry, 'principal' | 'mode'>,
  failure: AwsFailure,
): E.Either<AwsFailure, ObservedAccessEntry> =>
  isRefused(failure) ? E.right({ ...known, found: undefined, refusal: describeFailure(failure) }) : E.left(failure);

const keyOf = ({ account, region }: Reader, { eksCluster, controlPlaneUid = '' }: AskedCluster): string =>
  `${account}/${region}/${eksCluster}/${controlPlaneUid}`;
