import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiClient } from '../clients/api.ts';
import { writeServiceAccountKeys } from './credentials.ts';
import { waitUntilUp, type ProcessOptions, type ServerProcess } from './process.ts';

/**
 * Settings of the Go garbage collector of kube-apiserver. GOGC=800 saves a fifth of the CPU time of a start of
 * kube-apiserver. GOMEMLIMIT limits the memory, because GOGC=800 alone let the heap grow to 4.3 GB in five minutes of
 * tests with thousands of objects.
 */
const GO_ENVIRONMENT = { GOGC: '800', GOMEMLIMIT: '1536MiB' };

export interface ApiServerOptions {
  readonly file: string;
  /**
   * The directory of the control plane. The service account keys and the certificate of kube-apiserver are written to
   * it.
   */
  readonly directory: string;
  readonly port: number;
  readonly tokenFile: string;
  /** The token with which the test asks kube-apiserver whether it is ready. */
  readonly token: string;
  readonly etcd: ServerProcess;
  readonly etcdUrl: string;
  readonly extraArgs: readonly string[];
  readonly run: (options: ProcessOptions) => Promise<ServerProcess>;
}

export interface ApiServer {
  /**
   * Starts kube-apiserver. Resolves when /readyz of kube-apiserver answers 200, which means that the default RBAC roles
   * exist.
   */
  start(): Promise<void>;
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/**
 * The path of the certificate that kube-apiserver generates for itself. The file also has the certificate of the CA
 * that signed the certificate.
 */
export function certificatePath(directory: string): string {
  return join(directory, 'certs', 'apiserver.crt');
}

/**
 * Prepares a kube-apiserver that can be started and stopped repeatedly. It has the same data, port, certificate, and
 * tokens after each start.
 */
export async function prepareApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { directory, port, etcd, run } = options;
  await mkdir(join(directory, 'certs'));
  const serviceAccountKeys = await writeServiceAccountKeys(directory);
  // prettier-ignore
  const args = [
    '--etcd-servers', options.etcdUrl,
    '--bind-address', '127.0.0.1', '--secure-port', String(port), '--cert-dir', join(directory, 'certs'),
    // By default, kube-apiserver publishes a non-loopback address of the machine as an endpoint, and fails if the
    // machine has none. No test uses this endpoint, so it is not published.
    '--advertise-address', '127.0.0.1', '--endpoint-reconciler-type', 'none',
    '--token-auth-file', options.tokenFile, '--authorization-mode', 'RBAC',
    '--service-cluster-ip-range', '10.0.0.0/24', '--allow-privileged',
    '--service-account-issuer', 'https://kubernetes.default.svc',
    '--service-account-key-file', serviceAccountKeys.publicPath,
    '--service-account-signing-key-file', serviceAccountKeys.privatePath,
    // The admission plugin ServiceAccount is disabled: it refuses pods in a namespace without the service account
    // `default`, and no running controller creates that service account.
    '--disable-admission-plugins', 'ServiceAccount',
    // This plugin is off by default. Many clusters turn it on, and a manager then needs more permissions to set owner
    // references:
    // https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#ownerreferencespermissionenforcement
    '--enable-admission-plugins', 'OwnerReferencesPermissionEnforcement',
    ...options.extraArgs,
  ];
  let current: ServerProcess | undefined;
  return {
    start: async () => {
      if (current !== undefined && current.exit() === undefined) throw new Error('kube-apiserver is already running');
      current = await run({ name: 'kube-apiserver', file: options.file, args, env: GO_ENVIRONMENT });
      await waitUntilReady([etcd, current], `https://127.0.0.1:${port}`, certificatePath(directory), options.token);
    },
    stop: async (signal = 'SIGTERM') => {
      await current?.stop(signal);
    },
  };
}

/**
 * Waits until kube-apiserver is ready. All attempts use one connection, because each TLS handshake costs the starting
 * kube-apiserver the CPU time of a signature.
 */
async function waitUntilReady(
  servers: readonly ServerProcess[],
  url: string,
  caPath: string,
  token: string,
): Promise<void> {
  let api: ApiClient | undefined;
  try {
    await waitUntilUp(servers, `${url}/readyz answering 200`, async () => {
      // kube-apiserver creates the certificate during its start, so reading the certificate fails in the first
      // attempts.
      api ??= new ApiClient({ url, ca: await readCertificate(caPath), token });
      const { status, body } = await api.request('GET', '/readyz');
      if (status !== 200) throw new Error(`the answer is ${status} ${String(body)}`);
      return true;
    });
  } finally {
    api?.close();
  }
}

/**
 * Reads a file with a certificate.
 * @throws if the file is not complete yet. If a client got an empty certificate, Node.js would trust its default CAs
 * instead.
 */
async function readCertificate(path: string): Promise<string> {
  const text = await readFile(path, 'utf8');
  if (!text.trimEnd().endsWith('-----END CERTIFICATE-----')) throw new Error(`${path} is not complete`);
  return text;
}
