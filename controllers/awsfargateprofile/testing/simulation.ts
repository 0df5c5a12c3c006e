import { isRight } from 'fp-ts/lib/Either.js';
import { ProfileName, type RoleArn, type RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import {
  ACCESS_ENTRY_DELETED_ANNOTATION,
  ACCESS_ENTRY_RENEWED_ANNOTATION,
  DELETION_REQUESTED_ANNOTATION,
  PROVISIONED_IN_ANNOTATION,
  REPLACEMENT_ANNOTATION,
} from '../../../api/v1beta2/index.ts';
import { type AwsFailure, isNotDispatched } from '../../../pkg/cloud/index.ts';
import { entriesToRead } from '../decide/further-reads.ts';
import { plan } from '../decide/plan.ts';
import { isOfReplacement, searchFor } from '../decide/replacement.ts';
import { canReadRolesLater, transitReason } from '../decide/wait-for-eks-change.ts';
import { type DesiredInputs, candidateProfiles, desiredFor } from '../goal/desired/desired.ts';
import { withMirrors } from '../goal/retain.ts';
import { RetryStore } from '../retry/retry-store.ts';
import { withCreateOutcome } from '../retry/create-visibility.ts';
import { withSuccess } from '../retry/retry-state.ts';
import type { Desired } from '../model/desired-state.ts';
import { type Mutation, isDestructive, isRoleRemoval } from '../model/mutation.ts';
import type { Observed, ObservedAccessEntry } from '../model/observed-state.ts';
import type { MutationOutcome, Step } from '../model/outcome.ts';
import { type Reason, isSilent, natureOf, newReason } from '../reasons/reasons.ts';
import { writeAheadStatus } from '../status/write-ahead.ts';
import type { AwsFacts, Execution, PassEnd } from '../model/pass.ts';
import { statusAfter } from '../status/status.ts';
import {
  HERE,
  NOW,
  CONTROL_PLANE_FACTS,
  TARGET,
  aDeletedObject,
  aFailure,
  anObject,
  desiredInputs,
} from './builders.ts';
import type { SimulatedAws, SimulatedRole } from './simulated-aws.ts';
import type {
  ExternalEvent,
  Fault,
  RecordedMutation,
  RecordedStatus,
  SimulatedEnvironment,
  SimulationMode,
  SimulationResult,
} from './environment.ts';
import { PRIVATE_SUBNETS, applyAwsEvent, awsFor } from './environment.ts';

const MAX_PASSES = 60;
/** The simulated time between two reconciles, in milliseconds. */
const PASS_INTERVAL = 20_000;
const NOT_READY = newReason('WaitingForEKSControlPlane', { detail: 'the control plane is not ready yet' });

/** Simulates reconciles of one AWSFargateProfile, until neither a reconcile nor AWS changes anything any more. */
export function simulate(environment: SimulatedEnvironment): SimulationResult {
  return new Simulation(environment).run();
}

/** The result of one simulated reconcile; `end` is `undefined` if the reconcile wrote no status at its end. */
interface SimulatedPass {
  readonly end: PassEnd | undefined;
  readonly steps: readonly Step[];
}

class Simulation {
  private readonly environment: SimulatedEnvironment;
  private readonly aws: SimulatedAws;
  private readonly faults: Fault[];
  private spec: AWSFargateProfileSpec;
  private mode: SimulationMode = 'live';
  private controlPlane: SimulatedEnvironment['controlPlane'];
  private status: AWSFargateProfileStatus;
  private provisionedIn: string | undefined;
  private isDeletionMarked = false;
  private accessEntryDeletedOf: string | undefined;
  /** The annotation that repeats what status records of a replacement. */
  private replacement: string | undefined;
  private now = NOW;
  private retryStore = this.newRetryStore();
  private readonly mutations: RecordedMutation[] = [];
  private readonly plans: AwsFacts[] = [];
  private readonly statuses: RecordedStatus[] = [];
  private readonly created = { profiles: new Set<string>(), roles: new Set<string>() };

  constructor(environment: SimulatedEnvironment) {
    this.environment = environment;
    this.aws = awsFor(environment);
    this.faults = [...environment.faults];
    this.spec = environment.spec;
    this.controlPlane = environment.controlPlane;
    this.status = environment.status;
    this.provisionedIn = environment.provisionedIn;
  }

  run(): SimulationResult {
    const { events } = this.environment;
    let steps: readonly Step[] = [];
    for (let number = 0; number < MAX_PASSES; number++) {
      for (const event of events.filter(({ before }) => before === number)) this.applyEvent(event);
      const [earlierMutations, earlierFaults] = [this.mutations.length, this.faults.length];
      const pass = this.pass(number);
      ({ steps } = pass);
      const { end } = pass;
      const isOver =
        this.mutations.slice(earlierMutations).every(({ outcome }) => outcome.kind === 'failed') &&
        this.faults.length === earlierFaults &&
        !this.aws.isChanging &&
        end !== undefined &&
        events.every(({ before }) => before <= number) &&
        !(end !== 'inOrder' && end.name === 'Propagating') &&
        this.plans.at(-1)?.plan.notices.some((notice) => natureOf(notice) === 'wait') !== true;
      const isReleased = this.mode !== 'live' && end === 'inOrder';
      if (isOver || isReleased) return this.resultOf(end);
      this.aws.tick();
      this.now += PASS_INTERVAL;
    }
    return this.resultOf({ kind: 'endless', steps });
  }

  private resultOf(end: SimulationResult['end']): SimulationResult {
    const { mutations, plans, created, mode, spec, status, aws, environment } = this;
    const { rolesUsedElsewhere } = environment;
    const creationBlocker = this.controlPlane === 'notReady';
    const statuses = [...this.statuses];
    this.now += PASS_INTERVAL;
    const isReleased = mode !== 'live' && end === 'inOrder';
    if (!isReleased) this.pass(MAX_PASSES);
    const statusAfterIdlePass = this.status;
    const recorded = { mutations, plans, statuses, statusAfterIdlePass, created };
    return { ...recorded, end, mode, spec, creationBlocker, status, aws, rolesUsedElsewhere, environment };
  }

  private object(): AWSFargateProfile {
    const { accessEntryRenewedFor } = this.environment;
    const { provisionedIn, accessEntryDeletedOf } = this;
    const annotations = {
      ...(accessEntryRenewedFor !== undefined && { [ACCESS_ENTRY_RENEWED_ANNOTATION]: accessEntryRenewedFor }),
      ...(accessEntryDeletedOf !== undefined && { [ACCESS_ENTRY_DELETED_ANNOTATION]: accessEntryDeletedOf }),
      ...(provisionedIn !== undefined && { [PROVISIONED_IN_ANNOTATION]: provisionedIn }),
      ...(this.isDeletionMarked && { [DELETION_REQUESTED_ANNOTATION]: 'true' }),
      ...(this.replacement !== undefined && { [REPLACEMENT_ANNOTATION]: this.replacement }),
    };
    const parts = { metadata: { annotations }, spec: this.spec, status: this.status };
    return this.mode === 'live' ? anObject(parts) : aDeletedObject(parts);
  }

  private pass(number: number): SimulatedPass {
    if (this.mode === 'live') this.replacement = withMirrors(this.object())?.[REPLACEMENT_ANNOTATION];
    const object = this.object();
    const controlPlaneFacts = {
      ...CONTROL_PLANE_FACTS,
      controlPlaneTags: this.environment.controlPlaneTags,
      privateSubnets: PRIVATE_SUBNETS,
      creationBlocker: this.controlPlane === 'notReady' ? NOT_READY : undefined,
    };
    const inputs = desiredInputs({
      controlPlaneFacts: this.mode === 'live' ? controlPlaneFacts : undefined,
      surplus: this.mode === 'retain' ? 'retain' : 'delete',
      isCreateUnconfirmed: this.retryStore.isCreateUnconfirmed(object),
      now: this.now,
    });
    const wish = desiredFor(object, inputs);
    return isRight(wish)
      ? this.passTowards(inputs, candidateProfiles(object, wish.right), object, number)
      : this.endPass(wish.left);
  }

  private passTowards(
    inputs: DesiredInputs,
    names: Desired['names']['profiles'],
    object: AWSFargateProfile,
    number: number,
  ): SimulatedPass {
    const read = (profiles: readonly string[]) =>
      this.aws.observe({ profiles, roles: [] }, { forBlockers: () => false });
    const { cluster, profiles: named } = read(names);
    this.retryStore.recordObservation(object, { profiles: named });
    const known = { ...inputs, isCreateUnconfirmed: this.retryStore.isCreateUnconfirmed(object) };
    const first = desiredFor(object, known, named);
    const search = isRight(first) ? searchFor(first.right, named) : undefined;
    const others = [...this.aws.profiles.keys()].map((name) => ProfileName.of(name));
    const found = read(others.filter((name) => !names.includes(name) && search?.(name) === true)).profiles;
    const profiles = [
      ...named,
      ...found.filter((each) => each.found !== undefined && isRight(first) && isOfReplacement(first.right, each.found)),
    ];
    this.retryStore.recordObservation(object, { profiles });
    if (cluster === 'there' && this.mode === 'live') this.provisionedIn = HERE;
    const wanted = desiredFor(object, known, profiles);
    if (!isRight(wanted)) return this.endPass(wanted.left);
    const desired = wanted.right;
    const areRolesRead = transitReason(desired, profiles) === undefined && !canReadRolesLater(desired, profiles);
    const roles = areRolesRead
      ? this.aws.observe(desired.names, { forBlockers: isUnwantedRoleOf(desired) }).roles
      : desired.names.roles.map((name) => ({ name, found: 'unread' as const }));
    const accessEntries = entriesToRead(desired, { cluster, profiles, roles }).map((arn) => this.readAccessEntry(arn));
    const observed = { cluster, profiles, roles, accessEntries };
    const facts = { desired, observed, plan: plan(desired, observed) };
    this.plans.push(facts);
    return this.makeChanges(number, facts);
  }

  private newRetryStore(): RetryStore {
    return new RetryStore({ monotonic: () => this.now });
  }

  private makeChanges(number: number, facts: AwsFacts): SimulatedPass {
    const { desired, observed } = facts;
    const execution: Execution = { end: facts.plan.end, steps: [], notices: [], kept: [] };
    const { steps } = execution;
    for (const { mutation, trailing } of facts.plan.changes) {
      const usedRole = this.roleUsedElsewhere(mutation);
      if (usedRole !== undefined) {
        execution.kept.push({ name: usedRole, usedBy: 'AWSFargateProfile team-a/other' });
        const isWanted = desired.wanted?.role.name.toLowerCase() === usedRole.toLowerCase();
        if (!isWanted) continue;
        const conflict = newReason('RoleSettingsConflict', { name: usedRole, settings: ['rolePath'] });
        return this.endPass(conflict, facts, execution);
      }
      const outcome = this.mutate(number, desired, observed, mutation);
      if (outcome === 'crash') {
        this.retryStore = this.newRetryStore();
        return { end: undefined, steps };
      }
      steps.push({ mutation, outcome });
      if (mutation.kind === 'createProfile') {
        const object = this.object();
        this.retryStore.update(object, (state) => withCreateOutcome(state, { object, desired }, outcome));
      }
      if (outcome.kind === 'done' || outcome.kind === 'gone') continue;
      if (outcome.kind === 'clusterGone') return { end: undefined, steps };
      if (outcome.kind === 'failed' && isNotDispatched(outcome.failure)) return { end: undefined, steps };
      if (trailing !== true) return this.endPass(reasonFor(outcome), facts, execution);
      execution.notices.push(reasonFor(outcome));
      return this.endPass('inOrder', facts, execution);
    }
    const { end } = facts.plan;
    return end !== 'inOrder' && isSilent(end) ? { end: undefined, steps } : this.endPass(end, facts, execution);
  }

  private readAccessEntry(principal: RoleArn): ObservedAccessEntry {
    const { authenticationMode: mode } = this.aws;
    const lookup = mode === 'CONFIG_MAP' ? undefined : this.aws.describeAccessEntry(principal);
    return { principal, mode, found: lookup?.kind === 'found' ? lookup.entry : undefined };
  }

  /**
   * Returns the role that the change deletes or prepares for deletion, if another AWSFargateProfile uses the role;
   * otherwise `undefined`.
   */
  private roleUsedElsewhere(mutation: Mutation): RoleName | undefined {
    const { rolesUsedElsewhere } = this.environment;
    return isRoleRemoval(mutation) && rolesUsedElsewhere.includes(mutation.name.toLowerCase())
      ? mutation.name
      : undefined;
  }

  private mutate(pass: number, desired: Desired, observed: Observed, mutation: Mutation): MutationOutcome | 'crash' {
    if (this.mode !== 'live' && isDestructive(mutation)) {
      this.provisionedIn = HERE;
      this.isDeletionMarked = true;
    }
    if (mutation.kind === 'deleteAccessEntry' && mutation.because !== 'roleDeletion') {
      this.accessEntryDeletedOf = mutation.principal;
    }
    this.status = writeAheadStatus(this.object(), TARGET, { desired, observed }, mutation, this.now);
    const awsBefore = this.aws.snapshot();
    const fault = this.faults.shift() ?? 'none';
    const code = fault === 'requestLost' ? 'NoAnswer' : fault === 'notSent' ? 'NotDispatched' : undefined;
    const outcome: MutationOutcome =
      code === undefined ? this.aws.act(mutation) : { kind: 'failed', failure: failureWith(code) };
    const { mode, spec, status } = this;
    const creationBlocker = this.controlPlane === 'notReady';
    const context = { spec, mode, creationBlocker, status, desired, observed, awsBefore };
    this.mutations.push({ pass, mutation, outcome, fault, ...context });
    if (outcome.kind === 'done') this.recordCreation(mutation, fault);
    if (fault === 'crash') return 'crash';
    return fault === 'answerLost' ? { kind: 'failed', failure: failureWith('NoAnswer') } : outcome;
  }

  private recordCreation(mutation: Mutation, fault: Fault): void {
    if (mutation.kind === 'createRole') this.created.roles.add(mutation.role.name.toLowerCase());
    if (mutation.kind !== 'createProfile') return;
    this.created.profiles.add(mutation.profile.name);
    const profile = this.aws.profiles.get(mutation.profile.name);
    // EKS has created the profile, but the controller got no answer. EKS then does not show the new profile for two
    // steps of the simulation, which is less than a minute.
    if (fault !== 'none' && profile !== undefined) profile.hidden = 2;
  }

  private endPass(end: PassEnd, facts?: AwsFacts, execution?: Execution): SimulatedPass {
    if (end === 'inOrder') this.retryStore.update(this.object(), (state) => withSuccess(state));
    const pass = { object: this.object(), end, now: this.now, waited: 0, attempts: 0 };
    this.status = statusAfter({ ...pass, ...(facts && { facts }), ...(execution && { execution }) });
    this.statuses.push({ facts, steps: execution?.steps ?? [], status: this.status });
    return { end, steps: execution?.steps ?? [] };
  }

  private applyEvent(event: ExternalEvent): void {
    switch (event.kind) {
      case 'deletion':
        if (this.mode === 'live') this.mode = event.policy;
        break;
      case 'specChange':
        this.spec = this.acceptedSpec(event.spec);
        break;
      case 'controlPlane':
        this.controlPlane = event.state;
        break;
      case 'statusLost':
        this.status = {};
        break;
      case 'statusWritten':
        this.status = { ...this.status, tagKeys: event.tagKeys, role: { ...this.status.role, ...event.role } };
        break;
      default:
        applyAwsEvent(event, this.aws);
    }
  }

  /**
   * Returns the spec that the API server stores after an update by a user. On a provisioned AWSFargateProfile the
   * immutable fields keep their values, as the validation rules of the CRD demand.
   */
  private acceptedSpec(spec: AWSFargateProfileSpec): AWSFargateProfileSpec {
    if (this.status.initialization?.provisioned !== true || spec.updateStrategy?.type === 'Replace') return spec;
    const { additionalTags, roleAdditionalPolicies, adoptionPolicy } = spec;
    const { additionalTags: _tags, roleAdditionalPolicies: _policies, adoptionPolicy: _adoption, ...fixed } = this.spec;
    return {
      ...fixed,
      ...(additionalTags && { additionalTags }),
      ...(roleAdditionalPolicies && fixed.roleARN === undefined && { roleAdditionalPolicies }),
      ...(adoptionPolicy && { adoptionPolicy }),
    };
  }
}

/**
 * Returns a function that tells whether the spec asks for a role with another name or path than the given role. The
 * controller would delete such a role, and therefore also reads what blocks its deletion.
 */
const isUnwantedRoleOf =
  ({ wanted }: Desired) =>
  ({ name, path }: SimulatedRole): boolean =>
    wanted?.role.name !== name || (wanted.role.kind === 'managed' && wanted.role.path !== path);

function failureWith(code: string): AwsFailure {
  const { statusCode: _none, ...failure } = aFailure({ code });
  return failure;
}

function reasonFor(outcome: Exclude<MutationOutcome, { kind: 'done' | 'gone' | 'clusterGone' }>): Reason {
  switch (outcome.kind) {
    case 'nameTaken':
    case 'notVisible':
    case 'outdated':
    case 'roleRejected':
      return newReason('Propagating', { detail: 'it takes a while' });
    case 'siblingBusy':
      return newReason('WaitingForSibling', { ahead: outcome.by, doing: outcome.doing, isUnverified: true });
    case 'clusterUpdating':
      return newReason('ClusterUpdating', { cluster: TARGET.eksCluster, said: 'no', remaining: 1_000 });
    case 'failed':
      return newReason('AWSError', { detail: outcome.failure.message });
  }
}
