import { readFileSync } from 'node:fs';
import { fieldAt, textAt } from 'controller-runtime/json';
import { EksClusterName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { type AwsLocation, clusterArn } from '../../../pkg/fargate/arns.ts';
import { requiredBoundary } from '../../../pkg/fargate/operator-limits.ts';
import { EKS_CLUSTER_TAG, NAMESPACE_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';
import { matchesWildcard } from '../../../pkg/fargate/wildcard.ts';
import type { ManagerFlags } from '../../manager/flags/parse-flags.ts';
import { parseDocuments } from '../documents.ts';

// The build inserts the text of these files into the bundle.
const ROLE = readFileSync(new URL('../../../config/rbac/role.yaml', import.meta.url), 'utf8');
const CRD_KEEPER = readFileSync(new URL('../../../config/components/crd-keeper/rbac.yaml', import.meta.url), 'utf8');
const GROUPS = readFileSync(new URL('../../../config/components/instance-groups/rbac.yaml', import.meta.url), 'utf8');
const POLICIES = readFileSync(new URL('../../../docs/aws-permissions.md', import.meta.url), 'utf8');

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
}

const isRole = (value: unknown): value is Role => fieldAt(value, 'rules') !== undefined;

export type RbacRole = ReturnType<typeof rbacRolesFor>[number];

/** Returns the Roles and ClusterRoles that a manager with these flags needs, as attributes of SubjectAccessReviews. */
export const rbacRolesFor = (flags: Partial<ManagerFlags> = {}) =>
  [
    ROLE,
    ...(flags.managesCrd === true ? [CRD_KEEPER] : []),
    ...(flags.reconcilesInstanceGroups === true ? [GROUPS] : []),
  ]
    .flatMap((text) => Array.from(parseDocuments('config', text), ({ value }) => value))
    .filter(isRole)
    .map(({ kind, metadata: { name }, rules }) => ({ kind, name, permissions: rules.flatMap(attributesOf) }));

const attributesOf = ({ apiGroups, resources, verbs, resourceNames = [''] }: Role['rules'][number]) =>
  apiGroups.flatMap((group) =>
    resources.flatMap((path) => {
      const [resource = '', subresource = ''] = path.split('/');
      return verbs.flatMap((verb) => resourceNames.map((name) => ({ group, resource, subresource, verb, name })));
    }),
  );

/** One call of the policy simulator, for one statement of docs/aws-permissions.md. */
export interface Question {
  readonly sid: string;
  readonly actions: readonly string[];
  readonly resource: string;
  /** Values of the keys in the statement's conditions. */
  readonly context: readonly { readonly key: string; readonly value: string }[];
}

/** The resources that the simulated calls name. They matter because a policy may allow only some clusters or roles. */
export interface Example extends AwsLocation {
  readonly cluster: string;
  readonly namespace: string;
  readonly role: string;
}

interface Statement {
  readonly Sid: string;
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

const isStatement = (value: unknown): value is Statement => textAt(value, 'Sid') !== undefined;

/** Reads each JSON block in docs/aws-permissions.md. */
const documentedStatements = (): readonly (readonly Statement[])[] =>
  [...POLICIES.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text = '']) => {
    const policy: unknown = JSON.parse(text);
    return [fieldAt(policy, 'Statement') ?? policy].flat().filter(isStatement);
  });

const FOR_NEW_ROLES = ['CreateRoles', 'TagNewRoles', 'ChangeRoles', 'AttachPolicies', 'SetBoundary'];

export function questionsFor(
  objects: readonly AWSFargateProfile[],
  { limits, reconcilesInstanceGroups }: Pick<ManagerFlags, 'limits' | 'reconcilesInstanceGroups'>,
  example: Example,
): readonly Question[] {
  const boundary = requiredBoundary(limits, example);
  const makesRoles = objects.length === 0 || objects.some(({ spec }) => spec.roleARN === undefined);
  const choosesSubnets = objects.some(({ spec }) => spec.eksCluster !== undefined && !spec.subnetIDs?.length);
  const [policy = [], withBoundary = [], chooseSubnets = [], instanceGroups = []] = documentedStatements();
  const needed = [
    ...policy,
    ...(boundary === undefined ? [] : withBoundary),
    ...(choosesSubnets ? chooseSubnets : []),
    ...(reconcilesInstanceGroups ? instanceGroups : []),
  ].filter(({ Sid }) => makesRoles || !FOR_NEW_ROLES.includes(Sid));
  const valueOf = (key: string, value: string): string => {
    if (key === 'iam:PermissionsBoundary') return boundary ?? value;
    if (key.endsWith(EKS_CLUSTER_TAG)) return clusterArn(example, EksClusterName.of(example.cluster));
    return key.endsWith(NAMESPACE_TAG) ? example.namespace : value.replace(/^arn:aws:/, `arn:${example.partition}:`);
  };
  const contextOf = (condition: NonNullable<Statement['Condition']>): Question['context'] =>
    Object.entries(condition).flatMap(([operator, values]) =>
      Object.entries(values)
        .filter(([, value]) => operator !== 'Null' || value === 'false')
        .map(([key, value]) => ({ key, value: valueOf(key, [value].flat()[0] ?? '') })),
    );
  // A statement from a later block replaces an earlier one of the same name.
  return [...new Map(needed.map((each) => [each.Sid, each])).values()].map(
    ({ Sid: sid, Action, Resource, Condition = {} }) => ({
      sid,
      actions: [Action].flat(),
      resource: resourceFor([Resource].flat()[0] ?? '*', example),
      context: contextOf(Condition),
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
