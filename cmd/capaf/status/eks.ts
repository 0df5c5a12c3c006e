import * as E from 'fp-ts/lib/Either.js';
import type { EksClusterName, ProfileName, RoleArn } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { currentProfileNameOf } from '../../../controllers/shared/profile-names.ts';
import type { FargateProfile, Session } from '../../../pkg/cloud/index.ts';
import { describeDifferentFields } from '../../../pkg/fargate/differences.ts';
import { profileOwnership } from '../../../pkg/fargate/ownership.ts';
import { OWNER_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';
import { type AwsAccess, attempt, readEks, readFreeAddresses, seen } from '../aws.ts';
import { recordedAccount } from '../objects.ts';
import { readPodRole } from '../pod-role.ts';
import type { TreeNode } from '../tree.ts';

export type EksFacts = Awaited<ReturnType<typeof readEksFacts>>;
/** The number of pods per Fargate profile. Undefined if the pods are not known. */
export type PodCounts = ReadonlyMap<string, number> | undefined;

/** If details of the profiles cannot be read, only they are missing. @throws Unseen if the profiles cannot be read */
export async function readEksFacts(
  aws: AwsAccess,
  name: EksClusterName,
  region: string | undefined,
  objects: readonly AWSFargateProfile[],
) {
  const { session, profiles } = await readEks(aws, name, region, recordedAccount(objects));
  const [cluster, free] = await Promise.all([
    attempt(() => seen(session.clusters.describe(name))),
    attempt(() => readFreeAddresses(aws, session.region, [...new Set(profiles.flatMap(({ subnets }) => subnets))])),
  ]);
  const mode = E.isRight(cluster) ? cluster.right?.authenticationMode : undefined;
  const arns = [...new Set(profiles.map(({ podExecutionRoleArn }) => podExecutionRoleArn))];
  const roles = arns.map(async (arn) => [arn, await readRoleNode(session, name, mode, arn)] as const);
  return { account: session.account, cluster, profiles, free, roles: new Map(await Promise.all(roles)) };
}

const ROLE_STATES = {
  hasEntry: ['ok', 'has its access entry', ''],
  ofAwsAuth: ['ok', 'mapped by aws-auth', ''],
  perhapsOfAwsAuth: ['ok', 'no access entry', 'aws-auth may map it'],
  absent: ['problem', 'does not exist', 'pods cannot start'],
  noEntry: ['problem', 'no access entry', 'pods cannot join the cluster'],
  notSeen: ['unchecked', 'access entry not seen', ''],
  outdated: [
    'problem',
    'outdated access entry',
    'it is of an earlier role of this name, so pods cannot join the cluster',
  ],
} as const;

async function readRoleNode(session: Session, cluster: EksClusterName, mode: string | undefined, name: RoleArn) {
  const found = await attempt(() => readPodRole(session, cluster, mode, name));
  if (E.isLeft(found)) return unchecked('Role', name, found.left);
  const [result, state, message] = ROLE_STATES[found.right.kind];
  return { kind: 'Role', name, state, result, message };
}

/** Returns the object's profiles in EKS or, if EKS cannot be read, those in the object's status. */
export function profileNodes(object: AWSFargateProfile, eks: EksFacts | undefined, pods: PodCounts) {
  const name = currentProfileNameOf(object);
  const { profileStatus = 'not seen', predecessors = [] } = object.status ?? {};
  const recorded = (of: string, state: string): TreeNode => {
    return { kind: 'FargateProfile', name: of, state, result: 'unchecked', message: 'as far as the object shows' };
  };
  if (eks === undefined)
    return [recorded(name, profileStatus), ...predecessors.map((each) => recorded(each.name ?? '', each.status ?? ''))];
  const found = eks.profiles.flatMap((profile) => {
    const relation = relationOf(profile, object, name);
    return relation === undefined ? [] : [profileNode(profile, relation, eks, pods)];
  });
  return found.length > 0 ? found : [{ kind: 'FargateProfile', name, state: 'absent', result: 'problem' } as const];
}

interface Relation {
  readonly relation: 'desired' | 'predecessor' | 'different' | 'foreign' | 'unowned';
  readonly owner?: string;
  readonly differences?: string;
}

/** Returns `undefined` if the profile is neither the object's nor one whose name the object needs. */
function relationOf(profile: FargateProfile, object: AWSFargateProfile, current: ProfileName): Relation | undefined {
  const { selectors, subnetIDs = [], roleARN: roleArn, clusterName, updateStrategy } = object.spec;
  const subnets = subnetIDs.length === 0 ? undefined : subnetIDs;
  const ownership = profileOwnership(profile, { ...object.metadata, clusterName, adoptable: { profile: current } });
  if (ownership.kind === 'foreign')
    return profile.name === current ? { relation: 'foreign', owner: ownership.whose } : undefined;
  const differences = describeDifferentFields(profile, { selectors, subnets, roleArn }, 'in the spec').join('; ');
  if (differences === '') return { relation: 'desired' };
  const isReplaced = profile.name !== current || updateStrategy?.type === 'Replace';
  return isReplaced ? { relation: 'predecessor' } : { relation: 'different', differences };
}

/** For a profile that belongs to none of the command's objects. */
export const unownedNode = (profile: FargateProfile, eks: EksFacts, pods: PodCounts): TreeNode => {
  const owner = profile.tags[OWNER_TAG];
  return profileNode(profile, { relation: 'unowned', ...(owner !== undefined && { owner }) }, eks, pods);
};

function profileNode(profile: FargateProfile, relation: Relation, eks: EksFacts, pods: PodCounts): TreeNode {
  const { name, status, health, podExecutionRoleArn, subnets } = profile;
  const role = eks.roles.get(podExecutionRoleArn);
  return {
    kind: 'FargateProfile',
    name,
    state: status,
    result: status === 'ACTIVE' ? 'ok' : status.endsWith('FAILED') ? 'problem' : 'warning',
    facts: { ...relation, ...(pods && { pods: pods.get(name) ?? 0 }) },
    message: health.map(({ code, message }) => `${code}: ${message}`).join('; '),
    children: [...(role ? [role] : []), ...subnets.map((id) => subnetNode(id, eks.free))],
  };
}

function subnetNode(name: string, free: EksFacts['free']): TreeNode {
  if (E.isLeft(free)) return unchecked('Subnet', name, free.left);
  const freeAddresses = free.right.get(name);
  if (freeAddresses === undefined) return { kind: 'Subnet', name, state: 'absent', result: 'problem' };
  const state =
    freeAddresses > 0
      ? ({ state: 'available', result: 'ok' } as const)
      : ({ state: 'full', result: 'problem' } as const);
  return { kind: 'Subnet', name, ...state, facts: { freeAddresses } };
}

export const unchecked = (kind: string, name: string, message: string): TreeNode => {
  return { kind, name, state: 'not seen', result: 'unchecked', message };
};
