import { PROVIDER_LABEL, VERSION } from '../../api/v1beta2/index.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';

/**
 * Fields that this controller needs and that the CRD of Cluster API Provider AWS does not have. Under a CRD without a field,
 * the API server drops the field from objects that are read, and from the stored object at the next write:
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
  /**
   * `provider`: the value of the provider label of the CRD. `missing`: the paths of missing fields, such as
   * `spec.deletionPolicy`.
   */
  | { readonly kind: 'foreign'; readonly provider: string | undefined; readonly missing: readonly string[] };

/** Checks whether the served version of the CRD of AWSFargateProfiles has the {@link REQUIRED_FIELDS}. */
export function compareSchema(crd: KubeObject): SchemaComparison {
  const versions = field(crd.spec, 'versions');
  const served: unknown = Array.isArray(versions)
    ? versions.find((version: unknown) => field(version, 'name') === VERSION && field(version, 'served') === true)
    : undefined;
  const schema = field(field(served, 'schema'), 'openAPIV3Schema');
  const missing = REQUIRED_FIELDS.filter((path) => !keepsField(schema, path)).map((path) => path.join('.'));
  return missing.length === 0
    ? { kind: 'ours' }
    : { kind: 'foreign', provider: crd.metadata.labels?.[PROVIDER_LABEL], missing };
}

function keepsField(schema: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined || field(schema, 'x-kubernetes-preserve-unknown-fields') === true) return schema !== undefined;
  return keepsField(field(field(schema, 'properties'), name), rest);
}

const field = (record: unknown, name: string): unknown =>
  typeof record === 'object' && record !== null ? Reflect.get(record, name) : undefined;
