import { keyOf } from 'controller-runtime/client';
import type { ReconcileContext, Requeue } from 'controller-runtime/controller';
import type { EventRecorder, InvolvedObject } from 'controller-runtime/events';
import { after, backOff } from '../shared/requeue.ts';
import { type ApiRejection, describeApiRejection } from '../shared/api-rejections.ts';

/** A user or an operator has to act, and the next reconcile tries again. */
const API_REJECTED: Requeue = after(15_000, 'the API server refuses what the teardown needs');

/** The API server shows a pause or a change that the caches do not show yet. Usually a watch event comes earlier. */
export const BLOCKED: Requeue = after(2_000, 'a profile may not be deleted now');

export const LEFT_TO_OTHERS: Requeue = after(
  15_000,
  'the schema of AWSFargateProfiles is foreign, or another provider reconciles them',
);

/**
 * A control plane that is being deleted still waits for an AWSFargateProfile that this manager does not delete. Often a
 * manager with another watch filter does, so no watch event tells this one about it.
 */
export const PROFILE_LEFT: Requeue = after(
  30_000,
  'a profile of the cluster that this manager does not delete has not been deleted',
);

export const schemaUnreadable = (reason: string): Requeue =>
  backOff(`the CRD of AWSFargateProfiles cannot be read: ${reason}`);

/**
 * Logs a rejected request, and records a Warning Event on its object: the only report that the user sees, because the
 * AWSFargateProfiles with their conditions may be gone.
 */
export function reportRejection(
  recorder: EventRecorder,
  { apiVersion, kind, metadata }: InvolvedObject,
  rejection: ApiRejection,
  { logger }: ReconcileContext,
): Requeue {
  logger.warn('The API server rejected a request of the teardown', {
    [kind]: keyOf({ metadata }),
    rejection: rejection.message,
  });
  const message = `${describeApiRejection(rejection)}. ${rejection.remedy}. The controller keeps retrying.`;
  recorder.record({ apiVersion, kind, metadata }, 'Warning', 'APIServerRefused', message);
  return API_REJECTED;
}
