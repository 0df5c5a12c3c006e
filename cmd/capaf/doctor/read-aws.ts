import * as eksSdk from '@aws-sdk/client-eks';
import * as iamSdk from '@aws-sdk/client-iam';
import { AccountId } from '../../../api/names.ts';
import { clusterArn, partitionOf } from '../../../pkg/fargate/arns.ts';
import { EKS_CLUSTER_TAG, NAMESPACE_TAG, OWNER_TAG, foldCase, tagValue } from '../../../pkg/fargate/tags/tag-keys.ts';
import { FARGATE_PODS_PRINCIPAL } from '../../../pkg/fargate/trust-policy.ts';
import { type Answer, type AwsAccess, type Caller, FALLBACK_REGION, ask, askFor, readCaller } from '../aws.ts';
import { type Io, mapAtMost, withProgress } from '../io.ts';
import type { Question } from './iam-questions.ts';
import type { NamedCluster } from './read-cluster.ts';

/** Calls at the same time: the manager needs the rate limits of the account too. */
const CALLS_AT_ONCE = 4;
export const OTHER_CREDENTIALS = 'Choose other credentials with --profile or --role-arn';

export interface EksProfile {
  readonly name: string;
  readonly clusterArn: string;
  readonly roleArn: string;
  readonly status: string;
  /** The owner tag: `<namespace>/<name>` of the AWSFargateProfile. */
  readonly owner: string | undefined;
}

export interface SeenCluster {
  readonly cluster: NamedCluster;
  readonly profiles: Answer<readonly EksProfile[]>;
}

/** A role with the tags of this provider. */
export type TaggedRole = ReturnType<typeof toTaggedRole>[number];

export type AwsReader = ReturnType<typeof newAwsReader>;

