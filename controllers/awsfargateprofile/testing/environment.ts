import type { AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { Decision } from '../model/decision.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Mutation } from '../model/mutation.ts';
import type { Observed } from '../model/observed-state.ts';
import type { MutationOutcome, Step } from '../model/outcome.ts';
import type { PartiallyObserved, PassEnd } from '../model/pass.ts';
import { ACCOUNT, EKS_CLUSTER, TARGET } from './builders.ts';
import type { Snapshot, TransitionResult } from './simulated-aws.ts';
import { SimulatedAws, roleArnOf } from './simulated-aws.ts';

/**
 * The input of a simulation: what exists in Kubernetes and AWS before the first pass (reconcile), which faults hit
 * mutations of AWS, and what users, AWS and Cluster API change between the passes.
 */
export interface SimulatedEnvironment {
  readonly spec: AWSFargateProfileSpec;
  /**
   * Whether the control plane is ready; a control plane that is not ready blocks the creation of profiles and roles.
   */
  readonly controlPlane: 'ready' | 'notReady';
  readonly controlPlaneTags: Readonly<Record<string, string>>;
  readonly status: AWSFargateProfileStatus;
  /**
   * The value of the annotation `provisioned-in` of the AWSFargateProfile; undefined: the annotation does not exist.
   */
  readonly provisionedIn: string | undefined;
  /**
   * The role id in the annotation `access-entry-renewed` of the AWSFargateProfile; undefined: the annotation does not
   * exist.
   */
  readonly accessEntryRenewedFor: string | undefined;
  readonly cluster: 'there' | 'gone';
  readonly authenticationMode: string;
  readonly profiles: readonly InitialProfile[];
  readonly roles: readonly InitialRole[];
  /**
   * The access entry of each role: an entry that is bound to the role, an entry of an earlier role with the same ARN,
   * or none.
   */
  readonly accessEntries: 'current' | 'former' | 'none';
  /** Whether EKS makes an access entry for the role of a new profile, if the role has none. */
  readonly makesAccessEntries: boolean;
  /** The names, in lower case, of roles that other AWSFargateProfiles use. */
  readonly rolesUsedElsewhere: readonly string[];
  readonly transitionResults: readonly TransitionResult[];
  /**
   * The faults of the mutations that the controller sends to AWS, in the order of the mutations. A mutation beyond the
   * end of the list has the fault `none`.
   */
  readonly faults: readonly Fault[];
  readonly events: readonly ExternalEvent[];
}

/**
 * What goes wrong with a mutation of AWS. `answerLost`: AWS makes the change, but the answer is lost. `requestLost`:
 * AWS never gets the request; the manager cannot tell this from a lost answer. `notSent`: the manager does not send the
 * request, and knows that. `crash`: AWS makes the change, but the manager crashes before the manager gets the answer.
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
 * A change that a user, AWS or Cluster API makes right before a pass (reconcile); `before` is the number of the pass.
 */
export type ExternalEvent = { readonly before: number } & (
  | { readonly kind: 'deletion'; readonly policy: 'delete' | 'retain' }
  | { readonly kind: 'specChange'; readonly spec: AWSFargateProfileSpec }
  | { readonly kind: 'controlPlane'; readonly state: SimulatedEnvironment['controlPlane'] }
  | { readonly kind: 'statusLost' }
  | AwsEvent
);

type AwsEvent =
  | { readonly kind: 'profileCreated'; readonly profile: InitialProfile }
  | { readonly kind: 'profileDeleted'; readonly name: string }
  | { readonly kind: 'profileTagged'; readonly name: string; readonly tags: Readonly<Record<string, string>> }
  | { readonly kind: 'roleCreated'; readonly role: InitialRole }
  | { readonly kind: 'roleDeleted'; readonly name: string }
  | { readonly kind: 'roleChanged'; readonly name: string; readonly role: Omit<InitialRole, 'name' | 'path' | 'id'> };

/**
 * The value of the annotation `provisioned-in` of an AWSFargateProfile that was provisioned in the tests' account,
 * region and EKS cluster.
 */
export const HERE = `${ACCOUNT}/${TARGET.region}/${EKS_CLUSTER}`;
export const PRIVATE_SUBNETS: readonly string[] = ['subnet-0a', 'subnet-0b'];

/**
 * A mutation of AWS that a simulated pass (reconcile) decided on, with the state of the AWSFargateProfile and of AWS
 * right before the mutation.
 */
export interface RecordedMutation {
  readonly pass: number;
  readonly mutation: Mutation;
  readonly outcome: MutationOutcome;
  readonly fault: Fault;
  readonly spec: AWSFargateProfileSpec;
  readonly mode: SimulationMode;
  /** True if the control plane was not ready and therefore blocked the creation of profiles and roles. */
  readonly creationBlocker: boolean;
  /** The status that the pass (reconcile) wrote to the AWSFargateProfile right before the mutation. */
  readonly status: AWSFargateProfileStatus;
  readonly desired: Desired;
  readonly observed: Observed;
  readonly awsBefore: Snapshot;
}

/** A call of the function `decide`: its arguments and its result. */
export interface RecordedDecision {
  readonly desired: Desired;
  readonly observed: Observed;
  readonly decision: Decision;
}

/**
 * The status that a pass (reconcile) wrote as its last action, and what the pass observed in AWS. `observed` is
 * `undefined` if the pass did not read AWS.
 */
export interface RecordedStatus {
  readonly observed: PartiallyObserved | undefined;
  readonly status: AWSFargateProfileStatus;
}

/**
 * `live`: the AWSFargateProfile is not being deleted; `delete` or `retain`: the AWSFargateProfile is being deleted with
 * this deletionPolicy.
 */
export type SimulationMode = 'live' | 'delete' | 'retain';

export interface SimulationResult {
  readonly mutations: readonly RecordedMutation[];
  readonly decisions: readonly RecordedDecision[];
  readonly statuses: readonly RecordedStatus[];
  /**
   * The status of the AWSFargateProfile after one more pass (reconcile), which runs after the last pass of the
   * simulation.
   */
  readonly statusAfterIdlePass: AWSFargateProfileStatus;
  /** The names of the profiles and roles that the simulated passes created; the names of roles are in lower case. */
  readonly created: { readonly profiles: ReadonlySet<string>; readonly roles: ReadonlySet<string> };
  /**
   * How the last pass (reconcile) of the simulation ended; `endless`: the simulation reached its maximum number of
   * passes before the AWSFargateProfile and AWS came to rest.
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

/** Returns the simulated AWS as it is before the first pass (reconcile). */
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
