import { createHash } from 'node:crypto';
import { fieldAt, isRecord, textAt } from '../../../api/record.ts';
import { withDeadline } from '../../async/deadline.ts';
import { KeyedMutex } from '../../async/keyed-mutex.ts';
import { SingleFlight } from '../../async/single-flight.ts';
import { Lru } from '../../collections/lru.ts';
import type { Clock, Ms } from '../../env/clock.ts';
import type { Logger } from '../../env/logger.ts';
import type { KubeClient } from '../../kube/types.ts';
import type { HttpHandler, HttpResponse } from '../http/http-server.ts';

/** How long a token counts as valid, and a user as allowed or denied, as in controller-runtime's metrics server. */
const KEEP_VALID: Ms = 60_000;
const KEEP_ALLOWED: Ms = 5 * 60_000;
const KEEP_DENIED: Ms = 30_000;
/** How long a token counts as invalid: the default of DelegatingAuthenticationOptions of k8s.io/apiserver. */
const KEEP_INVALID: Ms = 10_000;
/** With the wait for other reviews. The value is that of controller-runtime. */
const DEADLINE: Ms = 10_000;
/** Positive and negative answers have separate caches of this size, so that unknown tokens evict no valid ones. */
const MAX_ENTRIES = 512;
/** How many reviews of each kind the API server gets at the same time, however many clients send unknown tokens. */
const LANES = 4;
/** With so many reviews of a kind in progress or waiting, further ones fail at once. */
const MAX_WAITING = 256;

const UNAUTHORIZED: HttpResponse = {
  status: 401,
  body: 'Unauthorized\n',
  headers: { 'www-authenticate': 'Bearer' },
};
const NO_ANSWER: HttpResponse = { status: 500, body: 'the API server has not reviewed the request\n' };

export interface AuthorizationOptions {
  readonly client: Pick<KubeClient, 'review'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Passes a request on to `handler` if the API server accepts its bearer token and allows the user to access the path,
 * with the responses of controller-runtime's metrics server: 401, 403, or 500 if a review fails.
 */
export function authorizedHandler(handler: HttpHandler, options: AuthorizationOptions): HttpHandler {
  const { logger } = options;
  const tokens = new Reviews(options, {
    what: 'the review of a token',
    group: 'authentication.k8s.io',
    kind: 'TokenReview',
    keepPositive: KEEP_VALID,
    keepNegative: KEEP_INVALID,
    decode: userOf,
  });
  const accesses = new Reviews(options, {
    what: 'the review of a permission',
    group: 'authorization.k8s.io',
    kind: 'SubjectAccessReview',
    keepPositive: KEEP_ALLOWED,
    keepNegative: KEEP_DENIED,
    decode: (status) =>
      fieldAt(status, 'allowed') === true && fieldAt(status, 'denied') !== true ? 'allowed' : undefined,
  });
  return async (request) => {
    const { path, method, authorization = '', signal } = request;
    const [, token] = /^bearer +(\S+)$/i.exec(authorization.trim()) ?? [];
    if (token === undefined) return UNAUTHORIZED;
    try {
      const user = await tokens.get({ token }, signal);
      if (user === undefined) return UNAUTHORIZED;
      const nonResourceAttributes = { path, verb: method.toLowerCase() };
      if ((await accesses.get({ ...user, nonResourceAttributes }, signal)) === undefined) {
        logger.debug('A request for diagnostics was denied', { user: user.user, path, method });
        return { status: 403, body: `Authorization denied for user ${user.user}\n` };
      }
    } catch (error) {
      if (!signal.aborted) logger.error('Failed to authorize a request for diagnostics', error, { path, method });
      return NO_ANSWER;
    }
    return handler(request);
  };
}

/** A user as in the spec of a SubjectAccessReview. */
interface User {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, unknown>>;
}

/** Decodes the status of a TokenReview. */
function userOf(status: unknown): User | undefined {
  if (fieldAt(status, 'authenticated') !== true) return undefined;
  const user = fieldAt(status, 'user');
  const uid = textAt(user, 'uid');
  const groups = fieldAt(user, 'groups');
  const extra = fieldAt(user, 'extra');
  return {
    user: textAt(user, 'username') ?? '',
    ...(uid !== undefined && { uid }),
    groups: Array.isArray(groups) ? groups.map(String) : [],
    extra: isRecord(extra) ? extra : {},
  };
}

interface Review<A> {
  /** For error messages. */
  readonly what: string;
  readonly group: string;
  readonly kind: string;
  readonly keepPositive: Ms;
  readonly keepNegative: Ms;
  /** Decodes the status of a review; `undefined` is the negative answer. */
  readonly decode: (status: unknown) => A | undefined;
}

interface Answer<A> {
  readonly value: A;
  readonly at: Ms;
}

/** Asks the API server for reviews of one kind, and caches the answers, but no errors. */
class Reviews<A> {
  private readonly client: AuthorizationOptions['client'];
  private readonly clock: Clock;
  private readonly review: Review<A>;
  private readonly positive = new Lru<Answer<A>>({ maxEntries: MAX_ENTRIES });
  private readonly negative = new Lru<Answer<undefined>>({ maxEntries: MAX_ENTRIES });
  private readonly flights = new SingleFlight<A | undefined>();
  private readonly lanes = new KeyedMutex();
  private waiting = 0;
  private nextLane = 0;

  constructor({ client, clock }: AuthorizationOptions, review: Review<A>) {
    this.client = client;
    this.clock = clock;
    this.review = review;
  }

  async get(spec: object, signal: AbortSignal): Promise<A | undefined> {
    const { keepPositive, keepNegative } = this.review;
    // The tokens of clients such as Prometheus do not stay in memory.
    const key = createHash('sha256').update(JSON.stringify(spec)).digest('hex');
    const known = this.positive.get(key);
    if (known !== undefined && this.isNewer(known, keepPositive)) return known.value;
    const denied = this.negative.get(key);
    if (denied !== undefined && this.isNewer(denied, keepNegative)) return undefined;
    return this.flights.run(key, signal, (shared) => this.askInLane(key, spec, shared));
  }

  private isNewer({ at }: Answer<unknown>, span: Ms): boolean {
    return this.clock.monotonic() - at < span;
  }

  private async askInLane(key: string, spec: object, parent: AbortSignal): Promise<A | undefined> {
    const { clock } = this;
    const { what } = this.review;
    if (this.waiting >= MAX_WAITING) throw new Error(`${what}: too many requests at the same time`);
    this.waiting += 1;
    this.nextLane = (this.nextLane + 1) % LANES;
    const lane = String(this.nextLane);
    try {
      const value = await withDeadline(clock, DEADLINE, parent, what, (signal) =>
        this.lanes.run(lane, signal, () => this.ask(spec, signal)),
      );
      const at = clock.monotonic();
      if (value === undefined) this.negative.set(key, { value: undefined, at });
      else this.positive.set(key, { value, at });
      return value;
    } finally {
      this.waiting -= 1;
    }
  }

  private async ask(spec: object, signal: AbortSignal): Promise<A | undefined> {
    const { group, kind, decode } = this.review;
    const resource = { group, version: 'v1', plural: `${kind.toLowerCase()}s` };
    const review = await this.client.review(resource, { apiVersion: `${group}/v1`, kind, spec }, { signal });
    return decode(fieldAt(review, 'status'));
  }
}
