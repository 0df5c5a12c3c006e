import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AwsFailure, Role, AccessEntryLookup, FargateProfile } from '../../../pkg/cloud/index.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import type { Mutation, MutationOutcome } from '../model/change.ts';
import { ACCOUNT, EKS_CLUSTER, PROFILE_ID, aFailure } from './builders.ts';

export interface SimulatedProfile {
  readonly name: string;
  /** The unique id at the end of the ARN, by default {@link PROFILE_ID}. */
  readonly id?: string;
  /** Wall clock, in milliseconds since 1970. */
  readonly createdAt?: number;
  status: string;
  podExecutionRoleArn: string;
  readonly subnets: readonly string[];
  readonly selectors: FargateProfile['selectors'];
  tags: Readonly<Record<string, string>>;
  /**
   * The number of further steps of the simulated AWS during which reads do not show the profile, because EKS is
   * eventually consistent.
   */
  hidden: number;
}

export interface SimulatedRole {
  readonly name: string;
  readonly path: string;
  readonly id: string;
  /** The time at which the role was created, in milliseconds of the time of the simulated AWS. */
  readonly createdAt: number;
  trust: string;
  boundary: string | undefined;
  tags: Readonly<Record<string, string>>;
  attached: readonly string[];
  inline: readonly string[];
}

export interface SimulatedAccessEntry {
  readonly type: string;
  /**
   * The unique id that the role had when the access entry was created. `undefined` if no role with this ARN existed.
   */
  readonly roleId: string | undefined;
  readonly createdAt: number;
}

/** The state of the simulated AWS at one moment. */
export interface Snapshot {
  readonly cluster: 'there' | 'gone';
  readonly profiles: ReadonlyMap<string, SimulatedProfile>;
  readonly roles: ReadonlyMap<string, SimulatedRole>;
  /** The access entries, with the ARNs of their roles as keys. */
  readonly accessEntries: ReadonlyMap<string, SimulatedAccessEntry>;
}

/**
 * The end of a creation or deletion of a Fargate profile. After `success` the profile is ACTIVE or gone. After
 * `failure` its status is `CREATE_FAILED` or `DELETE_FAILED`.
 */
export type TransitionResult = 'success' | 'failure';

/** An observed state in which all roles have been read from AWS. */
export type ObservedWhole = Observed & {
  readonly roles: readonly { readonly name: RoleName; readonly found: FoundRole | undefined }[];
};

/**
 * A simulation of EKS and IAM for one AWSFargateProfile, written from the AWS documentation without code of the
 * controller. It makes or refuses a change at once. Only the creation or deletion of a Fargate profile ends later, at
 * the next call of `tick`.
 */
export class SimulatedAws {
  cluster: 'there' | 'gone' = 'there';
  authenticationMode = 'API_AND_CONFIG_MAP';
  readonly profiles = new Map<string, SimulatedProfile>();
  /** The roles, with their names in lower case as keys. */
  readonly roles = new Map<string, SimulatedRole>();
  /** The access entries, with the ARNs of their roles as keys. */
  readonly accessEntries = new Map<string, SimulatedAccessEntry>();
  /**
   * Whether EKS creates an access entry for the role of a new profile, if the role has none. AWS documents this. If a
   * client has deleted the role's access entry before, AWS's behavior is unknown.
   */
  makesAccessEntries = true;
  /**
   * The results of the next creations and deletions of Fargate profiles, in the order in which they finish. After the
   * end of the list, they succeed.
   */
  readonly transitionResults: TransitionResult[] = [];
  private createdRoles = 0;
  /** The time of the simulated AWS in milliseconds. It advances with each creation of a role or access entry. */
  private now = 0;

  static from({ cluster, profiles, roles, accessEntries }: Snapshot): SimulatedAws {
    const aws = new SimulatedAws();
    aws.cluster = cluster;
    for (const [name, profile] of profiles) aws.profiles.set(name, { ...profile });
    for (const [name, role] of roles) aws.roles.set(name, { ...role });
    for (const [arn, entry] of accessEntries) aws.accessEntries.set(arn, entry);
    return aws;
  }

  /** Returns a copy, whose later steps have the same results as those of this object. */
  copy(): SimulatedAws {
    const aws = SimulatedAws.from(this.snapshot());
    aws.authenticationMode = this.authenticationMode;
    aws.makesAccessEntries = this.makesAccessEntries;
    aws.transitionResults.push(...this.transitionResults);
    return aws;
  }

  /**
   * Returns what a survey reads: all profiles, and the roles with these names. The list `blockers` of a role says what blocks
   * its deletion. It is empty if `forBlockers` returns false for the role.
   */
  observe(roles: readonly string[], look: { readonly forBlockers: (role: SimulatedRole) => boolean }): ObservedWhole {
    const shown = this.cluster === 'gone' ? [] : [...this.profiles.values()].filter(({ hidden }) => hidden === 0);
    return {
      depth: 'survey',
      cluster: this.cluster,
      profiles: shown.map(profileOf),
      roles: roles.map((name) => {
        const role = this.roles.get(name.toLowerCase());
        return {
          name: RoleName.of(name),
          found: role && {
            ...roleOf(role),
            attached: role.attached,
            blockers: look.forBlockers(role) ? role.inline.map(blocker) : [],
          },
        };
      }),
    };
  }

