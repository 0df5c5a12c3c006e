import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { type Decision, type Situation, decide, nextProbeState } from './decide.ts';
import { foreignParts, type WebhookEntry, type WebhookPhase } from './parts.ts';
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
const SERVED: Answer = { kind: 'served', webhook: WEBHOOK };
const NOT_SERVED: Answer = { kind: 'notServed' };
const NOT_INSTALLED: Answer = { kind: 'notInstalled' };
const NO_WEBHOOK: Answer = { kind: 'noWebhook' };
const UNCLEAR: Answer = { kind: 'unclear', because: 'refused' };

const decideOn = (situation: Partial<Situation>): Decision =>
  decide({
    observation: { schema: 'foreign', entries: BOTH },
    probeState: probeStateFor(NOT_SERVED),
    record: EMPTY_RECORD,
    elapsed: ELAPSED,
    now: NOW,
    ...situation,
  });

const ALL = ['crd', 'mutating', 'validating'];
const restored = (hoursAgo: readonly number[], parts = ALL): KeeperRecord => ({
  restorations: hoursAgo.map((hours) => ({ at: NOW - hours * HOUR, parts })),
});

describe('the decision of the CRD keeper', () => {
  for (const schema of ['ours', 'absent'] as const)
    it(`is not needed if no webhook is left and the CRD is ${schema}`, () =>
      expect(foreignParts({ schema, entries: [] })).to.deep.equal([]));

  describe('while Cluster API Provider AWS', () => {
    const cases: readonly (readonly [given: string, answer: Answer, lasted: number, expected: object])[] = [
      ['serves the kind', SERVED, 2, { kind: 'leaveToCapa', webhook: WEBHOOK }],
      ['may serve the kind, because a webhook may be too new to be asked', SERVED, 1.999, { kind: 'wait', after: 1 }],
      ['does not serve the kind', NOT_SERVED, 0, { kind: 'restore' }],
      ['has been uninstalled for a minute', NOT_INSTALLED, 60, { kind: 'restore' }],
      ['may be in an upgrade, without its Service', NOT_INSTALLED, 59, { kind: 'wait', after: SECOND }],
      ['has had no webhook for a minute', NO_WEBHOOK, 60, { kind: 'restore' }],
      ['may be in an upgrade, without its webhooks', NO_WEBHOOK, 59, { kind: 'wait', after: SECOND }],
      ['does not answer, for example while it restarts', UNCLEAR, 86_400, { kind: 'wait' }],
    ];
    for (const [given, answer, lasted, expected] of cases)
      it(`${given}: ${Reflect.get(expected, 'kind')}`, () =>
        expect(decideOn({ probeState: probeStateFor(answer, lasted * SECOND) })).to.deep.include(expected));
  });

  describe('after reverts', () => {
    it('restores a third time, and then stops, however slow the reverts are', () => {
      expect(decideOn({ record: restored([11, 1]) })).to.deep.include({ kind: 'restore' });
      expect(decideOn({ record: restored([23.9, 12, 1]) })).to.deep.equal({ kind: 'stop', parts: ALL });
    });

    it('forgets what is older than 24 hours', () => {
      const decision = decideOn({ record: restored([24, 12, 1]) });
      expect(
        decision.kind === 'restore' && decision.record.restorations.map(({ at }) => (NOW - at) / HOUR),
      ).to.deep.equal([12, 1, 0]);
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
