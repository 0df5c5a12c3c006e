import type { Ms } from 'controller-runtime/env';
import type { Emulator } from '../aws/emulator.ts';
import { defaultAccount, defaultRegion } from '../aws/admin/admin.ts';

/**
 * The total times that EKS takes to create and to delete all Fargate profiles of one EKS cluster. EKS creates and
 * deletes the Fargate profiles of a cluster one after the other.
 */
export interface EksBusyTime {
  creating: Ms;
  deleting: Ms;
}

export function measureEksBusyTime(aws: Emulator, clusterName: string): EksBusyTime {
  const spent: EksBusyTime = { creating: 0, deleting: 0 };
  aws.onCall(({ operation, applied, identifiers }, phase) => {
    const isLifecycle = operation === 'CreateFargateProfile' || operation === 'DeleteFargateProfile';
    if (phase !== 'after' || !applied || !isLifecycle) return;
    const { state } = aws.model;
    const region = state.region(state.account(defaultAccount, 'aws'), defaultRegion);
    const now = aws.clock.now();
    const profile = state.cluster(region, clusterName, now)?.profiles.get(identifiers['fargateProfileName'] ?? '');
    const span = (profile?.transition?.at ?? now) - now;
    spent[operation === 'CreateFargateProfile' ? 'creating' : 'deleting'] += span;
  });
  return spent;
}
