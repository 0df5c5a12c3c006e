import * as E from 'fp-ts/lib/Either.js';
import { SeededRandom, VirtualClock } from 'controller-runtime/testing';
import { RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { recordOf } from '../../shared/record.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { roleNameOf } from '../../shared/profile-names.ts';
import type { DesiredInputs } from '../desired/desired.ts';
import { Claims } from '../guards/role-users/claims.ts';
import type { LiveRoleUsers, RoleUsers } from '../guards/role-users/live-objects.ts';
import { RetryStore } from '../retry-state.ts';
import { type Observed, foundRoles } from '../model/observed-state.ts';
import type { ReconcileState } from '../guards/guards.ts';
import type { GuardServices } from '../guards/guard-order.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  OWNER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  ROLE_ARN,
  ROLE_CREATED_AT,
  ROLE_TAGS,
  TARGET,
  TRUST,
  anObject,
  desiredInputs,
  desiredOf,
} from './builders.ts';
import { located } from '../record-around-changes.ts';
import { plan } from '../plan/plan.ts';
import { newClusterQueues } from './cluster-queues.ts';
import {
  type SimulatedProfile,
  type SimulatedRole,
  SimulatedAws,
  type SimulatedSession,
  roleOf,
  sessionOn,
} from './simulated-aws.ts';

export const QUEUE = [ACCOUNT, TARGET.region, EKS_CLUSTER].join('/');

/**
 * Returns the Fargate profile of the AWSFargateProfile `team-a/web` in the simulated AWS: ACTIVE, and as in the spec.
 */
export const aSimulatedProfile = (over: Partial<SimulatedProfile> = {}): SimulatedProfile => ({
  name: PROFILE,
  status: 'ACTIVE',
  podExecutionRoleArn: ROLE_ARN,
  subnets: ['subnet-0a', 'subnet-0b'],
  selectors: [{ namespace: 'web', labels: {} }],
  tags: PROFILE_TAGS,
  ...over,
});

/**
 * Returns the managed role of the AWSFargateProfile `team-a/web` in the simulated AWS, with the attributes in the spec.
 */
export const aSimulatedRole = (over: Partial<SimulatedRole> = {}): SimulatedRole => ({
  name: ROLE,
  path: '/',
  id: 'AROAEXAMPLE',
  createdAt: ROLE_CREATED_AT,
  trust: TRUST,
  boundary: undefined,
  tags: ROLE_TAGS,
  attached: [POD_EXECUTION_POLICY],
  inline: [],
  ...over,
});

export function awsWith(...parts: readonly (SimulatedProfile | SimulatedRole)[]): SimulatedAws {
  const aws = new SimulatedAws();
  for (const part of parts) {
    if ('selectors' in part) aws.profiles.set(part.name, { ...part });
    else aws.roles.set(part.name.toLowerCase(), { ...part });
  }
  return aws;
}

/**
 * The services that a reconcile uses in its guards before it sends a change to AWS. By default, all
 * answers of these services permit the change.
 */
export interface TestServices extends GuardServices {
  readonly clock: VirtualClock;
  readonly claims: Claims;
}

export type ServiceOverrides = Partial<GuardServices>;

export function newServices(over: ServiceOverrides = {}): TestServices {
  const clock = new VirtualClock();
  return {
    claims: new Claims(),
    clusterQueues: newClusterQueues(clock).clusterQueues,
    recordTurnSpan: () => {},
    controlPlaneFinalizer: { confirm: async () => ({ kind: 'present' }) },
    mutationTimeLeft: () => 10_000,
    openPods: async () => E.right(undefined),
    recordEviction: () => {},
    random: new SeededRandom(1),
    profileWriter: writerThat(async (object, status) => storedObject(object, status)),
    schema: { check: async () => ({ kind: 'ours' }) },
    findLiveBlocker: async () => undefined,
    ...over,
    roleUsers: { ...NO_ROLE_USERS, ...over.roleUsers },
    clock,
  };
}

