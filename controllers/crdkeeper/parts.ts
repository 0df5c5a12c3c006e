import type { JsonPatchOperation, KubeClient, KubeObject, Resource } from 'controller-runtime/client';
import { fieldAt, isRecord, textAt } from 'controller-runtime/json';
import { CAPA_WEBHOOKS, compareSchema } from '../shared/crd/crd-schema.ts';
import { CRDS, OUR_CRD } from '../shared/crd/served-schema.ts';
import { crdOver } from '../shared/crd/stored-versions.ts';

export const FIELD_MANAGER = 'capaf-crd-keeper';

/** What the keeper restores: the CRD, or a webhook configuration of CAPA without the webhook for AWSFargateProfiles. */
export type Part = 'crd' | WebhookPhase;
export type WebhookPhase = 'mutating' | 'validating';

export const WEBHOOK_PHASES: readonly WebhookPhase[] = ['mutating', 'validating'];

export const configurationResource = (phase: WebhookPhase): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: `${phase}webhookconfigurations`,
});

/** CAPA's webhook configurations have the same names in each release. */
export const configurationKey = (phase: WebhookPhase): { readonly namespace: ''; readonly name: string } => ({
  namespace: '',
  name: `capa-${phase}-webhook-configuration`,
});

/** A webhook for AWSFargateProfiles in a configuration of CAPA. */
export interface WebhookEntry {
  readonly phase: WebhookPhase;
  readonly name: string;
  /** The index in the configuration's list `webhooks`. */
  readonly index: number;
  /**
   * Whether the API server calls this webhook for every write of an AWSFargateProfile, and rejects the write if the
   * webhook does not answer. The result of a write then shows whether the webhook answers.
   */
  readonly isDecisive: boolean;
  readonly configuration: KubeObject;
}

export interface Observation {
  readonly crd: KubeObject | undefined;
  /** A CRD that does not exist or is being deleted is `absent`, and is not restored, so that uninstalling works. */
  readonly schema: 'ours' | 'foreign' | 'absent';
  readonly entries: readonly WebhookEntry[];
  /** The parts that exist and are as this provider needs them. A deleted part is neither foreign nor in order. */
  readonly inOrder: readonly Part[];
}

/** Asks the API server, because caches may be outdated. */
export async function observe(client: KubeClient, signal: AbortSignal): Promise<Observation> {
  const [crd, ...configurations] = await Promise.all([
    client.get(CRDS, OUR_CRD, { signal }),
    ...WEBHOOK_PHASES.map((phase) => client.get(configurationResource(phase), configurationKey(phase), { signal })),
  ]);
  const entries = WEBHOOK_PHASES.flatMap((phase, index) => entriesOf(phase, configurations[index]));
  const schema = crd === undefined || crd.metadata.deletionTimestamp !== undefined ? 'absent' : compareSchema(crd).kind;
  const inOrder: readonly Part[] = [
    ...(schema === 'ours' ? (['crd'] as const) : []),
    ...WEBHOOK_PHASES.filter(
      (phase, index) => configurations[index] !== undefined && !entries.some((entry) => entry.phase === phase),
    ),
  ];
  return { crd, schema, entries, inOrder };
}

export function entriesOf(phase: WebhookPhase, configuration: KubeObject | undefined): readonly WebhookEntry[] {
  const webhooks: unknown = configuration?.['webhooks'];
  if (configuration === undefined || !Array.isArray(webhooks)) return [];
  return webhooks.flatMap((webhook: unknown, index) => {
    const name = textAt(webhook, 'name');
    if (name === undefined || !CAPA_WEBHOOKS.includes(name)) return [];
    return [{ phase, name, index, isDecisive: isDecisive(webhook), configuration }];
  });
}

const isDecisive = (webhook: unknown): boolean =>
  textAt(webhook, 'failurePolicy') !== 'Ignore' &&
  ['namespaceSelector', 'objectSelector'].every((selector) => isEmpty(fieldAt(webhook, selector))) &&
  isEmpty(fieldAt(webhook, 'matchConditions'));

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  (Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0);

export const foreignParts = ({ schema, entries }: Pick<Observation, 'schema' | 'entries'>): readonly Part[] => [
  ...(schema === 'foreign' ? (['crd'] as const) : []),
  ...WEBHOOK_PHASES.filter((phase) => entries.some((entry) => entry.phase === phase)),
];

export async function restore(
  client: KubeClient,
  { crd, entries }: Observation,
  part: Part,
  signal: AbortSignal,
): Promise<void> {
  if (part === 'crd') {
    await client.apply(CRDS, OUR_CRD, crdOver(crd), { fieldManager: FIELD_MANAGER, signal });
    return;
  }
  const operations = removals(entries.filter(({ phase }) => phase === part));
  await client.jsonPatch(configurationResource(part), configurationKey(part), operations, { signal });
}

/**
 * Each removal first tests the name, so that the API server refuses the patch if another client has changed the list.
 * The last webhook is removed first, because a removal changes the indexes after it.
 */
export const removals = (entries: readonly WebhookEntry[]): readonly JsonPatchOperation[] =>
  entries
    .toSorted((a, b) => b.index - a.index)
    .flatMap(({ index, name }) => [
      { op: 'test', path: `/webhooks/${index}/name`, value: name } as const,
      { op: 'remove', path: `/webhooks/${index}` } as const,
    ]);

/**
 * The owner of these fields in metadata.managedFields counts as the last writer. Clients that change only other fields,
 * such as cert-manager's CA injector, do not count.
 */
const VERSIONS = ['f:spec', 'f:versions'];
const rulesOf = (webhook: string): readonly string[] => [
  'f:webhooks',
  `k:${JSON.stringify({ name: webhook })}`,
  'f:rules',
];

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
 * If several field managers have set the field to the same value, the newest counts. The keeper itself never counts.
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
