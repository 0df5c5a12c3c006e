import { expect } from 'chai';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import { Store } from '../../pkg/kube/store.ts';
import { json, text } from '../../pkg/kube/testing/fake-api-server.ts';
import { ProfileObjects } from './objects.ts';
import type { Api } from './testing/api.ts';
import { PROFILE_KIND, newApi } from './testing/api.ts';
import { aDeletedObject, anObject } from './testing/builders.ts';

const { signal } = new AbortController();

describe('ProfileObjects', () => {
  let api: Api;
  let store: Store;
  let objects: ProfileObjects;
  let news: string[];

  beforeEach(() => {
    api = newApi();
    store = new Store({ name: 'profiles', logger: new MemoryLogger() });
    news = [];
    objects = new ProfileObjects({ client: api.client, store, onNews: (key) => news.push(keyText(key)) });
  });

  const stored = (object: Parameters<typeof keyOf>[0]) => api.server.storage.get(PROFILE_KIND, keyOf(object));
  const writes = (): readonly string[] =>
    api.server.requests.flatMap(({ method, path }) =>
      method === 'GET' ? [] : [`${method} ${path.split('/').at(-1)}`],
    );

  it('writes status where status is, and gives the object as it is now, to the store as well', async () => {
    const object = api.put();
    store.replaceAll([{ ...object }], object.metadata.resourceVersion);
    const written = await objects.patchStatus(object, { ready: true }, signal);
    expect(written?.status).to.include({ ready: true });
    expect(written?.metadata.resourceVersion).to.not.equal(object.metadata.resourceVersion);
    expect(writes()).to.deep.equal(['PATCH status']);
    const known = store.lookup(keyOf(object));
    expect(known.kind === 'found' && known.object.metadata.resourceVersion).to.equal(written?.metadata.resourceVersion);
  });

  it('writes nothing where nothing is to change', async () => {
    const object = api.put({ status: { ready: true } });
    expect(await objects.patchStatus(object, { ready: true }, signal)).to.equal(object);
    expect(await objects.patchMetadata(object, undefined, signal)).to.equal(object);
    expect(await objects.patchRawStatus({ ...object }, { ready: true }, signal)).to.equal(true);
    expect(writes()).to.deep.equal([]);
  });

  it('takes a field out of status that is not said any more', async () => {
    const object = api.put({ status: { ready: true, profileStatus: 'CREATING' } });
    const written = await objects.patchStatus(object, { ready: true }, signal);
    expect(written?.status).to.not.have.property('profileStatus');
  });

  it('leaves what it does not know in a status that cannot be read', async () => {
    const object = api.put();
    api.server.storage.mergePatch(PROFILE_KIND, keyOf(object), { status: { theirs: 1, ready: 'x' } }, 'status');
    const raw = stored(object) ?? expect.fail('it is gone');
    expect(await objects.patchRawStatus(raw, { ready: false }, signal)).to.equal(true);
    expect(stored(object)?.['status']).to.deep.equal({ theirs: 1, ready: false });
  });

  it('never covers what somebody else wrote meanwhile', async () => {
    const object = api.put();
    api.change(object, { metadata: { labels: { by: 'them' } } });
    expect(await objects.patchMetadata(object, { metadata: { labels: { by: 'us' } } }, signal)).to.equal(undefined);
    expect(await objects.patchStatus(object, { ready: true }, signal)).to.equal(undefined);
    expect(await objects.patchRawStatus({ ...object }, { ready: true }, signal)).to.equal(false);
    expect(stored(object)?.metadata.labels).to.deep.equal({ by: 'them' });
    expect(stored(object)).to.not.have.property('status');
  });

  it('has nothing to write where the object is gone', async () => {
    expect(await objects.patchStatus(anObject(), { ready: true }, signal)).to.equal(undefined);
  });

  it('throws what else the API server says', async () => {
    const object = api.put();
    api.server.intercept = () => text(503, 'unavailable');
    const error = await objects.patchStatus(object, { ready: true }, signal).catch((thrown: unknown) => thrown);
    expect(error).to.be.an('error').with.property('message').that.contains('patching status');
  });

  it('throws where the answer to a write cannot be read: the pass must not go on with it', async () => {
    const object = api.put();
    const { metadata } = object;
    api.server.intercept = () => json(200, { apiVersion: 'v', kind: 'k', metadata, spec: { clusterName: 7 } });
    const error = await objects.patchStatus(object, { ready: true }, signal).catch((thrown: unknown) => thrown);
    expect(error).to.be.an('error').with.property('message').that.contains('spec.clusterName');
  });

  it('deletes the very object, and none that has its name by now', async () => {
    const object = api.put({ metadata: { finalizers: [] } });
    await objects.delete({ ...object, metadata: { ...object.metadata, uid: 'another' } }, signal);
    expect(stored(object)).to.not.equal(undefined);
    await objects.delete(object, signal);
    expect(stored(object)).to.equal(undefined);
    await objects.delete(aDeletedObject(), signal);
  });

  describe('tells our writes from those of others', () => {
    it('by the version that the answer brought', async () => {
      const object = api.put();
      const written = (await objects.patchStatus(object, { ready: true }, signal)) ?? expect.fail('not written');
      expect(objects.isOwnWrite({ ...written })).to.equal(true);
      const theirs = api.change(object, { metadata: { labels: { by: 'them' } } });
      expect(objects.isOwnWrite({ ...theirs })).to.equal(false);
      objects.forget(keyOf(object));
      expect(objects.isOwnWrite({ ...written }), 'of an object that is gone').to.equal(false);
    });

    it('where the watch is faster than the answer', async () => {
      const object = api.put();
      const seen: boolean[] = [];
      api.server.storage.listen(({ object: now }) => seen.push(objects.isOwnWrite(now)));
      await objects.patchStatus(object, { ready: true }, signal);
      expect([seen, news]).to.deep.equal([[true], []]);
    });

    it('only once the answer is there, where another write came while ours was under way', async () => {
      const object = api.put();
      const seen: boolean[] = [];
      api.server.storage.listen(({ object: now }) => seen.push(objects.isOwnWrite(now)));
      api.server.intercept = () => {
        api.server.intercept = () => undefined;
        api.change(object, { metadata: { labels: { by: 'them' } } });
        return undefined;
      };
      expect(await objects.patchStatus(object, { ready: true }, signal)).to.equal(undefined);
      expect(seen, 'nobody can tell yet').to.deep.equal([true]);
      expect(news, 'it is news after all').to.deep.equal(['team-a/web']);
    });
  });
});
