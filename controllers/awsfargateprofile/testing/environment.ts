import type { AWSFargateProfileSpec, AWSFargateProfileStatus, StatusRole } from '../../../api/v1beta2/index.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Mutation } from '../model/mutation.ts';
import type { Observed } from '../model/observed-state.ts';
import type { MutationOutcome, Step } from '../model/outcome.ts';
import type { AwsFacts, PassEnd } from '../model/pass.ts';
import { type Snapshot, type TransitionResult, SimulatedAws, roleArnOf } from './simulated-aws.ts';

/**
 * The input of a simulation of many reconciles: the initial state of Kubernetes and AWS, the faults of calls to AWS,
 * and the changes that users, AWS and Cluster API make between the reconciles.
 */
export interface SimulatedEnvironment {
  readonly spec: AWSFargateProfileSpec;
  /** Whether the control plane is ready. The controller creates no profiles and roles while it is not. */
  readonly controlPlane: 'ready' | 'notReady';
  readonly controlPlaneTags: Readonly<Record<string, string>>;
  readonly status: AWSFargateProfileStatus;
  /** The value of the annotation `provisioned-in` of the AWSFargateProfile; undefined if it lacks the annotation. */
  readonly provisionedIn: string | undefined;
  /**
   * The role id in the annotation `access-entry-renewed` of the AWSFargateProfile; undefined if it lacks the
   * annotation.
   */
  readonly accessEntryRenewedFor: string | undefined;
  readonly cluster: 'there' | 'gone';
  readonly authenticationMode: string;
  readonly profiles: readonly InitialProfile[];
  readonly roles: readonly InitialRole[];
  /**
   * The EKS access entry of each role.
   *
   * - `current`: the entry is bound to the role.
   * - `former`: the entry is bound to an earlier role with the same ARN.
   * - `none`: the role has no entry.
   */
  readonly accessEntries: 'current' | 'former' | 'none';
  /** Whether EKS makes an access entry for the role of a new profile, if the role has none. */
  readonly makesAccessEntries: boolean;
  /** The names, in lower case, of roles that other AWSFargateProfiles use. */
  readonly rolesUsedElsewhere: readonly string[];
  readonly transitionResults: readonly TransitionResult[];
  /**
   * The faults of the controller's change requests to AWS, in the order of the requests. A request beyond the end of
   * the list has the fault `none`.
   */
  readonly faults: readonly Fault[];
  readonly events: readonly ExternalEvent[];
}

/**
 * The fault of a change request to AWS.
 *
 * - `answerLost`: AWS makes the change, but the answer is lost.
 * - `requestLost`: AWS never gets the request. The manager cannot tell this from a lost answer.
 * - `notSent`: the manager does not send the request, and knows that.
 * - `crash`: AWS makes the change, but the manager crashes before it gets the answer.
 */
export type Fault = 'none' | 'answerLost' | 'requestLost' | 'notSent' | 'crash';

export interface InitialProfile {
  readonly name: string;
  readonly status: string;
  readonly podExecutionRoleArn: string;
  readonly subnets: readonly string[];
  readonly selectors: readonly { readonly namespace: string; readonly labels: Readonly<Record<string, string>> }[];
  readonly tags: Readonly<Record<string, string>>;
}

export interface InitialRole {
  readonly name: string;
  readonly path: string;
  readonly id: string;
  readonly trust: string;
  readonly boundary: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly attached: readonly string[];
  readonly inline: readonly string[];
}

/**
 * A change that a user, AWS or Cluster API makes between two reconciles. `before` is the number of the reconcile that
 * follows.
 */
export type ExternalEvent = { readonly before: number } & (
  | { readonly kind: 'deletion'; readonly policy: 'delete' | 'retain' }
  | { readonly kind: 'specChange'; readonly spec: AWSFargateProfileSpec }
  | { readonly kind: 'controlPlane'; readonly state: SimulatedEnvironment['controlPlane'] }
  | { readonly kind: 'statusLost' }
  /** A client that may write status names there what the controller has allegedly put on profile and role. */
  | {
      readonly kind: 'statusWritten';
      readonly tagKeys: readonly string[];
      readonly role: Pick<StatusRole, 'attachedPolicies' | 'permissionsBoundary'>;
    }
  | AwsEvent
);

type AwsEvent =
  | { readonly kind: 'profileCreated'; readonly profile: InitialProfile }
  | { readonly kind: 'profileDeleted'; readonly name: string }
  | { readonly kind: 'profileTagged'; readonly name: string; readonly tags: Readonly<Record<string, string>> }
  | { readonly kind: 'roleCreated'; readonly role: InitialRole }
  | { readonly kind: 'roleDeleted'; readonly name: string }
  | { readonly kind: 'roleChanged'; readonly name: string; readonly role: Omit<InitialRole, 'name' | 'path' | 'id'> };

export const PRIVATE_SUBNETS: readonly string[] = ['subnet-0a', 'subnet-0b'];

/**
 * A change that a simulated reconcile sent to AWS, with the state of the AWSFargateProfile and of AWS right before it.
 */
