import * as E from 'fp-ts/lib/Either.js';
import { SingleFlight } from 'controller-runtime/async';
import { Lru } from 'controller-runtime/collections';
import type { Ms } from 'controller-runtime/env';
import type { AccountId } from '../../../api/names.ts';
import type { AwsConfig } from '../session.ts';
import { newClients, type Clients } from '../call/sdk-clients.ts';
import { isCredentialsInvalid } from '../errors/error-codes.ts';
import type { AwsFailure } from '../errors/failure.ts';
import { partitionOf, stsRegionOf } from '../partition.ts';
import { getCallerAccount, stsCalls } from '../sts/sts-api.ts';
import type { AwsCredentials, AwsCredentialSource } from './credential-pool.ts';

interface CallerAccountsConfig extends AwsConfig {
  readonly region: string | undefined;
  /** Aborts when the manager stops. Several reconciles share a call, so the signal of one does not abort it. */
  readonly signal: AbortSignal;
}

/** `unknown` means that STS gave no usable answer. */
type VerificationResult =
  | { readonly kind: 'accepted'; readonly account: AccountId; readonly region: string }
  | { readonly kind: 'rejected'; readonly failure: AwsFailure }
  | { readonly kind: 'unknown' };

interface Rejection {
  readonly region: string;
  readonly failure: AwsFailure;
}

type Lookup = E.Either<AwsFailure, AccountId>;

/** How long a verification is cached. Otherwise, a thousand objects with rejected credentials would each call STS. */
const RESULT_TTL: Ms = 5_000;
/** Unused STS clients and partitions are discarded after this time. */
const KEPT_UNUSED: Ms = 30 * 60_000;

/** The most STS clients per source, one per region. AWS has fewer regions, but users can set any text as the region. */
const MAX_CLIENTS = 64;

interface SourceFacts {
  /** By region. A client is kept, because it remembers by how much this host's clock is wrong. */
  readonly clients: Lru<Clients>;
  /** The partition in which AWS accepted this source's credentials. */
  partition?: string;
  verification?: { readonly accessKeyId: string; readonly result: VerificationResult; readonly until: Ms };
}

/**
 * Asks STS which account credentials belong to, and whether they are valid.
 *
 * A region that is not enabled in the account rejects valid credentials as unknown, and any tenant can specify such a
 * region. So rejected credentials are verified in the manager's region, or in the default region of their partition if
 * the manager's region is unknown or in a different partition. They are removed from the manager's cache only if AWS
 * rejects them there too.
 */
export class CallerAccounts {
  private readonly config: CallerAccountsConfig;
  private readonly sources: Lru<SourceFacts>;
  private readonly lookups = new SingleFlight<Lookup>();
  private readonly verifications = new SingleFlight<VerificationResult>();

  constructor(config: CallerAccountsConfig) {
    this.config = config;
    this.sources = new Lru({ expireAfterAccess: { clock: config.clock, span: KEPT_UNUSED } });
  }

  /** Concurrent callers with the same credentials and STS endpoint share one call. */
  async find(source: AwsCredentialSource, credentials: AwsCredentials, region: string): Promise<Lookup> {
    const known = this.recentResult(source, credentials);
    if (known?.kind === 'rejected') return E.left(known.failure);
    const asked = this.lookupRegion(region);
    const found = await this.lookUp(source, credentials, asked);
    if (E.isRight(found) || !isCredentialsInvalid(found.left)) return found;
    const result = await this.verify(source, credentials, { region: asked, failure: found.left });
    return result.kind === 'accepted' ? E.right(result.account) : found;
  }

  /**
   * Asks STS in the {@link verificationRegion} whether rejected credentials are really invalid, unless `rejection`
   * already is STS's answer from there. If they are, removes them from the manager's cache. Concurrent callers share
   * one STS call.
   */
  verify(source: AwsCredentialSource, credentials: AwsCredentials, rejection: Rejection): Promise<VerificationResult> {
    const { accessKeyId } = credentials;
    return this.verifications.run(`${source.key} ${accessKeyId}`, undefined, async () => {
      const known = this.recentResult(source, credentials);
      if (known !== undefined) return known;
      const result = await this.verifyUncached(source, credentials, rejection);
      const until = this.config.clock.monotonic() + RESULT_TTL;
      this.factsOf(source).verification = { accessKeyId, result, until };
      if (result.kind === 'rejected') this.config.pool.reject(source, accessKeyId);
      return result;
    });
  }

  private async verifyUncached(
    source: AwsCredentialSource,
    credentials: AwsCredentials,
    { region, failure }: Rejection,
  ): Promise<VerificationResult> {
    const verificationRegion = this.verificationRegion(source, region);
    const isAnswered = failure.service === 'sts' && region === verificationRegion;
    const found = isAnswered ? E.left(failure) : await this.lookUp(source, credentials, verificationRegion);
    if (E.isRight(found)) return { kind: 'accepted', account: found.right, region: verificationRegion };
    return isCredentialsInvalid(found.left) ? { kind: 'rejected', failure: found.left } : { kind: 'unknown' };
  }

  private recentResult(source: AwsCredentialSource, { accessKeyId }: AwsCredentials): VerificationResult | undefined {
    const { verification } = this.factsOf(source);
    const isRecent = verification?.accessKeyId === accessKeyId && this.config.clock.monotonic() < verification.until;
    return isRecent ? verification.result : undefined;
  }

  private lookUp(source: AwsCredentialSource, { accessKeyId }: AwsCredentials, region: string): Promise<Lookup> {
    return this.lookups.run(`${source.key} ${accessKeyId} ${region}`, undefined, async () => {
      const facts = this.factsOf(source);
      const call = stsCalls(this.config, source, region, this.config.signal);
      const found = await getCallerAccount(this.clientsFor(source, facts, region).sts, call);
      if (E.isRight(found)) facts.partition = partitionOf(region);
      return found;
    });
  }

  /**
   * Returns the manager's region if it is in the credentials' partition, otherwise that partition's default region.
   * `failed` is the region that rejected the credentials.
   */
  private verificationRegion(source: AwsCredentialSource, failed: string): string {
    const { region } = this.config;
    return stsRegionOf(source.partition ?? this.factsOf(source).partition ?? partitionOf(region ?? failed), region);
  }

  /**
   * Returns the manager's region if it is in the same partition as `region`, because a private network may reach only
   * the STS endpoint of the manager's region. Returns `region` if an STS endpoint is configured for `region`.
   */
  private lookupRegion(region: string): string {
    const { region: own, endpoints } = this.config;
    const isNear = own !== undefined && partitionOf(own) === partitionOf(region);
    return isNear && endpoints.urlFor('sts', region) === undefined ? own : region;
  }

  private factsOf({ key }: AwsCredentialSource): SourceFacts {
    return this.sources.getOrCreate(key, () => ({ clients: new Lru({ maxEntries: MAX_CLIENTS }) }));
  }

  private clientsFor(source: AwsCredentialSource, { clients }: SourceFacts, region: string): Clients {
    const { transport, endpoints, version, pool } = this.config;
    return clients.getOrCreate(region, () =>
      newClients({ region, transport, endpoints, version, credentials: () => pool.get(source) }),
    );
  }
}
