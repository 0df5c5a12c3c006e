import { fieldAt, isRecord, textAt } from '../../api/record.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';
import { CAPA_WEBHOOKS } from '../shared/capa-webhooks.ts';
import { CRDS, OUR_CRD } from '../shared/served-schema.ts';
import { compareSchema } from '../shared/crd-schema.ts';

/**
 * A part that the keeper of the CRD restores: the CRD, or the webhook for AWSFargateProfiles in one of CAPA's
 * configurations.
 */
export type Part = 'crd' | WebhookPhase;
export type WebhookPhase = 'mutating' | 'validating';

export const WEBHOOK_PHASES: readonly WebhookPhase[] = ['mutating', 'validating'];

export const configurationResource = (phase: WebhookPhase): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: `${phase}webhookconfigurations`,
});

/** The webhook configurations of Cluster API Provider AWS have these names in each of its releases. */
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
   * Whether the API server asks this webhook about every write of AWSFargateProfiles, and refuses the write if the
   * webhook does not answer. A write then shows whether the webhook answers.
   */
  readonly isDecisive: boolean;
  readonly configuration: KubeObject;
}

/** The state in the API server of the parts that the keeper of the CRD restores. */
export interface Observation {
  readonly crd: KubeObject | undefined;
  /** A CRD that does not exist, or that is being deleted, is `absent`: an uninstallation must succeed. */
  readonly schema: 'ours' | 'foreign' | 'absent';
  readonly entries: readonly WebhookEntry[];
}

/** Reads the CRD and CAPA's webhook configurations from the API server, because caches may be outdated. */
export async function observe(client: KubeClient, signal: AbortSignal): Promise<Observation> {
  const [crd, ...configurations] = await Promise.all([
    client.get(CRDS, OUR_CRD, { signal }),
    ...WEBHOOK_PHASES.map((phase) => client.get(configurationResource(phase), configurationKey(phase), { signal })),
  ]);
  const entries = WEBHOOK_PHASES.flatMap((phase, index) => entriesOf(phase, configurations[index]));
  return { crd, schema: schemaOf(crd), entries };
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

/** The parts that are not as this provider needs them. */
export const foreignParts = ({ schema, entries }: Pick<Observation, 'schema' | 'entries'>): readonly Part[] => [
  ...(schema === 'foreign' ? (['crd'] as const) : []),
  ...WEBHOOK_PHASES.filter((phase) => entries.some((entry) => entry.phase === phase)),
];
