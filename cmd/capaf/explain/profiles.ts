import * as eksSdk from '@aws-sdk/client-eks';
import { GetRoleCommand, IAMClient } from '@aws-sdk/client-iam';
import { isLeft } from 'fp-ts/lib/Either.js';
import { type AWSFargateProfile, decodeAWSFargateProfile, describeProblems } from '../../../api/v1beta2/index.ts';
import { isOutdated } from '../../../controllers/awsfargateprofile/decide/change-access-entry.ts';
import { listLiveProfiles } from '../../../controllers/shared/live-profiles.ts';
import { isReplacementRecorded } from '../../../controllers/shared/object-state.ts';
import { currentProfileNameOf } from '../../../controllers/shared/profile-names.ts';
import { formatTimestamp, parseTimestamp } from '../../../pkg/env/timestamp.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { toSelectors } from '../../../pkg/fargate/selectors.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import { type Answer, type AwsAccess, ask, askFor } from '../aws.ts';
import { findEksCluster } from '../eks-cluster.ts';
import { Failure, type Io } from '../io.ts';
import type { KubeAccess } from '../kube.ts';
import type { Profile } from './decide.ts';

export interface EksTarget {
  readonly name: string;
  readonly region: string;
}

/**
 * What the management cluster tells.
 *
 * @throws Failure if the Cluster has no EKS cluster, and the errors of the API server's client
 */
export async function readManaged({ client, namespace }: KubeAccess, cluster: string, { signal }: Io) {
  const hint = '; --cluster-namespace and --context choose another, --eks-cluster needs none';
  const { name, region, controlPlane } = await findEksCluster(client, { namespace, name: cluster }, signal, hint);
  if (region === undefined) throw new Failure(`${controlPlane} has no spec.region; set it`);
  const objects: AWSFargateProfile[] = [];
  const unseen: string[] = [];
  for await (const item of listLiveProfiles(client, { namespace }, signal)) {
    const result = decodeAWSFargateProfile(item);
    if (isLeft(result)) unseen.push(`AWSFargateProfile ${keyText(keyOf(item))}: ${describeProblems(result.left)}`);
    else if (result.right.spec.clusterName === cluster) objects.push(result.right);
  }
  return { target: { name, region }, objects, unseen };
}

/** What EKS tells about a cluster. */
export interface EksView {
  readonly account: string | undefined;
  readonly authenticationMode: string | undefined;
  readonly profiles: readonly Profile[];
}

export async function readEks(aws: AwsAccess, { name, region }: EksTarget): Promise<Answer<EksView>> {
  const client = new eksSdk.EKSClient(aws.clientConfig('eks', region));
  const found = await ask('eks', 'eks:DescribeCluster', () => client.send(new eksSdk.DescribeClusterCommand({ name })));
  if (found.kind === 'unseen') return found;
  const names = await ask('eks', 'eks:ListFargateProfiles', () => listNames(client, name));
  if (names.kind === 'unseen') return names;
  const profiles: Profile[] = [];
  for (const fargateProfileName of names.value) {
    const command = new eksSdk.DescribeFargateProfileCommand({ clusterName: name, fargateProfileName });
    const profile = await askFor('eks', 'eks:DescribeFargateProfile', () => client.send(command));
    if (profile.kind === 'unseen') return profile;
    const described = profile.value?.fargateProfile;
    if (described !== undefined) profiles.push(toProfile(fargateProfileName, described));
  }
  const { arn, accessConfig } = found.value.cluster ?? {};
  const account = arn?.split(':')[4];
  return { kind: 'seen', value: { account, authenticationMode: accessConfig?.authenticationMode, profiles } };
}

async function listNames(client: eksSdk.EKSClient, clusterName: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const page of eksSdk.paginateListFargateProfiles({ client, stopOnSameToken: true }, { clusterName }))
    names.push(...(page.fargateProfileNames ?? []));
  return names;
}

const toProfile = (name: string, profile: eksSdk.FargateProfile): Profile => ({
  name,
  status: profile.status ?? 'unknown',
  selectors: (profile.selectors ?? []).map(({ namespace = '', labels = {} }) => ({ namespace, labels })),
  createdAt: profile.createdAt?.getTime(),
  roleArn: profile.podExecutionRoleArn,
  problems: (profile.health?.issues ?? []).map(({ code, message }) => `EKS reports for "${name}": ${code}: ${message}`),
});

