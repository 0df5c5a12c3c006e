import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Api } from './api.ts';
import { writeServiceAccountKeys } from './credentials.ts';
import { untilUp, type RunOptions, type ServerProcess } from './process.ts';

/**
 * A fifth less work at the start: there is memory for it, and most do not live for long. One that does would come to nine
 * times what it keeps, which was 4.3 GB after five minutes of the fault grid: within this it collects as often as it must.
 */
const RARE_COLLECTION = { GOGC: '800', GOMEMLIMIT: '1536MiB' };

export interface ApiServerOptions {
  readonly file: string;
  /** Of the control plane; keys and the certificate go there. */
  readonly directory: string;
  readonly port: number;
  readonly tokenFile: string;
  /** With which it is asked whether it is ready. */
  readonly token: string;
  readonly etcd: ServerProcess;
  readonly etcdUrl: string;
  readonly extraArgs: readonly string[];
  readonly run: (options: RunOptions) => Promise<ServerProcess>;
}

export interface ApiServer {
  /** Resolves when it is ready: /readyz waits for RBAC's own roles too. */
  start(): Promise<void>;
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** Where kube-apiserver puts the certificate that it makes itself, its authority included. */
export function certificatePath(directory: string): string {
  return join(directory, 'certs', 'apiserver.crt');
}

/** A kube-apiserver that can be stopped and started again: same data, port, certificate and tokens. */
export async function prepareApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { directory, port, etcd, run } = options;
  await mkdir(join(directory, 'certs'));
  const serviceAccountKeys = await writeServiceAccountKeys(directory);
  // prettier-ignore
  const args = [
    '--etcd-servers', options.etcdUrl,
    '--bind-address', '127.0.0.1', '--secure-port', String(port), '--cert-dir', join(directory, 'certs'),
    // Its own address would be the machine's, which need not have one; nobody uses the endpoint either.
    '--advertise-address', '127.0.0.1', '--endpoint-reconciler-type', 'none',
    '--token-auth-file', options.tokenFile, '--authorization-mode', 'RBAC',
    '--service-cluster-ip-range', '10.0.0.0/24', '--allow-privileged',
    '--service-account-issuer', 'https://kubernetes.default.svc',
    '--service-account-key-file', serviceAccountKeys.publicPath,
    '--service-account-signing-key-file', serviceAccountKeys.privatePath,
    // Nobody makes the service accounts of namespaces, which this plugin would wait for.
    '--disable-admission-plugins', 'ServiceAccount',
    ...options.extraArgs,
  ];
  let current: ServerProcess | undefined;
  return {
    start: async () => {
      if (current !== undefined && current.exit() === undefined) throw new Error('kube-apiserver runs already');
      current = await run({ name: 'kube-apiserver', file: options.file, args, env: RARE_COLLECTION });
      await untilReady([etcd, current], `https://127.0.0.1:${port}`, certificatePath(directory), options.token);
    },
    stop: async (signal = 'SIGTERM') => {
      await current?.stop(signal);
    },
  };
}

/** It is asked over one connection: each new one would cost it a signature, while it has enough to do. */
async function untilReady(
  servers: readonly ServerProcess[],
  url: string,
  caPath: string,
  token: string,
): Promise<void> {
  let api: Api | undefined;
  try {
    await untilUp(servers, `${url}/readyz answering 200`, async () => {
      // There is none before the API server has made its certificate.
      api ??= new Api({ url, ca: await readFile(caPath, 'utf8'), token });
      const { status, body } = await api.request('GET', '/readyz');
      if (status !== 200) throw new Error(`it answers ${status} ${String(body)}`);
      return true;
    });
  } finally {
    api?.close();
  }
}
