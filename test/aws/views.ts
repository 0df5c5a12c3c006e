import { current } from './model/role-visibility.ts';
import type {
  Account,
  AuthenticationMode,
  Cluster,
  ClusterStatus,
  HealthIssue,
  Profile,
  ProfileStatus,
  Region,
  Role,
  Selector,
  Subnet,
  Tags,
} from './model/state.ts';
import type { World } from './model/world.ts';

/** What there is, as plain values for assertions and for the admin API. Times are milliseconds since the epoch. */
export interface ClusterView {
  readonly account: string;
  readonly region: string;
  readonly name: string;
  readonly arn: string;
  readonly status: ClusterStatus;
  readonly version: string;
  readonly authenticationMode: AuthenticationMode;
  readonly vpcId: string;
  readonly subnets: readonly Subnet[];
  readonly tags: Tags;
  readonly foreign: boolean;
}

export interface ProfileView {
  readonly account: string;
  readonly region: string;
  readonly cluster: string;
  readonly name: string;
  readonly arn: string;
  readonly status: ProfileStatus;
  readonly createdAt: number;
  readonly podExecutionRoleArn: string;
  readonly subnets: readonly string[];
  readonly selectors: readonly Selector[];
  readonly tags: Tags;
  readonly issues: readonly HealthIssue[];
  readonly foreign: boolean;
}

export interface RoleView {
  readonly account: string;
  readonly name: string;
  readonly path: string;
  readonly arn: string;
  readonly id: string;
  readonly createdAt: number;
  /** JSON text, not encoded. */
  readonly trustPolicy: string;
  readonly description: string;
  readonly permissionsBoundary?: string;
  readonly tags: Tags;
  readonly attachedPolicies: readonly string[];
  readonly inlinePolicies: readonly string[];
  readonly instanceProfiles: readonly string[];
  readonly foreign: boolean;
}

/** The account of this id, where one is given, and otherwise all. */
function accountsOf(world: World, id: string | undefined): readonly Account[] {
  if (id === undefined) return [...world.accounts.values()];
  const account = world.accounts.get(id);
  return account === undefined ? [] : [account];
}

function eachCluster(
  world: World,
  id?: string,
): readonly { readonly account: Account; readonly region: Region; readonly cluster: Cluster }[] {
  return accountsOf(world, id).flatMap((account) =>
    [...account.regions.values()].flatMap((region) =>
      [...region.clusters.values()].map((cluster) => ({ account, region, cluster })),
    ),
  );
}

export function viewCluster(account: Account, region: Region, cluster: Cluster): ClusterView {
  return {
    account: account.id,
    region: region.name,
    name: cluster.name,
    arn: cluster.arn,
    status: cluster.status,
    version: cluster.version,
    authenticationMode: cluster.authenticationMode,
    vpcId: cluster.vpcId,
    subnets: cluster.subnetIds.flatMap((id) => region.subnets.get(id) ?? []),
    tags: cluster.tags,
    foreign: cluster.foreign,
  };
}

export function viewClusters(world: World, now: number): readonly ClusterView[] {
  world.settle(now);
  return eachCluster(world).map(({ account, region, cluster }) => viewCluster(account, region, cluster));
}

export function viewProfile(account: Account, region: Region, cluster: Cluster, profile: Profile): ProfileView {
  const { transition: _, ...shown } = profile;
  return { account: account.id, region: region.name, cluster: cluster.name, ...shown };
}

export function viewProfiles(world: World, now: number, account?: string): readonly ProfileView[] {
  world.settle(now, accountsOf(world, account));
  return eachCluster(world, account).flatMap(({ account: owner, region, cluster }) =>
    [...cluster.profiles.values()].map((profile) => viewProfile(owner, region, cluster, profile)),
  );
}

export function viewRole(account: Account, role: Role): RoleView {
  const version = current(role);
  return {
    account: account.id,
    name: role.name,
    path: role.path,
    arn: role.arn,
    id: role.id,
    createdAt: role.createdAt,
    trustPolicy: version.trustPolicy,
    description: version.description,
    ...(version.permissionsBoundary === undefined ? {} : { permissionsBoundary: version.permissionsBoundary }),
    tags: version.tags,
    attachedPolicies: version.attachedPolicies,
    inlinePolicies: Object.keys(version.inlinePolicies),
    instanceProfiles: [...account.instanceProfiles.values()]
      .filter(({ roles }) => roles.includes(role.name))
      .map(({ name }) => name),
    foreign: role.foreign,
  };
}

export function viewRoles(world: World, account?: string): readonly RoleView[] {
  return accountsOf(world, account).flatMap((owner) => [...owner.roles.values()].map((role) => viewRole(owner, role)));
}
