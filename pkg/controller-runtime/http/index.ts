/** An HTTP server with its certificates, and its handlers for probes, profiles, and authorized clients. */
export {
  type ListenAddress,
  parseAddress,
  formatAddress,
  type HttpRequest,
  type HttpResponse,
  type HttpHandler,
  type TlsSource,
  type HttpServerOptions,
  HttpServer,
  methodNotAllowed,
  notFound,
} from './http-server.ts';
export { type HealthCheck, ping, type HealthChecks, healthHandler } from './health.ts';
export { type AuthorizationOptions, authorizedHandler } from './authorized-handler.ts';
export { type DiagnosticsOptions, DIAGNOSTICS_METHODS, diagnosticsHandler } from './diagnostics-handler.ts';
export { type Profiler, systemProfiler } from './profiler.ts';
export { type KeyPair, type CertificateRequest, selfSignedCertificate } from './self-signed-certificate.ts';
export { type CertificateFiles, type ServingCertificateOptions, ServingCertificate } from './serving-certificate.ts';
export { DEFAULT_MIN_TLS_VERSION, SUITES, tlsSettings } from './tls-settings.ts';
