import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { KubeObject } from 'controller-runtime/client';
import { compareSchema } from './crd-schema.ts';

const load = (path: string): KubeObject =>
  parse(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')) as KubeObject;

const OURS = load('config/crd/bases/infrastructure.cluster.x-k8s.io_awsfargateprofiles.yaml');
const CAPA = load('test/crds/capa/awsfargateprofiles.yaml');

interface Schema {
  readonly properties?: Record<string, Schema>;
  readonly items?: Schema;
}

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly schema: { readonly openAPIV3Schema: Schema };
}

/** Returns the CRD of this provider, with its served version changed by `change`. */
function changed(change: (version: Version) => object): KubeObject {
  const copy = structuredClone(OURS);
  const { versions } = copy.spec as { versions: Version[] };
  return { ...copy, spec: { versions: versions.map((each) => (each.name === 'v1beta2' ? change(each) : each)) } };
}

/** Returns the paths of all fields, each with the schema that contains the field. */
const fieldsOf = (schema: Schema, path = ''): readonly (readonly [path: string, parent: Schema, name: string])[] => [
  ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const own = path === '' ? name : `${path}.${name}`;
    return [[own, schema, name] as const, ...fieldsOf(field, own)];
  }),
  ...(schema.items === undefined ? [] : fieldsOf(schema.items, `${path}[]`)),
];

function without(path: string): KubeObject {
  return changed((version) => {
    for (const [each, { properties = {} }, name] of fieldsOf(version.schema.openAPIV3Schema))
      if (each === path) Reflect.deleteProperty(properties, name);
    return version;
  });
}

function allPaths(): readonly string[] {
  const { versions } = OURS.spec as { versions: readonly Version[] };
  return versions.flatMap(({ name, schema }) =>
    name === 'v1beta2' ? fieldsOf(schema.openAPIV3Schema).map(([path]) => path) : [],
  );
}

describe('compareSchema', () => {
  it('accepts the CRD of this project', () => {
    expect(compareSchema(OURS)).to.deep.equal({ kind: 'ours' });
  });

  it('lists the fields that the CRD of Cluster API Provider AWS does not have, and whose CRD it is', () => {
    const comparison = compareSchema(CAPA);
    expect(comparison).to.include({ kind: 'foreign', provider: 'infrastructure-aws' });
    expect(comparison)
      .to.have.property('missing')
      .that.includes.members(['spec.deletionPolicy', 'status.account', 'status.conditions[].observedGeneration'])
      .and.not.includes.members(['spec.updateStrategy.type'], 'a missing field is named once')
      .and.not.includes.members(['spec.profileName']);
  });

  it('detects a CRD that lacks any one field, however deep', () => {
    // The API server adds these three fields to each kind.
    const paths = allPaths().filter((path) => !['apiVersion', 'kind', 'metadata'].includes(path));
    expect(paths).to.include.members([
      'spec.updateStrategy.replace.keepPredecessorFor',
      'spec.selectors[].labels',
      'status.predecessors[].name',
    ]);
    for (const path of paths)
      expect(compareSchema(without(path)), path).to.deep.include({ kind: 'foreign', missing: [path] });
  });

  it('accepts a schema that preserves unknown fields', () => {
    const loose = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    expect(compareSchema(changed((version) => ({ ...version, schema: { openAPIV3Schema: loose } })))).to.deep.equal({
      kind: 'ours',
    });
  });

  it('accepts a part of the schema that preserves unknown fields, and no other', () => {
    const looseStatus = changed((version) => {
      const { properties = {} } = version.schema.openAPIV3Schema;
      properties['status'] = { 'x-kubernetes-preserve-unknown-fields': true } as Schema;
      Reflect.deleteProperty(properties['spec']?.properties ?? {}, 'roleARN');
      return version;
    });
    expect(compareSchema(looseStatus)).to.deep.include({ kind: 'foreign', missing: ['spec.roleARN'] });
  });

  it('treats a CRD that does not serve our version, or has no versions, as foreign', () => {
    const unserved = changed((version) => ({ ...version, served: false }));
    for (const crd of [unserved, { ...OURS, spec: {} }])
      expect(compareSchema(crd)).to.deep.include({ kind: 'foreign', missing: ['v1beta2'] });
  });
});
