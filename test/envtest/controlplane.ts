import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { Api, type ApiTarget } from './api.ts';
import { resolveBinaries, type Report } from './binaries.ts';
import { freePorts } from './ports.ts';
import { startProcess, untilUp, Watchdog, type ServerProcess, type StartOptions } from './process.ts';

/** Another process can take a free port between our look and the server's bind. */
const START_ATTEMPTS = 3;

export interface User {
  readonly name: string;
  readonly groups?: readonly string[];
}

export interface ControlPlaneOptions {
  /** Users besides the administrator. They may do what RBAC grants them: at first nothing. */
  readonly users?: readonly User[];
  /** Flags for kube-apiserver after ours. */
  readonly apiServerArgs?: readonly string[];
  /** Receives the progress of getting the binaries; stderr by default. */
  readonly report?: Report;
}

export interface Credentials {
  readonly token: string;
  readonly kubeconfigPath: string;
}

export type RunOptions = Omit<StartOptions, 'logPath'>;

/** A real etcd and kube-apiserver on loopback, with an administrator. */
export interface ControlPlane {
  /** Holds everything, and goes with it. */
  readonly dir: string;
  readonly url: string;
  readonly caPath: string;
  /** The administrator's (group system:masters). */
  readonly token: string;
  readonly kubeconfigPath: string;
  readonly kubectlPath: string;
  /** As the administrator. */
  readonly api: Api;
  /** The credentials of `options.users`, by name. */
  user(name: string): Credentials;
  /** Ends the API server, gracefully unless SIGKILL is asked for; the data stays. */
  stopApiServer(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts it again: same data, port, certificate and tokens. Resolves when it is ready. */
  startApiServer(): Promise<void>;
  /**
   * Starts kube-controller-manager with the garbage collector and the namespace controller alone, and resolves when the
   * former knows all objects. It looks for new kinds every 30 s only: apply CRDs first.
   */
  startControllerManager(): Promise<ServerProcess>;
  /**
   * Restarts the API server on a compacted etcd: `continue` tokens and watches of before are answered 410. (Compaction
   * alone shows only after minutes: the API server answers from its cache.)
   */
  forgetHistory(): Promise<void>;
  /** Starts a program whose log is kept in `dir`, and which does not outlive the control plane. */
  run(options: RunOptions): Promise<ServerProcess>;
  /** The end of each server's log. */
  logs(): string;
  /** The process ids of what was started and has not ended. */
  pids(): readonly number[];
  /** Ends all processes and removes `dir`. May be called twice. */
  stop(): Promise<void>;
}

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryStart(options);
    } catch (error) {
      const portTaken = error instanceof Error && error.message.includes('address already in use');
      if (!portTaken || attempt === START_ATTEMPTS) throw error;
    }
  }
}

