import type { Registry } from 'prom-client';
import type { Ms } from '../../pkg/env/clock.ts';
import type { KubeClient } from '../../pkg/kube/types.ts';
import { authorizedHandler } from '../../pkg/runtime/diagnostics/authorized-handler.ts';
import { DIAGNOSTICS_METHODS, diagnosticsHandler } from '../../pkg/runtime/diagnostics/diagnostics-handler.ts';
import { ServingCertificate } from '../../pkg/runtime/diagnostics/serving-certificate.ts';
import type { HealthCheck } from '../../pkg/runtime/http/health.ts';
import { healthHandler, ping } from '../../pkg/runtime/http/health.ts';
import { HttpServer } from '../../pkg/runtime/http/http-server.ts';
import { metricsHandler } from '../../pkg/runtime/metrics.ts';
import type { Diagnostics, DiagnosticsTls } from './flags/diagnostics-flags.ts';
import type { Env } from './env.ts';
import type { ManagerFlags } from './flags/parse-flags.ts';
import type { ManagerMetrics } from './metrics.ts';

interface ServerParts {
  readonly registry: Registry;
  readonly metrics: Pick<ManagerMetrics, 'recordCertificateExpiry'>;
  readonly client: KubeClient;
  readonly election: { readonly healthCheck: HealthCheck } | undefined;
  readonly readyChecks: readonly HealthCheck[];
}

/** The HTTP servers that the flags ask for: one for /healthz and /readyz, one for /metrics and other diagnostics. */
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
  const { clock, logger, setVerbosity, profiler } = env;
  const {
    registry,
    client,
    metrics: { recordCertificateExpiry },
  } = parts;
  const metrics = metricsHandler(registry);
  if (tls === undefined) return new HttpServer({ name: 'metrics', address, handler: metrics, logger });
  const inner = diagnosticsHandler({ metrics, setVerbosity, profiler, clock });
  const handler = authorizedHandler(inner, { client, clock, logger });
  const certificate = servingCertificate(env, tls, recordCertificateExpiry);
  return new HttpServer({
    name: 'diagnostics',
    address,
    handler,
    logger,
    methods: DIAGNOSTICS_METHODS,
    tls: certificate,
  });
}

function servingCertificate(
  { clock, random, logger, hostname }: Env,
  { files, settings }: DiagnosticsTls,
  onExpiryKnown: (at: Ms) => void,
): ServingCertificate {
  return new ServingCertificate({ files, hostname, settings, clock, random, logger, onExpiryKnown });
}
