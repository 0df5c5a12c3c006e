import * as E from 'fp-ts/lib/Either.js';
import { isConflict, isNotFound, keyOf, keyText, type KubeObject, type ObjectKey } from 'controller-runtime/client';
import type { ReconcileContext, Requeue } from 'controller-runtime/controller';
import type { Ms } from 'controller-runtime/env';
import { decodeAWSManagedControlPlane } from '../../api/external/index.ts';
import { FINALIZER, decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';
import type { ControlPlaneFinalizer } from '../shared/control-plane/control-plane-finalizer.ts';
import { CONTROL_PLANE_FINALIZER } from '../shared/control-plane/control-plane-finalizer.ts';
import { joinOf } from '../shared/control-plane/joined-control-plane.ts';
import { isDeleting } from '../shared/object-state.ts';
import { PersistentErrors } from '../shared/persistent-errors.ts';
import type { FinalizerTask } from './decide.ts';
import { findUser, type FindUserOptions } from './find-user.ts';
import { reportRejection, PROFILE_LEFT } from './requeue.ts';
import { DONE, backOff, CONFLICT } from '../shared/requeue.ts';

export interface FinalizerSyncOptions extends FindUserOptions, Pick<ControllerOptions, 'recorder' | 'clock'> {
  readonly controlPlaneFinalizer: ControlPlaneFinalizer;
}

/** How long a control plane has kept its finalizer because of one AWSFargateProfile, on the monotonic clock. */
interface Wait {
  readonly uid: string;
  readonly since: Ms;
  readonly toldAt: Ms;
}

/** How long another manager may take to delete an AWSFargateProfile. EKS deletes one at a time, in two minutes each. */
const DELETION_PATIENCE: Ms = 15 * 60_000;
/** How long it may take until an AWSFargateProfile's deletion begins. This manager's cache may also be behind. */
const PATIENCE: Ms = 25_000;
/** The shortest time between events about one object, because reconciles are frequent and events are limited. */
const EVENT_INTERVAL: Ms = 30_000;

export class FinalizerSync {
  private readonly options: FinalizerSyncOptions;
  /** For each control plane, since when all attempts to remove the finalizer have failed. */
  private readonly persistentErrors: PersistentErrors;
  /** For each control plane that is being deleted, the wait that its last reconcile found. */
  private readonly waits = new Map<string, Wait>();

  constructor(options: FinalizerSyncOptions) {
    this.options = options;
    this.persistentErrors = new PersistentErrors(options.clock);
  }

  /** `undecodable` is an AWSFargateProfile that has a finalizer, and that this manager cannot decode and delete. */
  async syncFinalizer(
    cluster: ObjectKey,
    { controlPlane, action }: FinalizerTask,
    undecodable: KubeObject | undefined,
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

  /** First lists AWSFargateProfiles in the API server: a cache may be outdated, and a watch filter hides objects. */
  private async removeFinalizer(
    cluster: ObjectKey,
    controlPlane: KubeObject,
    context: ReconcileContext,
  ): Promise<Requeue> {
    const { logger, signal } = context;
    let user: KubeObject | undefined;
    const isUnused = async (): Promise<boolean> => {
      user = await findUser(this.options, cluster, controlPlane, context);
      if (user !== undefined) return false;
      logger.info('Removing the finalizer of the control plane: its cluster has no profile left', {
        AWSManagedControlPlane: keyOf(controlPlane),
      });
      return true;
    };
    try {
      await this.options.controlPlaneFinalizer.removeIf(controlPlane, isUnused, signal);
    } catch (error) {
      if (!isNotFound(error)) return this.handleRemoveError(controlPlane, error, context);
    }
    this.persistentErrors.clear(keyOf(controlPlane));
    return this.awaitUser(controlPlane, user, context);
  }

  /**
   * Waits for `user`, an AWSFargateProfile that this manager does not delete: it cannot decode the object, or a manager
   * with a different watch filter reconciles it. There is nothing to wait for until the control plane is being deleted,
   * which triggers another reconcile. After an unusually long wait, records an event about `user` on the control plane.
   */
  private awaitUser(controlPlane: KubeObject, user: KubeObject | undefined, { logger }: ReconcileContext): Requeue {
    const key = keyText(keyOf(controlPlane));
    if (user === undefined || !isDeleting(controlPlane)) {
      this.waits.delete(key);
      return DONE;
    }
    const { clock, recorder } = this.options;
    const now = clock.monotonic();
    const { uid } = user.metadata;
    const known = this.waits.get(key);
    const { since, toldAt } = known?.uid === uid ? known : { since: now, toldAt: Number.NEGATIVE_INFINITY };
    const patience = isDeleting(user) ? DELETION_PATIENCE : PATIENCE;
    const isDue = now - since >= patience && now - toldAt >= EVENT_INTERVAL;
    this.waits.set(key, { uid, since, toldAt: isDue ? now : toldAt });
    if (isDue) {
      logger.warn('A profile keeps the finalizer of a control plane that is being deleted', {
        AWSManagedControlPlane: keyOf(controlPlane),
        AWSFargateProfile: keyOf(user),
      });
      recorder.record(
        controlPlane,
        'Warning',
        'WaitingForAWSFargateProfile',
        messageAbout(user, this.problemOf(user, controlPlane)),
      );
    }
    return PROFILE_LEFT;
  }

  private problemOf(item: KubeObject, controlPlane: KubeObject): string {
    const [profile, decoded] = [decodeAWSFargateProfile(item), decodeAWSManagedControlPlane(controlPlane)];
    if (E.isLeft(profile)) return ', which the controller cannot read,';
    return E.isRight(decoded) && joinOf(profile.right, decoded.right, this.options) === 'accountUnknown'
      ? ", which may be in this control plane's EKS cluster (the controller cannot compare their AWS accounts),"
      : '';
  }

  private handleRemoveError(controlPlane: KubeObject, error: unknown, context: ReconcileContext): Requeue {
    const key = keyOf(controlPlane);
    const rejection = isConflict(error)
      ? this.persistentErrors.conflict(key)
      : this.persistentErrors.failure(key, error);
    if (rejection !== undefined) return reportRejection(this.options.recorder, controlPlane, rejection, context);
    if (isConflict(error)) return CONFLICT;
    throw error;
  }
}

function messageAbout(profile: KubeObject, problem: string): string {
  const name = `AWSFargateProfile ${keyText(keyOf(profile))}`;
  return (
    `The finalizer ${CONTROL_PLANE_FINALIZER} stays on this control plane, because ${name}${problem} ` +
    `still has the finalizer ${FINALIZER}. ` +
    `Delete ${name}, or wait until the manager that reconciles it has deleted its profile and role in AWS. If no manager can do so, ` +
    'remove the finalizer of that object: then its profile and role stay in AWS. The controller looks again every 30 seconds.'
  );
}