async function tryStart(options: ControlPlaneOptions): Promise<ControlPlane> {
  const resolveOptions = options.report === undefined ? {} : { report: options.report };
  const binaries = await resolveBinaries(['kube-apiserver', 'etcd', 'kubectl'], resolveOptions);
  const [etcdPort, apiPort] = await freePorts(2);
  const dir = await mkdtemp(join(tmpdir(), 'capaf-envtest-'));
  const watchdog = new Watchdog(dir);
  const servers: ServerProcess[] = [];
  const stop = async (): Promise<void> => {
    // Nothing is worth a graceful end: the data goes too.
    await Promise.all(servers.map((server) => server.stop('SIGKILL')));
    await watchdog.release();
    await rm(dir, { recursive: true, force: true });
  };
  // A server that was started again went on with its log.
  const logs = (): string =>
    [...new Map(servers.map((server) => [server.logPath, server])).values()].map(describeLog).join('\n');
  const run = async (runOptions: RunOptions): Promise<ServerProcess> => {
    const server = await startProcess(watchdog, { ...runOptions, logPath: join(dir, `${runOptions.name}.log`) });
    servers.push(server);
    return server;
  };

  try {
    const certDir = join(dir, 'certs');
    await mkdir(certDir);
    const admin = { name: 'admin', groups: ['system:masters'], token: newToken() };
    const users = (options.users ?? []).map((user) => ({
      name: user.name,
      groups: user.groups ?? [],
      token: newToken(),
    }));
    const tokenFile = join(dir, 'tokens.csv');
    await writeFile(tokenFile, [admin, ...users].map(tokenLine).join(''), { mode: 0o600 });
    const serviceAccountKeys = await writeServiceAccountKeys(dir);
    const etcdUrl = `http://127.0.0.1:${etcdPort}`;
    const url = `https://127.0.0.1:${apiPort}`;
    const caPath = join(certDir, 'apiserver.crt');

    const etcd = await run({
      name: 'etcd',
      file: binaries.etcd,
      // prettier-ignore
      args: [
        '--data-dir', join(dir, 'etcd'), '--unsafe-no-fsync', '--log-level', 'warn',
        '--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl, '--listen-peer-urls', 'http://127.0.0.1:0',
      ],
    });

    // prettier-ignore
    const apiServerArgs = [
      '--etcd-servers', etcdUrl,
      '--bind-address', '127.0.0.1', '--secure-port', String(apiPort), '--cert-dir', certDir,
      '--advertise-address', '127.0.0.1', '--endpoint-reconciler-type', 'none',
      '--token-auth-file', tokenFile, '--authorization-mode', 'RBAC',
      '--service-cluster-ip-range', '10.0.0.0/24', '--allow-privileged',
      '--service-account-issuer', 'https://kubernetes.default.svc',
      '--service-account-key-file', serviceAccountKeys.publicPath,
      '--service-account-signing-key-file', serviceAccountKeys.privatePath,
      // Without a controller manager no namespace ever gets the service account that this plugin waits for.
      '--disable-admission-plugins', 'ServiceAccount',
      ...(options.apiServerArgs ?? []),
    ];
    let apiServer: ServerProcess | undefined;
    const startApiServer = async (): Promise<void> => {
      if (apiServer !== undefined && apiServer.exit() === undefined) throw new Error('kube-apiserver runs already');
      apiServer = await run({ name: 'kube-apiserver', file: binaries['kube-apiserver'], args: apiServerArgs });
      await untilUp([etcd, apiServer], `${url}/readyz answering 200`, async () =>
        // kube-apiserver writes its certificate itself, at the first start.
        isReady({ url, ca: await readFile(caPath, 'utf8'), token: admin.token }),
      );
    };
    const stopApiServer = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
      await apiServer?.stop(signal);
    };
    await startApiServer();

    const credentials = new Map<string, Credentials>();
    for (const user of [admin, ...users]) {
      const kubeconfigPath = join(dir, `${user.name.replaceAll(/[^\w.-]/g, '_')}.kubeconfig`);
      await writeFile(kubeconfigPath, kubeconfig(url, caPath, user), { mode: 0o600 });
      credentials.set(user.name, { token: user.token, kubeconfigPath });
    }
    const user = (name: string): Credentials => {
      const found = credentials.get(name);
      if (found === undefined) throw new Error(`the control plane was started without a user "${name}"`);
      return found;
    };
    const api = new Api({ url, ca: await readFile(caPath, 'utf8'), token: admin.token });

    return {
      dir,
      url,
      caPath,
      token: admin.token,
      kubeconfigPath: user(admin.name).kubeconfigPath,
      kubectlPath: binaries.kubectl,
      api,
      user,
      stopApiServer,
      startApiServer,
      startControllerManager: async () => {
        const { 'kube-controller-manager': file } = await resolveBinaries(['kube-controller-manager'], resolveOptions);
        const controllerManager = await run({
          name: 'kube-controller-manager',
          file,
          // prettier-ignore
          args: [
            '--kubeconfig', user(admin.name).kubeconfigPath, '--leader-elect=false', '--secure-port=0',
            '--controllers', 'garbage-collector-controller,namespace-controller',
          ],
        });
        await untilUp([controllerManager], 'the garbage collector knowing the objects', () =>
          controllerManager.log().includes('Proceeding to collect garbage'),
        );
        return controllerManager;
      },
      forgetHistory: async () => {
        await stopApiServer();
        await compact(etcdUrl);
        await startApiServer();
      },
      run,
      logs,
      pids: () => watchdog.pids(),
      stop: async () => {
        api.close();
        await stop();
      },
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const failure = new Error(`starting the test control plane: ${reason}\n${logs()}`, { cause: error });
    await stop();
    throw failure;
  }
}

async function isReady(target: ApiTarget): Promise<boolean> {
  const api = new Api(target);
  try {
    const { status, body } = await api.request('GET', '/readyz');
    if (status !== 200) throw new Error(`it answers ${status} ${String(body)}`);
    return true;
  } finally {
    api.close();
  }
}

function describeLog(server: ServerProcess): string {
  return `--- ${server.name}: ${server.logPath}\n${server.tail()}`;
}

function newToken(): string {
  return randomBytes(24).toString('hex');
}

/** A line of kube-apiserver's static token file: token, user, uid, groups. */
function tokenLine(user: { name: string; groups: readonly string[]; token: string }): string {
  return `${user.token},${user.name},${user.name},"${user.groups.join(',')}"\n`;
}

async function writeServiceAccountKeys(dir: string): Promise<{ publicPath: string; privatePath: string }> {
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const publicPath = join(dir, 'service-account.pub');
  const privatePath = join(dir, 'service-account.key');
  await writeFile(publicPath, keys.publicKey);
  await writeFile(privatePath, keys.privateKey, { mode: 0o600 });
  return { publicPath, privatePath };
}

function kubeconfig(url: string, caPath: string, user: { name: string; token: string }): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'envtest', cluster: { server: url, 'certificate-authority': caPath } }],
    users: [{ name: user.name, user: { token: user.token } }],
    contexts: [{ name: 'envtest', context: { cluster: 'envtest', user: user.name } }],
    'current-context': 'envtest',
  });
}

/** etcd's JSON gateway: a read for the current revision, then the compaction up to it. */
async function compact(etcdUrl: string): Promise<void> {
  const read = await callEtcd(etcdUrl, '/v3/kv/range', { key: 'AA==', limit: '1' });
  const header = typeof read === 'object' && read !== null && 'header' in read ? read.header : undefined;
  const revision = typeof header === 'object' && header !== null && 'revision' in header ? header.revision : undefined;
  if (typeof revision !== 'string') throw new Error(`etcd's answer has no revision: ${JSON.stringify(read)}`);
  await callEtcd(etcdUrl, '/v3/kv/compaction', { revision, physical: true });
}

async function callEtcd(etcdUrl: string, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(new URL(path, etcdUrl), { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`etcd ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}
