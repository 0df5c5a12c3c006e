import { keyOf, type KubeObject } from 'controller-runtime/client';
import { parseDuration } from 'controller-runtime/env';
import { diffMergePatch, isRecord, type UnknownRecord } from 'controller-runtime/json';
import { cut, MAX_FACT } from 'controller-runtime/text';
import type { FargateGroup, FargateGroupSelector } from '../../api/external/index.ts';
import {
  type AWSFargateProfileSpec,
  DRAIN_TIMEOUT_ANNOTATION,
  LONGEST_DRAIN,
  MAX_DURATION_TEXT,
  UPDATE_STRATEGY_ANNOTATION,
} from '../../api/v1beta2/index.ts';
import { keikoNames } from '../../pkg/fargate/keiko-names.ts';

/**
 * Uses keiko's names for profile and role, so that the AWSFargateProfile takes over what keiko created. If AWS does not
 * allow such a name, keiko cannot have created it, and the default name is used.
 */
export function profileSpec({ metadata }: Pick<KubeObject, 'metadata'>, group: FargateGroup): AWSFargateProfileSpec {
  const { clusterName, podExecutionRoleArn, subnets, selectors, tags } = group;
  const { profile, role } = keikoNames(clusterName, keyOf({ metadata }));
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
    ...updateStrategy(metadata),
  };
}

function updateStrategy({ annotations = {} }: KubeObject['metadata']): Pick<AWSFargateProfileSpec, 'updateStrategy'> {
  const { [UPDATE_STRATEGY_ANNOTATION]: type, [DRAIN_TIMEOUT_ANNOTATION]: drainTimeout } = annotations;
  const strategy: AWSFargateProfileSpec['updateStrategy'] = {
    ...((type === 'Replace' || type === 'Reject') && { type }),
    ...(drainTimeout !== undefined && { replace: { drainTimeout } }),
  };
  return Object.keys(strategy).length > 0 ? { updateStrategy: strategy } : {};
}

/** Checks the annotations for the update strategy. */
export function findStrategyProblem({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  const { [UPDATE_STRATEGY_ANNOTATION]: type, [DRAIN_TIMEOUT_ANNOTATION]: drainTimeout } = metadata.annotations ?? {};
  const problem = (annotation: string, expected: string, value: string): string =>
    `metadata.annotations["${annotation}"]: expected ${expected}, got "${cut(value, MAX_FACT)}"`;
  if (type !== undefined && type !== 'Replace' && type !== 'Reject')
    return problem(UPDATE_STRATEGY_ANNOTATION, '"Replace" or "Reject"', type);
  if (drainTimeout === undefined) return undefined;
  const span = drainTimeout.length > MAX_DURATION_TEXT ? undefined : parseDuration(drainTimeout);
  return span === undefined || drainTimeout.includes('ms') || span > (parseDuration(LONGEST_DRAIN) ?? 0)
    ? problem(DRAIN_TIMEOUT_ANNOTATION, `a duration of at most ${LONGEST_DRAIN} such as "10m"`, drainTimeout)
    : undefined;
}

const toSelector = ({ namespace, labels }: FargateGroupSelector) => ({
  namespace,
  ...(Object.keys(labels).length > 0 && { labels }),
});

/** The InstanceGroup determines these fields. Users can set the others on the AWSFargateProfile. */
const DECIDED = ['profileName', 'roleName', 'roleARN', 'selectors', 'subnetIDs', 'additionalTags', 'adoptionPolicy'];

/**
 * Returns `undefined` if nothing differs. Keeps what users can set on the AWSFargateProfile: region and identity in
 * spec.eksCluster, and spec.updateStrategy. But the InstanceGroup's annotations override the type and drainTimeout.
 */
export function profileSpecPatch(existing: unknown, wanted: AWSFargateProfileSpec): UnknownRecord | undefined {
  const spec = isRecord(existing) ? existing : {};
  const eksCluster = isRecord(spec['eksCluster']) ? spec['eksCluster'] : {};
  const strategy = isRecord(spec['updateStrategy']) ? spec['updateStrategy'] : {};
  const replace = isRecord(strategy['replace']) ? strategy['replace'] : undefined;
  const before = Object.fromEntries(Object.entries(spec).filter(([field]) => DECIDED.includes(field)));
  return diffMergePatch(
    { ...before, eksCluster, updateStrategy: strategy },
    {
      ...wanted,
      eksCluster: { ...eksCluster, name: wanted.eksCluster?.name },
      updateStrategy: {
        ...strategy,
        ...wanted.updateStrategy,
        ...(replace !== undefined && { replace: { ...replace, ...wanted.updateStrategy?.replace } }),
      },
    },
  );
}

/**
 * For messages on the InstanceGroup, maps fields of the AWSFargateProfile to the InstanceGroup's fields from which they
 * are computed. The Fargate profile's name comes from the InstanceGroup's name.
 */
const FIELDS: readonly (readonly [ofProfile: RegExp, ofGroup: string])[] = [
  [/\bspec\.eksCluster\.name\b/g, 'spec.eks-fargate.clusterName'],
  [/\bspec\.roleARN\b/g, 'spec.eks-fargate.podExecutionRoleArn'],
  [/\bspec\.subnetIDs\b/g, 'spec.eks-fargate.subnets'],
  [/\bspec\.selectors\b/g, 'spec.eks-fargate.selectors'],
  [/\bspec\.additionalTags\b/g, 'spec.eks-fargate.tags'],
  [
    /\bset updateStrategy\.type to Replace\b/g,
    `set the annotation ${UPDATE_STRATEGY_ANNOTATION} of the InstanceGroup to Replace`,
  ],
  [/\bSet spec\.profileName to another name\b/g, 'Create an InstanceGroup with another name'],
];

/** The user edits the InstanceGroup, so messages must refer to its fields. */
export const withFieldsOfGroup = (message: string): string =>
  FIELDS.reduce((text, [ofProfile, ofGroup]) => text.replaceAll(ofProfile, ofGroup), message);
