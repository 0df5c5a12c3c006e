import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import type { Resource } from '../../../../pkg/kube/types.ts';
import { findLiveBlocker } from '../../../shared/live-blocker.ts';
import type { ReadRoleUsers, RoleUserSources } from './other-role-users.ts';
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

export interface LiveCheckSources extends RoleUserSources {
  /** The version in which the API server serves Clusters; `undefined` if it serves none. */
  readonly clusters: () => Resource | undefined;
}

export const newLiveChecks = (sources: LiveCheckSources): LiveChecks => ({
  findBlocker: (object, signal) => findLiveBlocker(sources.client, sources.clusters(), object, signal),
  readRoleUsers: newReadRoleUsers(sources),
});
