import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import type { Clock, Ms } from '../../env/clock.ts';
import { untilAborted, withDeadline } from '../../async/deadline.ts';
import { SingleFlight } from '../../async/single-flight.ts';
import { ExecPlugin } from './exec-plugin.ts';
import type { Kubeconfig } from './kubeconfig.ts';
import { TokenFile } from './token-file.ts';

/**
 * How long credentials for the API server are cached. A token or certificate file that was rotated is read again after
 * this time at the latest.
 */
const CACHED_FOR: Ms = 10_000;
/** The time limit for getting credentials: the 20 s of an exec plugin, plus time to read files. */
const DEADLINE: Ms = 25_000;

export interface KubeCredentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
  /** A hash of the TLS keys, certificates and settings. Open connections can be reused while the hash is the same. */
  readonly fingerprint: string;
}

export interface TlsMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/**
 * Provides the credentials of a kubeconfig, as client-node's KubeConfig computes them. Caches them for ten seconds, or
 * until `refresh` reloads the kubeconfig. Requests that need them at the same time share one computation. A failure is
 * not cached.
 */
export class CredentialSource {
  private readonly load: () => Kubeconfig;
  private readonly clock: Clock;
  private kubeconfig: Kubeconfig;
  private cached: { readonly at: Ms; readonly credentials: KubeCredentials } | undefined;
  private readonly flight = new SingleFlight<KubeCredentials>();
  private reloadedAt: Ms | undefined;
  /**
   * How many times the kubeconfig was loaded. The number is the key of the SingleFlight, so that requests after a
   * reload do not get credentials that are computed from the old kubeconfig.
   */
  private loads = 0;

  /** @throws KubeconfigError if the kubeconfig cannot be used */
  constructor(load: () => Kubeconfig, clock: Clock) {
    this.load = load;
    this.clock = clock;
    this.kubeconfig = this.reload();
  }

  get server(): URL {
    return this.kubeconfig.server;
  }

  get proxy(): URL | undefined {
    return this.kubeconfig.proxy;
  }

  /**
   * Returns the credentials. Rejects with the reason of `signal`, with the error of reading a file or running an exec
   * plugin, or with DeadlineExceeded.
   */
  async get(signal: AbortSignal): Promise<KubeCredentials> {
    signal.throwIfAborted();
    const { cached } = this;
    if (cached !== undefined && this.clock.monotonic() - cached.at < CACHED_FOR) return cached.credentials;
    // The signal of one request does not abort the computation, since the credentials are cached for later requests as
    // well.
    return untilAborted(signal, () =>
      this.flight.run(String(this.loads), undefined, () => this.compute(this.kubeconfig)),
    );
  }

  /**
   * Call this method after the API server has refused the credentials `used` with 401. Loads the kubeconfig again and
   * returns its credentials, or `undefined` when they equal `used`. Loads the kubeconfig at most every ten seconds: an
   * API server that refuses everything must not start an exec plugin for each request.
   */
  async refresh(used: KubeCredentials, signal: AbortSignal): Promise<KubeCredentials | undefined> {
    const now = this.clock.monotonic();
    if (this.reloadedAt === undefined || now - this.reloadedAt >= CACHED_FOR) {
      this.reloadedAt = now;
      this.kubeconfig = this.reload();
      this.cached = undefined;
    }
    const fresh = await this.get(signal);
    const isSame =
      fresh.fingerprint === used.fingerprint && JSON.stringify(fresh.headers) === JSON.stringify(used.headers);
    return isSame ? undefined : fresh;
  }

  private async compute(kubeconfig: Kubeconfig): Promise<KubeCredentials> {
    const at = this.clock.monotonic();
    const what = `credentials of ${kubeconfig.source}`;
    const credentials = await withDeadline(this.clock, DEADLINE, undefined, what, () => readCredentials(kubeconfig));
    if (this.kubeconfig === kubeconfig) this.cached = { at, credentials };
    return credentials;
  }

  private reload(): Kubeconfig {
    this.loads += 1;
    const kubeconfig = this.load();
    kubeconfig.config.addAuthenticator(new ExecPlugin(this.clock));
    kubeconfig.config.addAuthenticator(new TokenFile());
    return kubeconfig;
  }
}

async function readCredentials({ config }: Kubeconfig): Promise<KubeCredentials> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, servername, rejectUnauthorized, auth } = options;
  const tls = {
    ...material('ca', ca),
    ...material('cert', cert),
    ...material('key', key),
    ...(servername === undefined ? {} : { servername }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
  };
  const basic = typeof auth === 'string' ? { authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {};
  return { headers: { ...basic, ...headersOf(options.headers) }, tls, fingerprint: fingerprint(tls) };
}

function material(name: 'ca' | 'cert' | 'key', value: unknown): Pick<TlsMaterial, 'ca' | 'cert' | 'key'> {
  return typeof value === 'string' || Buffer.isBuffer(value) ? { [name]: value } : {};
}

function headersOf(headers: RequestOptions['headers']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).flatMap(([name, value]) =>
      // The token of an exec plugin may end in a newline, which an HTTP header cannot contain.
      value === undefined ? [] : [[name.toLowerCase(), String(value).trim()]],
    ),
  );
}

function fingerprint({ ca, cert, key, servername, rejectUnauthorized }: TlsMaterial): string {
  const hash = createHash('sha256');
  for (const part of [ca, cert, key, servername, String(rejectUnauthorized)]) hash.update(part ?? '').update('\0');
  return hash.digest('hex');
}
