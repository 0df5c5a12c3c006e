import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Ms } from 'controller-runtime/env';
import type { CallKind } from './call/rate-limiter.ts';
import type { AwsService } from './errors/failure.ts';

/** AWS responds in 20 ms to 2 s. A read times out after 10 s. */
const DURATION_BUCKETS_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface CredentialsInUse {
  readonly source: 'manager' | 'identity';
  /** In ms since 1970. `undefined` if the credentials never expire. */
  readonly expiresAt?: Ms;
}

export type AwsMetrics = ReturnType<typeof awsMetrics>;

/** An AWS call waits for the rate limiter for at most 15 s. */
const WAIT_BUCKETS_SECONDS = [0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30];
/** How many error codes the metrics distinguish: AWS has some dozens, and a proxy could answer with any text. */
const MAX_ERROR_CODES = 100;

/** The metrics whose names begin with `aws_api_` have the same names as CAPA's. */
export function awsMetrics(registry: Registry) {
  const requests = new Counter({
    name: 'aws_api_requests_total',
    help: 'Requests sent to AWS, by service, operation, and result.',
    labelNames: ['service', 'operation', 'status_code', 'error_code'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'aws_api_request_duration_seconds',
    help: 'Time from sending a request to AWS until its response is complete, in seconds.',
    labelNames: ['service', 'operation'],
    buckets: DURATION_BUCKETS_SECONDS,
    registers: [registry],
  });
  const waits = new Histogram({
    name: 'capaf_aws_limiter_wait_seconds',
    help: "Time that an AWS call waited for this manager's rate limiter, in seconds.",
    labelNames: ['service', 'kind'],
    buckets: WAIT_BUCKETS_SECONDS,
    registers: [registry],
  });
  const errorCodes = new Set<string>();
  const boundedCode = (code: string): string => {
    if (errorCodes.size < MAX_ERROR_CODES) errorCodes.add(code);
    return errorCodes.has(code) ? code : 'other';
  };
  return {
    /** If `statusCode` is undefined, AWS has not responded. The error code of a successful call is `''`. */
    recordCall: (call: {
      readonly service: AwsService;
      readonly operation: string;
      readonly statusCode: number | undefined;
      readonly errorCode: string;
      readonly took: Ms;
    }): void => {
      const { service, operation, statusCode = '', errorCode, took } = call;
      requests.inc({ service, operation, status_code: statusCode, error_code: boundedCode(errorCode) });
      durations.observe({ service, operation }, took / 1000);
    },
    /** Records the wait even if the call was not sent afterwards. */
    recordWait: (service: AwsService, kind: CallKind, waited: Ms): void =>
      waits.observe({ service, kind }, waited / 1000),
    watchCredentials: credentialsExpiry(registry),
  };
}

function credentialsExpiry(registry: Registry): (list: () => readonly CredentialsInUse[]) => void {
  let list: () => readonly CredentialsInUse[] = () => [];
  const gauge = new Gauge({
    name: 'capaf_aws_credentials_expiry_timestamp_seconds',
    help: "Earliest expiration of the AWS credentials in use, in seconds since 1970: the manager's credentials and those of identities.",
    labelNames: ['source'],
    registers: [],
    collect() {
      this.reset();
      const expiries = list();
      for (const source of ['manager', 'identity'] as const) {
        const times = expiries.flatMap((each) => (each.source === source ? (each.expiresAt ?? []) : []));
        if (times.length > 0) this.set({ source }, Math.min(...times) / 1000);
      }
    },
  });
  registry.registerMetric(gauge);
  return (newList) => void (list = newList);
}
