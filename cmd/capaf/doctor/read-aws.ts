import { SimulatePrincipalPolicyCommand, paginateListRoles } from '@aws-sdk/client-iam';
import { AssumeRoleCommand } from '@aws-sdk/client-sts';
import * as E from 'fp-ts/lib/Either.js';
import type { Ms } from 'controller-runtime/env';
import { AccountId, EksClusterName, RoleName } from '../../../api/names.ts';
import {
  type FargateProfile,
  type QuotaId,
  type Role,
  partitionOf,
  readQuota,
  readVCpuUsage,
} from '../../../pkg/cloud/index.ts';
import { clusterArn } from '../../../pkg/fargate/arns.ts';
import { profileNameFor, roleNameFor } from '../../../pkg/fargate/names.ts';
import { VCPU_QUOTA } from '../../../pkg/fargate/pod-fixes.ts';
import { NO_LIMITS } from '../../../pkg/fargate/operator-limits.ts';
import { EKS_CLUSTER_TAG, NAMESPACE_TAG, foldCase, tagValue } from '../../../pkg/fargate/tags/tag-keys.ts';
import { FARGATE_PODS_PRINCIPAL } from '../../../pkg/fargate/trust-policy.ts';
import {
  type Answer,
  type AwsAccess,
  FALLBACK_REGION,
  OTHER_CREDENTIALS,
  attempt,
  readEks,
  readFreeAddresses,
  seen,
} from '../aws.ts';
import { type Question, questionsFor } from './permissions.ts';
import { type ClusterFacts, type NamedCluster, decoded, orNone } from './read-cluster.ts';

/** "Fargate profiles per cluster": https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html */
const PROFILES_QUOTA: QuotaId = { ServiceCode: 'eks', QuotaCode: 'L-33415657' };
const UNNAMED = 'the role of the manager';
const NO_ANNOTATION = 'the ServiceAccount of the manager names no role, so its permissions are not known';

export type TaggedRole = ReturnType<typeof toTaggedRole>[number];

/** The policies do not allow `action`, which the statement `sid` of docs/aws-permissions.md contains. */
export interface Denial {
  readonly sid: string;
  readonly action: string;
}

export interface AwsFacts {
  readonly caller: Answer<{ readonly account: string }>;
  /** By the role's ARN. Omits roles for which the condition of an AWSFargateProfile shows whether they work. */
  readonly assumed: ReadonlyMap<string, Answer<unknown>>;
  readonly simulations: Awaited<ReturnType<typeof simulate>>;
  readonly clusters: readonly {
    readonly cluster: NamedCluster;
    /** If `undefined`, the region is not known, and profiles are not read. */
    readonly region: string | undefined;
    readonly profiles: Answer<readonly FargateProfile[]>;
    /** The free IP addresses per subnet of the profiles. */
    readonly free: Answer<ReadonlyMap<string, number>>;
  }[];
  /** By region of the EKS clusters whose profiles were read. */
  readonly quotas: ReadonlyMap<string, Quotas>;
  readonly roles: Answer<readonly TaggedRole[]>;
}

/** A quota is `undefined` if AWS reports no value for it. */
export type Quotas = Awaited<ReturnType<typeof readQuotas>>;

