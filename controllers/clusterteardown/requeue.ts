import { keyOf } from 'controller-runtime/client';
import type { ReconcileContext, Requeue } from 'controller-runtime/controller';
import type { EventRecorder, InvolvedObject } from 'controller-runtime/events';
import { after } from '../shared/requeue.ts';
import { type ApiRejection, partsOfRejection } from '../shared/api-rejections.ts';
import { joinParts, RETRIES } from '../shared/message.ts';

/** For errors that need a user or an operator to act. */
const API_REJECTED: Requeue = after(15_000, 'the API server refuses what the teardown needs');

/** The API server shows a pause or a change that the caches lack. Usually a watch event precedes this requeue. */
export const BLOCKED: Requeue = after(2_000, 'a profile may not be deleted now');

export const LEFT_TO_OTHERS: Requeue = after(
  15_000,
  'the schema of AWSFargateProfiles is foreign, or another provider reconciles them',
);

/**
 * The deletion of the control plane waits for an AWSFargateProfile that this manager does not delete. Often a manager
 * with a different watch filter deletes it, so this manager gets no watch event about it.
 */
export const PROFILE_LEFT: Requeue = after(
  30_000,
  'a profile of the cluster that this manager does not delete has not been deleted',
);

/** An AWSFargateProfile may have to join the control plane, but nothing reports when STS answers again. */
export const ACCOUNT_UNKNOWN: Requeue = after(60_000, "AWS STS does not tell the control plane's account");

/** Records an event, which may be all that the user sees: the AWSFargateProfiles with their conditions may be gone. */
export function reportRejection(
  recorder: EventRecorder,
  object: InvolvedObject,
  rejection: ApiRejection,
  { logger }: ReconcileContext,
): Requeue {
  logger.warn('The API server rejected a request of the teardown', {
    [object.kind]: keyOf(object),
    rejection: rejection.message,
  });
  const message = joinParts({ ...partsOfRejection(rejection), outlook: RETRIES });
  recorder.record(object, 'Warning', 'APIServerRefused', message);
  return API_REJECTED;
}
