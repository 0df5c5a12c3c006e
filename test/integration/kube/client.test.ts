import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createKubeClient, isNoAnswer, type Resource } from 'controller-runtime/client';
import { systemClock, systemRandom } from 'controller-runtime/env';
import { EventWriter } from 'controller-runtime/events';
import { connect, loadKubeconfig } from 'controller-runtime/kubeconfig';
import { MemoryLogger } from 'controller-runtime/testing';
import { describeApiServer } from 'controller-runtime/testing/conformance';
import { errorMessage } from 'controller-runtime/text';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { applyCrds } from '../../envtest/clients/crds.ts';
import { acquireControlPlane } from '../../envtest/control-plane/pool.ts';
import { WITH_CRDS } from '../../world/world.ts';
import { connectThroughProxy, crdOf, type Connected } from './connect.ts';

const widgets: Resource = { group: 'example.org', version: 'v1', plural: 'widgets' };

const widgetCrd = crdOf(widgets.group, widgets.plural, 'Widget', { v1: { served: true, storage: true } });

describe('the Kubernetes client with a real API server', () => {
  let controlPlane: ControlPlane;
  let connected: Connected;
  const { signal } = new AbortController();

  before(async () => {
    controlPlane = await acquireControlPlane(WITH_CRDS);
    await applyCrds(controlPlane.api, widgetCrd);
    connected = await connectThroughProxy(controlPlane);
  });
  after(async () => {
    await connected.close();
    await controlPlane.stop();
  });

  describeApiServer(() => ({ client: connected.client, widgets }));

  it('reports a server certificate that no trusted authority has signed', async () => {
    const text = await readFile(controlPlane.kubeconfigPath, 'utf8');
    const path = join(controlPlane.dir, 'untrusted.kubeconfig');
    await writeFile(path, text.replace(/^ *certificate-authority(-data)?:.*\n/m, ''));
    const untrusting = connect({ load: () => loadKubeconfig({ path, env: {}, home: '/' }), clock: systemClock });
    try {
      const client = createKubeClient({ transport: untrusting, clock: systemClock });
      const failure: unknown = await client.list(widgets, { signal }).catch((error: unknown) => error);
      expect(failure).to.satisfy(isNoAnswer);
      expect(errorMessage(failure)).to.match(/self-signed certificate|unable to verify/);
    } finally {
      await untrusting.close();
    }
  });

  it('refuses Events in a namespace that is being deleted, which the EventWriter logs only at debug level', async () => {
    const { client } = connected;
    const { api } = controlPlane;
    const logger = new MemoryLogger();
    const writer = new EventWriter({ client, clock: systemClock, random: systemRandom, logger, component: 'capaf' });
    await api.post('/api/v1/namespaces', { metadata: { name: 'leaving' } });
    const object = { apiVersion: 'example.org/v1', kind: 'Widget', metadata: { name: 'late' } };
    const widget = await client.create(widgets, 'leaving', object, { signal });
    // No namespace controller runs in this test, so a deleted namespace stays in phase Terminating.
    await api.delete('/api/v1/namespaces/leaving');
    const stop = new AbortController();
    const ended = writer.run(stop.signal);
    writer.record(widget, 'Normal', 'Tested', 'too late');
    stop.abort();
    await ended;
    expect(logger.lines.map(({ level, message }) => `${level} ${message}`)).to.deep.equal([
      'debug The API server refused an event',
    ]);
  });
});
