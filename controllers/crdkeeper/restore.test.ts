import { expect } from 'chai';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { entriesOf } from './observe.ts';
import { removals, writersOf } from './restore.ts';

const [DEFAULT, VALIDATION] = ['default', 'validation'].map(
  (what) => `${what}.awsfargateprofile.infrastructure.cluster.x-k8s.io`,
);
const written = (manager: string, time: string, fieldsV1: object) => ({ manager, time, fieldsV1 });
const configuration = (webhooks: readonly object[], managedFields: readonly object[] = []): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: {
    name: 'capa-mutating-webhook-configuration',
    uid: 'u',
    resourceVersion: '1',
    managedFields,
  } as KubeObject['metadata'],
  webhooks,
});

describe('the removal of webhooks', () => {
  it('tests the name of each webhook before it removes it, the last one first', () => {
    const webhooks = [{ name: DEFAULT }, { name: 'a.example.com' }, { name: VALIDATION }];
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
    const entries = entriesOf(
      'mutating',
      configuration(
        [{ name: DEFAULT }],
        [
          written('clusterctl', '2026-11-20T00:00:00Z', rules),
          written('kustomize-controller', '2026-11-21T00:00:00Z', rules),
          written('cainjector', '2026-11-22T00:00:00Z', caBundle),
        ],
      ),
    );
    const crd = configuration(
      [],
      [
        written('argocd-controller', '2026-11-21T00:00:00Z', versions),
        written('capaf-crd-keeper', '2026-11-22T00:00:00Z', versions),
        written('kubectl-label', '2026-11-22T00:00:00Z', { 'f:metadata': {} }),
      ],
    );
    const observation = { crd, schema: 'foreign', entries, inOrder: [] } as const;
    expect(writersOf(observation, ['crd', 'mutating'])).to.deep.equal(['argocd-controller', 'kustomize-controller']);
    expect(writersOf(observation, ['mutating'])).to.deep.equal(['kustomize-controller']);
    expect(writersOf({ ...observation, crd: undefined }, ['crd', 'validating'])).to.deep.equal([]);
  });
});
