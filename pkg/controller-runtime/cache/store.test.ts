import { expect } from 'chai';
import { MemoryLogger } from '../testing/memory-logger.ts';
import { isAtLeast, isOlder } from './resource-version.ts';
import { Store, type Change, type IndexFunc } from './store.ts';
import { jsonEqual } from '../json/patches.ts';
import { keyFor, widget } from '../testing/fixtures.ts';

const byColour: IndexFunc = ({ metadata }) => {
  const colour = metadata.labels?.['colour'];
  if (colour === 'broken') throw new Error('no such colour');
  return colour === undefined ? [] : [colour];
};

function painted(name: string, version: string, colour: string) {
  const object = widget(name, version);
  return { ...object, metadata: { ...object.metadata, labels: { colour } } };
}

function newStore() {
  const logger = new MemoryLogger();
  const store = new Store({ name: 'widgets.example.org', logger, indexes: { colour: byColour } });
  const changes: Change[] = [];
  store.onChange((change) => changes.push(change));
  const namesOf = (colour: string) => {
    const listing = store.byIndex('colour', colour);
    return listing.kind === 'listed' ? listing.objects.map(({ metadata }) => metadata.name) : listing.kind;
  };
  return { logger, store, changes, namesOf };
}

function newSynced(version = '100') {
  const made = newStore();
  made.store.replaceAll([], version);
  return made;
}

