import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { Tags } from '../../pkg/fargate/tags.ts';
import { foldCase } from '../../pkg/fargate/tags.ts';
import { jsonEqual } from '../../pkg/kube/patches.ts';
import { profileNameOf, roleNameOf } from './names.ts';
import type { Why } from './reasons.ts';
import { why } from './reasons.ts';

/**
 * Two objects may share a role of ours, by naming it. The older one says how the role is; a younger one that wants it
 * otherwise is refused, since the two would undo each other's work for ever.
 *
 * Objects that name one profile share its role without meaning to: then it is the profile that is told to be the other's.
 *
 * `tagsOf`: all that an object puts on its role, the control plane's tags among them.
 */
export function settingsConflict(
  object: AWSFargateProfile,
  sharers: readonly AWSFargateProfile[],
  tagsOf: (sharer: AWSFargateProfile) => Tags,
): Why | undefined {
  const name = roleNameOf(object);
  if (name === undefined) return undefined;
  for (const other of sharers.filter((each) => isOlder(each, object)).toSorted((a, b) => (isOlder(a, b) ? -1 : 1))) {
    const settings = [
      ...differencesOf(object, other),
      ...quarrelsOf(tagsOf(object), tagsOf(other)).map((key) => `additionalTags["${key}"]`),
    ];
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
  return [
    ...((a.rolePath ?? '/') === (b.rolePath ?? '/') ? [] : ['rolePath']),
    ...(a.rolePermissionsBoundary === b.rolePermissionsBoundary ? [] : ['rolePermissionsBoundary']),
    ...(jsonEqual(sorted(a.roleAdditionalPolicies), sorted(b.roleAdditionalPolicies))
      ? []
      : ['roleAdditionalPolicies']),
  ];
}

/** Each adds its own tags; only one key with two values cannot be, and IAM takes keys that differ in case for one. */
function quarrelsOf(a: Tags, b: Tags): readonly string[] {
  const values = new Map(Object.entries(b).map(([key, value]) => [foldCase(key), value]));
  return Object.entries(a)
    .filter(([key, value]) => (values.get(foldCase(key)) ?? value) !== value)
    .map(([key]) => key);
}

const sorted = (list: readonly string[] = []): readonly string[] => [...new Set(list)].toSorted();
