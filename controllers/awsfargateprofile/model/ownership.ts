import type { AWSFargateProfile, AdoptionPolicy } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { type Ownership, profileOwnership, roleOwnership } from '../../../pkg/fargate/ownership.ts';
import type { ObjectIdentity } from './desired-state.ts';
import type { FoundRole } from './observed-state.ts';

interface Owner {
  readonly identity: ObjectIdentity;
  readonly adoptionPolicy: AdoptionPolicy;
}

export const ownerOf = ({ spec }: Pick<AWSFargateProfile, 'spec'>, identity: ObjectIdentity): Owner => ({
  identity,
  adoptionPolicy: spec.adoptionPolicy ?? 'Owned',
});

/**
 * Under adoptionPolicy `Never`, a profile with only the tag of Cluster API Provider AWS counts as one of another owner.
 */
export function ownershipOf({ identity, adoptionPolicy }: Owner, found: FargateProfile): Ownership {
  const ownership = profileOwnership(found, identity);
  return ownership.kind === 'ours' && !ownership.stamped && adoptionPolicy === 'Never'
    ? {
        kind: 'foreign',
        whose: 'Cluster API Provider AWS, and spec.adoptionPolicy Never forbids its adoption',
        claimed: true,
      }
    : ownership;
}

/** All profiles of the EKS cluster that tags prove to be this object's, under whatever names. */
export const oursOf = (owner: Owner, profiles: readonly FargateProfile[]): readonly FargateProfile[] =>
  profiles.filter((found) => ownershipOf(owner, found).kind === 'ours');

export const isRoleTaggedOurs = (
  { identity }: Pick<Owner, 'identity'>,
  found: Pick<FoundRole, 'name' | 'tags'>,
): boolean => roleOwnership(found, identity).kind === 'ours';
