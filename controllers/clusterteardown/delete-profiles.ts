import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { API_VERSION, KIND } from '../../api/v1beta2/index.ts';
import type { EventRecorder } from '../../pkg/kube/events/events.ts';
import { keyOf, keyText } from '../../pkg/kube/object-key.ts';
import type { KubeClient, ObjectKey, Resource } from '../../pkg/kube/types.ts';
import type { Leadership } from '../../pkg/runtime/leadership.ts';
import type { ReconcileContext, Requeue } from '../../pkg/runtime/reconcile.ts';
import type { ApiRejection } from '../shared/api-rejections.ts';
import { apiRejectionFrom } from '../shared/api-rejections.ts';
import { findLiveBlocker } from '../shared/live-blocker.ts';
import { deleteProfileObject } from '../shared/live-profiles.ts';
import type { ServedSchema } from '../shared/crd/served-schema.ts';
import { isLeftToOthers } from '../shared/crd/served-schema.ts';
import { reportRejection } from './report-rejection.ts';
import {
  API_REJECTED,
  BLOCKED,
  DONE,
  LEASE_EXPIRED,
  LEFT_TO_OTHERS,
  NEXT_BATCH,
  NEXT_ROUND,
  schemaUnreadable,
} from './requeue.ts';

export interface ProfileDeleterOptions {
  readonly client: KubeClient;
  /** The API version in which Clusters are read; `undefined` while the API server serves no Clusters. */
  readonly clusterResource: () => Resource | undefined;
  readonly schema: Pick<ServedSchema, 'check'>;
  readonly leadership: Leadership;
  readonly recorder: EventRecorder;
}

/**
 * The maximum number of AWSFargateProfiles that one reconcile deletes. Each deletion takes three requests, so a
 * reconcile ends within seconds. Otherwise one large cluster would occupy a worker of this controller, and the deletion
 * of other clusters would wait.
 */
const BATCH = 50;

/**
 * The progress of a round, which tries to delete each AWSFargateProfile of a Cluster once. With many
 * AWSFargateProfiles, a round takes several reconciles.
 */
interface Round {
  /** The name of the last AWSFargateProfile that the round has tried to delete. */
  readonly lastTried: string;
  /**
   * The requeue with which the round will end: `done` if every deletion so far has succeeded, otherwise the requeue
   * after a rejected or skipped deletion.
   */
  readonly requeue: Requeue;
}

/** Deletes the AWSFargateProfiles of clusters that are being deleted, with one Event for each. */
export class ProfileDeleter {
  private readonly options: ProfileDeleterOptions;
  /**
   * For each Cluster key: the uids of the AWSFargateProfiles for which the Event about the deletion was recorded. The
   * uids are forgotten when the Cluster has no AWSFargateProfile left to delete.
   */
  private readonly recorded = new Map<string, Set<string>>();
  /**
   * For each Cluster key: the progress of an unfinished round, which tries to delete each of its AWSFargateProfiles
   * once.
   */
  private readonly rounds = new Map<string, Round>();

  constructor(options: ProfileDeleterOptions) {
    this.options = options;
  }

  /**
   * Deletes the AWSFargateProfiles in the order of their names, one batch for each reconcile. If the API server rejects
   * the deletion of one AWSFargateProfile, the others are still deleted. `cause` names the control plane or Cluster
   * whose deletion is the reason. A result of type Left is the requeue with which the reconcile must end.
   */
  async deleteProfiles(
    cluster: ObjectKey,
    profiles: readonly AWSFargateProfile[],
    cause: string,
    context: ReconcileContext,
  ): Promise<Either<Requeue, Requeue>> {
    if (profiles.length === 0) {
      this.recorded.delete(keyText(cluster));
      this.rounds.delete(keyText(cluster));
      return E.right(DONE);
    }
    // Nothing is deleted if the installed CRD comes from another provider or cannot be read. The reason: with another
    // provider's CRD, the API server drops spec.deletionPolicy, and an AWSFargateProfile with deletionPolicy Retain
    // would be deleted.
    const schema = await this.options.schema.check(context.signal);
    if (isLeftToOthers(schema)) return E.left(LEFT_TO_OTHERS);
    if (schema.kind === 'unreadable') return E.left(schemaUnreadable(schema.reason));
    const round = this.rounds.get(keyText(cluster));
    const left = profiles
      .filter(({ metadata }) => round === undefined || metadata.name > round.lastTried)
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    let requeue = round?.requeue ?? DONE;
    for (const profile of left.slice(0, BATCH)) {
      // Without a valid leader lease nothing is deleted, because a deletion cannot be undone and the caches of a former
      // leader may be outdated.
      if (this.options.leadership.remaining() <= 0) return E.left(LEASE_EXPIRED);
      const attempt = await catchRejection(() => this.deleteProfile(cluster, profile, cause, context));
      if (attempt === 'done') continue;
      if (attempt !== 'blocked') reportRejection(this.options.recorder, profile, attempt, context);
      requeue = attempt === 'blocked' ? BLOCKED : API_REJECTED;
    }
    const next = left[BATCH];
    if (next === undefined) {
      this.rounds.delete(keyText(cluster));
      // `profiles` still has AWSFargateProfiles of earlier batches, which this reconcile did not try to delete. Some of
      // them may be deletable only now, for example after a pause, so a new round starts.
      return E.right(requeue.kind === 'done' && left.length < profiles.length ? NEXT_ROUND : requeue);
    }
    this.rounds.set(keyText(cluster), { lastTried: left[BATCH - 1]?.metadata.name ?? '', requeue });
    return E.left(NEXT_BATCH);
  }

  private async deleteProfile(
    cluster: ObjectKey,
    profile: AWSFargateProfile,
    cause: string,
    { logger, signal }: ReconcileContext,
  ): Promise<'done' | 'blocked'> {
    const { client, clusterResource } = this.options;
    const because = await findLiveBlocker(client, clusterResource(), profile, cluster, signal);
    if (because !== undefined) {
      logger.info('Not deleting a profile of a cluster that is torn down', {
        AWSFargateProfile: keyOf(profile),
        because,
      });
      return 'blocked';
    }
    logger.info('Deleting profile of a cluster that is torn down', { AWSFargateProfile: keyOf(profile), cause });
    await deleteProfileObject(client, profile, signal);
    this.recordEventOnce(cluster, profile, cause);
    return 'done';
  }

  /** Records the Event about the deletion of an AWSFargateProfile, at most once for each uid. */
  private recordEventOnce(cluster: ObjectKey, { metadata }: AWSFargateProfile, cause: string): void {
    const key = keyText(cluster);
    const recorded = this.recorded.get(key) ?? new Set();
    if (recorded.has(metadata.uid)) return;
    this.recorded.set(key, recorded.add(metadata.uid));
    const message = `The controller deletes this AWSFargateProfile, because ${cause} is being deleted`;
    const object = { metadata, apiVersion: API_VERSION, kind: KIND };
    this.options.recorder.record(object, 'Normal', 'DeletedWithCluster', message);
  }
}

/**
 * Runs a task. If the API server rejects its request, the rejection is returned instead of a result. Other errors are
 * thrown.
 */
async function catchRejection<A>(task: () => Promise<A>): Promise<A | ApiRejection> {
  try {
    return await task();
  } catch (error) {
    const rejection = apiRejectionFrom(error);
    if (rejection === undefined) throw error;
    return rejection;
  }
}
