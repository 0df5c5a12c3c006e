import type { AccountId, ProfileName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { type AwsLocation, clusterArn } from '../../../pkg/fargate/arns.ts';
import { profileNameFor, roleNameFor, roleNamesOfCapa } from '../../../pkg/fargate/names.ts';
import {
  type AdoptableNames,
  type Ownership,
  profileOwnership,
  roleOwnership,
} from '../../../pkg/fargate/ownership.ts';
import type { Desired, ObjectIdentity } from './desired-state.ts';
import type { Target, TargetSource } from '../goal/target.ts';
import { type FargateProfile, partitionOf } from '../../../pkg/cloud/index.ts';
import type { FoundRole } from './observed-state.ts';

/** The partition follows from the region, as for the endpoints of EKS and IAM. */
export const placeOf = ({ region }: Target, account: AccountId): AwsLocation => ({
  partition: partitionOf(region),
  region,
  account,
});

/** `base` is the name from which the names of the role and of replacements derive. */
export function identityOf(
  object: AWSFargateProfile,
  inputs: { readonly target: Target; readonly targetSource: TargetSource; readonly account: AccountId },
  base: ProfileName,
): ObjectIdentity {
  const { target, targetSource, account } = inputs;
  const capaRoleNames = roleNamesOfCapa({
    clusterName: target.clusterName,
    eksClusterName: target.eksCluster,
    profileName: base,
  });
  return {
    namespace: object.metadata.namespace,
    name: object.metadata.name,
    clusterName: target.clusterName,
    eksCluster: target.eksCluster,
    eksClusterArn: clusterArn(placeOf(target, account), target.eksCluster),
    profileName: base,
    capaRoleNames,
    adoptionPolicy: object.spec.adoptionPolicy ?? 'Owned',
    adoptable:
      targetSource === 'controlPlane' ? { profile: base, roles: capaRoleNames } : namesWithNamespace(object, target),
  };
}

/**
 * Each adoptable name contains the namespace or its hash, so a client that may write only the record and the status of
 * objects in one namespace cannot make the controller adopt another namespace's resources.
 */
function namesWithNamespace({ metadata }: AWSFargateProfile, { clusterName, eksCluster }: Target): AdoptableNames {
  const profile = profileNameFor(metadata);
  return { profile, roles: [roleNameFor(clusterName ?? eksCluster, profile)] };
}

type Owner = Pick<Desired, 'identity'>;

/** Under adoptionPolicy `Never`, a profile with only the tag of Cluster API Provider AWS counts as another owner's. */
export function ownershipOf({ identity }: Owner, found: FargateProfile): Ownership {
  const ownership = profileOwnership(found, identity);
  return ownership.kind === 'ours' && !ownership.stamped && identity.adoptionPolicy === 'Never'
    ? {
        kind: 'foreign',
        whose: 'Cluster API Provider AWS, and spec.adoptionPolicy Never forbids its adoption',
        claimed: true,
      }
    : ownership;
}

/** Whether the profile has this controller's tags, and not only those of Cluster API Provider AWS. */
export function isStamped(owner: Owner, found: FargateProfile): boolean {
  const ownership = ownershipOf(owner, found);
  return ownership.kind === 'ours' && ownership.stamped;
}

/**
 * Returns the profiles whose tags show that they are this owner's. Their names do not count. Another management cluster
 * may have created some of them for a copy of the object (managed-elsewhere.ts).
 */
export const oursOf = (owner: Owner, profiles: readonly FargateProfile[]): readonly FargateProfile[] =>
  profiles.filter((found) => ownershipOf(owner, found).kind === 'ours');

export const isRoleTaggedOurs = ({ identity }: Owner, found: Pick<FoundRole, 'name' | 'tags'>): boolean =>
  roleOwnership(found, identity).kind === 'ours';

/** True if this controller manages the desired role, or will create it. */
export const isManagedHere = (
  { role, identity }: Pick<Desired, 'role' | 'identity'>,
  found: FoundRole | undefined,
): boolean => role?.kind === 'managed' && (found === undefined || isRoleTaggedOurs({ identity }, found));
