import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { KubeObject } from '../../../pkg/kube/types.ts';
import { compareSchema } from './crd-schema.ts';

const load = (path: string): KubeObject =>
  parse(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')) as KubeObject;

const OURS = load('config/crd/bases/infrastructure.cluster.x-k8s.io_awsfargateprofiles.yaml');
const CAPA = load('test/crds/capa/awsfargateprofiles.yaml');

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly schema: { readonly openAPIV3Schema: { readonly properties: Record<string, { properties: object }> } };
}

/** Returns the CRD of this provider, with its served version changed by `change`. */
function changed(change: (version: Version) => object): KubeObject {
  const copy = structuredClone(OURS);
  const { versions } = copy.spec as { versions: Version[] };
  return { ...copy, spec: { versions: versions.map((each) => (each.name === 'v1beta2' ? change(each) : each)) } };
}

function without(part: string, property: string): KubeObject {
  return changed((version) => {
    Reflect.deleteProperty(version.schema.openAPIV3Schema.properties[part]?.properties ?? {}, property);
    return version;
  });
}

describe('compareSchema', () => {
  it('accepts the CRD of this project', () => {
    expect(compareSchema(OURS)).to.deep.equal({ kind: 'ours' });
  });

  it('lists the fields that the CRD of Cluster API Provider AWS does not have', () => {
    expect(compareSchema(CAPA)).to.deep.equal({
      kind: 'foreign',
      provider: 'infrastructure-aws',
      missing: [
        'spec.deletionPolicy',
        'spec.adoptionPolicy',
        'spec.roleARN',
        'spec.roleAdditionalPolicies',
        'status.account',
        'status.region',
        'status.eksClusterName',
        'status.profileName',
        'status.role',
        'status.initialization',
        'status.createRequestedAt',
      ],
    });
  });

  for (const [part, property] of [
    ['spec', 'deletionPolicy'],
    ['status', 'account'],
  ] as const)
    it(`detects a CRD that lacks only ${part}.${property}`, () => {
      expect(compareSchema(without(part, property))).to.deep.include({
        kind: 'foreign',
        missing: [`${part}.${property}`],
      });
    });

  it('accepts a schema that preserves unknown fields', () => {
    const loose = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    expect(compareSchema(changed((version) => ({ ...version, schema: { openAPIV3Schema: loose } })))).to.deep.equal({
      kind: 'ours',
    });
  });

  it('treats a CRD that does not serve our version, or has no versions, as foreign', () => {
    expect(compareSchema(changed((version) => ({ ...version, served: false })))).to.deep.include({ kind: 'foreign' });
    expect(compareSchema({ ...OURS, spec: {} })).to.deep.include({ kind: 'foreign' });
  });
});
