import * as E from 'fp-ts/lib/Either.js';
import { isNotServed, type KubeClient, listAll } from 'controller-runtime/client';
import { formatTimestamp as time } from 'controller-runtime/env';
import { fieldAt, textAt } from 'controller-runtime/json';
import * as s from 'controller-runtime/schema';
import { shellCommand } from 'controller-runtime/text';
import { LabelSelector } from '../../../api/external/index.ts';
import type { EksClusterName, RoleArn } from '../../../api/names.ts';
import { isSelected } from '../../../controllers/identities/allowed-namespaces.ts';
import type { FargateProfile, Session } from '../../../pkg/cloud/index.ts';
import { type Asked, type AwsAccess, attempt, readFreeAddresses, seen } from '../aws.ts';
import { SERVICE_ACCOUNTS } from '../kube.ts';
import { readPodRole } from '../pod-role.ts';
import { type Pod, textsOf } from './pod.ts';

/** Finds reasons in AWS why a profile's pods may not start. */
export const findTraps = async (
  aws: AwsAccess,
  session: Session,
  { cluster, podExecutionRoleArn, subnets }: FargateProfile,
): Promise<readonly Asked<string>[]> => [
  ['the access entry of the role', await attempt(() => findAccessEntryTrap(session, cluster, podExecutionRoleArn))],
  ['the free addresses of the subnets', await attempt(() => findSubnetTrap(aws, session.region, subnets))],
];

/** Pods cannot join the cluster if the access entry belongs to an earlier role of the same name. */
async function findAccessEntryTrap(session: Session, name: EksClusterName, principal: RoleArn) {
  const { clusters, region } = session;
  const mode = (await seen(clusters.describe(name)))?.authenticationMode ?? 'CONFIG_MAP';
  if (mode === 'CONFIG_MAP') return undefined;
  const found = await readPodRole(session, name, mode, principal);
  if (found.kind !== 'outdated') return undefined;
  const { role, entry } = found;
  return (
    `The access entry of role ${principal} (${time(entry.createdAt)}) is older than the role ` +
    `(${time(role.createdAt)}): it belongs to an earlier role of this name, and pods cannot join the cluster. ` +
    `Replace it: ${entryCommands(region, name, principal).join(' && ')}`
  );
}

export function entryCommands(region: string, cluster: string, principal: string): readonly string[] {
  const flags = [`--region=${region}`, `--cluster-name=${cluster}`, `--principal-arn=${principal}`];
  return [
    shellCommand(['aws', 'eks', 'delete-access-entry', ...flags]),
    shellCommand(['aws', 'eks', 'create-access-entry', ...flags, '--type=FARGATE_LINUX']),
  ];
}

/** Each Fargate pod takes a free address from one of the subnets. */
async function findSubnetTrap(aws: AwsAccess, region: string, subnets: readonly string[]) {
  const free = [...(await readFreeAddresses(aws, region, subnets)).values()];
  if (free.length === 0 || free.some((count) => count > 0)) return undefined;
  return `No subnet of the profile has a free address (${subnets.join(', ')}), so pods do not start.`;
}

const POLICIES = { group: 'vpcresources.k8s.aws', version: 'v1beta1', plural: 'securitygrouppolicies' };

/** https://docs.aws.amazon.com/eks/latest/userguide/security-groups-for-pods.html */
const Policy = s.object({
  metadata: s.object({ name: s.string() }),
  spec: s.object({
    podSelector: s.optional(LabelSelector),
    serviceAccountSelector: s.optional(LabelSelector),
    securityGroups: s.object({ groupIds: s.list(s.string()) }),
  }),
});
type Policy = s.TypeOf<typeof Policy>;

/** Warns if SecurityGroupPolicies replace the EKS cluster's security group for this pod. @throws KubeError; Unseen */
export async function findGroupTrap(
  pod: Pod,
  client: KubeClient,
  readClusterGroup: () => Promise<string | undefined>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { namespace } = pod;
  const items = await listAll(client, POLICIES, { namespace }, signal).catch((error: unknown) => {
    if (isNotServed(error)) return [];
    throw error;
  });
  const policies = items.map((item) => Policy.decode(item)).flatMap((each) => (E.isRight(each) ? [each.right] : []));
  if (policies.length === 0) return undefined;
  const name = textAt(pod.spec, 'serviceAccountName') ?? 'default';
  const account = await client.get(SERVICE_ACCOUNTS, { namespace, name }, { signal });
  const labels = { pod: pod.labels, account: textsOf(fieldAt(account?.metadata, 'labels')) };
  const mine = policies.filter((policy) => doesSelect(policy, labels));
  const groups = mine.flatMap(({ spec }) => spec.securityGroups.groupIds);
  const ofCluster = mine.length === 0 ? undefined : await readClusterGroup();
  if (mine.length === 0 || (ofCluster !== undefined && groups.includes(ofCluster))) return undefined;
  const names = mine.map(({ metadata }) => `${namespace}/${metadata.name}`).join(', ');
  return (
    `SecurityGroupPolicy ${names} gives the pod the security groups ${groups.join(', ')} instead of that of the EKS ` +
    `cluster${ofCluster === undefined ? '' : ` (${ofCluster})`}. Unless they allow the traffic to the control plane and ` +
    'to CoreDNS, the pod does not start; the simplest is to name the group of the cluster too.'
  );
}

const doesSelect = (
  { spec: { podSelector, serviceAccountSelector } }: Policy,
  labels: Readonly<Record<'pod' | 'account', Readonly<Record<string, string>>>>,
): boolean =>
  (podSelector !== undefined && isSelected(podSelector, labels.pod)) ||
  (serviceAccountSelector !== undefined && isSelected(serviceAccountSelector, labels.account));
