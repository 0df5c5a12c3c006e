import type { LogFilter } from './call-log.ts';
import type { Emulator } from './emulator.ts';
import type { FaultRule } from './faults.ts';
import { withConfig } from './model/config.ts';
import type { Config, ConfigPatch, PlannedFailure } from './model/config.ts';
import { newRole } from './model/iam-state.ts';
import type { Credentials, Denial, KeyRequest, Principal } from './model/principals.ts';
import type {
  Account,
  AuthenticationMode,
  Cluster,
  ClusterStatus,
  HealthIssue,
  Incident,
  Profile,
  ProfileStatus,
  ProfileTransition,
  Refusable,
  Region,
  Selector,
  Subnet,
  Tags,
} from './model/state.ts';
import { partitionOf } from './model/partition.ts';
import { viewCluster, viewClusters, viewProfile, viewProfiles, viewRole, viewRoles } from './views.ts';
import type { ClusterView, ProfileView, RoleView } from './views.ts';

export const defaultAccount = '123456789012';
export const defaultRegion = 'us-east-1';

/** Where something is. Absent: the default account and region. */
export interface Place {
  readonly account?: string;
  readonly region?: string;
}

export interface SubnetRequest {
  readonly id?: string;
  readonly isPublic?: boolean;
  readonly availabilityZone?: string;
}

export interface ClusterRequest extends Place {
  readonly name: string;
  readonly status?: ClusterStatus;
  readonly version?: string;
  readonly authenticationMode?: AuthenticationMode;
  /** Default: two private subnets and a public one. */
  readonly subnets?: readonly SubnetRequest[];
  readonly tags?: Tags;
  /** Roles of node groups, which no profile may use. */
  readonly nodegroupRoleArns?: readonly string[];
}

export interface ClusterChange extends Place {
  readonly name: string;
  readonly status?: ClusterStatus;
  /** Back to ACTIVE after this time. */
  readonly statusForMs?: number;
  readonly version?: string;
  readonly authenticationMode?: AuthenticationMode;
  readonly nodegroupRoleArns?: readonly string[];
  /** EKS answers "an update in progress" for this long while the status stays what it is. */
  readonly updateInProgressMs?: number;
  /** What it refuses meanwhile; default everything. */
  readonly refuses?: readonly Refusable[];
}

export interface ProfileRequest extends Place {
  readonly cluster: string;
  readonly name: string;
  readonly podExecutionRoleArn: string;
  readonly subnets?: readonly string[];
  readonly selectors?: readonly Selector[];
  readonly tags?: Tags;
  readonly status?: ProfileStatus;
  readonly issues?: readonly HealthIssue[];
  /** Default true: nobody has to remove it. */
  readonly foreign?: boolean;
  /** What becomes of it by itself; default nothing. */
  readonly next?: {
    readonly afterMs: number;
    readonly to: ProfileTransition['to'];
    readonly issues?: readonly HealthIssue[];
  };
}

export interface ProfileChange extends Place {
  readonly cluster: string;
  readonly name: string;
  readonly status?: ProfileStatus;
  readonly issues?: readonly HealthIssue[];
  readonly tags?: Tags;
  /** Absent with a status: it stays as it is from now on. */
  readonly next?: ProfileRequest['next'];
}

/** The region tells no more than the partition: roles are global. */
export interface RoleRequest extends Place {
  readonly name: string;
  readonly path?: string;
  /** JSON text. */
  readonly trustPolicy: string;
  readonly tags?: Tags;
  readonly attachedPolicies?: readonly string[];
  readonly permissionsBoundary?: string;
  readonly maxSessionDuration?: number;
  /** Default true: nobody has to remove it. */
  readonly foreign?: boolean;
}

export interface WorldView {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly clusters: readonly ClusterView[];
  readonly profiles: readonly ProfileView[];
  readonly roles: readonly RoleView[];
  readonly incidents: readonly Incident[];
}

export type Admin = ReturnType<typeof createAdmin>;

const zones = ['a', 'b', 'c', 'd'];

