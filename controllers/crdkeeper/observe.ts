import { fieldAt, isRecord, textAt } from '../../api/record.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';
import { CAPA_WEBHOOKS } from '../shared/crd/capa-webhooks.ts';
import { CRDS, OUR_CRD } from '../shared/crd/served-schema.ts';
import { compareSchema } from '../shared/crd/crd-schema.ts';

/**
 * An object that the CRD keeper restores: the CRD, or a webhook configuration of Cluster API Provider AWS, from which
 * the keeper removes the webhook for AWSFargateProfiles.
 */
export type Part = 'crd' | WebhookPhase;
export type WebhookPhase = 'mutating' | 'validating';

export const WEBHOOK_PHASES: readonly WebhookPhase[] = ['mutating', 'validating'];

export const configurationResource = (phase: WebhookPhase): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: `${phase}webhookconfigurations`,
});

/** Returns the key of a webhook configuration of Cluster API Provider AWS. Its name is the same in each release. */
export const configurationKey = (phase: WebhookPhase): { readonly namespace: ''; readonly name: string } => ({
  namespace: '',
  name: `capa-${phase}-webhook-configuration`,
});

/** A webhook for AWSFargateProfiles in a configuration of Cluster API Provider AWS. */
export interface WebhookEntry {
  readonly phase: WebhookPhase;
  readonly name: string;
  /** The position of the webhook in the list `webhooks` of its configuration. */
  readonly index: number;
  /**
   * Whether the API server calls this webhook for every write of an AWSFargateProfile, and rejects the write if the
   * webhook does not answer. If this is true, the result of a write shows whether the webhook answers.
   */
  readonly isDecisive: boolean;
  readonly configuration: KubeObject;
}

/** The state of the CRD and of the webhooks for AWSFargateProfiles in the API server. */
export interface Observation {
  readonly crd: KubeObject | undefined;
  /**
   * Whose CRD is installed. A CRD that does not exist or is being deleted counts as `absent` and is not restored, so
   * that an uninstallation succeeds.
   */
  readonly schema: 'ours' | 'foreign' | 'absent';
  readonly entries: readonly WebhookEntry[];
  /**
   * The parts that exist and are as this provider needs them. A deleted CRD or configuration is neither foreign nor in
   * order.
   */
  readonly inOrder: readonly Part[];
}

/**
 * Reads the CRD and the webhook configurations of Cluster API Provider AWS from the API server, because caches may be
 * outdated.
 */
export async function observe(client: KubeClient, signal: AbortSignal): Promise<Observation> {
  const [crd, ...configurations] = await Promise.all([
    client.get(CRDS, OUR_CRD, { signal }),
    ...WEBHOOK_PHASES.map((phase) => client.get(configurationResource(phase), configurationKey(phase), { signal })),
  ]);
  const entries = WEBHOOK_PHASES.flatMap((phase, index) => entriesOf(phase, configurations[index]));
  const schema = schemaOf(crd);
  const inOrder: readonly Part[] = [
    ...(schema === 'ours' ? (['crd'] as const) : []),
    ...WEBHOOK_PHASES.filter(
      (phase, index) => configurations[index] !== undefined && !entries.some((entry) => entry.phase === phase),
    ),
  ];
  return { crd, schema, entries, inOrder };
}

function schemaOf(crd: KubeObject | undefined): Observation['schema'] {
  return crd === undefined || crd.metadata.deletionTimestamp !== undefined ? 'absent' : compareSchema(crd).kind;
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

/**
 * Returns the parts to restore: the CRD if it comes from another provider, and each webhook configuration that has a
 * webhook for AWSFargateProfiles.
 */
export const foreignParts = ({ schema, entries }: Pick<Observation, 'schema' | 'entries'>): readonly Part[] => [
  ...(schema === 'foreign' ? (['crd'] as const) : []),
  ...WEBHOOK_PHASES.filter((phase) => entries.some((entry) => entry.phase === phase)),
];
