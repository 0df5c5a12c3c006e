import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fieldAt, isRecord, textAt, type UnknownRecord } from '../../../api/record.ts';
import { cut } from '../../../api/text.ts';
import type { Clock, Ms } from '../../env/clock.ts';
import { parseTimestamp } from '../../env/timestamp.ts';

// client-node's own authenticators for exec plugins and token files are replaced: the first has no deadline, does not set
// KUBERNETES_EXEC_INFO, and reports only the stderr of a failed plugin; the second fails while the file is missing, and
// sends requests as `system:anonymous` for a minute after it has read an empty file.

/** What a kubeconfig user authenticates with. */
export interface Login {
  readonly token?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

export interface Authenticator {
  login(): Promise<Login>;
}

/** Returns the code of an error of Node.js, e.g. `ENOENT`; the text of any other error. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error);

/** A plugin that gets a token from a cloud needs a second or two. */
const PLUGIN_DEADLINE: Ms = 20_000;
/** A credential is renewed in the background this long before it expires: time for two attempts. */
const RENEW_BEFORE: Ms = 60_000;
/**
 * A request waits for the renewal of a credential that expires within this time, because CredentialSource caches it for
 * ten seconds, a request takes time, and clocks differ. If the renewal fails, the old credential is used until it expires.
 */
const WAIT_BEFORE: Ms = 15_000;
/** How many characters of a failed plugin's stderr go into its error. */
const MAX_STDERR = 500;

interface Credential extends Login {
  /** In ms since 1970; undefined: the credential is valid until the API server refuses it. */
  readonly expires: Ms | undefined;
}

/** Gets credentials from an exec plugin (KEP-541), e.g. `aws eks get-token`. */
export class ExecPlugin implements Authenticator {
  private readonly clock: Clock;
  private readonly exec: UnknownRecord;
  private readonly cluster: unknown;
  private cached: Credential | undefined;
  private renewal: Promise<Credential> | undefined;

  /** `cluster` is that of {@link execClusterOf}, or undefined without `provideClusterInfo: true`. */
  constructor(clock: Clock, exec: UnknownRecord, cluster: unknown) {
    this.clock = clock;
    this.exec = exec;
    this.cluster = cluster;
  }

  async login(): Promise<Login> {
    const { cached } = this;
    if (cached !== undefined && this.remaining(cached) > RENEW_BEFORE) return cached;
    const renewal = this.renew();
    if (cached !== undefined && this.remaining(cached) > WAIT_BEFORE) {
      // The cached credential is still valid, and the next request starts another renewal.
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

  /** Runs the plugin and caches its credential. Calls that come meanwhile share the run. */
  private renew(): Promise<Credential> {
    this.renewal ??= this.requestCredential()
      .then((credential) => (this.cached = credential))
      .finally(() => (this.renewal = undefined));
    return this.renewal;
  }

  private remaining({ expires }: Credential): Ms {
    return expires === undefined ? Number.POSITIVE_INFINITY : expires - this.clock.now();
  }

  private async requestCredential(): Promise<Credential> {
    const plugin = decodePlugin(this.exec);
    const { apiVersion, command } = plugin;
    const info = { apiVersion, kind: 'ExecCredential', spec: { cluster: this.cluster, interactive: false } };
    const output = await this.runPlugin(plugin, { ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) });
    const credential = decodeCredential(output);
    if (credential === undefined) throw new Error(`exec plugin "${command}": printed no ExecCredential with a status`);
    return credential;
  }

  private runPlugin(plugin: ReturnType<typeof decodePlugin>, env: Readonly<Record<string, string>>): Promise<string> {
    const { command, args, installHint } = plugin;
    return new Promise((resolve, reject) => {
      const fail = (problem: string, cause?: unknown): void =>
        reject(new Error(`exec plugin "${command}": ${problem}`, { cause }));
      const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
      const timer = this.clock.after(PLUGIN_DEADLINE, () => {
        child.kill('SIGKILL');
        // A child process of the killed plugin may keep these open.
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

function decodePlugin(exec: UnknownRecord) {
  const command = textAt(exec, 'command');
  if (command === undefined) throw new Error('exec plugin: the kubeconfig names no command');
  const env = Array.isArray(exec['env']) ? exec['env'].filter(isRecord) : [];
  return {
    apiVersion: textAt(exec, 'apiVersion') ?? 'client.authentication.k8s.io/v1',
    command,
    args: Array.isArray(exec['args']) ? exec['args'].map(String) : [],
    env: Object.fromEntries(env.map((entry) => [textAt(entry, 'name') ?? '', textAt(entry, 'value') ?? ''])),
    installHint: textAt(exec, 'installHint') ?? '',
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

/** The extension of a kubeconfig cluster that contains settings for exec plugins. */
const EXEC_EXTENSION = 'client.authentication.k8s.io/exec';

/**
 * The cluster that an exec plugin with `provideClusterInfo: true` gets in `spec.cluster` of its ExecCredential, as from
 * client-go: https://kubernetes.io/docs/reference/config-api/client-authentication.v1/. The caller has checked that the
 * file with the certificate authority exists.
 */
export function execClusterOf(cluster: UnknownRecord): UnknownRecord {
  const path = textAt(cluster, 'certificate-authority');
  const extensions: readonly unknown[] = Array.isArray(cluster['extensions']) ? cluster['extensions'] : [];
  const extension = extensions.find((each) => isRecord(each) && each['name'] === EXEC_EXTENSION);
  const flag = (field: string): true | undefined => (cluster[field] === true ? true : undefined);
  return {
    server: textAt(cluster, 'server'),
    'tls-server-name': textAt(cluster, 'tls-server-name'),
    'insecure-skip-tls-verify': flag('insecure-skip-tls-verify'),
    'certificate-authority-data':
      textAt(cluster, 'certificate-authority-data') ?? (path === undefined ? undefined : readFileSync(path, 'base64')),
    'proxy-url': textAt(cluster, 'proxy-url'),
    'disable-compression': flag('disable-compression'),
    config: fieldAt(extension, 'extension'),
  };
}

/**
 * Reads a bearer token from a file that is rotated, e.g. by the kubelet for a service account. Like client-go
 * (transport/token_source.go), TokenFile uses the last token while the file is empty or missing, at first the field `token`
 * of the kubeconfig user. After the API server has refused a token, CredentialSource makes a new TokenFile.
 */
export class TokenFile implements Authenticator {
  private readonly path: string;
  private lastToken: string | undefined;

  /** `token` is that of the kubeconfig user. */
  constructor(path: string, token: string | undefined) {
    this.path = path;
    this.lastToken = token;
  }

  async login(): Promise<Login> {
    try {
      this.lastToken = tokenIn(this.path);
    } catch (error) {
      if (this.lastToken === undefined) throw error;
    }
    return { token: this.lastToken };
  }
}

function tokenIn(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`token file ${path}: cannot be read: ${codeOf(cause)}`, { cause });
  }
  if (text.trim() === '') throw new Error(`token file ${path}: empty`);
  return text.trim();
}