/** Every function takes one JSON value and gives one, so that the same functions serve over HTTP. */
export function createAdmin(emulator: Emulator) {
  const now = (): number => emulator.clock.now();
  const regionOf = (place: Place): { account: Account; region: Region } => {
    const name = place.region ?? defaultRegion;
    const account = emulator.model.world.account(place.account ?? defaultAccount, partitionOf(name));
    return { account, region: emulator.model.world.region(account, name) };
  };
  const clusterOf = (place: Place, name: string): Cluster => {
    const cluster = emulator.model.world.cluster(regionOf(place).region, name, now());
    if (cluster === undefined) throw new Error(`there is no cluster ${name}`);
    return cluster;
  };
  const addSubnets = (region: Region, vpcId: string, wanted: readonly SubnetRequest[]): readonly Subnet[] =>
    wanted.map((request, index) => {
      const subnet = {
        id: request.id ?? `subnet-${emulator.model.world.env.uuid().replaceAll('-', '').slice(0, 17)}`,
        vpcId,
        isPublic: request.isPublic ?? false,
        availabilityZone: request.availabilityZone ?? `${region.name}${zones[index % zones.length]}`,
      };
      region.subnets.set(subnet.id, subnet);
      return subnet;
    });
  const transition = (next: ProfileRequest['next']): { transition?: ProfileTransition } =>
    next === undefined ? {} : { transition: { at: now() + next.afterMs, to: next.to, issues: next.issues ?? [] } };

  return {
    registerKey: (request: Partial<KeyRequest>): Credentials =>
      emulator.model.principals.register({ account: defaultAccount, ...request }),
    removeKey: ({ accessKeyId }: { accessKeyId: string }): void => emulator.model.principals.remove(accessKeyId),
    /** Everybody who has a key now, sessions of roles with their policies included. */
    principals: (): readonly Principal[] => emulator.model.principals.list(),
    /** Makes every session of a role run out now. */
    expireSessions: (): void => emulator.model.principals.expireSessions(now()),
    deny: (denial: Denial): void => emulator.model.principals.deny(denial),
    /** Takes back the denials of an action, or all. */
    allow: ({ action }: { action?: string } = {}): void => emulator.model.principals.allow(action),

    createCluster: (request: ClusterRequest): ClusterView => {
      const { account, region } = regionOf(request);
      const { env } = emulator.model.world;
      const vpcId = `vpc-${env.uuid().replaceAll('-', '').slice(0, 17)}`;
      const subnets = addSubnets(region, vpcId, request.subnets ?? [{}, {}, { isPublic: true }]);
      const cluster: Cluster = {
        name: request.name,
        arn: `arn:${account.partition}:eks:${region.name}:${account.id}:cluster/${request.name}`,
        createdAt: now(),
        roleArn: `arn:${account.partition}:iam::${account.id}:role/${request.name}-cluster`,
        vpcId,
        subnetIds: subnets.map(({ id }) => id),
        foreign: true,
        profiles: new Map(),
        requests: new Map(),
        status: request.status ?? 'ACTIVE',
        version: request.version ?? '1.34',
        authenticationMode: request.authenticationMode ?? 'API_AND_CONFIG_MAP',
        tags: request.tags ?? {},
        nodegroupRoleArns: request.nodegroupRoleArns ?? [],
        updates: [],
      };
      region.clusters.set(cluster.name, cluster);
      return viewCluster(account, region, cluster);
    },
    setCluster: (change: ClusterChange): void => {
      const cluster = clusterOf(change, change.name);
      if (change.status !== undefined) {
        cluster.status = change.status;
        delete cluster.transition;
        if (change.statusForMs !== undefined) cluster.transition = { at: now() + change.statusForMs, to: 'ACTIVE' };
      }
      cluster.version = change.version ?? cluster.version;
      cluster.authenticationMode = change.authenticationMode ?? cluster.authenticationMode;
      cluster.nodegroupRoleArns = change.nodegroupRoleArns ?? cluster.nodegroupRoleArns;
      if (change.updateInProgressMs !== undefined) {
        const refuses = change.refuses ?? ['create', 'delete', 'deleteCluster'];
        cluster.updates = [...cluster.updates, { until: now() + change.updateInProgressMs, refuses }];
      }
    },
    /** Takes the cluster and its profiles away at once, as somebody with other tools would. */
    removeCluster: (which: Place & { name: string }): void => {
      regionOf(which).region.clusters.delete(which.name);
    },
    /** Subnets of a VPC of their own, for CreateCluster. */
    createSubnets: (request: Place & { subnets: readonly SubnetRequest[] }): readonly Subnet[] => {
      const vpcId = `vpc-${emulator.model.world.env.uuid().replaceAll('-', '').slice(0, 17)}`;
      return addSubnets(regionOf(request).region, vpcId, request.subnets);
    },

    /** Puts a profile there without asking EKS. */
    putProfile: (request: ProfileRequest): ProfileView => {
      const { account, region } = regionOf(request);
      const cluster = clusterOf(request, request.cluster);
      const { env } = emulator.model.world;
      const profile: Profile = {
        name: request.name,
        arn: `arn:${account.partition}:eks:${region.name}:${account.id}:fargateprofile/${cluster.name}/${request.name}/${env.uuid()}`,
        createdAt: now(),
        podExecutionRoleArn: request.podExecutionRoleArn,
        subnets: request.subnets ?? cluster.subnetIds.filter((id) => region.subnets.get(id)?.isPublic === false),
        selectors: request.selectors ?? [{ namespace: 'default', labels: {} }],
        foreign: request.foreign ?? true,
        status: request.status ?? 'ACTIVE',
        tags: request.tags ?? {},
        issues: request.issues ?? [],
        ...transition(request.next),
      };
      cluster.profiles.set(profile.name, profile);
      return viewProfile(account, region, cluster, profile);
    },
    setProfile: (change: ProfileChange): void => {
      const profile = clusterOf(change, change.cluster).profiles.get(change.name);
      if (profile === undefined) throw new Error(`there is no profile ${change.name}`);
      if (change.status !== undefined) {
        profile.status = change.status;
        delete profile.transition;
      }
      profile.issues = change.issues ?? profile.issues;
      profile.tags = change.tags ?? profile.tags;
      Object.assign(profile, transition(change.next));
    },
    /** Takes a profile away at once. */
    removeProfile: (which: Place & { cluster: string; name: string }): void => {
      clusterOf(which, which.cluster).profiles.delete(which.name);
    },
    /** Makes creates or deletes to come end in CREATE_FAILED or DELETE_FAILED. */
    planFailure: (plan: PlannedFailure): void => emulator.model.world.planFailure(plan),
    clearPlannedFailures: (): void => emulator.model.world.clearPlannedFailures(),

    /** Puts a role there without asking IAM. */
    putRole: (request: RoleRequest): RoleView => {
      const { account } = regionOf(request);
      const role = newRole(account, emulator.model.world.env, now(), {
        ...request,
        path: request.path ?? '/',
        foreign: request.foreign ?? true,
      });
      return viewRole(account, role);
    },
    /** Takes a role away at once, whatever hangs on it. */
    removeRole: (which: Place & { name: string }): void => {
      regionOf(which).account.roles.delete(which.name.toLowerCase());
    },
    /** Makes a customer managed policy; returns its ARN. */
    putPolicy: (policy: Place & { name: string }): string => {
      const { account } = regionOf(policy);
      const arn = `arn:${account.partition}:iam::${account.id}:policy/${policy.name}`;
      account.policies.add(arn);
      return arn;
    },

    config: (): Config => emulator.model.world.config,
    setConfig: (patch: ConfigPatch): void => {
      emulator.model.world.config = withConfig(emulator.model.world.config, patch);
    },
    /** Returns the id with which it is removed. */
    addFault: (rule: FaultRule): number => emulator.faults.add(rule),
    removeFault: ({ id }: { id: number }): void => emulator.faults.remove(id),
    clearFaults: (): void => emulator.faults.clear(),
    faults: () => emulator.faults.list(),

    calls: (filter: LogFilter = {}) => emulator.log.read(filter),
    clearCalls: (): void => emulator.log.clear(),
    clusters: (): readonly ClusterView[] => viewClusters(emulator.model.world, now()),
    /** Those of one account, or all. */
    profiles: ({ account }: { account?: string } = {}): readonly ProfileView[] =>
      viewProfiles(emulator.model.world, now(), account),
    /** Those of one account, or all. */
    roles: ({ account }: { account?: string } = {}): readonly RoleView[] => viewRoles(emulator.model.world, account),
    world: (): WorldView => ({
      now: now(),
      clusters: viewClusters(emulator.model.world, now()),
      profiles: viewProfiles(emulator.model.world, now()),
      roles: viewRoles(emulator.model.world),
      incidents: emulator.model.world.incidents,
    }),
    reset: (): void => emulator.reset(),
  };
}
