import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AwsFailure } from '../../../pkg/cloud/failure.ts';
import type { FargateProfile, Role } from '../../../pkg/cloud/types.ts';
import type { FoundRole, Mutation, Observed, Outcome } from '../model.ts';
import { ACCOUNT, EKS_CLUSTER, aFailure } from './builders.ts';

export interface SimulatedProfile {
  readonly name: string;
  status: string;
  podExecutionRoleArn: string;
  readonly subnets: readonly string[];
  readonly selectors: FargateProfile['selectors'];
  tags: Readonly<Record<string, string>>;
  /** It was accepted and cannot be seen for so many ticks yet, as EKS' own parts do not agree. */
  hidden: number;
}

export interface SimulatedRole {
  readonly name: string;
  readonly path: string;
  readonly id: string;
  trust: string;
  boundary: string | undefined;
  tags: Readonly<Record<string, string>>;
  attached: readonly string[];
  inline: readonly string[];
}

/** With each role looked at. */
export type ObservedWhole = Observed & {
  readonly roles: readonly { readonly name: RoleName; readonly found: FoundRole | undefined }[];
};

/**
 * EKS and IAM as far as one object meets them, written from AWS' documentation and without a line of the code under test:
 * every change takes effect or is refused at once, creation and deletion of a profile go on from tick to tick.
 */
export class SimulatedAws {
  cluster: 'there' | 'gone' = 'there';
  authenticationMode = 'API_AND_CONFIG_MAP';
  readonly profiles = new Map<string, SimulatedProfile>();
  /** By name in lower case. */
  readonly roles = new Map<string, SimulatedRole>();
  /** How creations and deletions of profiles end, one after the other; all that come later succeed. */
  readonly fates: ('well' | 'badly')[] = [];
  private made = 0;

  /** What a look at these names brings; what blocks a role's deletion is asked for only where it is to go. */
  observe(
    names: { readonly profiles: readonly string[]; readonly roles: readonly string[] },
    look: { readonly forBlockers: (role: SimulatedRole) => boolean },
  ): ObservedWhole {
    return {
      cluster: this.cluster,
      profiles: names.profiles.map((name) => {
        const profile = this.profiles.get(name);
        return {
          name: ProfileName.of(name),
          found:
            profile === undefined || profile.hidden > 0 || this.cluster === 'gone' ? undefined : described(profile),
        };
      }),
      roles: names.roles.map((name) => {
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

  act(mutation: Mutation): Outcome {
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
        if (role === undefined) return { kind: 'vanished' };
        if (role.attached.length > 0) {
          return refused('DeleteConflict', 'Cannot delete entity, must detach all policies first.');
        }
        if (role.inline.length > 0)
          return refused('DeleteConflict', 'Cannot delete entity, must delete policies first.');
        this.roles.delete(mutation.name.toLowerCase());
        return { kind: 'done' };
      }
      default:
        return this.changeRole(mutation);
    }
  }

  /** EKS gets on with what it was asked for. */
  tick(): void {
    for (const [name, profile] of this.profiles) {
      if (profile.hidden > 0) profile.hidden--;
      if (profile.status === 'CREATING') profile.status = this.fate() === 'well' ? 'ACTIVE' : 'CREATE_FAILED';
      else if (profile.status === 'DELETING') {
        if (this.fate() === 'well') this.profiles.delete(name);
        else profile.status = 'DELETE_FAILED';
      }
    }
  }

  /** Whether anything will still change by itself. */
  get isMoving(): boolean {
    return [...this.profiles.values()].some(({ status, hidden }) => hidden > 0 || isTransient(status));
  }

  private fate(): 'well' | 'badly' {
    return this.fates.shift() ?? 'well';
  }

  private createProfile(asked: Extract<Mutation, { kind: 'createProfile' }>['profile']): Outcome {
    if (this.cluster === 'gone') return { kind: 'clusterGone' };
    if (this.profiles.has(asked.name)) return { kind: 'already' };
    const busy = this.busyWith(asked.name);
    if (busy !== undefined) return { kind: 'siblingBusy', by: ProfileName.of(busy.name), doing: busy.status };
    const role = [...this.roles.values()].find((each) => roleArnOf(each) === asked.podExecutionRoleArn);
    if (role === undefined) return refused('InvalidParameterException', `role ${asked.podExecutionRoleArn} not found`);
    const { cluster: _cluster, ...rest } = asked;
    const profile: SimulatedProfile = { ...rest, status: 'CREATING', hidden: 0 };
    this.profiles.set(asked.name, profile);
    return { kind: 'done', profile: described(profile) };
  }

  private deleteProfile(name: string): Outcome {
    if (this.cluster === 'gone') return { kind: 'clusterGone' };
    const profile = this.profiles.get(name);
    if (profile === undefined) return { kind: 'vanished' };
    const busy = this.busyWith(name);
    if (busy !== undefined) return { kind: 'siblingBusy', by: ProfileName.of(busy.name), doing: busy.status };
    if (isTransient(profile.status)) return refused('ResourceInUseException', `${name} is ${profile.status}`);
    profile.status = 'DELETING';
    return { kind: 'done' };
  }

  private busyWith(name: string): SimulatedProfile | undefined {
    return [...this.profiles.values()].find((each) => each.name !== name && isTransient(each.status));
  }

  private createRole(asked: Extract<Mutation, { kind: 'createRole' }>['role']): Outcome {
    if (this.roles.has(asked.name.toLowerCase())) return { kind: 'already' };
    const role: SimulatedRole = {
      name: asked.name,
      path: asked.path,
      id: `AROAMADE${++this.made}`,
      trust: asked.trust,
      boundary: asked.permissionsBoundary,
      tags: asked.tags,
      attached: [],
      inline: [],
    };
    this.roles.set(asked.name.toLowerCase(), role);
    return { kind: 'done', role: roleOf(role) };
  }

  private changeRole(mutation: RoleChange): Outcome {
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

const arnOf = ({ name }: SimulatedProfile): string =>
  `arn:aws:eks:eu-west-1:${ACCOUNT}:fargateprofile/${EKS_CLUSTER}/${name}/0ec0ffee`;

const described = (profile: SimulatedProfile): FargateProfile => ({
  name: ProfileName.of(profile.name),
  arn: arnOf(profile),
  cluster: EKS_CLUSTER,
  status: profile.status,
  podExecutionRoleArn: RoleArn.of(profile.podExecutionRoleArn),
  subnets: profile.subnets,
  selectors: profile.selectors,
  tags: profile.tags,
  health: [],
});

const roleOf = (role: SimulatedRole): Role => ({
  name: RoleName.of(role.name),
  arn: RoleArn.of(roleArnOf(role)),
  id: role.id,
  path: role.path,
  trust: role.trust,
  tags: role.tags,
  ...(role.boundary !== undefined && { permissionsBoundary: role.boundary }),
});

const blocker = (policy: string): string => `the inline policy "${policy}"`;

/** IAM takes keys that differ in case alone for one key. */
const withoutKeys = (
  tags: Readonly<Record<string, string>>,
  keys: readonly string[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(tags).filter(([key]) => !keys.some((other) => other.toLowerCase() === key.toLowerCase())),
  );

const refused = (code: string, message: string): Outcome => ({ kind: 'failed', failure: refusal(code, message) });
const refusal = (code: string, message: string): AwsFailure => aFailure({ code, message, statusCode: 400 });
