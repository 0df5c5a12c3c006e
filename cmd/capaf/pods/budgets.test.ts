import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { evictionOf, toBudgets } from './budgets.ts';

type Fields = Readonly<Record<string, unknown>>;

const meta = (name: string, more: Fields = {}): KubeObject['metadata'] => {
  return { name, namespace: 'shop', uid: 'u', resourceVersion: '1', ...more };
};
const READY = [{ type: 'Ready', status: 'True' }];

const pod = (status: Fields = {}, metadata: Fields = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: meta('web-1', { labels: { app: 'web', tier: 'front' }, ...metadata }),
  status: { phase: 'Running', conditions: READY, ...status },
});

const budget = (name: string, selector: unknown, status: Fields = {}, spec: Fields = {}, metadata: Fields = {}) => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: meta(name, metadata),
  spec: { ...(selector !== undefined && { selector }), ...spec },
  status: { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2, ...status },
});

const WEB = { matchLabels: { app: 'web' } };
const NOT_READY = { conditions: [{ type: 'Ready', status: 'False' }] };
const BROKEN = { currentHealthy: 1 };

describe('the eviction of a pod', () => {
  for (const [what, of, budgets, allowed, names] of [
    ['no budget selects it', pod(), [budget('api', { matchLabels: { app: 'api' } })], true, []],
    ['its budget allows a disruption', pod(), [budget('web', WEB, { disruptionsAllowed: 1 })], true, ['web']],
    ['its budget allows none', pod(), [budget('web', WEB)], false, ['web']],
    ['its budget selects each pod', pod(), [budget('all', {})], false, ['all']],
    ['the budget has no selector', pod(), [budget('none', undefined)], true, []],
    [
      'its budget selects it by an expression',
      pod(),
      [budget('front', { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['back'] }] })],
      false,
      ['front'],
    ],
    ['the budget is of another namespace', pod(), [budget('web', WEB, {}, {}, { namespace: 'x' })], true, []],
    [
      'two budgets select it',
      pod(),
      [budget('a', WEB, { disruptionsAllowed: 1 }), budget('b', {}, { disruptionsAllowed: 1 })],
      false,
      ['a', 'b'],
    ],
    ['it is Pending', pod({ phase: 'Pending', ...NOT_READY }), [budget('web', WEB)], true, ['web']],
    [
      'it is being deleted',
      pod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      [budget('web', WEB)],
      true,
      ['web'],
    ],
    ['it is not ready, and enough others are', pod(NOT_READY), [budget('web', WEB)], true, ['web']],
    ['it is not ready, and too few others are', pod(NOT_READY), [budget('web', WEB, BROKEN)], false, ['web']],
    [
      'it is not ready, and the budget ignores such pods',
      pod(NOT_READY),
      [budget('web', WEB, BROKEN, { unhealthyPodEvictionPolicy: 'AlwaysAllow' })],
      true,
      ['web'],
    ],
  ] as const)
    it(`is ${allowed ? 'allowed' : 'refused'} if ${what}`, () => {
      expect(evictionOf(of, toBudgets(budgets))).to.deep.equal({ allowed, budgets: names });
    });
});
