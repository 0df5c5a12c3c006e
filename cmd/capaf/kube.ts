import { homedir } from 'node:os';
import { fieldAt, textAt } from '../../api/record.ts';
import { createKubeClient } from '../../pkg/kube/client.ts';
import { isForbidden } from '../../pkg/kube/errors.ts';
import { type KubeconfigFile, loadKubeconfig } from '../../pkg/kube/kubeconfig/kubeconfig.ts';
import { keyText } from '../../pkg/kube/object-key.ts';
import { type Transport, observeRequests } from '../../pkg/kube/transport/transport.ts';
import { connect } from '../../pkg/kube/transport/undici-transport.ts';
import { VERSION } from '../../pkg/version.ts';
import { Failure, type Io } from './io.ts';

/** The options of each command that asks an API server, as those of kubectl. */
export interface KubeOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
}

export type KubeAccess = ReturnType<typeof openKube>;

/**
 * `received` is a kubeconfig from elsewhere, such as a Secret, in place of the files of this machine.
 *
 * @throws KubeconfigError
 */
export function openKube(
  { kubeconfig: path, context, namespace }: KubeOptions,
  { clock, env }: Io,
  received?: KubeconfigFile,
) {
  const load = () => loadKubeconfig({ path, context, env, home: homedir(), ...(received && { received }) });
  const { server, contextNamespace } = load();
  const connections = connect({ load, clock });
  const transport = observeRequests(readOnly(connections), { userAgent: `capaf/${VERSION}` });
  return {
    client: createKubeClient({ transport, clock }),
    /** That of the option, of the context of the kubeconfig, or `default`. */
    namespace: namespace ?? contextNamespace ?? 'default',
    /** For messages, e.g. `https://10.0.0.1:6443`. */
    server: server.href.replace(/\/$/, ''),
    close: () => connections.close(),
  };
}

/**
 * Opens the workload cluster of a Cluster with the kubeconfig that Cluster API's contract demands: in the Secret
 * `<Cluster>-kubeconfig`, key `value`.
 *
 * @throws Failure
 */
export async function openWorkloadCluster(
  management: KubeAccess,
  cluster: string,
  namespace: string | undefined,
  io: Io,
): Promise<KubeAccess> {
  const key = { namespace: management.namespace, name: `${cluster}-kubeconfig` };
  const secrets = { group: '', version: 'v1', plural: 'secrets' };
  const cure = 'name a kubeconfig of the workload cluster with --workload-kubeconfig, or a manifest with -f';
  const secret = await management.client.get(secrets, key, { signal: io.signal }).catch((cause: unknown) => {
    throw isForbidden(cause) ? new Failure(`${cause.message}; ${cure}`, { cause }) : cause;
  });
  const value = textAt(fieldAt(secret, 'data'), 'value');
  if (value === undefined) throw new Failure(`there is no Secret ${keyText(key)} with a kubeconfig; ${cure}`);
  const text = Buffer.from(value, 'base64').toString();
  return openKube({ namespace }, io, { path: `in Secret ${keyText(key)}`, text });
}

const ACCESS_REVIEW = /^\/apis\/authorization\.k8s\.io\/v1\/(?:self)?subject(?:access|rules)reviews$/;

/**
 * A program that only reads must not write because of a mistake in its own code either. Dry runs and access reviews
 * change nothing.
 */
export const readOnly = (transport: Transport): Transport => ({
  host: transport.host,
  send: async (request) => {
    const { method, path } = request;
    const { pathname, searchParams } = new URL(path, 'http://api');
    const isDryRun = method !== 'DELETE' && searchParams.getAll('dryRun').join() === 'All';
    const isReview = method === 'POST' && ACCESS_REVIEW.test(pathname);
    if (method !== 'GET' && !isDryRun && !isReview)
      throw new Error(`capaf only reads, and does not send ${method} ${path}`);
    return transport.send(request);
  },
});
