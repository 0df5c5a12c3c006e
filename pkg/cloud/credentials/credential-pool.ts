import type { Either } from 'fp-ts/lib/Either.js';
import { SingleFlight, withDeadline } from 'controller-runtime/async';
import { Lru } from 'controller-runtime/collections';
import { type Clock, isPanic, type Ms } from 'controller-runtime/env';
import { errorMessage } from 'controller-runtime/text';
import { NoCredentials } from '../errors/sdk-failure.ts';
import type { IdentityField, IdentityRef } from './identity-ref.ts';
import type { CredentialsProblem } from './credentials-problem.ts';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** In ms since 1970. If undefined, the credentials do not expire. */
  readonly expiresAt?: Ms;
}

/** Two sources with the same key return credentials of the same identity. */
export interface AwsCredentialSource {
  readonly key: string;
  /** Throws {@link NoCredentials}, or an error that names the places where the source looked for credentials. */
  fetch(signal: AbortSignal): Promise<AwsCredentials>;
  /** How long a fetch of credentials may take. The default is 10 s. */
  readonly deadline?: Ms;
  /** If undefined, the partition is unknown until AWS has accepted the credentials. */
  readonly partition?: string;
  /** Called when AWS has rejected this source's credentials. */
  onRejected?(): void;
}

/** Fails if the identity does not allow objects in `namespace` to use it. */
export interface AwsCredentialSources {
  find(
    identity: IdentityRef | undefined,
    namespace: string,
    signal: AbortSignal,
    field?: IdentityField,
  ): Promise<Either<CredentialsProblem, AwsCredentialSource>>;
}

/**
 * Long enough for a web identity's one STS call, and for the requests to the instance metadata service, each of which
 * times out after one second.
 */
const FETCH_DEADLINE: Ms = 10_000;

/**
 * The least time between two fetches if the first one failed, or returned credentials that expire soon. Without this
 * limit, each of a thousand objects would fetch again.
 */
const RETRY_INTERVAL: Ms = 5_000;
/** Credentials that do not expire are fetched again after this time, because their file may change. */
const REREAD_INTERVAL: Ms = 60_000;
/** If the renewal of cached credentials fails, they stay in use until only this time is left before they expire. */
const MIN_VALIDITY: Ms = 30_000;
/** Credentials are renewed this long before they expire, as in the AWS SDKs. */
const RENEW_BEFORE_EXPIRY: Ms = 5 * 60_000;

type State =
  | { readonly kind: 'empty' }
  | { readonly kind: 'cached'; readonly credentials: AwsCredentials; readonly renewNotBefore: Ms }
  | { readonly kind: 'failed'; readonly error: NoCredentials; readonly retryNotBefore: Ms };

/**
 * Renews credentials that expire in the background while the old ones are valid, so that a slow source does not delay
 * callers. If the credentials do not expire, callers wait while they are fetched again, so that no caller gets a key
 * that was replaced. Concurrent calls of `get` share one fetch.
 */
export class CachedCredentials {
  private readonly source: AwsCredentialSource;
  private readonly clock: Clock;
  private readonly stop: AbortSignal;
  private state: State = { kind: 'empty' };
  private readonly fetches = new SingleFlight<AwsCredentials>();

  /** `stop` aborts a running fetch. */
  constructor(source: AwsCredentialSource, clock: Clock, stop: AbortSignal) {
    this.source = source;
    this.clock = clock;
    this.stop = stop;
  }

  /** Throws {@link NoCredentials}, or a panic (a bug such as a TypeError). */
  async get(): Promise<AwsCredentials> {
    const { state } = this;
    const now = this.clock.monotonic();
    if (
      state.kind === 'cached' &&
      (now < state.renewNotBefore || this.isValidFor(state.credentials, RENEW_BEFORE_EXPIRY))
    ) {
      return state.credentials;
    }
    if (state.kind === 'failed' && now < state.retryNotBefore) throw state.error;
    // No caller's signal aborts the fetch, because later callers use the credentials too.
    const fetching = this.fetches.run(this.source.key, undefined, () => this.fetch(state));
    if (state.kind !== 'cached' || !this.isValidFor(state.credentials, MIN_VALIDITY)) return fetching;
    // Ignores an error of the fetch, because the cached credentials are still valid. Shortly before they expire,
    // callers wait for the fetch, and get its error.
    fetching.catch(() => {});
    return state.credentials;
  }

  /** Returns even expired credentials, and never fetches. */
  peek(): AwsCredentials | undefined {
    return this.state.kind === 'cached' ? this.state.credentials : undefined;
  }

  /**
   * Discards the cached credentials if they have this access key ID, which AWS has rejected, so that the next `get`
   * fetches again. Keeps credentials that were fetched in the meantime, so that concurrent rejections cause only one
   * fetch.
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
      // A source wraps the errors that the SDK throws, so a panic (such as a TypeError) here is a bug of the manager.
      if (isPanic(cause)) throw cause;
      // Cached credentials stay in use while they are valid, unless AWS has rejected them meanwhile.
      if (previous.kind === 'cached' && this.state === previous && this.isUsable(previous.credentials))
        return this.store(previous.credentials, RETRY_INTERVAL);
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

/** Unused credentials are removed after this time, or later with a long resync interval (see {@link retentionOf}). */
const KEPT_UNUSED: Ms = 30 * 60_000;

/** All reconciles and assumed roles that use the same source share its credentials. */
export class CredentialPool {
  private readonly clock: Clock;
  private readonly stop: AbortSignal;
  private readonly cached: Lru<CachedCredentials>;

  /**
   * `stop` aborts running fetches. `resync` is the interval in which an unchanged object is reconciled: the pool keeps
   * unused credentials at least until the object's next reconcile.
   */
  constructor(clock: Clock, stop: AbortSignal, resync: Ms) {
    this.clock = clock;
    this.stop = stop;
    this.cached = new Lru({ expireAfterAccess: { clock, span: retentionOf(KEPT_UNUSED, resync) } });
  }

  /** Throws {@link NoCredentials}, or a panic. */
  get(source: AwsCredentialSource): Promise<AwsCredentials> {
    return this.cachedFor(source).get();
  }

  reject(source: AwsCredentialSource, accessKeyId: string): void {
    this.cachedFor(source).reject(accessKeyId);
  }

  /** Returns when each source's cached credentials expire. `undefined` means never. */
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

/** The longest pause between two reconciles of an unchanged object, in resync intervals. Jitter lengthens it. */
const LONGEST_PAUSE = 1.5;

/** Returns how long to keep an unused cache entry: at least until the next reconcile of an unchanged object. */
export const retentionOf = (least: Ms, resync: Ms): Ms => Math.max(least, LONGEST_PAUSE * resync);
