import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { ProfileMetrics } from '../../controllers/awsfargateprofile/status/profile-metrics.ts';
import { profileMetrics } from '../../controllers/awsfargateprofile/status/profile-metrics.ts';
import type { SchemaMetrics } from '../../controllers/shared/crd/served-schema-metrics.ts';
import { schemaMetrics } from '../../controllers/shared/crd/served-schema-metrics.ts';
import type { UnreadableObjectMetrics } from '../../controllers/shared/unreadable-object-metrics.ts';
import { unreadableObjectMetrics } from '../../controllers/shared/unreadable-object-metrics.ts';
import type { AwsMetrics } from '../../pkg/cloud/metrics.ts';
import { awsMetrics } from '../../pkg/cloud/metrics.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import type { CountRequest } from '../../pkg/kube/transport/transport.ts';
import type { CacheMetrics } from '../../pkg/runtime/metrics.ts';
import { cacheMetrics, Metrics, requestCounter } from '../../pkg/runtime/metrics.ts';
import type { LaneMetrics } from '../../controllers/awsfargateprofile/lane-metrics.ts';
import { laneMetrics } from '../../controllers/awsfargateprofile/lane-metrics.ts';
import { VERSION } from '../../pkg/version.ts';

/** All metrics of the manager, except the metrics of its Node.js process. docs/metrics.md describes each metric. */
export interface ManagerMetrics {
  readonly runtime: Metrics;
  readonly countRequest: CountRequest;
  readonly aws: AwsMetrics;
  readonly schema: SchemaMetrics;
  readonly profiles: ProfileMetrics;
  readonly lane: LaneMetrics;
  readonly caches: CacheMetrics;
  readonly unreadableObjects: UnreadableObjectMetrics;
  /**
   * Sets the metric with the time at which the TLS certificate of the diagnostics server expires. `at` is in ms since
   * 1970, the metric in seconds.
   */
  readonly recordCertificateExpiry: (at: Ms) => void;
}

export function newManagerMetrics(registry: Registry): ManagerMetrics {
  const registers = [registry];
  new Gauge({
    name: 'capaf_build_info',
    help: 'Always 1; the label has the version of the manager.',
    labelNames: ['version'],
    registers,
  }).set({ version: VERSION }, 1);
  const certificate = new Gauge({
    name: 'capaf_serving_certificate_expiry_timestamp_seconds',
    help: 'When the certificate of --diagnostics-address expires, in seconds since 1970; 0 with --insecure-diagnostics.',
    registers,
  });
  return {
    runtime: new Metrics(registry),
    countRequest: requestCounter(registry),
    aws: awsMetrics(registry),
    schema: schemaMetrics(registry),
    profiles: profileMetrics(registry),
    lane: laneMetrics(registry),
    caches: cacheMetrics(registry, 'capaf_cache_age_seconds'),
    unreadableObjects: unreadableObjectMetrics(registry),
    recordCertificateExpiry: (at) => certificate.set(at / 1_000),
  };
}
