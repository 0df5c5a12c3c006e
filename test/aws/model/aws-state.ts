import type { Config, Delay } from './config.ts';
import type { ModelEnv } from './env.ts';
import { PlannedFailures } from './planned-failures.ts';
import type { EmulatedAccount, EmulatedCluster, Incident, EmulatedProfile, EmulatedRegion } from './resources.ts';

/**
 * All resources of the emulated AWS. The state has no timers: its methods get the current time as a parameter, and
 * apply the changes that are due by then.
 */
export class AwsState {
  config: Config;
  readonly env: ModelEnv;
  readonly accounts = new Map<string, EmulatedAccount>();
  incidents: readonly Incident[] = [];
  readonly plannedFailures = new PlannedFailures();

  constructor(config: Config, env: ModelEnv) {
    this.config = config;
    this.env = env;
  }

  account(id: string, partition = 'aws'): EmulatedAccount {
    const known = this.accounts.get(id);
    if (known !== undefined && known.partition !== partition) {
      throw new Error(`account ${id} is of partition ${known.partition}, not ${partition}`);
    }
    if (known !== undefined) return known;
    const account: EmulatedAccount = {
      id,
      partition,
      regions: new Map(),
      roles: new Map(),
      ghosts: new Map(),
      policies: new Set(),
      instanceProfiles: new Map(),
    };
    this.accounts.set(id, account);
    return account;
  }

  region(account: EmulatedAccount, name: string): EmulatedRegion {
    const known = account.regions.get(name);
    if (known !== undefined) return known;
    const region: EmulatedRegion = { name, clusters: new Map(), subnets: new Map() };
    account.regions.set(name, region);
    return region;
  }

  /**
   * Returns the EKS cluster with the status that it has at the time `now`; undefined: the cluster does not exist at
   * that time.
   */
  cluster(region: EmulatedRegion, name: string, now: number): EmulatedCluster | undefined {
    const cluster = region.clusters.get(name);
    if (cluster === undefined) return undefined;
    this.#settleProfiles(cluster, now);
    if (cluster.goneAt !== undefined && cluster.goneAt <= now) {
      region.clusters.delete(name);
      return undefined;
    }
    cluster.updates = cluster.updates.filter((window) => window.until > now);
    return cluster;
  }

  /** Applies all status changes of Fargate profiles and EKS clusters that are due at the time `now`. */
  settle(now: number, accounts: Iterable<EmulatedAccount> = this.accounts.values()): void {
    for (const account of accounts) {
      for (const region of account.regions.values()) {
        for (const name of region.clusters.keys()) this.cluster(region, name, now);
      }
    }
  }

  #settleProfiles(cluster: EmulatedCluster, now: number): void {
    for (const profile of cluster.profiles.values()) {
      const transition = profile.transition;
      if (transition === undefined || transition.at > now) continue;
      delete profile.transition;
      if (transition.to === 'gone') {
        cluster.profiles.delete(profile.name);
        continue;
      }
      profile.status = transition.to;
      profile.issues = transition.issues;
    }
  }

  draw(delay: Delay): number {
    if (typeof delay === 'number') return delay;
    const [from, to] = delay;
    return Math.round(from + this.env.random() * (to - from));
  }

  /** Returns the Fargate profiles that use this role, in all regions of the account. */
  profilesOfRole(account: EmulatedAccount, roleArn: string, now: number): readonly EmulatedProfile[] {
    this.settle(now, [account]);
    return [...account.regions.values()].flatMap((region) =>
      [...region.clusters.values()].flatMap((cluster) =>
        [...cluster.profiles.values()].filter((profile) => profile.podExecutionRoleArn === roleArn),
      ),
    );
  }

  record(incident: Incident): void {
    this.incidents = [...this.incidents, incident];
  }
}
