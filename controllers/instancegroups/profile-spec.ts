import type { FargateGroup, FargateGroupSelector } from '../../api/external/index.ts';
import { isRecord, type UnknownRecord } from '../../api/record.ts';
import type { AWSFargateProfileSpec } from '../../api/v1beta2/index.ts';
import { keikoNames } from '../../pkg/fargate/keiko-names.ts';
import { diffMergePatch } from '../../pkg/kube/patches.ts';
import type { ObjectKey } from '../../pkg/kube/types.ts';

/**
 * Profile and role have keiko's names, so the AWSFargateProfile takes over what keiko created. If AWS does not allow
 * such a name, keiko cannot have created it, and the default name is used.
 */
export function profileSpec(key: ObjectKey, group: FargateGroup): AWSFargateProfileSpec {
  const { clusterName, podExecutionRoleArn, subnets, selectors, tags } = group;
  const { profile, role } = keikoNames(clusterName, key);
  return {
    eksCluster: { name: clusterName },
    ...(profile !== undefined && { profileName: profile }),
    ...(podExecutionRoleArn === undefined
      ? role !== undefined && { roleName: role }
      : { roleARN: podExecutionRoleArn }),
    selectors: selectors.map(toSelector),
    ...(subnets.length > 0 && { subnetIDs: subnets }),
    ...(Object.keys(tags).length > 0 && { additionalTags: tags }),
    adoptionPolicy: 'Always',
  };
}

const toSelector = ({ namespace, labels }: FargateGroupSelector) => ({
  namespace,
  ...(Object.keys(labels).length > 0 && { labels }),
});

/** The fields that follow from the InstanceGroup. Users may set the others on the AWSFargateProfile. */
const DECIDED = ['profileName', 'roleName', 'roleARN', 'selectors', 'subnetIDs', 'additionalTags', 'adoptionPolicy'];

/** `undefined` if nothing differs. Region and identity in spec.eksCluster stay, because users may set them. */
export function profileSpecPatch(existing: unknown, wanted: AWSFargateProfileSpec): UnknownRecord | undefined {
  const spec = isRecord(existing) ? existing : {};
  const eksCluster = isRecord(spec['eksCluster']) ? spec['eksCluster'] : {};
  const before = Object.fromEntries(Object.entries(spec).filter(([field]) => DECIDED.includes(field)));
  return diffMergePatch(
    { ...before, eksCluster },
    { ...wanted, eksCluster: { ...eksCluster, name: wanted.eksCluster?.name } },
  );
}

/**
 * A message about a field of the AWSFargateProfile is shown on the InstanceGroup with the field from which it comes.
 * The name of the Fargate profile comes from the name of the InstanceGroup.
 */
const FIELDS: readonly (readonly [ofProfile: RegExp, ofGroup: string])[] = [
  [/\bspec\.eksCluster\.name\b/g, 'spec.eks-fargate.clusterName'],
  [/\bspec\.roleARN\b/g, 'spec.eks-fargate.podExecutionRoleArn'],
  [/\bspec\.subnetIDs\b/g, 'spec.eks-fargate.subnets'],
  [/\bspec\.selectors\b/g, 'spec.eks-fargate.selectors'],
  [/\bspec\.additionalTags\b/g, 'spec.eks-fargate.tags'],
  [/\bSet spec\.profileName to another name\b/g, 'Create an InstanceGroup with another name'],
];

/** Replaces field names in a message about an AWSFargateProfile by those of its InstanceGroup, which the user edits. */
export const withFieldsOfGroup = (message: string): string =>
  FIELDS.reduce((text, [ofProfile, ofGroup]) => text.replaceAll(ofProfile, ofGroup), message);
