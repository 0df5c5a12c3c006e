import * as E from 'fp-ts/lib/Either.js';
import { type AwsFailure, type Session, describeFailure, isRefused } from '../../../pkg/cloud/index.ts';
import { type Looking, type Observed, type ProfilesAndRoles, foundRoles } from '../model/observed-state.ts';

/**
 * Each reconcile that may delete a profile or role while the EKS cluster is being deleted asks EKS, because a user can
 * switch the protection at any time. Returns `undefined` if no decision depends on the protection. If EKS omits the
 * field, the protection is off.
 */
export async function readDeletionProtection(
  clusters: Pick<Session['clusters'], 'describe'>,
  { isLeavingWithCluster, identity }: Looking,
  { depth, cluster, profiles, roles }: ProfilesAndRoles,
): Promise<E.Either<AwsFailure, Observed['deletionProtection']>> {
  const isAnythingFound = profiles.length > 0 || foundRoles(roles).length > 0;
  if (!isLeavingWithCluster || depth !== 'survey' || cluster === 'gone' || !isAnythingFound) return E.right(undefined);
  const described = await clusters.describe(identity.eksCluster);
  if (E.isRight(described)) return E.right({ kind: described.right?.deletionProtection === true ? 'on' : 'off' });
  return isRefused(described.left)
    ? E.right({ kind: 'unreadable', refusal: describeFailure(described.left) })
    : E.left(described.left);
}