/** Reads only from the AWS account that the credentials belong to. */
export async function readAws(aws: AwsAccess, facts: ClusterFacts, scanRoles: boolean, now: Ms): Promise<AwsFacts> {
  const region = aws.region ?? facts.clusters.find((each) => each.region !== undefined)?.region ?? FALLBACK_REGION;
  const caller = await attempt(() => aws.open(region));
  if (E.isLeft(caller))
    return { caller, assumed: new Map(), simulations: [], clusters: [], quotas: new Map(), roles: caller };
  const { account } = caller.right;
  const assumed = await assumeRoles(aws, region, facts);
  const simulations = await simulate(aws, region, facts, account);
  const clusters = await Promise.all(
    facts.clusters.map(async (cluster) => {
      const own = cluster.region ?? aws.region;
      const profiles = await attempt(async () => (await readEks(aws, cluster.name, own, cluster.account)).profiles);
      const subnets = new Set(orNone(profiles).flatMap((each) => each.subnets));
      return {
        cluster,
        region: own,
        profiles,
        free: await attempt(() => readFreeAddresses(aws, own ?? region, [...subnets])),
      };
    }),
  );
  const regions = new Set(clusters.flatMap((each) => (E.isRight(each.profiles) ? (each.region ?? region) : [])));
  const quotas = await Promise.all([...regions].map(async (each) => [each, await readQuotas(aws, each, now)] as const));
  const roles = scanRoles
    ? await attempt(() => readTaggedRoles(aws, region, clusters))
    : E.left('--scan-roles looks for them');
  return { caller, assumed, simulations, clusters, quotas: new Map(quotas), roles };
}

/** Reads in parallel, because a private network may block all of these requests, each until its deadline. */
async function readQuotas(aws: AwsAccess, region: string, now: Ms) {
  const read = (id: QuotaId): Promise<Answer<number | undefined>> =>
    attempt(() => aws.askSigned('servicequotas', 'GetServiceQuota', region, (sender) => readQuota(sender, id)));
  const [profiles, vCpus, vCpusInUse] = await Promise.all([
    read(PROFILES_QUOTA),
    read({ ServiceCode: 'fargate', QuotaCode: VCPU_QUOTA }),
    attempt(() => aws.askSigned('cloudwatch', 'GetMetricStatistics', region, (sender) => readVCpuUsage(sender, now))),
  ]);
  return { profiles, vCpus, vCpusInUse };
}

/**
 * Assumes the roles with capaf's credentials. If that fails, the roles may still work for the manager, because their
 * trust policies may allow only the manager's credentials.
 */
async function assumeRoles(aws: AwsAccess, region: string, { clusters }: ClusterFacts): Promise<AwsFacts['assumed']> {
  const wanted = clusters.filter(({ condition }) => condition === undefined);
  const byArn = new Map(wanted.flatMap(({ roleArn, externalId }) => (roleArn ? [[roleArn, externalId] as const] : [])));
  const assumed = await Array.fromAsync(byArn, async ([RoleArn, ExternalId]) => {
    const command = new AssumeRoleCommand({ RoleArn, ExternalId, RoleSessionName: 'capaf' });
    const answer = await attempt(() => aws.ask('sts', 'AssumeRole', region, ({ sts }) => sts.send(command)));
    return [RoleArn, answer] as const;
  });
  return new Map(assumed);
}

function simulate(aws: AwsAccess, anyRegion: string, { clusters, manager, objects }: ClusterFacts, account: string) {
  const { flags = { limits: NO_LIMITS, reconcilesInstanceGroups: false } } = manager;
  const own = (E.isRight(manager.roleArn) ? manager.roleArn.right : undefined) ?? UNNAMED;
  const users = Map.groupBy(clusters, ({ isManager, roleArn }) => (isManager ? own : (roleArn ?? '')));
  // Credentials from a Secret do not belong to a role.
  users.delete('');
  return Array.fromAsync(users, async ([principal, named]) => {
    const why =
      principal === UNNAMED ? NO_ANNOTATION : `${principal} is not in account ${account}. ${OTHER_CREDENTIALS}`;
    if (principal.split(':')[4] !== account) return { principal, denials: E.left(why) };
    const used = decoded(orNone(objects)).filter(({ metadata: { namespace }, status }) =>
      named.some((each) => each.namespace === namespace && each.name === status?.eksClusterName),
    );
    const questions = named.slice(0, 1).flatMap(({ name: cluster, namespace, region = FALLBACK_REGION }) => {
      const made = used.find(({ status }) => status?.eksClusterName === cluster && status.role?.managed === true);
      const role = made?.status?.role?.name ?? roleNameFor(cluster, profileNameFor({ namespace, name: 'capaf' }));
      const location = { partition: partitionOf(region), region, account: AccountId.of(account) };
      return questionsFor(used, flags, { ...location, cluster, namespace, role });
    });
    return { principal, denials: await attempt(() => findDenials(aws, anyRegion, principal, questions)) };
  });
}

