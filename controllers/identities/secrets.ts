import * as E from 'fp-ts/lib/Either.js';
import { SingleFlight, sleep, untilAborted } from 'controller-runtime/async';
import { isForbidden, isUndecodable, type KubeClient, type KubeObject, type Resource } from 'controller-runtime/client';
import type { Unreadable } from 'controller-runtime/cache';
import { Lru } from 'controller-runtime/collections';
import type { Clock, Ms } from 'controller-runtime/env';
import type { Runnable } from 'controller-runtime/manager';
import { map, object, optional, string } from 'controller-runtime/schema';
import { errorMessage } from 'controller-runtime/text';
import { type AwsCredentials, retentionOf } from '../../pkg/cloud/index.ts';

const SECRETS: Resource = { group: '', version: 'v1', plural: 'secrets' };

/** The keys in a Secret's data that CAPA reads. */
const ACCESS_KEY_ID = 'AccessKeyID';
const SECRET_ACCESS_KEY = 'SecretAccessKey';
const SESSION_TOKEN = 'SessionToken';

/** How long a read of credentials is reused. Longer than {@link POLL_PERIOD}, so that polls renew it in time. */
const CREDENTIALS_TTL: Ms = 60_000;
/** A read without complete credentials is reused for this long, because a thousand objects may share one Secret. */
const PROBLEM_TTL: Ms = 5_000;
/** The pause between two polls, each of which reads all Secrets in use. */
const POLL_PERIOD: Ms = 15_000;
/** An unused Secret is polled for this long, or until its objects' next reconcile if the resync interval is longer. */
const UNUSED_RETENTION: Ms = 15 * 60_000;
/** Credentials stay in use this long after the last successful read of their Secret. */
const UNREADABLE_TOLERANCE: Ms = 10 * 60_000;

/** `version` (UID and resourceVersion) differs after each change of the Secret. */
export type SecretState =
  | { readonly kind: 'complete'; readonly version: string; readonly credentials: AwsCredentials }
  | { readonly kind: 'incomplete'; readonly version: string; readonly missing: readonly string[] }
  | { readonly kind: 'absent' }
  | ({ readonly kind: 'unreadable' } & Unreadable);

class CachedSecret {
  /** `undefined` means that the Secret must be read before its next use. */
  state: SecretState | undefined;
  /** On the monotonic clock. Until then, `state` is used without another read. */
  freshUntil: Ms = 0;
  /** The monotonic time of the last read that the API server answered with the Secret or with 404 (Not Found). */
  answeredAt: Ms = 0;
  /** Shows whether a later read finds a change. Kept when the content itself is forgotten. */
  lastFingerprint: string | undefined;
}

/**
 * The manager may only `get` the Secrets of one namespace, not list or watch them. So it reads only Secrets that
 * identities refer to, and polls those in use to report changes.
 */
export class Secrets implements Runnable {
  readonly name = 'reader of Secrets of identities';
  readonly namespace: string;
  private readonly client: KubeClient;
  private readonly clock: Clock;
  private readonly cached: Lru<CachedSecret>;
  private readonly handlers = new Set<(name: string) => void>();
  private readonly reads = new SingleFlight<SecretState>();
  private stop = new AbortController().signal;
  private wake: (() => void) | undefined;

  constructor(options: {
    readonly client: KubeClient;
    readonly clock: Clock;
    readonly namespace: string;
    readonly resync: Ms;
  }) {
    const { client, clock, namespace, resync } = options;
    this.client = client;
    this.clock = clock;
    this.namespace = namespace;
    this.cached = new Lru({ expireAfterAccess: { clock, span: retentionOf(UNUSED_RETENTION, resync) } });
  }

  onChange(handler: (name: string) => void): void {
    this.handlers.add(handler);
  }

  /** Rejects only if the signal aborts, with its reason. */
  async read(name: string, signal: AbortSignal): Promise<SecretState> {
    const entry = this.cached.getOrCreate(name, () => new CachedSecret());
    this.wake?.();
    if (entry.state !== undefined && this.clock.monotonic() < entry.freshUntil) return entry.state;
    return untilAborted(signal, () => this.refresh(name, entry));
  }

