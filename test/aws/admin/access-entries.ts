import type { Emulator } from '../emulator.ts';
import { addAccessEntry, canPodsJoin, roleWithArn } from '../model/eks/access-entries.ts';
import type { EmulatedAccount, EmulatedCluster, EmulatedRegion } from '../model/resources.ts';
import type { AwsLocation } from './admin.ts';
import { viewAccessEntries } from './views.ts';
import type { AccessEntryView } from './views.ts';

/** A request for an access entry that no AWS call has made. */
export interface AccessEntryRequest extends AwsLocation {
  readonly cluster: string;
  readonly principalArn: string;
  readonly type: string;
}

interface Finders {
  readonly regionOf: (place: AwsLocation) => { readonly account: EmulatedAccount; readonly region: EmulatedRegion };
  readonly clusterOf: (place: AwsLocation, name: string) => EmulatedCluster;
}

/** Makes the access entries of a principal foreign: another client has left them, and not the product. */
export function disownAccessEntries(account: EmulatedAccount, principalArn: string): void {
  for (const { clusters } of account.regions.values())
    for (const { accessEntries } of clusters.values()) {
      const entry = accessEntries.get(principalArn);
      if (entry !== undefined) accessEntries.set(principalArn, { ...entry, foreign: true });
    }
}

/** The functions of the admin API for access entries. */
export function accessEntryAdmin(emulator: Emulator, { regionOf, clusterOf }: Finders) {
  return {
    /**
     * Returns whether new pods of an ACTIVE profile can join the cluster: its access entry is bound to the role that
     * exists now, or the ConfigMap aws-auth gives access.
     */
    canPodsJoin: (which: AwsLocation & { cluster: string; name: string }): boolean => {
      const cluster = clusterOf(which, which.cluster);
      const profile = cluster.profiles.get(which.name);
      return profile?.status === 'ACTIVE' && canPodsJoin(cluster, regionOf(which).account, profile.podExecutionRoleArn);
    },
    /** Returns the access entries of this account; without an account, returns all access entries. */
    accessEntries: ({ account }: { account?: string } = {}): readonly AccessEntryView[] =>
      viewAccessEntries(emulator.model.state, account),
    /** Adds an access entry to a cluster at once, in place of an existing one. */
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
          type: request.type,
          foreign: true,
        },
      );
    },
    /** Removes an access entry at once, as another client would. */
    removeAccessEntry: (which: AwsLocation & { cluster: string; principalArn: string }): void => {
      const cluster = clusterOf(which, which.cluster);
      cluster.accessEntries.delete(which.principalArn);
      cluster.deletedAccessEntries.add(which.principalArn);
    },
  };
}
