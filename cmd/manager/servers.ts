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
  type ListenAddress,
  ping,
  ServingCertificate,
} from 'controller-runtime/http';
import { type Manager, type Runnable, ServerVersionCheck } from 'controller-runtime/manager';
import { metricsHandler } from 'controller-runtime/metrics';
import { NEEDED_KUBERNETES } from '../../controllers/shared/crd/needed-kubernetes.ts';
import type { Diagnostics } from './flags/diagnostics-flags.ts';
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
  const version = new ServerVersionCheck({ client, clock, logger, needed: NEEDED_KUBERNETES });
  const handler = healthHandler({
    healthz: election === undefined ? [ping] : [ping, election.healthCheck],
    readyz: [ping, version, manager.readyCheck],
  });
  return [version, new HttpServer({ name: 'health probes', address, handler, logger })];
}

interface DiagnosticsParts {
  readonly registry: Registry;
  readonly recordCertificateExpiry: (at: Ms) => void;
  readonly client: KubeClient;
}

/** Returns the server for /metrics and, with TLS, for the other diagnostics, which only authorized clients may read. */
export function diagnosticsServer(env: Env, { address, tls }: Diagnostics, parts: DiagnosticsParts): HttpServer {
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
