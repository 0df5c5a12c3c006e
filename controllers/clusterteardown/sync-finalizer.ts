import * as E from 'fp-ts/lib/Either.js';
import { decodeAWSManagedControlPlane } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import { isConflict, isNotFound } from '../../pkg/kube/errors.ts';
import type { EventRecorder } from '../../pkg/kube/events/events.ts';
import { keyOf } from '../../pkg/kube/object-key.ts';
import type { KubeClient, KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import type { ReconcileContext, Requeue } from '../../pkg/runtime/types.ts';
import type { ApiRejection } from '../shared/api-rejections.ts';
import { apiRejectionFrom } from '../shared/api-rejections.ts';
import type { ControlPlaneFinalizer } from '../shared/control-plane-finalizer.ts';
import { joinsControlPlane } from '../shared/joined-control-plane.ts';
import { listLiveProfiles } from '../shared/live-profiles.ts';
import { hasFinalizer } from '../shared/object-state.ts';
import { PersistentErrors } from '../shared/persistent-errors.ts';
import type { FinalizerTask } from './decide.ts';
import { reportRejection } from './report-rejection.ts';
import { API_REJECTED, DONE, backOff } from './requeue.ts';

export interface FinalizerSyncOptions {
  readonly client: KubeClient;
  readonly controlPlaneFinalizer: ControlPlaneFinalizer;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  /** The AWS region of the manager; `undefined` if it is not known. */
  readonly managerRegion?: string | undefined;
}

/** Adds or removes the finalizer of a control plane, as `planFinalizers` has decided. */
export class FinalizerSync {
  private readonly options: FinalizerSyncOptions;
  /** Errors that persist over several attempts to change a control plane, by key of the control plane. */
  private readonly persistentErrors: PersistentErrors;

  constructor(options: FinalizerSyncOptions) {
    this.options = options;
    this.persistentErrors = new PersistentErrors(options.clock);
  }

  async syncFinalizer(
    cluster: ObjectKey,
    { controlPlane, action }: FinalizerTask,
    context: ReconcileContext,
  ): Promise<Requeue> {
    switch (action) {
      case 'keep':
        this.persistentErrors.clear(keyOf(controlPlane));
        return DONE;
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
      : this.reportRejection(controlPlane, { message: reason, remedy }, context);
  }

  private async removeFinalizer(
    cluster: ObjectKey,
    controlPlane: KubeObject,
    context: ReconcileContext,
  ): Promise<Requeue> {
    try {
      await this.removeFinalizerIfUnused(cluster, controlPlane, context);
    } catch (error) {
      if (!isNotFound(error)) return this.handleRemoveError(controlPlane, error, context);
    }
    this.persistentErrors.clear(keyOf(controlPlane));
    return DONE;
  }

  private handleRemoveError(controlPlane: KubeObject, error: unknown, context: ReconcileContext): Requeue {
    const key = keyOf(controlPlane);
    const rejection = isConflict(error)
      ? this.persistentErrors.conflict(key)
      : (apiRejectionFrom(error) ?? this.persistentErrors.failure(key, error));
    if (rejection !== undefined) return this.reportRejection(controlPlane, rejection, context);
    if (isConflict(error)) return { kind: 'conflict' };
    throw error;
  }

  /**
   * Removes the control plane finalizer only if a live list has no profile of the cluster. A cache may be outdated, and with
   * a watch filter it has only part of the profiles. If the list has a profile of this manager, the watch event of that
   * profile starts the next pass. If it has a profile of a manager with another watch filter, that manager removes the
   * finalizer after its own last profile.
   */
  private async removeFinalizerIfUnused(
    cluster: ObjectKey,
    controlPlane: KubeObject,
    { logger, signal }: ReconcileContext,
  ): Promise<void> {
    const isUnused = async (): Promise<boolean> => {
      if (await this.hasLiveProfile(cluster, controlPlane, signal)) return false;
      logger.info('Removing the finalizer of the control plane: its cluster has no profile left', {
        AWSManagedControlPlane: keyOf(controlPlane),
      });
      return true;
    };
    await this.options.controlPlaneFinalizer.removeIf(controlPlane, isUnused, signal);
  }

  private async hasLiveProfile(
    { namespace, name }: ObjectKey,
    controlPlane: KubeObject,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, managerRegion } = this.options;
    const decoded = decodeAWSManagedControlPlane(controlPlane);
    const joins = (profile: AWSFargateProfile): boolean =>
      E.isRight(decoded) && joinsControlPlane(profile, decoded.right, managerRegion);
    for await (const item of listLiveProfiles(client, { namespace }, signal)) {
      if (hasFinalizer(item) && mayBelongTo(name, item, joins)) return true;
    }
    return false;
  }

  private reportRejection(controlPlane: KubeObject, rejection: ApiRejection, context: ReconcileContext): Requeue {
    reportRejection(this.options.recorder, controlPlane, rejection, context);
    return API_REJECTED;
  }
}

/**
 * Whether a profile may belong to the cluster. A profile that cannot be decoded may belong to any cluster of its namespace.
 */
function mayBelongTo(cluster: string, item: KubeObject, joins: (profile: AWSFargateProfile) => boolean): boolean {
  const profile = decodeAWSFargateProfile(item);
  return E.isLeft(profile) || profile.right.spec.clusterName === cluster || joins(profile.right);
}
