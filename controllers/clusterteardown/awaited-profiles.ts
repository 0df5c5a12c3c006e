import * as E from 'fp-ts/lib/Either.js';
import { FINALIZER, decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import type { EventRecorder } from '../../pkg/kube/events/events.ts';
import { keyOf, keyText } from '../../pkg/kube/object-key.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { CONTROL_PLANE_FINALIZER } from '../shared/control-plane/control-plane-finalizer.ts';
import { isDeleting } from '../shared/object-state.ts';

/** An AWSFargateProfile because of which a control plane keeps this controller's finalizer. */
interface AwaitedProfile {
  readonly uid: string | undefined;
  /** The monotonic time since which the control plane keeps its finalizer because of this AWSFargateProfile. */
  readonly since: Ms;
  /** The monotonic time of the last event about this AWSFargateProfile; undefined if there was none. */
  readonly toldAt?: Ms | undefined;
}

/**
 * For an AWSFargateProfile that another manager is deleting: EKS deletes a cluster's profiles one after the other, each
 * in about two minutes.
 */
const DELETION_PATIENCE: Ms = 15 * 60_000;
/** For one that is not being deleted: this manager's cache may be behind, or another manager may begin the deletion. */
const PATIENCE: Ms = 25_000;

/** Between two events about the same AWSFargateProfile: reconciles are frequent, and Warning events are limited. */
const EVENT_INTERVAL: Ms = 30_000;

/**
 * The AWSFargateProfiles for whose deletion a control plane waits although this manager does not reconcile them: it
 * cannot decode them, or a manager with another watch filter reconciles them. After an unusually long wait, an event on
 * the control plane names the AWSFargateProfile.
 */
export class AwaitedProfiles {
  private readonly clock: Clock;
  private readonly recorder: EventRecorder;
  /** By control plane that is being deleted, from its last reconcile. */
  private readonly awaited = new Map<string, AwaitedProfile>();

  constructor({ clock, recorder }: { readonly clock: Clock; readonly recorder: EventRecorder }) {
    this.clock = clock;
    this.recorder = recorder;
  }

  /** Records an event on the control plane if the wait has lasted too long. */
  wait(controlPlane: KubeObject, profile: KubeObject, logger: Logger): void {
    const key = keyText(keyOf(controlPlane));
    const now = this.clock.monotonic();
    const known = this.awaited.get(key);
    const { uid } = profile.metadata;
    const since = known !== undefined && known.uid === uid ? known.since : now;
    const toldAt = known?.uid === uid ? known.toldAt : undefined;
    const isTold = toldAt !== undefined && now - toldAt < EVENT_INTERVAL;
    const isDue = !isTold && now - since >= (isDeleting(profile) ? DELETION_PATIENCE : PATIENCE);
    this.awaited.set(key, { uid, since, toldAt: isDue ? now : toldAt });
    if (!isDue) return;
    logger.warn('A profile keeps the finalizer of a control plane that is being deleted', {
      AWSManagedControlPlane: keyOf(controlPlane),
      AWSFargateProfile: keyOf(profile),
    });
    this.recorder.record(controlPlane, 'Warning', 'WaitingForAWSFargateProfile', messageAbout(profile));
  }

  forget(controlPlane: KubeObject): void {
    this.awaited.delete(keyText(keyOf(controlPlane)));
  }
}

function messageAbout(profile: KubeObject): string {
  const name = `AWSFargateProfile ${keyText(keyOf(profile))}`;
  const problem = E.isLeft(decodeAWSFargateProfile(profile)) ? ', which the controller cannot read,' : '';
  return (
    `The finalizer ${CONTROL_PLANE_FINALIZER} stays on this control plane, because ${name}${problem} ` +
    `still has the finalizer ${FINALIZER}. ` +
    `Delete ${name}, or wait until the manager that reconciles it has deleted its profile and role in AWS. If no manager can do so, ` +
    'remove the finalizer of that object: then its profile and role stay in AWS. The controller looks again every 30 seconds.'
  );
}
