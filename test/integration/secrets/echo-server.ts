import { createServer, type IncomingMessage } from 'node:http';
import { listenOnLoopback } from '../../support/proxies/listen.ts';

/**
 * A server whose answers quote the request with its headers, as those of a debugging proxy or a careless gateway do.
 */
export interface EchoServer {
  readonly host: string;
  close(): Promise<void>;
}

/**
 * Starts a server that answers with errors in the form that each client expects: a page, a Status of the API server, an
 * error of STS, or `damagedJson` in place of credentials.
 */
export async function startEchoServer(damagedJson: string): Promise<EchoServer> {
  const server = createServer((request, response) => {
    const quoted = quote(request);
    if (request.url?.startsWith('/credentials') === true) return response.end(damagedJson);
    if (request.url?.includes('/pods/') === true)
      return response
        .writeHead(404, { 'content-type': 'application/json' })
        .end(JSON.stringify({ kind: 'Status', code: 404, reason: 'NotFound', message: 'no such pod' }));
    if (request.method === 'POST') return response.writeHead(403, { 'content-type': 'text/xml' }).end(stsError(quoted));
    return response.writeHead(502, { warning: `299 - "${quoted}"`, 'www-authenticate': quoted }).end(quoted);
  });
  const port = await listenOnLoopback(server);
  return {
    host: `127.0.0.1:${port}`,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

const quote = ({ method, url, headers }: IncomingMessage): string =>
  [`refused ${method} ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`)].join(
    ' ',
  );

const stsError = (message: string): string =>
  `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>SignatureDoesNotMatch</Code><Message>${message.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</Message></Error><RequestId>4f2c1b7e-0000-4000-8000-000000000000</RequestId></ErrorResponse>`;
