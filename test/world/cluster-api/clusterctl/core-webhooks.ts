import type { ApiClient } from '../../../envtest/clients/api.ts';
import type { CrdManifest } from '../../../envtest/clients/crds.ts';

/**
 * Removes the webhooks of Cluster API that clusterctl has installed. In a test no pod answers them, so they would block
 * every change of a Cluster.
 */
export async function disableCoreWebhooks(api: ApiClient): Promise<void> {
  for (const kind of ['mutating', 'validating'])
    await api.delete(
      `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations/capi-${kind}-webhook-configuration`,
    );
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  for (const { metadata, spec } of (await api.list<CrdManifest>(crds)).items)
    if (spec.group === 'cluster.x-k8s.io')
      await api.patch(`${crds}/${metadata.name}`, { spec: { conversion: { strategy: 'None', webhook: null } } });
}
