import { expect } from 'chai';
import { Store, TypedStore } from 'controller-runtime/cache';
import type { KubeObject } from 'controller-runtime/client';
import { MemoryLogger } from 'controller-runtime/testing';
import { decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { type Api, PROFILE_KIND, newApi } from '../awsfargateprofile/testing/api.ts';
import { newReadFreshProfiles } from './fresh-profiles.ts';
import { PROFILES } from './live-profiles.ts';

const { signal } = new AbortController();

describe('newReadFreshProfiles', () => {
  let api: Api;
  let store: Store;
  let isSettled: boolean;
  let projected: number;
  let read: (signal: AbortSignal) => Promise<readonly KubeObject[]>;

  beforeEach(() => {
    api = newApi();
    store = new Store({ name: 'profiles', logger: new MemoryLogger() });
    isSettled = true;
    projected = 0;
    const profiles = new TypedStore(store, decodeAWSFargateProfile);
    const { client, clock } = api;
    read = newReadFreshProfiles({ client, clock, profiles, schema: { isSettled: () => isSettled } }, (object) => {
      projected++;
      return object.metadata.namespace === 'team-c' ? undefined : object;
    });
  });

  const namesIn = async (answer = read(signal)): Promise<readonly string[]> =>
    (await answer).map(({ metadata }) => metadata.name);
  /** Returns the number of list requests for all AWSFargateProfiles, not only for one. */
  const lists = (): number =>
    api.server.requests.filter(({ method, path }) => method === 'GET' && path.includes('?limit=50')).length;
  /** Fills the cache with all objects of the API server, as the list request of the cache would. */
  const fillCache = async (): Promise<void> => {
    const { items, resourceVersion } = await api.client.list(PROFILES, { signal });
    store.replaceAll(items, resourceVersion);
  };

  describe('with a cache of more objects than a page of a list has', () => {
    beforeEach(async () => {
      for (let index = 0; index < 50; index++)
        api.put({ metadata: { name: `c-${index}`, namespace: 'team-c', finalizers: [] } });
      api.put();
      await fillCache();
    });

    it('answers from the cache as soon as the watch shows the newest change', async () => {
      api.put({ metadata: { name: 'other' } });
      const answer = namesIn();
      await api.clock.advance(50);
      await fillCache();
      expect(await answer).to.have.members(['web', 'other']);
      expect(lists()).to.equal(0);
    });

    it('projects each version of an object once', async () => {
      expect(await namesIn()).to.deep.equal(['web']);
      expect(await namesIn()).to.deep.equal(['web']);
      expect(projected).to.equal(51);
      api.put({ metadata: { name: 'other' } });
      await fillCache();
      expect(await namesIn()).to.have.members(['web', 'other']);
      expect(lists()).to.equal(0);
    });

    it('gives other work a turn after 200 objects that are new', async () => {
      for (let index = 50; index < 250; index++)
        api.put({ metadata: { name: `c-${index}`, namespace: 'team-c', finalizers: [] } });
      await fillCache();
      let hasAnswered = false;
      const answer = read(signal).then(() => (hasAnswered = true));
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
      expect(hasAnswered).to.equal(false);
      await api.clock.advance(0);
      await answer;
    });

    describe('lists the objects', () => {
      const [BOTH, TWO_PAGES] = [['web', 'other'], 2];
      const listed = async (): Promise<void> => {
        expect(await namesIn()).to.have.members(BOTH);
        expect(lists()).to.equal(TWO_PAGES);
      };
      beforeEach(() => void api.put({ metadata: { name: 'other' } }));

      it('if they fit on one page', async () => {
        for (let index = 0; index < 50; index++)
          api.server.storage.delete(PROFILE_KIND, { namespace: 'team-c', name: `c-${index}` });
        await fillCache();
        expect(await namesIn()).to.have.members(BOTH);
        expect(lists()).to.equal(1);
      });

      it('if the watch does not show the newest change within 200 ms', async () => {
        const answer = namesIn();
        await api.clock.advance(199);
        expect(lists()).to.equal(0);
        await api.clock.advance(1);
        expect(await answer).to.have.members(BOTH);
        expect(lists()).to.equal(TWO_PAGES);
      });

      it('if the cache knows the newest change only from the answer to a write', async () => {
        const [written] = (await api.client.list(PROFILES, { signal })).items.filter(
          ({ metadata }) => metadata.name === 'web',
        );
        store.replaceWith(written ?? expect.fail('no object'));
        const answer = namesIn();
        await api.clock.advance(200);
        expect(await answer).to.have.members(BOTH);
      });

      it('if the API server has older versions than the cache, because etcd was restored from a backup', async () => {
        store.advance('1000000');
        await listed();
      });

      it('if the cache is not synced', async () => {
        await fillCache();
        store.markUnknown({ reason: 'the kind is gone' });
        await listed();
      });

      it('if another CRD was installed, because the cache may lack fields', async () => {
        await fillCache();
        isSettled = false;
        await listed();
      });
    });

    it('ends with the error of a caller that stops waiting for the watch', async () => {
      api.put({ metadata: { name: 'other' } });
      const stop = new AbortController();
      const answer = read(stop.signal).catch((error: unknown) => error);
      await api.clock.advance(50);
      stop.abort(new Error('stop'));
      expect(await answer).to.have.property('message', 'stop');
    });
  });

  it('shares one list between simultaneous calls, but never answers from an older list', async () => {
    api.put();
    const before = namesIn();
    api.put({ metadata: { name: 'other' } });
    const later = [namesIn(), namesIn(), namesIn()];
    await before;
    for (const names of await Promise.all(later)) expect(names).to.have.members(['web', 'other']);
    expect(lists()).to.equal(2);
  });
});
