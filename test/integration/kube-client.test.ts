import { describeApiServer } from '../../pkg/kube/testing/conformance.ts';
import type { Resource } from '../../pkg/kube/types.ts';
import { startControlPlane, type ControlPlane } from '../envtest/controlplane.ts';
import { applyCrds } from '../envtest/crds.ts';
import { connectThroughProxy, type Connected } from './kube.ts';

const widgets: Resource = { group: 'example.org', version: 'v1', plural: 'widgets' };

const widgetCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.org' },
  spec: {
    group: 'example.org',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget', singular: 'widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

describe('the client on a real API server', function () {
  this.timeout(60_000);
  let controlPlane: ControlPlane;
  let connected: Connected;

  before(async () => {
    controlPlane = await startControlPlane();
    await applyCrds(controlPlane.api, widgetCrd);
    connected = await connectThroughProxy(controlPlane);
  });
  after(async () => {
    await connected.close();
    await controlPlane.stop();
  });

  describeApiServer(() => ({ client: connected.client, widgets }));
});
