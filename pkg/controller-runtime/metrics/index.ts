/** Metrics under the names of controller-runtime and client-go, so that existing dashboards work. */
export {
  type LeaderElectionMetrics,
  Metrics,
  registerCollected,
  requestCounter,
  cacheMetrics,
  metricsHandler,
} from './metrics.ts';
