import * as E from 'fp-ts/lib/Either.js';
import { untilAborted } from 'controller-runtime/async';
import { Lru } from 'controller-runtime/collections';
import { isPanic, type Ms, parseTimestamp, type Random } from 'controller-runtime/env';
import { errorMessage } from 'controller-runtime/text';
import type { AccountId } from '../../api/names.ts';
import type { AwsConfig, Session, SessionRequest, Sessions } from './session.ts';
import { newCallFactory, type CallFactory } from './call/call.ts';
import { newClients, type Clients } from './call/sdk-clients.ts';
import type { AwsCredentials, AwsCredentialSource, AwsCredentialSources } from './credentials/credential-pool.ts';
import type { CallerAccounts } from './credentials/caller-identity.ts';
import { credentialsName, describeCredentials } from './credentials/identity-ref.ts';
import { accessEntries, eksClusters } from './eks/clusters.ts';
import { fargateProfiles } from './eks/profiles.ts';
import { isCredentialsInvalid, isNotDispatched } from './errors/error-codes.ts';
import type { AwsFailure, AwsService } from './errors/failure.ts';
import { podExecutionRoles } from './iam/roles.ts';
import { NoCredentials } from './errors/sdk-failure.ts';
import { isRegionName } from './partition.ts';
import { clusterToken } from './sts/cluster-token.ts';
import { rejectedCredentials, type CredentialsProblem } from './credentials/credentials-problem.ts';

interface SessionsConfig extends AwsConfig {
  readonly random: Random;
  readonly sources: AwsCredentialSources;
  readonly accounts: CallerAccounts;
}

/** An identity's unused clients and account are discarded after this time. Getting them again costs one STS call. */
const KEPT_UNUSED: Ms = 30 * 60_000;
/**
 * The most sets of SDK clients per identity, one of 80 KiB per region and account. AWS has fewer regions, but users can
 * set any text as the region.
 */
const MAX_CLIENTS = 64;

/** The sessions share credentials, account lookups, and SDK clients. */
export function newSessions(config: SessionsConfig): Sessions {
  const identities = new Lru<IdentitySessions>({ expireAfterAccess: { clock: config.clock, span: KEPT_UNUSED } });
  const identityOf = (source: AwsCredentialSource): IdentitySessions =>
    identities.getOrCreate(source.key, () => new IdentitySessions(config, source));
  return {
    open: async (request) => {
      const { region, identity, namespace, signal, identityField } = request;
      if (!isRegionName(region))
        return E.left({ reason: 'RegionInvalid', message: `"${region}" is not the name of an AWS region` });
      const source = await config.sources.find(identity, namespace, signal, identityField);
      return E.isLeft(source) ? source : identityOf(source.right).open(request);
    },
  };
}

type Whose = SessionRequest['identity'];

/** Caches the account and the SDK clients of one source of credentials. */
class IdentitySessions {
  private readonly config: SessionsConfig;
  private readonly source: AwsCredentialSource;
  /** By region and account. */
  private readonly clients: Lru<Clients>;
  /** The account of the current access key. */
  private account: { readonly accessKeyId: string; readonly id: AccountId } | undefined;

  constructor(config: SessionsConfig, source: AwsCredentialSource) {
    this.config = config;
    this.source = source;
    const expireAfterAccess = { clock: config.clock, span: KEPT_UNUSED };
    this.clients = new Lru({ maxEntries: MAX_CLIENTS, expireAfterAccess });
  }

  async open(request: SessionRequest): Promise<E.Either<CredentialsProblem, Session>> {
    try {
      const credentials = await untilAborted(request.signal, () => this.config.pool.get(this.source));
      const account = await untilAborted(request.signal, () => this.accountOf(credentials, request.region));
      return E.isLeft(account)
        ? E.left(toCredentialsProblem(account.left, request.identity))
        : E.right(this.newSession(request, account.right));
    } catch (error) {
      if (error instanceof NoCredentials) return E.left(error.problem);
      // A bug in the manager must reach the controller, which counts it as a panic and logs its stack.
      if (isPanic(error)) throw error;
      return E.left({ reason: 'Interrupted', message: `the AWS session was not opened: ${errorMessage(error)}` });
    }
  }

