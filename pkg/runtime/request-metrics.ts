import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import type { CountRequest } from '../kube/transport.ts';

/** Counts requests to the API server under client-go's name. */
export function requestCounter(registry: Registry): CountRequest {
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server, by status code (<error> where no answer came), method and host.',
    labelNames: ['code', 'method', 'host'],
    registers: [registry],
  });
  return (labels) => requests.inc(labels);
}
