import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import type { KubeClient, Resource } from '../../../../pkg/kube/types.ts';
import { findLiveBlocker } from '../../../shared/live-blocker.ts';
import type { CachedProfiles, ReadRoleUsers } from './other-role-users.ts';
import { newReadRoleUsers } from './other-role-users.ts';

/**
 * Checks whose answer may not be outdated, because an outdated answer could lead to a deletion that cannot be undone.
 */
export interface LiveChecks {
  /** Returns why the controller may now delete nothing in AWS for the object; `undefined` if it may. */
  findBlocker(object: AWSFargateProfile, signal: AbortSignal): Promise<string | undefined>;
  /** Reads who uses an IAM role besides the object. */
  readonly readRoleUsers: ReadRoleUsers;
}

export const newLiveChecks = (
  client: KubeClient,
  /** The version in which the API server serves Clusters; `undefined` if it serves none. */
  clusters: () => Resource | undefined,
  /** The cache of all AWSFargateProfiles; `undefined` if the manager caches only a part of them. */
  profiles?: CachedProfiles,
): LiveChecks => ({
  findBlocker: (object, signal) => findLiveBlocker(client, clusters(), object, signal),
  readRoleUsers: newReadRoleUsers(client, profiles),
});
