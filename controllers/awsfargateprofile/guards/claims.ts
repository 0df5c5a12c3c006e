import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import { missingProfileTags, missingRoleTags } from '../../../pkg/fargate/ownership.ts';
import { findProfile, findRole } from '../decide/compare.ts';
import { type Mutation, isRoleRemoval, subjectOf } from '../model/mutation.ts';
import type { PassState } from './pass-state.ts';

/**
 * The Fargate profiles and IAM roles that running reconciles have claimed, by AWS account and name. The lock of a role
 * serves one namespace only, because a tenant may name any role. Claims keep the namespaces apart where it matters:
 *
 * - Objects of two namespaces may have computed the name of a resource of Cluster API Provider AWS that no tag of this
 *   controller assigns to one of them. One reconcile at a time relies on that name.
 * - No reconcile creates a role or a profile with a role while another reconcile removes the role of this name.
 *
 * A tenant cannot claim a resource of others, because a reconcile claims only what belongs to its object, or what its
 * object may adopt.
 */
export class Claims {
  private readonly holders = new Map<string, PassState>();

  /**
   * Whether no other reconcile has claimed the resource of the change. If the change needs a claim, the reconcile then
   * holds the claim until {@link release}.
   */
  tryClaim(mutation: Mutation, pass: PassState): boolean {
    const key = claimKey(mutation, pass);
    if (key === undefined) return true;
    const holder = this.holders.get(key) ?? pass;
    const isCreation = mutation.kind === 'createRole' || mutation.kind === 'createProfile';
    if (holder === pass && !isCreation) this.holders.set(key, pass);
    return holder === pass;
  }

  release(pass: PassState): void {
    for (const [key, holder] of this.holders) if (holder === pass) this.holders.delete(key);
  }
}

function claimKey(mutation: Mutation, pass: PassState): string | undefined {
  const { account, region } = pass.desired.place;
  const roleKey = (name: string): string => `${account}/${name.toLowerCase()}`;
  if (mutation.kind === 'createRole' || mutation.kind === 'createProfile') {
    const role = pass.desired.wanted?.role.name;
    return role && roleKey(role);
  }
  const name = subjectOf(mutation);
  const isOfRole = mutation.kind === 'tagRole' || isRoleRemoval(mutation);
  if (!isRoleRemoval(mutation) && tagsWithoutOwner(mutation, pass) === undefined) return undefined;
  return isOfRole ? roleKey(name) : `${account}/${region}/${pass.target.eksCluster}/${name}`;
}

/**
 * Returns the tags of the Fargate profile or IAM role that the mutation changes, as this reconcile has read them, if
 * they lack a tag by which this controller recognizes its own resources. `undefined` if they have it.
 */
export function tagsWithoutOwner(mutation: Mutation, { desired, observed }: PassState): Tags | undefined {
  const { identity } = desired;
  switch (mutation.kind) {
    case 'tagProfile':
    case 'deleteProfile': {
      const tags = findProfile(observed.profiles, mutation.name)?.tags;
      return tags && missingProfileTags(tags, identity).length > 0 ? tags : undefined;
    }
    case 'tagRole': {
      const tags = findRole(observed.roles, mutation.name)?.tags;
      return tags && missingRoleTags(tags, identity).length > 0 ? tags : undefined;
    }
    default:
      return undefined;
  }
}