export function newAwsReader(aws: AwsAccess, io: Io, clusters: readonly NamedCluster[]) {
  const anyRegion = aws.region ?? clusters.find((each) => each.region !== undefined)?.region ?? FALLBACK_REGION;
  const iam = new iamSdk.IAMClient(aws.clientConfig('iam', anyRegion));
  const eksIn = (region: string) => new eksSdk.EKSClient(aws.clientConfig('eks', region));
  const arnOf = ({ name, region = aws.region ?? '' }: NamedCluster, account: string): string =>
    clusterArn({ partition: partitionOf(region), region, account: AccountId.of(account) }, name);
  /** All items, or why one answer was not seen. */
  const askAll = <A, B>(
    doing: string,
    items: readonly A[],
    work: (item: A) => Promise<Answer<readonly B[] | undefined>>,
  ) => withProgress(io, doing, async () => flatten(await mapAtMost(CALLS_AT_ONCE, items, work)));

  async function readProfiles(cluster: NamedCluster, { account }: Caller): Promise<Answer<readonly EksProfile[]>> {
    const { name: clusterName, region = aws.region } = cluster;
    if (region === undefined) return unseen('no object names its region. Name it with --region');
    if (cluster.account !== undefined && cluster.account !== account)
      return unseen(`it is in account ${cluster.account}, and the credentials are of ${account}. ${OTHER_CREDENTIALS}`);
    const eks = eksIn(region);
    const described = await ask('eks', 'eks:DescribeCluster', () =>
      eks.send(new eksSdk.DescribeClusterCommand({ name: clusterName })),
    );
    if (described.kind === 'unseen') return described;
    if (cluster.endpoint !== undefined && hostOf(cluster.endpoint) !== hostOf(described.value.cluster?.endpoint))
      return unseen(`account ${account} has another EKS cluster of this name. ${OTHER_CREDENTIALS}`);
    const names = await ask('eks', 'eks:ListFargateProfiles', () =>
      collect(eksSdk.paginateListFargateProfiles({ client: eks }, { clusterName }), (page) => page.fargateProfileNames),
    );
    if (names.kind === 'unseen') return names;
    const profiles = await mapAtMost(1, names.value, (name) =>
      askFor('eks', 'eks:DescribeFargateProfile', async () => {
        const command = new eksSdk.DescribeFargateProfileCommand({ clusterName, fargateProfileName: name });
        const { podExecutionRoleArn: roleArn = '', status = '', tags } = (await eks.send(command)).fargateProfile ?? {};
        return [{ name, clusterArn: arnOf(cluster, account), roleArn, status, owner: tags?.[OWNER_TAG] }];
      }),
    );
    return flatten(profiles);
  }

  /** Whether EKS says that the cluster does not exist, and not that it may not be seen. */
  async function isGone(arn: string): Promise<boolean> {
    const [, , , region = '', , resource = ''] = arn.split(':');
    const command = new eksSdk.DescribeClusterCommand({ name: resource.replace(/^cluster\//, '') });
    const answer = await askFor('eks', 'eks:DescribeCluster', () => eksIn(region).send(command));
    return answer.kind === 'seen' && answer.value === undefined;
  }

  return {
    caller: () => readCaller(aws, anyRegion),

    clusters: (caller: Caller): Promise<readonly SeenCluster[]> =>
      withProgress(io, `reading the Fargate profiles of ${clusters.length} EKS clusters`, () =>
        mapAtMost(CALLS_AT_ONCE, clusters, async (cluster) => ({
          cluster,
          profiles: await readProfiles(cluster, caller),
        })),
      ),

    /**
     * Of the EKS clusters whose profiles were seen, and of those that do not exist any more; others may belong to
     * another management cluster. ListRoles shows no tags but the trust policies: only roles that EKS Fargate may
     * assume are read one by one.
     */
    taggedRoles: async ({ account }: Caller, seen: readonly SeenCluster[]): Promise<Answer<readonly TaggedRole[]>> => {
      const listed = await withProgress(io, 'listing the IAM roles of the account', () =>
        ask('iam', 'iam:ListRoles', () =>
          collect(iamSdk.paginateListRoles({ client: iam, pageSize: 1_000 }, {}), (page) =>
            page.Roles?.filter((role) => role.AssumeRolePolicyDocument?.includes(FARGATE_PODS_PRINCIPAL)),
          ),
        ),
      );
      if (listed.kind === 'unseen') return listed;
      const roles = await askAll(`reading the tags of ${listed.value.length} IAM roles`, listed.value, ({ RoleName }) =>
        askFor('iam', 'iam:GetRole', async () =>
          toTaggedRole((await iam.send(new iamSdk.GetRoleCommand({ RoleName }))).Role),
        ),
      );
      if (roles.kind === 'unseen') return roles;
      const ours = new Set(
        seen.flatMap(({ cluster, profiles }) => (profiles.kind === 'seen' ? arnOf(cluster, account) : [])),
      );
      for (const arn of new Set(roles.value.map((role) => role.clusterArn)))
        if (arn.split(':')[4] === account && !ours.has(arn) && (await isGone(arn))) ours.add(arn);
      return { kind: 'seen', value: roles.value.filter((role) => ours.has(role.clusterArn)) };
    },

    /** The actions that the policies of the user or role do not allow. */
    denials: (principal: string, questions: readonly Question[]) =>
      askAll(`simulating the policies of ${principal}`, questions, ({ sid, actions, resource, context }) =>
        ask('iam', 'iam:SimulatePrincipalPolicy', async () => {
          const entries = context.map(({ key, value }) => ({
            ContextKeyName: key,
            ContextKeyType: 'string' as const,
            ContextKeyValues: [value],
          }));
          const command = new iamSdk.SimulatePrincipalPolicyCommand({
            PolicySourceArn: principal,
            ActionNames: [...actions],
            ResourceArns: [resource],
            ...(entries.length > 0 && { ContextEntries: entries }),
          });
          const { EvaluationResults = [] } = await iam.send(command);
          const denied = EvaluationResults.filter(({ EvalDecision }) => EvalDecision !== 'allowed');
          return denied.map(({ EvalActionName: action = '' }) => ({ sid, action }));
        }),
      ),
  };
}

const unseen = (why: string) => ({ kind: 'unseen', why }) as const;

const hostOf = (endpoint = ''): string => endpoint.replace(/^https:\/\//, '').toLowerCase();

function toTaggedRole({ RoleName: name = '', Arn: arn = '', Tags = [] }: Partial<iamSdk.Role> = {}) {
  const tags = Object.fromEntries(Tags.map(({ Key = '', Value = '' }) => [Key, Value]));
  const [ofCluster, namespace] = [EKS_CLUSTER_TAG, NAMESPACE_TAG].map((key) => tagValue(tags, key, foldCase));
  return ofCluster === undefined || namespace === undefined ? [] : [{ name, arn, clusterArn: ofCluster, namespace }];
}

function flatten<A>(answers: readonly Answer<readonly A[] | undefined>[]): Answer<readonly A[]> {
  const items: A[] = [];
  for (const answer of answers) {
    if (answer.kind === 'unseen') return answer;
    items.push(...(answer.value ?? []));
  }
  return { kind: 'seen', value: items };
}

async function collect<P, A>(
  pages: AsyncIterable<P>,
  itemsOf: (page: P) => readonly A[] | undefined,
): Promise<readonly A[]> {
  const items: A[] = [];
  for await (const page of pages) items.push(...(itemsOf(page) ?? []));
  return items;
}
