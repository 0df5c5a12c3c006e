import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from '../clients/api.ts';
import { certificatePath, prepareApiServer } from './apiserver.ts';
import { resolveBinaries, type ProgressReporter, type ResolveOptions } from '../binaries/binaries.ts';
import { writeAccounts, type UserCredentials, type User } from './credentials.ts';
import { ETCD_ENVIRONMENT, compactRevisions, etcdFlags } from './etcd.ts';
import { freePorts } from './ports.ts';
import { startProcess, waitUntilUp, Watchdog, type ProcessOptions, type ServerProcess } from './process.ts';

/**
 * The highest number of attempts to start a control plane. An attempt fails if another process takes the chosen port
 * before etcd or kube-apiserver binds it.
 */
const START_ATTEMPTS = 3;

const ADMIN: User = { name: 'admin', groups: ['system:masters'] };

export interface ControlPlaneOptions {
  /**
   * Users of the API server besides the administrator. Until the test grants permissions with RBAC, a user has only
   * those that Kubernetes gives to its groups and to every authenticated user.
   */
  readonly users?: readonly User[];
  /** Additional flags of kube-apiserver. */
  readonly apiServerArgs?: readonly string[];
  /**
   * A function that receives lines about the progress of downloads and builds of binaries. The default function writes
   * them to stderr.
   */
  readonly report?: ProgressReporter;
}

