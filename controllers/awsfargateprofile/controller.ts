import type { Store } from 'controller-runtime/cache';
import {
  type Eviction,
  type KubeClient,
  type KubeObject,
  type ObjectKey,
  parseKeyText,
} from 'controller-runtime/client';
import { Controller, type Reconcile } from 'controller-runtime/controller';
import type { Leadership } from 'controller-runtime/election';
import type { Clock, Ms, Random } from 'controller-runtime/env';
import type { EventRecorder } from 'controller-runtime/events';
import { fieldAt } from 'controller-runtime/json';
import type { Logger } from 'controller-runtime/log';
import type { Runnable } from 'controller-runtime/manager';
import type { Metrics } from 'controller-runtime/metrics';
import { LockQueue, Workqueue } from 'controller-runtime/queue';
import { API_VERSION, GROUP, KIND } from '../../api/v1beta2/index.ts';
import type { Sessions } from '../../pkg/cloud/index.ts';
import type { OperatorLimits } from '../../pkg/fargate/operator-limits.ts';
import { type Caches, clusterOf, controlPlaneOf } from '../shared/caches.ts';
import type { ControlPlaneAccounts } from '../shared/control-plane/control-plane-accounts.ts';
import type { ControlPlaneFinalizer } from '../shared/control-plane/control-plane-finalizer.ts';
import type { ServedSchema } from '../shared/crd/served-schema.ts';
import type { Identities } from '../identities/identities.ts';
import type { ClusterQueueMetrics, ProfileMetrics } from './report/metrics.ts';
import type { OpenPods } from './drain/open-pods.ts';
import { ClusterQueues } from './cluster-queue.ts';
import { Competition } from './overlap/condition.ts';
import { overlapController } from './overlap/controller.ts';
import { onlyUnderOurSchema } from './unreadable.ts';
import { clusterKeyOf, newLiveInputs } from './goal/inputs.ts';
import { newFindLiveBlocker } from './guards/checks.ts';
import { newLiveRoleUsers } from './guards/role-users/live-objects.ts';
import type { EventSpec } from './report/step-events.ts';
import { ProfileWriter } from '../shared/profile-writer.ts';
import { RetryStore } from './retry-state.ts';
import { type ReconcilerOptions, Reconciler } from './reconcile.ts';
import { connectWatches } from './watches.ts';

const NAME = 'awsfargateprofile';

export interface ReconcilerEnvironment {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly controlPlaneFinalizer: ControlPlaneFinalizer;
  readonly schema: ServedSchema;
  readonly sessions: Sessions;
  readonly limits: OperatorLimits;
  /** The value of the label `cluster.x-k8s.io/watch-filter`. If undefined, this manager reconciles all objects. */
  readonly watchFilter?: string;
  readonly managerRegion: string | undefined;
  readonly accounts: ControlPlaneAccounts;
  readonly openPods: OpenPods;
  readonly leadership: Leadership;
  readonly clock: Clock;
  readonly random: Random;
  readonly resync: Ms;
}

export interface AWSFargateProfileControllerOptions extends ReconcilerEnvironment {
  readonly identities: Pick<Identities, 'onChange'>;
  readonly recorder: EventRecorder;
  readonly metrics: Metrics;
  readonly clusterQueueMetrics: ClusterQueueMetrics;
  readonly profileMetrics: ProfileMetrics;
  readonly logger: Logger;
  /** How many objects with the same namespace, region, and identity can be reconciled at the same time. */
  readonly concurrency: number;
}

export function awsFargateProfileControllers(options: AWSFargateProfileControllerOptions): readonly Runnable[] {
  const { caches, leadership, recorder, metrics, clock, random, logger } = options;
  const { identities, concurrency, resync, clusterQueueMetrics } = options;
  // Each group (a namespace's objects with the same region and identity) and each namespace has its own limit, so that
  // a region, account, or tenant whose calls hang does not occupy all slots.
  const slots = { group: concurrency, namespace: 4 * concurrency, total: 40 * concurrency };
  const queue = new Workqueue({
    clock,
    metrics: metrics.workqueue(NAME),
    slots,
    groupOf: (key) => groupOf(caches, key),
  });
  const kept = newReconcilerParts(options, queue);
  const { profileWriter, competition, clusterQueues, retryStore } = kept;
  options.profileMetrics.watch({ store: caches.profiles, profiles: caches.typed.profiles, leadership });
  clusterQueueMetrics.watchWaiting(() => retryStore.waitingForTurn);
  const parts = {
    ...kept,
    recordTurnSpan: (span: Ms) => clusterQueueMetrics.recordWait(span),
    recordEviction: (answer: Eviction['kind']) => options.profileMetrics.recordEviction(answer),
    recordEvent: ({ metadata }: Pick<KubeObject, 'metadata'>, { type, reason, message }: EventSpec) =>
      recorder.record({ metadata, apiVersion: API_VERSION, kind: KIND }, type, reason, message),
  };
  connectWatches({ caches, identities, queue, clusterQueues, profileWriter, retryStore, clock, random, resync });
  const controller = new Controller({
    name: NAME,
    object: { group: GROUP, kind: KIND },
    concurrency: slots.total,
    queue,
    reconcile: newReconcile({ ...options, ...parts }),
    clock,
    random,
    logger,
    metrics: metrics.controller(NAME),
  });
  return [controller, overlapController({ ...options, profileWriter, competition })];
}

