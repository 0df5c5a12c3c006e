import type { KubeObject } from 'controller-runtime/client';
import { FINALIZER } from '../../../api/v1beta2/index.ts';
import type { CallRecord } from '../../aws/call-log.ts';
import { ACCOUNT } from './cluster.ts';
import { recordIn, recordedIn } from './records.ts';

/**
 * Reports whether a new manager would find the resource that this AWS call creates, if the manager crashed now. The new
 * manager finds it if an AWSFargateProfile has the manager's finalizer, and a record that contains the AWS account and
 * the resource with the time of the request. Returns true for an AWS call that creates neither a role nor a Fargate
 * profile.
 */
export function isRecorded(
  { operation, identifiers, account = ACCOUNT }: CallRecord,
  profiles: readonly KubeObject[],
): boolean {
  const isRole = operation === 'CreateRole';
  if (!isRole && operation !== 'CreateFargateProfile') return true;
  const name = isRole ? identifiers['RoleName'] : identifiers['fargateProfileName'];
  return profiles.some(
    (object) =>
      object.metadata.finalizers?.includes(FINALIZER) === true &&
      String(recordIn(object)['in']).startsWith(`${account}/`) &&
      recordedIn(object, isRole ? 'roles' : 'profiles').some(
        (each) => each['name'] === name && each['requestedAt'] !== undefined,
      ),
  );
}
