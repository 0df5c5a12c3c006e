import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { fieldAt } from 'controller-runtime/json';
import { crd } from '../../../api/v1beta2/crd.ts';
import { crdOver, missingStoredVersions } from './stored-versions.ts';

const installed = (storedVersions: unknown): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'x', uid: 'u', resourceVersion: '1' },
  status: { storedVersions },
});

describe('the stored versions of the installed CRD', () => {
  it('are known if CAPA has stored or plans them', () => {
    expect(missingStoredVersions(installed(['v1beta1', 'v1beta2', 'v1beta3']))).to.deep.equal([]);
    expect(crdOver(installed(['v1beta3']))).to.deep.equal(crd);
  });

  for (const absent of [undefined, null, 'v1beta4', [4]])
    it(`are none if status.storedVersions is ${JSON.stringify(absent)}`, () => {
      expect(missingStoredVersions(installed(absent))).to.deep.equal([]);
    });

  it('are none without a CRD', () => {
    expect(crdOver(undefined)).to.deep.equal(crd);
  });

  it('are added to our CRD as versions that are not served', () => {
    const versions = fieldAt(crdOver(installed(['v1beta2', 'v1beta4', 'v1'])).spec, 'versions');
    expect(versions).to.containSubset([
      { name: 'v1beta4', served: false, storage: false },
      { name: 'v1', served: false, storage: false },
    ]);
    expect(versions).to.have.length(crd.spec.versions.length + 2);
  });
});
