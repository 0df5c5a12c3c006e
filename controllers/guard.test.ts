import { expect } from 'chai';
import { MemoryLogger } from '../pkg/env/testing/memory-logger.ts';
import { SeededRandom } from '../pkg/env/testing/seeded-random.ts';
import { VirtualClock } from '../pkg/env/testing/virtual-clock.ts';
import { createKubeClient } from '../pkg/kube/client.ts';
import { isConflict } from '../pkg/kube/errors.ts';
import { Store } from '../pkg/kube/store.ts';
import type { FakeKind } from '../pkg/kube/testing/fake-api-server.ts';
import { FakeApiServer, json, text } from '../pkg/kube/testing/fake-api-server.ts';
import type { KubeObject } from '../pkg/kube/types.ts';
import { GUARD_FINALIZER, Guard, hasGuard } from './guard.ts';

const KIND: FakeKind = {
  group: 'controlplane.cluster.x-k8s.io',
  versions: ['v1beta2'],
  kind: 'AWSManagedControlPlane',
  plural: 'awsmanagedcontrolplanes',
};
const RESOURCE = { group: KIND.group, version: 'v1beta2', plural: KIND.plural };
const KEY = { namespace: 'team-a', name: 'prod-control-plane' };
const THEIRS = 'somebody.else/finalizer';
const { signal } = new AbortController();

describe('Guard', () => {
  let server: FakeApiServer;
  let store: Store;
  let isServed: boolean;
  let guard: Guard;

  beforeEach(() => {
    const clock = new VirtualClock();
    server = new FakeApiServer({ clock, random: new SeededRandom(1), kinds: [KIND] });
    store = new Store({ name: KIND.plural, logger: new MemoryLogger() });
    store.replaceAll([], '0');
    isServed = true;
    guard = new Guard({
      client: createKubeClient({ transport: server, clock }),
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

  describe('putOn', () => {
    it('adds the finalizer to those of others', async () => {
      put([THEIRS]);
      expect(await guard.putOn(KEY, signal)).to.deep.equal({ kind: 'guarded' });
      expect(finalizers()).to.deep.equal([THEIRS, GUARD_FINALIZER]);
    });

    it('asks nobody where the cache shows it', async () => {
      store.replaceAll([put([GUARD_FINALIZER])], '1');
      expect(await guard.putOn(KEY, signal)).to.deep.equal({ kind: 'guarded' });
      expect(methods()).to.deep.equal([]);
    });

    it('writes nothing where only the cache does not show it yet', async () => {
      store.replaceAll([put()], '1');
      server.storage.mergePatch(KIND, KEY, { metadata: { finalizers: [GUARD_FINALIZER] } });
      expect(await guard.putOn(KEY, signal)).to.deep.equal({ kind: 'guarded' });
      expect(methods()).to.deep.equal(['GET']);
    });

    it('asks once for all that ask at the same moment, and again afterwards', async () => {
      put();
      const all = await Promise.all([1, 2, 3].map(() => guard.putOn(KEY, signal)));
      expect(all).to.deep.equal(all.map(() => ({ kind: 'guarded' })));
      expect(methods()).to.deep.equal(['GET', 'PATCH']);
      await guard.putOn(KEY, signal);
      expect(methods()).to.deep.equal(['GET', 'PATCH', 'GET']);
    });

    it('is too late where the control plane is being deleted, or gone', async () => {
      expect(await guard.putOn(KEY, signal)).to.deep.equal({ kind: 'leaving' });
      put([THEIRS]);
      server.storage.delete(KIND, KEY);
      expect(await guard.putOn(KEY, signal)).to.deep.equal({ kind: 'leaving' });
      expect(finalizers()).to.deep.equal([THEIRS]);
    });

    for (const kept of [[THEIRS], []])
      it(`is too late where the deletion comes between look and write, kept by ${kept.length} others`, async () => {
        put(kept);
        server.intercept = ({ method }) => {
          if (method === 'PATCH') server.storage.delete(KIND, KEY);
          return undefined;
        };
        expect(await guard.putOn(KEY, signal)).to.deep.equal({ kind: 'leaving' });
        expect(finalizers()).to.deep.equal(kept);
      });

    it('looks again where somebody else wrote meanwhile, five times', async () => {
      put();
      let conflicts = 0;
      server.intercept = ({ method }) => {
        if (method === 'PATCH' && conflicts++ < 4) touch();
        return undefined;
      };
      expect(await guard.putOn(KEY, signal)).to.deep.equal({ kind: 'guarded' });
      conflicts = -1;
      server.storage.mergePatch(KIND, KEY, { metadata: { finalizers: [] } });
      expect(await guard.putOn(KEY, signal)).to.deep.equal({
        kind: 'refused',
        why: 'it is being changed all the time',
      });
      expect(finalizers()).to.deep.equal([]);
    });

    it('says why the API server refuses it', async () => {
      put();
      const webhook = 'failed calling webhook "validation.awsmanagedcontrolplanes"';
      server.intercept = ({ method }) =>
        method === 'PATCH'
          ? json(500, { kind: 'Status', status: 'Failure', reason: 'InternalError', code: 500, message: webhook })
          : undefined;
      const guarding = await guard.putOn(KEY, signal);
      expect(guarding.kind === 'refused' && guarding.why).to.contain(webhook);
    });

    it('cannot be put on while control planes are not served', async () => {
      isServed = false;
      expect(await guard.putOn(KEY, signal)).to.deep.equal({
        kind: 'refused',
        why: 'AWSManagedControlPlane objects cannot be read',
      });
    });

    it('throws where nothing answers: whether it stands is not known', async () => {
      put();
      server.intercept = ({ method }) => (method === 'PATCH' ? new Error('socket hang up') : undefined);
      expect(await guard.putOn(KEY, signal).catch(() => 'thrown')).to.equal('thrown');
      server.intercept = () => undefined;
      expect(await guard.putOn(KEY, signal), 'and asks anew').to.deep.equal({ kind: 'guarded' });
    });
  });

  describe('takeOff', () => {
    it('takes its own finalizer off, and no other', async () => {
      await guard.takeOff(put([GUARD_FINALIZER, THEIRS]), signal);
      expect(finalizers()).to.deep.equal([THEIRS]);
    });

    it('writes nothing where it is not on', async () => {
      await guard.takeOff(put([THEIRS]), signal);
      expect(methods()).to.deep.equal([]);
    });

    it('throws the conflict where the object has changed since it was read', async () => {
      const read = put([GUARD_FINALIZER]);
      touch();
      const error = await guard.takeOff(read, signal).catch((thrown: unknown) => thrown);
      expect(isConflict(error)).to.equal(true);
      expect(hasGuard(server.storage.get(KIND, KEY) ?? read)).to.equal(true);
    });

    it('throws what else the API server says', async () => {
      const read = put([GUARD_FINALIZER]);
      server.intercept = () => text(503, 'unavailable');
      expect(await guard.takeOff(read, signal).catch(() => 'thrown')).to.equal('thrown');
    });
  });
});
