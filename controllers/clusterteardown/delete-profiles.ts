import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { API_VERSION, KIND } from '../../api/v1beta2/index.ts';
import type { EventRecorder } from '../../pkg/kube/events/events.ts';
import { keyOf, keyText } from '../../pkg/kube/object-key.ts';
import type { KubeClient, ObjectKey, Resource } from '../../pkg/kube/types.ts';
import type { Leadership, ReconcileContext, Requeue } from '../../pkg/runtime/types.ts';
import type { ApiRejection } from '../shared/api-rejections.ts';
import { apiRejectionFrom } from '../shared/api-rejections.ts';
import { findLiveBlocker } from '../shared/live-blocker.ts';
import { deleteProfileObject } from '../shared/live-profiles.ts';
import type { ServedSchema } from '../shared/served-schema.ts';
import { isLeftToOthers } from '../shared/served-schema.ts';
import { reportRejection } from './report-rejection.ts';
import { API_REJECTED, BLOCKED, DONE, LEASE_EXPIRED, LEFT_TO_OTHERS } from './requeue.ts';

export interface ProfileDeleterOptions {
  readonly client: KubeClient;
  /** The version in which Clusters are read; `undefined` while the API server serves no Clusters. */
  readonly clusterResource: () => Resource | undefined;
  readonly schema: Pick<ServedSchema, 'check'>;
  readonly leadership: Leadership;
  readonly recorder: EventRecorder;
}

/** Deletes AWSFargateProfile objects of clusters that are torn down, with one Event per profile. */
export class ProfileDeleter {
  private readonly options: ProfileDeleterOptions;
  /**
   * Key of the Cluster → uids of the profiles for which the Event about the deletion was recorded. The uids of a Cluster
   * are forgotten when none of its profiles is left to delete.
   */
  private readonly recorded = new Map<string, Set<string>>();

  constructor(options: ProfileDeleterOptions) {
    this.options = options;
  }

  /**
   * Deletes the profiles. If the API server rejects the deletion of one profile, the other profiles are still deleted.
   * Returns Left with the requeue if the pass must end. `cause` is the object whose deletion started the teardown.
   */
  async deleteProfiles(
    cluster: ObjectKey,
    profiles: readonly AWSFargateProfile[],
    cause: string,
    context: ReconcileContext,
  ): Promise<Either<Requeue, Requeue>> {
    if (profiles.length === 0) {
      this.recorded.delete(keyText(cluster));
      return E.right(DONE);
    }
    // Under a foreign CRD the API server removes spec.deletionPolicy, so a profile with deletionPolicy Retain may look as
    // if it could be deleted.
    if (isLeftToOthers(await this.options.schema.check(context.signal))) return E.left(LEFT_TO_OTHERS);
    let requeue = DONE;
    for (const profile of profiles) {
      // Without a valid lease nothing is deleted, because a deletion cannot be undone and the caches of a former leader may
      // be outdated.
      if (this.options.leadership.remaining() <= 0) return E.left(LEASE_EXPIRED);
      const attempt = await catchRejection(() => this.deleteProfile(cluster, profile, cause, context));
      if (attempt === 'done') continue;
      if (attempt !== 'blocked') reportRejection(this.options.recorder, profile, attempt, context);
      requeue = attempt === 'blocked' ? BLOCKED : API_REJECTED;
    }
    return E.right(requeue);
  }

  private async deleteProfile(
    cluster: ObjectKey,
    profile: AWSFargateProfile,
    cause: string,
    { logger, signal }: ReconcileContext,
  ): Promise<'done' | 'blocked'> {
    const { client, clusterResource } = this.options;
    const because = await findLiveBlocker(client, clusterResource(), profile, signal, cluster);
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

  /**
   * Records the Event about the deletion of a profile once. The next pass may delete the profile again, because the cache
   * does not show the deletion yet.
   */
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

/** Runs a task, and returns the rejection instead of the result if the API server rejects its request. Other errors are thrown. */
async function catchRejection<A>(task: () => Promise<A>): Promise<A | ApiRejection> {
  try {
    return await task();
  } catch (error) {
    const rejection = apiRejectionFrom(error);
    if (rejection === undefined) throw error;
    return rejection;
  }
}
