import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Api } from './api.ts';
import { certificatePath, prepareApiServer } from './apiserver.ts';
import { resolveBinaries, type Report } from './binaries.ts';
import { writeAccounts, type Credentials, type User } from './credentials.ts';
import { compact, etcdFlags } from './etcd.ts';
import { freePorts } from './ports.ts';
import { startProcess, untilUp, Watchdog, type RunOptions, type ServerProcess } from './process.ts';

/** Another process can take a free port between our look and the server's bind. */
const START_ATTEMPTS = 3;

const ADMIN: User = { name: 'admin', groups: ['system:masters'] };

export interface ControlPlaneOptions {
  /** Users besides the administrator. They may do what RBAC grants them: at first nothing. */
  readonly users?: readonly User[];
  /** Flags for kube-apiserver after ours. */
  readonly apiServerArgs?: readonly string[];
  /** Receives the progress of getting the binaries; stderr by default. */
  readonly report?: Report;
}

/** A real etcd and kube-apiserver on loopback, with an administrator. */
export interface ControlPlane {
  /** Holds everything, and goes with it. */
  readonly dir: string;
  readonly url: string;
  readonly caPath: string;
  /** Of the administrator, `admin` in the group system:masters. */
  readonly token: string;
  readonly kubeconfigPath: string;
  readonly kubectlPath: string;
  /** As the administrator. */
  readonly api: Api;
  /** The credentials of a user of `options.users`. */
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
  const [etcdPort = 0, apiPort = 0] = await freePorts(2);
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
    const etcdUrl = `http://127.0.0.1:${etcdPort}`;
    const url = `https://127.0.0.1:${apiPort}`;
    const caPath = certificatePath(dir);
    const users = [ADMIN, ...(options.users ?? [])];
    const { tokenFile, accounts } = await writeAccounts(dir, users, { url, caPath });
    const user = (name: string): Credentials => {
      const account = accounts.get(name);
      if (account === undefined) throw new Error(`the control plane was started without a user "${name}"`);
      return account;
    };
    const { token, kubeconfigPath } = user(ADMIN.name);
    const etcd = await run({ name: 'etcd', file: binaries.etcd, args: etcdFlags(join(dir, 'etcd'), etcdUrl) });
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
    const api = new Api({ url, ca: await readFile(caPath, 'utf8'), token });

    return {
      dir,
      url,
      caPath,
      token,
      kubeconfigPath,
      kubectlPath: binaries.kubectl,
      api,
      user,
      stopApiServer: (signal) => apiServer.stop(signal),
      startApiServer: () => apiServer.start(),
      startControllerManager: async () => {
        const { 'kube-controller-manager': file } = await resolveBinaries(['kube-controller-manager'], resolveOptions);
        return startControllerManager(run, file, kubeconfigPath);
      },
      forgetHistory: async () => {
        await apiServer.stop();
        await compact(etcdUrl);
        await apiServer.start();
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

async function startControllerManager(
  run: ControlPlane['run'],
  file: string,
  kubeconfigPath: string,
): Promise<ServerProcess> {
  const controllerManager = await run({
    name: 'kube-controller-manager',
    file,
    // prettier-ignore
    args: [
      '--kubeconfig', kubeconfigPath, '--leader-elect=false', '--secure-port=0',
      '--controllers', 'garbage-collector-controller,namespace-controller',
    ],
  });
  await untilUp([controllerManager], 'the garbage collector knowing the objects', () =>
    controllerManager.log().includes('Proceeding to collect garbage'),
  );
  return controllerManager;
}

function describeLog(server: ServerProcess): string {
  return `--- ${server.name}: ${server.logPath}\n${server.tail()}`;
}
