import { API_VERSION, GROUP, KIND } from '../../api/v1beta2/index.ts';
import type { Sessions } from '../../pkg/cloud/index.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import type { Random } from '../../pkg/env/random.ts';
import type { OperatorLimits } from '../../pkg/fargate/operator-limits.ts';
import type { EventRecorder } from '../../pkg/kube/events/events.ts';
import type { Eviction } from '../../pkg/kube/evictions.ts';
import { parseKeyText } from '../../pkg/kube/object-key.ts';
import type { KubeClient, KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import { Controller } from '../../pkg/runtime/controller.ts';
import { LockQueue } from '../../pkg/runtime/queue/lock-queue.ts';
import type { Metrics } from '../../pkg/runtime/metrics.ts';
import type { Reconcile } from '../../pkg/runtime/reconcile.ts';
import type { Leadership } from '../../pkg/runtime/leadership.ts';
import type { Runnable } from '../../pkg/runtime/runnable.ts';
import { Workqueue } from '../../pkg/runtime/queue/workqueue.ts';
import type { Caches } from '../shared/caches.ts';
import type { ControlPlaneAccounts } from '../shared/control-plane/control-plane-accounts.ts';
import type { ControlPlaneFinalizer } from '../shared/control-plane/control-plane-finalizer.ts';
import type { ServedSchema } from '../shared/crd/served-schema.ts';
import type { Identities } from '../identities/identities.ts';
import type { OpenPods } from './drain/open-pods.ts';
import type { LaneMetrics } from './lane-metrics.ts';
import { Lanes } from './lane.ts';
import { groupOf } from './queue-group.ts';
import { overlapController } from './overlap-controller.ts';
import { onlyUnderOurSchema } from './foreign-crd.ts';
import { clusterKeyOf } from './goal/inputs.ts';
import { newLiveChecks } from './guards/checks/live-checks.ts';
import { newLiveInputs } from './guards/checks/live-inputs.ts';
import { newLiveRoleUsers } from './guards/role-users/live-users.ts';
import type { EventSpec } from './status/events.ts';
import type { ProfileMetrics } from './status/profile-metrics.ts';
import { ProfileWriter } from '../shared/profile-writer.ts';
import { RetryStore } from './retry/retry-store.ts';
import { type ReconcilerOptions, Reconciler } from './reconcile.ts';
import { connectWatches } from './watches.ts';

const NAME = 'awsfargateprofile';

export interface AWSFargateProfileControllerOptions {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly controlPlaneFinalizer: ControlPlaneFinalizer;
  readonly identities: Pick<Identities, 'onChange'>;
  readonly schema: ServedSchema;
  readonly sessions: Sessions;
  readonly limits: OperatorLimits;
  /**
   * The value of the label `cluster.x-k8s.io/watch-filter` of the objects that this manager reconciles; undefined: all.
   */
  readonly watchFilter?: string;
  readonly managerRegion: string | undefined;
  readonly accounts: ControlPlaneAccounts;
  readonly leadership: Leadership;
  readonly recorder: EventRecorder;
  readonly metrics: Metrics;
  readonly openPods: OpenPods;
  readonly laneMetrics: LaneMetrics;
  readonly profileMetrics: ProfileMetrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** How many objects of one namespace, region and identity are reconciled at the same time. */
  readonly concurrency: number;
  readonly resync: Ms;
}

export function awsFargateProfileControllers(options: AWSFargateProfileControllerOptions): readonly Runnable[] {
  const { caches, leadership, recorder, metrics, clock, random, logger } = options;
  const { identities, concurrency, resync, laneMetrics } = options;
  // One region, account or tenant that hangs holds the slots of its groups and of its namespace, and nothing else.
  const slots = { group: concurrency, namespace: 4 * concurrency, total: 40 * concurrency };
  const queue = new Workqueue({
    clock,
    metrics: metrics.workqueue(NAME),
    slots,
    groupOf: (key) => groupOf(caches, key),
  });
  const kept = newReconcilerParts(options, queue);
  const { profileWriter, lanes, retryStore } = kept;
  options.profileMetrics.watch({ store: caches.profiles, profiles: caches.typed.profiles, leadership });
  laneMetrics.watchWaiting(() => retryStore.waitingForTurn);
  const parts = {
    ...kept,
    recordTurnWait: (span: Ms) => laneMetrics.recordWait(span),
    recordEviction: (answer: Eviction['kind']) => options.profileMetrics.recordEviction(answer),
    recordEvent: ({ metadata }: Pick<KubeObject, 'metadata'>, { type, reason, message }: EventSpec) =>
      recorder.record({ metadata, apiVersion: API_VERSION, kind: KIND }, type, reason, message),
  };
  connectWatches({ caches, identities, queue, lanes, profileWriter, retryStore, clock, random, resync });
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
  return [controller, overlapController({ ...options, profileWriter })];
}

/** What a reconciler needs besides its own parts. */
export type ReconcilerEnvironment = Pick<
  AWSFargateProfileControllerOptions,
  | 'client'
  | 'caches'
  | 'controlPlaneFinalizer'
  | 'schema'
  | 'sessions'
  | 'limits'
  | 'watchFilter'
  | 'managerRegion'
  | 'accounts'
  | 'openPods'
  | 'leadership'
  | 'clock'
  | 'random'
  | 'resync'
>;

export type ReconcilerParts = Pick<
  ReconcilerOptions,
  'profileWriter' | 'lanes' | 'recordTurnWait' | 'recordEviction' | 'roleLocks' | 'retryStore' | 'recordEvent'
>;

/** What a reconciler keeps between passes. It asks `queue` for passes. */
export function newReconcilerParts(
  { client, caches, clock }: Pick<ReconcilerEnvironment, 'client' | 'caches' | 'clock'>,
  queue: Pick<Workqueue, 'add' | 'demote'>,
) {
  const { profiles } = caches.typed;
  const retryStore = new RetryStore(clock);
  const onForeignChange = (key: ObjectKey): void => queue.add(key);
  return {
    retryStore,
    profileWriter: new ProfileWriter({ client, store: caches.profiles, profiles, onForeignChange }),
    lanes: new Lanes({
      clock,
      profiles,
      isStoppedOtherwise: (object) => retryStore.isStoppedOtherwise(object),
      // The other objects of the cluster wait for the first.
      wake: (key, place) => queue.add(key, place === 'first' ? 'urgent' : 'normal'),
      overtaken: (key) => queue.demote(key),
    }),
    roleLocks: new LockQueue((id) => queue.add(parseKeyText(id), 'urgent')),
  };
}

/** What the controller does with one AWSFargateProfile. */
export function newReconcile(options: ReconcilerEnvironment & ReconcilerParts): Reconcile {
  const { client, caches, clock, limits, managerRegion, accounts, schema, watchFilter } = options;
  const withCaches = { ...options, ...caches.typed };
  const { reconcile } = new Reconciler({
    ...withCaches,
    live: newLiveChecks({
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
