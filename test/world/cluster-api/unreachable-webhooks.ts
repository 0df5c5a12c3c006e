import { eventually } from '../../support/eventually.ts';
import type { World } from '../world.ts';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const FARGATE_PROFILES = { apiGroups: ['infrastructure.cluster.x-k8s.io'], apiVersions: ['v1beta2'] };

type WebhookType = 'mutating' | 'validating';

interface Entry {
  readonly name: string;
  readonly clientConfig: object;
  readonly rules: readonly object[];
}

export const CAPA_WEBHOOKS = {
  mutating: 'default.awsfargateprofile.infrastructure.cluster.x-k8s.io',
  validating: 'validation.awsfargateprofile.infrastructure.cluster.x-k8s.io',
} as const;

/**
 * Creates the two webhook configurations that remain when a user removes the controller manager of Cluster API Provider
 * AWS. Each has one webhook for AWSFargateProfile and one for AWSCluster. The returned function removes only the
 * webhooks for AWSFargateProfile, as docs/install.md tells the user to do.
 */
export async function createOrphanedCapaWebhooks(world: World, probe: string): Promise<() => Promise<void>> {
  const types = ['mutating', 'validating'] as const;
  for (const type of types) {
    const path = `/${type === 'mutating' ? 'mutate' : 'validate'}-infrastructure-cluster-x-k8s-io-v1beta2`;
    const entry = (name: string, kind: string): Entry => ({
      name,
      clientConfig: { service: { name: 'capa-webhook-service', namespace: 'capa-system', path: `${path}-${kind}` } },
      rules: [{ ...FARGATE_PROFILES, operations: ['CREATE', 'UPDATE'], resources: [`${kind}s`] }],
    });
    await applyWebhooks(
      world,
      type,
      capaConfiguration(type),
      entry(`${type}.awscluster.infrastructure.cluster.x-k8s.io`, 'awscluster'),
      entry(CAPA_WEBHOOKS[type], 'awsfargateprofile'),
    );
  }
  await waitUntilEnforced(world, probe, CAPA_WEBHOOKS.mutating);
  return async () => {
    const removal = [{ op: 'remove', path: '/webhooks/1' }];
    for (const type of types)
      await world.controlPlane.api.patch(
        `${ADMISSION}/${type}webhookconfigurations/${capaConfiguration(type)}`,
        removal,
        'json',
      );
    await waitUntilRemoved(world, probe, CAPA_WEBHOOKS.mutating);
  };
}

const capaConfiguration = (type: WebhookType): string => `capa-${type}-webhook-configuration`;

const applyWebhooks = (world: World, type: WebhookType, name: string, ...entries: readonly Entry[]): Promise<void> =>
  world.apply({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${type === 'mutating' ? 'Mutating' : 'Validating'}WebhookConfiguration`,
    metadata: { name },
    webhooks: entries.map((entry) => ({
      admissionReviewVersions: ['v1'],
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      sideEffects: 'None',
      ...entry,
    })),
  });

/**
 * Waits until the API server refuses patches of the probe object, because a new webhook takes effect only after a
 * moment.
 */
const waitUntilEnforced = (world: World, probe: string, name: string): Promise<boolean> =>
  eventually(() => isRefused(world, probe), { what: `${name} being enforced` });

/**
 * Waits until the API server allows patches of the probe object, because a removed webhook stays in force for a moment.
 */
const waitUntilRemoved = (world: World, probe: string, name: string): Promise<boolean> =>
  eventually(async () => !(await isRefused(world, probe)), { what: `the removal of ${name}` });

const ANNOTATION = { metadata: { annotations: { 'tests.example.com/look': 'once' } } };

const isRefused = ({ controlPlane: { api } }: World, probe: string): Promise<boolean> =>
  api.patch(probe, ANNOTATION, 'merge', { dryRun: 'All' }).then(
    () => false,
    () => true,
  );
