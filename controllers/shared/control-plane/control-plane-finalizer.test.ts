import { expect } from 'chai';
import { Store } from 'controller-runtime/cache';
import type { KubeObject } from 'controller-runtime/client';
import { type FakeApiServer, json, MemoryLogger } from 'controller-runtime/testing';
import { CONTROL_PLANE, newApi } from '../../awsfargateprofile/testing/api.ts';
import { CONTROL_PLANE_FINALIZER, ControlPlaneFinalizer } from './control-plane-finalizer.ts';

const KIND = CONTROL_PLANE;
const RESOURCE = { group: KIND.group, version: 'v1beta2', plural: KIND.plural };
const KEY = { namespace: 'team-a', name: 'prod-control-plane' };
const OTHER_FINALIZER = 'other.example.com/finalizer';
const { signal } = new AbortController();

describe('ControlPlaneFinalizer', () => {
  let server: FakeApiServer;
  let store: Store;
  let isServed: boolean;
  let finalizer: ControlPlaneFinalizer;

  beforeEach(() => {
    const api = newApi();
    server = api.server;
    store = new Store({ name: KIND.plural, logger: new MemoryLogger() });
    store.replaceAll([], '0');
    isServed = true;
    finalizer = new ControlPlaneFinalizer({
      client: api.client,
      controlPlanes: store,
      resource: () => (isServed ? RESOURCE : undefined),
    });
  });

  const put = (finalizers: readonly string[] = []): KubeObject =>
    server.storage.create(KIND, KEY.namespace, { metadata: { name: KEY.name, finalizers } });
  const finalizers = (): readonly string[] => server.storage.get(KIND, KEY)?.metadata.finalizers ?? [];
  const touch = (): KubeObject =>
    server.storage.mergePatch(KIND, KEY, { metadata: { labels: { at: server.storage.newest.toString() } } });
  const methods = (): readonly string[] => server.requests.map(({ method }) => method);

  describe('add', () => {
    it('adds the finalizer after the finalizers of other controllers', async () => {
      put([OTHER_FINALIZER]);
      expect(await finalizer.add(KEY, signal)).to.deep.equal({ kind: 'present' });
      expect(finalizers()).to.deep.equal([OTHER_FINALIZER, CONTROL_PLANE_FINALIZER]);
    });

    it('sends no request when the cache shows the finalizer', async () => {
      store.replaceAll([put([CONTROL_PLANE_FINALIZER])], '1');
      expect(await finalizer.add(KEY, signal)).to.deep.equal({ kind: 'present' });
      expect(methods()).to.deep.equal([]);
    });

    it('writes nothing when the cache is out of date', async () => {
      store.replaceAll([put()], '1');
      server.storage.mergePatch(KIND, KEY, { metadata: { finalizers: [CONTROL_PLANE_FINALIZER] } });
      expect(await finalizer.add(KEY, signal)).to.deep.equal({ kind: 'present' });
      expect(methods()).to.deep.equal(['GET']);
    });

    it('shares one request between simultaneous calls, but not with later calls', async () => {
      put();
      const all = await Promise.all([1, 2, 3].map(() => finalizer.add(KEY, signal)));
      expect(all).to.deep.equal(all.map(() => ({ kind: 'present' })));
      expect(methods()).to.deep.equal(['GET', 'PATCH']);
      await finalizer.add(KEY, signal);
      expect(methods()).to.deep.equal(['GET', 'PATCH', 'GET']);
    });

    it('reports a control plane that is gone or being deleted', async () => {
      expect(await finalizer.add(KEY, signal)).to.deep.equal({ kind: 'controlPlaneDeleting' });
      put([OTHER_FINALIZER]);
      server.storage.delete(KIND, KEY);
      expect(await finalizer.add(KEY, signal)).to.deep.equal({ kind: 'controlPlaneDeleting' });
      expect(finalizers()).to.deep.equal([OTHER_FINALIZER]);
    });

    for (const kept of [[OTHER_FINALIZER], []])
      it(`reports a control plane with ${kept.length} other finalizers that is deleted between read and write`, async () => {
        put(kept);
        server.intercept = ({ method }) => {
          if (method === 'PATCH') server.storage.delete(KIND, KEY);
          return undefined;
        };
        expect(await finalizer.add(KEY, signal)).to.deep.equal({ kind: 'controlPlaneDeleting' });
        expect(finalizers()).to.deep.equal(kept);
      });

    it('reads the control plane again after a conflict, up to five times', async () => {
      put();
      let conflicts = 0;
      server.intercept = ({ method }) => {
        if (method === 'PATCH' && conflicts++ < 4) touch();
        return undefined;
      };
      expect(await finalizer.add(KEY, signal)).to.deep.equal({ kind: 'present' });
      conflicts = -1;
      server.storage.mergePatch(KIND, KEY, { metadata: { finalizers: [] } });
      expect(await finalizer.add(KEY, signal)).to.deep.equal({
        kind: 'rejected',
        reason: 'another client changes the control plane again and again',
      });
      expect(finalizers()).to.deep.equal([]);
    });

    it('returns the message of a rejection by the API server', async () => {
      put();
      const webhook = 'failed calling webhook "validation.awsmanagedcontrolplanes"';
      server.intercept = ({ method }) =>
        method === 'PATCH'
          ? json(500, { kind: 'Status', status: 'Failure', reason: 'InternalError', code: 500, message: webhook })
          : undefined;
      const result = await finalizer.add(KEY, signal);
      expect(result.kind === 'rejected' && result.reason).to.contain(webhook);
    });

    it('is rejected while the API server does not serve control planes', async () => {
      isServed = false;
      expect(await finalizer.add(KEY, signal)).to.deep.equal({
        kind: 'rejected',
        reason: 'the controller cannot read AWSManagedControlPlane objects',
      });
    });

    it('throws when the API server does not answer', async () => {
      put();
      server.intercept = ({ method }) => (method === 'PATCH' ? new Error('socket hang up') : undefined);
      expect(await finalizer.add(KEY, signal).catch(() => 'thrown')).to.equal('thrown');
      server.intercept = () => undefined;
      expect(await finalizer.add(KEY, signal), 'the next call').to.deep.equal({ kind: 'present' });
    });
  });

  describe('confirm', () => {
    it('asks the API server although the cache shows the finalizer', async () => {
      store.replaceAll([put([CONTROL_PLANE_FINALIZER])], '1');
      server.storage.mergePatch(KIND, KEY, { metadata: { finalizers: [] } });
      expect(await finalizer.confirm(KEY, signal)).to.deep.equal({ kind: 'present' });
      expect(finalizers()).to.deep.equal([CONTROL_PLANE_FINALIZER]);
    });

    it('reports a control plane that is being deleted although the cache shows its finalizer', async () => {
      store.replaceAll([put([CONTROL_PLANE_FINALIZER, OTHER_FINALIZER])], '1');
      server.storage.delete(KIND, KEY);
      server.storage.mergePatch(KIND, KEY, { metadata: { finalizers: [OTHER_FINALIZER] } });
      expect(await finalizer.confirm(KEY, signal)).to.deep.equal({ kind: 'controlPlaneDeleting' });
      expect(finalizers()).to.deep.equal([OTHER_FINALIZER]);
    });

    it('waits for a removal that is under way, and then adds the finalizer again', async () => {
      const read = put([CONTROL_PLANE_FINALIZER]);
      const question = Promise.withResolvers<boolean>();
      const removal = finalizer.removeIf(read, () => question.promise, signal);
      const confirmation = finalizer.confirm(KEY, signal);
      question.resolve(true);
      await removal;
      expect(await confirmation).to.deep.equal({ kind: 'present' });
      expect(finalizers()).to.deep.equal([CONTROL_PLANE_FINALIZER]);
      expect(methods()).to.deep.equal(['PATCH', 'GET', 'PATCH']);
    });
  });
});
