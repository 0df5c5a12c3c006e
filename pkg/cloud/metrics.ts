import { Counter, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Ms } from '../env/clock.ts';
import type { AwsService } from './errors/failure.ts';

/** The buckets of the histogram of AWS call durations. AWS responds in 20 ms to 2 s; a read times out after 10 s. */
const DURATION_BUCKETS_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface SentCall {
  readonly service: AwsService;
  readonly operation: string;
  /** The HTTP status of the response; `undefined` if AWS did not respond. */
  readonly statusCode: number | undefined;
  /** The error code of the AWS call; `''` if the call succeeded. */
  readonly errorCode: string;
  readonly took: Ms;
}

export interface AwsMetrics {
  recordCall(call: SentCall): void;
}

/**
 * Registers the metrics that count and time the requests to AWS, under the metric names of Cluster API Provider AWS.
 */
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
    buckets: DURATION_BUCKETS_SECONDS,
    registers: [registry],
  });
  return {
    recordCall: ({ service, operation, statusCode, errorCode, took }) => {
      requests.inc({ service, operation, status_code: statusCode ?? '', error_code: errorCode });
      durations.observe({ service, operation }, took / 1000);
    },
  };
}
