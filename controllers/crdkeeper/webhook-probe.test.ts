import { expect } from 'chai';
import { KubeError } from '../../pkg/kube/errors.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { type WebhookEntry, entriesOf } from './observe.ts';
import { interpret } from './webhook-probe.ts';

const NAME = 'default.awsfargateprofile.infrastructure.cluster.x-k8s.io';
const URL = 'https://capa-webhook-service.capa-system.svc:443/mutate?timeout=10s';

const configuration = (...webhooks: readonly object[]): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: 'capa-mutating-webhook-configuration', uid: 'u', resourceVersion: '1' },
  webhooks,
});
const entries = (webhook: object = {}): readonly WebhookEntry[] =>
  entriesOf(
    'mutating',
    configuration({ name: 'other.example.com' }, { name: NAME, failurePolicy: 'Fail', ...webhook }),
  );
const failed = (detail: string, name = NAME): KubeError =>
  new KubeError(
    `patching: Internal error occurred: failed calling webhook "${name}": failed to call webhook: ${detail}`,
    {
      status: 500,
      reason: 'InternalError',
    },
  );

describe('the answer of a dry run', () => {
  const cases: readonly (readonly [result: string, error: KubeError | undefined, expected: string])[] = [
    ['success', undefined, 'served'],
    ['a webhook server without this webhook', failed('the server could not find the requested resource'), 'notServed'],
    ['no Service', failed(`Post "${URL}": service "capa-webhook-service" not found`), 'notInstalled'],
    ['no endpoints', failed(`Post "${URL}": no endpoints available for service "capa-webhook-service"`), 'unclear'],
    ['no connection', failed(`Post "${URL}": dial tcp 10.0.0.1:443: connect: connection refused`), 'unclear'],
    ['an unknown certificate', failed(`Post "${URL}": tls: failed to verify certificate`), 'unclear'],
    [
      'the failure of another webhook',
      failed('the server could not find the requested resource', 'policy.example.com'),
      'unclear',
    ],
    [
      'a denial by the webhook',
      new KubeError(`patching: admission webhook "${NAME}" denied the request: no`, {
        status: 403,
        reason: 'Forbidden',
      }),
      'served',
    ],
    [
      'a denial by another webhook',
      new KubeError('patching: admission webhook "a.example.com" denied the request: no', {
        status: 403,
        reason: 'Forbidden',
      }),
      'unclear',
    ],
    ['a deleted object', new KubeError('patching: not found', { status: 404, reason: 'NotFound' }), 'unclear'],
  ];
  for (const [result, error, expected] of cases)
    it(`is "${expected}" for ${result}`, () => expect(interpret(error, entries()).kind).to.equal(expected));

  for (const webhook of [
    { failurePolicy: 'Ignore' },
    { objectSelector: { matchLabels: { a: 'b' } } },
    { namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } },
    { matchConditions: [{ name: 'a', expression: 'false' }] },
  ])
    it(`is "unclear" for a success that needs no answer: ${JSON.stringify(webhook)}`, () =>
      expect(interpret(undefined, entries(webhook)).kind).to.equal('unclear'));

  it('is "served" for a success with the empty selectors that the API server adds', () =>
    expect(interpret(undefined, entries({ objectSelector: {}, namespaceSelector: {} })).kind).to.equal('served'));
});

describe('the webhooks for AWSFargateProfiles', () => {
  it('are found with their position, and no other webhook is', () => {
    const found = entriesOf('mutating', configuration({ name: 'a' }, { name: NAME }, {}, { name: `x${NAME}` }));
    expect(found.map(({ name, index }) => [name, index])).to.deep.equal([[NAME, 1]]);
    expect(entriesOf('validating', undefined)).to.deep.equal([]);
  });
});
