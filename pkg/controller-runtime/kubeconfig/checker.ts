import { readFileSync } from 'node:fs';
import { isLeft } from 'fp-ts/lib/Either.js';
import { textAt, type UnknownRecord } from '../json/record.ts';
import { codeOf } from '../text/error-text.ts';
import { environmentProxies, parseHttpUrl } from '../network/environment-proxy.ts';

/** Thrown if a kubeconfig, or a proxy set in the environment, cannot be used. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

export function environmentProxyOf(env: Readonly<Record<string, string | undefined>>, server: URL): URL | undefined {
  const proxies = environmentProxies(env);
  if (isLeft(proxies)) throw new KubeconfigError(proxies.left);
  return proxies.right(server);
}

/**
 * Checks fields of a cluster and a user of a kubeconfig. Each method throws a KubeconfigError, which never contains a
 * URL from the kubeconfig, because a URL may contain a password.
 */
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
    const server = parseHttpUrl(text);
    if (server === undefined)
      return this.fail('cluster', `server is not a URL of http or https, such as https://10.0.0.1:6443`);
    if (server.protocol === 'http:' && cluster['insecure-skip-tls-verify'] !== true)
      return this.fail('cluster', `server is not encrypted; insecure-skip-tls-verify: true would allow that`);
    return server;
  }

  proxy(text: string | undefined): URL | undefined {
    if (text === undefined) return undefined;
    const proxy = parseHttpUrl(text);
    if (proxy === undefined)
      return this.fail('cluster', 'proxy-url is not a URL of http or https, such as http://proxy.example.com:3128');
    return proxy;
  }

  /** Checks the file in a field such as `client-key`, or the base64 data in the field with the suffix `-data`. */
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

  /**
   * Refuses settings that client-node does not support. It ignores some impersonation fields, so the manager would act
   * with the user's own permissions. Its cloud auth providers run a command that blocks this process and writes to its
   * standard error.
   */
  supported(user: UnknownRecord): void {
    const provider = textAt(user['auth-provider'], 'name');
    if (provider !== undefined && provider !== 'oidc')
      this.fail('user', `the auth-provider "${provider}" is not supported, as in kubectl; use an exec plugin instead`);
    if (textAt(user['exec'], 'interactiveMode') === 'Always')
      this.fail('user', 'the exec plugin has interactiveMode Always, but the manager has no terminal');
    for (const field of ['as-uid', 'as-groups', 'as-user-extra'])
      if (user[field] !== undefined) this.fail('user', `${field} is not supported`);
  }

  private fail(owner: 'cluster' | 'user', problem: string): never {
    throw new KubeconfigError(`${this.source}: ${owner} "${this.names[owner]}": ${problem}`);
  }
}
