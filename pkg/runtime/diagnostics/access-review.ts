import { createHash } from 'node:crypto';
import { fieldAt } from '../../../api/record.ts';
import type { Clock, Ms } from '../../env/clock.ts';
import type { KubeClient, Resource } from '../../kube/types.ts';
import { Reviews } from './reviews.ts';
import type { User } from './token-review.ts';

const ACCESS_REVIEWS: Resource = { group: 'authorization.k8s.io', version: 'v1', plural: 'subjectaccessreviews' };
/**
 * How long an answer of the API server is used again: for a user who is allowed, and for a user who is denied. The
 * values are those of controller-runtime's metrics server.
 */
const KEEP_ALLOWED: Ms = 5 * 60_000;
const KEEP_DENIED: Ms = 30_000;

/**
 * Asks the API server whether a user may send a request to a path that is no Kubernetes resource, such as `/metrics`.
 */
export class AccessAuthorizer {
  private readonly client: Pick<KubeClient, 'review'>;
  private readonly reviews: Reviews<true>;

  constructor(client: Pick<KubeClient, 'review'>, clock: Clock) {
    this.client = client;
    const what = 'the review of a permission';
    this.reviews = new Reviews({ clock, what, keepPositive: KEEP_ALLOWED, keepNegative: KEEP_DENIED });
  }

  /**
   * Whether the user may send a request to the path. `verb` is the HTTP method in lower case. Throws if the review
   * fails.
   */
  async isAllowed(user: User, verb: string, path: string, signal: AbortSignal): Promise<boolean> {
    const { name, ...rest } = user;
    const spec = { user: name, ...rest, nonResourceAttributes: { path, verb } };
    const key = createHash('sha256').update(JSON.stringify(spec)).digest('hex');
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
    const answer = await this.reviews.get(key, signal, async (shared) => {
      const status = fieldAt(await this.client.review(ACCESS_REVIEWS, review, { signal: shared }), 'status');
      return fieldAt(status, 'allowed') === true && fieldAt(status, 'denied') !== true ? true : undefined;
    });
    return answer === true;
  }
}