/**
 * Returns the users of an IAM role besides the reconciled AWSFargateProfile. `other` is the key of an AWSFargateProfile
 * that uses the role.
 */
export const roleUsers = (other?: string): RoleUsers => ({ other, leaving: new Map() });

/** No other AWSFargateProfile uses any role. */
export const NO_ROLE_USERS: LiveRoleUsers = {
  usersOf: async () => roleUsers(),
  sharersOf: async () => ({ possibleDeleter: undefined, sharers: [] }),
};

/**
 * A function that stands for a write of an AWSFargateProfile to the API server. `status` is `undefined` if only
 * metadata is patched.
 */
type Write = (
  object: AWSFargateProfile,
  status: AWSFargateProfileStatus | undefined,
) => Promise<AWSFargateProfile | undefined>;

/**
 * Returns the object that the API server stores when it accepts a patch of its status. A patch of metadata changes nothing.
 */
const storedObject = (object: AWSFargateProfile, status: AWSFargateProfileStatus | undefined) =>
  status === undefined ? { ...object } : { ...object, status };

/** Returns a fake writer of AWSFargateProfiles, in which the function `write` answers each patch. */
export const writerThat = (write: Write): GuardServices['profileWriter'] => ({
  patchMetadata: (object) => write(object, undefined),
  patchStatus: (object, status) => write(object, status),
});

/** Returns the state of a reconcile that has read the simulated AWS and has changed nothing yet. */
export function reconcileStateFor(
  aws: SimulatedAws,
  object: AWSFargateProfile = anObject(),
  over: Partial<DesiredInputs> = {},
): ReconcileState & { readonly session: SimulatedSession } {
  const seen = observedIn(aws, object);
  const inputs = desiredInputs({ ...(isDeleting(object) && { creationFacts: undefined }), ...over });
  const desired = desiredOf(object, inputs, seen);
  return {
    ...inputs,
    object,
    execution: { end: 'inSync', steps: [], notices: [], kept: [] },
    record: located(desired.record, desired, inputs.target.identity),
    retry: new RetryStore(new VirtualClock()).handleFor(object),
    observed: seen,
    desired,
    plan: plan(desired, seen),
    session: sessionOn(aws),
    signal: new AbortController().signal,
    queueKey: QUEUE,
  };
}

/** Returns what a survey reads from the simulated AWS. */
function observedIn(aws: SimulatedAws, object: AWSFargateProfile): Observed {
  const recorded = recordOf(object).roles.map(({ name }) => name);
  const names = [...new Set([roleNameOf(object) ?? ROLE, ...recorded])];
  const blockersOf = ({ inline }: SimulatedRole) =>
    isDeleting(object) ? inline.map((policy) => `the inline policy "${policy}"`) : [];
  const roles = names.map((name) => {
    const role = aws.roleNamed(name);
    return {
      name: RoleName.of(name),
      found: role && { ...roleOf(role), attached: role.attached, blockers: blockersOf(role) },
    };
  });
  const whole = { depth: 'survey', cluster: aws.cluster, profiles: aws.shownProfiles(), roles } as const;
  const isBeforeRoles = isDeleting(object) && whole.profiles.some(({ tags }) => tags[OWNER_TAG] === 'team-a/web');
  if (isBeforeRoles) return withoutRoles(whole);
  const accessEntries = foundRoles(whole.roles).map(({ arn: principal }) => {
    const found = aws.cluster === 'gone' ? undefined : aws.entryOf(principal);
    return { principal, mode: aws.authenticationMode, found };
  });
  return { ...whole, accessEntries };
}

export const withoutRoles = (observed: Observed): Observed => ({
  ...observed,
  roles: observed.roles.map(({ name }) => ({ name, found: 'unread' })),
});

export const awsAsDesired = () => awsWith(aSimulatedProfile(), aSimulatedRole());
