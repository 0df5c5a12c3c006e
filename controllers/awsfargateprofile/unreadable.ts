import {
  type Condition,
  type DecodeProblem,
  describeProblems,
  type AWSFargateProfile,
  type AWSFargateProfileStatus,
} from '../../api/v1beta2/index.ts';
import { conditionOf, conditionUpdate, mergeConditions } from './report/condition-list.ts';
import { eventsAfter } from './report/events.ts';
import type { EventSpec } from './report/step-events.ts';
import type { ProfileWriter } from '../shared/profile-writer.ts';
import { CONFLICT, DONE } from '../shared/requeue.ts';
import * as E from 'fp-ts/lib/Either.js';
import { isInvalid, keyOf, keyText, type KubeObject } from 'controller-runtime/client';
import type { Reconcile, ReconcileContext, Requeue } from 'controller-runtime/controller';
import { type Clock, formatTimestamp, type Ms } from 'controller-runtime/env';
import { isRecord } from 'controller-runtime/json';
import { toPrintableLine } from 'controller-runtime/text';
import { isDeleting, rawConditions } from '../shared/object-state.ts';
import { type ServedSchema, isLeftToOthers } from '../shared/crd/served-schema.ts';
import { goalFor } from './goal/goal.ts';
import { type InputCaches, readInputs } from './goal/inputs.ts';
import type { CompletedReconcile } from './model/result.ts';
import { type Reason, messageOf, pollOf, reasonForSchema } from './reasons/reasons.ts';
import { statusAfter } from './report/status.ts';

export interface UndecodableOptions {
  readonly clock: Clock;
  readonly profileWriter: Pick<ProfileWriter, 'patchRawStatus'>;
  readonly recordEvent: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
}

/**
 * The report is repeated rarely, because only a change of the object helps, and a watch shows that change immediately.
 */
const REMINDER: Ms = 10 * 60_000;

/**
 * Only the conditions in status are decoded, because other fields may be wrong too. If the API server rejects every
 * write of the object, the user sees only the event.
 */
export async function reportUndecodable(
  { clock, profileWriter, recordEvent }: UndecodableOptions,
  raw: KubeObject,
  problems: readonly DecodeProblem[],
  { logger, signal }: ReconcileContext,
): Promise<Requeue> {
  const detail = toPrintableLine(
    `The controller cannot read this AWSFargateProfile: ${describeProblems(problems)}. Fix or remove these fields. Until then the controller does nothing for this object.`,
  );
  const before = rawConditions(raw['status']).filter(isCondition);
  const conditions = mergeConditions(
    before,
    [
      conditionUpdate(raw, 'Ready', 'False', 'InvalidObject', detail),
      conditionUpdate(raw, 'Reconciling', 'False', 'Stalled'),
      conditionUpdate(raw, 'Stalled', 'True', 'InvalidObject', detail),
    ],
    formatTimestamp(clock.now()),
  );
  logger.warn('Object cannot be read', { problems: describeProblems(problems) });
  const observedGeneration = raw.metadata.generation ?? 0;
  // One event per spec is enough. But if the conditions cannot be written, each reconcile records the event again.
  const shown = conditionOf(before, 'Ready');
  if (shown?.reason !== 'InvalidObject' || shown.observedGeneration !== observedGeneration)
    recordEvent(raw, { type: 'Warning', reason: 'InvalidObject', message: detail });
  try {
    const written = await profileWriter.patchRawStatus(raw, { observedGeneration, conditions }, signal);
    if (!written) return CONFLICT;
  } catch (error) {
    if (!isInvalid(error)) throw error;
    logger.warn('Object cannot be written either', { refusal: error.message });
  }
  return { kind: 'after', delay: REMINDER, reason: 'InvalidObject' };
}

const isCondition = (value: unknown): value is Condition =>
  isRecord(value) &&
  typeof value['type'] === 'string' &&
  (value['status'] === 'True' || value['status'] === 'False' || value['status'] === 'Unknown') &&
  typeof value['lastTransitionTime'] === 'string';

export interface ForeignSchemaOptions extends InputCaches {
  readonly clock: Clock;
  readonly profileWriter: Pick<ProfileWriter, 'patchStatus'>;
  readonly schema: Pick<ServedSchema, 'checkRecently'>;
  readonly recordEvent: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
}

/**
 * Calls `reconcile`, unless another provider's CRD is installed or Cluster API Provider AWS reconciles the objects.
 * Another provider's CRD hides the fields that it lacks, and any write drops them from the stored object. So under such
 * a CRD, status is written only for an object that is being deleted, because a user waits for that deletion.
 */
export function onlyUnderOurSchema(reconcile: Reconcile, options: ForeignSchemaOptions): Reconcile {
  /** The last message about each object, so that no event is repeated. */
  const reported = new Map<string, string>();
  return async (key, context) => {
    const state = await options.schema.checkRecently(context.signal);
    const reason = reasonForSchema(state);
    if (reason === undefined || !isLeftToOthers(state)) {
      reported.clear();
      return reconcile(key, context);
    }
    const lookup = options.profiles.lookup(key);
    if (lookup.kind === 'absent') reported.delete(keyText(key));
    if (lookup.kind !== 'found') return reconcile(key, context);
    // Another provider's CRD may be the reason why the object cannot be decoded, so its fields are not reported.
    if (E.isLeft(lookup.decoded)) return requeueFor(reason);
    const keepsFields = state.kind === 'capaServes' && !state.isForeign;
    return report(options, lookup.decoded.right, reason, { reported, keepsFields }, context);
  };
}

async function report(
  options: ForeignSchemaOptions,
  object: AWSFargateProfile,
  reason: Reason,
  { reported, keepsFields }: { readonly reported: Map<string, string>; readonly keepsFields: boolean },
  { signal }: ReconcileContext,
): Promise<Requeue> {
  const goal = goalFor(readInputs(object, options));
  if (goal.kind === 'ignore') return DONE;
  if (goal.kind === 'paused') return requeueFor(reason);
  const reconcile: CompletedReconcile = {
    object,
    end: reason,
    now: options.clock.now(),
    waited: 0,
    attempts: 0,
  };
  if (keepsFields || isDeleting(object)) {
    const status = keepsFields ? statusAfter(reconcile) : withoutEmptyMessages(statusAfter(reconcile));
    const written = await options.profileWriter.patchStatus(object, status, signal);
    if (written === undefined) return CONFLICT;
  }
  const name = keyText(keyOf(object));
  const message = messageOf(reason);
  if (reported.get(name) !== message) for (const event of eventsAfter(reconcile)) options.recordEvent(object, event);
  reported.set(name, message);
  return requeueFor(reason);
}

const requeueFor = (reason: Reason): Requeue => ({ kind: 'after', delay: pollOf(reason, 0), reason: reason.name });

/** Cluster API Provider AWS's CRD rejects empty messages. */
const withoutEmptyMessages = ({ conditions = [], ...status }: AWSFargateProfileStatus): AWSFargateProfileStatus => ({
  ...status,
  conditions: conditions.map(({ message, ...rest }) =>
    message === '' || message === undefined ? rest : { ...rest, message },
  ),
});
