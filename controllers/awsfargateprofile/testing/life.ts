import { isRight } from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import {
  ACCESS_ENTRY_RENEWED_ANNOTATION,
  DELETION_REQUESTED_ANNOTATION,
  PROVISIONED_IN_ANNOTATION,
} from '../../../api/v1beta2/index.ts';
import { isNotDispatched } from '../../../pkg/cloud/errors.ts';
import type { AwsFailure } from '../../../pkg/cloud/failure.ts';
import { apply, keepRole } from '../apply.ts';
import { foundRoles, isMadeAnew } from '../comparison.ts';
import { areRolesForLater, decide, transitOf } from '../decide.ts';
import { desiredBy, withRoleInUse } from '../desired.ts';
import { Memories } from '../memories.ts';
import { rememberCreate, rememberSuccess } from '../memory.ts';
import type { Decision, Desired, Mutation, Observed, Outcome, Step } from '../model.ts';
import { isDestructive } from '../model.ts';
import type { Why } from '../reasons.ts';
import { why } from '../reasons.ts';
import { recordBefore } from '../record.ts';
import type { End, Seen } from '../pass.ts';
import { statusOf } from '../report.ts';
import { NOW, SURROUNDINGS, TARGET, aDeletedObject, aFailure, anObject, circumstances } from './builders.ts';
import type { Spec } from './oracle.ts';
import type { SimulatedAws, SimulatedProfile, SimulatedRole } from './simulated-aws.ts';
import type { Fault, Happening, World } from './worlds.ts';
import { HERE, PRIVATE_SUBNETS, awsOf } from './worlds.ts';

/** What there was in AWS at one moment. */
export interface Snapshot {
  readonly cluster: 'there' | 'gone';
  readonly profiles: ReadonlyMap<string, SimulatedProfile>;
  readonly roles: ReadonlyMap<string, SimulatedRole>;
}

/** One change that was asked of AWS, and all that was known around it. */
export interface Deed {
  readonly pass: number;
  readonly mutation: Mutation;
  readonly outcome: Outcome;
  /** What became of the answer on its way. */
  readonly fault: Fault;
  readonly spec: Spec;
  readonly mode: 'live' | 'delete' | 'retain';
  readonly noCreation: boolean;
  /** As it stood when the change was decided. */
  readonly status: AWSFargateProfileStatus;
  readonly desired: Desired;
  readonly observed: Observed;
  /** AWS right before the change. */
  readonly before: Snapshot;
}

/** What a decision was taken on. */
export interface Judgement {
  readonly desired: Desired;
  readonly observed: Observed;
  readonly decision: Decision;
}

export interface Report {
  readonly observed: Seen | undefined;
  readonly status: AWSFargateProfileStatus;
}

export interface Life {
  readonly deeds: readonly Deed[];
  readonly judgements: readonly Judgement[];
  /** Each pass that came to report: what it had seen of AWS, if it had looked, and what it wrote. */
  readonly reports: readonly Report[];
  /** After one more pass, a while later, in which there was nothing to do. */
  readonly statusAgain: AWSFargateProfileStatus;
  /** Names of what this life itself made in AWS; roles in lower case. */
  readonly made: { readonly profiles: ReadonlySet<string>; readonly roles: ReadonlySet<string> };
  /** How the last pass ended, with nothing left that would still change; or that this never came about. */
  readonly end: End | { readonly kind: 'endless'; readonly trail: readonly Step[] };
  readonly mode: 'live' | 'delete' | 'retain';
  readonly spec: Spec;
  readonly noCreation: boolean;
  readonly status: AWSFargateProfileStatus;
  readonly aws: SimulatedAws;
  readonly usedElsewhere: readonly string[];
  readonly world: World;
}

const MOST_PASSES = 60;
const MOST_STEPS = 24;
/** From pass to pass. */
const PACE = 20_000;
const NOT_READY = why('WaitingForEKSControlPlane', { words: 'the control plane is not ready yet' });

/** Lives through a world: pass after pass over the object, until nothing changes any more. */
export function live(world: World): Life {
  return new Living(world).toTheEnd();
}

