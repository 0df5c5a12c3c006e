import { isLeft } from 'fp-ts/lib/Either.js';
import { type Registry, Counter, Histogram } from 'prom-client';
import type { Change, Store, TypedEntry, TypedStore } from 'controller-runtime/cache';
import type { Eviction } from 'controller-runtime/client';
import type { Leadership } from 'controller-runtime/election';
import { type Ms, parseTimestamp } from 'controller-runtime/env';
import { fieldAt, textAt } from 'controller-runtime/json';
import { registerCollected } from 'controller-runtime/metrics';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { OVERLAP_REASONS } from '../../../pkg/fargate/overlap.ts';
import { isDeleting, rawConditions } from '../../shared/object-state.ts';
import { REASONS } from '../reasons/reasons.ts';
import { conditionOf } from './condition-list.ts';

/** If several phases apply, the first is reported. */
export const PROFILE_PHASES = ['Invalid', 'Paused', 'Stalled', 'Deleting', 'Ready', 'Reconciling', 'Unknown'] as const;
export type ProfilePhase = (typeof PROFILE_PHASES)[number];

interface PhaseLabels {
  readonly phase: ProfilePhase;
  readonly reason: string;
}

/** From half a minute (creating one Fargate profile) to eight hours (an object that waits for its cluster). */
const READY_BUCKETS_SECONDS = [30, 60, 90, 120, 180, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800];

/**
 * `creating` lasts until the successor is ACTIVE. `keeping`, `draining`, then `removing` last until the predecessors
 * and their roles are gone.
 */
const REPLACEMENT_STEPS = ['creating', 'keeping', 'draining', 'removing'];
const STEP_OF_REASON = new Map([
  ['PredecessorKept', 'keeping'],
  ['Draining', 'draining'],
  ['RemovingPredecessor', 'removing'],
]);
const EVICTION_RESULTS: readonly Eviction['kind'][] = ['accepted', 'gone', 'refused'];

export interface ProfileMetricsSource {
  readonly store: Pick<Store, 'onChange'>;
  readonly profiles: Pick<TypedStore<AWSFargateProfile>, 'list'>;
  /** Only the leader exports, so that a sum over all replicas counts each object once. */
  readonly leadership: Leadership;
}

export interface ProfileMetrics {
  watch(source: ProfileMetricsSource): void;
  /** Counts a workload cluster's answer to the eviction of a pod. */
  recordEviction(answer: Eviction['kind']): void;
}

