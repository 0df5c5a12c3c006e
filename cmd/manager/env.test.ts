import * as E from 'fp-ts/lib/Either.js';
import { expect } from 'chai';
import { DEFAULT_TIMINGS } from 'controller-runtime/election';
import { selectNamespaces } from './env.ts';

describe('selectNamespaces', () => {
  const election = { timings: DEFAULT_TIMINGS };

  it('uses the namespace of the pod for the Lease and the Secrets', () => {
    expect(selectNamespaces({ election }, 'pod')).to.deep.equal(E.right({ lease: 'pod', secrets: 'pod' }));
  });

  it('prefers --manager-namespace, and to that the flag of the Lease and the flag of the Secrets', () => {
    const flags = { election, managerNamespace: 'own' };
    expect(selectNamespaces(flags, 'pod')).to.deep.equal(E.right({ lease: 'own', secrets: 'own' }));
    expect(
      selectNamespaces(
        { ...flags, election: { ...election, namespace: 'leases' }, staticIdentityNamespace: 'capa-system' },
        'pod',
      ),
    ).to.deep.equal(E.right({ lease: 'leases', secrets: 'capa-system' }));
  });

  it('requires --manager-namespace outside a pod, unless other flags name all namespaces', () => {
    const isRefused = (...flags: Parameters<typeof selectNamespaces>): boolean => E.isLeft(selectNamespaces(...flags));
    expect(isRefused({ election }, undefined)).to.equal(true);
    expect(isRefused({}, undefined)).to.equal(true);
    expect(isRefused({ election: { ...election, namespace: 'leases' } }, undefined)).to.equal(true);
    expect(isRefused({ election, staticIdentityNamespace: 'capa-system' }, undefined)).to.equal(true);
    expect(isRefused({ staticIdentityNamespace: 'capa-system' }, undefined)).to.equal(false);
    const named = { election: { ...election, namespace: 'leases' }, staticIdentityNamespace: 'capa-system' };
    expect(isRefused(named, undefined)).to.equal(false);
  });
});
