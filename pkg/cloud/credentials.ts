import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Clock, Ms } from '../env/clock.ts';
import { errorMessage } from '../env/error-text.ts';
import { withDeadline } from '../env/deadline.ts';
import { isPanic } from '../env/panic.ts';
import { RecentlyUsed } from './recently-used.ts';
import { NoCredentials } from './sdk-failure.ts';
import type { CredentialsProblem, IdentityRef } from './types.ts';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** Milliseconds since 1970; absent where they do not end. */
  readonly expiresAt?: Ms;
}

/** A place that credentials come from. Two sources with the same key give the same identity's credentials. */
export interface CredentialSource {
  readonly key: string;
  /** Fetches anew. Throws with words that say where it looked, or {@link NoCredentials} where it knows what is wrong. */
  fetch(signal: AbortSignal): Promise<AwsCredentials>;
  /** How long a fetch may take; without, 10 s. */
  readonly deadline?: Ms;
  /** AWS has refused what it gave. */
  refused?(): void;
}

/** Finds the source of an identity's credentials, for a namespace that may use it. */
export interface CredentialSources {
  find(
    identity: IdentityRef | undefined,
    namespace: string,
    signal: AbortSignal,
  ): TaskEither<CredentialsProblem, CredentialSource>;
}

/** Ask for new ones this long before the old end, as the AWS SDKs do. */
const REFRESH_BEFORE: Ms = 5 * 60_000;
/** Old ones serve until this long before they end, while new ones cannot be had. */
const UNUSABLE_BEFORE: Ms = 30_000;
/** Credentials without an end may be replaced in their file at any time. */
const REREAD_AFTER: Ms = 60_000;
/** A source is not asked again by each of a thousand objects: neither after a failure, nor for credentials about to end. */
const FAILURE_STANDS: Ms = 5_000;
/** A web identity is one call of STS, instance metadata gives up after a second. */
const FETCH_DEADLINE: Ms = 10_000;

type State =
  | { readonly kind: 'none' }
  | { readonly kind: 'have'; readonly credentials: AwsCredentials; readonly renewNotBefore: Ms }
  | { readonly kind: 'failed'; readonly error: NoCredentials; readonly retryNotBefore: Ms };

/** Credentials of one source, kept and renewed on our clock, fetched once for all who wait. */
export class CachedCredentials {
  private readonly source: CredentialSource;
  private readonly clock: Clock;
  private readonly stop: AbortSignal;
  private state: State = { kind: 'none' };
  private fetching: Promise<AwsCredentials> | undefined;

  /** `stop` ends a fetch that is under way. */
  constructor(source: CredentialSource, clock: Clock, stop: AbortSignal) {
    this.source = source;
    this.clock = clock;
    this.stop = stop;
  }

  /** Throws {@link NoCredentials}, or a mistake of the program. */
  async get(): Promise<AwsCredentials> {
    const { state } = this;
    const now = this.clock.monotonic();
    if (state.kind === 'have' && (now < state.renewNotBefore || this.lasts(state.credentials, REFRESH_BEFORE))) {
      return state.credentials;
    }
    if (state.kind === 'failed' && now < state.retryNotBefore) {
      throw state.error;
    }
    this.fetching ??= this.fetch(state);
    return this.fetching;
  }

  /** AWS refused them: the next `get` fetches anew. */
  refused(): void {
    if (this.state.kind === 'have') {
      this.state = { kind: 'none' };
    }
    this.source.refused?.();
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
      return this.keep(credentials, credentials.expiresAt === undefined ? REREAD_AFTER : FAILURE_STANDS);
    } catch (cause) {
      // Whoever asks those who throw whatever they like, as the SDK does, wraps that: this is a mistake of ours.
      if (isPanic(cause)) throw cause;
      // A source that is down for a minute stops nothing while the old ones last.
      if (previous.kind === 'have' && this.isUsable(previous.credentials)) {
        return this.keep(previous.credentials, FAILURE_STANDS);
      }
      const error = cause instanceof NoCredentials ? cause : missing(cause);
      this.state = { kind: 'failed', error, retryNotBefore: this.clock.monotonic() + FAILURE_STANDS };
      throw error;
    } finally {
      this.fetching = undefined;
    }
  }

  private keep(credentials: AwsCredentials, renewAfter: Ms): AwsCredentials {
    this.state = { kind: 'have', credentials, renewNotBefore: this.clock.monotonic() + renewAfter };
    return credentials;
  }

  private isUsable(credentials: AwsCredentials): boolean {
    return credentials.expiresAt === undefined || this.lasts(credentials, UNUSABLE_BEFORE);
  }

  private lasts({ expiresAt }: AwsCredentials, span: Ms): boolean {
    return expiresAt !== undefined && expiresAt - this.clock.now() > span;
  }
}

const missing = (cause: unknown): NoCredentials =>
  new NoCredentials({ reason: 'CredentialsMissing', message: `no AWS credentials: ${errorMessage(cause)}` }, { cause });

/** What is kept of a source that nobody uses any more: longer than objects at rest go without a look at AWS. */
const KEPT_UNUSED: Ms = 30 * 60_000;

/** The credentials of all sources in use: each is fetched once for all who need it, as themselves or to assume a role. */
export class CredentialPool {
  private readonly clock: Clock;
  private readonly stop: AbortSignal;
  private readonly cached: RecentlyUsed<CachedCredentials>;

  /** `stop` ends the fetches that are under way. */
  constructor(clock: Clock, stop: AbortSignal) {
    this.clock = clock;
    this.stop = stop;
    this.cached = new RecentlyUsed(clock, KEPT_UNUSED);
  }

  /** Throws {@link NoCredentials}. */
  get(source: CredentialSource): Promise<AwsCredentials> {
    return this.of(source).get();
  }

  /** AWS refused them: the next `get` fetches anew. */
  refused(source: CredentialSource): void {
    this.of(source).refused();
  }

  private of(source: CredentialSource): CachedCredentials {
    return this.cached.get(source.key, () => new CachedCredentials(source, this.clock, this.stop));
  }
}
