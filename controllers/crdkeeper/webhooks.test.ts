import { expect } from 'chai';
import { KubeError, type KubeObject } from 'controller-runtime/client';
import { entriesOf, type WebhookEntry, removals, writersOf } from './parts.ts';
import { interpret } from './webhook-probe.ts';

const [DEFAULT = '', VALIDATION = ''] = ['default', 'validation'].map(
  (what) => `${what}.awsfargateprofile.infrastructure.cluster.x-k8s.io`,
);
const URL = 'https://capa-webhook-service.capa-system.svc:443/mutate?timeout=10s';

const configuration = (webhooks: readonly object[], managedFields: readonly object[] = []): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: 'capa', uid: 'u', resourceVersion: '1', managedFields } as KubeObject['metadata'],
  webhooks,
});
const written = (manager: string, day: number, fieldsV1: object) => ({
  manager,
  time: `2026-11-${day}T00:00:00Z`,
  fieldsV1,
});
const entries = (webhook: object = {}): readonly WebhookEntry[] =>
  entriesOf('mutating', configuration([{ name: 'other.example.com' }, { name: DEFAULT, ...webhook }]));
const errorOf = (message: string, status: number, reason: string): KubeError =>
  new KubeError(`patching: ${message}`, { status, reason });
const failed = (detail: string, name = DEFAULT): KubeError =>
  errorOf(`failed calling webhook "${name}": failed to call webhook: ${detail}`, 500, 'InternalError');
const denied = (name: string): KubeError =>
  errorOf(`admission webhook "${name}" denied the request: no`, 403, 'Forbidden');

describe('the removal of webhooks', () => {
  it('tests the name of each webhook before it removes it, the last one first, and removes no other', () => {
    const webhooks = [{ name: DEFAULT }, { name: `x${DEFAULT}` }, { name: VALIDATION }];
    expect(removals(entriesOf('mutating', configuration(webhooks)))).to.deep.equal([
      { op: 'test', path: '/webhooks/2/name', value: VALIDATION },
      { op: 'remove', path: '/webhooks/2' },
      { op: 'test', path: '/webhooks/0/name', value: DEFAULT },
      { op: 'remove', path: '/webhooks/0' },
    ]);
  });
});

describe('the writers of the CRD and of the webhooks', () => {
  const rules = { 'f:webhooks': { [`k:{"name":"${DEFAULT}"}`]: { 'f:rules': {} } } };
  const caBundle = { 'f:webhooks': { [`k:{"name":"${DEFAULT}"}`]: { 'f:clientConfig': { 'f:caBundle': {} } } } };
  const versions = { 'f:spec': { 'f:versions': {} } };

  it('are the newest field managers of the parts, not those that only add a certificate or a label', () => {
    const ofWebhook = [
      written('clusterctl', 20, rules),
      written('kustomize-controller', 21, rules),
      written('cainjector', 22, caBundle),
    ];
    const ofCrd = [
      written('argocd-controller', 21, versions),
      written('capaf-crd-keeper', 22, versions),
      written('kubectl-label', 22, { 'f:metadata': {} }),
    ];
    const observation = {
      crd: configuration([], ofCrd),
      schema: 'foreign',
      entries: entriesOf('mutating', configuration([{ name: DEFAULT }], ofWebhook)),
      inOrder: [],
    } as const;
    expect(writersOf(observation, ['crd', 'mutating'])).to.deep.equal(['argocd-controller', 'kustomize-controller']);
    expect(writersOf(observation, ['mutating'])).to.deep.equal(['kustomize-controller']);
    expect(writersOf({ ...observation, crd: undefined }, ['crd', 'validating'])).to.deep.equal([]);
  });
});

describe('the answer of a dry run', () => {
  const cases: readonly (readonly [result: string, error: KubeError | undefined, expected: string])[] = [
    ['success', undefined, 'served'],
    ['a webhook server without this webhook', failed('the server could not find the requested resource'), 'notServed'],
    ['no Service', failed(`Post "${URL}": service "capa-webhook-service" not found`), 'notInstalled'],
    ['no endpoints', failed(`Post "${URL}": no endpoints available for service "capa-webhook-service"`), 'unclear'],
    ['no connection', failed(`Post "${URL}": dial tcp 10.0.0.1:443: connect: connection refused`), 'unclear'],
    ['an unknown certificate', failed(`Post "${URL}": tls: failed to verify certificate`), 'unclear'],
    ['the failure of another webhook', failed('the server could not find the requested resource', 'x'), 'unclear'],
    ['a denial by the webhook', denied(DEFAULT), 'served'],
    ['a denial by another webhook', denied('a.example.com'), 'unclear'],
    ['a deleted object', errorOf('not found', 404, 'NotFound'), 'unclear'],
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
