import type { LogFilter } from '../call-log.ts';
import type { Emulator } from '../emulator.ts';
import type { FaultRule } from '../faults.ts';
import { type ConfigPatch, withConfig } from '../model/config.ts';
import type { PlannedFailure } from '../model/planned-failures.ts';
import { admitPodExecutionRole } from '../model/eks/access-entries.ts';
import { addCluster } from '../model/eks/clusters.ts';
import { addRole } from '../model/iam/role-changes.ts';
import type { AccessKey, Denial, KeyRequest, Principal } from '../model/sts/principals.ts';
import type {
  EmulatedAccount,
  AuthenticationMode,
  EmulatedCluster,
  ClusterStatus,
  ProfileIssue,
  Incident,
  EmulatedProfile,
  EmulatedProfileStatus,
  ProfileTransition,
  UpdateRefusal,
  EmulatedRegion,
  ProfileSelector,
  Subnet,
  TagMap,
} from '../model/resources.ts';
import { accessEntryAdmin, disownAccessEntries } from './access-entries.ts';
import { partitionOf } from '../model/partition.ts';
import {
  viewAccessEntries,
  viewCluster,
  viewClusters,
  viewProfile,
  viewProfiles,
  viewRole,
  viewRoles,
} from './views.ts';
import type { AccessEntryView, ClusterView, ProfileView, RoleView } from './views.ts';

export const defaultAccount = '123456789012';
const defaultRegion = 'us-east-1';

/**
 * The account and region of an AWS resource. If the account or the region is undefined, the AWS emulator uses its
 * default.
 */
export interface AwsLocation {
  readonly account?: string;
  readonly region?: string;
}

export interface SubnetRequest {
  readonly id?: string;
  readonly isPublic?: boolean;
  /** Default: 251, because AWS reserves 5 of the 256 addresses of a /24 subnet. */
  readonly freeAddresses?: number;
}

export interface ClusterRequest extends AwsLocation {
  readonly name: string;
  readonly status?: ClusterStatus;
  readonly authenticationMode?: AuthenticationMode;
  /** The subnets of the new cluster; undefined: two private subnets and one public subnet. */
  readonly subnets?: readonly SubnetRequest[];
}

export interface ClusterChange extends AwsLocation {
  readonly name: string;
  readonly status?: ClusterStatus;
  readonly authenticationMode?: AuthenticationMode;
  readonly deletionProtection?: boolean | 'absent';
  /** The API server of the EKS cluster: its URL, and its certificate authority as base64-encoded PEM. */
  readonly apiServer?: { readonly endpoint: string; readonly certificateAuthority: string };
  /** The ARNs of the IAM roles that the ConfigMap aws-auth of the EKS cluster lists as roles of Fargate nodes. */
  readonly awsAuthRoleArns?: readonly string[];
  /**
   * How long EKS refuses operations on the cluster with the error "an update in progress", in milliseconds. The status
   * of the cluster stays unchanged in this time. 0 ends all such updates.
   */
  readonly updateInProgressMs?: number;
  /**
   * The operations that EKS refuses with the error "an update in progress". If the field is undefined, EKS refuses
   * CreateFargateProfile, DeleteFargateProfile and DeleteCluster.
   */
  readonly refuses?: readonly UpdateRefusal[];
}

export interface ProfileRequest extends AwsLocation {
  readonly cluster: string;
  readonly name: string;
  readonly podExecutionRoleArn: string;
  readonly subnets?: readonly string[];
  readonly selectors?: readonly ProfileSelector[];
  readonly tags?: TagMap;
  readonly status?: EmulatedProfileStatus;
  readonly issues?: readonly ProfileIssue[];
  /**
   * Whether the profile belongs to the test and not to the manager; default: true. The check for resources that the
   * manager has left behind ignores profiles of the test.
   */
  readonly foreign?: boolean;
  /**
   * The next status change of the Fargate profile, `afterMs` milliseconds from now; undefined: the profile keeps its
   * status.
   */
  readonly next?: {
    readonly afterMs: number;
    readonly to: ProfileTransition['to'];
    readonly issues?: readonly ProfileIssue[];
  };
}

export interface ProfileChange extends AwsLocation {
  readonly cluster: string;
  readonly name: string;
  readonly status?: EmulatedProfileStatus;
  readonly issues?: readonly ProfileIssue[];
  readonly tags?: TagMap;
  /**
   * A status change that is planned for `afterMs` milliseconds from now. Without it, setting `status` cancels a change
   * that was planned earlier. If neither is set, that change stays planned.
   */
  readonly next?: ProfileRequest['next'];
}