  act(mutation: Mutation): MutationOutcome {
    switch (mutation.kind) {
      case 'createProfile':
        return this.createProfile(mutation.profile);
      case 'deleteProfile':
        return this.deleteProfile(mutation.name);
      case 'tagProfile':
      case 'untagProfile': {
        const profile = [...this.profiles.values()].find((each) => arnOf(each) === mutation.arn);
        if (profile === undefined) return refused('NotFoundException', `no resource ${mutation.arn}`);
        profile.tags =
          mutation.kind === 'tagProfile'
            ? { ...profile.tags, ...mutation.tags }
            : Object.fromEntries(Object.entries(profile.tags).filter(([key]) => !mutation.keys.includes(key)));
        return { kind: 'done' };
      }
      case 'createRole':
        return this.createRole(mutation.role);
      case 'deleteRole': {
        const role = this.roles.get(mutation.name.toLowerCase());
        if (role === undefined) return { kind: 'gone' };
        if (role.attached.length > 0) {
          return refused('DeleteConflict', 'Cannot delete entity, must detach all policies first.');
        }
        if (role.inline.length > 0)
          return refused('DeleteConflict', 'Cannot delete entity, must delete policies first.');
        this.roles.delete(mutation.name.toLowerCase());
        return { kind: 'done' };
      }
      case 'createAccessEntry':
        return this.changeAccessEntries(() => {
          if (this.accessEntries.has(mutation.principal)) return { kind: 'nameTaken' };
          this.createAccessEntry(mutation.principal);
          const { createdAt = 0 } = this.accessEntries.get(mutation.principal) ?? {};
          const accessEntry = { principalArn: mutation.principal, type: 'FARGATE_LINUX', createdAt };
          return { kind: 'done', accessEntry };
        });
      case 'deleteAccessEntry':
        return this.changeAccessEntries(() =>
          this.accessEntries.delete(mutation.principal) ? { kind: 'done' } : { kind: 'gone' },
        );
      default:
        return this.changeRole(mutation);
    }
  }

  /**
   * Advances the simulated AWS by one step: each creation or deletion of a Fargate profile that is in progress succeeds
   * or fails.
   */
  tick(): void {
    for (const [name, profile] of this.profiles) {
      if (profile.hidden > 0) profile.hidden--;
      if (profile.status === 'CREATING')
        profile.status = this.nextTransitionResult() === 'success' ? 'ACTIVE' : 'CREATE_FAILED';
      else if (profile.status === 'DELETING') {
        if (this.nextTransitionResult() === 'success') this.profiles.delete(name);
        else profile.status = 'DELETE_FAILED';
      }
    }
  }

  /** Reports whether a later step of the simulated AWS will change a Fargate profile. */
  get isChanging(): boolean {
    return [...this.profiles.values()].some(({ status, hidden }) => hidden > 0 || isTransient(status));
  }

  snapshot(): Snapshot {
    const { cluster, profiles, roles, accessEntries } = this;
    return structuredClone({ cluster, profiles, roles, accessEntries });
  }

  /** Advances the time of the simulated AWS by a second and returns it. IAM returns times in whole seconds. */
  nextTime(): number {
    this.now += 1_000;
    return this.now;
  }

  describeAccessEntry(roleArn: string): AccessEntryLookup {
    if (this.cluster === 'gone') return { kind: 'clusterGone' };
    const entry = this.accessEntries.get(roleArn);
    if (entry === undefined) return { kind: 'absent' };
    return {
      kind: 'found',
      entry: { principalArn: RoleArn.of(roleArn), type: entry.type, createdAt: entry.createdAt },
    };
  }

  private changeAccessEntries(change: () => MutationOutcome): MutationOutcome {
    if (this.cluster === 'gone') return { kind: 'clusterGone' };
    return this.authenticationMode === 'CONFIG_MAP'
      ? refused('InvalidRequestException', 'The authentication mode must be API or API_AND_CONFIG_MAP')
      : change();
  }

  createAccessEntry(roleArn: string): void {
    if (this.authenticationMode === 'CONFIG_MAP' || this.accessEntries.has(roleArn)) return;
    const roleId = [...this.roles.values()].find((role) => roleArnOf(role) === roleArn)?.id;
    this.accessEntries.set(roleArn, { type: 'FARGATE_LINUX', roleId, createdAt: this.nextTime() });
  }

  private nextTransitionResult(): TransitionResult {
    return this.transitionResults.shift() ?? 'success';
  }

