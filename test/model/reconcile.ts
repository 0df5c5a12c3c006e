import * as E from 'fp-ts/lib/Either.js';
import type { Store } from 'controller-runtime/cache';
import {
  type Eviction,
  type KubeClient,
  KubeError,
  type KubeObject,
  type ObjectKey,
  type Resource,
} from 'controller-runtime/client';
import type { Reconcile } from 'controller-runtime/controller';
import type { UnknownRecord } from 'controller-runtime/json';
import type { Logger } from 'controller-runtime/log';
import type { ObjectMeta } from 'controller-runtime/schema';
import { AccountId } from '../../api/names.ts';
import { CLUSTER_GROUP, CLUSTER_PLURAL, CONTROL_PLANE_GROUP, CONTROL_PLANE_PLURAL } from '../../api/external/index.ts';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { newReconcile, newReconcilerParts } from '../../controllers/awsfargateprofile/controller.ts';
import type { PodAccess } from '../../controllers/awsfargateprofile/drain/open-pods.ts';
import type { ClusterQueues } from '../../controllers/awsfargateprofile/cluster-queue.ts';
import type { RetryState } from '../../controllers/awsfargateprofile/retry-state.ts';
import { TeardownReconciler } from '../../controllers/clusterteardown/reconcile.ts';
import { type Caches, newStores } from '../../controllers/shared/caches.ts';
import { ControlPlaneAccounts } from '../../controllers/shared/control-plane/control-plane-accounts.ts';
import { ControlPlaneFinalizer } from '../../controllers/shared/control-plane/control-plane-finalizer.ts';
import type { ServedSchema } from '../../controllers/shared/crd/served-schema.ts';
import type { AwsFailure, Call, Session } from '../../pkg/cloud/index.ts';
import { NO_LIMITS } from '../../pkg/fargate/operator-limits.ts';
import { type ApiAnswer, type ApiRequest, kubeErrorOf, type Objects } from './api-server.ts';
import { ACCOUNT, type AwsAnswer, type AwsRequest, REGION } from './aws.ts';
import { LONG_AGO, NOW } from './time.ts';

export type Request = ApiRequest | AwsRequest;
export type Answer = ApiAnswer | AwsAnswer;

/**
 * What a manager remembers between two passes, and loses in a restart. Its times are on the model's clock, which always
 * shows {@link NOW}.
 */
export interface Memory {
  readonly retries: Readonly<Record<string, { readonly uid: string; readonly state: RetryState }>>;
  /** What the manager remembers of the queue of each EKS cluster. */
  readonly clusterQueues: Readonly<Record<string, ClusterQueueMemory>>;
}
type ClusterQueueMemory = Pick<ReturnType<ClusterQueues['get']>, 'inFlight' | 'closed'>;

export const NO_MEMORY: Memory = { retries: {}, clusterQueues: {} };

/** A reconcile of the product: of an AWSFargateProfile, or of the Cluster `prod` by the teardown controller. */
export interface ReconcileStart {
  readonly controller: 'profile' | 'teardown';
  readonly name: string;
  readonly watchFilter?: string | undefined;
  readonly memory: Memory;
  readonly cache: Objects;
}

/** What a reconcile does next, after the answers that it has received. */
export type Progress =
  /** The reconcile waits for the answers to these requests, which it has sent at the same time. */
  | { readonly kind: 'asks'; readonly requests: readonly Request[] }
  | {
      readonly kind: 'ends';
      /** Whether only a watch event can start the next reconcile. */
      readonly isAsleep: boolean;
      readonly memory: Memory;
      readonly cache: Objects;
      readonly events: readonly string[];
    };

export interface Answered {
  readonly request: Request;
  readonly answer: Answer;
}

export const NAMESPACE = 'team-a';
export const CLUSTER = 'prod';

const RESOURCE = (group: string, plural: string): Resource => ({ group, version: 'v1beta2', plural });
const CLUSTERS = RESOURCE(CLUSTER_GROUP, CLUSTER_PLURAL);
const CONTROL_PLANES = RESOURCE(CONTROL_PLANE_GROUP, CONTROL_PLANE_PLURAL);
const CLOCK = { now: () => NOW, monotonic: () => NOW, after: () => ({ cancel: () => {} }) };
const RANDOM = { next: () => 0.5, uuid: () => '' };
const SILENT: Logger = { info: () => {}, debug: () => {}, warn: () => {}, error: () => {}, with: () => SILENT };
const OUR_SCHEMA = {
  check: async () => ({ kind: 'ours' }),
  checkRecently: async () => ({ kind: 'ours' }),
  isSettled: () => true,
} as Partial<ServedSchema> as ServedSchema;

