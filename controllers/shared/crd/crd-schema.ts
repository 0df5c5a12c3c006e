import { fieldAt, isRecord } from '../../../api/record.ts';
import { PROVIDER_LABEL, VERSION, GROUP, KIND } from '../../../api/v1beta2/index.ts';
import type { KubeObject } from '../../../pkg/kube/types.ts';

/**
 * Fields that this controller needs and CAPA's CRD does not have. Under such a CRD, the API server drops them from
 * objects that are read, and from the stored object at the next write:
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning
 */
const REQUIRED_FIELDS = [
  ['spec', 'deletionPolicy'],
  ['spec', 'adoptionPolicy'],
  ['spec', 'roleARN'],
  ['spec', 'roleAdditionalPolicies'],
  ['status', 'account'],
  ['status', 'region'],
  ['status', 'eksClusterName'],
  ['status', 'profileName'],
  ['status', 'role'],
  ['status', 'initialization'],
  ['status', 'createRequestedAt'],
] as const;

export type SchemaComparison =
  | { readonly kind: 'ours' }
  /** `provider`: the value of the CRD's provider label. `missing`: paths of fields, such as `spec.deletionPolicy`. */
  | { readonly kind: 'foreign'; readonly provider: string | undefined; readonly missing: readonly string[] };

export function compareSchema(crd: KubeObject): SchemaComparison {
  const schema = servedSchemaOf(crd);
  const missing = REQUIRED_FIELDS.filter((path) => !keepsField(schema, path)).map((path) => path.join('.'));
  return missing.length === 0
    ? { kind: 'ours' }
    : { kind: 'foreign', provider: crd.metadata.labels?.[PROVIDER_LABEL], missing };
}

/** The paths of all fields directly in spec and status, such as `spec.roleARN`, that the CRD `other` lacks. */
export function fieldsDroppedBy(other: KubeObject, ours: Readonly<Record<string, unknown>>): readonly string[] {
  const [theirSchema, ourSchema] = [servedSchemaOf(other), servedSchemaOf(ours)];
  return ['spec', 'status'].flatMap((part) => {
    const properties = fieldAt(fieldAt(fieldAt(ourSchema, 'properties'), part), 'properties');
    const names = isRecord(properties) ? Object.keys(properties) : [];
    return names.filter((name) => !keepsField(theirSchema, [part, name])).map((name) => `${part}.${name}`);
  });
}

/** The {@link REQUIRED_FIELDS} of status that the API server has dropped from a write of `sent`. */
export function droppedStatusFields(
  sent: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>>,
): readonly string[] {
  const names = REQUIRED_FIELDS.flatMap(([part, name]) => (part === 'status' ? [name] : []));
  return names.filter((name) => sent[name] !== undefined && stored[name] === undefined);
}

/** `undefined` if the CRD does not serve the version that this provider reads and writes. */
function servedSchemaOf(crd: Readonly<Record<string, unknown>>): unknown {
  const versions = fieldAt(crd['spec'], 'versions');
  const served: unknown = Array.isArray(versions)
    ? versions.find((version: unknown) => fieldAt(version, 'name') === VERSION && fieldAt(version, 'served') === true)
    : undefined;
  return fieldAt(fieldAt(served, 'schema'), 'openAPIV3Schema');
}

function keepsField(schema: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined || fieldAt(schema, 'x-kubernetes-preserve-unknown-fields') === true)
    return schema !== undefined;
  return keepsField(fieldAt(fieldAt(schema, 'properties'), name), rest);
}

/** CAPA's webhooks for AWSFargateProfiles, which it answers only while its feature gate EKSFargate is on. */
export const CAPA_WEBHOOKS: readonly string[] = ['default', 'validation'].map(
  (what) => `${what}.${KIND.toLowerCase()}.${GROUP}`,
);
