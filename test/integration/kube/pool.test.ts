import { expect } from 'chai';
import { waitForAccessCaches } from '../../envtest/control-plane/access-caches.ts';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { acquireControlPlane, expectInventory, inventoryOf } from '../../envtest/control-plane/pool.ts';
import { WITH_CRDS, fargateProfile } from '../../world/world.ts';

const PROFILES = '/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/team/awsfargateprofiles';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1';
const WEBHOOK_TYPES = ['mutating', 'validating'] as const;

/**
 * Creates objects such as a test leaves behind in the API server, and also changes an object that the API server has
 * created itself: the namespace `default`.
 */
async function createLeftovers({ api }: ControlPlane): Promise<void> {
  const metadata = { name: 'left', namespace: 'team' };
  await api.post('/api/v1/namespaces', { metadata: { name: 'team' } });
  await api.post(PROFILES, fargateProfile('left', {}, { namespace: 'team', finalizers: ['example.org/kept'] }));
  await api.delete(`${PROFILES}/left`);
  await api.post('/api/v1/namespaces/team/secrets', { metadata });
  await api.post('/api/v1/namespaces/team/configmaps', { metadata });
  await api.post('/api/v1/namespaces/team/events', { metadata, involvedObject: { namespace: 'team' } });
  await api.post('/apis/coordination.k8s.io/v1/namespaces/team/leases', { metadata });
  await api.patch('/api/v1/namespaces/default', { metadata: { labels: { left: 'over' } } });
}

/** Creates a ClusterRole and a ClusterRoleBinding that allow the user `name` to list pods. */
async function grantPods({ api }: ControlPlane, name: string): Promise<void> {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }];
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }];
  await api.post(`${RBAC}/clusterroles`, { metadata: { name }, rules });
  await api.post(`${RBAC}/clusterrolebindings`, { metadata: { name }, roleRef, subjects });
}

async function mayListPods({ api }: ControlPlane, user: string): Promise<boolean> {
  const { status } = await api.post<{ readonly status: { readonly allowed: boolean } }>(
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    { spec: { user, resourceAttributes: { verb: 'list', resource: 'pods' } } },
  );
  return status.allowed;
}

/**
 * Creates a webhook for all new Secrets. No server listens at the URL of the webhook, so the API server refuses each
 * new Secret.
 */
async function refuseSecrets({ api }: ControlPlane, type: (typeof WEBHOOK_TYPES)[number], name: string): Promise<void> {
  const webhook = {
    name: 'left.example.org',
    clientConfig: { url: 'https://127.0.0.1:1/' },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'], operations: ['CREATE'] }],
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  await api.post(`${WEBHOOKS}/${type}webhookconfigurations`, { metadata: { name }, webhooks: [webhook] });
}

/** Creates a Secret with dry-run, so that it is not stored. Returns the status of the response. */
async function createSecret({ api }: ControlPlane): Promise<number> {
  const options = { query: { dryRun: 'All' }, body: { metadata: { name: 'secret' } } };
  return (await api.request('POST', '/api/v1/namespaces/default/secrets', options)).status;
}

describe('the pool of control planes', () => {
  let controlPlane: ControlPlane;
  beforeEach(async () => {
    controlPlane = await acquireControlPlane(WITH_CRDS);
  });
  afterEach(() => controlPlane.stop());

  const stopAndAcquire = async (): Promise<{ readonly isSame: boolean }> => {
    const { url } = controlPlane;
    await controlPlane.stop();
    controlPlane = await acquireControlPlane(WITH_CRDS);
    return { isSame: controlPlane.url === url };
  };

  it('lists left-over objects of etcd and of the API server', async () => {
    const before = await inventoryOf(controlPlane);
    await createLeftovers(controlPlane);
    const error: unknown = await expectInventory(controlPlane, before, 0).catch((thrown: unknown) => thrown);
    for (const line of [
      '/registry/infrastructure.cluster.x-k8s.io/awsfargateprofiles/team/left is left over',
      '/registry/secrets/team/left is left over',
      '/registry/configmaps/team/left is left over',
      '/registry/events/team/left is left over',
      '/registry/leases/team/left is left over',
      '/registry/namespaces/team is left over',
      '/registry/namespaces/default has changed',
      '/api/v1/secrets team/left is still served',
      '/api/v1/namespaces /team is still served',
    ])
      expect(String(error).split('\n')).to.include(line);
  });

  it('reuses a control plane with changed RBAC objects and webhooks when the API server has forgotten them', async () => {
    await grantPods(controlPlane, 'left');
    for (const type of WEBHOOK_TYPES) await refuseSecrets(controlPlane, type, 'left');
    await waitForAccessCaches(controlPlane.api);
    expect(await mayListPods(controlPlane, 'left')).to.equal(true);
    expect(await stopAndAcquire()).to.deep.equal({ isSame: true });
    expect(await mayListPods(controlPlane, 'left')).to.equal(false);
    expect(await createSecret(controlPlane)).to.equal(201);
  });
});
