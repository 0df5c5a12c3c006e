import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { KubeObject } from '../../../pkg/kube/types.ts';
import type { ReconcileContext } from '../../../pkg/runtime/reconcile.ts';
import type { ProfileWriter } from '../../shared/profile-writer.ts';
import type { EventSpec } from './events.ts';
import { RESUMED_DELETION } from './events.ts';

export interface ResumeDeletionOptions {
  readonly live: {
    readonly findBlocker: (object: AWSFargateProfile, signal: AbortSignal) => Promise<string | undefined>;
  };
  readonly profileWriter: Pick<ProfileWriter, 'delete'>;
  readonly recordEvent: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
}

/**
 * Deletes the object again, because `clusterctl move` has recreated it without its deletionTimestamp. If the object or
 * its Cluster in the API server forbids the deletion now, returns the reason.
 */
export async function resumeDeletion(
  { live, profileWriter, recordEvent }: ResumeDeletionOptions,
  object: AWSFargateProfile,
  { signal, logger }: ReconcileContext,
): Promise<string | undefined> {
  const blocker = await live.findBlocker(object, signal);
  if (blocker !== undefined) return blocker;
  logger.info('Resuming a deletion that clusterctl move has interrupted');
  await profileWriter.delete(object, signal);
  recordEvent(object, RESUMED_DELETION);
  return undefined;
}