/** A request for a new IAM role. Roles are global: `region` only says in which AWS partition the account is. */
export interface RoleRequest extends AwsLocation {
  readonly name: string;
  readonly path?: string;
  /** The trust policy as JSON text. */
  readonly trustPolicy: string;
  readonly tags?: TagMap;
  readonly attachedPolicies?: readonly string[];
  /**
   * Whether the role belongs to the test and not to the manager; default: true. The check for resources that the
   * manager has left behind ignores roles of the test.
   */
  readonly foreign?: boolean;
}

export interface AwsView {
  /** The time of the AWS emulator's clock, in milliseconds since the epoch. */
  readonly now: number;
  readonly clusters: readonly ClusterView[];
  readonly profiles: readonly ProfileView[];
  readonly roles: readonly RoleView[];
  readonly accessEntries: readonly AccessEntryView[];
  readonly incidents: readonly Incident[];
}

export type Admin = ReturnType<typeof createAdmin>;

const zones = ['a', 'b', 'c', 'd'];

/**
 * Creates the admin functions, with which tests change and read the emulated AWS. Each function takes one JSON value
 * and returns one, so that tests can also call the function over HTTP.
 */
export function createAdmin(emulator: Emulator) {
  const now = (): number => emulator.clock.now();
  const regionOf = (place: AwsLocation): { account: EmulatedAccount; region: EmulatedRegion } => {
    const name = place.region ?? defaultRegion;
    const account = emulator.model.state.account(place.account ?? defaultAccount, partitionOf(name));
    return { account, region: emulator.model.state.region(account, name) };
  };
  const clusterOf = (place: AwsLocation, name: string): EmulatedCluster => {
    const cluster = emulator.model.state.cluster(regionOf(place).region, name, now());
    if (cluster === undefined) throw new Error(`there is no cluster ${name}`);
    return cluster;
  };
  const addSubnets = (region: EmulatedRegion, vpcId: string, wanted: readonly SubnetRequest[]): readonly Subnet[] =>
    wanted.map((request, index) => {
      const subnet = {
        id: request.id ?? `subnet-${emulator.model.state.env.uuid().replaceAll('-', '').slice(0, 17)}`,
        vpcId,
        isPublic: request.isPublic ?? false,
        availabilityZone: `${region.name}${zones[index % zones.length]}`,
        ...(request.freeAddresses !== undefined && { freeAddresses: request.freeAddresses }),
      };
      region.subnets.set(subnet.id, subnet);
      return subnet;
    });
  const transition = (next: ProfileRequest['next']): { transition?: ProfileTransition } =>
    next === undefined ? {} : { transition: { at: now() + next.afterMs, to: next.to, issues: next.issues ?? [] } };

  return {
    registerKey: (request: Partial<KeyRequest>): AccessKey =>
      emulator.model.principals.register({ account: defaultAccount, ...request }),
    removeKey: ({ accessKeyId }: { accessKeyId: string }): void => emulator.model.principals.remove(accessKeyId),
    /** Returns all principals that have an access key, including role sessions. */
    principals: (): readonly Principal[] => emulator.model.principals.list(),
    expireSessions: (): void => emulator.model.principals.expireSessions(now()),
    /** Enables or disables an AWS region for all accounts. A disabled region refuses all credentials as unknown. */
    setRegionEnabled: ({ region, enabled }: { region: string; enabled: boolean }): void =>
      emulator.model.principals.setRegionEnabled(region, enabled),
    deny: (denial: Denial): void => emulator.model.principals.deny(denial),
    /**
     * Ends the denials that tests have added with `deny` for exactly this action. Without an action, ends all denials.
     */
    allow: ({ action }: { action?: string } = {}): void => emulator.model.principals.allow(action),

    createCluster: (request: ClusterRequest): ClusterView => {
      const { account, region } = regionOf(request);
      const { env } = emulator.model.state;
      const vpcId = `vpc-${env.uuid().replaceAll('-', '').slice(0, 17)}`;
      const subnets = addSubnets(region, vpcId, request.subnets ?? [{}, {}, { isPublic: true }]);
      const cluster = addCluster(account, region, now(), {
        name: request.name,
        vpcId,
        subnetIds: subnets.map(({ id }) => id),
        status: request.status ?? 'ACTIVE',
        authenticationMode: request.authenticationMode ?? 'API_AND_CONFIG_MAP',
      });
      return viewCluster(account, region, cluster);
    },
    setCluster: (change: ClusterChange): void => {
      const cluster = clusterOf(change, change.name);
      if (change.status !== undefined) {
        cluster.status = change.status;
        delete cluster.goneAt;
      }
      cluster.deletionProtection = change.deletionProtection ?? cluster.deletionProtection;
      if (change.apiServer !== undefined) cluster.apiServer = change.apiServer;
      const { account, region } = regionOf(change);
      const { state } = emulator.model;
      if (change.authenticationMode !== undefined && change.authenticationMode !== cluster.authenticationMode) {
        cluster.authenticationMode = change.authenticationMode;
        // When the authentication mode of a cluster changes, the pod execution roles of the cluster's Fargate profiles
        // keep their access to the cluster.
        for (const { podExecutionRoleArn } of cluster.profiles.values()) {
          admitPodExecutionRole(cluster, podExecutionRoleArn, { account, region, state, now: now() });
        }
      }
      cluster.awsAuthRoleArns = change.awsAuthRoleArns ?? cluster.awsAuthRoleArns;
      if (change.updateInProgressMs !== undefined) {
        const refuses = change.refuses ?? ['create', 'delete', 'deleteCluster'];
        const update = { until: now() + change.updateInProgressMs, refuses };
        cluster.updates = change.updateInProgressMs === 0 ? [] : [...cluster.updates, update];
      }
    },
    /** Removes the EKS cluster and its Fargate profiles immediately, without the checks and delays of DeleteCluster. */
    removeCluster: (which: AwsLocation & { name: string }): void => {
      regionOf(which).region.clusters.delete(which.name);
    },

    /** Adds a Fargate profile to an EKS cluster immediately, without the checks and delays of CreateFargateProfile. */
    putProfile: (request: ProfileRequest): ProfileView => {
      const { account, region } = regionOf(request);
      const cluster = clusterOf(request, request.cluster);
      const { env } = emulator.model.state;
      const profile: EmulatedProfile = {
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
    /**
     * Removes a Fargate profile from its EKS cluster immediately, without the checks and delays of
     * DeleteFargateProfile.
     */
    removeProfile: (which: AwsLocation & { cluster: string; name: string }): void => {
      clusterOf(which, which.cluster).profiles.delete(which.name);
    },
    ...accessEntryAdmin(emulator, { regionOf, clusterOf }),
    /**
     * Makes future creations or deletions of Fargate profiles fail: the profile gets the status CREATE_FAILED or
     * DELETE_FAILED.
     */
    planFailure: (plan: PlannedFailure): void => emulator.model.state.plannedFailures.add(plan),
    clearPlannedFailures: (): void => emulator.model.state.plannedFailures.clear(),

    putRole: (request: RoleRequest): RoleView => {
      const { account } = regionOf(request);
      const role = addRole(account, emulator.model.state.env, now(), {
        ...request,
        path: request.path ?? '/',
        foreign: request.foreign ?? true,
      });
      return viewRole(account, role);
    },
    /**
     * Removes an IAM role immediately, even if policies are attached to it. The access entries of the role stay, as in
     * AWS. They become foreign, so that the check for resources that the manager has left behind ignores them.
     */
    removeRole: (which: AwsLocation & { name: string }): void => {
      const { account } = regionOf(which);
      const key = which.name.toLowerCase();
      const role = account.roles.get(key);
      if (role !== undefined) disownAccessEntries(account, role.arn);
      account.roles.delete(key);
    },
    /** Creates a customer managed IAM policy and returns its ARN. */
    putPolicy: (policy: AwsLocation & { name: string }): string => {
      const { account } = regionOf(policy);
      const arn = `arn:${account.partition}:iam::${account.id}:policy/${policy.name}`;
      account.policies.add(arn);
      return arn;
    },

    setConfig: (patch: ConfigPatch): void => {
      emulator.model.state.config = withConfig(emulator.model.state.config, patch);
    },
    /** Adds a fault and returns the id with which `removeFault` removes the fault. */
    addFault: (rule: FaultRule): number => emulator.faults.add(rule),
    removeFault: ({ id }: { id: number }): void => emulator.faults.remove(id),
    clearFaults: (): void => emulator.faults.clear(),

    calls: (filter: LogFilter = {}) => emulator.log.read(filter),
    clearCalls: (): void => emulator.log.clear(),
    clusters: (): readonly ClusterView[] => viewClusters(emulator.model.state, now()),
    profiles: (): readonly ProfileView[] => viewProfiles(emulator.model.state, now()),
    roles: (): readonly RoleView[] => viewRoles(emulator.model.state),
    snapshot: (): AwsView => ({
      now: now(),
      clusters: viewClusters(emulator.model.state, now()),
      profiles: viewProfiles(emulator.model.state, now()),
      roles: viewRoles(emulator.model.state),
      accessEntries: viewAccessEntries(emulator.model.state),
      incidents: emulator.model.state.incidents,
    }),
  };
}
