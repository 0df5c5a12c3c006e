import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import type { CountRequest } from '../kube/transport/transport.ts';

/** Returns a function that counts requests to the API server, under the metric name of client-go. */
export function requestCounter(registry: Registry): CountRequest {
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server, by status code (<error> where no answer came), method and host.',
    labelNames: ['code', 'method', 'host'],
    registers: [registry],
  });
  return (labels) => requests.inc(labels);
}
