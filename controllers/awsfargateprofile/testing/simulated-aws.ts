import * as E from 'fp-ts/lib/Either.js';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type {
  AccessEntryLookup,
  AwsFailure,
  Call,
  FargateProfile,
  ProfileLookup,
  Role,
  Session,
} from '../../../pkg/cloud/index.ts';
import { ACCOUNT, EKS_CLUSTER, NOW, PLACE, PROFILE_ID, aFailure } from './builders.ts';

export interface SimulatedProfile {
  readonly name: string;
  /** The unique ID at the end of the ARN, by default {@link PROFILE_ID}. */
  readonly id?: string;
  /** Wall clock, in milliseconds since 1970. */
  readonly createdAt?: number;
  status: string;
  podExecutionRoleArn: string;
  readonly subnets: readonly string[];
  readonly selectors: FargateProfile['selectors'];
  tags: Readonly<Record<string, string>>;
  /** Reads do not show the profile, because EKS is eventually consistent. */
  readonly isHidden?: true;
}

export interface SimulatedRole {
  readonly name: string;
  readonly path: string;
  readonly id: string;
  /** In milliseconds, by the clock of the simulated AWS. */
  readonly createdAt: number;
  trust: string;
  boundary: string | undefined;
  tags: Readonly<Record<string, string>>;
  attached: readonly string[];
  inline: readonly string[];
}

interface SimulatedAccessEntry {
  readonly type: string;
  /**
   * The unique ID that the role had when the access entry was created. `undefined` if no role with this ARN existed.
   */
  readonly roleId: string | undefined;
  readonly createdAt: number;
}

/** The state of EKS and IAM for one AWSFargateProfile. Tests read and change it; {@link sessionOn} answers from it. */
export class SimulatedAws {
  cluster: 'there' | 'gone' = 'there';
  authenticationMode = 'API_AND_CONFIG_MAP';
  readonly profiles = new Map<string, SimulatedProfile>();
  /** The roles, with their names in lower case as keys. */
  readonly roles = new Map<string, SimulatedRole>();
  /** The access entries, with the ARNs of their roles as keys. */
  readonly accessEntries = new Map<string, SimulatedAccessEntry>();
  /** Advances by a second with each creation of a role or access entry. IAM returns times in whole seconds. */
  private now = 0;

  nextTime(): number {
    this.now += 1_000;
    return this.now;
  }

  shownProfiles(): readonly FargateProfile[] {
    return this.cluster === 'gone' ? [] : [...this.profiles.values()].filter((each) => !each.isHidden).map(profileOf);
  }

  roleNamed(name: string): SimulatedRole | undefined {
    return this.roles.get(name.toLowerCase());
  }

  roleWith(arn: string): SimulatedRole | undefined {
    return [...this.roles.values()].find((role) => roleArnOf(role) === arn);
  }

  busyProfileOtherThan(name: string): SimulatedProfile | undefined {
    return [...this.profiles.values()].find((each) => each.name !== name && isTransient(each));
  }

  entryOf(principal: RoleArn) {
    const entry = this.accessEntries.get(principal);
    return entry && { type: entry.type, createdAt: entry.createdAt };
  }

  /** EKS also creates an access entry for the role of a new profile, if the role has none. */
  createEntry(arn: string): void {
    const roleId = this.roleWith(arn)?.id;
    this.accessEntries.set(arn, { type: 'FARGATE_LINUX', roleId, createdAt: this.nextTime() });
  }
}

export interface SimulatedSession extends Session {
  /** All AWS calls of the session, each as the operation and the name of the resource. */
  readonly calls: readonly string[];
  /**
   * A function that the session calls before each AWS call. If the function returns a failure, the session answers with
   * this failure, and AWS stays unchanged.
   */
  onCall: (operation: string) => AwsFailure | undefined;
}

type Refuse = (statusCode: number, code: string, message: string) => E.Either<AwsFailure, never>;
type Answer<A> = (refuse: Refuse) => E.Either<AwsFailure, A>;

const DONE: E.Either<never, void> = E.right(undefined);

/**
 * Returns an AWS session that the simulated AWS answers, with the error codes and messages of the real services. The
 * session makes each change immediately, but a creation or deletion of a Fargate profile only begins.
 */
