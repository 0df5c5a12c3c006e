/** Metrics under the names of controller-runtime and client-go, so that existing dashboards work. */
export * from './metrics.ts';