/**
 * A pass of the product that runs up to its next requests. A pass depends only on its start and the answers that it
 * gets, so a new run with the same answers sends the same requests.
 */
export class Run {
  private readonly manager: ReturnType<typeof newManager>;
  private readonly waiting: {
    readonly request: Request;
    readonly text: string;
    readonly resolve: (answer: Answer) => void;
  }[] = [];
  private readonly known: { readonly text: string; readonly answer: Answer }[] = [];
  private end: { readonly isAsleep: boolean } | undefined;
  private defect: Error | undefined;
  private isBegun = false;

  constructor(start: ReconcileStart) {
    this.manager = newManager(start, (request) => this.ask(request));
  }

  /**
   * Continues the pass with these answers. If the model drops a run, the garbage collector removes it with its pending
   * promises.
   */
  async go(answered: readonly Answered[]): Promise<Progress> {
    const given = answered.map(({ request, answer }) => ({ text: JSON.stringify(request), answer }));
    for (const { text, answer } of given) {
      const index = this.waiting.findIndex((each) => each.text === text);
      const [asked] = index === -1 ? [] : this.waiting.splice(index, 1);
      if (asked === undefined) this.known.push({ text, answer });
      else asked.resolve(answer);
    }
    if (!this.isBegun) this.begin();
    await new Promise((resolve) => setImmediate(resolve));
    if (this.defect !== undefined) throw this.defect;
    if (this.end !== undefined) return { kind: 'ends', ...this.end, ...this.manager.leaves() };
    if (this.waiting.length === 0 || this.known.length > 0)
      throw new Error(`a reconcile hangs after ${JSON.stringify(answered.at(-1))}`);
    return { kind: 'asks', requests: this.waiting.map(({ request }) => request) };
  }

  private begin(): void {
    this.isBegun = true;
    this.manager.reconcile().then(
      ({ kind }) => (this.end = { isAsleep: kind === 'done' || kind === 'terminal' }),
      (error: unknown) => {
        // If the API server has refused or lost a request, the controller repeats the reconcile. Any other error is a
        // defect.
        if (error instanceof KubeError) this.end = { isAsleep: false };
        else this.defect = error instanceof Error ? error : new Error(String(error));
      },
    );
  }

  private ask(request: Request): Promise<Answer> {
    const text = JSON.stringify(request);
    const index = this.known.findIndex((each) => each.text === text);
    const [found] = index === -1 ? [] : this.known.splice(index, 1);
    if (found !== undefined) return Promise.resolve(found.answer);
    return new Promise((resolve) => this.waiting.push({ request, text, resolve }));
  }
}

function newManager(
  { controller, name, watchFilter, memory, cache }: ReconcileStart,
  ask: (request: Request) => Promise<Answer>,
) {
  const logger = SILENT;
  const caches: Caches = {
    ...newStores(logger),
    hasAllProfiles: false,
    clusterResource: () => CLUSTERS,
    controlPlaneResource: () => CONTROL_PLANES,
    runnables: [],
  };
  const { profiles, clusters, controlPlanes, typed } = caches;
  profiles.replaceAll(listed(cache, PLURAL), '');
  clusters.replaceAll(listed(cache, CLUSTER_PLURAL), '');
  controlPlanes.replaceAll(listed(cache, CONTROL_PLANE_PLURAL), '');

  const client = clientOf(ask);
  const parts = newReconcilerParts({ client, caches, clock: CLOCK, limits: NO_LIMITS }, { add() {} });
  remember(parts, memory);

  const events: string[] = [];
  const sessions = { open: async () => E.right(sessionOf(ask)) };
  const shared = {
    client,
    clock: CLOCK,
    random: RANDOM,
    schema: OUR_SCHEMA,
    leadership: { remaining: () => 15_000 },
    controlPlaneFinalizer: new ControlPlaneFinalizer({ client, controlPlanes, resource: () => CONTROL_PLANES }),
    accounts: new ControlPlaneAccounts(sessions),
  };
  const reconciler = (): Reconcile =>
    newReconcile({
      ...shared,
      caches,
      ...parts,
      ...(watchFilter !== undefined && { watchFilter }),
      managerRegion: undefined,
      limits: NO_LIMITS,
      sessions,
      recordTurnSpan: () => {},
      recordEviction: () => {},
      openPods: async (_session, _target, { predecessor }) => E.right(podsOf(ask, predecessor)),
      recordEvent: (_object, { reason }) => void events.push(reason),
      resync: 600_000,
    });
  const teardown = (): TeardownReconciler =>
    new TeardownReconciler({
      ...shared,
      ...typed,
      clusterResource: () => CLUSTERS,
      recorder: { record: (_object, _type, reason) => void events.push(reason) },
    });
  return {
    reconcile: () =>
      (controller === 'profile' ? reconciler() : teardown().reconcile)(keyOf(name), {
        logger,
        signal: new AbortController().signal,
      }),
    leaves: () => ({
      memory: memoryOf(parts),
      cache: cacheAfter(cache, profiles),
      events,
    }),
  };
}