export function sessionOn(aws: SimulatedAws): SimulatedSession {
  const calls: string[] = [];
  const call = async <A>(operation: string, about: string, answer: Answer<A>): Call<A> => {
    calls.push(about === '' ? operation : `${operation} ${about}`);
    const failure = session.onCall(operation);
    if (failure !== undefined) return E.left(failure);
    return answer((statusCode, code, message) =>
      E.left(aFailure({ service: serviceOf(operation), operation, code, statusCode, message })),
    );
  };
  const changeInCluster = <A>(operation: string, about: string, answer: Answer<A>): Call<A> =>
    call(operation, about, (refuse) =>
      aws.cluster === 'gone'
        ? refuse(404, 'ResourceNotFoundException', `No cluster found for name: ${EKS_CLUSTER}.`)
        : answer(refuse),
    );
  const changeEntries = (operation: string, arn: RoleArn, answer: Answer<void>): Call<void> =>
    changeInCluster(operation, roleIn(arn), (refuse) =>
      aws.authenticationMode === 'CONFIG_MAP'
        ? refuse(400, 'InvalidRequestException', 'The authentication mode must be API or API_AND_CONFIG_MAP')
        : answer(refuse),
    );
  const changeProfileTags = (operation: string, arn: string, change: (profile: SimulatedProfile) => void): Call<void> =>
    call(operation, arn.split('/').at(-2) ?? '', (refuse) => {
      const profile = [...aws.profiles.values()].find((each) => profileArnOf(each) === arn);
      if (profile === undefined) return refuse(404, 'NotFoundException', `no resource ${arn}`);
      change(profile);
      return DONE;
    });
  const changeRole = (operation: string, name: RoleName, change: (role: SimulatedRole) => void): Call<void> =>
    call(operation, name, (refuse) => {
      const role = aws.roleNamed(name);
      if (role === undefined) return refuse(404, 'NoSuchEntity', `The role with name ${name} cannot be found.`);
      change(role);
      return DONE;
    });
  const siblingBusy = (name: string, refuse: Refuse): E.Either<AwsFailure, never> | undefined => {
    const busy = aws.busyProfileOtherThan(name);
    const said = `currently has Fargate profile ${busy?.name} in status ${busy?.status}`;
    return (
      busy &&
      refuse(
        409,
        'ResourceInUseException',
        `Cannot create Fargate Profile ${name} because cluster ${EKS_CLUSTER} ${said}`,
      )
    );
  };

  const session: SimulatedSession = {
    ...PLACE,
    account: ACCOUNT,
    calls,
    now: () => NOW,
    clusterToken: async () => 'a token',
    onCall: () => undefined,
    clusters: {
      describe: (name) =>
        call('DescribeCluster', name, () => {
          const { authenticationMode } = aws;
          return E.right(aws.cluster === 'gone' ? undefined : { status: 'ACTIVE', authenticationMode });
        }),
    },
    accessEntries: {
      describe: (_cluster, arn) =>
        call<AccessEntryLookup>('DescribeAccessEntry', arn, () => {
          const entry = aws.entryOf(arn);
          if (aws.cluster === 'gone') return E.right({ kind: 'clusterGone' });
          return E.right(entry === undefined ? { kind: 'absent' } : { kind: 'found', entry });
        }),
      create: (_cluster, arn) =>
        changeEntries('CreateAccessEntry', arn, (refuse) => {
          if (aws.entryOf(arn) !== undefined)
            return refuse(
              409,
              'ResourceInUseException',
              'The specified access entry resource is already in use on this cluster.',
            );
          aws.createEntry(arn);
          return DONE;
        }),
      delete: (_cluster, arn) =>
        changeEntries('DeleteAccessEntry', arn, (refuse) =>
          aws.accessEntries.delete(arn)
            ? DONE
            : refuse(404, 'ResourceNotFoundException', 'The specified access entry could not be found.'),
        ),
    },
    profiles: {
      describe: (_cluster, name) =>
        call<ProfileLookup>('DescribeFargateProfile', name, () => {
          const profile = aws.shownProfiles().find((each) => each.name === name);
          if (aws.cluster === 'gone') return E.right({ kind: 'clusterGone' });
          return E.right(profile === undefined ? { kind: 'absent' } : { kind: 'found', profile });
        }),
      list: () =>
        call('ListFargateProfiles', '', () => {
          const names = aws.shownProfiles().map((each) => each.name);
          return E.right(aws.cluster === 'gone' ? { kind: 'clusterGone' } : { kind: 'listed', names });
        }),
      create: ({ cluster: _cluster, ...wanted }) =>
        changeInCluster('CreateFargateProfile', wanted.name, (refuse) => {
          const { name, podExecutionRoleArn: role } = wanted;
          if (aws.profiles.has(name))
            return refuse(
              409,
              'ResourceInUseException',
              'A Fargate Profile already exists with this name in this cluster.',
            );
          const busy = siblingBusy(name, refuse);
          if (busy !== undefined) return busy;
          if (aws.roleWith(role) === undefined)
            return refuse(400, 'InvalidParameterException', `role ${role} not found`);
          const profile: SimulatedProfile = { ...wanted, status: 'CREATING' };
          aws.profiles.set(name, profile);
          if (aws.authenticationMode !== 'CONFIG_MAP' && !aws.accessEntries.has(role)) aws.createEntry(role);
          return E.right(profileOf(profile));
        }),
      delete: (_cluster, name) =>
        changeInCluster('DeleteFargateProfile', name, (refuse) => {
          const profile = aws.profiles.get(name);
          if (profile === undefined)
            return refuse(404, 'ResourceNotFoundException', `No Fargate Profile found with name: ${name}.`);
          const busy = siblingBusy(name, refuse);
          if (busy !== undefined) return busy;
          if (isTransient(profile)) return refuse(400, 'ResourceInUseException', `${name} is ${profile.status}`);
          profile.status = 'DELETING';
          return DONE;
        }),
      tag: (arn, tags) =>
        changeProfileTags('TagResource', arn, (profile) => {
          profile.tags = { ...profile.tags, ...tags };
        }),
      untag: (arn, keys) =>
        changeProfileTags('UntagResource', arn, (profile) => {
          profile.tags = Object.fromEntries(Object.entries(profile.tags).filter(([key]) => !keys.includes(key)));
        }),
    },
    roles: {
      get: (name) =>
        call('GetRole', name, () => {
          const role = aws.roleNamed(name);
          return E.right(role && roleOf(role));
        }),
      attachedPolicies: (name) =>
        call('ListAttachedRolePolicies', name, () => E.right(aws.roleNamed(name)?.attached ?? [])),
      inlinePolicies: (name) => call('ListRolePolicies', name, () => E.right(aws.roleNamed(name)?.inline ?? [])),
      instanceProfiles: (name) => call('ListInstanceProfilesForRole', name, () => E.right([])),
      create: ({ permissionsBoundary: boundary, ...wanted }) =>
        call('CreateRole', wanted.name, (refuse) => {
          const key = wanted.name.toLowerCase();
          if (aws.roles.has(key))
            return refuse(409, 'EntityAlreadyExists', `Role with name ${wanted.name} already exists.`);
          const createdAt = aws.nextTime();
          const role = { ...wanted, boundary, id: `AROAMADE${createdAt / 1_000}`, createdAt, attached: [], inline: [] };
          aws.roles.set(key, role);
          return E.right(roleOf(role));
        }),
      delete: (name) =>
        call('DeleteRole', name, (refuse) => {
          const role = aws.roleNamed(name);
          if (role === undefined) return refuse(404, 'NoSuchEntity', `The role with name ${name} cannot be found.`);
          if (role.attached.length + role.inline.length > 0)
            return refuse(400, 'DeleteConflict', 'Cannot delete entity, must detach all policies first.');
          aws.roles.delete(name.toLowerCase());
          return DONE;
        }),
      setTrust: (name, trust) =>
        changeRole('UpdateAssumeRolePolicy', name, (role) => {
          role.trust = trust;
        }),
      setBoundary: (name, policyArn) =>
        changeRole('PutRolePermissionsBoundary', name, (role) => {
          role.boundary = policyArn;
        }),
      removeBoundary: (name) =>
        changeRole('DeleteRolePermissionsBoundary', name, (role) => {
          role.boundary = undefined;
        }),
      attach: (name, policyArn) =>
        changeRole('AttachRolePolicy', name, (role) => {
          role.attached = [...new Set([...role.attached, policyArn])];
        }),
      detach: (name, policyArn) =>
        changeRole('DetachRolePolicy', name, (role) => {
          role.attached = role.attached.filter((arn) => arn !== policyArn);
        }),
      tag: (name, tags) =>
        changeRole('TagRole', name, (role) => {
          role.tags = { ...withoutKeys(role.tags, Object.keys(tags)), ...tags };
        }),
      untag: (name, keys) =>
        changeRole('UntagRole', name, (role) => {
          role.tags = withoutKeys(role.tags, keys);
        }),
    },
  };
  return session;
}

