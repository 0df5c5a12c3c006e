import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { jsonEqual } from '../../pkg/kube/patches.ts';
import { profileNameOf, roleNameOf } from './names.ts';
import type { Why } from './reasons.ts';
import { why } from './reasons.ts';

/**
 * Two objects may share a role of ours, by naming it. The older one says how the role is; a younger one that wants it
 * otherwise is refused, since the two would undo each other's work for ever.
 *
 * Objects that name one profile share its role without meaning to: then it is the profile that is told to be the other's.
 */
export function settingsConflict(object: AWSFargateProfile, sharers: readonly AWSFargateProfile[]): Why | undefined {
  const name = roleNameOf(object);
  if (name === undefined) return undefined;
  for (const other of sharers.filter((each) => isOlder(each, object)).toSorted((a, b) => (isOlder(a, b) ? -1 : 1))) {
    const settings = differencesOf(object, other);
    if (settings.length > 0) {
      const profile = profileNameOf(object);
      const who = `AWSFargateProfile ${other.metadata.namespace}/${other.metadata.name}`;
      return profileNameOf(other) === profile
        ? why('ProfileNotOwned', { name: profile, whose: `the ${who}` })
        : why('RoleSettingsConflict', { name, other: who, settings });
    }
  }
  return undefined;
}

function isOlder(a: AWSFargateProfile, b: AWSFargateProfile): boolean {
  const [createdA, createdB] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return createdA === createdB ? a.metadata.name < b.metadata.name : createdA < createdB;
}

function differencesOf({ spec: a }: AWSFargateProfile, { spec: b }: AWSFargateProfile): readonly string[] {
  const [tagsA, tagsB] = [a.additionalTags ?? {}, b.additionalTags ?? {}];
  return [
    ...((a.rolePath ?? '/') === (b.rolePath ?? '/') ? [] : ['rolePath']),
    ...(a.rolePermissionsBoundary === b.rolePermissionsBoundary ? [] : ['rolePermissionsBoundary']),
    ...(jsonEqual(sorted(a.roleAdditionalPolicies), sorted(b.roleAdditionalPolicies))
      ? []
      : ['roleAdditionalPolicies']),
    // Each adds its own tags; only one key with two values cannot be.
    ...Object.keys(tagsA)
      .filter((key) => tagsB[key] !== undefined && tagsA[key] !== tagsB[key])
      .map((key) => `additionalTags["${key}"]`),
  ];
}

const sorted = (list: readonly string[] = []): readonly string[] => [...new Set(list)].toSorted();
