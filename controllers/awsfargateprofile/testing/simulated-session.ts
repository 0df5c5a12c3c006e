import * as E from 'fp-ts/lib/Either.js';
import { ProfileName, RoleName } from '../../../api/names.ts';
import type {
  AwsFailure,
  Session,
  Role,
  AccessEntry,
  FargateProfile,
  ProfileLookup,
  Call,
} from '../../../pkg/cloud/index.ts';
import { type Mutation, subjectOf, type MutationOutcome } from '../model/change.ts';
import { ACCOUNT, EKS_CLUSTER, NOW, PLACE, aFailure } from './builders.ts';
import type { SimulatedAws } from './simulated-aws.ts';

export interface SimulatedSession extends Session {
  /** All AWS calls of the session, each as the operation and the name of the resource. */
  readonly calls: readonly string[];
  /**
   * A function that the session calls before each AWS call. If the function returns a failure, the session answers with
   * this failure, and AWS stays unchanged.
   */
  onCall: (operation: string) => AwsFailure | undefined;
}

/** Returns an AWS session that the simulated AWS answers, with the error codes and messages of the real services. */
export function sessionOn(aws: SimulatedAws): SimulatedSession {
  const calls: string[] = [];
  const call = async <A>(operation: string, about: string, answer: () => E.Either<AwsFailure, A>): Call<A> => {
    calls.push(about === '' ? operation : `${operation} ${about}`);
    const failure = session.onCall(operation);
    return failure === undefined ? answer() : E.left(failure);
  };
  const act = <A>(operation: string, mutation: Mutation, take: (outcome: MutationOutcome) => A): Call<A> =>
    call(operation, subjectOf(mutation), () => answerTo(operation, mutation, aws.act(mutation), take));
  const done = (operation: string, mutation: Mutation): Call<void> => act(operation, mutation, () => undefined);
  const roleNamed = (name: string) => aws.observe([name], { forBlockers: () => true }).roles[0];

  const session: SimulatedSession = {
    ...PLACE,
    account: ACCOUNT,
    calls,
    now: () => NOW,
    clusterToken: async () => 'a token',
    onCall: () => undefined,
    clusters: {
      describe: (name) =>
        call('DescribeCluster', name, () =>
          E.right(
            aws.cluster === 'gone'
              ? undefined
              : { name, arn: '', status: 'ACTIVE', authenticationMode: aws.authenticationMode },
          ),
        ),
    },
    accessEntries: {
      describe: (_cluster, arn) => call('DescribeAccessEntry', arn, () => E.right(aws.describeAccessEntry(arn))),
      create: (_cluster, arn) =>
        act('CreateAccessEntry', { kind: 'createAccessEntry', name: roleIn(arn), principal: arn }, madeEntry),
      delete: (_cluster, arn) =>
        done('DeleteAccessEntry', {
          kind: 'deleteAccessEntry',
          name: roleIn(arn),
          principal: arn,
          because: 'roleDeletion',
        }),
    },
    profiles: {
      describe: (_cluster, name) =>
        call<ProfileLookup>('DescribeFargateProfile', name, () => {
          const found = aws.observe([], { forBlockers: () => false }).profiles.find((each) => each.name === name);
          if (aws.cluster === 'gone') return E.right({ kind: 'clusterGone' });
          return E.right(found === undefined ? { kind: 'absent' } : { kind: 'found', profile: found });
        }),
      list: () =>
        call('ListFargateProfiles', '', () => {
          const names = aws.observe([], { forBlockers: () => false }).profiles.map((each) => each.name);
          return E.right(aws.cluster === 'gone' ? { kind: 'clusterGone' } : { kind: 'listed', names });
        }),
      create: (profile) => act('CreateFargateProfile', { kind: 'createProfile', profile }, madeProfile),
      delete: (_cluster, name) => done('DeleteFargateProfile', { kind: 'deleteProfile', name, because: 'unwanted' }),
      tag: (arn, tags) => done('TagResource', { kind: 'tagProfile', name: nameIn(arn), arn, tags }),
      untag: (arn, keys) => done('UntagResource', { kind: 'untagProfile', name: nameIn(arn), arn, keys }),
    },
    roles: {
      get: (name) =>
        call('GetRole', name, () => {
          const found = roleNamed(name)?.found;
          return E.right(found === undefined ? undefined : bare(found));
        }),
      attachedPolicies: (name) =>
        call('ListAttachedRolePolicies', name, () => E.right(roleNamed(name)?.found?.attached ?? [])),
      inlinePolicies: (name) =>
        call('ListRolePolicies', name, () => E.right(aws.roles.get(name.toLowerCase())?.inline ?? [])),
      instanceProfiles: (name) => call('ListInstanceProfilesForRole', name, () => E.right([])),
      create: (role) => act('CreateRole', { kind: 'createRole', role }, madeRole),
      delete: (name) => done('DeleteRole', { kind: 'deleteRole', name }),
      setTrust: (name, trust) => done('UpdateAssumeRolePolicy', { kind: 'setTrust', name, trust }),
      setBoundary: (name, policyArn) => done('PutRolePermissionsBoundary', { kind: 'setBoundary', name, policyArn }),
      removeBoundary: (name) => done('DeleteRolePermissionsBoundary', { kind: 'removeBoundary', name }),
      attach: (name, policyArn) => done('AttachRolePolicy', { kind: 'attachPolicy', name, policyArn }),
      detach: (name, policyArn) => done('DetachRolePolicy', { kind: 'detachPolicy', name, policyArn, retiring: false }),
      tag: (name, tags) => done('TagRole', { kind: 'tagRole', name, tags }),
      untag: (name, keys) => done('UntagRole', { kind: 'untagRole', name, keys }),
    },
  };
  return session;
}

