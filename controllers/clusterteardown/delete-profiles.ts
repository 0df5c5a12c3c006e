import * as E from 'fp-ts/lib/Either.js';
import { keyOf, keyText, type ObjectKey, type Resource } from 'controller-runtime/client';
import type { ReconcileContext, Requeue } from 'controller-runtime/controller';
import { type AWSFargateProfile, API_VERSION, KIND } from '../../api/v1beta2/index.ts';
import { apiRejectionFrom } from '../shared/api-rejections.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';
import { findLiveBlocker, deleteProfileObject } from '../shared/live-profiles.ts';
import { type ServedSchema, isLeftToOthers } from '../shared/crd/served-schema.ts';
import { reportRejection, BLOCKED, LEFT_TO_OTHERS, schemaUnreadable } from './requeue.ts';
import { DONE, LEASE_EXPIRED, after } from '../shared/requeue.ts';

export interface ProfileDeleterOptions extends Pick<ControllerOptions, 'client' | 'leadership' | 'recorder'> {
  /** `undefined` while the API server serves no Clusters. */
  readonly clusterResource: () => Resource | undefined;
  readonly schema: Pick<ServedSchema, 'check'>;
}

export class ProfileDeleter {
  private readonly options: ProfileDeleterOptions;
  /** For each Cluster, the UIDs of AWSFargateProfiles whose deletion an Event has reported, until none is left. */
  private readonly recorded = new Map<string, Set<string>>();
  /** For each Cluster between two batches, the previous batch's last profile, and the requeue after the last batch. */
  private readonly rounds = new Map<string, { readonly last: string; readonly requeue: Requeue }>();

  constructor(options: ProfileDeleterOptions) {
    this.options = options;
  }

  /**
   * Deletes one batch in the order of the names, and continues after a rejected or blocked deletion. `cause` describes
   * the control plane or Cluster that is being deleted. A Left ends the reconcile.
   */
  async deleteProfiles(
    cluster: ObjectKey,
    profiles: readonly AWSFargateProfile[],
    cause: string,
    context: ReconcileContext,
  ): Promise<E.Either<Requeue, Requeue>> {
    if (profiles.length === 0) {
      this.recorded.delete(keyText(cluster));
      this.rounds.delete(keyText(cluster));
      return E.right(DONE);
    }
    // Under another provider's CRD, the API server drops spec.deletionPolicy, and an AWSFargateProfile with
    // deletionPolicy Retain would be deleted.
    const schema = await this.options.schema.check(context.signal);
    if (isLeftToOthers(schema)) return E.left(LEFT_TO_OTHERS);
    if (schema.kind === 'unreadable') return E.left(schemaUnreadable(schema.reason));
    const round = this.rounds.get(keyText(cluster));
    this.rounds.delete(keyText(cluster));
    let requeue = round?.requeue ?? DONE;
    const batch = batchAfter(round?.last ?? '', profiles);
    for (const profile of batch) {
      if (this.options.leadership.remaining() <= 0) return E.left(LEASE_EXPIRED);
      requeue = (await this.deleteProfile(cluster, profile, cause, context)) ?? requeue;
    }
    if (batch.length < BATCH) return E.right(requeue);
    this.rounds.set(keyText(cluster), { last: batch.at(-1)?.metadata.name ?? '', requeue });
    return E.left(after(0, 'more profiles of the cluster are left to delete'));
  }

  /** Returns a requeue if the API server rejects the deletion, or if the deletion must wait. */
  private async deleteProfile(
    cluster: ObjectKey,
    profile: AWSFargateProfile,
    cause: string,
    context: ReconcileContext,
  ): Promise<Requeue | undefined> {
    const { client, clusterResource, recorder } = this.options;
    const { logger, signal } = context;
    try {
      const because = await findLiveBlocker(client, clusterResource(), profile, cluster, signal);
      const keys = { AWSFargateProfile: keyOf(profile) };
      if (because !== undefined) {
        logger.info('Not deleting a profile of a cluster that is torn down', { ...keys, because });
        return BLOCKED;
      }
      logger.info('Deleting profile of a cluster that is torn down', { ...keys, cause });
      await deleteProfileObject(client, profile, signal);
    } catch (error) {
      const rejection = apiRejectionFrom(error);
      if (rejection === undefined) throw error;
      return reportRejection(recorder, profile, rejection, context);
    }
    this.recordEventOnce(cluster, profile, cause);
    return undefined;
  }

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

/** How many profiles are deleted, with about three requests each, before other Clusters have their turn. */
const BATCH = 50;

/** Returns the next profiles in the order of the names. The last batch is shorter than {@link BATCH}. */
const batchAfter = (last: string, profiles: readonly AWSFargateProfile[]): readonly AWSFargateProfile[] =>
  profiles
    .filter(({ metadata }) => metadata.name > last)
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .slice(0, BATCH);
