import { Registry } from 'prom-client';
import { newRateLimiter } from '../call/rate-limiter.ts';
import { awsMetrics } from '../metrics.ts';
import type { AwsConfig } from '../session.ts';
import { AWS_ENDPOINTS } from './endpoints.ts';

type Own = Pick<AwsConfig, 'clock' | 'logger' | 'transport' | 'pool'> & { readonly region: string | undefined };

/** Adds what no test looks at: the rate limiter, the metrics, AWS's own endpoints, and the version. */
export const configWith = (own: Own): Own & AwsConfig => ({
  ...own,
  limiter: newRateLimiter(own.clock),
  metrics: awsMetrics(new Registry()),
  endpoints: AWS_ENDPOINTS,
  version: 'v1.2.3',
});
