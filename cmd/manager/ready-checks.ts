import type { KubeClient } from 'controller-runtime/client';
import { type HealthCheck, healthHandler, HttpServer, type ListenAddress, ping } from 'controller-runtime/http';
import { type Manager, type Runnable, ServerVersionCheck } from 'controller-runtime/manager';
import type { Env } from './env.ts';

interface Checked {
  readonly client: KubeClient;
  readonly manager: Pick<Manager, 'readyCheck'>;
  /** `undefined` without leader election. */
  readonly election: { readonly healthCheck: HealthCheck } | undefined;
}

/** Returns the HTTP server for /healthz and /readyz, and the check of the API server's version, which also must run. */
export function healthServer(
  { clock, logger }: Env,
  address: ListenAddress,
  { client, manager, election }: Checked,
): readonly Runnable[] {
  const version = new ServerVersionCheck({ client, clock, logger });
  const handler = healthHandler({
    healthz: election === undefined ? [ping] : [ping, election.healthCheck],
    readyz: [ping, version, manager.readyCheck],
  });
  return [version, new HttpServer({ name: 'health probes', address, handler, logger })];
}
