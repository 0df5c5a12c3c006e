/** An HTTP server with its certificates, and its handlers for probes, profiles, and authorized clients. */
export * from './http-server.ts';
export * from './health.ts';
export * from './authorized-handler.ts';
export * from './diagnostics-handler.ts';
export { type KeyPair, type CertificateRequest, selfSignedCertificate } from './self-signed-certificate.ts';
export * from './serving-certificate.ts';
export * from './tls-settings.ts';
