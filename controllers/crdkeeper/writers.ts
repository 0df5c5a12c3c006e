import { fieldAt, textAt } from '../../api/record.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import type { Observation, Part } from './observe.ts';
import { FIELD_MANAGER } from './restoration/record-store.ts';

/**
 * Fields in metadata.managedFields whose owner counts as the last writer: the versions of the CRD, or the rules of a
 * webhook. Clients that change only other fields do not count, for example the CA injector of cert-manager.
 */
const VERSIONS = ['f:spec', 'f:versions'];
const rulesOf = (webhook: string): readonly string[] => [
  'f:webhooks',
  `k:${JSON.stringify({ name: webhook })}`,
  'f:rules',
];

/** Returns the names of the field managers that last wrote `parts` (the CRD or webhooks), without duplicates. */
export function writersOf({ crd, entries }: Observation, parts: readonly Part[]): readonly string[] {
  const written: readonly (readonly [KubeObject, readonly string[]])[] = [
    ...(crd !== undefined && parts.includes('crd') ? [[crd, VERSIONS] as const] : []),
    ...entries
      .filter(({ phase }) => parts.includes(phase))
      .map(({ configuration, name }) => [configuration, rulesOf(name)] as const),
  ];
  return [...new Set(written.flatMap(([object, path]) => lastWriter(object, path) ?? []))];
}

/**
 * Returns the name of the field manager that owns the field; the CRD keeper itself does not count. If several managers
 * have set the field to the same value, the newest in metadata.managedFields counts.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
function lastWriter(object: KubeObject, path: readonly string[]): string | undefined {
  const managedFields = fieldAt(object.metadata, 'managedFields');
  const entries: readonly unknown[] = Array.isArray(managedFields) ? managedFields : [];
  const owners = entries
    .filter((entry) => hasPath(fieldAt(entry, 'fieldsV1'), path))
    .flatMap((entry) => {
      const manager = textAt(entry, 'manager');
      return manager === undefined || manager === FIELD_MANAGER ? [] : [{ manager, time: textAt(entry, 'time') ?? '' }];
    });
  return owners.toSorted((a, b) => (a.time < b.time ? -1 : 1)).at(-1)?.manager;
}

const hasPath = (fields: unknown, path: readonly string[]): boolean =>
  path.reduce<unknown>((value, field) => fieldAt(value, field), fields) !== undefined;
