import type { Option } from 'fp-ts/lib/Option.js';
import * as O from 'fp-ts/lib/Option.js';
import { AccountId, RoleArn, RoleName } from '../../api/names.ts';
import type { EksClusterName } from '../../api/names.ts';

export { partitionOf } from '../cloud/partition.ts';

/** Where something lives in AWS. */
export interface Place {
  readonly partition: string;
  readonly region: string;
  readonly account: AccountId;
}

/** The managed policy that each pod execution role needs: it lets Fargate pull images and write logs. */
export function podExecutionPolicyArn(partition: string): string {
  return `arn:${partition}:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy`;
}

export function clusterArn({ partition, region, account }: Place, cluster: EksClusterName): string {
  return `arn:${partition}:eks:${region}:${account}:cluster/${cluster}`;
}

export interface RoleArnParts {
  readonly partition: string;
  readonly account: AccountId;
  /** `/` or `/…/`. */
  readonly path: string;
  readonly name: RoleName;
}

const ROLE_ARN =
  /^arn:(?<partition>[a-z0-9-]+):iam::(?<account>\d{12}):role(?<path>\/(?:[\x21-\x7e]+\/)?)(?<name>[\w+=,.@-]{1,64})$/;

export function parseRoleArn(arn: string): Option<RoleArnParts> {
  const { partition, account, path, name } = ROLE_ARN.exec(arn)?.groups ?? {};
  return partition === undefined || account === undefined || path === undefined || name === undefined
    ? O.none
    : O.some({ partition, account: AccountId.of(account), path, name: RoleName.of(name) });
}

/** The ARN that a role of this name and path has or will have; `path` is `/` or `/…/`. */
export function roleArn({ partition, account }: Omit<Place, 'region'>, path: string, name: RoleName): RoleArn {
  return RoleArn.of(`arn:${partition}:iam::${account}:role${path}${name}`);
}
