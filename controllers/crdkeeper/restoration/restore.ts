import { crd } from '../../../api/v1beta2/crd.ts';
import type { JsonPatchOperation, KubeClient } from '../../../pkg/kube/types.ts';
import { CRDS, OUR_CRD } from '../../shared/crd/served-schema.ts';
import type { Observation, Part, WebhookEntry } from '../observe.ts';
import { configurationKey, configurationResource } from '../observe.ts';
import { FIELD_MANAGER } from './record-store.ts';

/**
 * Applies the CRD of this provider, or removes the webhooks for AWSFargateProfiles from a configuration of Cluster API
 * Provider AWS.
 */
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
 * Returns the JSON Patch that removes webhooks from a configuration. Before each removal it tests the name of the
 * webhook, so that the API server refuses the patch if another client has changed the list. The last webhook in the
 * list comes first, because a removal changes the indexes of the webhooks after it.
 */
export const removals = (entries: readonly WebhookEntry[]): readonly JsonPatchOperation[] =>
  entries
    .toSorted((a, b) => b.index - a.index)
    .flatMap(({ index, name }) => [
      { op: 'test', path: `/webhooks/${index}/name`, value: name } as const,
      { op: 'remove', path: `/webhooks/${index}` } as const,
    ]);
