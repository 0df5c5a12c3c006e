import { setTimeout as delay } from 'node:timers/promises';
import {
  DeleteClusterCommand,
  DescribeClusterCommand,
  EKSClient,
  ResourceNotFoundException,
} from '@aws-sdk/client-eks';
import { EmulatorRequestHandler } from '../../aws/transport/request-handler.ts';
import { type ApiClient, type RawObject, ApiError } from '../../envtest/clients/api.ts';
import { type World, ACCOUNT } from '../world.ts';

/**
 * The user agent of the simulator of Cluster API Provider AWS, by which tests find its requests in the API server's
 * audit log.
 */
export const CAPA_AGENT = 'cluster-api-provider-aws';
export const CAPA_FINALIZER = 'awsmanagedcontrolplane.controlplane.cluster.x-k8s.io';

const GROUPS = {
  clusters: '/apis/cluster.x-k8s.io/v1beta2',
  controlPlanes: '/apis/controlplane.cluster.x-k8s.io/v1beta2',
};
/**
 * The rate limiter of controller-runtime retries a failed reconcile after 5 ms at first. It doubles the delay with each
 * further failure, up to 1000 s.
 */
const FIRST_RETRY_MS = 5;
const MAX_RETRY_MS = 1_000_000;
/**
 * The interval at which the simulator polls AWS until EKS has deleted a cluster. The AWS SDK polls every 30 s, but the
 * AWS emulator deletes an EKS cluster in less than a second.
 */
const WAITER_MS = 50;
/** The pause between the end of one watch of the simulator and the start of the next. */
const WATCH_PAUSE_MS = 100;

export interface CapaSimulatorOptions {
  readonly api: ApiClient;
  /** Returns an EKS client for the AWS account and the region of an AWSManagedControlPlane. */
  readonly eksFor: (controlPlane: RawObject) => EKSClient;
  /**
   * Called after each reconcile that fails or that completes the deletion of an AWSManagedControlPlane. The argument is
   * the error message or `deleted`.
   */
  readonly onOutcome?: (outcome: string) => void;
}

export interface CapaSimulator {
  /**
   * The error message of each failed reconcile of an AWSManagedControlPlane in the namespace `default`, and `deleted` for
   * the reconcile that completed its deletion. The oldest comes first.
   */
  outcomesOf(name: string): readonly string[];
  stop(): Promise<void>;
}

/**
 * Simulates the controller of Cluster API Provider AWS v2 that reconciles AWSManagedControlPlanes
 * (controlplane/eks/controllers/awsmanagedcontrolplane_controller.go, pkg/cloud/services/eks/cluster.go), as far as the
 * deletion of a Cluster needs it:
 *
 * - The simulator ignores an AWSManagedControlPlane that has no Cluster as owner or that is paused. While the owner
 *   Cluster does not exist, each reconcile fails.
 * - It adds its finalizer to each AWSManagedControlPlane, and sets `status.ready` to true while EKS reports the EKS
 *   cluster as ACTIVE or UPDATING, otherwise to false.
 * - When an AWSManagedControlPlane has a deletionTimestamp, the simulator calls DescribeCluster and DeleteCluster, and
 *   waits in the same reconcile until the EKS cluster is gone. The simulator does not wait for the finalizers of other
 *   controllers.
 * - It retries a failed reconcile after a delay that grows from 5 ms to 17 minutes. If the AWSManagedControlPlane or
 *   its Cluster changes, it retries immediately.
 * - It removes its finalizer with a merge patch without resourceVersion. The patch contains the list of finalizers from
 *   the start of the reconcile, without the simulator's own. So it can remove a finalizer that another controller has
 *   added since then.
 *
 * Tests create the EKS clusters, networks, and roles, because the simulator does not.
 */
