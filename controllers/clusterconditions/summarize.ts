import { textAt } from '../../api/record.ts';
import { MAX_FACT, cut } from '../../api/text.ts';
import { KIND } from '../../api/v1beta2/index.ts';
import { toPrintableLine } from '../../pkg/env/printable.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { findCondition } from './condition.ts';
import type { ConditionValue } from './condition.ts';

/**
 * How many AWSFargateProfiles that are not Ready a message names. Cluster API names the same number of objects in its
 * conditions.
 */
const MAX_NAMED = 3;
/** The maximum length of the message about one AWSFargateProfile, in UTF-16 code units. */
const MAX_TEXT = 200;

/**
 * Summarizes the condition Ready of AWSFargateProfiles in one condition, in the form in which Cluster API summarizes
 * the conditions of Machines. The same profiles in the same order give the same condition.
 */
export function summarizeProfiles(profiles: readonly KubeObject[]): ConditionValue {
  if (profiles.length === 0)
    return { status: 'True', reason: 'NoProfiles', message: `No ${KIND} names this Cluster in spec.clusterName` };
  const withStatus = (status: string): readonly KubeObject[] => profiles.filter((each) => readyStatus(each) === status);
  const [notReady, unknown] = [withStatus('False'), withStatus('Unknown')];
  const others = [...notReady, ...unknown];
  const count = countReady(profiles.length - others.length, profiles.length);
  if (others.length === 0) return { status: 'True', reason: 'Ready', message: count };
  const rest = others.length - MAX_NAMED;
  const lines = [
    `* ${count}`,
    ...others.slice(0, MAX_NAMED).map((each) => `* ${KIND} ${each.metadata.name}: ${describeReady(each)}`),
    ...(rest > 0 ? [`* And ${rest} more ${nounFor(rest)} not Ready`] : []),
  ];
  const message = lines.join('\n');
  return notReady.length > 0
    ? { status: 'False', reason: 'NotReady', message }
    : { status: 'Unknown', reason: 'ReadyUnknown', message };
}

function countReady(ready: number, all: number): string {
  return `${ready} of ${all} ${nounFor(all)} ${all === 1 ? 'is' : 'are'} Ready`;
}

const nounFor = (count: number): string => (count === 1 ? KIND : `${KIND}s`);

/** The status of the condition Ready. A condition that is missing or malformed counts as Unknown. */
function readyStatus(profile: KubeObject): ConditionValue['status'] {
  const status = textAt(findCondition(profile, 'Ready'), 'status');
  return status === 'True' || status === 'False' ? status : 'Unknown';
}

/** The message of the condition Ready in one line, without characters that a terminal would interpret. */
function describeReady(profile: KubeObject): string {
  const ready = findCondition(profile, 'Ready');
  const text = textAt(ready, 'message') ?? textAt(ready, 'reason') ?? 'The manager has not reported Ready yet';
  return cut(toPrintableLine(cut(text, MAX_FACT)), MAX_TEXT);
}
