import { type EksClusterName, AccountId, RoleArn, RoleName } from '../../api/names.ts';

export interface AwsLocation {
  readonly partition: string;
  readonly region: string;
  readonly account: AccountId;
}

/** AWS's managed policy for pod execution roles, which allows Fargate to pull images from ECR. */
export const POD_EXECUTION_POLICY_NAME = 'AmazonEKSFargatePodExecutionRolePolicy';

export function podExecutionPolicyArn(partition: string): string {
  return `arn:${partition}:iam::aws:policy/${POD_EXECUTION_POLICY_NAME}`;
}

export function clusterArn({ partition, region, account }: AwsLocation, cluster: EksClusterName): string {
  return `arn:${partition}:eks:${region}:${account}:cluster/${cluster}`;
}

interface RoleArnParts {
  readonly account: AccountId;
  /** The IAM path of the role: `/` or `/…/`. */
  readonly path: string;
  readonly name: RoleName;
}

const ROLE_ARN = /^arn:[a-z0-9-]+:iam::(?<account>\d{12}):role(?<path>\/(?:[\x21-\x7e]+\/)?)(?<name>[\w+=,.@-]{1,64})$/;

export function parseRoleArn(arn: string): RoleArnParts | undefined {
  const { account, path, name } = ROLE_ARN.exec(arn)?.groups ?? {};
  return account === undefined || path === undefined || name === undefined
    ? undefined
    : { account: AccountId.of(account), path, name: RoleName.of(name) };
}

/** The role need not exist. `path` is `/` or `/…/`. */
export function roleArn({ partition, account }: Omit<AwsLocation, 'region'>, path: string, name: RoleName): RoleArn {
  return RoleArn.of(`arn:${partition}:iam::${account}:role${path}${name}`);
}
