import { expect } from 'chai';
import { isAlreadyExists, isConflict, isInvalid, isNotFound, isNotServed } from '../client/errors.ts';
import type { KubeClient, KubeObject, Resource, WatchEvent } from '../client/types.ts';
import { failureOf } from './fixtures.ts';

/**
 * A client of a real or fake API server that serves the kind Widget: namespaced, any fields, status as a subresource.
 */
export interface Subject {
  readonly client: KubeClient;
  readonly widgets: Resource;
}

const UNUSED_UID = '11111111-1111-4111-8111-111111111111';
const FINALIZER = 'example.org/hold';

/**
 * Specifies the API server's behavior that the controllers rely on. The same tests run against FakeApiServer and
 * against a real API server, which shows that the fake behaves like the real one.
 */
export function describeApiServer(getSubject: () => Subject): void {
  let client: KubeClient;
  let widgets: Resource;
  let signal: AbortSignal;
  let done: AbortController;
  let counter = 0;
  let name = '';
  const key = (): { readonly namespace: string; readonly name: string } => ({ namespace: 'default', name });

  beforeEach(() => {
    ({ client, widgets } = getSubject());
    done = new AbortController();
    signal = done.signal;
    counter += 1;
    name = `w${counter}`;
  });
  afterEach(() => done.abort());

  const create = (fields: Readonly<Record<string, unknown>> = {}): Promise<KubeObject> => {
    const { metadata, ...rest } = { metadata: {}, ...fields };
    const object = {
      apiVersion: `${widgets.group}/${widgets.version}`,
      kind: 'Widget',
      metadata: { name, ...metadata },
      ...rest,
    };
    return client.create(widgets, 'default', object, { signal });
  };
  const get = (): Promise<KubeObject | undefined> => client.get(widgets, key(), { signal });
  const patch = (body: unknown, subresource?: 'status'): Promise<KubeObject> =>
    client.mergePatch(widgets, key(), body, { signal, ...(subresource === undefined ? {} : { subresource }) });
  const remove = async (uid?: string): Promise<KubeObject | undefined> =>
    client.delete(widgets, key(), { uid: uid ?? (await get())?.metadata.uid ?? UNUSED_UID, signal });

  describe('create and get', () => {
    it('return the metadata that the server sets, and ignore status', async () => {
      const created = await create({ spec: { size: 1 }, status: { ready: true } });
      expect(created).to.include({ kind: 'Widget', apiVersion: 'example.org/v1' });
      expect(created.metadata).to.include({ name, namespace: 'default', generation: 1 });
      expect(created.metadata.uid).to.match(/^[0-9a-f-]{36}$/);
      expect(created.metadata.creationTimestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(created).to.not.have.property('status');
      expect(await get()).to.deep.equal(created);
    });

    it('return undefined for an object that does not exist', async () => {
      expect(await get()).to.equal(undefined);
      expect(await remove()).to.equal(undefined);
    });

    it('throw NotServed for a kind that is not served', async () => {
      const gizmos = { ...widgets, plural: 'gizmos' };
      const failures = await Promise.all([
        failureOf(client.get(gizmos, key(), { signal })),
        failureOf(client.list(gizmos, { signal })),
        failureOf(client.delete(gizmos, key(), { uid: UNUSED_UID, signal })),
        failureOf(client.get({ ...widgets, version: 'v7' }, key(), { signal })),
      ]);
      for (const failure of failures) expect(failure).to.satisfy(isNotServed).and.to.include({ status: 404 });
      expect(await failureOf(patch({}))).to.satisfy(isNotFound);
    });

    it('throw AlreadyExists for a second object of the same name', async () => {
      await create();
      const failure = await failureOf(create());
      expect(failure).to.satisfy(isAlreadyExists).and.to.include({ status: 409 });
      expect(failure.message).to.equal(`creating widgets.example.org: widgets.example.org "${name}" already exists`);
    });
  });

  describe('mergePatch', () => {
    it('increases the generation for changes of the spec only', async () => {
      const created = await create({ spec: { size: 1 } });
      const labelled = await patch({ metadata: { labels: { colour: 'red' } } });
      expect(labelled.metadata.generation).to.equal(1);
      const resized = await patch({ spec: { size: 2 } });
      expect(resized.metadata).to.include({ generation: 2, uid: created.metadata.uid });
      const ready = await patch(
        { status: { ready: true }, spec: { size: 3 }, metadata: { labels: { a: 'b' } } },
        'status',
      );
      expect(ready.metadata.generation).to.equal(2);
      expect(ready).to.deep.include({ spec: { size: 2 }, status: { ready: true } });
      expect(ready.metadata.labels).to.deep.equal({ colour: 'red' });
      expect(await patch({ status: { ready: false } })).to.deep.include({ status: { ready: true } });
    });

    it('removes fields by null, replaces lists as a whole, and keeps the version when nothing changes', async () => {
      await create({ spec: { sizes: [1, 2], colour: 'red' } });
      const patched = await patch({ spec: { sizes: [3], colour: null } });
      expect(patched['spec']).to.deep.equal({ sizes: [3] });
      const again = await patch({ spec: { sizes: [3] } });
      expect(again.metadata.resourceVersion).to.equal(patched.metadata.resourceVersion);
      const status = await patch({ status: { ready: true } }, 'status');
      const statusAgain = await patch({ status: { ready: true } }, 'status');
      expect(statusAgain.metadata.resourceVersion).to.equal(status.metadata.resourceVersion);
    });

    it('throws Conflict for a stale version, of metadata and of status', async () => {
      const { metadata } = await create();
      await patch({ metadata: { labels: { a: 'b' } } });
      const stale = { metadata: { resourceVersion: metadata.resourceVersion, labels: { a: 'c' } } };
      const failure = await failureOf(patch(stale));
      expect(failure).to.satisfy(isConflict);
      expect(failure.message).to.equal(
        `patching widgets.example.org default/${name}: Operation cannot be fulfilled on widgets.example.org "${name}": ` +
          'the object has been modified; please apply your changes to the latest version and try again',
      );
      expect(await failureOf(patch({ ...stale, status: { ready: true } }, 'status'))).to.satisfy(isConflict);
    });

    it('does not change fields that only the server writes', async () => {
      const created = await create();
      const patched = await patch({ metadata: { generation: 77, creationTimestamp: null } });
      expect(patched.metadata).to.deep.equal(created.metadata);
      const failure = await failureOf(patch({ metadata: { deletionTimestamp: '2020-01-01T00:00:00Z' } }));
      expect(failure).to.satisfy(isInvalid);
      expect(failure.message).to.contain(
        'metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable',
      );
      const other = '11111111-1111-4111-8111-111111111111';
      const renamed = await failureOf(patch({ metadata: { uid: other } }));
      expect(renamed).to.satisfy(isInvalid);
      expect(renamed.message).to.contain(`metadata.uid: Invalid value: "${other}": field is immutable`);
    });
  });

  describe('delete', () => {
    it('removes an object without finalizers at once', async () => {
      await create();
      expect(await remove()).to.equal(undefined);
      expect(await get()).to.equal(undefined);
    });

    it('waits for the last finalizer, and refuses new finalizers', async () => {
      const created = await create({ metadata: { finalizers: [FINALIZER] }, spec: { size: 1 } });
      const leaving = await remove();
      expect(leaving?.metadata.deletionTimestamp).to.match(/Z$/);
      expect(leaving?.metadata.generation).to.equal(2);
      expect(leaving?.metadata.uid).to.equal(created.metadata.uid);
      const again = await remove();
      expect(again?.metadata.resourceVersion).to.equal(leaving?.metadata.resourceVersion);

      const failure = await failureOf(patch({ metadata: { finalizers: [FINALIZER, 'example.org/late'] } }));
      expect(failure).to.satisfy(isInvalid);
      expect(failure.message).to.contain(
        'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, ' +
          'found new finalizers []string{"example.org/late"}',
      );
      expect((await patch({ spec: { size: 2 } })).metadata.generation).to.equal(3);
      await patch({ metadata: { finalizers: null } });
      expect(await get()).to.equal(undefined);
    });

    it('throws Conflict for an object with another UID', async () => {
      const { metadata } = await create();
      expect(await failureOf(remove(UNUSED_UID))).to.satisfy(isConflict);
      expect(await remove(metadata.uid)).to.equal(undefined);
    });
  });

  describe('list', () => {
    it('returns pages of one version, filtered by label and by name', async () => {
      const labels = { group: name };
      const first = name;
      for (name of [`${first}-c`, `${first}-a`, `${first}-b`]) await create({ metadata: { labels } });
      const options = { namespace: 'default', labelSelector: `group=${first}`, limit: 2, signal };
      const page = await client.list(widgets, options);
      expect(page.items.map(({ metadata }) => metadata.name)).to.deep.equal([`${first}-a`, `${first}-b`]);
      if (page.continue === undefined) return expect.fail('there is no second page');
      name = `${first}-d`;
      await create({ metadata: { labels } });
      const rest = await client.list(widgets, { ...options, continue: page.continue });
      expect(rest.items.map(({ metadata }) => metadata.name)).to.deep.equal([`${first}-c`]);
      expect(rest.continue).to.equal(undefined);
      expect(rest.resourceVersion).to.equal(page.resourceVersion);
      const one = await client.list(widgets, { fieldSelector: `metadata.name=${first}-a`, signal });
      expect(one.items).to.have.length(1);
      expect(one.items[0]).to.include({ kind: 'Widget', apiVersion: 'example.org/v1' });
    });

    it('sets kind and apiVersion of the items of a built-in kind', async () => {
      const secrets = { group: '', version: 'v1', plural: 'secrets' };
      await client.create(secrets, 'default', { apiVersion: 'v1', kind: 'Secret', metadata: { name } }, { signal });
      const { items } = await client.list(secrets, { namespace: 'default', signal });
      expect(items.find(({ metadata }) => metadata.name === name)).to.include({ kind: 'Secret', apiVersion: 'v1' });
    });
  });

  describe('watch', () => {
    /** Watches widgets and returns the watch events of the test's widget up to the first event of `type`. */
    async function watchUntil(
      type: WatchEvent['type'],
      resourceVersion: string,
      labelSelector?: string,
    ): Promise<readonly WatchEvent[]> {
      const options = { namespace: 'default', resourceVersion, timeoutSeconds: 60, signal };
      const events: WatchEvent[] = [];
      for await (const event of client.watch(
        widgets,
        labelSelector === undefined ? options : { ...options, labelSelector },
      )) {
        if ('object' in event && event.object.metadata.name !== name) continue;
        events.push(event);
        if (event.type === type) return events;
      }
      return expect.fail(`the watch ended after ${JSON.stringify(events)}`);
    }
    const textOf = (event: WatchEvent): string =>
      'object' in event ? `${event.type} ${JSON.stringify(event.object['spec'])}` : event.type;

    it('sends every change after its version in order, and the last state with the deletion', async () => {
      const { resourceVersion } = await client.list(widgets, { signal });
      const created = await create({ spec: { size: 1 } });
      await patch({ spec: { size: 2 } });
      await remove();
      const events = await watchUntil('DELETED', resourceVersion);
      expect(events.map(textOf)).to.deep.equal(['ADDED {"size":1}', 'MODIFIED {"size":2}', 'DELETED {"size":2}']);
      const last = events.at(-1);
      if (last?.type !== 'DELETED') return expect.fail('no deletion');
      expect(last.object.metadata.uid).to.equal(created.metadata.uid);
      expect(BigInt(last.object.metadata.resourceVersion) > BigInt(created.metadata.resourceVersion)).to.equal(true);
    });

    it('sends the deletion with a version not older than that of the answer to the patch that removed the last finalizer', async () => {
      await create({ metadata: { finalizers: [FINALIZER] } });
      const leaving = await remove();
      const answer = await patch({ metadata: { finalizers: null } });
      const [gone] = await watchUntil('DELETED', leaving?.metadata.resourceVersion ?? '');
      if (gone?.type !== 'DELETED') return expect.fail('no deletion');
      // `Store.replaceWith` relies on this order: the resourceVersion of the DELETED event is not lower than that of
      // the answer to the patch that removes the last finalizer.
      expect(BigInt(gone.object.metadata.resourceVersion) >= BigInt(answer.metadata.resourceVersion)).to.equal(true);
    });

    it('sends DELETED for an object that leaves its selector, and ADDED for an object that enters it', async () => {
      const { resourceVersion } = await client.list(widgets, { signal });
      await create({ metadata: { labels: { colour: 'red' } } });
      await patch({ metadata: { labels: { colour: 'blue' } } });
      const events = await watchUntil('DELETED', resourceVersion, 'colour=red');
      expect(events.map(({ type }) => type)).to.deep.equal(['ADDED', 'DELETED']);
    });

    it('throws NotServed for a kind that is not served', async () => {
      const gizmos = { ...widgets, plural: 'gizmos' };
      const watch = client.watch(gizmos, { resourceVersion: '1', timeoutSeconds: 5, signal });
      expect(await failureOf(watch[Symbol.asyncIterator]().next())).to.satisfy(isNotServed);
    });

    it('ends without an error when its signal aborts', async () => {
      const { resourceVersion } = await client.list(widgets, { signal });
      const watch = client.watch(widgets, { resourceVersion, timeoutSeconds: 60, signal });
      const next = watch[Symbol.asyncIterator]().next();
      done.abort();
      expect(await next).to.deep.equal({ done: true, value: undefined });
    });
  });

  describe('discover', () => {
    it('returns the document of a served group, and undefined for an unknown group', async () => {
      expect(await client.discover('/apis/example.org', { signal })).to.include({
        kind: 'APIGroup',
        name: 'example.org',
      });
      expect(await client.discover('/apis/nowhere.example.org', { signal })).to.equal(undefined);
    });
  });
}
