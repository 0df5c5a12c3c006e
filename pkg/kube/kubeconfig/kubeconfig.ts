import { readFileSync } from 'node:fs';
import { dirname, delimiter, join, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { parseDocument } from 'yaml';
import { isRecord, textAt } from '../../../api/record.ts';
import type { UnknownRecord } from '../../../api/record.ts';
import { codeOf, EXEC_PROVIDER, execClusterOf, TOKEN_FILE_PROVIDER, type ExecCluster } from './authenticators.ts';
import { Checker, environmentProxyOf, KubeconfigError } from './checker.ts';

export { KubeconfigError } from './checker.ts';

/** The folder where the kubelet mounts the service account token of a pod. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface KubeconfigOptions {
  /** The value of the manager's flag `--kubeconfig`. */
  readonly path?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Only tests set it. */
  readonly serviceAccountDir?: string;
}

/** The part of a kubeconfig that the manager uses. */
export interface Kubeconfig {
  readonly config: KubeConfig;
  /** For messages, e.g. `kubeconfig /home/ann/.kube/config`. */
  readonly source: string;
  readonly server: URL;
  readonly proxy: URL | undefined;
  /** The namespace of the manager's pod; always undefined with a kubeconfig file, whatever its current context has. */
  readonly podNamespace: string | undefined;
}

/** An entry of `contexts`, `clusters` or `users` of a kubeconfig. */
interface NamedEntry {
  readonly name: string;
  readonly content: UnknownRecord;
  /** The folder to which the paths in the entry are relative. */
  readonly folder: string;
}

interface MergedKubeconfig {
  readonly source: string;
  readonly contexts: readonly NamedEntry[];
  readonly clusters: readonly NamedEntry[];
  readonly users: readonly NamedEntry[];
  readonly currentContext: string;
}

/**
 * Loads the kubeconfig that `--kubeconfig` names, otherwise the files that `KUBECONFIG` lists, otherwise the pod's
 * service account, otherwise `~/.kube/config`, as controller-runtime does. Every call reads the files again.
 *
 * @throws KubeconfigError
 */
export function loadKubeconfig(options: KubeconfigOptions): Kubeconfig {
  const { path, env, home } = options;
  if (path !== undefined && path !== '') return selectCurrentContext(merge([readFile(path)]), env);
  if (env['KUBECONFIG']) return selectCurrentContext(merge(readFiles(env['KUBECONFIG'])), env);
  if (env['KUBERNETES_SERVICE_HOST']) return loadInCluster(options);
  const fallback = join(home, '.kube', 'config');
  const text = readFileIfExists(fallback);
  if (text === undefined)
    throw new KubeconfigError(
      `no API server is configured: there is no --kubeconfig, no KUBECONFIG, no ${fallback}, and this is no pod`,
    );
  return selectCurrentContext(merge([{ path: fallback, text }]), env);
}

interface KubeconfigFile {
  readonly path: string;
  readonly text: string;
}

function readFile(path: string): KubeconfigFile {
  const text = readFileIfExists(path);
  if (text === undefined) throw new KubeconfigError(`kubeconfig ${path}: no such file`);
  return { path, text };
}

/** Like kubectl, ignores missing files unless all of them are missing. */
function readFiles(list: string): readonly KubeconfigFile[] {
  const paths = list.split(delimiter).filter((path) => path !== '');
  const files = paths.flatMap((path) => {
    const text = readFileIfExists(path);
    return text === undefined ? [] : [{ path, text }];
  });
  if (files.length === 0)
    throw new KubeconfigError(
      `kubeconfig ${paths.join(', ')}: no such file (named by the environment variable KUBECONFIG)`,
    );
  return files;
}

function readFileIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined;
    throw new KubeconfigError(`kubeconfig ${path}: cannot be read: ${codeOf(cause)}`, { cause });
  }
}

/** When several files have an entry of the same name, that of the first file is used, as by kubectl. */
function merge(files: readonly KubeconfigFile[]): MergedKubeconfig {
  const parsed = files.map((file) => ({ file, document: parse(file) }));
  const entries = (list: string, content: string): readonly NamedEntry[] => {
    const byName = new Map<string, NamedEntry>();
    for (const { file, document } of parsed)
      for (const entry of entriesOf(file, document, list, content))
        if (!byName.has(entry.name)) byName.set(entry.name, entry);
    return [...byName.values()];
  };
  return {
    source: `kubeconfig ${files.map(({ path }) => path).join(', ')}`,
    contexts: entries('contexts', 'context'),
    clusters: entries('clusters', 'cluster'),
    users: entries('users', 'user'),
    currentContext:
      parsed.map(({ document }) => textAt(document, 'current-context')).find((name) => name !== undefined) ?? '',
  };
}

function parse({ path, text }: KubeconfigFile): UnknownRecord {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined)
    throw new KubeconfigError(`kubeconfig ${path}: not YAML: ${error.message.split('\n')[0]?.replace(/:$/, '')}`);
  const value: unknown = document.toJS();
  if (!isRecord(value)) throw new KubeconfigError(`kubeconfig ${path}: not a kubeconfig: expected a map at the top`);
  return value;
}

function entriesOf(
  { path }: KubeconfigFile,
  document: UnknownRecord,
  list: string,
  content: string,
): readonly NamedEntry[] {
  const items = document[list] ?? [];
  if (!Array.isArray(items)) throw new KubeconfigError(`kubeconfig ${path}: ${list} is not a list`);
  return items.flatMap((item: unknown) => {
    const name = isRecord(item) ? textAt(item, 'name') : undefined;
    if (!isRecord(item) || name === undefined) return [];
    const inner = item[content];
    return [{ name, content: isRecord(inner) ? inner : {}, folder: dirname(resolve(path)) }];
  });
}

