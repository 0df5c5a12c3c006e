import type { SimulatedWorld } from '../world/simulated-world.ts';
import { CRD_KIND, serveForeignSchema, serveOurSchema } from './foreign-crd.ts';
import { type Phases, WEB, acceptRequests, refuseRequests } from './phase.ts';

const CONFIG_MAPS = { group: '', plural: 'configmaps', kind: 'ConfigMap', versions: ['v1'], status: false };
const CONFIGURATIONS = (['Mutating', 'Validating'] as const).map((phase) => ({
  group: 'admissionregistration.k8s.io',
  plural: `${phase.toLowerCase()}webhookconfigurations`,
  kind: `${phase}WebhookConfiguration`,
  versions: ['v1'],
  namespaced: false,
  status: false,
}));
const [MUTATING] = CONFIGURATIONS;
const CONFIGURATION = 'capa-mutating-webhook-configuration';
const WEBHOOK = 'default.awsfargateprofile.infrastructure.cluster.x-k8s.io';
const GATE_OFF =
  `Internal error occurred: failed calling webhook "${WEBHOOK}": ` +
  'failed to call webhook: the server could not find the requested resource';

/**
 * Starts a manager with --manage-crd, which repairs the CRD if Cluster API Provider AWS replaces it. Creates an
 * AWSFargateProfile, and waits until it is Ready.
 */
async function startKeeperUntilReady(world: SimulatedWorld): Promise<void> {
  for (const kind of [CRD_KIND, CONFIG_MAPS, ...CONFIGURATIONS]) world.api.serve(kind);
  world.start('--manage-crd');
  world.apply(WEB);
  await world.ready(WEB);
}

function installWebhook(world: SimulatedWorld): void {
  if (MUTATING === undefined) throw new Error('no configuration');
  world.create(MUTATING.plural, {
    metadata: { name: CONFIGURATION },
    webhooks: [{ name: WEBHOOK, failurePolicy: 'Fail' }],
  });
}

const removeWebhook = (world: SimulatedWorld): void => world.remove(MUTATING?.plural ?? '', CONFIGURATION);

/** Situations that only a manager with --manage-crd reports. */
export const BESIDE_CAPA: Phases = {
  'capa-serves-profiles': {
    title: 'a Ready profile that the controller of Cluster API Provider AWS reconciles too',
    arrange: async (world) => {
      await startKeeperUntilReady(world);
      installWebhook(world);
    },
    until: ['Stalled', 'True', 'CAPAServesProfiles'],
    remedy: removeWebhook,
  },
  'keeper-stopped': {
    title: 'a deletion under a foreign CRD that another client has applied again and again',
    arrange: async (world) => {
      await startKeeperUntilReady(world);
      const stopped = { at: 0, writers: ['kustomize-controller'] };
      world.api.storage.create(CONFIG_MAPS, 'capaf-system', {
        metadata: { name: 'capaf-crd-keeper' },
        data: { 'record.json': JSON.stringify({ restorations: [], stopped }) },
      });
      refuseRequests(world, 'PATCH', /dryRun/, 500, GATE_OFF);
      installWebhook(world);
      serveForeignSchema(world);
      await world.clock.advance(60_000);
      world.delete(WEB);
    },
    until: ['Deleting', 'True', 'ForeignSchema'],
    remedy: (world) => {
      acceptRequests(world);
      removeWebhook(world);
      serveOurSchema(world);
    },
  },
};
