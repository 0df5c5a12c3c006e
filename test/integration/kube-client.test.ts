import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { errorMessage } from '../../pkg/env/error-text.ts';
import { systemClock, systemRandom } from '../../pkg/env/system.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { createKubeClient } from '../../pkg/kube/client.ts';
import { isNoAnswer } from '../../pkg/kube/errors.ts';
import { EventWriter } from '../../pkg/kube/events.ts';
import { loadKubeconfig } from '../../pkg/kube/kubeconfig.ts';
import { describeApiServer } from '../../pkg/kube/testing/conformance.ts';
import type { Resource } from '../../pkg/kube/types.ts';
import { connect } from '../../pkg/kube/undici-transport.ts';
import { startControlPlane, type ControlPlane } from '../envtest/controlplane.ts';
import { applyCrds } from '../envtest/crds.ts';
import { kubectl } from '../envtest/kubectl.ts';
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
  const { signal } = new AbortController();

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

  it('keeps to few connections', async () => {
    const before = connected.proxy.accepted;
    for (let i = 0; i < 100; i++) await connected.client.list(widgets, { signal });
    // The first may not be back in the pool when the end of its answer is read.
    expect(connected.proxy.accepted - before).to.be.at.most(2);
  });

  it('says that a server whose certificate nobody vouches for cannot be trusted', async () => {
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

  describe('EventWriter', () => {
    async function whileWriting(
      work: (writer: EventWriter, logger: MemoryLogger) => Promise<void>,
    ): Promise<MemoryLogger> {
      const { client } = connected;
      const logger = new MemoryLogger();
      const options = { client, clock: systemClock, random: systemRandom, logger, component: 'capaf' };
      const writer = new EventWriter(options);
      const stop = new AbortController();
      const ended = writer.run(stop.signal);
      await work(writer, logger).finally(() => stop.abort());
      await ended;
      return logger;
    }
    const newWidget = (name: string, namespace = 'default') =>
      connected.client.create(
        widgets,
        namespace,
        { apiVersion: 'example.org/v1', kind: 'Widget', metadata: { name } },
        { signal },
      );

    it('writes what kubectl describe shows, repetitions counted', async () => {
      const widget = await newWidget('described');
      const logger = await whileWriting((writer) => {
        for (let i = 0; i < 3; i++) writer.record(widget, 'Warning', 'CreateFailed', 'EKS said no');
        return Promise.resolve();
      });
      expect(logger.lines).to.deep.equal([]);
      const { stdout } = await kubectl(controlPlane, ['describe', 'widget', 'described']);
      expect(stdout).to.match(/Warning +CreateFailed +\S+ \(x3 over \S+\) +capaf +EKS said no/);
    });

    it('is quiet about a namespace that is being deleted', async () => {
      const { api } = controlPlane;
      await api.post('/api/v1/namespaces', { metadata: { name: 'leaving' } });
      const widget = await newWidget('late', 'leaving');
      // Nobody finalizes namespaces here: it stays as it is.
      await api.delete('/api/v1/namespaces/leaving');
      const logger = await whileWriting((writer) => {
        writer.record(widget, 'Normal', 'Tested', 'too late');
        return Promise.resolve();
      });
      expect(logger.lines.map(({ level, message }) => `${level} ${message}`)).to.deep.equal([
        'debug The API server refused an event',
      ]);
    });
  });
});
