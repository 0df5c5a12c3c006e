import { Gauge, type Registry } from 'prom-client';
import type { TypedStore } from 'controller-runtime/cache';
import type { Ms } from 'controller-runtime/env';
import { cacheMetrics, Metrics, registerCollected, requestCounter } from 'controller-runtime/metrics';
import { profileMetrics, clusterQueueMetrics } from '../../controllers/awsfargateprofile/report/metrics.ts';
import { schemaMetrics } from '../../controllers/shared/crd/served-schema.ts';
import { awsMetrics } from '../../pkg/cloud/index.ts';
import { VERSION } from '../../pkg/version.ts';

/** Omits the metrics of the Node.js process. docs/metrics.md describes each metric. */
export function newManagerMetrics(registry: Registry) {
  const registers = [registry];
  new Gauge({
    name: 'capaf_build_info',
    help: "Always 1; the label contains the manager's version.",
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
    queueKey: clusterQueueMetrics(registry),
    caches: cacheMetrics(registry, 'capaf_cache_age_seconds'),
    unreadableObjects: unreadableObjectMetrics(registry),
    /** `at` is in ms since 1970. */
    recordCertificateExpiry: (at: Ms): void => certificate.set(at / 1_000),
  };
}

type Stores = Readonly<Record<string, Pick<TypedStore<unknown>, 'unreadable'>>>;

/**
 * Counts the objects that the manager cannot decode; a log line identifies each. The only label is the kind, because
 * users can create any number of objects, and each label value needs memory.
 */
function unreadableObjectMetrics(registry: Registry) {
  const watched: Record<string, Stores[string]> = {};
  const help =
    'Number of objects that the manager cannot decode. It does nothing for these objects or for anything that depends on them.';
  registerCollected(registry, { name: 'capaf_unreadable_objects', help, labelNames: ['kind'] }, (gauge) => {
    for (const [kind, { unreadable }] of Object.entries(watched)) gauge.set({ kind }, unreadable);
  });
  return { watch: (stores: Stores): void => void Object.assign(watched, stores) };
}
