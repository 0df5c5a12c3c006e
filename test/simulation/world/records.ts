import type { KubeObject } from 'controller-runtime/client';
import { isRecord, type UnknownRecord } from 'controller-runtime/json';
import { RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { ACCOUNT, EKS_CLUSTER, NAMESPACE } from './cluster.ts';

/** The annotation of an object with the manager's record, as a test or a client other than the manager writes it. */
export const recordAnnotation = (
  { namespace = NAMESPACE, name }: { readonly namespace?: string; readonly name: string },
  { eksCluster = EKS_CLUSTER, ...fields }: UnknownRecord & { readonly eksCluster?: string } = {},
): Readonly<Record<string, string>> => ({
  [RECORD_ANNOTATION]: JSON.stringify({
    v: 1,
    for: `${namespace}/${name}`,
    in: `${ACCOUNT}/us-east-1/${eksCluster}`,
    profiles: [],
    roles: [],
    ...fields,
  }),
});

/** The manager's record of an object; empty without the annotation. */
export function recordIn(object: Pick<KubeObject, 'metadata'> | undefined): UnknownRecord {
  const record: unknown = JSON.parse(object?.metadata.annotations?.[RECORD_ANNOTATION] ?? '{}');
  return isRecord(record) ? record : {};
}

/** Returns the record's entries about Fargate profiles or roles. */
export function recordedIn(
  object: Pick<KubeObject, 'metadata'> | undefined,
  kind: 'profiles' | 'roles',
): readonly UnknownRecord[] {
  const entries = recordIn(object)[kind];
  return Array.isArray(entries) ? entries.filter(isRecord) : [];
}
