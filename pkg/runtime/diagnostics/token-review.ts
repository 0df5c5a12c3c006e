import { createHash } from 'node:crypto';
import { fieldAt, isRecord, textAt } from '../../../api/record.ts';
import type { Clock, Ms } from '../../env/clock.ts';
import type { KubeClient, Resource } from '../../kube/types.ts';
import { Reviews } from './reviews.ts';

const TOKEN_REVIEWS: Resource = { group: 'authentication.k8s.io', version: 'v1', plural: 'tokenreviews' };
/** How long a token counts as valid, as in controller-runtime's metrics server. */
const KEEP_VALID: Ms = 60_000;
/**
 * How long a token counts as invalid: the default cache TTL of API servers that delegate authentication to
 * kube-apiserver (DelegatingAuthenticationOptions of k8s.io/apiserver).
 */
const KEEP_INVALID: Ms = 10_000;

/** A user as the API server describes it in a TokenReview. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, unknown>>;
}

/** Asks the API server to which user a bearer token belongs. */
export class TokenAuthenticator {
  private readonly client: Pick<KubeClient, 'review'>;
  private readonly reviews: Reviews<User>;

  constructor(client: Pick<KubeClient, 'review'>, clock: Clock) {
    this.client = client;
    const what = 'the review of a token';
    this.reviews = new Reviews({ clock, what, keepPositive: KEEP_VALID, keepNegative: KEEP_INVALID });
  }

  /** Returns the user of the token; `undefined` if the token is not valid. Throws if the review fails. */
  authenticate(token: string, signal: AbortSignal): Promise<User | undefined> {
    // The cache stores hashes, so that the manager does not keep the tokens of clients such as Prometheus in memory.
    const key = createHash('sha256').update(token).digest('hex');
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    return this.reviews.get(key, signal, async (shared) =>
      userOf(await this.client.review(TOKEN_REVIEWS, review, { signal: shared })),
    );
  }
}

function userOf(review: unknown): User | undefined {
  const status = fieldAt(review, 'status');
  if (fieldAt(status, 'authenticated') !== true) return undefined;
  const user = fieldAt(status, 'user');
  const uid = textAt(user, 'uid');
  const groups = fieldAt(user, 'groups');
  const extra = fieldAt(user, 'extra');
  return {
    name: textAt(user, 'username') ?? '',
    ...(uid !== undefined && { uid }),
    groups: Array.isArray(groups) ? groups.map(String) : [],
    extra: isRecord(extra) ? extra : {},
  };
}
