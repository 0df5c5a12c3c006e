import type { Emulator } from '../emulator.ts';
import { addAccessEntry, canPodsJoin, roleWithArn } from '../model/eks/access-entries.ts';
import type { EmulatedAccount, EmulatedCluster, EmulatedRegion } from '../model/resources.ts';
import type { AwsLocation } from './admin.ts';
import { type AccessEntryView, viewAccessEntries } from './views.ts';

/** The attributes of an EKS access entry that a test adds to a cluster without an AWS call. */
export interface AccessEntryRequest extends AwsLocation {
  readonly cluster: string;
  readonly principalArn: string;
}

interface Finders {
  readonly regionOf: (place: AwsLocation) => { readonly account: EmulatedAccount; readonly region: EmulatedRegion };
  readonly clusterOf: (place: AwsLocation, name: string) => EmulatedCluster;
}

/**
 * Marks the access entries of a principal as foreign, so that the check for resources that the manager has left behind
 * ignores them.
 */
export function disownAccessEntries(account: EmulatedAccount, principalArn: string): void {
  for (const { clusters } of account.regions.values())
    for (const { accessEntries } of clusters.values()) {
      const entry = accessEntries.get(principalArn);
      if (entry !== undefined) accessEntries.set(principalArn, { ...entry, foreign: true });
    }
}

export function accessEntryAdmin(emulator: Emulator, { regionOf, clusterOf }: Finders) {
  return {
    /**
     * Returns whether new pods of a Fargate profile can join the EKS cluster. The profile must be ACTIVE, and its pod
     * execution role must have access to the cluster. The access entry of the role gives access only if the entry is
     * bound to the current id of the role. If the role has no access entry, the ConfigMap aws-auth can give access.
     */
    canPodsJoin: (which: AwsLocation & { cluster: string; name: string }): boolean => {
      const cluster = clusterOf(which, which.cluster);
      const profile = cluster.profiles.get(which.name);
      return profile?.status === 'ACTIVE' && canPodsJoin(cluster, regionOf(which).account, profile.podExecutionRoleArn);
    },
    accessEntries: (): readonly AccessEntryView[] => viewAccessEntries(emulator.model.state),
    putAccessEntry: (request: AccessEntryRequest): void => {
      const { account, region } = regionOf(request);
      const uuid = emulator.model.state.env.uuid();
      addAccessEntry(
        clusterOf(request, request.cluster),
        { account, region: region.name, uuid },
        emulator.clock.now(),
        {
          principalArn: request.principalArn,
          principalId: roleWithArn(account, request.principalArn)?.id,
          foreign: true,
        },
      );
    },
    removeAccessEntry: (which: AwsLocation & { cluster: string; principalArn: string }): void => {
      const cluster = clusterOf(which, which.cluster);
      cluster.accessEntries.delete(which.principalArn);
      cluster.deletedAccessEntries.add(which.principalArn);
    },
  };
}
