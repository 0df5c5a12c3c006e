import { decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { expect } from 'chai';
import { Store, TypedStore } from 'controller-runtime/cache';
import { keyOf, keyText } from 'controller-runtime/client';
import { json, MemoryLogger } from 'controller-runtime/testing';
import { ProfileWriter } from './profile-writer.ts';
import { type Api, PROFILE_KIND, newApi } from '../awsfargateprofile/testing/api.ts';
import { aDeletedObject, anObject } from '../awsfargateprofile/testing/builders.ts';

const { signal } = new AbortController();

describe('ProfileWriter', () => {
  let api: Api;
  let store: Store;
  let writer: ProfileWriter;
  let foreignChanges: string[];

  beforeEach(() => {
    api = newApi();
    store = new Store({ name: 'profiles', logger: new MemoryLogger() });
    foreignChanges = [];
    const profiles = new TypedStore(store, decodeAWSFargateProfile);
    writer = new ProfileWriter({
      client: api.client,
      store,
      profiles,
      onForeignChange: (key) => foreignChanges.push(keyText(key)),
    });
  });

  const stored = (object: Parameters<typeof keyOf>[0]) => api.server.storage.get(PROFILE_KIND, keyOf(object));
  const writes = (): readonly string[] =>
    api.server.requests.flatMap(({ method, path }) =>
      method === 'GET' ? [] : [`${method} ${path.split('/').at(-1)}`],
    );

  it('writes status to its subresource, and puts the returned object into the store', async () => {
    const object = api.put();
    store.replaceAll([{ ...object }], object.metadata.resourceVersion);
    const written = await writer.patchStatus(object, { ready: true }, signal);
    expect(written?.status).to.include({ ready: true });
    expect(written?.metadata.resourceVersion).to.not.equal(object.metadata.resourceVersion);
    expect(writes()).to.deep.equal(['PATCH status']);
    const known = store.lookup(keyOf(object));
    expect(known.kind === 'found' && known.object.metadata.resourceVersion).to.equal(written?.metadata.resourceVersion);
  });

  it('sends no request when nothing changes', async () => {
    const object = api.put({ status: { ready: true } });
    expect(await writer.patchStatus(object, { ready: true }, signal)).to.equal(object);
    expect(await writer.patchMetadata(object, undefined, signal)).to.equal(object);
    expect(await writer.patchRawStatus({ ...object }, { ready: true }, signal)).to.equal(true);
    expect(writes()).to.deep.equal([]);
  });

  it('asks the API server with an empty patch whether the object is outdated', async () => {
    const object = api.put({ status: { ready: true } });
    const current = await writer.patchMetadata(object, {}, signal);
    expect(current?.metadata.resourceVersion).to.equal(object.metadata.resourceVersion);
    await writer.patchStatus(object, { ready: false }, signal);
    expect(await writer.patchMetadata(object, {}, signal)).to.equal(undefined);
  });

  it('returns the whole answer when the watch delivered the same version without the fields that another CRD lacks', async () => {
    const object = api.put({ status: { ready: true, profileStatus: 'ACTIVE' } });
    const pruned = { ...object, status: { ready: true } };
    store.replaceAll([pruned], object.metadata.resourceVersion);
    const written = await writer.patchStatus(pruned, { ready: true, profileStatus: 'ACTIVE' }, signal);
    expect(written?.status).to.deep.include({ profileStatus: 'ACTIVE' });
  });

  it('removes a field that the new status leaves out', async () => {
    const object = api.put({ status: { ready: true, profileStatus: 'CREATING' } });
    const written = await writer.patchStatus(object, { ready: true }, signal);
    expect(written?.status).to.not.have.property('profileStatus');
  });

  it('keeps unknown fields of a status that cannot be decoded', async () => {
    const object = api.put();
    api.server.storage.mergePatch(PROFILE_KIND, keyOf(object), { status: { theirs: 1, ready: 'x' } }, 'status');
    const raw = stored(object) ?? expect.fail('the object is gone');
    expect(await writer.patchRawStatus(raw, { ready: false }, signal)).to.equal(true);
    expect(stored(object)?.['status']).to.deep.equal({ theirs: 1, ready: false });
  });

  it('never overwrites a change of another client', async () => {
    const object = api.put();
    api.change(object, { metadata: { labels: { by: 'them' } } });
    expect(await writer.patchMetadata(object, { metadata: { labels: { by: 'us' } } }, signal)).to.equal(undefined);
    expect(await writer.patchStatus(object, { ready: true }, signal)).to.equal(undefined);
    expect(await writer.patchRawStatus({ ...object }, { ready: true }, signal)).to.equal(false);
    expect(stored(object)?.metadata.labels).to.deep.equal({ by: 'them' });
    expect(stored(object)).to.not.have.property('status');
  });

  it('returns undefined when the object is gone', async () => {
    expect(await writer.patchStatus(anObject(), { ready: true }, signal)).to.equal(undefined);
  });

  it('throws when the answer to a write cannot be decoded, so that the reconcile does not use it', async () => {
    const object = api.put();
    const { metadata } = object;
    api.server.intercept = () => json(200, { apiVersion: 'v', kind: 'k', metadata, spec: { clusterName: 7 } });
    const error = await writer.patchStatus(object, { ready: true }, signal).catch((thrown: unknown) => thrown);
    expect(error).to.be.an('error').with.property('message').that.contains('spec.clusterName');
  });

  it('deletes the object with this uid, and no other object of its name', async () => {
    const object = api.put({ metadata: { finalizers: [] } });
    await writer.delete({ ...object, metadata: { ...object.metadata, uid: 'another' } }, signal);
    expect(stored(object)).to.not.equal(undefined);
    await writer.delete(object, signal);
    expect(stored(object)).to.equal(undefined);
    await writer.delete(aDeletedObject(), signal);
  });

  describe('isOwnWrite', () => {
    it('recognizes a write by the version in its answer', async () => {
      const object = api.put();
      const written = (await writer.patchStatus(object, { ready: true }, signal)) ?? expect.fail('not written');
      expect(writer.isOwnWrite({ ...written })).to.equal(true);
      const theirs = api.change(object, { metadata: { labels: { by: 'them' } } });
      expect(writer.isOwnWrite({ ...theirs })).to.equal(false);
      writer.forget(keyOf(object));
      expect(writer.isOwnWrite({ ...written }), 'after the object was forgotten').to.equal(false);
    });

    it('recognizes a write whose watch event precedes its answer', async () => {
      const object = api.put();
      const recognized: boolean[] = [];
      api.server.storage.listen(({ object: now }) => recognized.push(writer.isOwnWrite(now)));
      await writer.patchStatus(object, { ready: true }, signal);
      expect([recognized, foreignChanges]).to.deep.equal([[true], []]);
    });

    it('reports a change of another client during a write once the answer has arrived', async () => {
      const object = api.put();
      const recognized: boolean[] = [];
      api.server.storage.listen(({ object: now }) => recognized.push(writer.isOwnWrite(now)));
      api.server.intercept = () => {
        api.server.intercept = () => undefined;
        api.change(object, { metadata: { labels: { by: 'them' } } });
        return undefined;
      };
      expect(await writer.patchStatus(object, { ready: true }, signal)).to.equal(undefined);
      expect(recognized, 'before the answer').to.deep.equal([true]);
      expect(foreignChanges, 'after the answer').to.deep.equal(['team-a/web']);
    });
  });
});
