import type { Config, Delay, PlannedFailure } from './config.ts';
import type { ModelEnv } from './env.ts';
import type { Account, Cluster, HealthIssue, Incident, Profile, Region } from './state.ts';

interface Failing {
  readonly plan: PlannedFailure;
  left: number;
}

/** Everything that exists. Time is always handed in; nothing here moves by itself. */
export class World {
  config: Config;
  readonly env: ModelEnv;
  readonly accounts = new Map<string, Account>();
  incidents: readonly Incident[] = [];
  #failing: readonly Failing[] = [];

  constructor(config: Config, env: ModelEnv) {
    this.config = config;
    this.env = env;
  }

  account(id: string, partition = 'aws'): Account {
    const known = this.accounts.get(id);
    if (known !== undefined && known.partition !== partition) {
      throw new Error(`account ${id} is of partition ${known.partition}, not ${partition}`);
    }
    if (known !== undefined) return known;
    const account: Account = {
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

  region(account: Account, name: string): Region {
    const known = account.regions.get(name);
    if (known !== undefined) return known;
    const region: Region = { name, clusters: new Map(), subnets: new Map() };
    account.regions.set(name, region);
    return region;
  }

  /** The cluster as it is at `now`, or undefined when there is none. */
  cluster(region: Region, name: string, now: number): Cluster | undefined {
    const cluster = region.clusters.get(name);
    if (cluster === undefined) return undefined;
    this.#settleProfiles(cluster, now);
    const transition = cluster.transition;
    if (transition !== undefined && transition.at <= now) {
      delete cluster.transition;
      if (transition.to === 'gone') {
        region.clusters.delete(name);
        return undefined;
      }
      cluster.status = transition.to;
    }
    cluster.updates = cluster.updates.filter((window) => window.until > now);
    return cluster;
  }

  /** Brings every profile and cluster of these accounts to where it is at `now`. */
  settle(now: number, accounts: Iterable<Account> = this.accounts.values()): void {
    for (const account of accounts) {
      for (const region of account.regions.values()) {
        for (const name of region.clusters.keys()) this.cluster(region, name, now);
      }
    }
  }

  /** When something next changes by itself, for a virtual clock that jumps. */
  nextTransitionAt(): number | undefined {
    let next: number | undefined;
    for (const account of this.accounts.values()) {
      for (const region of account.regions.values()) {
        for (const cluster of region.clusters.values()) {
          for (const { transition } of [cluster, ...cluster.profiles.values()]) {
            if (transition !== undefined && (next === undefined || transition.at < next)) next = transition.at;
          }
        }
      }
    }
    return next;
  }

  #settleProfiles(cluster: Cluster, now: number): void {
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
      if (transition.to === 'ACTIVE') this.#openUpdateWindow(cluster, transition.at);
    }
  }

  #openUpdateWindow(cluster: Cluster, activeSince: number): void {
    const lasts = this.draw(this.config.eks.updateAfterActiveMs);
    if (lasts <= 0) return;
    cluster.updates = [...cluster.updates, { until: activeSince + lasts, refuses: ['delete', 'deleteCluster'] }];
  }

  draw(delay: Delay): number {
    if (typeof delay === 'number') return delay;
    const [from, to] = delay;
    return Math.round(from + this.env.random() * (to - from));
  }

  planFailure(plan: PlannedFailure): void {
    this.#failing = [...this.#failing, { plan, left: plan.times ?? Number.POSITIVE_INFINITY }];
  }

  clearPlannedFailures(): void {
    this.#failing = [];
  }

  /** The health issues with which this operation is to end, or undefined when it is to succeed. */
  takePlannedFailure(
    operation: PlannedFailure['operation'],
    cluster: string,
    profile: string,
  ): readonly HealthIssue[] | undefined {
    const failing = this.#failing.find(
      ({ plan, left }) =>
        left > 0 &&
        plan.operation === operation &&
        (plan.cluster ?? cluster) === cluster &&
        (plan.profile ?? profile) === profile,
    );
    if (failing === undefined) return undefined;
    failing.left -= 1;
    return failing.plan.issues;
  }

  /** Profiles of the account, in whatever region, that name this role. */
  profilesOfRole(account: Account, roleArn: string, now: number): readonly Profile[] {
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
