import type { OpenApi } from 'controller-runtime/schema';
import type { FakeKind } from 'controller-runtime/testing';
import {
  INSTANCE_GROUP_GROUP,
  INSTANCE_GROUP_KIND,
  INSTANCE_GROUP_PLURAL,
  INSTANCE_GROUP_VERSION,
} from '../../../api/external/index.ts';
import { IDENTITY_GROUP, IDENTITY_PLURALS, IDENTITY_VERSION } from '../../../api/external/identity.ts';
import { crd } from '../../../api/v1beta2/crd.ts';
import { KIND, PLURAL, GROUP, VERSION } from '../../../api/v1beta2/index.ts';

type Json = Readonly<Record<string, unknown>>;

/** The identity kinds of Cluster API Provider AWS. */
export const IDENTITIES: readonly FakeKind[] = Object.entries(IDENTITY_PLURALS).map(([kind, plural]) => ({
  group: IDENTITY_GROUP,
  plural,
  kind,
  versions: [IDENTITY_VERSION],
  namespaced: false,
}));

/**
 * The kinds that the fake API server serves. For AWSFargateProfile it also applies the schema of the CRD: it prunes
 * unknown fields and sets defaults. It accepts the objects of the other kinds as they are.
 */
export const KINDS: readonly FakeKind[] = [
  { group: GROUP, plural: PLURAL, kind: KIND, versions: [VERSION], prepare: ownSchema() },
  { group: 'cluster.x-k8s.io', plural: 'clusters', kind: 'Cluster', versions: ['v1beta2', 'v1beta1'] },
  {
    group: 'controlplane.cluster.x-k8s.io',
    plural: 'awsmanagedcontrolplanes',
    kind: 'AWSManagedControlPlane',
    versions: ['v1beta2'],
  },
  ...IDENTITIES,
];

/** The kind InstanceGroup of keiko's instance-manager. The fake API server serves it only if a test registers it. */
export const INSTANCE_GROUPS: FakeKind = {
  group: INSTANCE_GROUP_GROUP,
  plural: INSTANCE_GROUP_PLURAL,
  kind: INSTANCE_GROUP_KIND,
  versions: [INSTANCE_GROUP_VERSION],
};

function ownSchema(): (object: Json) => Json {
  const version = crd.spec.versions.find(({ name }) => name === VERSION);
  if (version === undefined) throw new Error(`the CRD has no version ${VERSION}`);
  const { properties = {} } = version.schema.openAPIV3Schema;
  // The API server never prunes apiVersion, kind and metadata, whatever the schema of the CRD says.
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...own } = properties;
  return (object) => {
    const { apiVersion, kind, metadata, ...rest } = object;
    return { apiVersion, kind, metadata, ...admitFields(rest, own) };
  };
}

/** Prunes unknown fields and sets defaults by the structural schema of a CRD, as the API server does at each write. */
function admit(value: unknown, schema: OpenApi): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item: unknown) => admit(item, items));
  }
  if (!isRecord(value)) return value;
  const { properties, additionalProperties } = schema;
  if (properties !== undefined) return admitFields(value, properties);
  if (additionalProperties === undefined) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, admit(field, additionalProperties)]));
}

function admitFields(value: Json, properties: NonNullable<OpenApi['properties']>): Json {
  const entries = Object.entries(properties).flatMap(([name, schema]) => {
    const isNull = value[name] === null && schema.nullable === true;
    const given = isNull ? null : (value[name] ?? schema.default);
    return given === undefined ? [] : [[name, admit(given, schema)] as const];
  });
  return Object.fromEntries(entries);
}

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
