import type { CallRecord } from '../aws/call-log.ts';
import type { RawObject } from '../envtest/clients/api.ts';
import type { TeardownObjects } from './teardown-checks.ts';

/** The name of an IAM role. In each AWS account, two AWSFargateProfiles use the role with this name. */
export const SHARED_ROLE = 'shared-pods';
export const FOREIGN_ROLE = 'brought-along';

/** Returns the AWS account of the cluster `c<number>`. */
export const accountOfCluster = (number: number): string => String(100_000_000_000 + number);

/** Returns the AWS account that hosts the EKS cluster of this AWSManagedControlPlane. */
export const accountOfControlPlane = ({ metadata }: RawObject): string =>
  accountOfCluster(Number(/^c(\d+)-control-plane$/.exec(metadata.name)?.[1]));

/**
 * Returns the objects of a cluster with four AWSFargateProfiles: two share an IAM role, one has its own role, and one
 * uses a role that the manager does not own.
 */
export function teardownObjects(number: number, namespace: string, cluster: string): TeardownObjects {
  const profileOf = (object: string): string => `${namespace}_${object}`;
  const resources = (suffix: string, role: string, isRoleOurs = true) => {
    const object = `c${number}-${suffix}`;
    return { object, role, isRoleOurs, profile: profileOf(object) };
  };
  return {
    namespace,
    cluster,
    controlPlane: `${cluster}-control-plane`,
    profiles: [
      resources('first', SHARED_ROLE),
      resources('second', SHARED_ROLE),
      resources('own', `${cluster}-${profileOf(`c${number}-own`)}_fargate`),
      resources('foreign', FOREIGN_ROLE, false),
    ],
  };
}

export const formatCall = ({ operation, identifiers, errorCode = '' }: CallRecord): string =>
  [operation, identifiers['fargateProfileName'] ?? identifiers['RoleName'] ?? '', errorCode].join(' ').trim();
