import * as E from 'fp-ts/lib/Either.js';
import { decodeAWSManagedControlPlane } from '../../api/external/index.ts';
import { fieldAt } from '../../api/record.ts';
import { type AWSFargateProfile, decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import { isConflict, isNotFound } from '../../pkg/kube/errors.ts';
import type { EventRecorder } from '../../pkg/kube/events/events.ts';
import { keyOf } from '../../pkg/kube/object-key.ts';
import type { KubeClient, KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import type { ReconcileContext, Requeue } from '../../pkg/runtime/reconcile.ts';
import { apiRejectionFrom } from '../shared/api-rejections.ts';
import type { ControlPlaneFinalizer } from '../shared/control-plane/control-plane-finalizer.ts';
import { type JoinFacts, joinsControlPlane } from '../shared/control-plane/joined-control-plane.ts';
import { listLiveProfiles } from '../shared/live-profiles.ts';
import { hasFinalizer, isDeleting } from '../shared/object-state.ts';
import { PersistentErrors } from '../shared/persistent-errors.ts';
import { AwaitedProfiles } from './awaited-profiles.ts';
import type { FinalizerTask } from './decide.ts';
import { reportRejection, PROFILE_LEFT } from './requeue.ts';
import { DONE, backOff } from '../shared/requeue.ts';

export interface FinalizerSyncOptions extends JoinFacts {
  readonly client: KubeClient;
  readonly controlPlaneFinalizer: ControlPlaneFinalizer;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
}

export class FinalizerSync {
  private readonly options: FinalizerSyncOptions;
  /** For each control plane: since when all attempts to remove the finalizer have failed. */
  private readonly persistentErrors: PersistentErrors;
  private readonly awaited: AwaitedProfiles;

  constructor(options: FinalizerSyncOptions) {
    this.options = options;
    this.persistentErrors = new PersistentErrors(options.clock);
    this.awaited = new AwaitedProfiles(options);
  }

  async syncFinalizer(
    cluster: ObjectKey,
    { controlPlane, action, undecodable }: FinalizerTask,
    context: ReconcileContext,
  ): Promise<Requeue> {
    switch (action) {
      case 'keep':
        this.persistentErrors.clear(keyOf(controlPlane));
        return this.awaitUser(controlPlane, undecodable, context);
      case 'add':
        return this.addFinalizer(controlPlane, context);
      case 'remove':
        return this.removeFinalizer(cluster, controlPlane, context);
    }
  }

  private async addFinalizer(controlPlane: KubeObject, context: ReconcileContext): Promise<Requeue> {
    const result = await this.options.controlPlaneFinalizer.add(keyOf(controlPlane), context.signal);
    if (result.kind !== 'rejected') return DONE;
    const { reason, remedy } = result;
    return remedy === undefined
      ? backOff(reason)
      : reportRejection(this.options.recorder, controlPlane, { message: reason, remedy }, context);
  }

  private async removeFinalizer(
    cluster: ObjectKey,
    controlPlane: KubeObject,
    context: ReconcileContext,
  ): Promise<Requeue> {
    let user: KubeObject | undefined;
    try {
      user = await this.removeFinalizerIfUnused(cluster, controlPlane, context);
    } catch (error) {
      if (!isNotFound(error)) return this.handleRemoveError(controlPlane, error, context);
    }
    this.persistentErrors.clear(keyOf(controlPlane));
    return this.awaitUser(controlPlane, user, context);
  }

  /**
   * `user` is an AWSFargateProfile that this manager does not delete. While the control plane is not being deleted, the
   * finalizer on it blocks nothing; its deletion starts another reconcile.
   */
  private awaitUser(controlPlane: KubeObject, user: KubeObject | undefined, { logger }: ReconcileContext): Requeue {
    if (user === undefined || !isDeleting(controlPlane)) {
      this.awaited.forget(controlPlane);
      return DONE;
    }
    this.awaited.wait(controlPlane, user, logger);
    return PROFILE_LEFT;
  }

  private handleRemoveError(controlPlane: KubeObject, error: unknown, context: ReconcileContext): Requeue {
    const key = keyOf(controlPlane);
    const rejection = isConflict(error)
      ? this.persistentErrors.conflict(key)
      : (apiRejectionFrom(error) ?? this.persistentErrors.failure(key, error));
    if (rejection !== undefined) return reportRejection(this.options.recorder, controlPlane, rejection, context);
    if (isConflict(error)) return { kind: 'conflict' };
    throw error;
  }

  /**
   * Asks the API server for an AWSFargateProfile with a finalizer, because a cache may be outdated, and with a watch
   * filter has only some of the objects. Returns the one that needs the control plane's finalizer, if any.
   */
  private async removeFinalizerIfUnused(
    cluster: ObjectKey,
    controlPlane: KubeObject,
    { logger, signal }: ReconcileContext,
  ): Promise<KubeObject | undefined> {
    let user: KubeObject | undefined;
    const isUnused = async (): Promise<boolean> => {
      user = await this.findLiveProfile(cluster, controlPlane, signal);
      if (user !== undefined) return false;
      logger.info('Removing the finalizer of the control plane: its cluster has no profile left', {
        AWSManagedControlPlane: keyOf(controlPlane),
      });
      return true;
    };
    await this.options.controlPlaneFinalizer.removeIf(controlPlane, isUnused, signal);
    return user;
  }

  private async findLiveProfile(
    { namespace, name }: ObjectKey,
    controlPlane: KubeObject,
    signal: AbortSignal,
  ): Promise<KubeObject | undefined> {
    const { client } = this.options;
    const decoded = decodeAWSManagedControlPlane(controlPlane);
    const joins = (profile: AWSFargateProfile): boolean =>
      E.isRight(decoded) && joinsControlPlane(profile, decoded.right, this.options);
    for await (const item of listLiveProfiles(client, { namespace }, signal)) {
      if (hasFinalizer(item) && mayBelongTo(name, item, joins)) return item;
    }
    return undefined;
  }
}

/** One that cannot be decoded, and whose spec.clusterName is no string, may belong to any cluster of its namespace. */
function mayBelongTo(cluster: string, item: KubeObject, joins: (profile: AWSFargateProfile) => boolean): boolean {
  const named = fieldAt(item.spec, 'clusterName');
  if (typeof named === 'string') return named === cluster;
  const profile = decodeAWSFargateProfile(item);
  return E.isLeft(profile) || joins(profile.right);
}
