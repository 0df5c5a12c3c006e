import { eventually } from '../support/eventually.ts';
import type { World } from './world.ts';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const OURS = { apiGroups: ['infrastructure.cluster.x-k8s.io'], apiVersions: ['v1beta2'] };

type Phase = 'mutating' | 'validating';

interface Entry {
  readonly name: string;
  readonly clientConfig: object;
  readonly rules: readonly object[];
  readonly objectSelector?: object;
  readonly timeoutSeconds?: number;
}

export interface DeadWebhookOptions {
  readonly name: string;
  readonly group: string;
  /** Plurals, with subresources as `plural/status`. */
  readonly resources: readonly string[];
  /** Only objects with these labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The path of an object that it is for. */
  readonly probe: string;
}

/**
 * An admission webhook for updates at whose address nobody is: the API server refuses every update that it is for. When
 * this returns it does; when what it returns was called it does not any more.
 */
export async function deadWebhook(world: World, options: DeadWebhookOptions): Promise<() => Promise<void>> {
  const { name, group, resources, labels = {}, probe } = options;
  await applyWebhooks(world, 'validating', name, {
    name,
    clientConfig: { url: 'https://127.0.0.1:1/validate' },
    rules: [{ apiGroups: [group], apiVersions: ['v1beta2'], operations: ['UPDATE'], resources }],
    objectSelector: { matchLabels: labels },
    timeoutSeconds: 10,
  });
  await heeded(world, probe, name);
  return async () => {
    await world.controlPlane.api.delete(`${ADMISSION}/validatingwebhookconfigurations/${name}`);
    await forgotten(world, probe, name);
  };
}

export const CAPA_WEBHOOKS = {
  mutating: 'default.awsfargateprofile.infrastructure.cluster.x-k8s.io',
  validating: 'validation.awsfargateprofile.infrastructure.cluster.x-k8s.io',
} as const;

/**
 * What a release of Cluster API Provider AWS has in its webhook configurations for AWSFargateProfiles, among others, with
 * its manager gone. What it returns takes our kind's entries out of them, as README says, and leaves the others.
 */
export async function capaWebhooksLeftBehind(world: World, probe: string): Promise<() => Promise<void>> {
  const phases = ['mutating', 'validating'] as const;
  for (const phase of phases) {
    const path = `/${phase === 'mutating' ? 'mutate' : 'validate'}-infrastructure-cluster-x-k8s-io-v1beta2`;
    const entry = (name: string, kind: string): Entry => ({
      name,
      clientConfig: { service: { name: 'capa-webhook-service', namespace: 'capa-system', path: `${path}-${kind}` } },
      rules: [{ ...OURS, operations: ['CREATE', 'UPDATE'], resources: [`${kind}s`] }],
    });
    await applyWebhooks(
      world,
      phase,
      capaConfiguration(phase),
      entry(`${phase}.awscluster.infrastructure.cluster.x-k8s.io`, 'awscluster'),
      entry(CAPA_WEBHOOKS[phase], 'awsfargateprofile'),
    );
  }
  await heeded(world, probe, CAPA_WEBHOOKS.mutating);
  return async () => {
    const removal = [{ op: 'remove', path: '/webhooks/1' }];
    for (const phase of phases)
      await world.controlPlane.api.patch(
        `${ADMISSION}/${phase}webhookconfigurations/${capaConfiguration(phase)}`,
        removal,
        'json',
      );
    await forgotten(world, probe, CAPA_WEBHOOKS.mutating);
  };
}

const capaConfiguration = (phase: Phase): string => `capa-${phase}-webhook-configuration`;

const applyWebhooks = (world: World, phase: Phase, name: string, ...entries: readonly Entry[]): Promise<void> =>
  world.apply({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${phase === 'mutating' ? 'Mutating' : 'Validating'}WebhookConfiguration`,
    metadata: { name },
    webhooks: entries.map((entry) => ({
      admissionReviewVersions: ['v1'],
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      sideEffects: 'None',
      ...entry,
    })),
  });

/** The API server takes a moment to heed a webhook. */
const heeded = (world: World, probe: string, name: string): Promise<boolean> =>
  eventually(() => isRefused(world, probe), { what: `${name} being heeded` });

const forgotten = (world: World, probe: string, name: string): Promise<boolean> =>
  eventually(async () => !(await isRefused(world, probe)), { what: `the end of ${name}` });

const LOOK = { metadata: { annotations: { 'tests.example.com/look': 'once' } } };

const isRefused = ({ controlPlane: { api } }: World, probe: string): Promise<boolean> =>
  api.patch(probe, LOOK, 'merge', { dryRun: 'All' }).then(
    () => false,
    () => true,
  );
