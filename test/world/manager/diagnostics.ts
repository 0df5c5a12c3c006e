import { request } from 'node:https';
import type { TLSSocket } from 'node:tls';

export interface DiagnosticsRequest {
  readonly path: string;
  readonly method?: string;
  readonly token?: string;
  readonly body?: string;
  /** The certificate that the client trusts; default: the client trusts every certificate. */
  readonly ca?: string;
}

export interface DiagnosticsResponse {
  readonly status: number;
  readonly body: string;
  /** The common name of the certificate with which the manager has answered. */
  readonly servedBy: string;
}

/** Sends a request for metrics or another diagnostics path to the HTTPS address of a manager, over a new connection. */
export function requestDiagnostics(
  { metricsUrl }: { readonly metricsUrl: string },
  { path, method = 'GET', token, body, ca }: DiagnosticsRequest,
): Promise<DiagnosticsResponse> {
  const { hostname, port } = new URL(metricsUrl);
  return new Promise((resolve, reject) => {
    const sent = request({
      hostname,
      port,
      path,
      method,
      agent: false,
      servername: 'localhost',
      ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      const common = (response.socket as TLSSocket).getPeerCertificate().subject.CN;
      const servedBy = typeof common === 'string' ? common : '';
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString(), servedBy }),
      );
    });
    sent.end(body);
  });
}
