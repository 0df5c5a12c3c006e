import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { ProfileMetrics } from '../../controllers/awsfargateprofile/status/profile-metrics.ts';
import { profileMetrics } from '../../controllers/awsfargateprofile/status/profile-metrics.ts';
import type { SchemaMetrics } from '../../controllers/shared/crd/served-schema.ts';
import { schemaMetrics } from '../../controllers/shared/crd/served-schema.ts';
import type { AwsMetrics } from '../../pkg/cloud/index.ts';
import { awsMetrics } from '../../pkg/cloud/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import type { CountRequest } from '../../pkg/kube/transport/transport.ts';
import type { CacheMetrics } from '../../pkg/runtime/metrics.ts';
import { cacheMetrics, Metrics, requestCounter } from '../../pkg/runtime/metrics.ts';
import type { LaneMetrics } from '../../controllers/awsfargateprofile/lane-metrics.ts';
import { laneMetrics } from '../../controllers/awsfargateprofile/lane-metrics.ts';
import { VERSION } from '../../pkg/version.ts';
import type { TypedStore } from '../../pkg/kube/cache/typed-store.ts';

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
  /** When the TLS certificate of the diagnostics server expires, in ms since 1970. */
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

type Stores = Readonly<Record<string, Pick<TypedStore<unknown>, 'unreadable'>>>;

export interface UnreadableObjectMetrics {
  watch(stores: Stores): void;
}

/**
 * How many objects of each kind the manager cannot read; a log line names each of them. The only label is the kind,
 * because a user can make any number of objects, and each label value needs memory.
 */
function unreadableObjectMetrics(registry: Registry): UnreadableObjectMetrics {
  const watched: Record<string, Stores[string]> = {};
  const gauge = new Gauge({
    name: 'capaf_unreadable_objects',
    help: 'Number of objects that the manager cannot decode. It does nothing for these objects and what depends on them.',
    labelNames: ['kind'],
    registers: [],
    collect() {
      for (const [kind, { unreadable }] of Object.entries(watched)) this.set({ kind }, unreadable);
    },
  });
  registry.registerMetric(gauge);
  return { watch: (stores) => void Object.assign(watched, stores) };
}
