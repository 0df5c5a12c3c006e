import { DescribeClusterCommand } from '@aws-sdk/client-eks';
import * as E from 'fp-ts/lib/Either.js';
import { LabelSelector } from '../../../api/external/identity.ts';
import * as s from 'controller-runtime/schema';
import { isNotServed, type KubeClient, listAll } from 'controller-runtime/client';
import { fieldAt, textAt } from 'controller-runtime/json';
import { evaluateSelector } from '../../../controllers/identities/allowed-namespaces.ts';
import type { AwsAccess } from '../aws.ts';
import { type Pod, textsOf } from './pod.ts';

const POLICIES = { group: 'vpcresources.k8s.aws', version: 'v1beta1', plural: 'securitygrouppolicies' };
const ACCOUNTS = { group: '', version: 'v1', plural: 'serviceaccounts' };

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
  const account = await client.get(ACCOUNTS, { namespace, name }, { signal });
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
): boolean => isMet(podSelector, labels.pod) || isMet(serviceAccountSelector, labels.account);

const isMet = (selector: LabelSelector | undefined, labels: Readonly<Record<string, string>>): boolean =>
  selector !== undefined && E.getOrElse(() => false)(evaluateSelector(selector, labels));

/** EKS creates this security group for a cluster, and Fargate assigns it to pods. @throws Unseen */
export const readClusterGroup = (aws: AwsAccess, region: string, name: string): Promise<string | undefined> =>
  aws.ask('eks', 'DescribeCluster', region, async ({ eks }) => {
    const { cluster } = await eks.send(new DescribeClusterCommand({ name }));
    return cluster?.resourcesVpcConfig?.clusterSecurityGroupId;
  });
