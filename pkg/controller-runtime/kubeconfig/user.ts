import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { KubeConfig } from '@kubernetes/client-node';
import { fieldAt, isRecord, listAt, textAt, tryJson, type UnknownRecord } from '../json/record.ts';
import type { Ms } from '../env/clock.ts';
import { toText } from '../text/error-text.ts';

type Authenticator = Parameters<KubeConfig['addAuthenticator']>[0];

/** None of client-node's own authenticators uses this name. */
const EXEC_PLUGIN = 'exec-plugin';
/** An exec plugin is killed after this time. Requests stop waiting for credentials earlier, after 20 s. */
const KILLED_AFTER: Ms = 22_000;

/**
 * Returns the user in client-node's form, in which token files and the plugins of {@link execPlugin} are auth
 * providers.
 */
export function forClientNode({ exec, tokenFile, ...others }: UnknownRecord): UnknownRecord {
  if (isRecord(exec)) return { ...others, 'auth-provider': { name: EXEC_PLUGIN } };
  if (typeof tokenFile !== 'string' || tokenFile === '') return others;
  // As in client-go, the field `tokenFile` of a user has priority over the field `token`.
  const { token: _, ...rest } = others;
  return { ...rest, 'auth-provider': { name: 'tokenFile', config: { tokenFile } } };
}

/**
 * Gets credentials from an exec plugin (KEP-541), e.g. `kubelogin get-token`, and keeps them until the API server
 * refuses them: then CredentialSource loads the kubeconfig again. client-node's own authenticator does not stop a
 * hanging plugin, and does not set KUBERNETES_EXEC_INFO.
 */
export function execPlugin(exec: UnknownRecord, folder: string, cluster: UnknownRecord): Authenticator {
  let credential: ReturnType<typeof decodeCredential> | undefined;
  return {
    isAuthProvider: ({ authProvider }) => fieldAt(authProvider, 'name') === EXEC_PLUGIN,
    async applyAuthentication(_, options) {
      credential ??= decodeCredential(await runPlugin(exec, folder, cluster));
      const { token, ...material } = credential;
      Object.assign(options, material);
      // client-node always sets `headers`.
      if (token !== undefined) Object.assign(options.headers ?? {}, { Authorization: `Bearer ${token}` });
    },
  };
}

function decodeCredential(output: string): { readonly token?: string; readonly cert?: string; readonly key?: string } {
  const status = fieldAt(tryJson(output), 'status');
  const [token, cert, key] = ['token', 'clientCertificateData', 'clientKeyData'].map((field) => textAt(status, field));
  if (token === undefined && cert === undefined) throw new Error('the exec plugin printed no ExecCredential');
  return {
    ...(token !== undefined && { token }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
}

async function runPlugin(exec: UnknownRecord, folder: string, cluster: UnknownRecord): Promise<string> {
  const name = textAt(exec, 'command');
  if (name === undefined) throw new Error('the exec plugin has no command');
  // As in client-go, a command without a slash is looked up in PATH; any other is relative to the kubeconfig.
  const command = name.includes('/') ? resolve(folder, name) : name;
  const info = {
    apiVersion: textAt(exec, 'apiVersion') ?? 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: { cluster: exec['provideClusterInfo'] === true ? execClusterOf(cluster) : undefined, interactive: false },
  };
  const settings = listAt(exec, 'env').filter(isRecord);
  const env = Object.fromEntries(settings.map((entry) => [textAt(entry, 'name') ?? '', textAt(entry, 'value') ?? '']));
  const running = promisify(execFile)(command, listAt(exec, 'args').map(toText), {
    env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    timeout: KILLED_AFTER,
    killSignal: 'SIGKILL',
  });
  running.child.stdin?.end();
  return running.then(
    ({ stdout }) => stdout,
    (error: unknown) => {
      throw new Error(describePluginFailure(name, error));
    },
  );
}

/**
 * Node.js's error contains the plugin's arguments and output, and either may contain a secret. Shows only the first
 * word of the command, because a user may have written arguments there.
 */
function describePluginFailure(command: string, error: unknown): string {
  const plugin = `the exec plugin "${command.split(/\s/, 1)[0]}"`;
  const [code, signal] = [fieldAt(error, 'code'), textAt(error, 'signal')];
  if (typeof code === 'string') return `${plugin} cannot be run: ${code}`;
  const end = typeof code === 'number' ? `failed with exit code ${code}` : `was ended by ${signal ?? 'a signal'}`;
  return `${plugin} ${end}. Run it in a shell to see what it prints, which is not shown here because it may contain secrets`;
}

/** A kubeconfig cluster's extension with settings for exec plugins. */
const EXEC_EXTENSION = 'client.authentication.k8s.io/exec';

/**
 * Returns the cluster that an exec plugin with `provideClusterInfo: true` gets in `spec.cluster` of its ExecCredential,
 * as client-go does: https://kubernetes.io/docs/reference/config-api/client-authentication.v1/. The caller has checked
 * that the file with the certificate authority exists.
 */
function execClusterOf(cluster: UnknownRecord): UnknownRecord {
  const { 'certificate-authority': path, extensions: _, ...settings } = cluster;
  return {
    ...settings,
    ...(typeof path === 'string' && { 'certificate-authority-data': readFileSync(path, 'base64') }),
    config: fieldAt(
      listAt(cluster, 'extensions').find((each) => fieldAt(each, 'name') === EXEC_EXTENSION),
      'extension',
    ),
  };
}
