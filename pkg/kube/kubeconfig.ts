import { readFileSync } from 'node:fs';
import { dirname, delimiter, join, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { parseDocument } from 'yaml';
import { isRecord, textAt } from '../../api/record.ts';
import type { UnknownRecord } from '../../api/record.ts';
import { EXEC_PROVIDER } from './exec-plugin.ts';
import { TOKEN_FILE_PROVIDER } from './token-file.ts';

/** Where the kubelet mounts the credentials of a pod's service account. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface KubeconfigOptions {
  /** `--kubeconfig` */
  readonly path?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user's home directory. */
  readonly home: string;
  /** Of the service account's files; for tests. */
  readonly serviceAccountDir?: string;
}

/** Which API server, and as whom. */
export interface Kubeconfig {
  readonly config: KubeConfig;
  /** For messages: `kubeconfig /home/ann/.kube/config`. */
  readonly source: string;
  readonly server: URL;
  readonly proxy: URL | undefined;
  /** The context's namespace; in a pod, its own. */
  readonly namespace: string | undefined;
}

/** What is wrong with the configuration, in words for whoever wrote it. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

/** A named entry of one of the three lists, and the folder that its relative paths start from. */
interface Entry {
  readonly name: string;
  readonly content: UnknownRecord;
  readonly folder: string;
}

interface Merged {
  readonly source: string;
  readonly contexts: readonly Entry[];
  readonly clusters: readonly Entry[];
  readonly users: readonly Entry[];
  readonly currentContext: string;
}

/**
 * The configuration of the first of: `--kubeconfig`, `KUBECONFIG`, the pod's service account, `~/.kube/config`: the
 * order of controller-runtime. Reads files, and is called again when the server refuses the credentials.
 *
 * @throws KubeconfigError
 */
export function loadKubeconfig(options: KubeconfigOptions): Kubeconfig {
  const { path, env, home } = options;
  if (path !== undefined && path !== '') return select(merge([readFile(path)]));
  if (env['KUBECONFIG']) return select(merge(readFiles(env['KUBECONFIG'])));
  if (env['KUBERNETES_SERVICE_HOST']) return inCluster(options);
  const fallback = join(home, '.kube', 'config');
  const text = tryRead(fallback);
  if (text === undefined)
    throw new KubeconfigError(
      `no API server is configured: there is no --kubeconfig, no KUBECONFIG, no ${fallback}, and this is no pod`,
    );
  return select(merge([{ path: fallback, text }]));
}

interface File {
  readonly path: string;
  readonly text: string;
}

function readFile(path: string): File {
  const text = tryRead(path);
  if (text === undefined) throw new KubeconfigError(`kubeconfig ${path}: no such file`);
  return { path, text };
}

/** As kubectl: of several files those that are missing are passed over. */
function readFiles(list: string): readonly File[] {
  const paths = list.split(delimiter).filter((path) => path !== '');
  const files = paths.flatMap((path) => {
    const text = tryRead(path);
    return text === undefined ? [] : [{ path, text }];
  });
  if (files.length === 0)
    throw new KubeconfigError(
      `kubeconfig ${paths.join(', ')}: no such file (named by the environment variable KUBECONFIG)`,
    );
  return files;
}

/** `undefined` when there is no such file. */
function tryRead(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined;
    throw new KubeconfigError(`kubeconfig ${path}: cannot be read: ${codeOf(cause)}`, { cause });
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error);

