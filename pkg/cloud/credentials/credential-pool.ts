import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Clock, Ms } from '../../env/clock.ts';
import { errorMessage } from '../../env/error-text.ts';
import { withDeadline } from '../../async/deadline.ts';
import { SingleFlight } from '../../async/single-flight.ts';
import { isPanic } from '../../env/panic.ts';
import { Lru } from '../../collections/lru.ts';
import { NoCredentials } from '../errors/sdk-failure.ts';
import type { IdentityField, IdentityRef } from '../identity-ref.ts';
import type { CredentialsProblem } from './credentials-problem.ts';
import { MIN_VALIDITY, RENEW_BEFORE_EXPIRY, REREAD_INTERVAL, RETRY_INTERVAL } from './renewal-times.ts';
import { retentionOf } from './retention.ts';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** When the credentials expire, in milliseconds since 1970; undefined: the credentials do not expire. */
  readonly expiresAt?: Ms;
}

/** A source of AWS credentials. Two sources with the same key return credentials of the same identity. */
export interface AwsCredentialSource {
  readonly key: string;
  /**
   * Fetches new credentials. Throws {@link NoCredentials} if the source recognizes the problem, or else an error that
   * names the places where the source looked for credentials.
   */
  fetch(signal: AbortSignal): Promise<AwsCredentials>;
  /** How long a fetch of credentials may take; undefined: 10 s. */
  readonly deadline?: Ms;
  /** The AWS partition of the credentials; undefined: the partition is known after AWS has accepted the credentials. */
  readonly partition?: string;
  /** Called when AWS has rejected credentials of this source. */
  onRejected?(): void;
}

/** Finds the source of an AWS identity's credentials. Fails when objects in `namespace` may not use the identity. */
export interface AwsCredentialSources {
  find(
    identity: IdentityRef | undefined,
    namespace: string,
    signal: AbortSignal,
    field?: IdentityField,
  ): TaskEither<CredentialsProblem, AwsCredentialSource>;
}

/**
 * How long a fetch of credentials may take by default. The time is enough for the one STS call of a web identity; the
 * provider for instance metadata waits for at most a second for each response.
 */
const FETCH_DEADLINE: Ms = 10_000;

type State =
  | { readonly kind: 'empty' }
  | { readonly kind: 'cached'; readonly credentials: AwsCredentials; readonly renewNotBefore: Ms }
  | { readonly kind: 'failed'; readonly error: NoCredentials; readonly retryNotBefore: Ms };

/**
 * Caches the credentials of one source and renews them. Concurrent calls of `get` share one fetch. Credentials that
 * expire are renewed in the background as long as the old credentials are valid, so that a slow source delays no
 * caller.
 */
export class CachedCredentials {
  private readonly source: AwsCredentialSource;
  private readonly clock: Clock;
  private readonly stop: AbortSignal;
  private state: State = { kind: 'empty' };
  private readonly fetches = new SingleFlight<AwsCredentials>();
  /** The panic (a bug such as a TypeError) of a renewal in the background, which the next call of `get` throws. */
  private backgroundPanic: { readonly error: unknown } | undefined;

  /** The signal `stop` aborts a running fetch of credentials. */
  constructor(source: AwsCredentialSource, clock: Clock, stop: AbortSignal) {
    this.source = source;
    this.clock = clock;
    this.stop = stop;
  }

  /** Returns cached or new credentials. Throws {@link NoCredentials}, or a panic (a bug such as a TypeError). */
  async get(): Promise<AwsCredentials> {
    const { state, backgroundPanic } = this;
    const now = this.clock.monotonic();
    if (backgroundPanic !== undefined) {
      this.backgroundPanic = undefined;
      throw backgroundPanic.error;
    }
    if (
      state.kind === 'cached' &&
      (now < state.renewNotBefore || this.isValidFor(state.credentials, RENEW_BEFORE_EXPIRY))
    ) {
      return state.credentials;
    }
    if (state.kind === 'failed' && now < state.retryNotBefore) {
      throw state.error;
    }
    // The fetch does not get the signal of a caller, because later callers use the cached credentials. Only the
    // deadline of the fetch and the signal `stop` abort it.
    const fetching = this.fetches.run(this.source.key, undefined, () => this.fetch(state));
    if (state.kind !== 'cached' || !this.isValidFor(state.credentials, MIN_VALIDITY)) return fetching;
    fetching.catch((error: unknown) => {
      if (isPanic(error)) this.backgroundPanic = { error };
    });
    return state.credentials;
  }