export function startCapaSimulator({ api, eksFor, onOutcome = () => {} }: CapaSimulatorOptions): CapaSimulator {
  const stopping = new AbortController();
  const queue = new RateLimitedQueue(pass);
  const owners = new Map<string, string>();
  const outcomes = new Map<string, string[]>();
  const running = [
    watchKind(`${GROUPS.controlPlanes}/awsmanagedcontrolplanes`, onControlPlane),
    watchKind(`${GROUPS.clusters}/clusters`, onCluster),
  ];

  function onControlPlane(object: RawObject): void {
    const owner = ownerOf(object);
    if (owner !== undefined) owners.set(keyOf(object), `${object.metadata.namespace}/${owner}`);
    queue.addNow(keyOf(object));
  }

  function onCluster(object: RawObject): void {
    for (const [controlPlane, owner] of owners) if (owner === keyOf(object)) queue.addNow(controlPlane);
  }

  async function watchKind(path: string, onObject: (object: RawObject) => void): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        // A watch without a resourceVersion sends all existing objects first.
        for await (const { type, object } of api.watch(path, {}, stopping.signal)) {
          if (type !== 'BOOKMARK' && type !== 'ERROR') onObject(object);
        }
      } catch {
        // The watch fails while the API server does not serve the kind or is not running. The simulator then opens a
        // new watch, as the caches of controller-runtime do.
      }
      await pause(WATCH_PAUSE_MS, stopping.signal);
    }
  }

  async function pass(key: string): Promise<void> {
    const outcome = await reconcile(key).catch((error: Error) => error);
    if (stopping.signal.aborted || outcome === undefined) return;
    const description = outcome instanceof Error ? outcome.message : outcome;
    outcomes.set(key, [...(outcomes.get(key) ?? []), description]);
    onOutcome(description);
    if (outcome instanceof Error) throw outcome;
  }

  async function reconcile(key: string): Promise<string | undefined> {
    const [namespace = '', name = ''] = key.split('/');
    const path = `${GROUPS.controlPlanes}/namespaces/${namespace}/awsmanagedcontrolplanes/${name}`;
    const object = await undefinedIfNotFound(api.get(path));
    const owner = object && ownerOf(object);
    if (object === undefined || owner === undefined) return undefined;
    const cluster = await api.get(`${GROUPS.clusters}/namespaces/${namespace}/clusters/${owner}`);
    const isPaused =
      cluster.spec?.['paused'] === true || 'cluster.x-k8s.io/paused' in (object.metadata.annotations ?? {});
    if (isPaused) return undefined;
    return object.metadata.deletionTimestamp === undefined
      ? reconcileExisting(path, object)
      : reconcileDelete(path, object);
  }

  async function reconcileExisting(path: string, object: RawObject): Promise<undefined> {
    const { finalizers = [] } = object.metadata;
    if (!finalizers.includes(CAPA_FINALIZER)) {
      await api.patch(path, { metadata: { finalizers: [...finalizers, CAPA_FINALIZER] } });
    }
    const status = await statusInEks(object);
    const ready = status === 'ACTIVE' || status === 'UPDATING';
    if (object.status?.['ready'] !== ready) await api.patch(`${path}/status`, { status: { ready } });
  }

  async function reconcileDelete(path: string, object: RawObject): Promise<string | undefined> {
    const { finalizers = [] } = object.metadata;
    if (!finalizers.includes(CAPA_FINALIZER)) return undefined;
    if ((await statusInEks(object)) !== undefined) {
      await eksFor(object).send(new DeleteClusterCommand({ name: eksNameOf(object) }));
      while ((await statusInEks(object)) !== undefined) await pause(WAITER_MS, stopping.signal);
    }
    await api.patch(path, { metadata: { finalizers: finalizers.filter((each) => each !== CAPA_FINALIZER) } });
    return 'deleted';
  }

  async function statusInEks(object: RawObject): Promise<string | undefined> {
    if (stopping.signal.aborted) throw new Error('stopped');
    try {
      const { cluster } = await eksFor(object).send(new DescribeClusterCommand({ name: eksNameOf(object) }));
      return cluster?.status;
    } catch (error) {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw error;
    }
  }

  return {
    outcomesOf: (name) => outcomes.get(`default/${name}`) ?? [],
    async stop() {
      stopping.abort();
      queue.stop();
      await Promise.all([...running, queue.idle()]);
    },
  };
}

/**
 * Starts the simulator of Cluster API Provider AWS with the API server and the AWS emulator of a test environment. All
 * EKS clusters must be in the account of the manager, because the simulator does not read `spec.identityRef`.
 */
export function startCapaSimulatorIn({ controlPlane: { api }, aws }: World): CapaSimulator {
  const clients = new Map<string, EKSClient>();
  aws.admin.registerKey({ accessKeyId: CAPA_KEY, account: ACCOUNT, foreign: true });
  const credentials = { accessKeyId: CAPA_KEY, secretAccessKey: 'secret' };
  const clientIn = (region: string): EKSClient =>
    new EKSClient({ region, credentials, requestHandler: new EmulatorRequestHandler(aws), maxAttempts: 1 });
  const eksFor = (controlPlane: RawObject): EKSClient => {
    const region = String(controlPlane.spec?.['region']);
    const client = clients.get(region) ?? clientIn(region);
    clients.set(region, client);
    return client;
  };
  return startCapaSimulator({ api: api.withUserAgent(CAPA_AGENT), eksFor });
}

/** The id of the access key with which the simulator of Cluster API Provider AWS calls AWS. */
export const CAPA_KEY = 'capa';

/**
 * A workqueue like that of controller-runtime, but with one worker per key. It processes a failed key again after a
 * delay. The delay doubles with each failure of the key, and returns to its smallest value after a success.
 */
class RateLimitedQueue {
  readonly #work: (key: string) => Promise<void>;
  readonly #failures = new Map<string, number>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #busy = new Map<string, Promise<void>>();
  /** Keys that were added while they were being processed. The worker processes them again afterwards. */
  readonly #dirty = new Set<string>();
  #stopped = false;

  constructor(work: (key: string) => Promise<void>) {
    this.#work = work;
  }

  addNow(key: string): void {
    if (this.#stopped) return;
    this.#clearTimer(key);
    if (this.#busy.has(key)) this.#dirty.add(key);
    else this.#busy.set(key, this.#run(key));
  }

  stop(): void {
    this.#stopped = true;
    for (const key of this.#timers.keys()) this.#clearTimer(key);
  }

  async idle(): Promise<void> {
    await Promise.all(this.#busy.values());
  }

  async #run(key: string): Promise<void> {
    try {
      await this.#work(key);
      this.#failures.delete(key);
    } catch {
      const failures = this.#failures.get(key) ?? 0;
      this.#failures.set(key, failures + 1);
      if (!this.#stopped) this.#startTimer(key, Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS));
    }
    this.#busy.delete(key);
    if (this.#dirty.delete(key)) this.addNow(key);
  }

  #startTimer(key: string, afterMs: number): void {
    this.#timers.set(
      key,
      setTimeout(() => this.addNow(key), afterMs),
    );
  }

  #clearTimer(key: string): void {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
  }
}

const keyOf = ({ metadata }: RawObject): string => `${metadata.namespace}/${metadata.name}`;

const ownerOf = ({ metadata }: RawObject): string | undefined =>
  metadata.ownerReferences?.find(({ kind }) => kind === 'Cluster')?.name;

const eksNameOf = ({ spec }: RawObject): string => String(spec?.['eksClusterName']);

async function undefinedIfNotFound(reading: Promise<RawObject>): Promise<RawObject | undefined> {
  return reading.catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  });
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => undefined);
