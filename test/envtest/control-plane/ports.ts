import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * The range from which tests choose ports. It is below the ephemeral ports (Linux: from 32768, macOS: from 49152),
 * because the operating system could give an ephemeral port to another process before a server binds it, or while the
 * server restarts.
 */
const FIRST_PORT = 15_000;
const LAST_PORT = 32_767;
/**
 * The highest number of ports that one search for free ports tries. If none of so many ports can be bound, the reason
 * is probably not that they are in use, so the search fails.
 */
const MAX_TRIES = 1_000;

/**
 * Returns `count` different TCP ports on which no process listens at 127.0.0.1, outside the range of ephemeral ports.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries === MAX_TRIES)
      throw new Error(`no free port between ${FIRST_PORT} and ${LAST_PORT} within ${MAX_TRIES} tries`);
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
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
    // Binding the port has failed: it is in use, or this process is not permitted to bind it.
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
