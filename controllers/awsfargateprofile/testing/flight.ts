import { ProfileName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { VirtualClock } from '../../../pkg/env/testing/virtual-clock.ts';
import { Turns } from '../../../pkg/runtime/turns.ts';
import { isDeleting } from '../../standing.ts';
import { areRolesForLater } from '../decide.ts';
import type { Circumstances } from '../desired.ts';
import { laneOf, ticketOf } from '../lane.ts';
import type { LiveReads } from '../live.ts';
import { BLANK } from '../memory.ts';
import type { Desired, Observed } from '../model.ts';
import type { Flight, GuardServices } from '../preflight.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  TARGET,
  TRUST,
  anObject,
  desiredOf,
} from './builders.ts';
import type { SimulatedProfile, SimulatedRole } from './simulated-aws.ts';
import { SimulatedAws } from './simulated-aws.ts';
import type { SimulatedSession } from './simulated-session.ts';
import { sessionOn } from './simulated-session.ts';

export const LANE = laneOf(ACCOUNT, TARGET.region, EKS_CLUSTER);

/** The object's own profile in the simulated AWS, ACTIVE as wanted. */
export const aSimulatedProfile = (over: Partial<SimulatedProfile> = {}): SimulatedProfile => ({
  name: PROFILE,
  status: 'ACTIVE',
  podExecutionRoleArn: ROLE_ARN,
  subnets: ['subnet-0a', 'subnet-0b'],
  selectors: [{ namespace: 'web', labels: {} }],
  tags: PROFILE_TAGS,
  hidden: 0,
  ...over,
});

/** The object's own role in the simulated AWS, as wanted. */
export const aSimulatedRole = (over: Partial<SimulatedRole> = {}): SimulatedRole => ({
  name: ROLE,
  path: '/',
  id: 'AROAEXAMPLE',
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
    if ('hidden' in part) aws.profiles.set(part.name, { ...part });
    else aws.roles.set(part.name.toLowerCase(), { ...part });
  }
  return aws;
}

/** What the guards ask of the world, each with the answer that lets a change go ahead. */
export interface TestServices extends GuardServices {
  readonly clock: VirtualClock;
  readonly live: { -readonly [K in keyof LiveReads]: LiveReads[K] };
  /** Ids that were woken, because their turn has come. */
  readonly woken: readonly string[];
}

export function services(over: Partial<GuardServices> = {}): TestServices {
  const clock = new VirtualClock();
  const woken: string[] = [];
  return {
    turns: new Turns({ clock, wake: (id) => woken.push(id) }),
    unseen: () => [],
    mutationBudget: () => 10_000,
    mark: async (object) => object,
    record: async (_mutation, { object }) => object,
    schema: { look: async () => ({ kind: 'ours' }) },
    ...over,
    live: { objectionTo: async () => undefined, otherUserOf: async () => undefined, ...over.live },
    clock,
    woken,
  };
}

/** A pass that has seen `aws`, and is about to change it. */
export function flightIn(
  aws: SimulatedAws,
  object: AWSFargateProfile = anObject(),
  over: Partial<Circumstances> = {},
): Flight & { readonly session: SimulatedSession } {
  const desired = desiredOf(object, { ...(isDeleting(object) && { surroundings: undefined }), ...over });
  return {
    object,
    memory: BLANK,
    observed: seenBy(desired, aws),
    target: TARGET,
    desired,
    session: sessionOn(aws),
    signal: new AbortController().signal,
    ticket: ticketOf(object, LANE, desired),
  };
}

/** As a look at AWS brings it. */
function seenBy(desired: Desired, aws: SimulatedAws): Observed {
  const whole = aws.observe(desired.names, { forBlockers: () => desired.wanted === undefined });
  return areRolesForLater(desired, whole.profiles) ? withoutRoles(whole) : whole;
}

/** Nobody has looked at the roles. */
export const withoutRoles = (observed: Observed): Observed => ({
  ...observed,
  roles: observed.roles.map(({ name }) => ({ name, found: 'unread' })),
});

/** Another object of the same cluster, as the lane knows it. */
export const siblingTicket = (name: string, createdAt = '2026-11-19T00:00:00Z') => ({
  lane: LANE,
  id: `team-a/${name}`,
  name: ProfileName.of(`team-a_${name}`),
  urgent: false,
  createdAt,
});

/** AWS with all that the object wants. */
export const full = () => awsWith(aSimulatedProfile(), aSimulatedRole());