/** A real etcd and a real kube-apiserver that listen on the loopback address. */
export interface ControlPlane {
  /** The directory of all files of the control plane. `stop` removes the directory. */
  readonly dir: string;
  readonly url: string;
  readonly caPath: string;
  /** The token of the administrator: the user `admin` in the group `system:masters`. */
  readonly token: string;
  readonly kubeconfigPath: string;
  readonly kubectlPath: string;
  readonly etcdUrl: string;
  /** A client of the API server with the permissions of the administrator. */
  readonly api: ApiClient;
  /**
   * The credentials of a user.
   * @throws if the control plane was started without this user
   */
  user(name: string): UserCredentials;
  /** Stops the API server, by default with SIGTERM. etcd continues to run and keeps the data. */
  stopApiServer(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /**
   * Starts the stopped API server with the same data, port, certificate, and tokens. Resolves when the API server is
   * ready.
   */
  startApiServer(): Promise<void>;
  /**
   * Starts kube-controller-manager with only two controllers, the garbage collector and the namespace controller, and
   * with those that `more` names. Resolves when the caches of the garbage collector have all objects, at the latest 30 s
   * after the garbage collector starts. Tests must apply CRDs before this call, because the garbage collector looks for
   * new kinds only every 30 s.
   */
  startControllerManager(more?: readonly string[]): Promise<ServerProcess>;
  /**
   * Compacts etcd and restarts the API server, so that the API server answers 410 to requests with an older `continue`
   * token and to watches from an older resourceVersion. Without the restart, the API server would answer such requests
   * from its cache for minutes.
   */
  compactHistory(): Promise<void>;
  /**
   * Starts a program as a child process that writes its log to the directory `dir`. `ControlPlane.stop` stops the
   * program.
   */
  run(options: ProcessOptions): Promise<ServerProcess>;
  /** The end of each log of the processes of the control plane, for an error message. */
  logs(): string;
  /** The ids of the running child processes of the control plane. */
  pids(): readonly number[];
  /** The running servers and programs of the control plane. */
  processes(): readonly ServerProcess[];
  /**
   * Sets whether Node.js keeps the test process running as long as the processes of the control plane run; initially
   * true.
   */
  keepAlive(isKept: boolean): void;
  /** Stops all processes of the control plane and removes the directory `dir`. A second call has no effect. */
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
  const [etcdPort = 0, apiPort = 0] = await freePorts(2);
  const dir = await mkdtemp(join(tmpdir(), 'capaf-envtest-'));
  const watchdog = new Watchdog(dir);
  const servers: ServerProcess[] = [];
  const stop = async (): Promise<void> => {
    // SIGKILL is enough: the processes need not save their data, because the directory of the data is removed.
    await Promise.all(servers.map((server) => server.stop('SIGKILL')));
    await watchdog.release();
    await rm(dir, { recursive: true, force: true });
  };
  // A restarted server writes to the same log file as before, so each log file is shown once. The log files of earlier
  // test files are left out, because the pool of control planes has removed them.
  const logs = (): string =>
    [...new Map(servers.map((server) => [server.logPath, server])).values()]
      .filter(({ logPath }) => existsSync(logPath))
      .map(describeLog)
      .join('\n');
  const run = async (runOptions: ProcessOptions): Promise<ServerProcess> => {
    const server = await startProcess(watchdog, {
      ...runOptions,
      logPath: join(runOptions.logDirectory ?? dir, `${runOptions.name}.log`),
    });
    servers.push(server);
    return server;
  };

  try {
    const etcdUrl = `http://127.0.0.1:${etcdPort}`;
    const url = `https://127.0.0.1:${apiPort}`;
    const caPath = certificatePath(dir);
    const users = [ADMIN, ...(options.users ?? [])];
    const { tokenFile, accounts } = await writeAccounts(dir, users, { url, caPath });
    const user = (name: string): UserCredentials => {
      const account = accounts.get(name);
      if (account === undefined) throw new Error(`the control plane has no user "${name}"`);
      return account;
    };
    const { token, kubeconfigPath } = user(ADMIN.name);
    const etcd = await run({
      name: 'etcd',
      file: binaries.etcd,
      args: etcdFlags(join(dir, 'etcd'), etcdUrl),
      env: ETCD_ENVIRONMENT,
    });
    const apiServer = await prepareApiServer({
      file: binaries['kube-apiserver'],
      directory: dir,
      port: apiPort,
      tokenFile,
      token,
      etcd,
      etcdUrl,
      extraArgs: options.apiServerArgs ?? [],
      run,
    });
    await apiServer.start();
    const api = new ApiClient({ url, ca: await readFile(caPath, 'utf8'), token });

    return {
      dir,
      url,
      caPath,
      token,
      kubeconfigPath,
      kubectlPath: binaries.kubectl,
      etcdUrl,
      api,
      user,
      stopApiServer: (signal) => apiServer.stop(signal),
      startApiServer: () => apiServer.start(),
      startControllerManager: (more) => startControllerManager(run, kubeconfigPath, resolveOptions, more),
      compactHistory: async () => {
        await apiServer.stop();
        await compactRevisions(etcdUrl);
        await apiServer.start();
      },
      run,
      logs,
      pids: () => watchdog.pids(),
      processes: () => servers.filter((server) => server.exit() === undefined),
      keepAlive: (isKept) => {
        for (const each of [watchdog, ...servers]) each.keepAlive(isKept);
      },
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

/** Implements `ControlPlane.startControllerManager`. */
export async function startControllerManager(
  run: ControlPlane['run'],
  kubeconfigPath: string,
  options: ResolveOptions = {},
  more: readonly string[] = [],
): Promise<ServerProcess> {
  const { 'kube-controller-manager': file } = await resolveBinaries(['kube-controller-manager'], options);
  const controllerManager = await run({
    name: 'kube-controller-manager',
    file,
    // prettier-ignore
    args: [
      '--kubeconfig', kubeconfigPath, '--leader-elect=false', '--secure-port=0',
      '--kube-api-qps', '500', '--kube-api-burst', '1000',
      '--controllers', ['garbage-collector-controller', 'namespace-controller', ...more].join(','),
    ],
  });
  await waitUntilUp([controllerManager], 'the garbage collector knowing the objects', () =>
    controllerManager.log().includes('Proceeding to collect garbage'),
  );
  return controllerManager;
}

function describeLog(server: ServerProcess): string {
  return `--- ${server.name}: ${server.logPath}\n${server.tail()}`;
}
