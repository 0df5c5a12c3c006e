import * as E from 'fp-ts/lib/Either.js';
import { map, object, optional, string } from '../../api/schema/field.ts';
import type { AwsCredentials } from '../../pkg/cloud/credentials.ts';
import { RecentlyUsed } from '../../pkg/cloud/recently-used.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import { sleep, untilAborted } from '../../pkg/env/deadline.ts';
import { errorMessage } from '../../pkg/env/error-text.ts';
import { isUndecodable } from '../../pkg/kube/errors.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';
import type { Runnable } from '../../pkg/runtime/types.ts';

const SECRETS: Resource = { group: '', version: 'v1', plural: 'secrets' };

/** The keys of a Secret, as Cluster API Provider AWS names them. */
const ACCESS_KEY_ID = 'AccessKeyID';
const SECRET_ACCESS_KEY = 'SecretAccessKey';
const SESSION_TOKEN = 'SessionToken';

/** Keys are believed for so long; a Secret in use is looked at more often than that. */
const BELIEVED: Ms = 60_000;
/** That something is missing is believed for so long: not each of a thousand objects asks again at once. */
const DISBELIEVED: Ms = 5_000;
/** How often a Secret in use is looked at. */
const LOOK_PERIOD: Ms = 15_000;
/** A Secret that no object has needed for so long is looked at no more: longer than objects wait between two passes. */
const KEPT_UNUSED: Ms = 15 * 60_000;
/** What was read serves for so long while the API server does not answer. */
const KEPT_UNREADABLE: Ms = 10 * 60_000;

/** What a Secret holds. `version` is another one after each change of it. */
export type SecretReading =
  | { readonly kind: 'complete'; readonly version: string; readonly credentials: AwsCredentials }
  | { readonly kind: 'incomplete'; readonly version: string; readonly missing: readonly string[] }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly why: string };

/** What is known of one Secret. */
class Known {
  /** `undefined`: to be read anew. */
  reading: SecretReading | undefined;
  /** Monotonic. */
  believedUntil: Ms = 0;
  /** When the API server answered last, monotonic. */
  answeredAt: Ms = 0;
  looking: Promise<SecretReading> | undefined;
  /** Tells one reading from another, also after it was forgotten. */
  lastState: string | undefined;
}

export interface SecretsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** The manager's own. */
  readonly namespace: string;
}

/**
 * AWS access keys in Secrets of the manager's own namespace, read one by one and only those that an identity names: the
 * manager may `get` Secrets there, not list or watch them. Those in use are looked at again and again, so that whoever
 * waits for a change of one is told.
 */
export class Secrets implements Runnable {
  readonly name = 'reader of identities’ Secrets';
  readonly needsLeadership = false;
  readonly namespace: string;
  private readonly client: KubeClient;
  private readonly clock: Clock;
  private readonly known: RecentlyUsed<Known>;
  private readonly handlers = new Set<(name: string) => void>();
  private stop = new AbortController().signal;
  private wake: (() => void) | undefined;

  constructor({ client, clock, namespace }: SecretsOptions) {
    this.client = client;
    this.clock = clock;
    this.namespace = namespace;
    this.known = new RecentlyUsed(clock, KEPT_UNUSED);
  }

  /** Told the name of each Secret that is found changed. */
  onChange(handler: (name: string) => void): void {
    this.handlers.add(handler);
  }

  /** Rejects only with the signal's reason. */
  async read(name: string, signal: AbortSignal): Promise<SecretReading> {
    const known = this.known.get(name, () => new Known());
    this.wake?.();
    if (known.reading !== undefined && this.clock.monotonic() < known.believedUntil) return known.reading;
    return untilAborted(signal, () => this.look(name, known));
  }

  /** AWS has refused what it holds: it is read anew when it is needed next. */
  forget(name: string): void {
    const known = this.known.peek(name);
    if (known !== undefined) known.reading = undefined;
  }

  /** Looks at what is in use, as long as something is. */
  async run(signal: AbortSignal): Promise<void> {
    this.stop = signal;
    while (!signal.aborted) {
      try {
        if (this.known.all().length === 0) await untilAborted(signal, () => this.someUse());
        await sleep(this.clock, LOOK_PERIOD, signal);
      } catch {
        return;
      }
      for (const [name, known] of this.known.all()) await this.look(name, known);
    }
  }

  private someUse(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = () => {
        this.wake = undefined;
        resolve();
      };
    });
  }

  /** One request for all who want to know. */
  private look(name: string, known: Known): Promise<SecretReading> {
    known.looking ??= this.fetch(name)
      .then((reading) => this.keep(name, known, reading))
      .finally(() => {
        known.looking = undefined;
      });
    return known.looking;
  }

  private keep(name: string, known: Known, reading: SecretReading): SecretReading {
    const now = this.clock.monotonic();
    const before = known.reading;
    known.believedUntil = now + (reading.kind === 'complete' ? BELIEVED : DISBELIEVED);
    if (reading.kind !== 'unreadable') known.answeredAt = now;
    else if (before?.kind === 'complete' && now - known.answeredAt < KEPT_UNREADABLE) return before;
    const state = stateOf(reading);
    // That it cannot be read now moves nobody; that it can again does.
    const isNews = reading.kind !== 'unreadable' && known.lastState !== undefined && known.lastState !== state;
    known.reading = reading;
    known.lastState = state;
    if (isNews) for (const handler of this.handlers) handler(name);
    return reading;
  }

  private async fetch(name: string): Promise<SecretReading> {
    try {
      const secret = await this.client.get(SECRETS, { namespace: this.namespace, name }, { signal: this.stop });
      return secret === undefined ? { kind: 'absent' } : readingOf(secret);
    } catch (error) {
      // An answer that is no JSON is quoted by the parser, and this one may hold a key.
      const why = isUndecodable(error) ? 'the answer of the API server cannot be understood' : errorMessage(error);
      return { kind: 'unreadable', why };
    }
  }
}

const Data = object({ data: optional(map(string())) });

function readingOf(secret: KubeObject): SecretReading {
  const { uid, resourceVersion } = secret.metadata;
  const version = `${uid}/${resourceVersion}`;
  const decoded = Data.decode(secret);
  const data = E.isRight(decoded) ? (decoded.right.data ?? {}) : {};
  // No key of AWS has a space, and a newline at the end comes in easily.
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

const stateOf = (reading: SecretReading): string =>
  'version' in reading ? `${reading.kind} ${reading.version}` : reading.kind;
