import type { Registry } from 'prom-client';
import type { KubeClient } from 'controller-runtime/client';
import type { Ms } from 'controller-runtime/env';
import {
  authorizedHandler,
  DIAGNOSTICS_METHODS,
  diagnosticsHandler,
  HttpServer,
  ServingCertificate,
} from 'controller-runtime/http';
import { metricsHandler } from 'controller-runtime/metrics';
import type { Diagnostics } from './flags/diagnostics-flags.ts';
import type { Env } from './env.ts';

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