/** No answer has a status. */
function failureWith(code: string): AwsFailure {
  const { statusCode: _none, ...failure } = aFailure({ code });
  return failure;
}

class Living {
  private readonly world: World;
  private readonly aws: SimulatedAws;
  private readonly faults: Fault[];
  private spec: Spec;
  private mode: 'live' | 'delete' | 'retain' = 'live';
  private controlPlane: World['controlPlane'];
  private status: AWSFargateProfileStatus;
  private provisionedIn: string | undefined;
  private isDeletionMarked = false;
  private now = NOW;
  private memories = this.noMemories();
  private readonly deeds: Deed[] = [];
  private readonly judgements: Judgement[] = [];
  private readonly reports: Report[] = [];
  private readonly made = { profiles: new Set<string>(), roles: new Set<string>() };

  constructor(world: World) {
    this.world = world;
    this.aws = awsOf(world);
    this.faults = [...world.faults];
    this.spec = world.spec;
    this.controlPlane = world.controlPlane;
    this.status = world.status;
    this.provisionedIn = world.provisionedIn;
  }

  toTheEnd(): Life {
    let end: End | undefined;
    let trail: readonly Step[] = [];
    for (let pass = 0; pass < MOST_PASSES; pass++) {
      for (const happening of this.world.happenings.filter(({ before }) => before === pass)) this.happen(happening);
      const [deedsBefore, faultsBefore] = [this.deeds.length, this.faults.length];
      ({ end, trail } = this.pass(pass));
      const isOver =
        this.deeds.slice(deedsBefore).every(({ outcome }) => outcome.kind === 'failed') &&
        this.faults.length === faultsBefore &&
        !this.aws.isMoving &&
        end !== undefined &&
        this.world.happenings.every(({ before }) => before <= pass) &&
        !(end.kind === 'stopped' && end.why.reason === 'Propagating');
      const isReleased = this.mode !== 'live' && end?.kind === 'settled';
      if (isOver || isReleased) return this.lifeOf(end ?? { kind: 'endless', trail });
      this.aws.tick();
      this.now += PACE;
    }
    return this.lifeOf({ kind: 'endless', trail });
  }

  private lifeOf(end: Life['end']): Life {
    const { deeds, judgements, made, mode, spec, status, aws, world } = this;
    const { usedElsewhere } = world;
    const noCreation = this.controlPlane === 'notReady';
    const reports = [...this.reports];
    this.now += PACE;
    const isReleased = mode !== 'live' && end.kind === 'settled';
    if (!isReleased) this.pass(MOST_PASSES);
    const statusAgain = this.status;
    const told = { deeds, judgements, reports, statusAgain, made };
    return { ...told, end, mode, spec, noCreation, status, aws, usedElsewhere, world };
  }

  private object(): AWSFargateProfile {
    const { renewedFor } = this.world;
    const { provisionedIn } = this;
    const annotations = {
      ...(renewedFor !== undefined && { [ACCESS_ENTRY_RENEWED_ANNOTATION]: renewedFor }),
      ...(provisionedIn !== undefined && { [PROVISIONED_IN_ANNOTATION]: provisionedIn }),
      ...(this.isDeletionMarked && { [DELETION_REQUESTED_ANNOTATION]: 'true' }),
    };
    const parts = { metadata: { annotations }, spec: this.spec, status: this.status };
    return this.mode === 'live' ? anObject(parts) : aDeletedObject(parts);
  }

