import * as E from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { AccountId } from '../../api/names.ts';
import type { Clock, Ms } from '../env/clock.ts';
import { untilAborted } from '../env/deadline.ts';
import { errorMessage } from '../env/error-text.ts';
import type { Logger } from '../env/logger.ts';
import { isPanic } from '../env/panic.ts';
import type { Random } from '../env/random.ts';
import type { CallEnv, Caller, Calling } from './call.ts';
import { calling } from './call.ts';
import type { Clients } from './clients.ts';
import { newClients } from './clients.ts';
import type { AwsCredentials, CredentialPool, CredentialSource, CredentialSources } from './credentials.ts';
import { credentialsName } from './credentials-name.ts';
import { eksClusters } from './eks/clusters.ts';
import { fargateProfiles } from './eks/profiles.ts';
import type { Endpoints } from './endpoints.ts';
import { describeFailure, isCredentialsInvalid, isNotDispatched } from './errors.ts';
import type { AwsFailure, AwsService } from './failure.ts';
import { podExecutionRoles } from './iam/roles.ts';
import type { Limiter } from './limiter.ts';
import type { AwsMetrics } from './metrics.ts';
import { RecentlyUsed } from './recently-used.ts';
import { NoCredentials } from './sdk-failure.ts';
import { callerAccount } from './sts/caller.ts';
import type { AwsTransport } from './transport.ts';
import type { CredentialsProblem, Session, SessionRequest, Sessions } from './types.ts';

export interface SessionsConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly transport: AwsTransport;
  readonly limiter: Limiter;
  readonly metrics: AwsMetrics;
  readonly endpoints: Endpoints;
  readonly sources: CredentialSources;
  readonly pool: CredentialPool;
  /** Of this manager, for the user agent. */
  readonly version: string;
  /** Aborted when the manager stops: ends what is done for several sessions at once. */
  readonly signal: AbortSignal;
}

/** Clients and account of an identity that nobody uses any more go after this; to have them again costs one call. */
const KEPT_UNUSED: Ms = 30 * 60_000;

/** Opens sessions; credentials, accounts and clients are kept and shared between them. */
export function newSessions(config: SessionsConfig): Sessions {
  const identities = new RecentlyUsed<Identity>(config.clock, KEPT_UNUSED);
  const identityOf = (source: CredentialSource): Identity =>
    identities.get(source.key, () => new Identity(config, source));
  return {
    open: (request) =>
      pipe(
        config.sources.find(request.identity, request.namespace, request.signal),
        TE.chain((source) => identityOf(source).open(request)),
      ),
  };
}

type Whose = SessionRequest['identity'];

/** What is kept of one source of credentials. */
class Identity {
  private readonly config: SessionsConfig;
  private readonly source: CredentialSource;
  /** By region, and by the account that they are for; those that ask which it is are for any. */
  private readonly clients = new Map<string, Clients>();
  /** By access key; only one at a time. */
  private account: { readonly accessKeyId: string; readonly id: Promise<E.Either<AwsFailure, AccountId>> } | undefined;

  constructor(config: SessionsConfig, source: CredentialSource) {
    this.config = config;
    this.source = source;
  }

  open(request: SessionRequest): TE.TaskEither<CredentialsProblem, Session> {
    return async () => {
      try {
        const credentials = await untilAborted(request.signal, () => this.config.pool.get(this.source));
        const account = await untilAborted(request.signal, () => this.accountOf(credentials, request.region));
        return E.isLeft(account)
          ? E.left(problemOf(account.left, request.identity))
          : E.right(this.session(request, account.right));
      } catch (error) {
        if (error instanceof NoCredentials) return E.left(error.problem);
        // A mistake of ours is nobody's credentials: it is counted as one, and logged with its stack.
        if (isPanic(error)) throw error;
        return E.left({ reason: 'Interrupted', message: `the AWS session was not opened: ${errorMessage(error)}` });
      }
    };
  }

