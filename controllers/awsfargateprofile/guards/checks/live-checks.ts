import * as E from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import type { ObjectKey, Resource } from '../../../../pkg/kube/types.ts';
import type { ServedSchema } from '../../../shared/crd/served-schema.ts';
import { findLiveBlocker } from '../../../shared/live-profiles.ts';
import { isDestructive } from '../../model/mutation.ts';
import { reasonForSchema } from '../../reasons/reason-for-crd.ts';
import { newReason } from '../../reasons/reasons.ts';
import { type Check, stop } from '../guards.ts';
import { type ReadRoleUsers, type RoleUserSources, newReadRoleUsers } from './other-role-users.ts';

/**
 * Checks whose answer must not be outdated, because an outdated answer could lead to a deletion that cannot be undone.
 */
export interface LiveChecks {
  /**
   * Returns the reason why the controller must not delete anything in AWS for the object now; `undefined` if it may
   * delete.
   */
  findBlocker(object: AWSFargateProfile, signal: AbortSignal): Promise<string | undefined>;
  /** Reads who uses an IAM role besides the object. */
  readonly readRoleUsers: ReadRoleUsers;
}

export interface LiveCheckSources extends RoleUserSources {
  /** The version in which the API server serves Clusters; `undefined` if it serves none. */
  readonly clusters: () => Resource | undefined;
  /**
   * Returns the key of the Cluster whose pause is a pause of the object too; `undefined` if there is none. Returns Left
   * with the reason while this is not known.
   */
  readonly clusterKeyOf: (object: AWSFargateProfile) => E.Either<string, ObjectKey | undefined>;
}

export const newLiveChecks = (sources: LiveCheckSources): LiveChecks => ({
  findBlocker: async (object, signal) => {
    const cluster = sources.clusterKeyOf(object);
    return E.isLeft(cluster)
      ? cluster.left
      : findLiveBlocker(sources.client, sources.clusters(), object, cluster.right, signal);
  },
  readRoleUsers: newReadRoleUsers(sources),
});

export interface DeletionCheckServices {
  readonly live: LiveChecks;
  readonly schema: Pick<ServedSchema, 'check'>;
}

/** Returns the checks that ask the API server whether the controller may still delete AWS resources of the object. */
export const newDeletionChecks = (services: DeletionCheckServices): readonly Check[] => [
  noLiveBlocker(services),
  schemaIsOurs(services),
];

/**
 * Returns a check that holds back deletions in AWS if the object is paused, changed or gone, or if `clusterctl move` is
 * moving it. The check asks the API server, because the cache may not show the newest change yet.
 */
export function noLiveBlocker({ live }: Pick<DeletionCheckServices, 'live'>): Check {
  return async (mutation, { object, signal }) => {
    if (!isDestructive(mutation)) return undefined;
    const because = await live.findBlocker(object, signal);
    return because === undefined ? undefined : stop(newReason('NotNow', { because }));
  };
}

/**
 * Returns a check that holds back deletions in AWS while another CRD for AWSFargateProfiles is installed, such as the
 * CRD of Cluster API Provider AWS. The API server hides fields that this CRD lacks, so `deletionPolicy: Retain` may be
 * invisible. Each reconcile checks the CRD also at its start, but that answer may be outdated before the deletion.
 */
export function schemaIsOurs({ schema }: Pick<DeletionCheckServices, 'schema'>): Check {
  return async (mutation, { signal }) => {
    const reason = isDestructive(mutation) ? reasonForSchema(await schema.check(signal)) : undefined;
    return reason && stop(reason);
  };
}
