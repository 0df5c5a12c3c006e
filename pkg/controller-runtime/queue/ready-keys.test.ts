import { expect } from 'chai';
import { readyKey, type ReadyFields } from '../testing/ready-keys.ts';
import { ReadyKeys, type ReadyItem, type Slots } from './ready-keys.ts';

type Fields = ReadyFields & { readonly id: string };

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

const ONE_AT_A_TIME: Slots = { group: 1, namespace: 1, total: 1 };

function newReadyKeys(slots: Slots, ...items: readonly Fields[]): ReadyKeys<ReadyItem> {
  const ready = new ReadyKeys<ReadyItem>(slots);
  for (const { id, ...fields } of items) ready.add(readyKey(id, fields));
  return ready;
}

/** Takes the keys one after the other, each after the one before is finished, and returns their IDs. */
function takeAll(ready: ReadyKeys<ReadyItem>): string {
  const ids: string[] = [];
  for (let item = ready.take(); item !== undefined; item = ready.take()) {
    ids.push(item.id);
    ready.finish(item);
  }
  return ids.join(' ');
}

/** Takes keys without finishing them, as long as there are slots, and returns their IDs. */
function takeWithoutEnd(ready: ReadyKeys<ReadyItem>): string {
  const ids: string[] = [];
  for (let item = ready.take(); item !== undefined; item = ready.take()) ids.push(item.id);
  return ids.join(' ');
}

describe('ReadyKeys', () => {
  it('lets namespaces take turns, and the groups of a namespace', () => {
    const ready = newReadyKeys(
      ONE_AT_A_TIME,
      { id: 'a-1', namespace: 'a', group: 'x' },
      { id: 'a-2', namespace: 'a', group: 'x' },
      { id: 'a-3', namespace: 'a', group: 'x' },
      { id: 'a-4', namespace: 'a', group: 'y' },
      { id: 'b-1', namespace: 'b', group: 'z' },
      { id: 'b-2', namespace: 'b', group: 'z' },
    );
    expect(takeAll(ready)).to.equal('a-1 b-1 a-4 b-2 a-2 a-3');
  });

  it('puts urgent before normal and normal before low, each first in, first out', () => {
    const ready = newReadyKeys(
      ONE_AT_A_TIME,
      { id: 'low', priority: 'low' },
      { id: 'normal' },
      { id: 'urgent', priority: 'urgent' },
      { id: 'also urgent', priority: 'urgent' },
    );
    expect(takeAll(ready)).to.equal('urgent also urgent normal low');
  });

  it('gives every fourth hand-out of a group to the key that has waited longest', () => {
    const changes = range(6).map((index) => ({ id: `${index}`, readySince: 1 }));
    const ready = newReadyKeys(ONE_AT_A_TIME, { id: 'oldest', priority: 'low' }, ...changes);
    expect(takeAll(ready)).to.equal('0 1 2 oldest 3 4 5');
  });

  it('hands out no more keys than there are slots in total, and then lets namespaces take turns', () => {
    const ready = newReadyKeys(
      { group: 2, namespace: 2, total: 2 },
      { id: '1' },
      { id: '2' },
      { id: '3' },
      { id: '4' },
    );
    const running = [ready.take(), ready.take()];
    ready.add(readyKey('other', { namespace: 'other' }));
    expect(ready.take()).to.equal(undefined);
    for (const item of running) if (item !== undefined) ready.finish(item);
    expect(takeWithoutEnd(ready)).to.equal('3 other');
  });

  it('hands out low keys to a quarter of the slots of a namespace and of all, and other keys to all slots', () => {
    const low = (namespace: string): readonly Fields[] =>
      range(3).map((index) => ({ id: `${namespace}-${index}`, namespace, priority: 'low' }));
    const ready = newReadyKeys({ group: 8, namespace: 8, total: 12 }, ...low('a'), ...low('b'));
    expect(takeWithoutEnd(ready)).to.equal('a-0 b-0 a-1');
    for (const index of range(10)) ready.add(readyKey(`${index}`, { namespace: 'a' }));
    expect(takeWithoutEnd(ready)).to.equal('0 1 2 3 4 5');
  });

  it('removes a key that is not handed out yet', () => {
    const item = readyKey('gone');
    const ready = newReadyKeys(ONE_AT_A_TIME, { id: 'stays' });
    ready.add(item);
    ready.delete(item);
    expect(takeAll(ready)).to.equal('stays');
  });
});
