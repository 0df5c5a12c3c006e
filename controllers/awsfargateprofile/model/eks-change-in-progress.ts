import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';

/**
 * Returns the change that EKS is making to a Fargate profile with this status, for example `being created`; `undefined`
 * if EKS is not changing the profile.
 */
export function describeTransit(status: string | undefined): string | undefined {
  if (status === 'CREATING') return 'being created';
  return status === 'DELETING' ? 'being deleted' : undefined;
}

/** Whether, according to the object's status, EKS was creating or deleting the object's Fargate profile. */
export const isInTransit = ({ status }: Pick<AWSFargateProfile, 'status'>): boolean =>
  describeTransit(status?.profileStatus) !== undefined;