export type ReconcilerParts = ReturnType<typeof newReconcilerParts> &
  Pick<ReconcilerOptions, 'recordTurnSpan' | 'recordEviction' | 'recordEvent'>;

/** Creates the state that a reconciler keeps between reconciles. Parts of this state enqueue objects in `queue`. */
export function newReconcilerParts(
  { client, caches, limits, clock }: Pick<ReconcilerEnvironment, 'client' | 'caches' | 'limits' | 'clock'>,
  queue: Pick<Workqueue, 'add'>,
) {
  const { profiles } = caches.typed;
  const retryStore = new RetryStore(clock);
  const onForeignChange = (key: ObjectKey): void => queue.add(key);
  return {
    retryStore,
    competition: new Competition(profiles, limits),
    profileWriter: new ProfileWriter({ client, store: caches.profiles, profiles, onForeignChange }),
    clusterQueues: new ClusterQueues({
      clock,
      caches,
      retryStore,
      // All other objects of the EKS cluster wait for the first one (cluster-queue.ts), so its reconcile is urgent.
      wake: (key, place) => queue.add(key, place === 'first' ? 'urgent' : 'normal'),
    }),
    roleLocks: new LockQueue((id) => queue.add(parseKeyText(id), 'urgent')),
  };
}

export function newReconcile(options: ReconcilerEnvironment & ReconcilerParts): Reconcile {
  const { client, caches, clock, limits, managerRegion, accounts, schema, watchFilter } = options;
  const withCaches = { ...options, ...caches.typed };
  const { reconcile } = new Reconciler({
    ...withCaches,
    findLiveBlocker: newFindLiveBlocker({
      client,
      clusters: caches.clusterResource,
      clusterKeyOf: (object) => clusterKeyOf(object, { ...caches.typed, limits, managerRegion, accounts }),
    }),
    roleUsers: newLiveRoleUsers({
      client,
      clock,
      profiles: caches.hasAllProfiles ? caches.typed.profiles : undefined,
      schema,
      watchFilter,
    }),
    readLiveInputs: newLiveInputs(client, {
      clusters: caches.clusterResource,
      controlPlanes: caches.controlPlaneResource,
    }),
  });
  return onlyUnderOurSchema(reconcile, withCaches);
}

/**
 * Groups objects by region and identity. Reads undecoded fields, because the workqueue calls this function for each key
 * that becomes ready.
 */
export function groupOf(
  { profiles, clusters, controlPlanes }: Pick<Caches, 'profiles' | 'clusters' | 'controlPlanes'>,
  key: ObjectKey,
): string {
  const object = find(profiles, key);
  if (object === undefined) return '';
  const [cluster] = clusterOf(object);
  const controlPlane = find(controlPlanes, findReference(find(clusters, parse(cluster))));
  const named = controlPlane?.['spec'] ?? fieldAt(object['spec'], 'eksCluster') ?? object['status'];
  return [regionOf(named) || regionOf(object['status']), identityOf(named)].join(' ');
}

const regionOf = (target: unknown): string => textOf(fieldAt(target, 'region'));

const identityOf = (target: unknown): string => {
  const identityRef = fieldAt(target, 'identityRef');
  return [fieldAt(identityRef, 'kind'), fieldAt(identityRef, 'name')].map(textOf).join('/');
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const parse = (key: string | undefined): ObjectKey | undefined => (key === undefined ? undefined : parseKeyText(key));

const findReference = (cluster: KubeObject | undefined): ObjectKey | undefined =>
  parse(cluster === undefined ? undefined : controlPlaneOf(cluster)[0]);

function find(store: Store, key: ObjectKey | undefined): KubeObject | undefined {
  const lookup = key === undefined ? undefined : store.lookup(key);
  return lookup?.kind === 'found' ? lookup.object : undefined;
}
