import type { Tags } from '../../../../pkg/fargate/tags/tag-keys.ts';
import { missingProfileTags, missingRoleTags } from '../../../../pkg/fargate/ownership.ts';
import { findProfile, findRole } from '../../model/observed-state.ts';
import { type Mutation, isRoleRemoval, subjectOf } from '../../model/change.ts';
import type { ReconcileState } from '../guards.ts';

/**
 * What running passes have claimed, by AWS account and name. The lock of a role serves one namespace only, because a
 * tenant may name any role. A claim keeps two namespaces from relying on the same computed name of Cluster API Provider
 * AWS, and a role from being made or used while another pass removes it. A tenant cannot claim a resource of others,
 * because a pass claims only what its object owns or may adopt.
 */
export class Claims {
  private readonly holders = new Map<string, ReconcileState>();

  tryClaim(mutation: Mutation, pass: ReconcileState): boolean {
    const key = claimKey(mutation, pass);
    if (key === undefined) return true;
    const holder = this.holders.get(key) ?? pass;
    const isCreation = mutation.kind === 'createRole' || mutation.kind === 'createProfile';
    if (holder === pass && !isCreation) this.holders.set(key, pass);
    return holder === pass;
  }

  release(pass: ReconcileState): void {
    for (const [key, holder] of this.holders) if (holder === pass) this.holders.delete(key);
  }
}

function claimKey(mutation: Mutation, pass: ReconcileState): string | undefined {
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

/** The tags of the resource if they lack one by which this controller recognizes its own. */
export function tagsWithoutOwner(mutation: Mutation, { desired, observed }: ReconcileState): Tags | undefined {
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
