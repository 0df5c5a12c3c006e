import { expect } from 'chai';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { type Decision, type Situation, decide, nextProbeState } from './decide.ts';
import type { WebhookEntry, WebhookPhase } from './observe.ts';
import type { Answer } from './webhook-probe.ts';
import { type KeeperRecord, EMPTY_RECORD } from './record.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const NOW = 1_000 * HOUR;
const ELAPSED = 100 * HOUR;
const WEBHOOK = 'default.awsfargateprofile.infrastructure.cluster.x-k8s.io';

const configuration: KubeObject = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: 'capa-mutating-webhook-configuration', uid: 'u', resourceVersion: '1' },
};
const entry = (phase: WebhookPhase): WebhookEntry => ({
  phase,
  name: WEBHOOK,
  index: 0,
  isDecisive: true,
  configuration,
});
const BOTH = [entry('mutating'), entry('validating')];

const probeStateFor = (answer: Answer, agoMs = 0) => ({ answer, since: ELAPSED - agoMs });
const NOT_SERVED = probeStateFor({ kind: 'notServed' });
const SERVED: Answer = { kind: 'served', webhook: WEBHOOK };

const decideOn = (situation: Partial<Situation>): Decision =>
  decide({
    observation: { schema: 'foreign', entries: BOTH },
    probeState: NOT_SERVED,
    record: EMPTY_RECORD,
    elapsed: ELAPSED,
    now: NOW,
    ...situation,
  });

/**
 * Returns a record of restorations of the CRD and the webhook configurations, one restoration for each number in
 * `hoursAgo`.
 */
const restored = (...hoursAgo: readonly number[]): KeeperRecord => ({
  restorations: hoursAgo.map((hours) => ({ at: NOW - hours * HOUR, parts: ['crd', 'mutating', 'validating'] })),
});

describe('the decision of the keeper of the CRD', () => {
  it('is to do nothing if the CRD is ours and no webhook is left', () => {
    for (const answer of [SERVED, { kind: 'notServed' } as const])
      expect(
        decideOn({ observation: { schema: 'ours', entries: [] }, probeState: probeStateFor(answer) }),
      ).to.deep.equal({
        kind: 'rest',
      });
  });

  it('is not to create a CRD that does not exist or is being deleted', () => {
    expect(decideOn({ observation: { schema: 'absent', entries: [] } })).to.deep.equal({ kind: 'rest' });
  });

  it('is to restore only the webhook that is there', () => {
    const decision = decideOn({ observation: { schema: 'ours', entries: [entry('validating')] } });
    expect(decision).to.deep.include({ kind: 'restore', parts: ['validating'] });
  });

  describe('while Cluster API Provider AWS', () => {
    const cases: readonly (readonly [given: string, answer: Answer, lastedMs: number, expected: object])[] = [
      ['serves the kind', SERVED, 2 * SECOND, { kind: 'leaveToCapa', webhook: WEBHOOK }],
      [
        'seems to serve the kind, because a webhook may be too new to be asked',
        SERVED,
        1_999,
        { kind: 'wait', after: 1 },
      ],
      ['does not serve the kind', { kind: 'notServed' }, 0, { kind: 'restore' }],
      ['has been uninstalled for a minute', { kind: 'notInstalled' }, 60 * SECOND, { kind: 'restore' }],
      [
        'may be in an upgrade, without its Service',
        { kind: 'notInstalled' },
        59 * SECOND,
        { kind: 'wait', after: SECOND },
      ],
      ['has had no webhook for a minute', { kind: 'noWebhook' }, 60 * SECOND, { kind: 'restore' }],
      [
        'may be in an upgrade, without its webhooks',
        { kind: 'noWebhook' },
        59 * SECOND,
        { kind: 'wait', after: SECOND },
      ],
      [
        'does not answer, for example while it restarts',
        { kind: 'unclear', because: 'refused' },
        24 * HOUR,
        { kind: 'wait' },
      ],
    ];
    for (const [given, answer, lastedMs, expected] of cases)
      it(`${given}, is to ${Reflect.get(expected, 'kind')}`, () =>
        expect(decideOn({ probeState: probeStateFor(answer, lastedMs) })).to.deep.include(expected));
  });

  it('leaves everything as it is while Cluster API Provider AWS serves the kind under our CRD', () => {
    const observation = { schema: 'ours', entries: BOTH } as const;
    expect(decideOn({ observation, probeState: probeStateFor(SERVED, HOUR) })).to.deep.equal({
      kind: 'leaveToCapa',
      webhook: WEBHOOK,
    });
  });

  describe('after reverts', () => {
    it('is to restore a third time, and then to stop, however slow the reverts are', () => {
      expect(decideOn({ record: restored(11, 1) })).to.deep.include({ kind: 'restore' });
      expect(decideOn({ record: restored(23.9, 12, 1) })).to.deep.equal({
        kind: 'stop',
        parts: ['crd', 'mutating', 'validating'],
      });
    });

    it('forgets what is older than 24 hours', () => {
      const decision = decideOn({ record: restored(24, 12, 1) });
      expect(
        decision.kind === 'restore' && decision.record.restorations.map(({ at }) => (NOW - at) / HOUR),
      ).to.deep.equal([12, 1, 0]);
    });

    it('counts webhooks that come back alone', () => {
      const observation = { schema: 'ours', entries: BOTH } as const;
      const record = {
        restorations: [9, 5, 1].map((h) => ({ at: NOW - h * HOUR, parts: ['mutating', 'validating'] })),
      };
      expect(decideOn({ observation, record })).to.deep.include({ kind: 'stop', parts: ['mutating', 'validating'] });
    });
  });
});

describe('nextProbeState', () => {
  it('remembers since when the answer has been the same', () => {
    const first = nextProbeState(undefined, { kind: 'noWebhook' }, 5);
    expect(nextProbeState(first, { kind: 'noWebhook' }, 9)).to.deep.include({ since: 5 });
    expect(nextProbeState(first, { kind: 'notInstalled' }, 9)).to.deep.include({ since: 9 });
  });
});
