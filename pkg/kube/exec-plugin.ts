import { spawn } from 'node:child_process';
import type { KubeConfig, User } from '@kubernetes/client-node';
import { fieldAt, isRecord, textAt } from '../../api/record.ts';
import type { Clock, Ms } from '../env/clock.ts';
import { parseTimestamp } from '../env/timestamp.ts';

/** The name under which kubeconfig.ts hands exec plugins over. */
export const EXEC_PROVIDER = 'exec-plugin';

/** A plugin that asks a cloud for a token takes a second or two; one that hangs must cost seconds, not the manager. */
const PLUGIN_DEADLINE: Ms = 20_000;
/**
 * A token is renewed this much before it runs out: requests with it are still under way, and clocks differ. Where that fails it
 * is good to its end.
 */
const RENEW_BEFORE: Ms = 30_000;
/** How much of what a failing plugin printed goes into its error. */
const MAX_STDERR = 500;

/** What KubeConfig takes; the package does not export the name. */
type Authenticator = Parameters<KubeConfig['addAuthenticator']>[0];

interface Plugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string;
}

interface Credential {
  readonly token: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  /** Wall clock; `undefined`: until the server refuses it. */
  readonly expires: Ms | undefined;
}

/**
 * Credentials from an exec plugin (KEP-541), e.g. `aws eks get-token`. In place of client-node's own, which waits for
 * ever, leaves out KUBERNETES_EXEC_INFO, and reports a failing plugin by its stderr alone.
 */
export class ExecPlugin implements Authenticator {
  private readonly clock: Clock;
  private cached: Credential | undefined;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  isAuthProvider(user: User): boolean {
    const provider: unknown = user.authProvider;
    return fieldAt(provider, 'name') === EXEC_PROVIDER;
  }

  async applyAuthentication(user: User, options: Parameters<Authenticator['applyAuthentication']>[1]): Promise<void> {
    const provider: unknown = user.authProvider;
    const plugin = decodePlugin(fieldAt(fieldAt(provider, 'config'), 'plugin'));
    const { token, certificate, key } = (this.cached = await this.renewed(plugin));
    if (certificate !== undefined) options.cert = certificate;
    if (key !== undefined) options.key = key;
    if (token !== undefined) Object.assign((options.headers ??= {}), { Authorization: `Bearer ${token}` });
  }

  private async renewed(plugin: Plugin): Promise<Credential> {
    const { cached } = this;
    if (cached !== undefined && this.remaining(cached) > RENEW_BEFORE) return cached;
    try {
      return await this.ask(plugin);
    } catch (error) {
      if (cached !== undefined && this.remaining(cached) > 0) return cached;
      throw error;
    }
  }

  private remaining({ expires }: Credential): Ms {
    return expires === undefined ? Number.POSITIVE_INFINITY : expires - this.clock.now();
  }

  private async ask(plugin: Plugin): Promise<Credential> {
    const { apiVersion, command } = plugin;
    const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
    const output = await this.run(plugin, { ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) });
    const credential = decodeCredential(output);
    if (credential === undefined) throw new Error(`exec plugin "${command}": printed no ExecCredential with a status`);
    return credential;
  }

  private run({ command, args, installHint }: Plugin, env: Readonly<Record<string, string>>): Promise<string> {
    return new Promise((resolve, reject) => {
      const fail = (problem: string, cause?: unknown): void =>
        reject(new Error(`exec plugin "${command}": ${problem}`, { cause }));
      const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
      const timer = this.clock.after(PLUGIN_DEADLINE, () => {
        child.kill('SIGKILL');
        // A child of the child may hold on to these.
        child.stdout.destroy();
        child.stderr.destroy();
        fail(`gave no credentials within ${PLUGIN_DEADLINE / 1000} s`);
      });
      let output = '';
      let complaint = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
      child.once('error', (error: NodeJS.ErrnoException) => {
        timer.cancel();
        fail(error.code === 'ENOENT' ? `not found. ${installHint}`.trim() : error.message, error);
      });
      child.once('close', (code, signal) => {
        timer.cancel();
        if (code === 0) return resolve(output);
        const how = code === null ? `was ended by ${signal}` : `exited with ${code}`;
        fail(`${how}: ${complaint.trim().slice(0, MAX_STDERR)}`);
      });
    });
  }
}

function decodePlugin(value: unknown): Plugin {
  if (!isRecord(value) || textAt(value, 'command') === undefined)
    throw new Error('exec plugin: the kubeconfig names no command');
  const env = Array.isArray(value['env']) ? value['env'].filter(isRecord) : [];
  return {
    apiVersion: textAt(value, 'apiVersion') ?? 'client.authentication.k8s.io/v1',
    command: textAt(value, 'command') ?? '',
    args: Array.isArray(value['args']) ? value['args'].map(String) : [],
    env: Object.fromEntries(env.map((entry) => [textAt(entry, 'name') ?? '', textAt(entry, 'value') ?? ''])),
    installHint: textAt(value, 'installHint') ?? '',
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
