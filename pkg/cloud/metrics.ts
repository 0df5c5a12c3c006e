import { Counter, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Ms } from '../env/clock.ts';
import type { AwsService } from './failure.ts';

/** Seconds. AWS answers in 20 ms to 2 s, and a call is given up after 10. */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface SentCall {
  readonly service: AwsService;
  readonly operation: string;
  /** Absent when no answer came. */
  readonly statusCode: number | undefined;
  /** `''` for a success. */
  readonly errorCode: string;
  readonly took: Ms;
}

export interface AwsMetrics {
  sent(call: SentCall): void;
}

/** Metrics of each request that was sent to AWS, under the names of Cluster API Provider AWS. */
export function awsMetrics(registry: Registry): AwsMetrics {
  const requests = new Counter({
    name: 'aws_api_requests_total',
    help: 'Requests sent to AWS, by what came of them.',
    labelNames: ['service', 'operation', 'status_code', 'error_code'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'aws_api_request_duration_seconds',
    help: 'From sending a request to AWS to the end of its answer, in seconds.',
    labelNames: ['service', 'operation'],
    buckets: BUCKETS,
    registers: [registry],
  });
  return {
    sent: ({ service, operation, statusCode, errorCode, took }) => {
      requests.inc({ service, operation, status_code: statusCode ?? '', error_code: errorCode });
      durations.observe({ service, operation }, took / 1000);
    },
  };
}
