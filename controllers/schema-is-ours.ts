import { PROVIDER_LABEL, VERSION } from '../api/v1beta2/index.ts';
import type { KubeObject } from '../pkg/kube/types.ts';

/**
 * What is decided on and Cluster API Provider AWS's CRD does not know. A schema without them prunes them from what is
 * read, and for good from what is written: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning
 */
const NEEDED = [
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

export type SchemaVerdict =
  | { readonly kind: 'ours' }
  /** `provider`: whose CRD it is, as its label says. `missing`: `spec.deletionPolicy`, … */
  | { readonly kind: 'foreign'; readonly provider: string | undefined; readonly missing: readonly string[] };

/** Whether a CRD of AWSFargateProfiles keeps what this controller decides on. Pure. */
export function schemaIsOurs(crd: KubeObject): SchemaVerdict {
  const versions = field(crd.spec, 'versions');
  const served: unknown = Array.isArray(versions)
    ? versions.find((version: unknown) => field(version, 'name') === VERSION && field(version, 'served') === true)
    : undefined;
  const schema = field(field(served, 'schema'), 'openAPIV3Schema');
  const missing = NEEDED.filter((path) => !keeps(schema, path)).map((path) => path.join('.'));
  return missing.length === 0
    ? { kind: 'ours' }
    : { kind: 'foreign', provider: crd.metadata.labels?.[PROVIDER_LABEL], missing };
}

function keeps(schema: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined || field(schema, 'x-kubernetes-preserve-unknown-fields') === true) return schema !== undefined;
  return keeps(field(field(schema, 'properties'), name), rest);
}

const field = (record: unknown, name: string): unknown =>
  typeof record === 'object' && record !== null ? Reflect.get(record, name) : undefined;
