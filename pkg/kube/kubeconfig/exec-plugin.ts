import { spawn } from 'node:child_process';
import type { KubeConfig, User } from '@kubernetes/client-node';
import { fieldAt, isRecord, textAt } from '../../../api/record.ts';
import { cut } from '../../../api/text.ts';
import type { Clock, Ms } from '../../env/clock.ts';
import { parseTimestamp } from '../../env/timestamp.ts';

/** The name of the client-node auth provider that kubeconfig.ts sets for a user with an exec plugin. */
export const EXEC_PROVIDER = 'exec-plugin';

/**
 * The time limit of an exec plugin. A plugin that gets a token from a cloud needs a second or two; a plugin that hangs
 * must not block the manager for ever.
 */
const PLUGIN_DEADLINE: Ms = 20_000;
/**
 * A credential is renewed in the background this long before it expires: the time limit of the plugin, plus time for a
 * second attempt.
 */
const RENEW_BEFORE: Ms = 60_000;
/**
 * A request waits for the renewal of a credential that expires within this time. This margin is necessary because
 * CredentialSource caches a credential for ten seconds, a request takes time, and clocks differ. If the renewal fails,
 * the old credential is used until it expires.
 */
const WAIT_BEFORE: Ms = 15_000;
/** How many characters of a failed plugin's stderr go into its error. */
const MAX_STDERR = 500;

/** Returns why the manager cannot use the exec plugin of a kubeconfig user; `undefined` if the manager can use it. */
export const refusalOfExecPlugin = (exec: unknown): string | undefined =>
  textAt(exec, 'interactiveMode') === 'Always'
    ? 'the exec plugin has interactiveMode Always, but the manager has no terminal'
    : undefined;

/** The type of client-node's authenticators, which client-node does not export. */
type Authenticator = Parameters<KubeConfig['addAuthenticator']>[0];

interface Plugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string;
  /**
   * The cluster that the plugin gets in `spec.cluster` of its ExecCredential; undefined unless the kubeconfig has
   * `provideClusterInfo: true`.
   */
  readonly cluster: unknown;
}

interface Credential {
  readonly token: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  /**
   * The wall clock time at which the credential expires, in ms since 1970; undefined: the credential is valid until the
   * API server refuses it.
   */
  readonly expires: Ms | undefined;
}

/**
 * Gets credentials from an exec plugin (KEP-541), e.g. `aws eks get-token`. Replaces client-node's authenticator for
 * exec plugins, which has no deadline, does not set KUBERNETES_EXEC_INFO, and reports only the stderr of a failed
 * plugin.
 */
export class ExecPlugin implements Authenticator {
  private readonly clock: Clock;
  private cached: Credential | undefined;
  private renewal: Promise<Credential> | undefined;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  isAuthProvider(user: User): boolean {
    const provider: unknown = user.authProvider;
    return fieldAt(provider, 'name') === EXEC_PROVIDER;
  }

  async applyAuthentication(user: User, options: Parameters<Authenticator['applyAuthentication']>[1]): Promise<void> {
    const provider: unknown = user.authProvider;
    const plugin = decodePlugin(fieldAt(provider, 'config'));
    const { token, certificate, key } = await this.currentCredential(plugin);
    if (certificate !== undefined) options.cert = certificate;
    if (key !== undefined) options.key = key;
    if (token !== undefined) Object.assign((options.headers ??= {}), { Authorization: `Bearer ${token}` });
  }

  private async currentCredential(plugin: Plugin): Promise<Credential> {
    const { cached } = this;
    if (cached !== undefined && this.remaining(cached) > RENEW_BEFORE) return cached;
    const renewal = this.renew(plugin);
    if (cached !== undefined && this.remaining(cached) > WAIT_BEFORE) {
      // The failure of this renewal is not reported, because the cached credential is still valid. The next request
      // starts another renewal.
      renewal.catch(() => {});
      return cached;
    }
    try {
      return await renewal;
    } catch (error) {
      if (cached !== undefined && this.remaining(cached) > 0) return cached;
      throw error;
    }
  }

  /** Runs the plugin and caches its credential. While the plugin runs, further calls of this method share the run. */
  private renew(plugin: Plugin): Promise<Credential> {
    this.renewal ??= this.requestCredential(plugin)
      .then((credential) => (this.cached = credential))
      .finally(() => (this.renewal = undefined));
    return this.renewal;
  }

  private remaining({ expires }: Credential): Ms {
    return expires === undefined ? Number.POSITIVE_INFINITY : expires - this.clock.now();
  }

  private async requestCredential(plugin: Plugin): Promise<Credential> {
    const { apiVersion, command, cluster } = plugin;
    const info = { apiVersion, kind: 'ExecCredential', spec: { cluster, interactive: false } };
    const output = await this.runPlugin(plugin, { ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) });
    const credential = decodeCredential(output);
    if (credential === undefined) throw new Error(`exec plugin "${command}": printed no ExecCredential with a status`);
    return credential;
  }

  private runPlugin({ command, args, installHint }: Plugin, env: Readonly<Record<string, string>>): Promise<string> {
    return new Promise((resolve, reject) => {
      const fail = (problem: string, cause?: unknown): void =>
        reject(new Error(`exec plugin "${command}": ${problem}`, { cause }));
      const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
      const timer = this.clock.after(PLUGIN_DEADLINE, () => {
        child.kill('SIGKILL');
        // A child process of the killed plugin may keep the plugin's stdout and stderr open, so this process closes its
        // own ends.
        child.stdout.destroy();
        child.stderr.destroy();
        fail(`gave no credentials within ${PLUGIN_DEADLINE / 1000} s`);
      });
      let output = '';
      let stderr = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
      child.once('error', (error: NodeJS.ErrnoException) => {
        timer.cancel();
        fail(error.code === 'ENOENT' ? `not found. ${installHint}`.trim() : error.message, error);
      });
      child.once('close', (code, signal) => {
        timer.cancel();
        if (code === 0) return resolve(output);
        const how = code === null ? `was ended by ${signal}` : `exited with ${code}`;
        fail(`${how}: ${cut(stderr.trim(), MAX_STDERR)}`);
      });
    });
  }
}

function decodePlugin(config: unknown): Plugin {
  const value = fieldAt(config, 'plugin');
  if (!isRecord(value) || textAt(value, 'command') === undefined)
    throw new Error('exec plugin: the kubeconfig names no command');
  const env = Array.isArray(value['env']) ? value['env'].filter(isRecord) : [];
  return {
    apiVersion: textAt(value, 'apiVersion') ?? 'client.authentication.k8s.io/v1',
    command: textAt(value, 'command') ?? '',
    args: Array.isArray(value['args']) ? value['args'].map(String) : [],
    env: Object.fromEntries(env.map((entry) => [textAt(entry, 'name') ?? '', textAt(entry, 'value') ?? ''])),
    installHint: textAt(value, 'installHint') ?? '',
    cluster: fieldAt(config, 'cluster'),
  };
}

function decodeCredential(output: string): Credential | undefined {
  let value: unknown;
  try {
    value = JSON.parse(output);
  } catch {
    return undefined;
  }
  const status = fieldAt(value, 'status');
  const credential = {
    token: textAt(status, 'token'),
    certificate: textAt(status, 'clientCertificateData'),
    key: textAt(status, 'clientKeyData'),
    expires: parseTimestamp(textAt(status, 'expirationTimestamp') ?? ''),
  };
  return credential.token === undefined && credential.certificate === undefined ? undefined : credential;
}
