import type { Condition } from '../../../../api/v1beta2/index.ts';
import { isDeleting } from '../../../shared/object-state.ts';
import type { ConditionType, ConditionUpdate } from './condition-list.ts';
import { availableValue, contentsOfAffectedConditions } from './credentials-profile-role.ts';
import { readyValue } from './ready.ts';
import { reportedNature, stalledUpdate } from './stalled.ts';
import { type CompletedPass, reasonOf } from '../../model/pass.ts';
import { messageOf } from '../../reasons/reasons.ts';

export function conditionsAfter(pass: CompletedPass): readonly ConditionUpdate[] {
  const { object } = pass;
  const observedGeneration = object.metadata.generation ?? 0;
  const state = (type: ConditionType, status: Condition['status'], reason: string, message = ''): ConditionUpdate => ({
    type,
    status,
    observedGeneration,
    reason,
    message,
  });
  const reason = reasonOf(pass);
  const nature = reason && reportedNature(reason, pass);
  const detail = reason === undefined ? '' : messageOf(reason, pass.waited);
  const ready = readyValue(pass, reason);
  const stalled = stalledUpdate(pass, nature);
  // In an outage, an object that was Ready at this generation has Ready True or Unknown, and is not Reconciling.
  const isUnderWay = nature === 'wait' || nature === 'retry' || (nature === 'outage' && ready.status === 'False');

  const available = availableValue(pass);

  return [
    state('Ready', ready.status, ready.reason, ready.message),
    state('Available', available.status, available.reason, available.message),
    ...contentsOfAffectedConditions(pass, reason).map(([type, part]) =>
      state(type, part.status, part.reason, part.message),
    ),
    isUnderWay && stalled === undefined
      ? state('Reconciling', 'True', reason?.name ?? 'Reconciling', detail)
      : state('Reconciling', 'False', stalled === undefined ? 'Idle' : 'Stalled'),
    stalled ?? state('Stalled', 'False', 'NotStalled'),
    isDeleting(object)
      ? state('Deleting', 'True', reason?.name ?? 'Deleting', detail)
      : state('Deleting', 'False', 'NotDeleting'),
    state('Paused', 'False', 'NotPaused'),
  ];
}
