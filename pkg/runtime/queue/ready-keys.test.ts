import { expect } from 'chai';
import type { ReadyFields } from '../testing/ready-keys.ts';
import { readyKey } from '../testing/ready-keys.ts';
import type { ReadyItem } from './ready-keys.ts';
import { ReadyKeys } from './ready-keys.ts';

type Fields = ReadyFields & { readonly id: string };

function newReadyKeys(workers: number | undefined, ...items: readonly Fields[]): ReadyKeys<ReadyItem> {
  const ready = new ReadyKeys<ReadyItem>({ workers });
  for (const { id, ...fields } of items) ready.add(readyKey(id, fields));
  return ready;
}

/**
 * Takes the keys one after the other until `take` returns undefined, and returns their IDs. This function calls
 * `finish` for each key before it takes the next key.
 */
function takeAll(ready: ReadyKeys<ReadyItem>, now = 0): string {
  const ids: string[] = [];
  for (let item = ready.take(now); item !== undefined; item = ready.take(now)) {
    ids.push(item.id);
    ready.finish(item);
  }
  return ids.join(' ');
}

describe('ReadyKeys', () => {
  it('lets namespaces take turns, and clusters within a namespace', () => {
    const ready = newReadyKeys(
      undefined,
      { id: 'a-1', namespace: 'a', cluster: 'x' },
      { id: 'a-2', namespace: 'a', cluster: 'x' },
      { id: 'a-3', namespace: 'a', cluster: 'x' },
      { id: 'a-4', namespace: 'a', cluster: 'y' },
      { id: 'b-1', namespace: 'b', cluster: 'z' },
      { id: 'b-2', namespace: 'b', cluster: 'z' },
    );
    expect(takeAll(ready)).to.equal('a-1 b-1 a-4 b-2 a-2 a-3');
  });

  it('sorts the keys of a cluster by their order', () => {
    const ready = newReadyKeys(
      undefined,
      { id: 'third', order: '3' },
      { id: 'first', order: '1' },
      { id: 'second', order: '2' },
    );
    expect(takeAll(ready)).to.equal('first second third');
  });

  it('puts an old key before the order of its cluster', () => {
    const ready = newReadyKeys(
      undefined,
      { id: 'young object', order: '3', readySince: 0 },
      { id: 'failing object', order: '1', readySince: 9_000 },
    );
    expect(takeAll(ready, 10_000)).to.equal('young object failing object');
  });

  it('puts high before normal and normal before low, in all clusters', () => {
    const ready = newReadyKeys(
      undefined,
      { id: 'low', cluster: 'x', priority: 'low' },
      { id: 'normal', cluster: 'x' },
      { id: 'high', cluster: 'x', priority: 'high' },
      { id: 'also high', cluster: 'y', priority: 'high' },
    );
    expect(takeAll(ready)).to.equal('high also high normal low');
  });

  it('puts the first key of each cluster before other normal keys', () => {
    const ready = newReadyKeys(
      undefined,
      { id: 'normal', cluster: 'x' },
      { id: 'second', cluster: 'y', order: '2', priority: 'head' },
      { id: 'first', cluster: 'y', order: '1', priority: 'head' },
      { id: 'high', cluster: 'x', priority: 'high' },
    );
    expect(takeAll(ready)).to.equal('high first second normal');
  });

  it('gives the priority normal to a head that is not the first of its cluster when its turn comes', () => {
    const ready = new ReadyKeys<ReadyItem>({ workers: undefined, isHead: ({ id }) => id.startsWith('first') });
    const former = readyKey('former first', { cluster: 'x', priority: 'head', order: '2' });
    for (const item of [
      former,
      readyKey('normal', { cluster: 'y' }),
      readyKey('first of y', { cluster: 'y', priority: 'head' }),
      readyKey('low', { cluster: 'y', priority: 'low' }),
    ]) {
      ready.add(item);
    }
    expect(takeAll(ready)).to.equal('first of y normal former first low');
    expect(former.priority).to.equal('normal');
    expect(ready.size).to.equal(0);
  });

  it('hands out a high key although all workers are busy', () => {
    const ready = newReadyKeys(1, { id: 'running' }, { id: 'normal' });
    expect(ready.take(0)?.id).to.equal('running');
    const high = readyKey('high', { priority: 'high' });
    ready.add(high);
    expect(ready.canTake(high)).to.equal(true);
    expect(ready.take(0)).to.equal(high);
    expect(ready.take(0), 'the normal key waits for a worker').to.equal(undefined);
  });

  it('gives one hand-out of four to the oldest key that has been ready for ten seconds', () => {
    const changes = Array.from({ length: 6 }, (_, index) => ({ id: `${index}`, readySince: 10_000 }));
    const ready = newReadyKeys(
      undefined,
      { id: 'older', priority: 'low', readySince: 0 },
      { id: 'young', priority: 'low', readySince: 1 },
      ...changes,
    );
    expect(takeAll(ready, 10_000)).to.equal('0 1 2 older 3 4 5 young');
  });

  it('puts a low key of another region before a region that has its share', () => {
    const ready = newReadyKeys(2, { id: 'dead-1', region: 'dead' }, { id: 'dead-2', region: 'dead', priority: 'high' });
    ready.take(0);
    ready.add(readyKey('healthy', { region: 'healthy', priority: 'low' }));
    expect(ready.take(0)?.id).to.equal('healthy');
    expect(ready.take(0)?.id).to.equal(undefined);
  });

  it('starts no more keys than there are workers in one region', () => {
    const ready = newReadyKeys(2, { id: '1' }, { id: '2' }, { id: '3' });
    const first = ready.take(0);
    ready.take(0);
    expect(ready.take(0)).to.equal(undefined);
    if (first !== undefined) ready.finish(first);
    expect(ready.take(0)?.id).to.equal('3');
  });
});
