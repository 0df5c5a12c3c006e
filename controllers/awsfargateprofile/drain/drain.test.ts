import { expect } from 'chai';
import { formatTimestamp } from 'controller-runtime/env';
import type { ObjectMeta } from 'controller-runtime/schema';
import { ProfileName } from '../../../api/names.ts';
import { type Drain, type DrainPod, drainBefore, drainingReason, nextStep, toDrainPod } from './drain.ts';
import { messageOf } from '../reasons/reasons.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import type { RecordedProfile } from '../../shared/record.ts';
import type { ServerProblem } from '../../shared/workload-server.ts';
import type { Mutation } from '../model/change.ts';
import { HERE, NOW as AWS_NOW, PROFILE_ID, aProfile, aRole, observed } from '../testing/builders.ts';
import { living } from '../testing/plan-tables.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const SINCE = 1_893_499_200_500;
const DRAIN: Drain = {
  predecessor: ProfileName.of('default_web'),
  successor: { name: '9999-default_web', selectors: [{ namespace: 'shop', labels: { app: 'w*' } }] },
  since: SINCE,
  until: SINCE + 10 * MINUTE,
};
const NOW = SINCE + MINUTE;

const aPod = (name: string, over: Partial<DrainPod> = {}): DrainPod => ({
  namespace: 'shop',
  name,
  uid: `uid-of-${name}`,
  movable: true,
  ...over,
});
const leaving = (at: number): Partial<DrainPod> => ({ terminatesAt: at });
const STAYS = { movable: false };

/** Describes in words what happens next. */
function say(found: readonly DrainPod[] | ServerProblem, { drain = DRAIN, now = NOW } = {}): string {
  const step = nextStep(drain, found, now);
  if (step.kind === 'wait') {
    const { total, left } = step.counts ?? {};
    const evict = step.evict.map(({ namespace, name }) => `${namespace}/${name}`).join(' ');
    return `evict [${evict}]${total === undefined ? '' : `, ${left} of ${total} left`}`;
  }
  const { because, stopped, problem } = step.drained;
  const stops = stopped && `stops ${stopped.count}, ${stopped.unmoved} unmoved [${stopped.names.join(' ')}]`;
  return `over: ${because}, ${stops ?? `stops ?${problem === undefined ? '' : ` (${problem})`}`}`;
}

describe('the next step of a drain', () => {
  const late = { now: SINCE + 10 * MINUTE };
  const revert: Drain = { ...DRAIN, obstacle: 'comesLater' };
  const problem = { problem: 'no answer', remedy: 'wait' };
  const table: readonly (readonly [string, () => string, string])[] = [
    ['no pods', () => say([]), 'over: moved, stops 0, 0 unmoved []'],
    [
      'pods that move, in the order of namespace and name',
      () => say([aPod('b'), aPod('a'), aPod('z', { namespace: 'app' }), aPod('a', { namespace: 'shop-2' })]),
      'evict [app/z shop/a shop/b shop-2/a], 4 of 4 left',
    ],
    ['pods that stay are not waited for', () => say([aPod('a', STAYS)]), 'over: moved, stops 1, 0 unmoved [shop/a]'],
    ['beside pods that move', () => say([aPod('a', STAYS), aPod('b')]), 'evict [shop/b], 1 of 2 left'],
    ['a pod that is terminating', () => say([aPod('a', leaving(NOW + SECOND))]), 'evict [], 1 of 1 left'],
    ['a minute after its grace period', () => say([aPod('a', leaving(NOW - MINUTE))]), 'evict [], 1 of 1 left'],
    [
      'more than a minute after it',
      () => say([aPod('a', leaving(NOW - MINUTE - 1))]),
      'over: moved, stops 1, 0 unmoved [shop/a]',
    ],
    ['just before the timeout', () => say([aPod('a')], { now: late.now - 1 }), 'evict [shop/a], 1 of 1 left'],
    [
      'at the timeout, with the pods that have not moved named first',
      () => say([aPod('a', STAYS), aPod('b'), aPod('c', STAYS), aPod('d'), aPod('e')], late),
      'over: timeout, stops 5, 3 unmoved [shop/b shop/d shop/e]',
    ],
    [
      'at the timeout, with each pod named once',
      () => say([aPod('a', STAYS), aPod('b')], late),
      'over: timeout, stops 2, 1 unmoved [shop/b shop/a]',
    ],
    ['all moved at the timeout', () => say([], late), 'over: moved, stops 0, 0 unmoved []'],
    ['no answer', () => say(problem), 'evict []'],
    ['no answer at the timeout', () => say(problem, late), 'over: timeout, stops ? (no answer)'],
    ['after a revert', () => say([aPod('a')], { drain: revert }), 'over: comesLater, stops 1, 0 unmoved [shop/a]'],
    ['after a revert, no answer', () => say(problem, { drain: revert }), 'over: comesLater, stops ? (no answer)'],
    [
      'a name that is no label',
      () => say([aPod('a')], { drain: { ...DRAIN, obstacle: 'noLabel' } }),
      'over: noLabel, stops ?',
    ],
  ];
  for (const [situation, found, expected] of table)
    it(`${situation}: ${expected}`, () => expect(found()).to.equal(expected));
});

