import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import type { Tags } from '../../../../pkg/fargate/tags/tag-map.ts';
import { foldCase } from '../../../../pkg/fargate/tags/tag-map.ts';
import { jsonEqual } from '../../../../pkg/kube/patches.ts';
import { clusterIndexOf } from '../../../shared/caches.ts';
import type { KnownLocation } from '../../model/location.ts';
import { locationOf } from '../../model/location.ts';
import { currentProfileNameOf, roleNameOf } from '../../model/names.ts';
import type { Reason } from '../../reasons/reasons.ts';
import { newReason } from '../../reasons/reasons.ts';

/**
 * Functions that compute settings of an object's IAM role from more than its spec, for example from flags of the
 * manager.
 */
export interface RoleSettings {
  readonly tagsOf: (roleSharer: AWSFargateProfile) => Tags;
  readonly boundaryOf: (roleSharer: AWSFargateProfile) => string | undefined;
}

/**
 * Returns the reason to stop for an object that shares a managed IAM role with an older object but asks for other
 * settings of the role. Without this rule each of the two objects would undo the changes of the other.
 *
 * If the two objects also have the same profile name, the reason says that the profile belongs to the older object.
 *
 * `tagsOf` gives all tags that an object wants on its role, including those from the control plane. `boundaryOf` gives
 * the permissions boundary, which may come from the operator's limits.
 */
export function roleSettingsConflict(
  object: AWSFargateProfile,
  roleSharers: readonly AWSFargateProfile[],
  { tagsOf, boundaryOf }: RoleSettings,
): Reason | undefined {
  const name = roleNameOf(object);
  if (name === undefined) return undefined;
  for (const other of roleSharers
    .filter((each) => isOlder(each, object))
    .toSorted((a, b) => (isOlder(a, b) ? -1 : 1))) {
    const settings = [
      ...differingSettings(object, other, boundaryOf),
      ...conflictingTagKeys(tagsOf(object), tagsOf(other)).map((key) => `additionalTags["${key}"]`),
    ];
    if (settings.length > 0) {
      const profile = currentProfileNameOf(object);
      const isProvisioned = object.status?.initialization?.provisioned === true;
      const who = `AWSFargateProfile ${other.metadata.namespace}/${other.metadata.name}`;
      return currentProfileNameOf(other) === profile
        ? newReason('ProfileNotOwned', { name: profile, whose: who, isProvisioned })
        : newReason('RoleSettingsConflict', { name, other: who, settings, isProvisioned });
    }
  }
  return undefined;
}

/**
 * Whether an AWSFargateProfile of the namespace is in the given EKS cluster, which is that of `object`. One of the two
 * may name the EKS cluster in spec.eksCluster and the other the Cluster, so the recorded locations are compared. An
 * AWSFargateProfile without a recorded location has nothing in AWS yet. It counts only if it names the EKS cluster in
 * the same way as `object`.
 */
export function isInEksCluster(
  other: AWSFargateProfile,
  object: AWSFargateProfile,
  { account, region, eksCluster }: KnownLocation,
): boolean {
  const location = locationOf(other);
  if (location.kind === 'known')
    return location.account === account && location.region === region && location.eksCluster === eksCluster;
  const [named, namedByObject] = [other.spec.eksCluster, object.spec.eksCluster];
  return (
    jsonEqual(clusterIndexOf(other), clusterIndexOf(object)) &&
    jsonEqual(named?.identityRef, namedByObject?.identityRef) &&
    (named?.region ?? region) === region
  );
}

function isOlder(a: AWSFargateProfile, b: AWSFargateProfile): boolean {
  const [createdA, createdB] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return createdA === createdB ? a.metadata.name < b.metadata.name : createdA < createdB;
}

function differingSettings(
  one: AWSFargateProfile,
  other: AWSFargateProfile,
  boundaryOf: RoleSettings['boundaryOf'],
): readonly string[] {
  const [{ spec: a }, { spec: b }] = [one, other];
  return [
    ...((a.rolePath ?? '/') === (b.rolePath ?? '/') ? [] : ['rolePath']),
    ...(boundaryOf(one) === boundaryOf(other) ? [] : ['rolePermissionsBoundary']),
    ...(jsonEqual(sorted(a.roleAdditionalPolicies), sorted(b.roleAdditionalPolicies))
      ? []
      : ['roleAdditionalPolicies']),
  ];
}

/**
 * Returns the tag keys that have different values in the two tag maps. IAM ignores upper and lower case in tag keys.
 */
function conflictingTagKeys(a: Tags, b: Tags): readonly string[] {
  const values = new Map(Object.entries(b).map(([key, value]) => [foldCase(key), value]));
  return Object.entries(a)
    .filter(([key, value]) => (values.get(foldCase(key)) ?? value) !== value)
    .map(([key]) => key);
}

const sorted = (list: readonly string[] = []): readonly string[] => [...new Set(list)].toSorted();
