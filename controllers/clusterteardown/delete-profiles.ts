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
  /** The version in which Clusters are read; `undefined` while the API server serves no Clusters. */
  readonly clusterResource: () => Resource | undefined;
  readonly schema: Pick<ServedSchema, 'check'>;
  readonly leadership: Leadership;
  readonly recorder: EventRecorder;
}

/**
 * The maximum number of profiles that one pass deletes. Each deletion takes three requests, so a pass ends within
 * seconds. Otherwise one large cluster would occupy a worker of this controller, and the teardowns of other clusters
 * would wait.
 */
const BATCH = 50;

/** A round tries to delete each profile of a Cluster once. With many profiles, a round takes several passes. */
interface Round {
  /** The name of the last profile that was tried. */
  readonly last: string;
  /** The time at which the next round begins. A pass that could not delete a profile replaces it. */
  readonly requeue: Requeue;
}

/** Deletes AWSFargateProfile objects of clusters that are torn down, with one Event per profile. */
export class ProfileDeleter {
  private readonly options: ProfileDeleterOptions;
  /**
   * Key of the Cluster → uids of the profiles for which the Event about the deletion was recorded. The uids of a
   * Cluster are forgotten when none of its profiles is left to delete.
   */
  private readonly recorded = new Map<string, Set<string>>();
  /** Key of the Cluster → the unfinished round over its profiles. */
  private readonly rounds = new Map<string, Round>();

  constructor(options: ProfileDeleterOptions) {
    this.options = options;
  }

  /**
   * Deletes the profiles by name, in batches: one per pass. If the API server rejects the deletion of one
   * profile, the other profiles are still deleted.
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
      this.rounds.delete(keyText(cluster));
      return E.right(DONE);
    }
    // Under a foreign CRD the API server removes spec.deletionPolicy, so a profile with deletionPolicy Retain may look
    // as if it could be deleted. A CRD that cannot be read may be a foreign one.
    const schema = await this.options.schema.check(context.signal);
    if (isLeftToOthers(schema)) return E.left(LEFT_TO_OTHERS);
    if (schema.kind === 'unreadable') return E.left(schemaUnreadable(schema.reason));
    const round = this.rounds.get(keyText(cluster));
    const left = profiles
      .filter(({ metadata }) => round === undefined || metadata.name > round.last)
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    let requeue = round?.requeue ?? DONE;
    for (const profile of left.slice(0, BATCH)) {
      // Without a valid lease nothing is deleted, because a deletion cannot be undone and the caches of a former leader
      // may be outdated.
      if (this.options.leadership.remaining() <= 0) return E.left(LEASE_EXPIRED);
      const attempt = await catchRejection(() => this.deleteProfile(cluster, profile, cause, context));
      if (attempt === 'done') continue;
      if (attempt !== 'blocked') reportRejection(this.options.recorder, profile, attempt, context);
      requeue = attempt === 'blocked' ? BLOCKED : API_REJECTED;
    }
    const next = left[BATCH];
    if (next === undefined) {
      this.rounds.delete(keyText(cluster));
      // A profile that this pass has left out may have become deletable since the round began, for example after a
      // pause.
      return E.right(requeue.kind === 'done' && left.length < profiles.length ? NEXT_ROUND : requeue);
    }
    this.rounds.set(keyText(cluster), { last: left[BATCH - 1]?.metadata.name ?? '', requeue });
    return E.left(NEXT_BATCH);
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
   * Records the Event about the deletion of a profile once. The next pass may delete the profile again, because the
   * cache does not show the deletion yet.
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

/**
 * Runs a task, and returns the rejection instead of the result if the API server rejects its request. Other errors are
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
