import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { systemClock } from '../env/system.ts';
import { MemoryLogger } from '../testing/memory-logger.ts';
import { keyFor, widget } from '../testing/fixtures.ts';
import type { KubeObject } from '../client/types.ts';
import { Store } from './store.ts';
import { TypedStore, type Decoded } from './typed-store.ts';

interface Widget {
  readonly name: string;
  readonly size: { readonly width: number };
}

const sized = (name: string, version: string, width: unknown = 1): KubeObject => widget(name, version, { width });

/** Creates a TypedStore whose decoder records which versions of which objects it has decoded. */
function newTypedStore() {
  const store = new Store({
    name: 'widgets.example.org',
    logger: new MemoryLogger(),
    indexes: { name: ({ metadata }) => [metadata.name] },
  });
  const decodedVersions: string[] = [];
  const decode = ({ metadata, width }: KubeObject): Decoded<Widget> => {
    decodedVersions.push(`${metadata.name}@${metadata.resourceVersion}`);
    return typeof width === 'number'
      ? E.right({ name: metadata.name, size: { width } })
      : E.left([{ path: 'width', expected: 'number', got: JSON.stringify(width) }]);
  };
  return { store, view: new TypedStore(store, decode), decodedVersions };
}

const found = (view: TypedStore<Widget>, name: string) => {
  const lookup = view.lookup(keyFor(name));
  return lookup.kind === 'found' ? lookup : expect.fail(lookup.kind);
};

describe('TypedStore', () => {
  it('decodes nothing before a reader asks for it', () => {
    const { store, decodedVersions } = newTypedStore();
    store.replaceAll([sized('a', '1')], '1');
    expect(decodedVersions).to.deep.equal([]);
  });

  it('decodes each version once, whichever way readers find it', () => {
    const { store, view, decodedVersions } = newTypedStore();
    store.replaceAll([sized('a', '1'), sized('b', '2')], '2');
    const { object, decoded } = found(view, 'a');
    const listings = [view.byIndex('name', 'a'), view.list()];
    for (const listing of listings) expect(listing.kind === 'listed' && listing.entries[0]?.decoded).to.equal(decoded);
    expect(view.decode(object)).to.equal(decoded);
    expect(decodedVersions).to.deep.equal(['a@1', 'b@2']);
  });

  it('decodes a new version again, and only that', () => {
    const { store, view, decodedVersions } = newTypedStore();
    store.replaceAll([sized('a', '1', 1), sized('b', '2')], '2');
    view.list();
    store.upsert(sized('a', '3', 5));
    // The next list contains objects whose resourceVersion has not changed. They must not be decoded again.
    store.replaceAll([sized('a', '3', 5), sized('b', '2')], '4');
    view.list();
    expect(found(view, 'a').decoded).to.deep.equal(E.right({ name: 'a', size: { width: 5 } }));
    expect(decodedVersions).to.deep.equal(['a@1', 'b@2', 'a@3']);
  });

  it('lists an object whose decoder throws as undecodable, and decodes the others', () => {
    const { store } = newTypedStore();
    store.replaceAll([sized('a', '1'), sized('b', '2')], '2');
    const view = new TypedStore<string>(store, ({ metadata }) => {
      if (metadata.name === 'a') throw new RangeError('a mistake');
      return E.right(metadata.name);
    });
    const problem = { path: '', expected: 'an object that the controller can decode', got: 'a mistake' };
    const listing = view.list();
    if (listing.kind === 'unknown') return expect.fail(listing.reason);
    expect(listing.entries.map(({ decoded }) => decoded)).to.deep.equal([E.left([problem]), E.right('b')]);
  });

  it('freezes the decoded object, which all readers share', () => {
    const { store, view } = newTypedStore();
    store.replaceAll([sized('a', '1')], '1');
    const { decoded } = found(view, 'a');
    if (E.isLeft(decoded)) return expect.fail('not decoded');
    const { size } = decoded.right;
    expect(() => Object.assign(size, { width: 2 })).to.throw(TypeError);
  });

  it('answers unknown while the store does, for the same reason', () => {
    const { store, view } = newTypedStore();
    const unknown = { kind: 'unknown', reason: 'widgets.example.org are not listed yet' };
    expect([view.lookup(keyFor('a')), view.list(), view.byIndex('name', 'a')]).to.deep.equal([
      unknown,
      unknown,
      unknown,
    ]);
    store.replaceAll([], '1');
    expect([view.lookup(keyFor('a')), view.list()]).to.deep.equal([
      { kind: 'absent' },
      { kind: 'listed', entries: [] },
    ]);
    expect(() => view.byIndex('colour', 'red')).to.throw(RangeError, 'no index "colour"');
  });

  it('counts the objects that cannot be decoded, as long as the store has them', () => {
    const { store, view } = newTypedStore();
    store.replaceAll([sized('a', '1', 'wide'), sized('b', '2'), sized('c', '3', 'wide')], '3');
    view.list();
    expect(view.unreadable).to.equal(2);
    store.upsert(sized('a', '4'));
    store.remove(sized('c', '5', 'wide'));
    view.list();
    expect(view.unreadable).to.equal(0);
  });

  it('keeps neither a removed object nor its decoded form alive', async () => {
    const { store, view } = newTypedStore();
    const weakly = (name: string): readonly WeakRef<object>[] => {
      const { object, decoded } = found(view, name);
      return [new WeakRef(object), new WeakRef(decoded)];
    };
    store.replaceAll([sized('gone', '1'), sized('kept', '2')], '2');
    const gone = weakly('gone');
    const kept = weakly('kept');
    store.replaceAll([sized('kept', '2')], '3');
    await collectGarbage();
    expect(gone.map((reference) => reference.deref())).to.deep.equal([undefined, undefined]);
    expect(kept.map((reference) => typeof reference.deref())).to.deep.equal(['object', 'object']);
  });
});

/**
 * Runs the garbage collector in a new turn of the event loop: a weak reference keeps its object in memory until the
 * current turn ends.
 */
async function collectGarbage(): Promise<void> {
  await new Promise<void>((resolve) => systemClock.after(0, resolve));
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
}
