import { keyOf, keyText, type KubeObject } from 'controller-runtime/client';
import { formatAge, type Ms, parseTimestamp } from 'controller-runtime/env';
import { textAt } from 'controller-runtime/json';
import { type AWSFargateProfile, type Condition, KIND } from '../../../api/v1beta2/index.ts';
import type { TreeNode } from '../tree.ts';

/** NEGATIVE conditions show a problem when they are True, POSITIVE conditions when they are not. */
const NEGATIVE = ['Stalled', 'Reconciling', 'Deleting', 'Paused', 'SelectorsOverlap'];
const POSITIVE = ['Ready', 'IAMFargateRolesReady', 'EKSFargateProfileReady', 'CredentialsReady', 'Available'];
/** How many events are shown per object: only the newest. */
const SHOWN_EVENTS = 3;

/** An object is Ready if its condition Ready is True for the latest generation. */
export function objectNode(object: AWSFargateProfile, profiles: readonly TreeNode[], events: readonly TreeNode[]) {
  const { conditions = [], observedGeneration = -1 } = object.status ?? {};
  const isObserved = observedGeneration >= (object.metadata.generation ?? 0);
  const isReady = isObserved && conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  const result = isReady ? ('ok' as const) : ('problem' as const);
  const message = isObserved
    ? ''
    : 'the controller has not seen the last change of the spec; "capaf doctor" looks at it';
  const wrong = wrongConditions(conditions);
  const withoutRepetition = (event: TreeNode): TreeNode =>
    wrong.some((each) => each.message === event.message) ? { ...event, message: '' } : event;
  return {
    kind: KIND,
    name: keyText(keyOf(object)),
    state: isReady ? 'Ready' : 'not Ready',
    result,
    message,
    children: [
      ...wrong.map(conditionNode),
      ...findAvailable(conditions, profiles),
      ...profiles,
      ...events.map(withoutRepetition),
    ],
  };
}

/**
 * Returns the condition Available if a profile is being replaced and the condition is True: it shows that pods can
 * start, even while the replacement fails.
 */
function findAvailable(conditions: readonly Condition[], profiles: readonly TreeNode[]): readonly TreeNode[] {
  if (!profiles.some(({ facts }) => facts?.['relation'] === 'predecessor')) return [];
  const available = conditions.find(({ type, status }) => type === 'Available' && status === 'True');
  return available === undefined ? [] : [{ ...conditionNode(available), result: 'ok' }];
}

/** Returns the conditions that show a problem. Of those with the same message, returns only the first. */
function wrongConditions(conditions: readonly Condition[]): readonly Condition[] {
  const wrong = [...POSITIVE, ...NEGATIVE].flatMap((name) =>
    conditions.filter(({ type, status, reason }) => {
      const isTold = type === 'Ready' && reason !== 'Ready';
      return type === name && (isTold || status !== (NEGATIVE.includes(type) ? 'False' : 'True'));
    }),
  );
  return wrong.filter((one, index) => wrong.findIndex((other) => other.message === one.message) === index);
}

const conditionNode = ({ type, status, reason = '', message = '' }: Condition): TreeNode => {
  return { kind: 'Condition', name: type, state: `${status} ${reason}`, result: 'warning', message };
};

/** The keys are `namespace/name` of AWSFargateProfiles, and the newest event comes first. */
export function eventNodes(events: readonly KubeObject[], now: Ms): ReadonlyMap<string, readonly TreeNode[]> {
  const timeOf = (event: KubeObject): Ms =>
    parseTimestamp(textAt(event, 'lastTimestamp') ?? textAt(event, 'eventTime') ?? '') ?? 0;
  const byObject = Map.groupBy(
    // Times have whole seconds. Within a second, the names decide: those of the controller's events increase over time.
    events.toReversed().toSorted((a, b) => timeOf(b) - timeOf(a)),
    ({ metadata: { namespace = '' }, involvedObject }) =>
      keyText({ namespace, name: textAt(involvedObject, 'name') ?? '' }),
  );
  const toNode = (event: KubeObject): TreeNode => {
    const [name, message] = [textAt(event, 'reason') ?? '', textAt(event, 'message') ?? ''];
    const result = textAt(event, 'type') === 'Warning' ? 'warning' : 'ok';
    return { kind: 'Event', name, state: `${formatAge(now - timeOf(event))} ago`, result, message };
  };
  return new Map([...byObject].map(([key, each]) => [key, each.slice(0, SHOWN_EVENTS).map(toNode)]));
}
