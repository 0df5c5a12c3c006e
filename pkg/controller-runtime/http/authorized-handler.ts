import { createHash } from 'node:crypto';
import { fieldAt, isRecord, listAt, textAt } from '../json/record.ts';
import { withDeadline } from '../async/deadline.ts';
import { SingleFlight } from '../async/single-flight.ts';
import { Lru } from '../collections/lru.ts';
import type { Clock, Ms } from '../env/clock.ts';
import type { Logger } from '../log/logger.ts';
import { toText } from '../text/error-text.ts';
import type { KubeClient } from '../client/types.ts';
import type { HttpHandler, HttpResponse } from './http-server.ts';

/** How long positive reviews of tokens and of permissions are cached, as in controller-runtime's metrics server. */
const KEEP_VALID: Ms = 60_000;
const KEEP_ALLOWED: Ms = 5 * 60_000;
/** The time limit for one review, as in controller-runtime. */
const DEADLINE: Ms = 10_000;
/**
 * The size of the cache for each kind of review. It contains no refusals, so unknown tokens do not evict valid ones.
 */
const MAX_ENTRIES = 512;
/** How many reviews of one kind can run at the same time. Further reviews fail immediately. */
const MAX_REVIEWS = 16;

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
    keep: KEEP_VALID,
    decode: userOf,
  });
  const accesses = new Reviews(options, {
    what: 'the review of a permission',
    group: 'authorization.k8s.io',
    kind: 'SubjectAccessReview',
    keep: KEEP_ALLOWED,
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

/** The fields that describe the user in the spec of a SubjectAccessReview. */
interface User {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, unknown>>;
}

/** Decodes the status of a TokenReview. `undefined` if the token is not valid. */
function userOf(status: unknown): User | undefined {
  if (fieldAt(status, 'authenticated') !== true) return undefined;
  const user = fieldAt(status, 'user');
  const uid = textAt(user, 'uid');
  const extra = fieldAt(user, 'extra');
  return {
    user: textAt(user, 'username') ?? '',
    ...(uid !== undefined && { uid }),
    groups: listAt(user, 'groups').map(toText),
    extra: isRecord(extra) ? extra : {},
  };
}

interface Review<A> {
  /** For error messages. */
  readonly what: string;
  readonly group: string;
  readonly kind: string;
  readonly keep: Ms;
  /** Decodes a review's status. `undefined` means a negative answer. */
  readonly decode: (status: unknown) => A | undefined;
}

/** Sends reviews to the API server, and caches the positive answers. */
class Reviews<A> {
  private readonly client: AuthorizationOptions['client'];
  private readonly clock: Clock;
  private readonly review: Review<A>;
  private readonly positive = new Lru<{ readonly value: A; readonly at: Ms }>({ maxEntries: MAX_ENTRIES });
  private readonly flights = new SingleFlight<A | undefined>();
  private running = 0;

  constructor({ client, clock }: AuthorizationOptions, review: Review<A>) {
    this.client = client;
    this.clock = clock;
    this.review = review;
  }

  async get(spec: object, signal: AbortSignal): Promise<A | undefined> {
    // The key is a hash, so that the tokens of clients such as Prometheus do not stay in memory.
    const key = createHash('sha256').update(JSON.stringify(spec)).digest('hex');
    const known = this.positive.get(key);
    if (known !== undefined && this.clock.monotonic() - known.at < this.review.keep) return known.value;
    return this.flights.run(key, signal, (shared) => this.ask(key, spec, shared));
  }

  private async ask(key: string, spec: object, parent: AbortSignal): Promise<A | undefined> {
    const { what, group, kind, decode } = this.review;
    if (this.running >= MAX_REVIEWS) throw new Error(`${what}: too many requests at the same time`);
    this.running += 1;
    try {
      const resource = { group, version: 'v1', plural: `${kind.toLowerCase()}s` };
      const review = await withDeadline(this.clock, DEADLINE, parent, what, (signal) =>
        this.client.review(resource, { apiVersion: `${group}/v1`, kind, spec }, { signal }),
      );
      const value = decode(fieldAt(review, 'status'));
      if (value !== undefined) this.positive.set(key, { value, at: this.clock.monotonic() });
      return value;
    } finally {
      this.running -= 1;
    }
  }
}
