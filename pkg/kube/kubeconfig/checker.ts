import { readFileSync } from 'node:fs';
import { textAt } from '../../../api/record.ts';
import type { UnknownRecord } from '../../../api/record.ts';
import { environmentProxy } from './environment-proxy.ts';

/** The error for a kubeconfig that cannot be used. Its message names the file and the wrong field. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

/** The code of an error of Node.js, e.g. `ENOENT`; otherwise the error as text. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error);

/** The proxy that the environment names for the server, as by client-go. A proxy-url of the kubeconfig has priority. */
export function environmentProxyOf(env: Readonly<Record<string, string | undefined>>, server: URL): URL | undefined {
  const named = environmentProxy(env, server);
  if (named === undefined) return undefined;
  const { variable, url } = named;
  const proxy = httpUrl(url);
  if (proxy !== undefined) return proxy;
  throw new KubeconfigError(`${variable}: "${withoutPassword(url)}" is not a URL of http or https`);
}

const httpUrl = (text: string): URL | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined;
};

/** Replaces the user and the password in the text of a URL, which may be malformed. The last `@` ends them. */
const withoutPassword = (url: string): string => url.replace(/^([^/]*\/\/)?.*@/s, '$1***@');

/** Checks the fields of a cluster and a user of a kubeconfig. Each method throws a KubeconfigError. */
export class Checker {
  private readonly source: string;
  private readonly names: Readonly<Record<'cluster' | 'user', string>>;

  constructor(source: string, cluster: string, user: string) {
    this.source = source;
    this.names = { cluster, user };
  }

  server(cluster: UnknownRecord): URL {
    const text = textAt(cluster, 'server');
    if (text === undefined) return this.fail('cluster', 'server is missing');
    const server = httpUrl(text);
    if (server === undefined)
      return this.fail('cluster', `server "${withoutPassword(text)}" is not a URL of http or https`);
    if (server.protocol === 'http:' && cluster['insecure-skip-tls-verify'] !== true)
      return this.fail(
        'cluster',
        `server "${withoutPassword(text)}" is not encrypted; insecure-skip-tls-verify: true would allow that`,
      );
    return server;
  }

  proxy(text: string | undefined): URL | undefined {
    if (text === undefined) return undefined;
    const proxy = httpUrl(text);
    if (proxy === undefined)
      return this.fail('cluster', `proxy-url "${withoutPassword(text)}" is not a URL of http or https`);
    return proxy;
  }

  /**
   * Checks a PEM field of a kubeconfig entry, e.g. `client-key`: the file that the field names, or the base64 data in the
   * field with the suffix `-data`.
   */
  pem(owner: 'cluster' | 'user', content: UnknownRecord, field: string): void {
    const path = textAt(content, field);
    const data = textAt(content, `${field}-data`);
    if (data !== undefined) {
      if (!Buffer.from(data, 'base64').includes('-----BEGIN ')) this.fail(owner, `${field}-data is not PEM in base64`);
    } else if (path !== undefined) {
      let text = '';
      try {
        text = readFileSync(path, 'utf8');
      } catch (cause) {
        this.fail(owner, `${field} ${path} cannot be read: ${codeOf(cause)}`);
      }
      if (!text.includes('-----BEGIN ')) this.fail(owner, `${field} ${path} is not PEM`);
    }
  }

  /** Rejects impersonation fields that client-node ignores, since the manager would then act with other permissions. */
  supported(user: UnknownRecord): void {
    for (const field of ['as-uid', 'as-groups', 'as-user-extra'])
      if (user[field] !== undefined) this.fail('user', `${field} is not supported`);
  }

  private fail(owner: 'cluster' | 'user', problem: string): never {
    throw new KubeconfigError(`${this.source}: ${owner} "${this.names[owner]}": ${problem}`);
  }
}
