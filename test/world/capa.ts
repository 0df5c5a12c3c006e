import { setTimeout as delay } from 'node:timers/promises';
import {
  DeleteClusterCommand,
  DescribeClusterCommand,
  EKSClient,
  ResourceNotFoundException,
} from '@aws-sdk/client-eks';
import { EmulatorRequestHandler } from '../aws/request-handler.ts';
import { ApiError } from '../envtest/api.ts';
import type { Api, KubeObject } from '../envtest/api.ts';
import type { World } from './world.ts';
import { ACCOUNT } from './world.ts';

/** As the API server's audit log knows it. */
export const CAPA_AGENT = 'cluster-api-provider-aws';
export const CAPA_FINALIZER = 'awsmanagedcontrolplane.controlplane.cluster.x-k8s.io';

const GROUPS = {
  clusters: '/apis/cluster.x-k8s.io/v1beta2',
  controlPlanes: '/apis/controlplane.cluster.x-k8s.io/v1beta2',
};
/** controller-runtime's rate limiter: the first retry after this time, then doubled each time. */
const FIRST_RETRY_MS = 5;
const LONGEST_RETRY_MS = 1_000_000;
/** The SDK's waiter asks every 30 s; an emulated cluster is gone sooner. */
const WAITER_MS = 50;
/** Between two tries of a watch that broke. */
const WATCH_PAUSE_MS = 100;

export interface CapaOptions {
  readonly api: Api;
  /** EKS in the account and region of this control plane. */
  readonly eksFor: (controlPlane: KubeObject) => EKSClient;
  /** Told of what each pass came to: `deleted`, or the error that backs it off. */
  readonly tell?: (outcome: string) => void;
}

/** Plays Cluster API Provider AWS as far as a teardown meets it. */
export interface Capa {
  /** What its passes over a control plane came to, oldest first: `deleted`, or the error that backs it off. */
  outcomesOf(name: string, namespace?: string): readonly string[];
  stop(): Promise<void>;
}

/**
 * The control plane controller of Cluster API Provider AWS v2 (controlplane/eks/controllers/
 * awsmanagedcontrolplane_controller.go, pkg/cloud/services/eks/cluster.go), as far as a teardown meets it:
 *
 * - nothing without an owning Cluster; an error while that cannot be found; nothing while it is paused;
 * - its finalizer on each living control plane, `status.ready` while EKS says ACTIVE or UPDATING;
 * - on deletion DescribeCluster, DeleteCluster and a wait until the cluster is gone within one pass, whoever else's
 *   finalizers there are; a refusal backs off from 5 ms to 17 minutes, and any change of the object queues it at once;
 * - its finalizer off by a merge patch of the whole list as it was read when the pass began, without resourceVersion.
 *
 * It makes no EKS clusters, networks and roles: tests do.
 */
export function playCapa({ api, eksFor, tell = () => {} }: CapaOptions): Capa {
  const stopping = new AbortController();
  const queue = new RateLimitedQueue(pass);
  const owners = new Map<string, string>();
  const outcomes = new Map<string, string[]>();
  const running = [
    watchKind(`${GROUPS.controlPlanes}/awsmanagedcontrolplanes`, onControlPlane),
    watchKind(`${GROUPS.clusters}/clusters`, onCluster),
  ];

  function onControlPlane(object: KubeObject): void {
    const owner = ownerOf(object);
    if (owner !== undefined) owners.set(keyOf(object), `${object.metadata.namespace}/${owner}`);
    queue.addNow(keyOf(object));
  }

  function onCluster(object: KubeObject): void {
    for (const [controlPlane, owner] of owners) if (owner === keyOf(object)) queue.addNow(controlPlane);
  }

  async function watchKind(path: string, onObject: (object: KubeObject) => void): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        // Without a resourceVersion a watch begins with all objects that there are.
        for await (const { type, object } of api.watch(path, {}, stopping.signal)) {
          if (type !== 'BOOKMARK' && type !== 'ERROR') onObject(object);
        }
      } catch {
        // The kind is not served, or the API server is away: controller-runtime's caches try again, too.
      }
      await pause(WATCH_PAUSE_MS, stopping.signal);
    }
  }

  async function pass(key: string): Promise<void> {
    const outcome = await reconcile(key).catch((error: Error) => error);
    if (stopping.signal.aborted || outcome === undefined) return;
    const words = outcome instanceof Error ? outcome.message : outcome;
    outcomes.set(key, [...(outcomes.get(key) ?? []), words]);
    tell(words);
    if (outcome instanceof Error) throw outcome;
  }

  async function reconcile(key: string): Promise<string | undefined> {
    const [namespace = '', name = ''] = key.split('/');
    const path = `${GROUPS.controlPlanes}/namespaces/${namespace}/awsmanagedcontrolplanes/${name}`;
    const object = await found(api.get(path));
    const owner = object && ownerOf(object);
    if (object === undefined || owner === undefined) return undefined;
    const cluster = await api.get(`${GROUPS.clusters}/namespaces/${namespace}/clusters/${owner}`);
    const isPaused =
      cluster.spec?.['paused'] === true || 'cluster.x-k8s.io/paused' in (object.metadata.annotations ?? {});
    if (isPaused) return undefined;
    return object.metadata.deletionTimestamp === undefined ? look(path, object) : remove(path, object);
  }

  async function look(path: string, object: KubeObject): Promise<undefined> {
    const { finalizers = [] } = object.metadata;
    if (!finalizers.includes(CAPA_FINALIZER)) {
      await api.patch(path, { metadata: { finalizers: [...finalizers, CAPA_FINALIZER] } });
    }
    const status = await statusInEks(object);
    const ready = status === 'ACTIVE' || status === 'UPDATING';
    if (object.status?.['ready'] !== ready) await api.patch(`${path}/status`, { status: { ready } });
  }

  async function remove(path: string, object: KubeObject): Promise<string | undefined> {
    const { finalizers = [] } = object.metadata;
    if (!finalizers.includes(CAPA_FINALIZER)) return undefined;
    if ((await statusInEks(object)) !== undefined) {
      await eksFor(object).send(new DeleteClusterCommand({ name: eksNameOf(object) }));
      while ((await statusInEks(object)) !== undefined) await pause(WAITER_MS, stopping.signal);
    }
    await api.patch(path, { metadata: { finalizers: finalizers.filter((each) => each !== CAPA_FINALIZER) } });
    return 'deleted';
  }

  async function statusInEks(object: KubeObject): Promise<string | undefined> {
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
    outcomesOf: (name, namespace = 'default') => outcomes.get(`${namespace}/${name}`) ?? [],
    async stop() {
      stopping.abort();
      queue.stop();
      await Promise.all([...running, queue.idle()]);
    },
  };
}