const namesOf = (entries: readonly NamedEntry[]): string =>
  entries.length === 0 ? '(none)' : entries.map(({ name }) => name).join(', ');

/** Mistakes in other entries than those of the current context do no harm. */
function selectCurrentContext(
  { source, contexts, clusters, users, currentContext }: MergedKubeconfig,
  env: KubeconfigOptions['env'],
): Kubeconfig {
  const fail = (problem: string): never => {
    throw new KubeconfigError(`${source}: ${problem}`);
  };
  if (currentContext === '') return fail(`current-context is not set; contexts are: ${namesOf(contexts)}`);
  const context =
    contexts.find(({ name }) => name === currentContext) ??
    fail(`current-context "${currentContext}" names no context; contexts are: ${namesOf(contexts)}`);
  const clusterName = textAt(context.content, 'cluster') ?? fail(`context "${currentContext}" names no cluster`);
  const cluster =
    clusters.find(({ name }) => name === clusterName) ??
    fail(
      `context "${currentContext}" names the cluster "${clusterName}", which is not there; clusters are: ${namesOf(clusters)}`,
    );
  const userName = textAt(context.content, 'user');
  const user =
    userName === undefined
      ? { name: 'anonymous', content: {}, folder: '' }
      : (users.find(({ name }) => name === userName) ??
        fail(
          `context "${currentContext}" names the user "${userName}", which is not there; users are: ${namesOf(users)}`,
        ));
  return buildKubeconfig({ source, cluster, user, podNamespace: undefined, env });
}

interface KubeconfigParts extends Pick<Kubeconfig, 'source' | 'podNamespace'> {
  readonly cluster: NamedEntry;
  readonly user: NamedEntry;
  readonly env: KubeconfigOptions['env'];
}

function buildKubeconfig({ source, cluster, user, podNamespace, env }: KubeconfigParts): Kubeconfig {
  const checker = new Checker(source, cluster.name, user.name);
  const server = checker.server(cluster.content);
  const proxy = checker.proxy(textAt(cluster.content, 'proxy-url')) ?? environmentProxyOf(env, server);
  const ca = withAbsolutePaths(cluster, ['certificate-authority']);
  const credentials = withAbsolutePaths(user, ['client-certificate', 'client-key', 'tokenFile']);
  checker.pem('cluster', ca, 'certificate-authority');
  checker.pem('user', credentials, 'client-certificate');
  checker.pem('user', credentials, 'client-key');
  checker.supported(credentials);
  const config = new KubeConfig();
  config.loadFromString(
    JSON.stringify({
      clusters: [{ name: cluster.name, cluster: ca }],
      users: [{ name: user.name, user: withProviders(credentials, user.folder, () => execClusterOf(ca)) }],
      contexts: [{ name: 'current', context: { cluster: cluster.name, user: user.name } }],
      'current-context': 'current',
    }),
  );
  return { config, source, server, proxy, podNamespace };
}

/** Turns `exec` and `tokenFile` of a user into auth providers of authenticators.ts. */
function withProviders(user: UnknownRecord, folder: string, execCluster: () => ExecCluster): UnknownRecord {
  const { exec, tokenFile, ...rest } = user;
  if (isRecord(exec)) {
    const command = textAt(exec, 'command') ?? '';
    // As in client-go, the command of an exec plugin is looked up in PATH if it has no slash; otherwise it is relative
    // to the kubeconfig.
    const plugin = { ...exec, command: command.includes('/') ? resolve(folder, command) : command };
    const cluster = exec['provideClusterInfo'] === true ? execCluster() : undefined;
    return { ...rest, 'auth-provider': { name: EXEC_PROVIDER, config: { plugin, cluster } } };
  }
  if (typeof tokenFile !== 'string' || tokenFile === '') return rest;
  // As in client-go, the field `tokenFile` of a user has priority over the field `token`.
  const { token, ...others } = rest;
  return { ...others, 'auth-provider': { name: TOKEN_FILE_PROVIDER, config: { path: tokenFile, token } } };
}

/** Removes a path when the entry has the data inline too, since client-node would prefer the path. */
function withAbsolutePaths({ content, folder }: NamedEntry, fields: readonly string[]): UnknownRecord {
  const paths: UnknownRecord = Object.fromEntries(
    fields.flatMap((field) => {
      const path = textAt(content, field);
      if (path === undefined) return [];
      return [[field, textAt(content, `${field}-data`) === undefined ? resolve(folder, path) : undefined]];
    }),
  );
  return { ...content, ...paths };
}

function loadInCluster({ env, serviceAccountDir = SERVICE_ACCOUNT }: KubeconfigOptions): Kubeconfig {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443';
  const tokenFile = join(serviceAccountDir, 'token');
  const source = "the pod's service account";
  if (readFileIfExists(tokenFile) === undefined)
    throw new KubeconfigError(
      `${source}: ${tokenFile} is missing though KUBERNETES_SERVICE_HOST is set: is automountServiceAccountToken off?`,
    );
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const cluster = { server, 'certificate-authority': join(serviceAccountDir, 'ca.crt') };
  const namespaceFile = readFileIfExists(join(serviceAccountDir, 'namespace'))?.trim();
  // A pod that mounts only a token has no namespace file. POD_NAMESPACE is that of Cluster API's managers.
  const podNamespace = namespaceFile || env['POD_NAMESPACE'] || undefined;
  const entry = (name: string, content: UnknownRecord): NamedEntry => ({ name, content, folder: serviceAccountDir });
  const user = entry('service-account', { tokenFile });
  return buildKubeconfig({ source, cluster: entry('in-cluster', cluster), user, podNamespace, env });
}
