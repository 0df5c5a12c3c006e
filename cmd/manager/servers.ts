import type { Registry } from 'prom-client';
import type { KubeClient } from 'controller-runtime/client';
import type { Ms } from 'controller-runtime/env';
import {
  authorizedHandler,
  DIAGNOSTICS_METHODS,
  diagnosticsHandler,
  type HealthCheck,
  healthHandler,
  HttpServer,
  ping,
  ServingCertificate,
} from 'controller-runtime/http';
import { metricsHandler } from 'controller-runtime/metrics';
import type { Diagnostics } from './flags/diagnostics-flags.ts';
import type { Env } from './env.ts';
import type { ManagerFlags } from './flags/parse-flags.ts';

interface ServerParts {
  readonly registry: Registry;
  readonly recordCertificateExpiry: (at: Ms) => void;
  readonly client: KubeClient;
  readonly election: { readonly healthCheck: HealthCheck } | undefined;
  readonly readyChecks: readonly HealthCheck[];
}

/** The flags enable one server for /healthz and /readyz, and one for /metrics and other diagnostics. */
export function newServers(
  env: Env,
  { health, diagnostics }: Pick<ManagerFlags, 'health' | 'diagnostics'>,
  parts: ServerParts,
): readonly HttpServer[] {
  const { election, readyChecks } = parts;
  const { logger } = env;
  const servers: HttpServer[] = [];
  if (health !== undefined) {
    const healthz = election === undefined ? [ping] : [ping, election.healthCheck];
    const handler = healthHandler({ healthz, readyz: [ping, ...readyChecks] });
    servers.push(new HttpServer({ name: 'health probes', address: health, handler, logger }));
  }
  if (diagnostics !== undefined) servers.push(diagnosticsServer(env, diagnostics, parts));
  return servers;
}

function diagnosticsServer(env: Env, { address, tls }: Diagnostics, parts: ServerParts): HttpServer {
  const { clock, random, logger, hostname, setVerbosity, profiler } = env;
  const { client } = parts;
  const metrics = metricsHandler(parts.registry);
  if (tls === undefined) return new HttpServer({ name: 'metrics', address, handler: metrics, logger });
  const inner = diagnosticsHandler({ metrics, setVerbosity, profiler, clock });
  const handler = authorizedHandler(inner, { client, clock, logger });
  const certificate = new ServingCertificate({
    ...tls,
    hostname,
    clock,
    random,
    logger,
    onExpiryKnown: parts.recordCertificateExpiry,
  });
  const methods = DIAGNOSTICS_METHODS;
  return new HttpServer({ name: 'diagnostics', address, handler, logger, methods, tls: certificate });
}
