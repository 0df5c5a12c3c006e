import type { Config } from './config.ts';
import { AwsError } from './errors.ts';
import type { Service } from './sts/principals.ts';
import type { ModelCall } from './model.ts';

export function throttled(service: Service): AwsError {
  return service === 'eks'
    ? new AwsError('ThrottlingException', 429, 'Rate exceeded')
    : new AwsError('Throttling', 400, 'Rate exceeded');
}

/**
 * Throttles AWS calls with one token bucket per operation, account and region. IAM is global, so its token buckets are
 * per operation and account.
 */
export class Throttle {
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  check(call: ModelCall, limit: Config['throttle']): void {
    if (limit === undefined) return;
    const place = call.service === 'iam' ? 'global' : call.region;
    const key = [call.principal.account, place, call.service, call.operation].join('/');
    const bucket = this.#buckets.get(key) ?? { tokens: limit.burst, at: call.now };
    const refilled = bucket.tokens + ((call.now - bucket.at) / 1000) * limit.perSecond;
    const tokens = Math.min(limit.burst, refilled);
    this.#buckets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: call.now });
    if (tokens < 1) throw throttled(call.service);
  }
}