/**
 * The same with the AWS of a test's world.
 * @param accountOf in which account the EKS cluster of a control plane is; identities are not read
 */
export function playCapaIn(
  { controlPlane: { api }, aws }: World,
  accountOf: (controlPlane: KubeObject) => string = () => ACCOUNT,
): Capa {
  const clients = new Map<string, EKSClient>();
  const clientIn = (account: string, region: string): EKSClient => {
    const accessKeyId = capaKeyOf(account);
    aws.admin.registerKey({ accessKeyId, account, foreign: true });
    const credentials = { accessKeyId, secretAccessKey: 'secret' };
    return new EKSClient({ region, credentials, requestHandler: new EmulatorRequestHandler(aws), maxAttempts: 1 });
  };
  const eksFor = (controlPlane: KubeObject): EKSClient => {
    const [account, region] = [accountOf(controlPlane), String(controlPlane.spec?.['region'])];
    const client = clients.get(`${account}/${region}`) ?? clientIn(account, region);
    clients.set(`${account}/${region}`, client);
    return client;
  };
  return playCapa({ api: api.calledAs(CAPA_AGENT), eksFor });
}

/** With which it is known in an account. */
export const capaKeyOf = (account: string = ACCOUNT): string => `capa-${account}`;

/** One worker per key, and controller-runtime's exponential backoff: 5 ms, doubled up to 1000 s, forgotten on success. */
class RateLimitedQueue {
  readonly #work: (key: string) => Promise<void>;
  readonly #failures = new Map<string, number>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #busy = new Map<string, Promise<void>>();
  /** Keys that were added while they were worked on. */
  readonly #dirty = new Set<string>();
  #stopped = false;

  constructor(work: (key: string) => Promise<void>) {
    this.#work = work;
  }

  addNow(key: string): void {
    if (this.#stopped) return;
    this.#disarm(key);
    if (this.#busy.has(key)) this.#dirty.add(key);
    else this.#busy.set(key, this.#run(key));
  }

  stop(): void {
    this.#stopped = true;
    for (const key of this.#timers.keys()) this.#disarm(key);
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
      if (!this.#stopped) this.#arm(key, Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS));
    }
    this.#busy.delete(key);
    if (this.#dirty.delete(key)) this.addNow(key);
  }

  #arm(key: string, afterMs: number): void {
    this.#timers.set(
      key,
      setTimeout(() => this.addNow(key), afterMs),
    );
  }

  #disarm(key: string): void {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
  }
}

const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`;

const ownerOf = ({ metadata }: KubeObject): string | undefined =>
  metadata.ownerReferences?.find(({ kind }) => kind === 'Cluster')?.name;

const eksNameOf = ({ spec }: KubeObject): string => String(spec?.['eksClusterName']);

async function found(reading: Promise<KubeObject>): Promise<KubeObject | undefined> {
  return reading.catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  });
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => undefined);
