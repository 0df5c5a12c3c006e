import { type AWSFargateProfileStatus, FINALIZER, PROVISIONED_IN_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { KubeObject } from '../../../pkg/kube/types.ts';
import type { CallRecord } from '../../aws/call-log.ts';
import { ACCOUNT } from './cluster.ts';
import { statusOf } from './problems.ts';

/**
 * Whether, if the manager crashed now, a new manager would find the resource that this AWS call creates. It finds the
 * resource if an AWSFargateProfile has the manager's finalizer and the annotation that names the AWS account, and its
 * status names the account and the resource. Returns true for an AWS call that creates neither a role nor a Fargate
 * profile.
 */
export function isRecorded(
  { operation, identifiers, account = ACCOUNT }: CallRecord,
  profiles: readonly KubeObject[],
): boolean {
  const names = (status: AWSFargateProfileStatus): boolean => {
    if (operation === 'CreateRole') return status.role?.name === identifiers['RoleName'];
    const { name } = status.successor ?? { name: status.profileName };
    return name === identifiers['fargateProfileName'] && status.createRequestedAt !== undefined;
  };
  const isCreate = operation === 'CreateRole' || operation === 'CreateFargateProfile';
  return (
    !isCreate ||
    profiles.some((object) => {
      const status = statusOf(object);
      const { finalizers = [], annotations = {} } = object.metadata;
      const isLocated = annotations[PROVISIONED_IN_ANNOTATION]?.startsWith(`${account}/`) === true;
      return finalizers.includes(FINALIZER) && isLocated && status.account === account && names(status);
    })
  );
}
