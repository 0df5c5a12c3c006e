import type { FargateProfile } from '../../../pkg/cloud/index.ts';

// The statuses that EKS gives a Fargate profile.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_FargateProfile.html

export const CREATING = 'CREATING';
export const ACTIVE = 'ACTIVE';
export const DELETING = 'DELETING';
export const CREATE_FAILED = 'CREATE_FAILED';
export const DELETE_FAILED = 'DELETE_FAILED';

/** True if EKS is removing the profile, or has failed to create or delete it. */
export const isGoing = ({ status }: Pick<FargateProfile, 'status'>): boolean =>
  status === DELETING || isFailed({ status });

export const isFailed = ({ status }: Pick<FargateProfile, 'status'>): boolean =>
  status === CREATE_FAILED || status === DELETE_FAILED;

export const isInTransit = ({ status }: Pick<FargateProfile, 'status'>): boolean =>
  status === CREATING || status === DELETING;

/** Returns, for example, `being created`; `undefined` if EKS is not changing the profile. */
export function describeTransit(status: string | undefined): string | undefined {
  if (status === CREATING) return 'being created';
  return status === DELETING ? 'being deleted' : undefined;
}