export interface RecordedMutation {
  readonly pass: number;
  readonly mutation: Mutation;
  readonly outcome: MutationOutcome;
  readonly fault: Fault;
  readonly spec: AWSFargateProfileSpec;
  readonly mode: SimulationMode;
  /**
   * Whether the control plane was not ready when the reconcile sent the change, so that the controller could create no
   * profiles and roles.
   */
  readonly creationBlocker: boolean;
  /** The status of the AWSFargateProfile that the reconcile wrote right before it sent the change to AWS. */
  readonly status: AWSFargateProfileStatus;
  readonly desired: Desired;
  readonly observed: Observed;
  readonly awsBefore: Snapshot;
}

/** The status that a simulated reconcile wrote last. */
export interface RecordedStatus {
  /** What the reconcile wanted, read and planned; `undefined` if it did not read AWS. */
  readonly facts: AwsFacts | undefined;
  /** The changes of the pass after that reading. */
  readonly steps: readonly Step[];
  readonly status: AWSFargateProfileStatus;
}

/** Whether the AWSFargateProfile of a simulation is being deleted: `live` if not, otherwise its deletionPolicy. */
export type SimulationMode = 'live' | 'delete' | 'retain';

export interface SimulationResult {
  readonly mutations: readonly RecordedMutation[];
  readonly plans: readonly AwsFacts[];
  readonly statuses: readonly RecordedStatus[];
  /**
   * The status of the AWSFargateProfile after one more reconcile at the end of the simulation. After a completed
   * deletion there is no such reconcile.
   */
  readonly statusAfterIdlePass: AWSFargateProfileStatus;
  /**
   * The names of the profiles and roles that the simulated reconciles created. The names of roles are in lower case.
   */
  readonly created: { readonly profiles: ReadonlySet<string>; readonly roles: ReadonlySet<string> };
  /**
   * How the last reconcile of the simulation ended. `endless` means that the simulation reached its maximum number of
   * reconciles before the AWSFargateProfile and AWS came to rest.
   */
  readonly end: PassEnd | { readonly kind: 'endless'; readonly steps: readonly Step[] };
  readonly mode: SimulationMode;
  readonly spec: AWSFargateProfileSpec;
  readonly creationBlocker: boolean;
  readonly status: AWSFargateProfileStatus;
  readonly aws: SimulatedAws;
  readonly rolesUsedElsewhere: readonly string[];
  readonly environment: SimulatedEnvironment;
}

/** Returns the simulated AWS before the first reconcile. */
export function awsFor(environment: SimulatedEnvironment): SimulatedAws {
  const aws = new SimulatedAws();
  aws.cluster = environment.cluster;
  aws.authenticationMode = environment.authenticationMode;
  aws.transitionResults.push(...environment.transitionResults);
  if (environment.cluster === 'there') {
    for (const profile of environment.profiles) aws.profiles.set(profile.name, { ...profile, hidden: 0 });
  }
  aws.makesAccessEntries = environment.makesAccessEntries;
  if (environment.accessEntries === 'former') addAccessEntries(aws, environment.roles, 'AROAGONE');
  for (const role of environment.roles) aws.roles.set(role.name.toLowerCase(), { ...role, createdAt: aws.nextTime() });
  if (environment.accessEntries === 'current') addAccessEntries(aws, environment.roles);
  return aws;
}

function addAccessEntries(aws: SimulatedAws, roles: readonly InitialRole[], formerId?: string): void {
  for (const role of roles) {
    const entry = { type: 'FARGATE_LINUX', roleId: formerId ?? role.id, createdAt: aws.nextTime() };
    aws.accessEntries.set(roleArnOf(role), entry);
  }
}

/**
 * Changes the simulated AWS as a client other than the controller would. A change that AWS would refuse has no effect.
 */
export function applyAwsEvent(event: AwsEvent, aws: SimulatedAws): void {
  switch (event.kind) {
    case 'profileCreated':
      if (!aws.profiles.has(event.profile.name) && aws.cluster === 'there') {
        aws.profiles.set(event.profile.name, { ...event.profile, status: 'ACTIVE', hidden: 0 });
      }
      break;
    case 'profileDeleted': {
      const profile = aws.profiles.get(event.name);
      if (profile?.status === 'ACTIVE' && !aws.isChanging) profile.status = 'DELETING';
      break;
    }
    case 'profileTagged': {
      const profile = aws.profiles.get(event.name);
      if (profile !== undefined) profile.tags = event.tags;
      break;
    }
    case 'roleCreated':
      if (!aws.roles.has(event.role.name.toLowerCase())) {
        aws.roles.set(event.role.name.toLowerCase(), { ...event.role, createdAt: aws.nextTime() });
      }
      break;
    case 'roleDeleted':
      aws.roles.delete(event.name.toLowerCase());
      break;
    case 'roleChanged': {
      const role = aws.roles.get(event.name.toLowerCase());
      if (role !== undefined) Object.assign(role, event.role);
      break;
    }
  }
}
