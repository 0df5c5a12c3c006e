import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Cluster } from '../../api/external/index.ts';
import {
  CLUSTER_KIND,
  CONTROL_PLANE_KIND,
  decodeAWSManagedControlPlane,
  decodeCluster,
  isAWSManagedControlPlane,
} from '../../api/external/index.ts';
import type { AWSFargateProfile, DecodeProblem } from '../../api/v1beta2/index.ts';
import { API_VERSION, KIND, decodeAWSFargateProfile, describeProblem } from '../../api/v1beta2/index.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import { isConflict, isNotFound } from '../../pkg/kube/errors.ts';
import type { EventRecorder, InvolvedObject } from '../../pkg/kube/events.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { Store } from '../../pkg/kube/store.ts';
import type { KubeClient, KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import type { Leadership, ReconcileContext, Requeue } from '../../pkg/runtime/types.ts';
import { BY_CLUSTER, BY_OWNER } from '../caches.ts';
import { Lasting } from '../lasting.ts';
import { deleteThis, listLive } from '../profiles.ts';
import type { Refusal } from '../refusals.ts';
import { matterOf, refusalIn } from '../refusals.ts';
import { carriesFinalizer } from '../standing.ts';
import { isTearingDown, profilesToDelete } from './cascade.ts';
import type { ServedSchema } from '../served-schema.ts';
import type { Guard } from '../guard.ts';
import { hasGuard } from '../guard.ts';

const DONE: Requeue = { kind: 'done' };
const FOREIGN: Requeue = { kind: 'after', delay: 15_000, why: 'the schema of AWSFargateProfiles is foreign' };
/** Somebody has to see to it; it is tried again now and then. */
const REFUSED: Requeue = { kind: 'after', delay: 15_000, why: 'the API server refuses what the teardown needs' };
const again = (why: string): Requeue => ({ kind: 'backoff', why });
const NOT_LEADING = again('the lease may have run out');

export interface TeardownOptions {
  readonly client: KubeClient;
  readonly profiles: Store;
  readonly clusters: Store;
  readonly controlPlanes: Store;
  readonly guard: Guard;
  readonly schema: Pick<ServedSchema, 'look'>;
  readonly leadership: Leadership;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
}

interface ControlPlanes {
  /** The one that the Cluster names; with the Cluster gone, one that says it belonged to it. */
  readonly main: KubeObject | undefined;
  /** Those that say they belong to the Cluster, which names another by now, or one of another kind. */
  readonly others: readonly KubeObject[];
}

/** One pass over one Cluster: deletes its profiles when it is torn down, and keeps the guard where it belongs. */
export class TeardownReconciler {
  private readonly options: TeardownOptions;
  /** The uids of the profiles whose deletion was told, by the Cluster's key, while there are any to delete. */
  private readonly told = new Map<string, Set<string>>();
  /** By control plane. */
  private readonly lasting: Lasting;

  constructor(options: TeardownOptions) {
    this.options = options;
    this.lasting = new Lasting(options.clock);
  }

  readonly reconcile = async (key: ObjectKey, context: ReconcileContext): Promise<Requeue> => {
    const { clusters, profiles, schema, leadership } = this.options;
    const listing = profiles.byIndex(BY_CLUSTER, keyText(key));
    const found = clusters.lookup(key);
    if (listing.kind === 'unknown' || found.kind === 'unknown') {
      return again('what the teardown reads is not listed yet');
    }
    const cluster = read(decodeCluster, found.kind === 'found' ? found.object : undefined);
    if (E.isLeft(cluster)) return cluster.left;
    const controlPlanes = this.controlPlanesOf(key, cluster.right);
    if (controlPlanes === undefined) return again('control planes are not listed yet');
    if (leadership.remaining() <= 0) return NOT_LEADING;

    const { main, others } = controlPlanes;
    const controlPlane = read(decodeAWSManagedControlPlane, main);
    if (E.isLeft(controlPlane)) return controlPlane.left;
    const situation = { cluster: cluster.right, controlPlane: controlPlane.right };
    // Each change of a profile comes by here: they are read only where they may have to go.
    const objects = isTearingDown(situation) ? listing.objects : [];
    const leaving = profilesToDelete(
      situation,
      objects.map(decodeAWSFargateProfile).flatMap((profile) => (E.isRight(profile) ? [profile.right] : [])),
    );
    // Under a foreign schema a profile that is to be retained may not look so.
    if (leaving.length > 0 && (await schema.look(context.signal)).kind === 'foreign') return FOREIGN;
    // Whose deletion it was: the control plane's where there is one.
    const cause =
      main === undefined ? `${CLUSTER_KIND} ${keyText(key)}` : `${CONTROL_PLANE_KIND} ${keyText(keyOf(main))}`;
    if (leaving.length === 0) this.told.delete(keyText(key));
    let next = DONE;
    for (const profile of leaving) {
      // A deletion cannot be taken back: none is asked for on what a leader of before knew.
      if (leadership.remaining() <= 0) return NOT_LEADING;
      const refusal = await refusalOf(() => this.delete(profile, cause, context));
      // One that cannot be deleted keeps no other.
      if (refusal !== undefined) next = this.refused(profile, refusal, context);
    }
    if (cluster.right?.paused === true) return next;
    const isNeeded = listing.objects.some(carriesFinalizer);
    // Nothing is created for the others: they keep what guard they have until the last profile is gone.
    for (const each of [...(main === undefined ? [] : [main]), ...(isNeeded ? [] : others)]) {
      const kept = await this.keepGuard(key, each, isNeeded, context);
      if (kept.kind !== 'done') return kept;
    }
    return next;
  };

  /** What the API server refuses is said on the object that it is about: nobody else may be there to say so. */
  private refused(
    { apiVersion, kind, metadata }: InvolvedObject,
    refusal: Refusal,
    { logger }: ReconcileContext,
  ): Requeue {
    logger.warn('The API server refuses what the teardown needs', {
      [kind]: keyOf({ metadata }),
      refusal: refusal.words,
    });
    const message = `${matterOf(refusal)}. ${refusal.cure}; it goes on by itself.`;
    this.options.recorder.record({ apiVersion, kind, metadata }, 'Warning', 'APIServerRefused', message);
    return REFUSED;
  }

  /** `undefined`: not known yet. */
  private controlPlanesOf(key: ObjectKey, cluster: Cluster | undefined): ControlPlanes | undefined {
    const { controlPlanes } = this.options;
    const owned = controlPlanes.byIndex(BY_OWNER, keyText(key));
    if (owned.kind === 'unknown') return undefined;
    if (cluster === undefined) {
      const [main, ...others] = owned.objects;
      return { main, others };
    }
    const reference = cluster.controlPlaneRef;
    const named =
      reference !== undefined && isAWSManagedControlPlane(reference) ? controlPlanes.lookup(reference) : undefined;
    const main = named?.kind === 'found' ? named.object : undefined;
    return { main, others: owned.objects.filter(({ metadata }) => metadata.uid !== main?.metadata.uid) };
  }

  private async delete(profile: AWSFargateProfile, cause: string, { logger, signal }: ReconcileContext): Promise<void> {
    const { client, recorder } = this.options;
    logger.info('Deleting profile of a cluster that is torn down', { AWSFargateProfile: keyOf(profile), cause });
    await deleteThis(client, profile, signal);
    const { metadata } = profile;
    // The cache may not show yet what was done a moment ago.
    const cluster = keyText({ namespace: metadata.namespace, name: profile.spec.clusterName });
    const told = this.told.get(cluster) ?? new Set();
    if (told.has(metadata.uid)) return;
    this.told.set(cluster, told.add(metadata.uid));
    const words = `${cause} is being deleted: the profile goes before its cluster`;
    recorder.record({ metadata, apiVersion: API_VERSION, kind: KIND }, 'Normal', 'DeletedWithCluster', words);
  }

  private async keepGuard(
    cluster: ObjectKey,
    controlPlane: KubeObject,
    isNeeded: boolean,
    context: ReconcileContext,
  ): Promise<Requeue> {
    const { lasting } = this;
    const controlPlaneKey = keyOf(controlPlane);
    if (isNeeded === hasGuard(controlPlane)) {
      lasting.over(controlPlaneKey);
      return DONE;
    }
    if (isNeeded) {
      const guarding = await this.options.guard.putOn(controlPlaneKey, context.signal);
      if (guarding.kind !== 'refused') return DONE;
      const { why: words, cure } = guarding;
      return cure === undefined ? again(words) : this.refused(controlPlane, { words, cure }, context);
    }
    try {
      await this.letGo(cluster, controlPlane, context);
      lasting.over(controlPlaneKey);
      return DONE;
    } catch (error) {
      if (isNotFound(error)) {
        lasting.over(controlPlaneKey);
        return DONE;
      }
      const refusal = isConflict(error)
        ? lasting.conflict(controlPlaneKey)
        : (refusalIn(error) ?? lasting.failure(controlPlaneKey, error));
      if (refusal !== undefined) return this.refused(controlPlane, refusal, context);
      if (isConflict(error)) return { kind: 'conflict' };
      throw error;
    }
  }

  private async letGo(
    cluster: ObjectKey,
    controlPlane: KubeObject,
    { logger, signal }: ReconcileContext,
  ): Promise<void> {
    // A cache may be behind, or see the profiles of one watch filter alone: only a live list says that nobody needs it.
    // What the watch has yet to bring is looked at then; who looks after the others takes the guard off.
    if (await this.isNeededLive(cluster, signal)) return;
    logger.info('Letting the control plane go: no profile is left', { AWSManagedControlPlane: keyOf(controlPlane) });
    await this.options.guard.takeOff(controlPlane, signal);
  }

  private async isNeededLive({ namespace, name }: ObjectKey, signal: AbortSignal): Promise<boolean> {
    for await (const item of listLive(this.options.client, { namespace }, signal)) {
      if (carriesFinalizer(item) && mayName(item, name)) return true;
    }
    return false;
  }
}

/** What the API server has against a task; whatever else goes wrong is thrown. */
async function refusalOf(task: () => Promise<void>): Promise<Refusal | undefined> {
  try {
    await task();
    return undefined;
  } catch (error) {
    const refusal = refusalIn(error);
    if (refusal === undefined) throw error;
    return refusal;
  }
}

/** An object that cannot be read may be one of the cluster. */
function mayName(item: KubeObject, cluster: string): boolean {
  const profile = decodeAWSFargateProfile(item);
  return E.isLeft(profile) || profile.right.spec.clusterName === cluster;
}

/** What an object says; or the end of the pass: nothing but a change of the object, which the watch brings, can mend it. */
function read<A>(
  decode: (input: unknown) => Either<readonly DecodeProblem[], A>,
  raw: KubeObject | undefined,
): Either<Requeue, A | undefined> {
  if (raw === undefined) return E.right(undefined);
  const decoded = decode(raw);
  if (E.isRight(decoded)) return decoded;
  const problems = decoded.left.map(describeProblem).join('; ');
  return E.left({
    kind: 'terminal',
    error: new Error(`${raw.kind} ${keyText(keyOf(raw))} cannot be read: ${problems}`),
  });
}
