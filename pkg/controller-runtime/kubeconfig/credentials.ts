import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import type { Clock, Ms } from '../env/clock.ts';
import { untilAborted, withDeadline } from '../async/deadline.ts';
import { SingleFlight } from '../async/single-flight.ts';
import type { Kubeconfig } from './kubeconfig.ts';

/** A rotated token or certificate file is read again after this time at the latest. */
const CACHED_FOR: Ms = 10_000;
/** How long requests wait for credentials. A plugin that gets a token from a cloud needs a second or two. */
const DEADLINE: Ms = 20_000;

export interface KubeCredentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
  /** A hash of `tls`. Open connections can be reused while it is the same. */
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
 * Computes credentials with client-node's KubeConfig. They are cached for ten seconds, or until `refresh` reloads the
 * kubeconfig. A failure is not cached.
 */
export class CredentialSource {
  private readonly load: () => Kubeconfig;
  private readonly clock: Clock;
  private kubeconfig: Kubeconfig;
  private cached: { readonly at: Ms; readonly credentials: KubeCredentials } | undefined;
  private readonly flight = new SingleFlight<KubeCredentials>();
  private reloadedAt: Ms | undefined;
  /**
   * How often the kubeconfig was loaded. This number is the SingleFlight's key, so that no request after a reload gets
   * the credentials of the old kubeconfig.
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

  async get(signal: AbortSignal): Promise<KubeCredentials> {
    signal.throwIfAborted();
    const { cached } = this;
    if (cached !== undefined && this.clock.monotonic() - cached.at < CACHED_FOR) return cached.credentials;
    // The signal of one request does not abort the computation, whose result is cached for others.
    return untilAborted(signal, () =>
      this.flight.run(String(this.loads), undefined, () => this.compute(this.kubeconfig)),
    );
  }

  /**
   * Must be called after the API server has refused the credentials `used` with 401. Reloads the kubeconfig, at most
   * every ten seconds, because an API server that refuses everything must not cause an exec plugin to run for each
   * request. Returns `undefined` if the credentials are unchanged.
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
    const credentials = await withDeadline(this.clock, DEADLINE, undefined, what, () =>
      readCredentials(kubeconfig).catch((cause: unknown) => {
        throw new Error(`reading the ${what}`, { cause });
      }),
    );
    if (this.kubeconfig === kubeconfig) this.cached = { at, credentials };
    return credentials;
  }

  private reload(): Kubeconfig {
    this.loads += 1;
    return this.load();
  }
}

async function readCredentials(kubeconfig: Kubeconfig): Promise<KubeCredentials> {
  const options: RequestOptions = {};
  await kubeconfig.config.applyToHTTPSOptions(options);
  const { servername, rejectUnauthorized, auth } = options;
  const tls = {
    ...material('ca', options.ca),
    ...material('cert', options.cert),
    ...material('key', options.key),
    ...(servername !== undefined && { servername }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
  };
  const headers = {
    ...(typeof auth === 'string' && { authorization: `Basic ${Buffer.from(auth).toString('base64')}` }),
    ...headersOf(options.headers),
  };
  return { headers, tls, fingerprint: fingerprint(tls) };
}

function material(name: 'ca' | 'cert' | 'key', value: unknown): Pick<TlsMaterial, 'ca' | 'cert' | 'key'> {
  return typeof value === 'string' || Buffer.isBuffer(value) ? { [name]: value } : {};
}

/** A token from a file or an exec plugin may end with a newline, which an HTTP header cannot contain. */
function headersOf(headers: RequestOptions['headers']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), String(value).trim()]],
    ),
  );
}

function fingerprint({ ca, cert, key, servername, rejectUnauthorized }: TlsMaterial): string {
  const hash = createHash('sha256');
  for (const part of [ca, cert, key, servername, String(rejectUnauthorized)]) hash.update(part ?? '').update('\0');
  return hash.digest('hex');
}
