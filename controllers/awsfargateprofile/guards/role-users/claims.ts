import { keyOf, keyText, type KubeObject } from 'controller-runtime/client';
import type { Tags } from '../../../../pkg/fargate/tags/tag-keys.ts';
import { missingProfileTags, missingRoleTags } from '../../../../pkg/fargate/ownership.ts';
import { findProfile, findRole } from '../../model/observed-state.ts';
import { type Mutation, isProfileOrRoleCreation, isRoleRemoval, subjectOf } from '../../model/change.ts';
import type { ReconcileState } from '../guards.ts';

/**
 * What running reconciles use or change in AWS, by AWS account and name. A role's lock covers only one namespace,
 * because a tenant can name any role. A claim keeps a reconcile from
 * - adopting a role while a reconcile in another namespace adopts it or creates a profile with it, because Cluster API
 *   Provider AWS computed the same role name for both.
 * - removing a role while a reconcile in another namespace creates a profile with it.
 * A tenant can only delay another tenant's change, and only while a profile is being created.
 */
export class Claims {
  private readonly claims = new Map<string, Map<string, Claim['kind']>>();

  /**
   * Claims what the mutation uses or changes. Returns `false` if another object's claim conflicts. The claim lasts
   * until {@link release}, after the object's status contains the role.
   */
  tryClaim(mutation: Mutation, reconcile: ReconcileState): boolean {
    const claim = claimOf(mutation, reconcile);
    if (claim === undefined) return true;
    const holder = keyText(keyOf(reconcile.object));
    const holders = this.claims.get(claim.on) ?? new Map<string, Claim['kind']>();
    const conflicts = [...holders].some(
      ([other, kind]) => other !== holder && (kind === 'change' || claim.kind === 'change'),
    );
    if (conflicts) return false;
    if (holders.get(holder) !== 'change') holders.set(holder, claim.kind);
    this.claims.set(claim.on, holders);
    return true;
  }

  release(object: KubeObject): void {
    for (const [on, holders] of this.claims) {
      holders.delete(keyText(keyOf(object)));
      if (holders.size === 0) this.claims.delete(on);
    }
  }
}

interface Claim {
  /** Several objects can `use` a role at the same time. A `change` excludes the other objects' claims. */
  readonly kind: 'use' | 'change';
  readonly on: string;
}

function claimOf(mutation: Mutation, reconcile: ReconcileState): Claim | undefined {
  const { account, region } = reconcile.desired.place;
  const roleKey = (name: string): string => `${account}/${name.toLowerCase()}`;
  if (isProfileOrRoleCreation(mutation)) {
    const role = reconcile.desired.role?.name;
    return role && { kind: 'use', on: roleKey(role) };
  }
  const name = subjectOf(mutation);
  const isOfRole = mutation.kind === 'tagRole' || isRoleRemoval(mutation);
  if (!isRoleRemoval(mutation) && tagsWithoutOwner(mutation, reconcile) === undefined) return undefined;
  return {
    kind: 'change',
    on: isOfRole ? roleKey(name) : `${account}/${region}/${reconcile.target.eksCluster}/${name}`,
  };
}

/** Returns the resource's tags if they lack a tag by which this controller recognizes its own resources. */
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
