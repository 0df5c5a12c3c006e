import { isRight } from 'fp-ts/lib/Either.js';
import { nextTurn } from 'controller-runtime/async';
import { keyOf, keyText, type KubeObject, type ObjectKey } from 'controller-runtime/client';
import { Controller, type ReconcileContext, type Requeue } from 'controller-runtime/controller';
import type { Ms } from 'controller-runtime/env';
import { fieldAt, jsonEqual } from 'controller-runtime/json';
import type { Runnable } from 'controller-runtime/manager';
import { Workqueue } from 'controller-runtime/queue';
import { GROUP, KIND } from '../../../api/v1beta2/index.ts';
import { findOverlap } from '../../../pkg/fargate/overlap.ts';
import { locationsOf } from '../../shared/caches.ts';
import type { ControllerOptions } from '../../shared/controller-options.ts';
import { isLeftToOthers } from '../../shared/crd/served-schema.ts';
import { hasPausedAnnotation } from '../../shared/object-state.ts';
import type { ProfileWriter } from '../../shared/profile-writer.ts';
import { DONE, LEASE_EXPIRED, backOff, CONFLICT } from '../../shared/requeue.ts';
import { isAtRest } from '../model/at-rest.ts';
import {
  type CompetingObject,
  type Rival,
  type Competition,
  PAIRS_AT_ONCE,
  findRivals,
  pairsOf,
  withOverlap,
} from './condition.ts';

const NAME = 'selectorsoverlap';
/** How long to wait for further changes of an object, to report them together. */
const DELAY: Ms = 1_000;
export interface OverlapControllerOptions extends Omit<ControllerOptions, 'recorder' | 'client'> {
  readonly profileWriter: Pick<ProfileWriter, 'patchStatus'>;
  readonly competition: Competition;
}

/**
 * Updates the condition SelectorsOverlap of objects at rest. A status has one writer at a time: all other objects are
 * reconciled anyway, which updates the condition with the rest of the status.
 */
export function overlapController(options: OverlapControllerOptions): Runnable {
  const { caches, metrics, clock, random, logger } = options;
  const queue = new Workqueue({ clock, metrics: metrics.workqueue(NAME) });
  const reconciler = new OverlapReconciler(options, (key) => queue.addAfter(key, DELAY));
  caches.profiles.onChange((change) => {
    if (change.type === 'added' && change.isInInitialList) reconciler.know(change.object);
    if (change.type !== 'updated' || !jsonEqual(factsOf(change.previous), factsOf(change.object)))
      queue.addAfter(keyOf(change.object), DELAY);
  });
  return new Controller({
    name: NAME,
    object: { group: GROUP, kind: KIND },
    concurrency: 1,
    queue,
    reconcile: reconciler.reconcile,
    clock,
    random,
    logger,
    metrics: metrics.controller(NAME),
  });
}

const factsOf = (object: KubeObject): unknown => ({
  generation: object.metadata.generation,
  profileName: fieldAt(object.status, 'profileName'),
  locations: locationsOf(object),
  isAtRest: isAtRest(object),
});

class OverlapReconciler {
  private readonly options: OverlapControllerOptions;
  private readonly enqueue: (key: ObjectKey) => void;
  /** By object key: the location and selectors with which other objects were last compared. */
  private readonly compared = new Map<string, CompetingObject>();

  constructor(options: OverlapControllerOptions, enqueue: (key: ObjectKey) => void) {
    this.options = options;
    this.enqueue = enqueue;
  }

  /**
   * Records an object in the initial list. After a start, each object is compared with all others anyway, so no object
   * has to be enqueued because of another.
   */
  know(object: KubeObject): void {
    const decoded = this.options.caches.typed.profiles.decode(object);
    const competitor = isRight(decoded) && this.options.competition.competitorOf(decoded.right);
    if (competitor) this.compared.set(keyText(keyOf(object)), competitor);
  }

  readonly reconcile = async (key: ObjectKey, { signal }: ReconcileContext): Promise<Requeue> => {
    const { caches, clock, leadership, profileWriter, schema } = this.options;
    const lookup = caches.typed.profiles.lookup(key);
    if (lookup.kind === 'unknown') return DONE;
    const object = lookup.kind === 'found' && isRight(lookup.decoded) ? lookup.decoded.right : undefined;
    const me = object && this.options.competition.competitorOf(object);
    await this.enqueueOthers(keyText(key), me, signal);
    if (object === undefined || me === undefined || !isAtRest(object) || hasPausedAnnotation(object)) return DONE;
    const rivals: Rival[] = [];
    await this.forOthers(me, signal, (other) => rivals.push(...findRivals(me, [other])));
    const status = withOverlap({ ...object.status }, object, me, rivals, clock.now());
    if (jsonEqual(status, object.status)) return DONE;
    // Under another provider's CRD, any write would drop the object's fields.
    if (isLeftToOthers(await schema.check(signal))) return backOff('another CRD may drop fields of the object');
    if (leadership.remaining() <= 0) return LEASE_EXPIRED;
    const written = await profileWriter.patchStatus(object, status, signal);
    return written === undefined ? CONFLICT : DONE;
  };

  /** Enqueues the objects whose overlap with this one begins, changes, or ends. */
  private async enqueueOthers(key: string, now: CompetingObject | undefined, signal: AbortSignal): Promise<void> {
    const before = this.compared.get(key);
    if (jsonEqual(before, now)) return;
    for (const each of [before, now])
      if (each !== undefined)
        await this.forOthers(each, signal, (other) => {
          if (findOverlap(each, other) !== undefined) this.enqueue(other.object);
        });
    if (now === undefined) this.compared.delete(key);
    else this.compared.set(key, now);
  }

  private async forOthers(
    me: CompetingObject,
    signal: AbortSignal,
    work: (other: CompetingObject) => void,
  ): Promise<void> {
    let pairs = 0;
    for (const other of this.options.competition.othersFor(me)) {
      const more = pairsOf(me, [other]);
      if (pairs + more > PAIRS_AT_ONCE) {
        pairs = 0;
        await nextTurn(this.options.clock, signal);
      }
      pairs += more;
      if (signal.aborted) return;
      work(other);
    }
  }
}
