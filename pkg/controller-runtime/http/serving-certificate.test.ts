import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type PeerCertificate, type SecureContextOptions } from 'node:tls';
import { expect } from 'chai';
import { errorMessage } from '../text/error-text.ts';
import { systemClock } from '../env/system.ts';
import { MemoryLogger } from '../testing/memory-logger.ts';
import { SeededRandom } from '../testing/seeded-random.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { HttpServer } from './http-server.ts';
import { selfSignedCertificate } from './self-signed-certificate.ts';
import { ServingCertificate } from './serving-certificate.ts';

const DAY = 24 * 3_600_000;
const CHECK = 10_000;

describe('ServingCertificate', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'certificate-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const newPair = (hostname: string, seed: number) => {
    const validity = { notBefore: systemClock.now() - DAY, notAfter: systemClock.now() + seed * DAY };
    return selfSignedCertificate({ hostname, ...validity }, new SeededRandom(seed));
  };
  const write = (content: { readonly cert?: string; readonly key?: string }): void => {
    for (const [name, text] of Object.entries(content)) writeFileSync(join(directory, `tls.${name}`), text);
  };

  async function serve({
    isFile = true,
    settings = {},
  }: { readonly isFile?: boolean; readonly settings?: SecureContextOptions } = {}) {
    const clock = new VirtualClock(systemClock.now());
    const logger = new MemoryLogger();
    const expiries: number[] = [];
    const files = isFile ? { cert: join(directory, 'tls.cert'), key: join(directory, 'tls.key') } : undefined;
    const hostname = 'localhost';
    const onExpiryKnown = (at: number): void => void expiries.push(at);
    const random = new SeededRandom(1);
    const tls = new ServingCertificate({ files, hostname, settings, clock, random, logger, onExpiryKnown });
    const address = { host: '127.0.0.1', port: 0 };
    const server = new HttpServer({ name: 'x', address, handler: () => ({ status: 200, body: 'ok' }), logger, tls });
    const stopping = new AbortController();
    const ended = server.run(stopping.signal);
    await Promise.race([server.started(stopping.signal), ended]);
    const { port } = await server.address();
    const handshake = async (options: ConnectionOptions = {}): Promise<PeerCertificate> => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options });
      await once(socket, 'secureConnect');
      const certificate = socket.getPeerCertificate();
      socket.destroy();
      return certificate;
    };
    const subject = async (): Promise<unknown> => (await handshake()).subject.CN;
    const stop = async (): Promise<void> => {
      stopping.abort();
      await ended;
    };
    return { clock, logger, expiries, port, handshake, subject, stop };
  }

  it('serves new files without a restart, and reports when they expire', async () => {
    write(newPair('first', 1));
    const { clock, expiries, subject, stop, logger } = await serve();
    expect(await subject()).to.equal('first');
    await pass(clock, CHECK);
    expect(logger.linesWith('Serving with a new certificate')).to.deep.equal([]);
    write(newPair('second', 2));
    await pass(clock, CHECK - 1);
    expect(await subject()).to.equal('first');
    await pass(clock, 1);
    expect(logger.linesWith('Serving with a new certificate')).to.have.length(1);
    expect(await subject()).to.equal('second');
    expect(expiries).to.have.length(2);
    expect((expiries[1] ?? 0) - (expiries[0] ?? 0)).to.be.closeTo(DAY, 2_000);
    await stop();
    expect(clock.pendingTimers()).to.deep.equal([]);
  });

  it('keeps the former certificate while a new one is without its key or cannot be read', async () => {
    write(newPair('first', 1));
    const { clock, subject, stop, logger } = await serve();
    const said = 'Failed to read the new certificate, keeping the previous one';
    const second = newPair('second', 2);
    write({ cert: second.cert });
    await pass(clock, CHECK);
    expect(logger.linesWith(said)).to.have.length(1);
    await pass(clock, CHECK);
    rmSync(join(directory, 'tls.key'));
    await pass(clock, CHECK);
    expect(logger.linesWith(said)).to.have.length(2);
    expect(await subject()).to.equal('first');
    write(second);
    await pass(clock, CHECK);
    expect(logger.linesWith('Serving with a new certificate')).to.have.length(1);
    expect(await subject()).to.equal('second');
    await stop();
  });

  it('fails at the start without its files', async () => {
    const error: unknown = await serve().catch((thrown: unknown) => thrown);
    expect(errorMessage(error)).to.include(`loading the certificate ${directory}/tls.cert: ENOENT`);
  });

  it('makes a certificate that clients can verify, and that outlasts every process', async () => {
    const { handshake, stop, expiries } = await serve({ isFile: false });
    const { raw } = await handshake();
    const ca = `-----BEGIN CERTIFICATE-----\n${raw.toString('base64')}\n-----END CERTIFICATE-----\n`;
    await handshake({ ca, servername: 'localhost', rejectUnauthorized: true });
    expect((expiries[0] ?? 0) - systemClock.now()).to.be.closeTo(3_650 * DAY, 60_000);
    await stop();
  });

  it('refuses clients below the minimum version', async () => {
    const { handshake, stop } = await serve({ isFile: false, settings: { minVersion: 'TLSv1.3' } });
    await handshake();
    const error: unknown = await handshake({ maxVersion: 'TLSv1.2' }).catch((thrown: unknown) => thrown);
    expect(errorMessage(error)).to.match(/protocol version/);
    await stop();
  });

  it('stops although a client has not ended its handshake', async () => {
    const { port, stop } = await serve({ isFile: false });
    const silent = connectTcp(port, '127.0.0.1');
    await once(silent, 'connect');
    const closed = once(silent.resume(), 'close');
    await stop();
    await closed;
  });
});

/**
 * Advances the virtual clock by `span`, and waits until the certificate has been checked. The check has ended when the
 * timer of the next check is armed. This function waits in a loop, because reading files does not depend on the virtual
 * clock.
 */
async function pass(clock: VirtualClock, span: number): Promise<void> {
  await clock.advance(span);
  while (clock.pendingTimers().length === 0) await clock.advance(0);
}