const keyOf = (name: string): ObjectKey => ({ namespace: NAMESPACE, name });

const listed = (cache: Objects, plural: string): readonly KubeObject[] =>
  Object.entries(cache).flatMap(([path, object]) =>
    path.startsWith(`${plural}/`) && object !== undefined ? [object] : [],
  );

/** Returns the cache after the reconcile. The store `profiles` already contains the writes of the reconcile. */
function cacheAfter(cache: Objects, profiles: Store): Objects {
  const listing = profiles.list();
  const own = listing.kind === 'unknown' ? [] : listing.objects;
  const others = Object.entries(cache).filter(([path]) => !path.startsWith(`${PLURAL}/`));
  const known = own.map((object) => [`${PLURAL}/${object.metadata.name}`, object] as const);
  return Object.fromEntries<KubeObject | undefined>([...known, ...others]);
}

type Kept = Pick<ReturnType<typeof newReconcilerParts>, 'retryStore' | 'clusterQueues'>;

// These fields are private, because the product does not read them from outside. The model copies them, so that a later
// reconcile starts with them.
function remember({ retryStore, clusterQueues }: Kept, { retries, clusterQueues: known }: Memory): void {
  for (const [name, { uid, state }] of Object.entries(retries)) {
    const metadata = { ...keyOf(name), uid, resourceVersion: '' };
    retryStore.update({ metadata }, () => state);
  }
  for (const [queueKey, facts] of Object.entries(known))
    clusterQueues['queues'].set(queueKey, { turn: undefined, ...facts });
}

function memoryOf({ retryStore, clusterQueues }: Kept): Memory {
  // The memory of announced events is omitted: it only prevents events, and would multiply the states.
  const retries = [...retryStore['entries']]
    .map(
      ([
        key,
        {
          uid,
          state: { announced: _announced, ...state },
        },
      ]) => [key, { uid, state }] as const,
    )
    .filter(([, { state }]) => Object.keys(state).length > 0);
  return {
    retries: Object.fromEntries(retries.map(([key, entry]) => [key.slice(key.indexOf('/') + 1), entry])),
    clusterQueues: Object.fromEntries(
      [...clusterQueues['queues'].entries()].map(([queueKey, { inFlight, closed }]) => [
        queueKey,
        { inFlight, closed: closed.until <= NOW ? { until: LONG_AGO, because: '' } : closed },
      ]),
    ),
  };
}