  /** The next use reads the Secret again, because AWS has rejected the credentials. */
  forget(name: string): void {
    const entry = this.cached.peek(name);
    if (entry !== undefined) entry.state = undefined;
  }

  /** Polls the Secrets in use. While there are none, no timer runs. */
  async run(signal: AbortSignal): Promise<void> {
    this.stop = signal;
    while (!signal.aborted) {
      try {
        if (this.cached.entries().length === 0) await untilAborted(signal, () => this.waitForUse());
        await sleep(this.clock, POLL_PERIOD, signal);
      } catch {
        return;
      }
      for (const [name, entry] of this.cached.entries()) await this.refresh(name, entry);
    }
  }

  private waitForUse(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = () => {
        this.wake = undefined;
        resolve();
      };
    });
  }

  /** Concurrent calls share one request, which continues if a caller aborts, because its result is cached. */
  private refresh(name: string, entry: CachedSecret): Promise<SecretState> {
    return this.reads.run(name, undefined, async () => this.record(name, entry, await this.fetch(name)));
  }

  private record(name: string, entry: CachedSecret, state: SecretState): SecretState {
    const now = this.clock.monotonic();
    const before = entry.state;
    entry.freshUntil = now + (state.kind === 'complete' ? CREDENTIALS_TTL : PROBLEM_TTL);
    if (state.kind !== 'unreadable') entry.answeredAt = now;
    else if (before?.kind === 'complete' && now - entry.answeredAt < UNREADABLE_TOLERANCE) return before;
    const fingerprint = fingerprintOf(state);
    // A Secret that becomes unreadable is not reported, because a reconcile could not fix it. A Secret that becomes
    // readable again is reported.
    const isChange =
      state.kind !== 'unreadable' && entry.lastFingerprint !== undefined && entry.lastFingerprint !== fingerprint;
    entry.state = state;
    entry.lastFingerprint = fingerprint;
    if (isChange) for (const handler of this.handlers) handler(name);
    return state;
  }

  private async fetch(name: string): Promise<SecretState> {
    try {
      const secret = await this.client.get(SECRETS, { namespace: this.namespace, name }, { signal: this.stop });
      return secret === undefined ? { kind: 'absent' } : secretStateOf(secret);
    } catch (error) {
      // The JSON parser's error message is omitted, because it quotes the answer, which may contain an access key.
      const reason = isUndecodable(error) ? 'the answer of the API server is not valid' : errorMessage(error);
      return { kind: 'unreadable', reason, ...(isForbidden(error) && { obstacle: { kind: 'forbidden' } }) };
    }
  }
}

const SecretData = object({ data: optional(map(string())) });

function secretStateOf(secret: KubeObject): SecretState {
  const { uid, resourceVersion } = secret.metadata;
  const version = `${uid}/${resourceVersion}`;
  const decoded = SecretData.decode(secret);
  const data = E.isRight(decoded) ? (decoded.right.data ?? {}) : {};
  // White space is removed: shell commands often add a newline to a value, and AWS keys contain no white space.
  const valueOf = (key: string): string =>
    Buffer.from(data[key] ?? '', 'base64')
      .toString('utf8')
      .trim();
  const [accessKeyId, secretAccessKey, sessionToken] = [ACCESS_KEY_ID, SECRET_ACCESS_KEY, SESSION_TOKEN].map(valueOf);
  const missing = [...(accessKeyId ? [] : [ACCESS_KEY_ID]), ...(secretAccessKey ? [] : [SECRET_ACCESS_KEY])];
  return accessKeyId && secretAccessKey
    ? {
        kind: 'complete',
        version,
        credentials: { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) },
      }
    : { kind: 'incomplete', version, missing };
}

const fingerprintOf = (state: SecretState): string =>
  'version' in state ? `${state.kind} ${state.version}` : state.kind;
