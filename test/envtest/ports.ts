import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below those that a system gives to outgoing connections and to whoever asks for any (Linux: 32768 up, macOS: 49152 up). Of
 * those another process is given one at any moment: between our look and the server's bind, or while a server is away that is
 * to come back under its address.
 */
const FIRST = 15_000;
const LAST = 32_767;
/** Where so many in a row are taken, something else is wrong. */
const TRIES = 1_000;

/** `count` different TCP ports of 127.0.0.1 on which nothing listens, and that nobody is given by chance. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries === TRIES) throw new Error(`no free port between ${FIRST} and ${LAST} within ${TRIES} tries`);
    const port = randomInt(FIRST, LAST + 1);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    // Taken, or not ours to take.
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
