import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import type { Clock, Ms } from '../env/clock.ts';
import { untilAborted, withDeadline } from '../env/deadline.ts';
import { ExecPlugin } from './exec-plugin.ts';
import type { Kubeconfig } from './kubeconfig.ts';
import { TokenFile } from './token-file.ts';

/** How long credentials are taken as they are: files that rotate are looked at this often. */
const CACHED_FOR: Ms = 10_000;
/** Above the deadline of an exec plugin; the rest is reading files. */
const DEADLINE: Ms = 25_000;

export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
  /** The same for the same TLS material: connections made with it can go on. */
  readonly fingerprint: string;
}

export interface TlsMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** What client-node's KubeConfig says, asked at most every ten seconds, and once for all who ask together. */
export class CredentialSource {
  private readonly load: () => Kubeconfig;
  private readonly clock: Clock;
  private kubeconfig: Kubeconfig;
  private current: { readonly at: Ms; readonly credentials: Promise<Credentials> } | undefined;
  private reloadedAt: Ms | undefined;

  /** @throws KubeconfigError */
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

  get(signal: AbortSignal): Promise<Credentials> {
    const now = this.clock.monotonic();
    if (this.current === undefined || now - this.current.at >= CACHED_FOR) {
      // Not bound to the caller's signal: others may be waiting for the same.
      const credentials = withDeadline(
        this.clock,
        DEADLINE,
        undefined,
        `credentials of ${this.kubeconfig.source}`,
        () => ask(this.kubeconfig),
      );
      const current = { at: now, credentials };
      this.current = current;
      credentials.catch(() => {
        // A failure is not kept: the next request tries again.
        if (this.current === current) this.current = undefined;
      });
    }
    const { credentials } = this.current;
    return untilAborted(signal, () => credentials);
  }

  /**
   * After the server refused `used` (401): what the configuration says when it is read anew, or `undefined` when that is
   * the same. Reads at most every ten seconds: a server that refuses everything must not cost an exec plugin each time.
   */
  async refresh(used: Credentials, signal: AbortSignal): Promise<Credentials | undefined> {
    const now = this.clock.monotonic();
    if (this.reloadedAt === undefined || now - this.reloadedAt >= CACHED_FOR) {
      this.reloadedAt = now;
      this.kubeconfig = this.reload();
      this.current = undefined;
    }
    const fresh = await this.get(signal);
    const isSame =
      fresh.fingerprint === used.fingerprint && JSON.stringify(fresh.headers) === JSON.stringify(used.headers);
    return isSame ? undefined : fresh;
  }

  private reload(): Kubeconfig {
    const kubeconfig = this.load();
    kubeconfig.config.addAuthenticator(new ExecPlugin(this.clock));
    kubeconfig.config.addAuthenticator(new TokenFile());
    return kubeconfig;
  }
}

async function ask({ config }: Kubeconfig): Promise<Credentials> {
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
      // A token file may end in a newline, which no header can hold.
      value === undefined ? [] : [[name.toLowerCase(), String(value).trim()]],
    ),
  );
}

function fingerprint({ ca, cert, key, servername, rejectUnauthorized }: TlsMaterial): string {
  const hash = createHash('sha256');
  for (const part of [ca, cert, key, servername, String(rejectUnauthorized)]) hash.update(part ?? '').update('\0');
  return hash.digest('hex');
}
