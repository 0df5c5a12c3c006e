import { crd } from '../../api/v1beta2/crd.ts';
import type { JsonPatchOperation, KubeClient, KubeObject } from '../../pkg/kube/types.ts';
import { CRDS, OUR_CRD } from '../shared/crd/served-schema.ts';
import { type Observation, type Part, type WebhookEntry, configurationKey, configurationResource } from './observe.ts';
import { FIELD_MANAGER } from './record.ts';
import { fieldAt, textAt } from '../../api/record.ts';

/** Applies this provider's CRD, or removes the webhooks for AWSFargateProfiles from a configuration of CAPA. */
export async function restore(
  client: KubeClient,
  { entries }: Observation,
  part: Part,
  signal: AbortSignal,
): Promise<void> {
  if (part === 'crd') {
    await client.apply(CRDS, OUR_CRD, crd, { fieldManager: FIELD_MANAGER, signal });
    return;
  }
  const operations = removals(entries.filter(({ phase }) => phase === part));
  await client.jsonPatch(configurationResource(part), configurationKey(part), operations, { signal });
}

/**
 * Tests the name before each removal, so that the API server refuses the patch if another client has changed the list.
 * The last webhook comes first, because a removal changes the indexes after it.
 */
export const removals = (entries: readonly WebhookEntry[]): readonly JsonPatchOperation[] =>
  entries
    .toSorted((a, b) => b.index - a.index)
    .flatMap(({ index, name }) => [
      { op: 'test', path: `/webhooks/${index}/name`, value: name } as const,
      { op: 'remove', path: `/webhooks/${index}` } as const,
    ]);

/**
 * The owner of these fields in metadata.managedFields counts as the last writer. Clients that change only others do not
 * count, for example the CA injector of cert-manager.
 */
const VERSIONS = ['f:spec', 'f:versions'];
const rulesOf = (webhook: string): readonly string[] => [
  'f:webhooks',
  `k:${JSON.stringify({ name: webhook })}`,
  'f:rules',
];

export function writersOf({ crd: installed, entries }: Observation, parts: readonly Part[]): readonly string[] {
  const written: readonly (readonly [KubeObject, readonly string[]])[] = [
    ...(installed !== undefined && parts.includes('crd') ? [[installed, VERSIONS] as const] : []),
    ...entries
      .filter(({ phase }) => parts.includes(phase))
      .map(({ configuration, name }) => [configuration, rulesOf(name)] as const),
  ];
  return [...new Set(written.flatMap(([object, path]) => lastWriter(object, path) ?? []))];
}

/**
 * If several managers have set the field to the same value, the newest counts; the keeper itself never does.
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
