import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { aborted, isAborted, pause } from '../async/deadline.ts';
import type { Clock, Ms } from '../env/clock.ts';
import { errorMessage } from '../text/error-text.ts';
import type { Logger } from '../log/logger.ts';
import type { Random } from '../env/random.ts';
import type { TlsSource } from './http-server.ts';
import { CLOCK_SKEW, VALID_FOR, selfSignedCertificate, type KeyPair } from './self-signed-certificate.ts';

/** As in controller-runtime's certwatcher. */
const CHECK_INTERVAL: Ms = 10_000;

export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

export interface ServingCertificateOptions {
  /** PEM files. If undefined, the certificate is self-signed. */
  readonly files?: CertificateFiles | undefined;
  /** This host's name, for a self-signed certificate. */
  readonly hostname: string;
  /** The TLS settings without key and certificate. */
  readonly settings: SecureContextOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called with the time when the certificate in use expires, in ms since 1970. */
  readonly onExpiryKnown: (at: Ms) => void;
}

/**
 * A certificate from files, which are read again when they change, or a self-signed certificate. If changed files are
 * invalid, the problem is logged, and the previous certificate stays in use.
 */
export class ServingCertificate implements TlsSource {
  private readonly options: ServingCertificateOptions;
  private current: KeyPair | undefined;
  private problem: string | undefined;

  constructor(options: ServingCertificateOptions) {
    this.options = options;
  }

  async load(signal: AbortSignal): Promise<SecureContextOptions> {
    const { files } = this.options;
    if (files === undefined) return this.use(this.newPair());
    try {
      return this.use(await readPair(files, signal));
    } catch (cause) {
      throw new Error(`loading the certificate ${files.cert}: ${errorMessage(cause)}`, { cause });
    }
  }

  async watch(signal: AbortSignal, apply: (settings: SecureContextOptions) => void): Promise<void> {
    const { clock, logger, files } = this.options;
    if (files === undefined) return aborted(signal);
    while (!isAborted(signal)) {
      await pause(clock, CHECK_INTERVAL, signal);
      if (isAborted(signal)) return;
      try {
        const pair = await readPair(files, signal);
        const isKnown = pair.cert === this.current?.cert && pair.key === this.current.key;
        if (!isKnown) {
          apply(this.use(pair));
          logger.info('Serving with a new certificate', { file: files.cert });
        }
        this.problem = undefined;
      } catch (error) {
        const problem = errorMessage(error);
        // The same problem is logged once, not every ten seconds.
        if (problem !== this.problem && !isAborted(signal))
          logger.error('Failed to read the new certificate, keeping the previous one', error, { file: files.cert });
        this.problem = problem;
      }
    }
  }

  /**
   * Throws if the key does not match the certificate, for example while the two files are being replaced one after the
   * other.
   */
  private use(pair: KeyPair): SecureContextOptions {
    const settings = { ...this.options.settings, ...pair };
    createSecureContext(settings);
    this.options.onExpiryKnown(new X509Certificate(pair.cert).validToDate.getTime());
    this.current = pair;
    return settings;
  }

  private newPair(): KeyPair {
    const { hostname, clock, random } = this.options;
    const now = clock.now();
    return selfSignedCertificate({ hostname, notBefore: now - CLOCK_SKEW, notAfter: now + VALID_FOR }, random);
  }
}

async function readPair({ cert, key }: CertificateFiles, signal: AbortSignal): Promise<KeyPair> {
  const read = (file: string): Promise<string> => readFile(file, { encoding: 'utf8', signal });
  return { cert: await read(cert), key: await read(key) };
}
