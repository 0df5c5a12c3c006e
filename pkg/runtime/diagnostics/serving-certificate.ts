import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { isAborted, pause } from '../../async/deadline.ts';
import type { Clock, Ms } from '../../env/clock.ts';
import { errorMessage } from '../../env/error-text.ts';
import type { Logger } from '../../env/logger.ts';
import type { Random } from '../../env/random.ts';
import type { TlsSource } from '../http/http-server.ts';
import { CLOCK_SKEW, RENEW_BEFORE, VALID_FOR, selfSignedCertificate, type KeyPair } from './self-signed-certificate.ts';

/** As in controller-runtime's certwatcher. */
const CHECK_INTERVAL: Ms = 10_000;

export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

export interface ServingCertificateOptions {
  /** The PEM files of the certificate and its key; undefined: the certificate is self-signed. */
  readonly files?: CertificateFiles | undefined;
  /** The name of this host in a self-signed certificate. */
  readonly hostname: string;
  /** Beside key and certificate. */
  readonly settings: SecureContextOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called with the time at which the certificate in use expires, in ms since 1970. */
  readonly onExpiryKnown: (at: Ms) => void;
}

/**
 * The certificate of a TLS server. It comes from files, which are read again when they change, or it is self-signed and
 * renewed before it expires. Files with a wrong content are logged, and the former certificate stays in use.
 */
export class ServingCertificate implements TlsSource {
  private readonly options: ServingCertificateOptions;
  private current: (KeyPair & { readonly expiresAt: Ms }) | undefined;
  private problem: string | undefined;

  constructor(options: ServingCertificateOptions) {
    this.options = options;
  }

  async load(signal: AbortSignal): Promise<SecureContextOptions> {
    const { files } = this.options;
    const settings = await this.next(signal).catch((cause: unknown) => {
      throw new Error(`loading the certificate ${files?.cert ?? ''}: ${errorMessage(cause)}`, { cause });
    });
    if (settings === undefined) throw new Error('the certificate is loaded twice');
    return settings;
  }

  async watch(signal: AbortSignal, apply: (settings: SecureContextOptions) => void): Promise<void> {
    const { clock, logger, files } = this.options;
    while (!isAborted(signal)) {
      await pause(clock, CHECK_INTERVAL, signal);
      if (isAborted(signal)) return;
      try {
        const settings = await this.next(signal);
        this.problem = undefined;
        if (settings === undefined) continue;
        apply(settings);
        logger.info('Serving with a new certificate', { file: files?.cert ?? 'self-signed' });
      } catch (error) {
        const problem = errorMessage(error);
        // The same problem is logged once, not every ten seconds.
        if (problem !== this.problem && !isAborted(signal))
          logger.error('Failed to read the new certificate, the former one stays in use', error, { file: files?.cert });
        this.problem = problem;
      }
    }
  }

  /** The TLS settings with the certificate as it is now; `undefined` if the server uses it already. */
  private async next(signal: AbortSignal): Promise<SecureContextOptions | undefined> {
    const { current } = this;
    const pair = await this.read(signal);
    if (pair.cert === current?.cert && pair.key === current.key) return undefined;
    const settings = { ...this.options.settings, cert: pair.cert, key: pair.key };
    // Throws if the key does not belong to the certificate, while the two files are replaced one after the other.
    createSecureContext(settings);
    const expiresAt = new X509Certificate(pair.cert).validToDate.getTime();
    this.current = { ...pair, expiresAt };
    this.options.onExpiryKnown(expiresAt);
    return settings;
  }

  private async read(signal: AbortSignal): Promise<KeyPair> {
    const { files, hostname, clock, random } = this.options;
    if (files !== undefined) {
      const [cert, key] = await Promise.all(
        [files.cert, files.key].map((file) => readFile(file, { encoding: 'utf8', signal })),
      );
      return { cert: cert ?? '', key: key ?? '' };
    }
    const now = clock.now();
    if (this.current !== undefined && this.current.expiresAt - now > RENEW_BEFORE) return this.current;
    const validity = { notBefore: now - CLOCK_SKEW, notAfter: now + VALID_FOR };
    return selfSignedCertificate({ hostname, ...validity }, random);
  }
}
