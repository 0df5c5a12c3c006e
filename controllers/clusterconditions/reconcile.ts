import { CLUSTER_KIND, CLUSTER_GROUP, CLUSTER_PLURAL } from '../../api/external/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import { formatTimestamp } from '../../pkg/env/timestamp.ts';
import type { Store } from '../../pkg/kube/cache/store.ts';
import { isConflict, isNotFound } from '../../pkg/kube/errors.ts';
import { keyText } from '../../pkg/kube/object-key.ts';
import { NOT_GRANTED } from '../../pkg/kube/permission-remedies.ts';
import type { KubeClient, KubeObject, ObjectKey, Resource } from '../../pkg/kube/types.ts';
import type { ReconcileContext, Requeue } from '../../pkg/runtime/reconcile.ts';
import { apiRejectionFrom, describeApiRejection } from '../shared/api-rejections.ts';
import { BY_CLUSTER } from '../shared/caches.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';
import { FARGATE_PROFILES_READY, decide, findCondition, type Action } from './decide.ts';
import { DONE, LEASE_EXPIRED, after, backOff, CONFLICT } from '../shared/requeue.ts';

/** What a user can do if the controller may not write the status of Clusters. The text has no full stop at its end. */
const GRANT_CLUSTER_STATUS =
  'Apply the ClusterRole and the ClusterRoleBinding capaf-system-cluster-conditions (config/components/cluster-conditions)';

const REJECTION_INTERVAL: Ms = 5 * 60_000;
/** Between two writes of one Cluster. Changes of its AWSFargateProfiles in this time are written together. */
const MIN_INTERVAL: Ms = 5_000;

interface ClusterConditionOptions extends Pick<ControllerOptions, 'watchFilter' | 'leadership' | 'recorder' | 'clock'> {
  readonly client: Pick<KubeClient, 'apply'>;
  readonly profiles: Pick<Store, 'byIndex'>;
  readonly clusters: Pick<Store, 'lookup' | 'replaceWith'>;
}

/** Reconciles the condition of one Cluster: reads caches, and writes the status of the Cluster at most once. */
export class ClusterConditionReconciler {
  private readonly options: ClusterConditionOptions;
  /** Key of a Cluster → the monotonic time before which its status is not written again. */
  private readonly notBefore = new Map<string, Ms>();
  /** Key → uid of each Cluster whose condition another client has set too, so that this controller cannot remove it. */
  private readonly coOwned = new Map<string, string>();

  constructor(options: ClusterConditionOptions) {
    this.options = options;
  }

  readonly reconcile = async (key: ObjectKey, context: ReconcileContext): Promise<Requeue> => {
    const { clusters, profiles, watchFilter, clock, leadership } = this.options;
    const found = clusters.lookup(key);
    if (found.kind === 'absent') return this.forget(key);
    // Once the API server serves Clusters, all of them are enqueued, so no requeue is needed.
    if (found.kind === 'unknown') return DONE;
    const delay = (this.notBefore.get(keyText(key)) ?? 0) - clock.monotonic();
    if (delay > 0) return after(delay, 'the condition was written a moment ago');
    const listing = profiles.byIndex(BY_CLUSTER, keyText(key));
    if (listing.kind === 'unknown') return backOff(listing.reason);
    const cluster = found.object;
    const timestamp = formatTimestamp(clock.now());
    const action = decide({ cluster, profiles: listing.objects, watchFilter, timestamp });
    if (action.kind === 'none' || this.isCoOwned(key, cluster, action)) return DONE;
    if (leadership.remaining() <= 0) return LEASE_EXPIRED;
    try {
      return await this.carryOut(key, cluster, action, context);
    } catch (error) {
      if (isConflict(error)) return CONFLICT;
      // The Cluster has been deleted, and the watch event of its deletion starts the next reconcile.
      if (isNotFound(error)) return DONE;
      return this.reportRejection(key, cluster, error, context);
    }
  };

  private async carryOut(
    key: ObjectKey,
    cluster: KubeObject,
    action: Exclude<Action, { readonly kind: 'none' }>,
    { logger, signal }: ReconcileContext,
  ): Promise<Requeue> {
    const { client, clusters, clock } = this.options;
    const condition = action.kind === 'set' ? action.condition : undefined;
    const { apiVersion, kind, metadata } = cluster;
    // The conditions are a list with the key `type`. A server-side apply changes only this element and needs no
    // resourceVersion, so it never conflicts with Cluster API's core. The API server removes the element only if no
    // other field manager has set it, and rejects the write by the uid if a new Cluster has the same name.
    const configuration = {
      apiVersion,
      kind,
      metadata: { ...key, uid: metadata.uid },
      ...(condition !== undefined && { status: { conditions: [condition] } }),
    };
    const options = { subresource: 'status', fieldManager: FIELD_MANAGER, signal } as const;
    const written = await client.apply(CLUSTERS, key, configuration, options);
    this.notBefore.set(keyText(key), clock.monotonic() + MIN_INTERVAL);
    clusters.replaceWith(written);
    if (condition !== undefined) {
      logger.info('Set the condition of a Cluster', { type: condition.type, status: condition.status });
      this.coOwned.delete(keyText(key));
    } else if (findCondition(written, FARGATE_PROFILES_READY) !== undefined) {
      this.coOwned.set(keyText(key), metadata.uid);
    } else logger.info('Removed the condition of a Cluster', { type: FARGATE_PROFILES_READY });
    return DONE;
  }

  private isCoOwned(key: ObjectKey, { metadata }: KubeObject, { kind }: Action): boolean {
    return kind === 'remove' && this.coOwned.get(keyText(key)) === metadata.uid;
  }

  /** Reports a rejection that only a user can end. Throws any other error again, for a retry with backoff. */
  private reportRejection(key: ObjectKey, cluster: KubeObject, error: unknown, { logger }: ReconcileContext): Requeue {
    const { recorder, clock } = this.options;
    const rejection = apiRejectionFrom(error);
    if (rejection === undefined) throw error;
    this.notBefore.set(keyText(key), clock.monotonic() + REJECTION_INTERVAL);
    const remedy = NOT_GRANTED.test(rejection.message) ? GRANT_CLUSTER_STATUS : rejection.remedy;
    logger.warn('The API server refuses to change the condition of a Cluster', {
      [CLUSTER_KIND]: key,
      rejection: rejection.message,
      remedy,
    });
    recorder.record(cluster, 'Warning', 'APIServerRefused', `${describeApiRejection(rejection)}. ${remedy}`);
    return after(REJECTION_INTERVAL, 'the API server refuses a request');
  }

  private forget(key: ObjectKey): Requeue {
    this.notBefore.delete(keyText(key));
    this.coOwned.delete(keyText(key));
    return DONE;
  }
}

const FIELD_MANAGER = 'capaf-cluster-conditions';

const CLUSTERS: Resource = { group: CLUSTER_GROUP, version: 'v1beta2', plural: CLUSTER_PLURAL };