function clientOf(ask: (request: Request) => Promise<Answer>): KubeClient {
  const send = async (request: ApiRequest): Promise<KubeObject | readonly KubeObject[] | null> => {
    const answer = await ask(request);
    if ('error' in answer) throw kubeErrorOf(answer.error);
    if (!('value' in answer)) throw new Error('the API server gives no answer of AWS');
    return answer.value;
  };
  const one = async (request: ApiRequest): Promise<KubeObject | undefined> => {
    const value = await send(request);
    return value === null || Array.isArray(value) ? undefined : (value as KubeObject);
  };
  const path = ({ plural }: Resource, { name }: ObjectKey): string => `${plural}/${name}`;
  const client: Partial<KubeClient> = {
    get: async (resource, key) =>
      resource.plural === 'namespaces'
        ? { apiVersion: 'v1', kind: 'Namespace', metadata: { name: key.name, uid: '', resourceVersion: '' } }
        : one({ to: 'api', verb: 'get', path: path(resource, key) }),
    list: async ({ plural }, { labelSelector }) => {
      const value = await send({ to: 'api', verb: 'list', path: plural, labelSelector });
      return { resourceVersion: '', items: Array.isArray(value) ? value : [] };
    },
    mergePatch: async (resource, key, patch, { subresource }) => {
      const written = await one({
        to: 'api',
        verb: 'patch',
        path: path(resource, key),
        patch: patch as UnknownRecord,
        subresource,
      });
      if (written === undefined) throw new Error('a patch has no answer');
      return written;
    },
    delete: (resource, key, { uid }) => one({ to: 'api', verb: 'delete', path: path(resource, key), uid }),
  };
  return client as KubeClient;
}

function podsOf(ask: (request: Request) => Promise<Answer>, name: string): PodAccess {
  const send = async (call: 'ListPods' | 'EvictPod'): Promise<unknown> => {
    const answer = await ask({ to: 'aws', call, name });
    if (!('right' in answer)) throw new KubeError(`${call}: no answer`, { status: 0, reason: 'NoAnswer' });
    return answer.right;
  };
  return {
    async *list() {
      yield (await send('ListPods')) as readonly ObjectMeta[];
    },
    evict: async () => (await send('EvictPod')) as Eviction,
    close: async () => {},
  };
}

export function sessionOf(ask: (request: Request) => Promise<Answer>): Session {
  const call = async <A>(request: AwsRequest): Call<A> => {
    const answer = await ask(request);
    if ('left' in answer) return E.left<AwsFailure>(answer.left);
    if (!('right' in answer)) throw new Error('AWS gives no answer of the API server');
    return E.right((answer.right ?? undefined) as A);
  };
  return {
    account: AccountId.of(ACCOUNT),
    region: REGION,
    clusterToken: async () => 'a token',
    now: () => NOW,
    clusters: { describe: () => call({ to: 'aws', call: 'DescribeCluster' }) },
    accessEntries: {
      describe: (_cluster, arn) => call({ to: 'aws', call: 'DescribeAccessEntry', arn }),
      create: (_cluster, arn) => call({ to: 'aws', call: 'CreateAccessEntry', arn }),
      delete: (_cluster, arn) => call({ to: 'aws', call: 'DeleteAccessEntry', arn }),
    },
    profiles: {
      describe: (_cluster, name) => call({ to: 'aws', call: 'DescribeFargateProfile', name }),
      list: () => call({ to: 'aws', call: 'ListFargateProfiles' }),
      create: (profile) => call({ to: 'aws', call: 'CreateFargateProfile', profile }),
      delete: (_cluster, name) => call({ to: 'aws', call: 'DeleteFargateProfile', name }),
      tag: (arn, tags) => call({ to: 'aws', call: 'TagResource', arn, tags }),
      untag: (arn, keys) => call({ to: 'aws', call: 'UntagResource', arn, keys }),
    },
    roles: {
      get: (name) => call({ to: 'aws', call: 'GetRole', name }),
      attachedPolicies: (name) => call({ to: 'aws', call: 'ListAttachedRolePolicies', name }),
      inlinePolicies: (name) => call({ to: 'aws', call: 'ListRolePolicies', name }),
      instanceProfiles: (name) => call({ to: 'aws', call: 'ListInstanceProfilesForRole', name }),
      create: (role) => call({ to: 'aws', call: 'CreateRole', role }),
      delete: (name) => call({ to: 'aws', call: 'DeleteRole', name }),
      setTrust: (name, trust) => call({ to: 'aws', call: 'UpdateAssumeRolePolicy', name, trust }),
      attach: (name, policy) => call({ to: 'aws', call: 'AttachRolePolicy', name, policy }),
      detach: (name, policy) => call({ to: 'aws', call: 'DetachRolePolicy', name, policy }),
      tag: (name, tags) => call({ to: 'aws', call: 'TagRole', name, tags }),
      untag: (name, keys) => call({ to: 'aws', call: 'UntagRole', name, keys }),
      // The model has no permissions boundaries.
    } as Partial<Session['roles']> as Session['roles'],
  };
}
