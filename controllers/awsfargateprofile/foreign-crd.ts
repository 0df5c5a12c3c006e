import * as E from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import { keyOf, keyText } from '../../pkg/kube/object-key.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import type { Reconcile, ReconcileContext, Requeue } from '../../pkg/runtime/reconcile.ts';
import { isDeleting } from '../shared/object-state.ts';
import type { ProfileWriter } from '../shared/profile-writer.ts';
import { type ServedSchema, isLeftToOthers } from '../shared/crd/served-schema.ts';
import { goalFor } from './goal/goal.ts';
import { type InputCaches, readInputs } from './goal/inputs.ts';
import type { CompletedPass } from './model/pass.ts';
import { type Reason, messageOf, pollOf } from './reasons/reasons.ts';
import { reasonForSchema } from './reasons/reason-for-crd.ts';
import { type EventSpec, eventsAfter } from './status/events.ts';
import { statusAfter } from './status/status.ts';
import { CONFLICT, DONE } from '../shared/requeue.ts';

export interface ForeignSchemaOptions extends InputCaches {
  readonly clock: Clock;
  readonly profileWriter: Pick<ProfileWriter, 'patchStatus'>;
  readonly schema: Pick<ServedSchema, 'checkRecently'>;
  readonly recordEvent: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
}

/**
 * Under the CRD of another provider, the API server hides the fields that it lacks, and any write drops them from the
 * stored object. So status is then written only for an object that is being deleted, because a user waits for that
 * deletion.
 */
export function onlyUnderOurSchema(reconcile: Reconcile, options: ForeignSchemaOptions): Reconcile {
  /** By object and message, so that no event is repeated. */
  const reported = new Set<string>();
  return async (key, context) => {
    const state = await options.schema.checkRecently(context.signal);
    const reason = reasonForSchema(state);
    if (reason === undefined || !isLeftToOthers(state)) {
      reported.clear();
      return reconcile(key, context);
    }
    const lookup = options.profiles.lookup(key);
    if (lookup.kind !== 'found') return reconcile(key, context);
    // The CRD of another provider may be why the object cannot be decoded.
    if (E.isLeft(lookup.decoded)) return requeueFor(reason);
    const keepsFields = state.kind === 'capaServes' && !state.isForeign;
    return report(options, lookup.decoded.right, reason, { reported, keepsFields }, context);
  };
}

async function report(
  options: ForeignSchemaOptions,
  object: AWSFargateProfile,
  reason: Reason,
  { reported, keepsFields }: { readonly reported: Set<string>; readonly keepsFields: boolean },
  { signal }: ReconcileContext,
): Promise<Requeue> {
  const goal = goalFor(readInputs(object, options));
  if (goal.kind === 'ignore') return DONE;
  if (goal.kind === 'paused') return requeueFor(reason);
  const pass: CompletedPass = {
    object,
    end: reason,
    now: options.clock.now(),
    waited: 0,
    attempts: 0,
  };
  if (keepsFields || isDeleting(object)) {
    const status = keepsFields ? statusAfter(pass) : withoutEmptyMessages(statusAfter(pass));
    const written = await options.profileWriter.patchStatus(object, status, signal);
    if (written === undefined) return CONFLICT;
  }
  const told = `${keyText(keyOf(object))} ${messageOf(reason)}`;
  if (!reported.has(told)) for (const event of eventsAfter(pass)) options.recordEvent(object, event);
  reported.add(told);
  return requeueFor(reason);
}

const requeueFor = (reason: Reason): Requeue => ({ kind: 'after', delay: pollOf(reason, 0), reason: reason.name });

/** The CRD of Cluster API Provider AWS rejects them. */
const withoutEmptyMessages = ({ conditions = [], ...status }: AWSFargateProfileStatus): AWSFargateProfileStatus => ({
  ...status,
  conditions: conditions.map(({ message, ...rest }) =>
    message === '' || message === undefined ? rest : { ...rest, message },
  ),
});