describe('Store', () => {
  describe('includes', () => {
    it('all versions up to that of the latest list or watch event', () => {
      const { store } = newSynced('100');
      expect(store.includes('100')).to.equal(true);
      expect(store.includes('101')).to.equal(false);
      store.upsert(widget('a', '105'));
      expect(store.includes('101')).to.equal(true);
      store.remove(widget('a', '107'));
      expect(store.includes('107')).to.equal(true);
      store.advance('110');
      expect(store.includes('110')).to.equal(true);
    });

    it('no version that only the answer to a write has shown', () => {
      const { store } = newSynced('100');
      store.replaceWith(widget('a', '105'));
      expect(store.includes('105')).to.equal(false);
    });

    it('no version while the store has no complete list', () => {
      const { store } = newStore();
      store.upsert(widget('a', '5'));
      expect(store.includes('5')).to.equal(false);
      store.replaceAll([], '10');
      store.upsert(widget('b', '12'));
      expect(store.includes('12')).to.equal(true);
      store.markUnknown({ reason: 'gone' });
      expect(store.includes('12')).to.equal(false);
    });

    it('a version for which a caller waits, as soon as the watch has shown it', async () => {
      const { store } = newSynced('100');
      const { signal } = new AbortController();
      await store.whenIncludes('100', signal);
      let isDone = false;
      const waiting = store.whenIncludes('102', signal).then(() => (isDone = true));
      store.upsert(widget('a', '101'));
      await Promise.resolve();
      expect(isDone).to.equal(false);
      store.advance('103');
      await waiting;
    });

    it('no version for a caller that stops waiting', async () => {
      const { store } = newSynced('100');
      const stop = new AbortController();
      const waiting = store.whenIncludes('101', stop.signal).catch((error: unknown) => error);
      stop.abort(new Error('stop'));
      expect(await waiting).to.have.property('message', 'stop');
      const late = store.whenIncludes('101', stop.signal).catch((error: unknown) => error);
      expect(await late).to.have.property('message', 'stop');
    });

    it('no version after etcd was restored, until the watch has shown it again', () => {
      const { store } = newSynced('100');
      store.replaceAll([], '50');
      expect(store.includes('100')).to.equal(false);
      expect(store.includes('50')).to.equal(true);
    });
  });

  it('reports what a list adds, updates and deletes', () => {
    const { store, changes } = newStore();
    store.replaceAll([widget('a', '1'), widget('b', '2'), widget('c', '3')], '10');
    store.replaceAll([widget('a', '1'), widget('b', '12'), widget('d', '13')], '20');
    const reported = changes.map((change) => [
      change.type,
      change.object.metadata.name,
      change.type === 'added' ? change.isInInitialList : change.object.metadata.resourceVersion,
    ]);
    expect(reported).to.deep.equal([
      ['added', 'a', true],
      ['added', 'b', true],
      ['added', 'c', true],
      ['deleted', 'c', '3'],
      ['updated', 'b', '12'],
      ['added', 'd', false],
    ]);
  });

  it('lists objects in the order of namespace and name', () => {
    const { store } = newStore();
    const other = { ...widget('z', '1'), metadata: { ...widget('z', '1').metadata, namespace: 'a-team' } };
    store.replaceAll([widget('b', '1'), widget('a', '2'), other], '3');
    const listing = store.list();
    expect(listing.kind === 'listed' && listing.objects.map(({ metadata }) => metadata.name)).to.deep.equal([
      'z',
      'a',
      'b',
    ]);
  });

  it('stores objects deeply frozen and without managedFields', () => {
    const { store } = newSynced();
    const bulky = widget('a', '101', { spec: { sizes: [{ width: 1 }] } });
    store.upsert({ ...bulky, metadata: Object.assign({ managedFields: [{}] }, bulky.metadata) });
    const found = store.lookup(keyFor('a'));
    if (found.kind !== 'found') return expect.fail(found.kind);
    expect(found.object).to.deep.equal(bulky);
    const { sizes } = found.object['spec'] as { sizes: { width: number }[] };
    expect(() => sizes.push({ width: 2 })).to.throw(TypeError);
    expect(() => Object.assign(sizes[0] ?? {}, { width: 2 })).to.throw(TypeError);
    expect(() => Object.assign(found.object.metadata, { name: 'b' })).to.throw(TypeError);
  });

  it('stores and compares an object that is nested deeper than the stack of a recursion', () => {
    const { store, changes } = newSynced();
    const nested = (): unknown => JSON.parse('['.repeat(100_000) + ']'.repeat(100_000));
    store.upsert(widget('deep', '101', { spec: nested() }));
    store.upsert(widget('deep', '102', { spec: nested() }));
    store.remove(widget('deep', '103', { spec: nested() }));
    expect(changes.map(({ type }) => type)).to.deep.equal(['added', 'updated', 'deleted']);
    const [, updated] = changes;
    if (updated?.type !== 'updated') return expect.fail('no update');
    expect(Object.isFrozen(updated.object['spec'])).to.equal(true);
    expect(jsonEqual(updated.previous['spec'], updated.object['spec'])).to.equal(true);
  });

  it('updates its indexes with each change and deletion', () => {
    const { store, namesOf } = newSynced();
    store.upsert(painted('a', '101', 'red'));
    store.upsert(painted('b', '102', 'red'));
    expect(namesOf('red')).to.deep.equal(['a', 'b']);
    store.upsert(painted('a', '103', 'blue'));
    expect([namesOf('red'), namesOf('blue')]).to.deep.equal([['b'], ['a']]);
    store.remove(painted('b', '104', 'red'));
    store.replaceAll([], '105');
    expect([namesOf('red'), namesOf('blue')]).to.deep.equal([[], []]);
    expect(() => store.byIndex('size', '1')).to.throw(RangeError, 'no index "size"');
  });

  it('keeps the objects of an index in the order that it declares, whatever changes', () => {
    const store = new Store({
      name: 'widgets',
      logger: new MemoryLogger(),
      indexes: { painted: (object) => byColour(object).map(() => 'yes') },
      orders: { painted: (object) => byColour(object).join('') },
    });
    store.replaceAll([painted('a', '1', 'red'), painted('b', '2', 'blue'), painted('c', '3', 'blue')], '3');
    const names = (): readonly string[] => {
      const listing = store.byIndex('painted', 'yes');
      return listing.kind === 'listed' ? listing.objects.map(({ metadata }) => metadata.name) : [];
    };
    expect(names()).to.deep.equal(['b', 'c', 'a']);
    store.upsert(painted('b', '4', 'white'));
    store.upsert(painted('d', '5', 'green'));
    expect(names()).to.deep.equal(['c', 'd', 'a', 'b']);
    store.upsert(widget('a', '6'));
    store.remove(painted('c', '7', 'blue'));
    expect(names()).to.deep.equal(['d', 'b']);
  });

  it('stores an object whose index function throws, and logs the error', () => {
    const { store, namesOf, logger } = newSynced();
    store.upsert(painted('a', '101', 'broken'));
    expect(store.lookup(keyFor('a')).kind).to.equal('found');
    expect(namesOf('broken')).to.deep.equal([]);
    expect(logger.linesWith('A handler of the store failed')).to.have.length(1);
  });

  it('calls the other handlers when one throws', () => {
    const { store, changes, logger } = newSynced();
    store.onChange(() => {
      throw new Error('a mistake');
    });
    const later: unknown[] = [];
    store.onChange((change) => later.push(change));
    store.upsert(widget('a', '101'));
    expect([changes.length, later.length]).to.deep.equal([1, 1]);
    expect(logger.linesWith('A handler of the store failed')[0]?.error)
      .to.be.an('error')
      .with.property('message', 'a mistake');
  });

  it('keeps its objects while the kind is not served, and reports only the difference after the next list', () => {
    const { store, changes } = newSynced();
    const synced: boolean[] = [];
    store.onSync((is) => synced.push(is));
    store.upsert(widget('a', '101'));
    store.upsert(widget('b', '102'));
    changes.length = 0;
    store.markUnknown({ reason: 'gone' });
    expect(store.served, 'before discovery has confirmed it').to.equal(true);
    store.markUnserved({ reason: 'still gone' });
    expect(store.served).to.equal(false);
    expect(store.lookup(keyFor('a'))).to.deep.equal({ kind: 'unknown', reason: 'still gone' });
    expect(changes).to.deep.equal([]);
    store.replaceAll([widget('a', '101')], '110');
    expect(changes.map(({ type, object }) => `${type} ${object.metadata.name}`)).to.deep.equal(['deleted b']);
    expect(synced).to.deep.equal([false, true]);
  });

  describe('replaceWith', () => {
    it('stores the answer to a write, and ignores older states from the watch', () => {
      const { store, changes } = newSynced();
      store.upsert(widget('a', '101'));
      store.replaceWith(widget('a', '105'));
      changes.length = 0;
      store.upsert(widget('a', '103'));
      store.remove(widget('a', '104'));
      store.replaceAll([], '104');
      store.replaceAll([widget('a', '103')], '104');
      store.upsert(widget('a', '105'));
      expect(store.lookup(keyFor('a'))).to.have.nested.property('object.metadata.resourceVersion', '105');
      expect(changes).to.deep.equal([]);
      store.remove(widget('a', '106'));
      expect(store.lookup(keyFor('a')).kind).to.equal('absent');
    });

    it('prefers the answer to a write to the same version from the watch, which can lack fields', () => {
      const { store, changes } = newSynced();
      store.upsert(widget('a', '101'));
      changes.length = 0;
      store.replaceWith({ ...widget('a', '101'), spec: { size: 2 } });
      store.replaceWith({ ...widget('a', '101'), spec: { size: 2 } });
      store.upsert(widget('a', '101'));
      expect(store.lookup(keyFor('a'))).to.have.nested.property('object.spec.size', 2);
      expect(changes).to.have.length(1);
    });

    it('ignores the answer to a write that ended the object when the watch reported the deletion first', () => {
      const { store, changes } = newSynced();
      store.upsert(widget('a', '101'));
      store.remove(widget('a', '102'));
      changes.length = 0;
      // The API server's answer to the write that removes the last finalizer has the object's previous resourceVersion.
      // The store must not restore the deleted object because of that answer.
      store.replaceWith(widget('a', '101'));
      store.replaceWith(widget('a', '102'));
      expect(store.lookup(keyFor('a'))).to.deep.equal({ kind: 'absent' });
      expect(changes).to.deep.equal([]);
      store.replaceWith(widget('a', '103'));
      expect(store.lookup(keyFor('a')).kind).to.equal('found');
    });
  });

  it('accepts the older version of an object after a restore that raised the revision of etcd', () => {
    const { store } = newSynced('100');
    store.upsert({ ...widget('a', '1000'), spec: { size: 2 } });
    store.replaceAll([{ ...widget('a', '490'), spec: { size: 1 } }], '1000000500');
    expect(store.lookup(keyFor('a'))).to.have.nested.property('object.spec.size', 1);
  });

  it('keeps the answer to a write that is newer than the list', () => {
    const { store } = newSynced('100');
    store.replaceWith({ ...widget('a', '120'), spec: { size: 2 } });
    store.replaceAll([{ ...widget('a', '105'), spec: { size: 1 } }], '110');
    expect(store.lookup(keyFor('a'))).to.have.nested.property('object.spec.size', 2);
  });

  it('accepts the older versions of a server that was restored from a backup', () => {
    const { store, changes } = newSynced('5000');
    store.upsert(widget('a', '5001'));
    store.upsert(widget('b', '5002'));
    changes.length = 0;
    // The list of an API server whose etcd was restored from a backup has an older resourceVersion than the list before
    // it.
    store.replaceAll([widget('a', '90')], '120');
    expect(store.lookup(keyFor('a'))).to.have.nested.property('object.metadata.resourceVersion', '90');
    expect(changes.map(({ type, object }) => `${type} ${object.metadata.name}`)).to.deep.equal([
      'deleted b',
      'updated a',
    ]);
    store.upsert(widget('a', '121'));
    expect(store.lookup(keyFor('a'))).to.have.nested.property('object.metadata.resourceVersion', '121');
  });

  it('replaces an object that has other content under the same version after a restore', () => {
    const { store, changes } = newSynced('5000');
    const managedFields = [{ manager: 'kubectl' }];
    for (const name of ['a', 'b']) store.upsert({ ...widget(name, '5001'), spec: { size: 1 } });
    changes.length = 0;
    const { metadata, ...rest } = widget('b', '5001');
    const listed = [
      { ...widget('a', '5001'), spec: { size: 2 } },
      { ...rest, metadata: { ...metadata, managedFields }, spec: { size: 1 } },
    ];
    for (const resourceVersion of ['5001', '6000', '4000']) store.replaceAll(listed, resourceVersion);
    expect(store.lookup(keyFor('a'))).to.have.nested.property('object.spec.size', 2);
    expect(changes.map(({ type, object }) => `${type} ${object.metadata.name}`)).to.deep.equal(['updated a']);
  });
});

describe('isOlder', () => {
  const cases: readonly [string, string, boolean][] = [
    ['99', '100', true],
    ['100', '99', false],
    ['7', '7', false],
    ['18446744073709551615', '18446744073709551616', true],
    ['0', '1', false],
    ['', '1', false],
    ['abc', '1', false],
    ['1', '01', false],
  ];
  for (const [a, b, is] of cases)
    it(`${JSON.stringify(a)}, ${JSON.stringify(b)}: ${is}`, () => expect(isOlder(a, b)).to.equal(is));
});

describe('isAtLeast', () => {
  const cases: readonly [string, string, boolean][] = [
    ['100', '99', true],
    ['7', '7', true],
    ['99', '100', false],
    ['abc', '1', false],
    ['1', 'abc', false],
    ['', '', false],
  ];
  for (const [a, b, is] of cases)
    it(`${JSON.stringify(a)}, ${JSON.stringify(b)}: ${is}`, () => expect(isAtLeast(a, b)).to.equal(is));
});
