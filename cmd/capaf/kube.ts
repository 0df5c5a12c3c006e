import { homedir } from 'node:os';
import * as E from 'fp-ts/lib/Either.js';
import {
  createKubeClient,
  findServed,
  isForbidden,
  keyOf,
  keyText,
  type KubeClient,
  type ObjectKey,
  observeRequests,
  type Resource,
  type Transport,
} from 'controller-runtime/client';
import { fieldAt, textAt } from 'controller-runtime/json';
import { connect, type KubeconfigFile, loadKubeconfig, type ServerConnections } from 'controller-runtime/kubeconfig';
import * as external from '../../api/external/index.ts';
import { type DecodeProblem, describeProblems } from '../../api/v1beta2/index.ts';
import { controlPlaneReference } from '../../controllers/shared/control-plane/joined-control-plane.ts';
import { defaultEksClusterName } from '../../pkg/fargate/names.ts';
import { VERSION } from '../../pkg/version.ts';
import { Failure, type Io } from './io.ts';
import { trackKube } from './progress.ts';

export const PODS: Resource = { group: '', version: 'v1', plural: 'pods' };
export const NODES: Resource = { group: '', version: 'v1', plural: 'nodes' };
export const EVENTS: Resource = { group: '', version: 'v1', plural: 'events' };
export const SERVICE_ACCOUNTS: Resource = { group: '', version: 'v1', plural: 'serviceaccounts' };

export interface KubeOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
}

export type KubeAccess = ReturnType<typeof kubeAccess>;

/** `received` is a kubeconfig from outside this machine, for example from a Secret. @throws KubeconfigError */
export function openKube(options: KubeOptions, io: Io, received?: KubeconfigFile): KubeAccess {
  const { kubeconfig: path, context, namespace } = options;
  const load = () => loadKubeconfig({ path, context, env: io.env, home: homedir(), ...(received && { received }) });
  const { server, contextNamespace } = load();
  const place = {
    namespace: namespace ?? contextNamespace ?? 'default',
    server: `${server.origin}${server.pathname}`.replace(/\/$/, ''),
  };
  return kubeAccess(connect({ load, clock: io.clock }), place, io);
}

interface Place {
  /** The namespace from the option, from the kubeconfig's context, or `default`. */
  readonly namespace: string;
  /** For messages, e.g. `https://10.0.0.1:6443`. */
  readonly server: string;
}

export function kubeAccess(connections: ServerConnections, place: Place, { clock, progress }: Io) {
  const transport = observeRequests(trackKube(readOnly(connections), progress), { userAgent: `capaf/${VERSION}` });
  return {
    ...place,
    client: createKubeClient({ transport, clock }),
    [Symbol.asyncDispose]: () => connections.close(),
  };
}

/** Uses the kubeconfig that Cluster API's contract requires: in the Secret `<Cluster>-kubeconfig`, key `value`. */
export async function openWorkloadCluster(management: KubeAccess, cluster: string, io: Io, namespace?: string) {
  const key = { namespace: management.namespace, name: `${cluster}-kubeconfig` };
  const secrets = { group: '', version: 'v1', plural: 'secrets' };
  const fix = 'name a kubeconfig of the workload cluster with --workload-kubeconfig';
  const secret = await management.client.get(secrets, key, { signal: io.signal }).catch((cause: unknown) => {
    throw isForbidden(cause) ? new Failure(`${cause.message}; ${fix}`, { cause }) : cause;
  });
  const value = textAt(fieldAt(secret, 'data'), 'value');
  if (value === undefined) throw new Failure(`there is no Secret ${keyText(key)} with a kubeconfig; ${fix}`);
  const text = Buffer.from(value, 'base64').toString();
  return openKube({ namespace }, io, { path: `in Secret ${keyText(key)}`, text });
}

export const CONTROL_PLANES: Resource = {
  group: external.CONTROL_PLANE_GROUP,
  version: external.CONTROL_PLANE_VERSION,
  plural: external.CONTROL_PLANE_PLURAL,
};

/** Returns the EKS cluster of a Cluster. @throws Failure if the Cluster or its control plane is missing; KubeError */
export async function findEksCluster(client: KubeClient, key: ObjectKey, signal: AbortSignal) {
  const what = `Cluster ${keyText(key)}`;
  const { CLUSTER_GROUP: group, CLUSTER_PLURAL: plural, CLUSTER_VERSIONS: versions } = external;
  const resource = await findServed(client, { group, plural, versions }, signal);
  const cluster = resource && (await client.get(resource, key, { signal }));
  if (cluster === undefined) throw new Failure(`there is no ${what}; check its name, its namespace and the --context`);
  const reference = controlPlaneReference(orFail(what, external.decodeCluster(cluster)));
  if (reference === undefined) throw new Failure(`${what} has no ${external.CONTROL_PLANE_KIND}`);
  const object = await client.get(CONTROL_PLANES, reference, { signal });
  const controlPlane = `${external.CONTROL_PLANE_KIND} ${keyText(reference)}`;
  if (object === undefined) throw new Failure(`there is no ${controlPlane}`);
  const { eksClusterName, region, ready } = orFail(controlPlane, external.decodeAWSManagedControlPlane(object));
  const name = eksClusterName ?? defaultEksClusterName(reference.name, reference.namespace);
  return { name, region, controlPlane, key: keyOf({ metadata: reference }), isReady: ready };
}

function orFail<A>(what: string, decoded: E.Either<readonly DecodeProblem[], A>): A {
  if (E.isLeft(decoded)) throw new Failure(`${what} cannot be read: ${describeProblems(decoded.left)}`);
  return decoded.right;
}

const ACCESS_REVIEW = /^\/apis\/authorization\.k8s\.io\/v1\/(?:self)?subject(?:access|rules)reviews$/;

/**
 * Refuses every write, so that a bug in this read-only program cannot change the cluster. Allows dry runs and access
 * reviews, which do not store anything.
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
