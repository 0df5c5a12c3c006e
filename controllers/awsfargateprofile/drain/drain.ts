import type { Eviction } from 'controller-runtime/client';
import { type Ms, parseTimestamp } from 'controller-runtime/env';
import type { ObjectMeta } from 'controller-runtime/schema';
import { cut } from 'controller-runtime/text';
import { ownerOf } from '../../../pkg/fargate/fargate-pods.ts';
import { findMismatch } from '../../../pkg/fargate/selectors.ts';
import type { ProfileName } from '../../../api/names.ts';
import type { Competitor } from '../../../pkg/fargate/overlap.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Drained, Mutation } from '../model/change.ts';
import { type Observed, findProfile } from '../model/observed-state.ts';
import { activeSince, drainObstacle } from '../plan/replace.ts';
import { type DrainObstacle, type Reason, newReason } from '../reasons/reasons.ts';
import { entryOf } from '../../shared/record.ts';
import type { ServerProblem } from '../../shared/workload-server.ts';

/** A drain moves a predecessor's pods to the profile that replaces it, before the predecessor is deleted. */
export interface Drain {
  readonly predecessor: ProfileName;
  readonly successor: Competitor;
  /** When the drain began: AWS's time in ms since 1970, like `until`. Pods that were created later are not moved. */
  readonly since: Ms;
  readonly until: Ms;
  /** Why pods cannot be moved. */
  readonly obstacle?: DrainObstacle;
}

/** Returns `undefined` if the mutation needs no drain before it. */
export function drainBefore(mutation: Mutation, desired: Desired, observed: Observed): Drain | undefined {
  const { profile, drainTimeout, record, now } = desired;
  if (mutation.kind !== 'deleteProfile' || mutation.because !== 'replaced' || drainTimeout === 0) return undefined;
  const found = findProfile(observed.profiles, mutation.name);
  const successor = profile && findProfile(observed.profiles, profile.name);
  if (found === undefined || successor === undefined) return undefined;
  const recorded = entryOf(record, found)?.drainSince;
  // If a drain began before the successor was ACTIVE, it moved pods to a different profile, and a new drain begins. A
  // time in the future comes from a wrong clock, and counts as now.
  const since = recorded === undefined || recorded < activeSince(desired, successor) ? now : Math.min(recorded, now);
  const obstacle = drainObstacle(mutation.name, successor.name);
  return {
    predecessor: mutation.name,
    successor: { name: successor.name, selectors: successor.selectors },
    since,
    until: since + drainTimeout,
    ...(obstacle !== undefined && { obstacle }),
  };
}

/** What a drain knows about a pod on the predecessor. */
export interface DrainPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /**
   * Whether an eviction moves the pod: the pod is older than the drain, a controller other than a Job recreates it, and
   * the new profile matches it.
   */
  readonly movable: boolean;
  /** The end of the pod's grace period. Set only for a terminating pod. */
  readonly terminatesAt?: Ms;
}

export type DrainStep =
  /** The predecessor may be deleted. */
  | { readonly kind: 'over'; readonly drained: Drained }
  | {
      readonly kind: 'wait';
      /** Sorted by namespace and name. */
      readonly evict: readonly DrainPod[];
      /** `total` counts the pods on the predecessor, and `left` those still to be moved. `undefined` if unknown. */
      readonly counts?: { readonly total: number; readonly left: number };
    };

/** The maximum length of a pod or namespace name in Kubernetes. */
const MAX_NAME = 253;
/** A pod that still exists this long after the end of its grace period is stuck. */
const PATIENCE: Ms = 60_000;
/** How many pods the message names when the drain ends. */
const NAMED = 3;

/**
 * `creationTimestamp` contains whole seconds, so a pod that was created in the second in which the drain began counts
 * as newer than the drain.
 */
export function toDrainPod(metadata: ObjectMeta, { since, successor }: Drain): DrainPod {
  const { name, namespace = '', uid, labels = {}, creationTimestamp = '', deletionTimestamp = '' } = metadata;
  const owner = ownerOf({ metadata });
  const createdAt = parseTimestamp(creationTimestamp);
  const isOld = createdAt !== undefined && createdAt < Math.floor(since / 1_000) * 1_000;
  const isTaken = successor.selectors.some((each) => findMismatch(each, { namespace, labels }) === undefined);
  const terminatesAt = parseTimestamp(deletionTimestamp);
  return {
    namespace: cut(namespace, MAX_NAME),
    name: cut(name, MAX_NAME),
    uid,
    movable: isOld && isTaken && owner !== null && owner.kind !== 'Job',
    ...(terminatesAt !== undefined && { terminatesAt }),
  };
}

/** `found` contains all pods on the predecessor, or the problem that prevents listing them. */
export function nextStep(drain: Drain, found: readonly DrainPod[] | ServerProblem, now: Ms): DrainStep {
  const { obstacle, successor, until } = drain;
  const over = (because: Drained['because'], rest: Partial<Drained>): DrainStep => ({
    kind: 'over',
    drained: { because, successor: successor.name, ...rest },
  });
  // Without a label that identifies the pods, they cannot be listed.
  if (obstacle === 'noLabel') return over(obstacle, {});
  const isLate = now >= until;
  if ('problem' in found) {
    const { problem } = found;
    if (obstacle !== undefined || isLate) return over(obstacle ?? 'timeout', { problem });
    return { kind: 'wait', evict: [] };
  }
  const pods = found.toSorted(byName);
  const isStuck = ({ terminatesAt }: DrainPod): boolean => terminatesAt !== undefined && terminatesAt + PATIENCE < now;
  const left = obstacle === undefined ? pods.filter((pod) => pod.movable && !isStuck(pod)) : [];
  if (left.length > 0 && !isLate) {
    const evict = left.filter(({ terminatesAt }) => terminatesAt === undefined);
    return { kind: 'wait', evict, counts: { total: pods.length, left: left.length } };
  }
  const names = [...left, ...pods.filter((pod) => !left.includes(pod))].slice(0, NAMED).map(textOf);
  const stopped = { count: pods.length, unmoved: left.length, names };
  return over(obstacle ?? (left.length > 0 ? 'timeout' : 'moved'), { stopped });
}

export function drainingReason(
  { predecessor, successor, since, until }: Drain,
  { counts }: Extract<DrainStep, { kind: 'wait' }>,
  asked: readonly (readonly [pod: DrainPod, answer: Eviction])[],
  {
    now,
    problem,
    begins,
  }: { readonly now: Ms; readonly problem?: ServerProblem | undefined; readonly begins: boolean },
): Reason<'Draining'> {
  const refused = asked.flatMap(([pod, answer]) =>
    answer.kind === 'refused' ? [{ pod: textOf(pod), said: answer.said }] : [],
  );
  const [first] = refused;
  return newReason('Draining', {
    name: successor.name,
    predecessor,
    since,
    until,
    remaining: until - now,
    ...(counts !== undefined && { counts }),
    ...(first !== undefined && { refused: { ...first, others: refused.length - 1 } }),
    ...(problem !== undefined && { problem }),
    ...(begins && { begins }),
  });
}

const textOf = ({ namespace, name }: DrainPod): string => `${namespace}/${name}`;

const byName = (a: DrainPod, b: DrainPod): number => (keyOf(a) < keyOf(b) ? -1 : 1);
/** The separator sorts before each character of a name. */
const keyOf = ({ namespace, name }: DrainPod): string => `${namespace}\u0000${name}`;
