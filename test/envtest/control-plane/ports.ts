import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * The range from which tests choose ports. It is below the ephemeral ports (Linux: from 32768, macOS: from 49152),
 * because the operating system could give an ephemeral port to another process before a server binds it, or while the
 * server restarts.
 */
const FIRST_PORT = 15_000;
const LAST_PORT = 32_767;
/**
 * The number of ports that a test process claims at a time. No test process runs so many servers at the same time, and
 * the range has a block for each of 138 test processes.
 */
const BLOCK_SIZE = 128;
const BLOCKS = Math.floor((LAST_PORT + 1 - FIRST_PORT) / BLOCK_SIZE);

/**
 * Ports that belong to this test process alone. As long as the process runs, it listens on the first port of the block,
 * which keeps other test processes from claiming the block. Without the claim, two test processes could choose the same
 * port before a server of one of them binds it.
 */
interface PortBlock {
  readonly first: number;
  /** The offset of the port that was chosen most recently; 0 is the port of the claim. */
  lastOffset: number;
}

let claimed: Promise<PortBlock> | undefined;

/**
 * Returns `count` different TCP ports on which no process listens at 127.0.0.1. Other test processes do not choose
 * these ports, and this process chooses the same port again only after the other ports of its block.
 */
export async function freePorts(count: number): Promise<number[]> {
  claimed ??= claimBlock();
  const block = await claimed;
  const ports: number[] = [];
  for (let tries = 1; ports.length < count; tries += 1) {
    if (tries === BLOCK_SIZE)
      throw new Error(`${count} free ports were asked for, and ${block.first} to ${lastPortOf(block)} have fewer`);
    block.lastOffset = (block.lastOffset % (BLOCK_SIZE - 1)) + 1;
    const port = block.first + block.lastOffset;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

const lastPortOf = ({ first }: PortBlock): number => first + BLOCK_SIZE - 1;

async function claimBlock(): Promise<PortBlock> {
  const start = randomInt(BLOCKS);
  for (let tried = 0; tried < BLOCKS; tried += 1) {
    const first = FIRST_PORT + ((start + tried) % BLOCKS) * BLOCK_SIZE;
    const claim = await tryListen(first);
    if (claim === undefined) continue;
    claim.unref();
    return { first, lastOffset: 0 };
  }
  throw new Error(`all ${BLOCKS} blocks of ports between ${FIRST_PORT} and ${LAST_PORT} are claimed`);
}

async function isFree(port: number): Promise<boolean> {
  const server = await tryListen(port);
  if (server === undefined) return false;
  server.close();
  await once(server, 'close');
  return true;
}

/**
 * Listens on a port of 127.0.0.1. Returns undefined if this is not possible, because a process already listens on the
 * port, or because this process is not permitted to.
 */
async function tryListen(port: number): Promise<Server | undefined> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  } catch {
    return undefined;
  }
}