  private pass(number: number): { readonly end: End | undefined; readonly trail: readonly Step[] } {
    const object = this.object();
    const surroundings = {
      ...SURROUNDINGS,
      controlPlaneTags: this.world.controlPlaneTags,
      privateSubnets: PRIVATE_SUBNETS,
      noCreation: this.controlPlane === 'notReady' ? NOT_READY : undefined,
    };
    const wish = desiredBy(
      object,
      circumstances({
        surroundings: this.mode === 'live' ? surroundings : undefined,
        surplus: this.mode === 'retain' ? 'retain' : 'delete',
        createUnseen: this.memories.isCreateUnseen(object),
      }),
    );
    if (!isRight(wish)) return this.conclude({ kind: 'stopped', why: wish.left }, []);
    const profiles = this.aws.observe({ profiles: wish.right.names.profiles, roles: [] }, { forBlockers: () => false });
    this.memories.noteSeen(object, profiles);
    if (profiles.cluster === 'there' && this.mode === 'live') this.provisionedIn = HERE;
    const transit = transitOf(wish.right, profiles.profiles);
    if (transit !== undefined) {
      return this.conclude({ kind: 'stopped', why: transit }, [], wish.right, {
        cluster: profiles.cluster,
        profiles: profiles.profiles,
      });
    }
    const desired = withRoleInUse(wish.right, profiles.profiles);
    if (areRolesForLater(desired, profiles.profiles)) {
      const roles = desired.names.roles.map((name) => ({ name, found: 'unread' as const }));
      return this.steps(number, desired, { ...profiles, roles });
    }
    const seen = this.aws.observe(desired.names, { forBlockers: isToGo(desired) });
    const isAsked = foundRoles(seen.roles).some((found) => isMadeAnew(desired, found));
    const observed =
      isAsked && desired.wanted !== undefined ? { ...seen, authenticationMode: this.aws.authenticationMode } : seen;
    return this.steps(number, desired, observed);
  }

  private noMemories(): Memories {
    return new Memories({ monotonic: () => this.now });
  }

  private steps(number: number, desired: Desired, first: Observed): ReturnType<Living['pass']> {
    const trail: Step[] = [];
    let observed = first;
    for (let step = 0; step < MOST_STEPS; step++) {
      const decision = decide(desired, observed);
      this.judgements.push({ desired, observed, decision });
      if (decision.kind === 'settled') return this.conclude(decision, trail, desired, observed);
      if (decision.kind === 'stop') {
        return this.conclude({ kind: 'stopped', why: decision.why }, trail, desired, observed);
      }
      if (decision.kind === 'lookAgain') return { end: undefined, trail };
      const { mutation } = decision;
      const kept = this.keeperOf(mutation);
      if (kept !== undefined) {
        observed = keepRole(observed, kept, 'AWSFargateProfile team-a/other');
        continue;
      }
      const outcome = this.act(number, desired, observed, mutation);
      if (outcome === 'crash') {
        this.memories = this.noMemories();
        return { end: undefined, trail };
      }
      trail.push({ mutation, outcome });
      if (mutation.kind === 'createProfile') {
        const object = this.object();
        this.memories.keep(object, rememberCreate(this.memories.of(object), { object, desired }, outcome));
      }
      if (outcome.kind === 'done' || outcome.kind === 'vanished' || outcome.kind === 'clusterGone') {
        observed = apply(observed, mutation, outcome);
        continue;
      }
      if (outcome.kind === 'failed' && isNotDispatched(outcome.failure)) return { end: undefined, trail };
      return this.conclude({ kind: 'stopped', why: whyOf(outcome) }, trail, desired, observed);
    }
    return { end: undefined, trail };
  }

  /** The guard of roles that something else uses: asked right before a role is taken away. */
  private keeperOf(mutation: Mutation) {
    const isRetiring = mutation.kind === 'deleteRole' || (mutation.kind === 'detachPolicy' && mutation.retiring);
    return isRetiring && this.world.usedElsewhere.includes(mutation.name.toLowerCase()) ? mutation.name : undefined;
  }

  private act(pass: number, desired: Desired, observed: Observed, mutation: Mutation): Outcome | 'crash' {
    if (this.mode !== 'live' && isDestructive(mutation)) {
      this.provisionedIn = HERE;
      this.isDeletionMarked = true;
    }
    this.status = recordBefore(this.object(), TARGET, desired, mutation, this.now);
    const before = structuredClone({ cluster: this.aws.cluster, profiles: this.aws.profiles, roles: this.aws.roles });
    const fault = this.faults.shift() ?? 'none';
    const code = fault === 'unsent' ? 'NoAnswer' : fault === 'held' ? 'NotDispatched' : undefined;
    const outcome: Outcome =
      code === undefined ? this.aws.act(mutation) : { kind: 'failed', failure: failureWith(code) };
    const { mode, spec, status } = this;
    const noCreation = this.controlPlane === 'notReady';
    this.deeds.push({ pass, mutation, outcome, fault, spec, mode, noCreation, status, desired, observed, before });
    if (outcome.kind === 'done') this.remember(mutation, fault);
    if (fault === 'crash') return 'crash';
    return fault === 'lost' ? { kind: 'failed', failure: failureWith('NoAnswer') } : outcome;
  }

