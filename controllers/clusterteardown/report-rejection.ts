import type { EventRecorder, InvolvedObject } from '../../pkg/kube/events/events.ts';
import { keyOf } from '../../pkg/kube/object-key.ts';
import type { ReconcileContext } from '../../pkg/runtime/reconcile.ts';
import type { ApiRejection } from '../shared/api-rejections.ts';
import { describeApiRejection } from '../shared/api-rejections.ts';

/**
 * Logs a request that the API server rejected, and records a Warning Event on the object of the request. The Event is
 * the only report that the user sees, because the AWSFargateProfiles with their conditions may be gone.
 */
export function reportRejection(
  recorder: EventRecorder,
  { apiVersion, kind, metadata }: InvolvedObject,
  rejection: ApiRejection,
  { logger }: ReconcileContext,
): void {
  logger.warn('The API server rejected a request of the teardown', {
    [kind]: keyOf({ metadata }),
    rejection: rejection.message,
  });
  const message = `${describeApiRejection(rejection)}. ${rejection.remedy}. The controller retries on its own.`;
  recorder.record({ apiVersion, kind, metadata }, 'Warning', 'APIServerRefused', message);
}
