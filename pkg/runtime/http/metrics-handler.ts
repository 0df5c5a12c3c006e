import type { Registry } from 'prom-client';
import type { HttpHandler } from './http-server.ts';
import { notFound } from './http-server.ts';

/** Serves `/metrics` in Prometheus' text format. */
export function metricsHandler(registry: Registry): HttpHandler {
  return async ({ path }) =>
    path === '/metrics' ? { status: 200, contentType: registry.contentType, body: await registry.metrics() } : notFound;
}
