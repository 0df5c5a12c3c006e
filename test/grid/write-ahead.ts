import { fieldAt } from '../../api/record.ts';
import type { CallRecord } from '../aws/call-log.ts';
import type { RawObject } from '../envtest/clients/api.ts';
import { REGION } from '../world/world.ts';

/** The AWS account, EKS cluster and profile name that the status of the AWSFargateProfile must contain. */
interface ExpectedLocation {
  readonly account: string;
  readonly eksCluster: string;
  readonly profileName: string;
}

/**
 * Lists the fields that the AWSFargateProfile must have when the manager sends the given AWS create call, but does not
 * have. Without these fields, a new manager would not find the created resource after a crash.
 */
export function findMissingRecords(
  { operation, identifiers }: Pick<CallRecord, 'operation' | 'identifiers'>,
  object: RawObject | undefined,
  expected: ExpectedLocation,
): readonly string[] {
  const { account, region, eksClusterName, profileName, successor, createRequestedAt, role } = object?.status ?? {};
  const requested = fieldAt(successor, 'name') ?? profileName;
  const name = operation === 'CreateFargateProfile' ? identifiers['fargateProfileName'] : expected.profileName;
  const roleName = typeof role === 'object' && role !== null && 'name' in role ? role.name : undefined;
  return [
    ...((object?.metadata.finalizers ?? []).length > 0 ? [] : ['the finalizer']),
    ...(account === expected.account ? [] : ['status.account']),
    ...(region === REGION ? [] : ['status.region']),
    ...(eksClusterName === expected.eksCluster ? [] : ['status.eksClusterName']),
    ...([requested, profileName].includes(name) ? [] : ['status.profileName or status.successor.name']),
    ...(operation === 'CreateRole' && roleName !== identifiers['RoleName'] ? ['status.role.name'] : []),
    ...(operation === 'CreateFargateProfile' && createRequestedAt === undefined ? ['status.createRequestedAt'] : []),
  ];
}