function answerTo<A>(
  operation: string,
  mutation: Mutation,
  outcome: MutationOutcome,
  take: (outcome: MutationOutcome) => A,
): E.Either<AwsFailure, A> {
  const name = subjectOf(mutation);
  const left = (code: string, statusCode: number, message: string): E.Either<AwsFailure, A> =>
    E.left(aFailure({ service: serviceOf(operation), operation, code, statusCode, message }));
  switch (outcome.kind) {
    case 'done':
      return E.right(take(outcome));
    case 'gone':
      return serviceOf(operation) === 'eks'
        ? left('ResourceNotFoundException', 404, `No Fargate Profile found with name: ${name}.`)
        : left('NoSuchEntity', 404, `The role with name ${name} cannot be found.`);
    case 'nameTaken':
      return serviceOf(operation) === 'eks'
        ? left('ResourceInUseException', 409, 'A Fargate Profile already exists with this name in this cluster.')
        : left('EntityAlreadyExists', 409, `Role with name ${name} already exists.`);
    case 'notVisible':
      return left('NoSuchEntity', 404, `The role with name ${name} cannot be found.`);
    case 'clusterGone':
      return left('ResourceNotFoundException', 404, `No cluster found for name: ${EKS_CLUSTER}.`);
    case 'siblingBusy':
      return left(
        'ResourceInUseException',
        409,
        `Cannot create Fargate Profile ${name} because cluster ${EKS_CLUSTER} currently has Fargate profile ${outcome.by} in status ${outcome.doing}`,
      );
    case 'clusterUpdating':
    case 'outdated':
    case 'roleRejected':
    case 'failed':
      return E.left({ ...outcome.failure, service: serviceOf(operation), operation });
  }
}

const EKS_OPERATION = /FargateProfile|AccessEntry|Cluster|^(Tag|Untag)Resource$/;
const serviceOf = (operation: string): AwsFailure['service'] => (EKS_OPERATION.test(operation) ? 'eks' : 'iam');

const nameIn = (arn: string): ProfileName => ProfileName.of(arn.split('/').at(-2) ?? '');

function madeProfile(outcome: MutationOutcome): FargateProfile {
  if (outcome.kind === 'done' && outcome.profile !== undefined) return outcome.profile;
  throw new Error('the outcome has no profile');
}

const roleIn = (arn: string): RoleName => RoleName.of(arn.slice(arn.lastIndexOf('/') + 1));

function madeEntry(outcome: MutationOutcome): AccessEntry {
  if (outcome.kind === 'done' && outcome.accessEntry !== undefined) return outcome.accessEntry;
  throw new Error('the outcome has no access entry');
}

function madeRole(outcome: MutationOutcome): Role {
  if (outcome.kind === 'done' && outcome.role !== undefined) return outcome.role;
  throw new Error('the outcome has no role');
}

function bare({ name, arn, id, createdAt, path, trust, permissionsBoundary, tags }: Role): Role {
  return {
    name,
    arn,
    id,
    createdAt,
    path,
    trust,
    tags,
    ...(permissionsBoundary !== undefined && { permissionsBoundary }),
  };
}
