import { AccountId } from '../../../api/names.ts';
import type { AllowedEksClusters, OperatorLimits } from '../../../pkg/fargate/operator-limits.ts';

export const LIMIT_FLAGS = [
  {
    name: 'require-permissions-boundary',
    value: 'ARN',
    help: "Permissions boundary of every role that this manager creates or corrects. An asterisk (*) as the partition or account stands for the EKS cluster's. Default: spec.rolePermissionsBoundary",
  },
  {
    name: 'allow-role-arn',
    value: 'PATTERN',
    isList: true,
    help: 'Existing roles allowed in spec.roleARN and spec.roleName; none: no role. Can be repeated. Default: all roles',
  },
  {
    name: 'allow-policy-arn',
    value: 'PATTERN',
    isList: true,
    help: 'Policies allowed in spec.roleAdditionalPolicies; none: no policy. Can be repeated. Default: all policies',
  },
  {
    name: 'allow-eks-cluster',
    value: 'PATTERN',
    isList: true,
    variable: 'CAPAF_ALLOW_EKS_CLUSTERS',
    help: 'EKS clusters allowed in spec.eksCluster: <namespace>=<account>/<region>/<EKS cluster>; the namespace and the EKS cluster may contain * and ?. Can be repeated, or contain several patterns separated by commas. Default: none',
  },
] as const;

/** With this value, --allow-role-arn, --allow-policy-arn, and --allow-eks-cluster do not allow anything. */
const NONE = 'none';
/** The ARN of an IAM policy, in which `*` may replace the partition or the account. */
const BOUNDARY = /^arn:(?:aws[a-z-]*|\*):iam::(?:\d{12}|aws|\*):policy\/[\x21-\x7e]+$/;

interface LimitTexts {
  readonly boundary: string;
  readonly roles: readonly string[];
  readonly policies: readonly string[];
  readonly eksClusters: readonly string[];
}

/** @throws Error with one sentence if the value of a flag has the wrong form. */
export function parseLimits({ boundary, roles, policies, eksClusters }: LimitTexts): OperatorLimits {
  if (boundary !== '' && !BOUNDARY.test(boundary)) {
    throw new Error(
      `--require-permissions-boundary: "${boundary}" is not the ARN of a policy; write it like arn:aws:iam::123456789012:policy/name, or like arn:aws:iam::*:policy/name for the account of each EKS cluster`,
    );
  }
  const patterns = eksClusters.flatMap((value) => value.split(',')).map((pattern) => pattern.trim());
  const named = patterns.filter((pattern) => pattern !== NONE);
  return {
    ...(boundary !== '' && { permissionsBoundary: boundary }),
    ...(roles.length > 0 && { roleArns: roles.map((pattern) => checkPattern('allow-role-arn', 'role', pattern)) }),
    ...(policies.length > 0 && {
      policyArns: policies.map((pattern) => checkPattern('allow-policy-arn', 'policy', pattern)),
    }),
    ...(named.length > 0 && { eksClusters: named.map(parseEksClusters) }),
  };
}

function checkPattern(flag: string, resource: 'role' | 'policy', pattern: string): string {
  const form = new RegExp(String.raw`^arn:[a-z*?-]+:iam::[a-z0-9*?]+:${resource}/[\x21-\x7e]+$`);
  if (pattern === NONE || form.test(pattern)) return pattern;
  throw new Error(
    `--${flag}: "${pattern}" is not a pattern for ARNs; write it like arn:aws:iam::123456789012:${resource}/pods/* or none`,
  );
}

const EKS_CLUSTERS =
  /^(?<namespace>[a-z0-9*?-]+)=(?<account>\d{12})\/(?<region>[a-z]+(?:-[a-z0-9]+)+)\/(?<name>[A-Za-z0-9_*?-]+)$/;

function parseEksClusters(value: string): AllowedEksClusters {
  const { namespace, account, region, name } = EKS_CLUSTERS.exec(value)?.groups ?? {};
  if (namespace === undefined || account === undefined || region === undefined || name === undefined) {
    throw new Error(
      `--allow-eks-cluster: "${value}" does not say which EKS clusters a namespace may use; write it like <namespace>=<account>/<region>/<EKS cluster>, for example team-a=123456789012/eu-west-1/team-a-*`,
    );
  }
  return { namespace, account: AccountId.of(account), region, name };
}
