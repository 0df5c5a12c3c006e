import { EksClusterName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { type AwsLocation, clusterArn } from '../../../pkg/fargate/arns.ts';
import { requiredBoundary } from '../../../pkg/fargate/operator-limits.ts';
import { EKS_CLUSTER_TAG, NAMESPACE_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';
import { matchesWildcard } from '../../../pkg/fargate/wildcard.ts';
import type { ManagerFlags } from '../../manager/flags/parse-flags.ts';
import permissions from './permissions.json' with { type: 'json' };

/** One call of the policy simulator, for one statement of docs/aws-permissions.md. */
export interface Question {
  readonly sid: string;
  readonly actions: readonly string[];
  readonly resource: string;
  /** Values of the keys in the statement's conditions. */
  readonly context: readonly { readonly key: string; readonly value: string }[];
}

/** What the manager makes or uses, because a policy may allow certain EKS clusters or roles only. */
export interface Example extends AwsLocation {
  readonly cluster: string;
  readonly namespace: string;
  readonly role: string;
}

const FOR_NEW_ROLES = ['CreateRoles', 'TagNewRoles', 'ChangeRoles', 'AttachPolicies', 'SetBoundary'];

/** The statements that these objects and flags need. */
export function questionsFor(
  objects: readonly AWSFargateProfile[],
  { limits, reconcilesInstanceGroups }: Pick<ManagerFlags, 'limits' | 'reconcilesInstanceGroups'>,
  example: Example,
): readonly Question[] {
  const boundary = requiredBoundary(limits, example);
  const makesRoles = objects.length === 0 || objects.some(({ spec }) => spec.roleARN === undefined);
  const needed: Readonly<Record<string, boolean>> = {
    policy: true,
    withBoundary: boundary !== undefined,
    chooseSubnets: objects.some(({ spec }) => spec.eksCluster !== undefined && !spec.subnetIDs?.length),
    instanceGroups: reconcilesInstanceGroups,
  };
  const statements = permissions.iam.filter(
    ({ part, sid }) => needed[part] === true && (makesRoles || !FOR_NEW_ROLES.includes(sid)),
  );
  const valueOf = (key: string, value: string): string => {
    if (key === 'iam:PermissionsBoundary') return boundary ?? value;
    if (key.endsWith(EKS_CLUSTER_TAG)) return clusterArn(example, EksClusterName.of(example.cluster));
    return key.endsWith(NAMESPACE_TAG) ? example.namespace : value.replace(/^arn:aws:/, `arn:${example.partition}:`);
  };
  // A statement of a later part replaces the one of the same name.
  return [...new Map(statements.map((each) => [each.sid, each])).values()].map(
    ({ sid, actions, resource, context }) => ({
      sid,
      actions,
      resource: resourceFor(resource, example),
      context: context.map(({ key, value }) => ({ key, value: valueOf(key, value) })),
    }),
  );
}

function resourceFor(pattern: string, { partition, region, account, cluster, role }: Example): string {
  if (pattern === '*') return pattern;
  const [, , service = '', , , wanted = ''] = pattern.split(':');
  const found = [`cluster/${cluster}`, `fargateprofile/${cluster}/capaf/0`, `role/${role}`].find((each) =>
    matchesWildcard(wanted, each),
  );
  const resource = found ?? wanted.replaceAll('*', 'capaf');
  return `arn:${partition}:${service}:${service === 'iam' ? '' : region}:${account}:${resource}`;
}