/** As kubectl: the first file that names something wins. */
function merge(files: readonly File[]): Merged {
  const parsed = files.map((file) => ({ file, document: parse(file) }));
  const entries = (list: string, content: string): readonly Entry[] => {
    const byName = new Map<string, Entry>();
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

function parse({ path, text }: File): UnknownRecord {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined)
    throw new KubeconfigError(`kubeconfig ${path}: not YAML: ${error.message.split('\n')[0]?.replace(/:$/, '')}`);
  const value: unknown = document.toJS();
  if (!isRecord(value)) throw new KubeconfigError(`kubeconfig ${path}: not a kubeconfig: expected a map at the top`);
  return value;
}

function entriesOf({ path }: File, document: UnknownRecord, list: string, content: string): readonly Entry[] {
  const items = document[list] ?? [];
  if (!Array.isArray(items)) throw new KubeconfigError(`kubeconfig ${path}: ${list} is not a list`);
  return items.flatMap((item: unknown) => {
    const name = isRecord(item) ? textAt(item, 'name') : undefined;
    if (!isRecord(item) || name === undefined) return [];
    const inner = item[content];
    return [{ name, content: isRecord(inner) ? inner : {}, folder: dirname(resolve(path)) }];
  });
}

const namesOf = (entries: readonly Entry[]): string =>
  entries.length === 0 ? '(none)' : entries.map(({ name }) => name).join(', ');

/** Reduces the configuration to what the current context needs: a mistake elsewhere in the file hurts nobody. */
function select({ source, contexts, clusters, users, currentContext }: Merged): Kubeconfig {
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
  return build(source, cluster, user, textAt(context.content, 'namespace'));
}

function build(source: string, cluster: Entry, user: Entry, namespace: string | undefined): Kubeconfig {
  const checked = new Checker(source, cluster.name, user.name);
  const server = checked.server(cluster.content);
  const proxy = checked.proxy(textAt(cluster.content, 'proxy-url'));
  const ca = resolved(cluster, ['certificate-authority']);
  const credentials = resolved(user, ['client-certificate', 'client-key', 'tokenFile']);
  checked.pem('cluster', ca, 'certificate-authority');
  checked.pem('user', credentials, 'client-certificate');
  checked.pem('user', credentials, 'client-key');
  checked.supported(credentials);
  const config = new KubeConfig();
  config.loadFromString(
    JSON.stringify({
      clusters: [{ name: cluster.name, cluster: ca }],
      users: [{ name: user.name, user: withProviders(credentials, user.folder) }],
      contexts: [{ name: 'current', context: { cluster: cluster.name, user: user.name, namespace } }],
      'current-context': 'current',
    }),
  );
  return { config, source, server, proxy, namespace };
}

/** client-node knows no `tokenFile` of a user, and no deadline of an exec plugin: both come in as providers of our own. */
function withProviders(user: UnknownRecord, folder: string): UnknownRecord {
  const { exec, tokenFile, ...rest } = user;
  if (isRecord(exec)) {
    const command = textAt(exec, 'command') ?? '';
    // As client-go: a bare name is looked up in PATH, a path is relative to the kubeconfig.
    const found = command.includes('/') ? resolve(folder, command) : command;
    return { ...rest, 'auth-provider': { name: EXEC_PROVIDER, config: { plugin: { ...exec, command: found } } } };
  }
  if (typeof tokenFile !== 'string' || tokenFile === '') return rest;
  // As client-go: what the file says goes before what the kubeconfig says.
  const { token, ...others } = rest;
  return { ...others, 'auth-provider': { name: TOKEN_FILE_PROVIDER, config: { path: tokenFile, token } } };
}

/** The paths in `fields` made absolute; those left out whose content is there as well, since client-node would read them first. */
function resolved({ content, folder }: Entry, fields: readonly string[]): UnknownRecord {
  const paths: UnknownRecord = Object.fromEntries(
    fields.flatMap((field) => {
      const path = textAt(content, field);
      if (path === undefined) return [];
      return [[field, textAt(content, `${field}-data`) === undefined ? resolve(folder, path) : undefined]];
    }),
  );
  return { ...content, ...paths };
}

class Checker {
  private readonly source: string;
  private readonly names: Readonly<Record<'cluster' | 'user', string>>;

  constructor(source: string, cluster: string, user: string) {
    this.source = source;
    this.names = { cluster, user };
  }

  server(cluster: UnknownRecord): URL {
    const text = textAt(cluster, 'server');
    if (text === undefined) return this.fail('cluster', 'server is missing');
    const server = URL.canParse(text) ? new URL(text) : undefined;
    if (server === undefined || !/^https?:$/.test(server.protocol))
      return this.fail('cluster', `server "${text}" is not a URL of http or https`);
    if (server.protocol === 'http:' && cluster['insecure-skip-tls-verify'] !== true)
      return this.fail('cluster', `server "${text}" is not encrypted; insecure-skip-tls-verify: true would allow that`);
    return server;
  }

  proxy(text: string | undefined): URL | undefined {
    if (text === undefined) return undefined;
    const proxy = URL.canParse(text) ? new URL(text) : undefined;
    if (proxy === undefined || !/^https?:$/.test(proxy.protocol))
      return this.fail('cluster', `proxy-url "${text}" is not a URL of http or https`);
    return proxy;
  }

  /** `field` names a file, `field`-data holds the same in base64. */
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

  /** What client-node would leave out in silence changes what we may do: better to say so. */
  supported(user: UnknownRecord): void {
    for (const field of ['as-uid', 'as-groups', 'as-user-extra'])
      if (user[field] !== undefined) this.fail('user', `${field} is not supported`);
  }

  private fail(owner: 'cluster' | 'user', problem: string): never {
    throw new KubeconfigError(`${this.source}: ${owner} "${this.names[owner]}": ${problem}`);
  }
}

function inCluster({ env, serviceAccountDir = SERVICE_ACCOUNT }: KubeconfigOptions): Kubeconfig {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443';
  const tokenFile = join(serviceAccountDir, 'token');
  const source = "the pod's service account";
  if (tryRead(tokenFile) === undefined)
    throw new KubeconfigError(
      `${source}: ${tokenFile} is missing though KUBERNETES_SERVICE_HOST is set: is automountServiceAccountToken off?`,
    );
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const cluster = { server, 'certificate-authority': join(serviceAccountDir, 'ca.crt') };
  const namespace = tryRead(join(serviceAccountDir, 'namespace'))?.trim();
  const entry = (name: string, content: UnknownRecord): Entry => ({ name, content, folder: serviceAccountDir });
  return build(source, entry('in-cluster', cluster), entry('service-account', { tokenFile }), namespace);
}
