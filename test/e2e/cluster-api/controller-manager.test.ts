import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { EMPTY_SET_UP, acquireControlPlane } from '../../envtest/control-plane/pool.ts';
import { skipIfBinariesMissing } from '../../envtest/skip.ts';
import { eventually } from '../../support/eventually.ts';

const NAMESPACES = '/api/v1/namespaces';
const CONFIG_MAPS = `${NAMESPACES}/default/configmaps`;

function configMap(name: string, owner?: RawObject): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      ...(owner && {
        ownerReferences: [
          { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.metadata.name, uid: owner.metadata.uid },
        ],
      }),
    },
  };
}

describe('kube-controller-manager on the test control plane', () => {
  let controlPlane: ControlPlane;

  before(async function () {
    controlPlane = await acquireControlPlane(EMPTY_SET_UP);
    await controlPlane.startControllerManager().catch(skipIfBinariesMissing(this));
  });
  after(() => controlPlane.stop());

  it('deletes an object whose owner is deleted', async () => {
    const { api } = controlPlane;
    const owner = await api.post(CONFIG_MAPS, configMap('owner'));
    await api.post(CONFIG_MAPS, configMap('owned', owner));
    await api.post(CONFIG_MAPS, configMap('kept'));
    await api.delete(`${CONFIG_MAPS}/owner`, { propagationPolicy: 'Background' });
    await eventually(async () => !(await api.exists(`${CONFIG_MAPS}/owned`)));
    expect(await api.exists(`${CONFIG_MAPS}/kept`)).to.equal(true);
  });

  it('deletes the objects of a deleted namespace, then the namespace', async () => {
    const { api } = controlPlane;
    await api.post(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'brief' } });
    await api.post(`${NAMESPACES}/brief/configmaps`, configMap('inside'));
    await api.delete(`${NAMESPACES}/brief`);
    await eventually(async () => !(await api.exists(`${NAMESPACES}/brief`)));
  });
});
