import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';

/** Describes what EKS is doing to a profile with this status; `undefined` if EKS is not changing the profile. */
export function describeTransit(status: string | undefined): string | undefined {
  if (status === 'CREATING') return 'being created';
  return status === 'DELETING' ? 'being deleted' : undefined;
}

/** True if EKS was either creating or deleting the object's profile when the status of the object was last written. */
export const isInTransit = ({ status }: Pick<AWSFargateProfile, 'status'>): boolean =>
  describeTransit(status?.profileStatus) !== undefined;