  private accountOf({ accessKeyId }: AwsCredentials, region: string): Promise<E.Either<AwsFailure, AccountId>> {
    if (this.account?.accessKeyId !== accessKeyId) {
      this.account = { accessKeyId, id: this.askForAccount(accessKeyId, region) };
    }
    return this.account.id;
  }

  /** For all sessions that wait for it, and so under the manager's own signal. */
  private async askForAccount(accessKeyId: string, region: string): Promise<E.Either<AwsFailure, AccountId>> {
    const call = this.calls('sts', {
      limitedAs: `${this.source.key} ${region}`,
      signal: this.config.signal,
      mutationBudget: () => 0,
      polling: false,
      logger: this.config.logger,
    });
    let account: E.Either<AwsFailure, AccountId> | undefined;
    try {
      account = await callerAccount(this.clientsOfAny(region).sts, call)();
      return account;
    } finally {
      const isKnown = account !== undefined && E.isRight(account);
      if (!isKnown && this.account?.accessKeyId === accessKeyId) this.account = undefined;
    }
  }

  private session(request: SessionRequest, account: AccountId): Session {
    const { region, signal, mutationBudget } = request;
    const caller = (limitedAs: string): Caller => ({
      limitedAs,
      signal,
      mutationBudget,
      polling: request.polling ?? false,
      logger: (request.logger ?? this.config.logger).with({ account, region }),
    });
    const { eks, iam } = this.clientsOf(account, region, request.identity);
    const callEks = this.calls('eks', caller(`${account} ${region}`));
    const callIam = this.calls('iam', caller(account));
    return {
      account,
      region,
      profiles: fargateProfiles(eks, callEks, this.config.random),
      clusters: eksClusters(eks, callEks),
      roles: podExecutionRoles(iam, callIam),
    };
  }

  private calls(service: AwsService, caller: Omit<Caller, 'onFailure'>): Calling {
    const env: CallEnv = this.config;
    return calling(env, service, { ...caller, onFailure: (failure) => this.onFailure(failure) });
  }

  private onFailure(failure: AwsFailure): void {
    if (isCredentialsInvalid(failure) && !isNotDispatched(failure)) {
      this.config.pool.refused(this.source);
    }
  }

  /**
   * The credentials of the moment, if they are still of the account. Others may take their place while a pass is under way,
   * in a file for instance: it must not go on in their account with what it has found out in another.
   */
  private async credentialsOf(account: AccountId, region: string, identity: Whose): Promise<AwsCredentials> {
    const credentials = await this.config.pool.get(this.source);
    const now = await this.accountOf(credentials, region);
    if (E.isLeft(now)) throw new NoCredentials(problemOf(now.left, identity));
    if (now.right === account) return credentials;
    const words = `belong to account ${now.right} by now, and no longer to ${account}`;
    throw new NoCredentials({
      reason: 'AccountUnknown',
      message: `the credentials of ${credentialsName(identity)} ${words}`,
    });
  }

  private clientsOf(account: AccountId, region: string, identity: Whose): Clients {
    return this.clientsIn(region, account, () => this.credentialsOf(account, region, identity));
  }

  private clientsOfAny(region: string): Clients {
    return this.clientsIn(region, 'any', () => this.config.pool.get(this.source));
  }

  private clientsIn(region: string, account: AccountId | 'any', credentials: () => Promise<AwsCredentials>): Clients {
    const { transport, endpoints, version } = this.config;
    const key = `${region} ${account}`;
    const clients = this.clients.get(key) ?? newClients({ region, transport, endpoints, version, credentials });
    this.clients.set(key, clients);
    return clients;
  }
}

function problemOf(failure: AwsFailure, identity: Whose): CredentialsProblem {
  const words = describeFailure(failure);
  const whose = credentialsName(identity);
  return isCredentialsInvalid(failure)
    ? { reason: 'CredentialsInvalid', message: `AWS rejects the credentials of ${whose}: ${words}`, failure }
    : { reason: 'AccountUnknown', message: `the account of the credentials could not be asked for: ${words}`, failure };
}