  private async accountOf(credentials: AwsCredentials, region: string): Promise<E.Either<AwsFailure, AccountId>> {
    const { accessKeyId } = credentials;
    if (this.account?.accessKeyId === accessKeyId) return E.right(this.account.id);
    const found = await this.config.accounts.find(this.source, credentials, region);
    if (E.isRight(found)) this.account = { accessKeyId, id: found.right };
    return found;
  }

  private newSession(request: SessionRequest, account: AccountId): Session {
    const { region, signal, mutationBudget, readPriority = () => 'read' } = request;
    const logger = (request.logger ?? this.config.logger).with({ account, region });
    const { clock } = this.config;
    let answered: { readonly date: Ms; readonly at: Ms } | undefined;
    const onDate = (text: string): void => {
      const date = parseTimestamp(text);
      if (date !== undefined) answered = { date, at: clock.monotonic() };
    };
    const newCalls = (service: AwsService, rateLimitKeyPrefix: string): CallFactory =>
      newCallFactory(this.config, service, {
        rateLimitKeyPrefix,
        signal,
        mutationBudget,
        readPriority,
        logger,
        onDate,
        examine: (failure) => this.examine(failure, region, signal),
      });
    const clients = this.clientsForAccount(account, region, request.identity);
    const { eks, iam } = clients;
    const now = (): Ms => (answered === undefined ? clock.now() : answered.date + clock.monotonic() - answered.at);
    const callEks = newCalls('eks', `${account} ${region}`);
    return {
      account,
      region,
      profiles: fargateProfiles(eks, callEks, this.config.random),
      clusters: eksClusters(eks, callEks),
      accessEntries: accessEntries(eks, callEks, this.config.random),
      roles: podExecutionRoles(iam, newCalls('iam', account)),
      now,
      clusterToken: (cluster) => clusterToken(clients.sts, { region, cluster, now: now() }),
    };
  }

  /**
   * If STS accepts rejected credentials in another region, sets `acceptedIn` in the failure: the region is then the
   * problem, and the credentials stay in use.
   */
  private async examine(failure: AwsFailure, region: string, signal: AbortSignal): Promise<AwsFailure> {
    if (!isCredentialsInvalid(failure) || isNotDispatched(failure)) return failure;
    try {
      const result = await untilAborted(signal, async () => {
        const credentials = await this.config.pool.get(this.source);
        return this.config.accounts.verify(this.source, credentials, { region, failure });
      });
      const isElsewhere = result.kind === 'accepted' && result.region !== region;
      return isElsewhere ? { ...failure, acceptedIn: result.region } : failure;
    } catch (error) {
      if (isPanic(error)) throw error;
      return failure;
    }
  }

  /**
   * Throws {@link NoCredentials} if the credentials do not belong to `account`, or if the account cannot be looked up.
   * A user may replace a credentials file during a reconcile, whose decisions are based on data from `account`.
   */
  private async credentialsForAccount(account: AccountId, region: string, identity: Whose): Promise<AwsCredentials> {
    const credentials = await this.config.pool.get(this.source);
    const now = await this.accountOf(credentials, region);
    if (E.isLeft(now)) throw new NoCredentials(toCredentialsProblem(now.left, identity));
    if (now.right === account) return credentials;
    const words = `belong to account ${now.right} by now, and no longer to ${account}`;
    throw new NoCredentials({
      reason: 'AccountUnknown',
      message: `${describeCredentials(credentialsName(identity))} ${words}`,
    });
  }

  private clientsForAccount(account: AccountId, region: string, identity: Whose): Clients {
    const { transport, endpoints, version } = this.config;
    const credentials = (): Promise<AwsCredentials> => this.credentialsForAccount(account, region, identity);
    return this.clients.getOrCreate(`${region} ${account}`, () =>
      newClients({ region, transport, endpoints, version, credentials }),
    );
  }
}

function toCredentialsProblem(failure: AwsFailure, identity: Whose): CredentialsProblem {
  if (isCredentialsInvalid(failure)) return rejectedCredentials(failure, credentialsName(identity));
  const message = 'the controller cannot find out the account of the credentials';
  return { reason: 'AccountUnknown', message, failure };
}