async function findDenials(aws: AwsAccess, region: string, principal: string, questions: readonly Question[]) {
  const denials = await Array.fromAsync(questions, ({ sid, actions, resource, context }) =>
    aws.ask('iam', 'SimulatePrincipalPolicy', region, async ({ iam }) => {
      const ContextEntries = context.map(({ key, value }) => {
        return { ContextKeyName: key, ContextKeyType: 'string' as const, ContextKeyValues: [value] };
      });
      const command = new SimulatePrincipalPolicyCommand({
        PolicySourceArn: principal,
        ActionNames: [...actions],
        ResourceArns: [resource],
        ...(context.length > 0 && { ContextEntries }),
      });
      const { EvaluationResults = [] } = await iam.send(command);
      const denied = EvaluationResults.filter(({ EvalDecision }) => EvalDecision !== 'allowed');
      return denied.map(({ EvalActionName: action = '' }): Denial => ({ sid, action }));
    }),
  );
  return denials.flat();
}

/**
 * Reads the roles of EKS clusters whose profiles were read, and of EKS clusters that no longer exist. Roles of other
 * EKS clusters may belong to a different management cluster. ListRoles returns trust policies but no tags, so each role
 * that EKS Fargate can assume takes one more request.
 */
async function readTaggedRoles(aws: AwsAccess, region: string, seenClusters: AwsFacts['clusters']) {
  const { account, roles } = await aws.open(region);
  const names = await aws.ask('iam', 'ListRoles', region, async ({ iam }) => {
    const pages = await Array.fromAsync(paginateListRoles({ client: iam, pageSize: 1_000 }, {}));
    const listed = pages.flatMap(({ Roles = [] }) => Roles);
    const ofFargate = listed.filter((role) => role.AssumeRolePolicyDocument?.includes(FARGATE_PODS_PRINCIPAL));
    return ofFargate.map((role) => RoleName.of(role.RoleName ?? ''));
  });
  const read = await Promise.all(names.map((name) => seen(roles.get(name))));
  const tagged = read.flatMap((role) => (role === undefined ? [] : toTaggedRole(role)));
  const ours = new Set(
    seenClusters.flatMap(({ cluster: { name, region: own = aws.region ?? '' }, profiles }) =>
      E.isRight(profiles) ? clusterArn({ partition: partitionOf(own), region: own, account }, name) : [],
    ),
  );
  for (const arn of new Set(tagged.map((role) => role.clusterArn)))
    if (arn.split(':')[4] === account && !ours.has(arn) && (await isGone(aws, arn))) ours.add(arn);
  return tagged.filter((role) => ours.has(role.clusterArn));
}

function toTaggedRole({ name, arn, tags }: Role) {
  const [ofCluster, namespace] = [EKS_CLUSTER_TAG, NAMESPACE_TAG].map((key) => tagValue(tags, key, foldCase));
  return ofCluster === undefined || namespace === undefined ? [] : [{ name, arn, clusterArn: ofCluster, namespace }];
}

/** Returns true only if AWS answers that the EKS cluster does not exist. A denied request does not show that. */
async function isGone(aws: AwsAccess, arn: string): Promise<boolean> {
  const [, , , region = '', , resource = ''] = arn.split(':');
  const name = EksClusterName.of(resource.replace(/^cluster\//, ''));
  const found = await attempt(async () => seen((await aws.open(region)).clusters.describe(name)));
  return E.isRight(found) && found.right === undefined;
}
