import { createHash } from 'node:crypto';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import type { Desired } from '../model/desired-state.ts';
import type { PartiallyObserved } from '../model/pass.ts';

interface Comparison {
  readonly uid: string;
  readonly resourceVersion: string;
  /** A hash of the desired state and the observed profiles. A hash is kept instead of the states to save memory. */
  readonly fingerprint: string;
}

/**
 * The last comparisons with AWS that found nothing to change. After such a comparison, the next periodic resync may
 * compare the Fargate profile alone, so the IAM role is read at every second resync: docs/adr/0018. The comparisons are
 * in memory only, so the first reconcile after a start reads everything.
 */
export class Comparisons {
  private readonly last = new Map<string, Comparison>();

  /** Records that AWS has the profile and role that the spec asks for, and that the reconcile wrote nothing. */
  record(object: AWSFargateProfile, desired: Desired, observed: PartiallyObserved): void {
    const { uid, resourceVersion } = object.metadata;
    const fingerprint = fingerprintOf(desired, observed);
    this.last.set(keyText(keyOf(object)), { uid, resourceVersion, fingerprint });
  }

  /**
   * Returns a function that decides whether this reconcile may skip the IAM role: it may if the desired state and the
   * observed profiles are as in the recorded comparison. Returns `undefined` if no comparison is recorded, or if the
   * object has changed since. Each call of `take` removes the recorded comparison, so the next reconcile reads the role.
   */
  take(object: AWSFargateProfile): ((desired: Desired, observed: PartiallyObserved) => boolean) | undefined {
    const key = keyText(keyOf(object));
    const known = this.last.get(key);
    this.last.delete(key);
    const { uid, resourceVersion } = object.metadata;
    return known?.uid === uid && known.resourceVersion === resourceVersion
      ? (desired, observed) => known.fingerprint === fingerprintOf(desired, observed)
      : undefined;
  }

  forget(key: ObjectKey): void {
    this.last.delete(keyText(key));
  }
}

const fingerprintOf = (desired: Desired, { cluster, profiles }: PartiallyObserved): string =>
  createHash('sha256')
    .update(JSON.stringify([desired, cluster, profiles]))
    .digest('base64');