  private remember(mutation: Mutation, fault: Fault): void {
    if (mutation.kind === 'createRole') this.made.roles.add(mutation.role.name.toLowerCase());
    if (mutation.kind !== 'createProfile') return;
    this.made.profiles.add(mutation.profile.name);
    const profile = this.aws.profiles.get(mutation.profile.name);
    // EKS took it, and shows it within the minute that it may take.
    if (fault !== 'none' && profile !== undefined) profile.hidden = 2;
  }

  private conclude(
    end: End,
    trail: readonly Step[],
    desired?: Desired,
    observed?: Seen,
  ): { readonly end: End; readonly trail: readonly Step[] } {
    if (end.kind === 'settled') {
      this.memories.keep(this.object(), rememberSuccess(this.memories.of(this.object())));
    }
    this.status = statusOf({
      object: this.object(),
      end,
      ...(desired && { desired }),
      ...(observed && { observed }),
      trail,
      now: this.now,
      waited: 0,
      attempts: 0,
    });
    this.reports.push({ observed, status: this.status });
    return { end, trail };
  }

  private happen(happening: Happening): void {
    const { aws } = this;
    switch (happening.kind) {
      case 'deletion':
        if (this.mode === 'live') this.mode = happening.policy;
        break;
      case 'specChange':
        this.spec = this.accepted(happening.spec);
        break;
      case 'controlPlane':
        this.controlPlane = happening.state;
        break;
      case 'recordsLost':
        this.status = {};
        break;
      case 'profileMade':
        if (!aws.profiles.has(happening.profile.name) && aws.cluster === 'there') {
          aws.profiles.set(happening.profile.name, { ...happening.profile, status: 'ACTIVE', hidden: 0 });
        }
        break;
      case 'profileDeleted': {
        const profile = aws.profiles.get(happening.name);
        if (profile?.status === 'ACTIVE' && !aws.isMoving) profile.status = 'DELETING';
        break;
      }
      case 'profileTagged': {
        const profile = aws.profiles.get(happening.name);
        if (profile !== undefined) profile.tags = happening.tags;
        break;
      }
      case 'roleMade':
        if (!aws.roles.has(happening.role.name.toLowerCase())) {
          aws.roles.set(happening.role.name.toLowerCase(), { ...happening.role });
        }
        break;
      case 'roleDeleted':
        aws.roles.delete(happening.name.toLowerCase());
        break;
      case 'roleChanged': {
        const role = aws.roles.get(happening.name.toLowerCase());
        if (role !== undefined) Object.assign(role, happening.role);
        break;
      }
    }
  }

  /** What the API server's rules let through: a provisioned object keeps what EKS cannot change. */
  private accepted(spec: Spec): Spec {
    if (this.status.initialization?.provisioned !== true) return spec;
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

/** A role that is unwanted, or not where it is wanted: then what blocks its deletion counts. */
export const isToGo =
  ({ wanted }: Desired) =>
  ({ name, path }: SimulatedRole): boolean =>
    wanted?.role.name !== name || (wanted.role.kind === 'managed' && wanted.role.path !== path);

function whyOf(outcome: Exclude<Outcome, { kind: 'done' | 'vanished' | 'clusterGone' }>): Why {
  switch (outcome.kind) {
    case 'already':
    case 'notVisible':
    case 'outdated':
    case 'rolePropagating':
      return why('Propagating', { words: 'it takes a while' });
    case 'siblingBusy':
      return why('WaitingForSibling', { ahead: outcome.by, doing: outcome.doing, foreign: true });
    case 'clusterUpdating':
      return why('ClusterUpdating', { cluster: TARGET.eksCluster, remaining: 1_000 });
    case 'failed':
      return why('AWSError', { words: outcome.failure.message });
  }
}