  /** Returns the cached credentials, also expired ones; `undefined` if there are none. */
  peek(): AwsCredentials | undefined {
    return this.state.kind === 'cached' ? this.state.credentials : undefined;
  }

  /**
   * Removes the cached credentials with this access key ID, because AWS has rejected them. The next `get` fetches new
   * credentials. Credentials that were fetched meanwhile stay, so that concurrent rejections cause one fetch.
   */
  reject(accessKeyId: string): void {
    if (this.state.kind !== 'cached' || this.state.credentials.accessKeyId !== accessKeyId) return;
    this.state = { kind: 'empty' };
    this.source.onRejected?.();
  }

  private async fetch(previous: State): Promise<AwsCredentials> {
    try {
      const credentials = await withDeadline(
        this.clock,
        this.source.deadline ?? FETCH_DEADLINE,
        this.stop,
        'the source of credentials',
        (signal) => this.source.fetch(signal),
      );
      return this.store(credentials, credentials.expiresAt === undefined ? REREAD_INTERVAL : RETRY_INTERVAL);
    } catch (cause) {
      // A source of credentials wraps the errors of the SDK in errors of its own. So a TypeError or another panic that
      // a source throws is a bug of the manager.
      if (isPanic(cause)) throw cause;
      // If the fetch fails, the cached credentials stay in use while they are valid, unless AWS has rejected them
      // meanwhile.
      if (previous.kind === 'cached' && this.state === previous && this.isUsable(previous.credentials)) {
        return this.store(previous.credentials, RETRY_INTERVAL);
      }
      const error = cause instanceof NoCredentials ? cause : toNoCredentials(cause);
      this.state = { kind: 'failed', error, retryNotBefore: this.clock.monotonic() + RETRY_INTERVAL };
      throw error;
    }
  }

  private store(credentials: AwsCredentials, renewAfter: Ms): AwsCredentials {
    this.state = { kind: 'cached', credentials, renewNotBefore: this.clock.monotonic() + renewAfter };
    return credentials;
  }

  private isUsable(credentials: AwsCredentials): boolean {
    return credentials.expiresAt === undefined || this.isValidFor(credentials, MIN_VALIDITY);
  }

  private isValidFor({ expiresAt }: AwsCredentials, span: Ms): boolean {
    return expiresAt !== undefined && expiresAt - this.clock.now() > span;
  }
}

const toNoCredentials = (cause: unknown): NoCredentials =>
  new NoCredentials(
    { reason: 'CredentialsMissing', message: `the controller has no AWS credentials: ${errorMessage(cause)}` },
    { cause },
  );

/**
 * Credentials that were not used for this long are removed from the cache. If the longest pause between two reconciles
 * of an object is longer than this time, the credentials are kept for that pause instead.
 */
const KEPT_UNUSED: Ms = 30 * 60_000;

/**
 * Caches the credentials of all credential sources. All reconciles and assumed roles that use the same source share its
 * credentials.
 */
export class CredentialPool {
  private readonly clock: Clock;
  private readonly stop: AbortSignal;
  private readonly cached: Lru<CachedCredentials>;

  /**
   * The signal `stop` aborts running fetches of credentials. `resync` is the resync interval: an unchanged object is
   * reconciled, and uses its credentials, about once per interval.
   */
  constructor(clock: Clock, stop: AbortSignal, resync: Ms) {
    this.clock = clock;
    this.stop = stop;
    this.cached = new Lru({ expireAfterAccess: { clock, span: retentionOf(KEPT_UNUSED, resync) } });
  }

  /** Returns cached or new credentials of the source. Throws {@link NoCredentials}, or a panic. */
  get(source: AwsCredentialSource): Promise<AwsCredentials> {
    return this.cachedFor(source).get();
  }

  /** Removes the cached credentials with this access key ID, because AWS has rejected them. */
  reject(source: AwsCredentialSource, accessKeyId: string): void {
    this.cachedFor(source).reject(accessKeyId);
  }

  /**
   * Returns the key of each source that has cached credentials, and the time at which these credentials expire;
   * `undefined` for credentials that never expire.
   */
  expiries(): readonly { readonly key: string; readonly expiresAt: Ms | undefined }[] {
    return this.cached.entries().flatMap(([key, credentials]) => {
      const current = credentials.peek();
      return current === undefined ? [] : [{ key, expiresAt: current.expiresAt }];
    });
  }

  private cachedFor(source: AwsCredentialSource): CachedCredentials {
    return this.cached.getOrCreate(source.key, () => new CachedCredentials(source, this.clock, this.stop));
  }
}
