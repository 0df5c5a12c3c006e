import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { dirname, join } from 'node:path';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { listenOnLoopback } from '../../support/proxies/listen.ts';

/** How the server answers each request: with 64 MiB, with a page of a list that never ends, or not at all. */
export type Mood = 'huge' | 'endless' | 'silent';

const MEBIBYTE = 1024 * 1024;

export interface HostileApiServer {
  readonly url: string;
  mood: Mood;
  close(): Promise<void>;
}

/** Starts a server that has the certificate of an API server, and whose answers can harm its clients. */
export async function startHostileApiServer({ caPath }: ControlPlane): Promise<HostileApiServer> {
  const [cert, key] = await Promise.all(
    ['crt', 'key'].map((end) => readFile(join(dirname(caPath), `apiserver.${end}`))),
  );
  const server = createServer({ cert, key }, ({ url = '' }, response) => {
    const { mood } = hostile;
    if (mood === 'silent') return;
    response.writeHead(200, { 'content-type': 'application/json' });
    if (mood === 'endless') {
      const limit = Number(new URL(url, 'https://hostile').searchParams.get('limit') ?? 500);
      const items = Array.from({ length: limit }, (_, i) => ({
        metadata: { name: `pod-${i}`, namespace: 'default', uid: `uid-${i}`, resourceVersion: '1' },
      }));
      const metadata = { resourceVersion: '1', continue: 'more' };
      response.end(JSON.stringify({ kind: 'PodMetadataList', metadata, items }));
    } else {
      response.write('{"kind":"PodList","items":["');
      for (let i = 0; i < 64; i++) response.write('x'.repeat(MEBIBYTE));
      response.end('"]}');
    }
  });
  const port = await listenOnLoopback(server);
  const hostile: HostileApiServer = {
    url: `https://127.0.0.1:${port}`,
    mood: 'silent',
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return hostile;
}