export function profileMetrics(registry: Registry): ProfileMetrics {
  const sources: ProfileMetricsSource[] = [];
  const profiles = {
    name: 'capaf_awsfargateprofiles',
    help: 'Number of AWSFargateProfiles, by phase and by the reason of the condition after which the phase is named. Only the leader reports.',
    labelNames: ['phase', 'reason'],
  };
  registerCollected(registry, profiles, (gauge) => {
    gauge.reset();
    for (const { decoded } of sources.flatMap(entriesIn))
      gauge.inc({ ...(isLeft(decoded) ? { phase: 'Invalid', reason: 'InvalidObject' } : phaseOf(decoded.right)) });
  });
  const count = (
    labelName: string,
    labelsIn: (object: AWSFargateProfile) => readonly string[],
    { labels, ...metric }: { readonly name: string; readonly help: string; readonly labels: readonly string[] },
  ): void =>
    registerCollected(registry, { ...metric, labelNames: [labelName] }, (gauge) => {
      gauge.reset();
      for (const label of labels) gauge.set({ [labelName]: label }, 0);
      for (const { decoded } of sources.flatMap(entriesIn))
        for (const label of isLeft(decoded) ? [] : labelsIn(decoded.right)) gauge.inc({ [labelName]: label });
    });
  count('reason', overlapsOf, {
    name: 'capaf_awsfargateprofiles_overlapping',
    help: 'Number of AWSFargateProfiles whose SelectorsOverlap condition is True, by its reason. Only the leader reports.',
    labels: OVERLAP_REASONS,
  });
  count('step', replacementsOf, {
    name: 'capaf_awsfargateprofiles_replacing',
    help: 'Number of AWSFargateProfiles whose Fargate profile is being replaced, by step. Only the leader reports.',
    labels: REPLACEMENT_STEPS,
  });
  const timeToReady = new Histogram({
    name: 'capaf_awsfargateprofile_time_to_ready_seconds',
    help: 'Time from the creation of an AWSFargateProfile until it is first Ready, in seconds. Only the leader reports.',
    buckets: READY_BUCKETS_SECONDS,
    registers: [registry],
  });
  const evictions = new Counter({
    name: 'capaf_pod_evictions_total',
    help: "Requests to evict a pod before its Fargate profile is deleted, by the workload cluster's response: accepted, gone (the pod no longer exists), or refused (usually by a PodDisruptionBudget).",
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of EVICTION_RESULTS) evictions.inc({ result }, 0);
  return {
    recordEviction: (result) => evictions.inc({ result }),
    watch: (source) => {
      sources.push(source);
      source.store.onChange((change) => {
        const span = timeToFirstReady(change);
        if (source.leadership.remaining() <= 0) return;
        if (span !== undefined) timeToReady.observe(span / 1_000);
      });
    },
  };
}

function entriesIn({ profiles, leadership }: ProfileMetricsSource): readonly TypedEntry<AWSFargateProfile>[] {
  const listing = profiles.list();
  return leadership.remaining() <= 0 || listing.kind === 'unknown' ? [] : listing.entries;
}

function overlapsOf({ status }: AWSFargateProfile): readonly string[] {
  const overlap = conditionOf(status?.conditions, 'SelectorsOverlap');
  return overlap?.status === 'True' ? OVERLAP_REASONS.filter((reason) => reason === overlap.reason) : [];
}

function replacementsOf({ status = {} }: AWSFargateProfile): readonly string[] {
  if ((status.predecessors ?? []).length === 0 || status.initialization?.provisioned !== true) return [];
  const reason = conditionOf(status.conditions, 'Ready')?.reason;
  return [STEP_OF_REASON.get(reason ?? '') ?? 'creating'];
}

export function phaseOf(object: AWSFargateProfile): PhaseLabels {
  const conditions = object.status?.conditions;
  const [paused, stalled, deleting, ready, reconciling] = (
    ['Paused', 'Stalled', 'Deleting', 'Ready', 'Reconciling'] as const
  ).map((type) => conditionOf(conditions, type));
  const labels = (phase: ProfilePhase, reason: string = phase): PhaseLabels => ({
    phase,
    reason: boundedReason(reason),
  });
  if (paused?.status === 'True') return labels('Paused');
  if (stalled?.status === 'True') return labels('Stalled', stalled.reason);
  if (isDeleting(object)) return labels('Deleting', deleting?.reason);
  if (ready?.status === 'True') return labels('Ready');
  if (reconciling?.status === 'True') return labels('Reconciling', reconciling.reason);
  return labels('Unknown', ready?.reason);
}

/** Another client can write any reason, and each label value needs memory, so unknown reasons become `Other`. */
const boundedReason = (reason: string): string =>
  Object.hasOwn(REASONS, reason) || PROFILE_PHASES.some((phase) => phase === reason) || reason === 'InvalidObject'
    ? reason
    : 'Other';

/** Returns ms, or `undefined` unless this change makes the object Ready for the first time. */
function timeToFirstReady(change: Change): number | undefined {
  if (change.type !== 'updated' || isProvisioned(change.previous['status']) || !isProvisioned(change.object['status']))
    return undefined;
  const readySince = parseTimestamp(lastTransitionOf(change.object['status'], 'Ready') ?? '');
  const createdAt = parseTimestamp(change.object.metadata.creationTimestamp ?? '');
  return readySince === undefined || createdAt === undefined ? undefined : Math.max(0, readySince - createdAt);
}

const isProvisioned = (status: unknown): boolean => fieldAt(fieldAt(status, 'initialization'), 'provisioned') === true;

function lastTransitionOf(status: unknown, type: string): string | undefined {
  const found = rawConditions(status).find((condition) => fieldAt(condition, 'type') === type);
  return textAt(found, 'lastTransitionTime');
}

/** Up to eight hours, because EKS takes some minutes for each change that comes before the object's. */
const WAIT_BUCKETS_SECONDS = [1, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 14_400, 28_800];

export interface ClusterQueueMetrics {
  recordWait(span: Ms): void;
  watchWaiting(count: () => number): void;
}

export function clusterQueueMetrics(registry: Registry): ClusterQueueMetrics {
  const waits = new Histogram({
    name: 'capaf_cluster_queue_wait_seconds',
    help: 'Time that a profile waited before it could start its change in EKS, in seconds. EKS changes one profile per cluster at a time.',
    buckets: WAIT_BUCKETS_SECONDS,
    registers: [registry],
  });
  const counts: (() => number)[] = [];
  const waiting = {
    name: 'capaf_cluster_queue_waiting',
    help: 'Number of profiles that wait until EKS can change them.',
  };
  registerCollected(registry, waiting, (gauge) => gauge.set(counts.reduce((sum, count) => sum + count(), 0)));
  return {
    recordWait: (span) => waits.observe(span / 1_000),
    watchWaiting: (count) => counts.push(count),
  };
}
