import { currentVersion } from '../model/iam/role-visibility.ts';
import type {
  EmulatedAccessEntry,
  EmulatedAccount,
  EmulatedCluster,
  ProfileIssue,
  EmulatedProfile,
  EmulatedProfileStatus,
  EmulatedRegion,
  EmulatedRole,
  ProfileSelector,
  Subnet,
  TagMap,
} from '../model/resources.ts';
import type { AwsState } from '../model/aws-state.ts';

/**
 * An EKS cluster of the emulated AWS as a plain JSON value, for assertions and for the admin functions over HTTP. All
 * times in such values are milliseconds since the epoch.
 */
export interface ClusterView {
  readonly account: string;
  readonly region: string;
  readonly name: string;
  readonly arn: string;
  readonly subnets: readonly Subnet[];
}

export interface ProfileView {
  readonly account: string;
  readonly region: string;
  readonly cluster: string;
  readonly name: string;
  readonly arn: string;
  readonly status: EmulatedProfileStatus;
  readonly createdAt: number;
  readonly podExecutionRoleArn: string;
  readonly subnets: readonly string[];
  readonly selectors: readonly ProfileSelector[];
  readonly tags: TagMap;
  readonly issues: readonly ProfileIssue[];
  readonly foreign: boolean;
}

/**
 * An EKS access entry as DescribeAccessEntry shows it. EKS binds an entry to the unique id of a role, but never shows
 * this id.
 */
export interface AccessEntryView extends Omit<EmulatedAccessEntry, 'principalId'> {
  readonly account: string;
  readonly region: string;
  readonly cluster: string;
}

export interface RoleView {
  readonly account: string;
  readonly name: string;
  readonly arn: string;
  readonly id: string;
  /** The trust policy as JSON text, not percent-encoded. */
  readonly trustPolicy: string;
  readonly permissionsBoundary?: string;
  readonly tags: TagMap;
  readonly attachedPolicies: readonly string[];
  readonly foreign: boolean;
}

function eachCluster(state: AwsState): readonly {
  readonly account: EmulatedAccount;
  readonly region: EmulatedRegion;
  readonly cluster: EmulatedCluster;
}[] {
  return [...state.accounts.values()].flatMap((account) =>
    [...account.regions.values()].flatMap((region) =>
      [...region.clusters.values()].map((cluster) => ({ account, region, cluster })),
    ),
  );
}

export function viewCluster(account: EmulatedAccount, region: EmulatedRegion, cluster: EmulatedCluster): ClusterView {
  return {
    account: account.id,
    region: region.name,
    name: cluster.name,
    arn: cluster.arn,
    subnets: cluster.subnetIds.flatMap((id) => region.subnets.get(id) ?? []),
  };
}

export function viewClusters(state: AwsState, now: number): readonly ClusterView[] {
  state.settle(now);
  return eachCluster(state).map(({ account, region, cluster }) => viewCluster(account, region, cluster));
}

export function viewProfile(
  account: EmulatedAccount,
  region: EmulatedRegion,
  cluster: EmulatedCluster,
  profile: EmulatedProfile,
): ProfileView {
  const { transition: _, ...shown } = profile;
  return { account: account.id, region: region.name, cluster: cluster.name, ...shown };
}

export function viewProfiles(state: AwsState, now: number): readonly ProfileView[] {
  state.settle(now);
  return eachCluster(state).flatMap(({ account, region, cluster }) =>
    [...cluster.profiles.values()].map((profile) => viewProfile(account, region, cluster, profile)),
  );
}

export function viewAccessEntries(state: AwsState): readonly AccessEntryView[] {
  return eachCluster(state).flatMap(({ account, region, cluster }) =>
    [...cluster.accessEntries.values()].map(({ principalId: _invisible, ...shown }) => ({
      account: account.id,
      region: region.name,
      cluster: cluster.name,
      ...shown,
    })),
  );
}

export function viewRole(account: EmulatedAccount, role: EmulatedRole): RoleView {
  const version = currentVersion(role);
  return {
    account: account.id,
    name: role.name,
    arn: role.arn,
    id: role.id,
    trustPolicy: version.trustPolicy,
    ...(version.permissionsBoundary === undefined ? {} : { permissionsBoundary: version.permissionsBoundary }),
    tags: version.tags,
    attachedPolicies: version.attachedPolicies,
    foreign: role.foreign,
  };
}

export function viewRoles(state: AwsState): readonly RoleView[] {
  return [...state.accounts.values()].flatMap((owner) =>
    [...owner.roles.values()].map((role) => viewRole(owner, role)),
  );
}
