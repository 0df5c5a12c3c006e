import type { Ms } from '../../pkg/env/clock.ts';
import type { Emulator } from '../aws/emulator.ts';
import { defaultAccount, defaultRegion } from '../aws/admin.ts';

/** How long EKS is busy with the profiles of a cluster, one after the other. */
export interface Stopwatch {
  creating: Ms;
  deleting: Ms;
}

export function stopwatch(aws: Emulator, clusterName: string): Stopwatch {
  const spent: Stopwatch = { creating: 0, deleting: 0 };
  aws.onCall(({ operation, applied, nouns }, phase) => {
    const isLifecycle = operation === 'CreateFargateProfile' || operation === 'DeleteFargateProfile';
    if (phase !== 'after' || !applied || !isLifecycle) return;
    const { world } = aws.model;
    const region = world.region(world.account(defaultAccount, 'aws'), defaultRegion);
    const now = aws.clock.now();
    const profile = world.cluster(region, clusterName, now)?.profiles.get(nouns['fargateProfileName'] ?? '');
    const span = (profile?.transition?.at ?? now) - now;
    spent[operation === 'CreateFargateProfile' ? 'creating' : 'deleting'] += span;
  });
  return spent;
}