const EKS_OPERATION = /FargateProfile|AccessEntry|Cluster|^(Tag|Untag)Resource$/;
const serviceOf = (operation: string): AwsFailure['service'] => (EKS_OPERATION.test(operation) ? 'eks' : 'iam');

const isTransient = ({ status }: SimulatedProfile): boolean => status === 'CREATING' || status === 'DELETING';

const roleIn = (arn: string): string => arn.slice(arn.lastIndexOf('/') + 1);

const roleArnOf = ({ path, name }: SimulatedRole): string => `arn:aws:iam::${ACCOUNT}:role${path}${name}`;

const profileArnOf = ({ name, id = PROFILE_ID }: SimulatedProfile): string =>
  `arn:aws:eks:eu-west-1:${ACCOUNT}:fargateprofile/${EKS_CLUSTER}/${name}/${id}`;

const profileOf = (profile: SimulatedProfile): FargateProfile => ({
  name: ProfileName.of(profile.name),
  arn: profileArnOf(profile),
  cluster: EKS_CLUSTER,
  status: profile.status,
  podExecutionRoleArn: RoleArn.of(profile.podExecutionRoleArn),
  subnets: profile.subnets,
  selectors: profile.selectors,
  tags: profile.tags,
  health: [],
  ...(profile.createdAt !== undefined && { createdAt: profile.createdAt }),
});

export const roleOf = (role: SimulatedRole): Role => ({
  name: RoleName.of(role.name),
  arn: RoleArn.of(roleArnOf(role)),
  id: role.id,
  createdAt: role.createdAt,
  path: role.path,
  trust: role.trust,
  tags: role.tags,
  ...(role.boundary !== undefined && { permissionsBoundary: role.boundary }),
});

/** Returns the tags without those with one of these keys. As in IAM, keys that differ only in case are the same key. */
function withoutKeys(
  tags: Readonly<Record<string, string>>,
  keys: readonly string[],
): Readonly<Record<string, string>> {
  const folded = keys.map((key) => key.toLowerCase());
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !folded.includes(key.toLowerCase())));
}