describe('a pod on a predecessor', () => {
  const meta = (over: Partial<ObjectMeta> = {}): ObjectMeta => ({
    name: 'web-1',
    namespace: 'shop',
    uid: 'u',
    resourceVersion: '1',
    labels: { app: 'web' },
    creationTimestamp: formatTimestamp(SINCE - SECOND),
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'o', controller: true }],
    ...over,
  });
  const owner = (kind: string, controller = true): Partial<ObjectMeta> => ({
    ownerReferences: [{ apiVersion: 'v1', kind, name: 'x', uid: 'o', controller }],
  });
  const table: readonly (readonly [string, Partial<ObjectMeta>, boolean])[] = [
    ['of a ReplicaSet', {}, true],
    ['of a StatefulSet', owner('StatefulSet'), true],
    ['of a Job', owner('Job'), false],
    ['without an owner', { ownerReferences: [] }, false],
    ['with an owner that is no controller', owner('ReplicaSet', false), false],
    ['that another namespace has', { namespace: 'other' }, false],
    ['without the label of the selector', { labels: {} }, false],
    ['with another value of the label', { labels: { app: 'db' } }, false],
    // `creationTimestamp` contains whole seconds, so this pod may be older or newer than the drain.
    ['created in the second in which the drain began', { creationTimestamp: formatTimestamp(SINCE) }, false],
    ['created later', { creationTimestamp: formatTimestamp(SINCE + SECOND) }, false],
    ['whose age cannot be read', { creationTimestamp: 'yesterday' }, false],
  ];
  for (const [situation, over, movable] of table)
    it(`${situation} ${movable ? 'moves' : 'stays'}`, () =>
      expect(toDrainPod(meta(over), DRAIN).movable).to.equal(movable));

  it('terminates at its deletionTimestamp, which is the end of its grace period', () => {
    expect(toDrainPod(meta({ deletionTimestamp: formatTimestamp(SINCE - 500) }), DRAIN).terminatesAt).to.equal(
      SINCE - 500,
    );
  });
});

describe('what is told of a drain', () => {
  const step = { kind: 'wait', evict: [], counts: { total: 12, left: 3 } } as const;
  it('says how many pods still have to leave, and until when', () => {
    expect(messageOf(drainingReason(DRAIN, step, [], { now: NOW, begins: false }))).to.equal(
      'The controller is evicting 3 of 12 pods from Fargate profile "default_web", which "9999-default_web" has replaced. The controller tries again every 10 seconds, and deletes "default_web" at 2030-01-01T12:10:00Z at the latest; EKS then stops the remaining pods.',
    );
  });

  it('is repeated when the time is over, at the latest after 10 s', () => {
    const at = (now: number) => drainingReason(DRAIN, step, [], { now, begins: true }).facts.remaining;
    expect(at(DRAIN.until - 3 * SECOND)).to.equal(3 * SECOND);
  });
});

describe('A drain', () => {
  const OLD = ProfileName.of('web');
  const SUCCESSOR = '9999-web';
  /** EKS starts new pods on this profile, because its name sorts before the successor's. */
  const FIRST = ProfileName.of('0000-web');
  const REMOVAL = { kind: 'deleteProfile', name: OLD, because: 'replaced' } as const;
  const ACTIVE_SINCE = AWS_NOW - 10 * MINUTE;
  const active = (name: string): FargateProfile =>
    aProfile({ name: ProfileName.of(name), arn: aProfile().arn.replace(PROFILE_ID, `id-of-${name}`) });
  const seen = { ...observed({ role: aRole() }), profiles: [active('web'), active(FIRST), active(SUCCESSOR)] };
  const drain = (drainSince: number | undefined, drainTimeout = '5m', mutation: Mutation = REMOVAL) => {
    const profiles: readonly RecordedProfile[] = [
      { name: OLD, id: 'id-of-web', served: true, ...(drainSince !== undefined && { drainSince }) },
      { name: ProfileName.of(SUCCESSOR), id: `id-of-${SUCCESSOR}`, served: true, activeSince: ACTIVE_SINCE },
    ];
    const spec = {
      profileName: ProfileName.of(SUCCESSOR),
      updateStrategy: { type: 'Replace', replace: { drainTimeout } },
    } as const;
    const found = drainBefore(mutation, living({ spec, record: { in: HERE, profiles } })(seen), seen);
    return found && { since: found.since - AWS_NOW, until: found.until - AWS_NOW, obstacle: found.obstacle };
  };

  for (const [situation, since, expected] of [
    ['begins now', undefined, 0],
    ['goes on since the time on record', AWS_NOW - MINUTE, -MINUTE],
    ['has ended at its timeout', AWS_NOW - 6 * MINUTE, -6 * MINUTE],
    ['that began when the replacement became ACTIVE goes on', ACTIVE_SINCE, -10 * MINUTE],
    ['for an earlier replacement is void', ACTIVE_SINCE - 1, 0],
    ['from the future begins now', AWS_NOW + MINUTE, 0],
  ] as const)
    it(situation, () =>
      expect(drain(since)).to.deep.equal({ since: expected, until: expected + 5 * MINUTE, obstacle: undefined }),
    );

  for (const [situation, timeout] of [
    ['is not asked for', ''],
    ['is turned off', '0s'],
  ] as const)
    it(`that ${situation} does not begin`, () => expect(drain(AWS_NOW - MINUTE, timeout)).to.equal(undefined));

  for (const because of ['unwanted', 'failed', 'different'] as const)
    it(`does not come before the deletion of a profile that is ${because}`, () =>
      expect(drain(AWS_NOW, '5m', { ...REMOVAL, because })).to.equal(undefined));

  it('moves no pods if new pods would start on the predecessor again', () => {
    expect(drain(undefined, '5m', { ...REMOVAL, name: FIRST })?.obstacle).to.equal('comesLater');
  });
});