/**
 * The profiles of the EKS cluster: those that EKS shows, with what the objects know about them, and those that only
 * objects name. Without an answer of EKS, the objects alone tell.
 */
export function mergeProfiles(objects: readonly AWSFargateProfile[], eks: EksView | undefined): readonly Profile[] {
  const ofObjects = objects.map((object): Profile => {
    const name = currentProfileNameOf(object);
    const { status = {}, spec } = object;
    // An object without the ARN has no profile yet, and a profile of its name belongs to another owner.
    const inEks = status.profileARN === undefined ? undefined : eks?.profiles.find((each) => each.name === name);
    const ready = status.conditions?.find(({ type }) => type === 'Ready');
    const key = keyText(keyOf(object));
    const isActive = status.activeSince?.name === name;
    return {
      name,
      status: eks === undefined ? (status.profileStatus ?? 'absent') : 'absent',
      selectors: toSelectors(spec.selectors ?? []),
      roleArn: status.podExecutionRoleARN,
      ...inEks,
      ...(isActive && { activeSince: parseTimestamp(status.activeSince.time ?? '') }),
      object: key,
      problems: [
        ...(inEks?.problems ?? []),
        ...(ready !== undefined && ready.status !== 'True'
          ? [`AWSFargateProfile ${key} is not Ready: ${ready.reason ?? ''}: ${ready.message ?? ''}`]
          : []),
      ],
    };
  });
  const owned = new Set(ofObjects.filter(({ createdAt }) => createdAt !== undefined).map(({ name }) => name));
  return [...ofObjects, ...(eks?.profiles ?? []).filter(({ name }) => !owned.has(name))];
}

/** What the objects alone do not show. */
export const unseenWithoutEks = (objects: readonly AWSFargateProfile[]): readonly string[] => [
  'profiles without an AWSFargateProfile in this namespace: one of them may take the pod',
  ...objects
    .filter(isReplacementRecorded)
    .map(keyOf)
    .map((key) => `the selectors that the profile of AWSFargateProfile ${keyText(key)} has until it is replaced`),
];

/** Why pods cannot join the cluster: the access entry of the pod execution role must be that of the present role. */
export async function findAccessEntryTrap(
  aws: AwsAccess,
  { name, region }: EksTarget,
  { authenticationMode = 'CONFIG_MAP' }: EksView,
  principalArn: string,
): Promise<Answer<string | undefined>> {
  const trap = (value?: string) => ({ kind: 'seen', value }) as const;
  const RoleName = parseRoleArn(principalArn)?.name;
  if (authenticationMode === 'CONFIG_MAP' || RoleName === undefined) return trap();
  const eks = new eksSdk.EKSClient(aws.clientConfig('eks', region));
  const iam = new IAMClient(aws.clientConfig('iam', region));
  const role = await askFor('iam', 'iam:GetRole', () => iam.send(new GetRoleCommand({ RoleName })));
  if (role.kind === 'unseen') return role;
  if (role.value === undefined) return trap(`The role ${principalArn} does not exist, so pods do not start.`);
  const command = new eksSdk.DescribeAccessEntryCommand({ clusterName: name, principalArn });
  const entry = await askFor('eks', 'eks:DescribeAccessEntry', () => eks.send(command));
  if (entry.kind === 'unseen') return entry;
  const flags = `--region ${region} --cluster-name ${name} --principal-arn ${principalArn}`;
  const create = `aws eks create-access-entry ${flags} --type FARGATE_LINUX`;
  if (entry.value === undefined && authenticationMode === 'API')
    return trap(`Role ${principalArn} has no access entry, so pods cannot join the cluster. Create it: ${create}`);
  const { type = '', createdAt: entryDate } = entry.value?.accessEntry ?? {};
  const [createdAt, roleCreatedAt] = [entryDate?.getTime(), role.value.Role?.CreateDate?.getTime()];
  if (createdAt === undefined || roleCreatedAt === undefined) return trap();
  if (!isOutdated({ type, createdAt }, { createdAt: roleCreatedAt })) return trap();
  return trap(
    `The access entry of role ${principalArn} (${formatTimestamp(createdAt)}) is older than the role ` +
      `(${formatTimestamp(roleCreatedAt)}): it belongs to an earlier role of this name, and pods cannot join the cluster. ` +
      `Replace it: aws eks delete-access-entry ${flags} && ${create}`,
  );
}
