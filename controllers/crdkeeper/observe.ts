import { fieldAt, isRecord, textAt } from '../../api/record.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';
import { CAPA_WEBHOOKS, compareSchema } from '../shared/crd/crd-schema.ts';
import { CRDS, OUR_CRD } from '../shared/crd/served-schema.ts';

/** What the keeper restores: the CRD, or a webhook configuration of CAPA without its webhook for AWSFargateProfiles. */
export type Part = 'crd' | WebhookPhase;
export type WebhookPhase = 'mutating' | 'validating';

export const WEBHOOK_PHASES: readonly WebhookPhase[] = ['mutating', 'validating'];

export const configurationResource = (phase: WebhookPhase): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: `${phase}webhookconfigurations`,
});

/** The name is the same in each release. */
export const configurationKey = (phase: WebhookPhase): { readonly namespace: ''; readonly name: string } => ({
  namespace: '',
  name: `capa-${phase}-webhook-configuration`,
});

/** A webhook for AWSFargateProfiles in a configuration of CAPA. */
export interface WebhookEntry {
  readonly phase: WebhookPhase;
  readonly name: string;
  /** The position of the webhook in the list `webhooks` of its configuration. */
  readonly index: number;
  /**
   * The API server calls this webhook for every write of an AWSFargateProfile, and rejects the write if the webhook
   * does not answer. So the result of a write shows whether it answers.
   */
  readonly isDecisive: boolean;
  readonly configuration: KubeObject;
}

export interface Observation {
  readonly crd: KubeObject | undefined;
  /** A CRD that does not exist or is being deleted is `absent` and not restored, so that an uninstallation succeeds. */
  readonly schema: 'ours' | 'foreign' | 'absent';
  readonly entries: readonly WebhookEntry[];
  /** Exist and are as this provider needs them. A deleted part is neither foreign nor in order. */
  readonly inOrder: readonly Part[];
}

/** Reads the API server, because caches may be outdated. */
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