  private createProfile(asked: Extract<Mutation, { kind: 'createProfile' }>['profile']): MutationOutcome {
    if (this.cluster === 'gone') return { kind: 'clusterGone' };
    if (this.profiles.has(asked.name)) return { kind: 'nameTaken' };
    const busy = this.busyProfileOtherThan(asked.name);
    if (busy !== undefined) return { kind: 'siblingBusy', by: ProfileName.of(busy.name), doing: busy.status };
    const role = [...this.roles.values()].find((each) => roleArnOf(each) === asked.podExecutionRoleArn);
    if (role === undefined) return refused('InvalidParameterException', `role ${asked.podExecutionRoleArn} not found`);
    const { cluster: _cluster, ...rest } = asked;
    const profile: SimulatedProfile = { ...rest, status: 'CREATING', hidden: 0 };
    this.profiles.set(asked.name, profile);
    if (this.makesAccessEntries) this.createAccessEntry(asked.podExecutionRoleArn);
    return { kind: 'done', profile: profileOf(profile) };
  }

  private deleteProfile(name: string): MutationOutcome {
    if (this.cluster === 'gone') return { kind: 'clusterGone' };
    const profile = this.profiles.get(name);
    if (profile === undefined) return { kind: 'gone' };
    const busy = this.busyProfileOtherThan(name);
    if (busy !== undefined) return { kind: 'siblingBusy', by: ProfileName.of(busy.name), doing: busy.status };
    if (isTransient(profile.status)) return refused('ResourceInUseException', `${name} is ${profile.status}`);
    profile.status = 'DELETING';
    return { kind: 'done' };
  }

  private busyProfileOtherThan(name: string): SimulatedProfile | undefined {
    return [...this.profiles.values()].find((each) => each.name !== name && isTransient(each.status));
  }

  private createRole(asked: Extract<Mutation, { kind: 'createRole' }>['role']): MutationOutcome {
    if (this.roles.has(asked.name.toLowerCase())) return { kind: 'nameTaken' };
    const role: SimulatedRole = {
      name: asked.name,
      path: asked.path,
      id: `AROAMADE${++this.createdRoles}`,
      createdAt: this.nextTime(),
      trust: asked.trust,
      boundary: asked.permissionsBoundary,
      tags: asked.tags,
      attached: [],
      inline: [],
    };
    this.roles.set(asked.name.toLowerCase(), role);
    return { kind: 'done', role: roleOf(role) };
  }

  private changeRole(mutation: RoleChange): MutationOutcome {
    const role = this.roles.get(mutation.name.toLowerCase());
    if (role === undefined) return { kind: 'notVisible' };
    switch (mutation.kind) {
      case 'setTrust':
        role.trust = mutation.trust;
        break;
      case 'setBoundary':
        role.boundary = mutation.policyArn;
        break;
      case 'removeBoundary':
        role.boundary = undefined;
        break;
      case 'attachPolicy':
        role.attached = [...new Set([...role.attached, mutation.policyArn])];
        break;
      case 'detachPolicy':
        role.attached = role.attached.filter((arn) => arn !== mutation.policyArn);
        break;
      case 'tagRole':
        role.tags = { ...withoutKeys(role.tags, Object.keys(mutation.tags)), ...mutation.tags };
        break;
      case 'untagRole':
        role.tags = withoutKeys(role.tags, mutation.keys);
        break;
    }
    return { kind: 'done' };
  }
}

type RoleChange = Extract<
  Mutation,
  {
    kind: 'setTrust' | 'setBoundary' | 'removeBoundary' | 'attachPolicy' | 'detachPolicy' | 'tagRole' | 'untagRole';
  }
>;

const isTransient = (status: string): boolean => status === 'CREATING' || status === 'DELETING';

export const roleArnOf = ({ path, name }: { readonly path: string; readonly name: string }): string =>
  `arn:aws:iam::${ACCOUNT}:role${path}${name}`;

const arnOf = ({ name, id = PROFILE_ID }: SimulatedProfile): string =>
  `arn:aws:eks:eu-west-1:${ACCOUNT}:fargateprofile/${EKS_CLUSTER}/${name}/${id}`;

const profileOf = (profile: SimulatedProfile): FargateProfile => ({
  name: ProfileName.of(profile.name),
  arn: arnOf(profile),
  cluster: EKS_CLUSTER,
  status: profile.status,
  podExecutionRoleArn: RoleArn.of(profile.podExecutionRoleArn),
  subnets: profile.subnets,
  selectors: profile.selectors,
  tags: profile.tags,
  health: [],
  ...(profile.createdAt !== undefined && { createdAt: profile.createdAt }),
});

const roleOf = (role: SimulatedRole): Role => ({
  name: RoleName.of(role.name),
  arn: RoleArn.of(roleArnOf(role)),
  id: role.id,
  createdAt: role.createdAt,
  path: role.path,
  trust: role.trust,
  tags: role.tags,
  ...(role.boundary !== undefined && { permissionsBoundary: role.boundary }),
});

const blocker = (policy: string): string => `the inline policy "${policy}"`;

/**
 * Returns the tags without those that have one of these keys. As in IAM, keys that differ only in case are the same
 * key.
 */
const withoutKeys = (
  tags: Readonly<Record<string, string>>,
  keys: readonly string[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(tags).filter(([key]) => !keys.some((other) => other.toLowerCase() === key.toLowerCase())),
  );

const refused = (code: string, message: string): MutationOutcome => ({
  kind: 'failed',
  failure: refusal(code, message),
});
const refusal = (code: string, message: string): AwsFailure => aFailure({ code, message, statusCode: 400 });
