import { readFileSync } from 'node:fs';
import { dirname, delimiter, join, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { parseDocument, YAMLParseError } from 'yaml';
import { isRecord, textAt, type UnknownRecord } from '../json/record.ts';
import { codeOf, errorMessage } from '../text/error-text.ts';
import { yamlProblem } from '../text/redact.ts';
import { Checker, environmentProxyOf, KubeconfigError } from './checker.ts';
import { execPlugin, forClientNode } from './user.ts';

export { KubeconfigError } from './checker.ts';

/** Where the kubelet mounts a pod's service account token. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface KubeconfigOptions {
  /** The value of the manager's flag `--kubeconfig`. */
  readonly path?: string | undefined;
  /** The context to use in place of the current context. */
  readonly context?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** A kubeconfig from outside of this machine, such as a Secret. It replaces all others. */
  readonly received?: KubeconfigFile;
  /** Only tests set it. */
  readonly serviceAccountDir?: string;
}

export interface Kubeconfig {
  readonly config: KubeConfig;
  /** For messages, e.g. `kubeconfig /home/ann/.kube/config`. */
  readonly source: string;
  readonly server: URL;
  readonly proxy: URL | undefined;
  /**
   * The namespace of the manager's pod. Undefined with a kubeconfig file, even if its current context sets a namespace.
   */
  readonly podNamespace: string | undefined;
  /** The namespace in a kubeconfig file's context. */
  readonly contextNamespace?: string | undefined;
}

interface NamedEntry {
  readonly name: string;
  readonly content: UnknownRecord;
  /** The paths in the entry are relative to this folder. */
  readonly folder: string;
}

/**
 * Loads the kubeconfig from `--kubeconfig`, otherwise the files that `KUBECONFIG` lists, otherwise the pod's service
 * account, otherwise `~/.kube/config`, as controller-runtime does. Every call reads the files again.
 *
 * @throws KubeconfigError
 */
export function loadKubeconfig(options: KubeconfigOptions): Kubeconfig {
  const { path, context, env, home, received } = options;
  const select = (files: readonly KubeconfigFile[]): Kubeconfig => selectContext(merge(files), context, env);
  if (received !== undefined) return selectContext(merge([received]), undefined, env, refuseLocalFields);
  if (path !== undefined && path !== '') return select([readFile(path)]);
  if (env['KUBECONFIG']) return select(readFiles(env['KUBECONFIG']));
  if (env['KUBERNETES_SERVICE_HOST']) return loadInCluster(options);
  const fallback = join(home, '.kube', 'config');
  const text = readFileIfExists(fallback);
  if (text === undefined)
    throw new KubeconfigError(
      `no API server is configured: there is no --kubeconfig, no KUBECONFIG, no ${fallback}, and this is no pod`,
    );
  return select([{ path: fallback, text }]);
}

export interface KubeconfigFile {
  /** For messages. */
  readonly path: string;
  readonly text: string;
}

function readFile(path: string): KubeconfigFile {
  const text = readFileIfExists(path);
  if (text === undefined) throw new KubeconfigError(`kubeconfig ${path}: no such file`);
  return { path, text };
}

/** Ignores missing files unless all of them are missing, as kubectl does. */
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

/** If several files contain an entry of the same name, the first one counts, as in kubectl. */
function merge(files: readonly KubeconfigFile[]) {
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
  const value = parseYaml(path, text);
  if (!isRecord(value)) throw new KubeconfigError(`kubeconfig ${path}: not a kubeconfig: expected a map at the top`);
  return value;
}

function parseYaml(path: string, text: string): unknown {
  try {
    const document = parseDocument(text);
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS();
  } catch (error) {
    // Only a syntax mistake has a position. `toJS` throws other errors, for an alias without an anchor or for too many
    // aliases.
    const [position] = error instanceof YAMLParseError ? (error.linePos ?? []) : [];
    const place = position === undefined ? '' : ` at line ${position.line}, column ${position.col}`;
    throw new KubeconfigError(`kubeconfig ${path}: not YAML: ${yamlProblem(errorMessage(error))}${place}`);
  }
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

/**
 * Returns the kubeconfig of the chosen or current context. Ignores mistakes in entries that the context does not use.
 */
function selectContext(
  { source, contexts, clusters, users, currentContext }: ReturnType<typeof merge>,
  chosen: string | undefined,
  env: KubeconfigOptions['env'],
  check: (source: string, entry: NamedEntry) => void = () => {},
): Kubeconfig {
  const contextName = chosen ?? currentContext;
  const fail = (problem: string): never => {
    throw new KubeconfigError(`${source}: ${problem}`);
  };
  const named = (kind: 'cluster' | 'user', entries: readonly NamedEntry[], name: string): NamedEntry =>
    entries.find((entry) => entry.name === name) ??
    fail(`context "${contextName}" names the ${kind} "${name}", which is not there; ${kind}s are: ${namesOf(entries)}`);
  if (contextName === '') return fail(`current-context is not set; contexts are: ${namesOf(contexts)}`);
  const missing =
    chosen === undefined ? `current-context "${contextName}" names no context` : `there is no context "${contextName}"`;
  const context =
    contexts.find(({ name }) => name === contextName) ?? fail(`${missing}; contexts are: ${namesOf(contexts)}`);
  const clusterName = textAt(context.content, 'cluster') ?? fail(`context "${contextName}" names no cluster`);
  const cluster = named('cluster', clusters, clusterName);
  const userName = textAt(context.content, 'user');
  const user = userName === undefined ? ANONYMOUS : named('user', users, userName);
  for (const entry of [cluster, user]) check(source, entry);
  return {
    ...buildKubeconfig(source, cluster, user, env),
    podNamespace: undefined,
    contextNamespace: textAt(context.content, 'namespace'),
  };
}

/** With these fields, a kubeconfig runs a program on this machine, or reads one of its files and sends it. */
const LOCAL_FIELDS = [
  'exec',
  'auth-provider',
  'tokenFile',
  'client-certificate',
  'client-key',
  'certificate-authority',
];

/** A user who can write a kubeconfig that others receive must not run programs or read files on their machines. */
function refuseLocalFields(source: string, { name, content }: NamedEntry): void {
  const field = LOCAL_FIELDS.find((each) => content[each] !== undefined);
  if (field !== undefined)
    throw new KubeconfigError(`${source}: ${field} of "${name}" is not used, because it is about the local machine`);
}

const ANONYMOUS: NamedEntry = { name: 'anonymous', content: {}, folder: '' };

function buildKubeconfig(
  source: string,
  cluster: NamedEntry,
  user: NamedEntry,
  env: KubeconfigOptions['env'],
): Omit<Kubeconfig, 'podNamespace'> {
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
      users: [{ name: user.name, user: forClientNode(credentials) }],
      contexts: [{ name: 'current', context: { cluster: cluster.name, user: user.name } }],
      'current-context': 'current',
    }),
  );
  const { exec } = credentials;
  if (isRecord(exec)) config.addAuthenticator(execPlugin(exec, user.folder, ca));
  return { config, source, server, proxy };
}

/** Removes a path if the entry also contains the data inline, because client-node would prefer the path. */
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
  // A pod that mounts only a token has no namespace file. Cluster API's managers also use the variable POD_NAMESPACE.
  const podNamespace = namespaceFile || env['POD_NAMESPACE'] || undefined;
  const entry = (name: string, content: UnknownRecord): NamedEntry => ({ name, content, folder: serviceAccountDir });
  const user = entry('service-account', { tokenFile });
  return { ...buildKubeconfig(source, entry('in-cluster', cluster), user, env), podNamespace };
}
