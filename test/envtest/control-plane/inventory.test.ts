import { expect } from 'chai';
import { changesTo, differencesOf } from './inventory.ts';

const SERVICES = '/registry/apiregistration.k8s.io/apiservices/';
const LEASE = '/registry/leases/kube-system/apiserver-x';

const expected = new Map([
  ['/registry/namespaces/default', 'a'],
  ['/registry/configmaps/kube-system/tracking', 'b'],
  ['/registry/priorityclasses/high', 'c'],
  [LEASE, 'first'],
]);
const found = new Map([
  ['/registry/namespaces/default', 'a'],
  ['/registry/configmaps/kube-system/tracking', 'changed'],
  ['/registry/secrets/default/token', 'd'],
  [`${SERVICES}v1.example.org`, 'e'],
  [LEASE, 'renewed'],
  ['compact_rev_key', '1'],
]);

describe('the inventory', () => {
  it('lists each additional, missing and changed key, except those that the API server writes for itself', () => {
    expect(differencesOf(expected, found)).to.have.members([
      '/registry/configmaps/kube-system/tracking has changed',
      '/registry/secrets/default/token is left over',
      `${SERVICES}v1.example.org is left over`,
      '/registry/priorityclasses/high is missing',
    ]);
  });

  it('is restored by writing missing and changed keys and deleting additional keys, except APIServices', () => {
    expect([...changesTo(expected, found)]).to.have.deep.members([
      ['/registry/configmaps/kube-system/tracking', 'b'],
      ['/registry/priorityclasses/high', 'c'],
      ['/registry/secrets/default/token', undefined],
    ]);
  });
});
