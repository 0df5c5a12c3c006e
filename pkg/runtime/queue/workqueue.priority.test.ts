import { expect } from 'chai';
import { VirtualClock } from '../../env/testing/virtual-clock.ts';
import { key, startQueue, takeAll } from '../testing/workqueue.ts';
import { Workqueue } from './workqueue.ts';

// Many test cases of this file are those of controller-runtime's priority queue.

const [a, b, c] = [key('a'), key('b'), key('c')];

describe('The priority of a key', () => {
  it('puts changes before the objects of the first list', async () => {
    const { queue } = startQueue();
    queue.add(a, 'low');
    queue.add(b, 'low');
    queue.add(c);
    expect(await takeAll(queue)).to.deep.equal(['c', 'a', 'b']);
  });

  it('puts high before all others', async () => {
    const { queue } = startQueue();
    queue.add(a);
    queue.add(b, 'low');
    queue.add(c, 'high');
    expect(queue.length).to.equal(3);
    expect(await takeAll(queue)).to.deep.equal(['c', 'a', 'b']);
    queue.add(a);
    queue.add(b, 'low');
    queue.add(b, 'high');
    expect(await takeAll(queue), 'raised').to.deep.equal(['b', 'a']);
  });

  it('counts for one hand-out', async () => {
    const { queue, clock } = startQueue();
    queue.add(a, 'high');
    await queue.get();
    queue.addAfter(b, 5);
    queue.addAfter(a, 10);
    queue.done(a);
    await clock.advance(10);
    expect(await takeAll(queue)).to.deep.equal(['b', 'a']);
  });

  it('is the highest of all adds', async () => {
    const { queue, clock } = startQueue();
    queue.add(a, 'low');
    queue.add(b, 'low');
    queue.add(b);
    queue.add(b, 'low');
    expect(await takeAll(queue)).to.deep.equal(['b', 'a']);
    queue.addAfter(a, 10, 'low');
    queue.addAfter(b, 10, 'low');
    queue.addAfter(b, 20, 'normal');
    await clock.advance(10);
    expect(await takeAll(queue)).to.deep.equal(['b', 'a']);
  });

  it('stays low for a key that is added again while it is processed with low', async () => {
    const { queue, clock } = startQueue();
    queue.add(a, 'low');
    await queue.get();
    queue.addAfter(a, 10);
    queue.done(a);
    await clock.advance(10);
    queue.add(b);
    expect(await takeAll(queue)).to.deep.equal(['b', 'a']);
  });

  it('counts as normal for a head that is no longer the first of its cluster', async () => {
    let head = 'a';
    const queue = new Workqueue({ clock: new VirtualClock(), isHead: ({ name }) => name === head });
    queue.add(a, 'head');
    queue.add(b);
    queue.add(c, 'head');
    head = 'c';
    const first = await queue.get();
    expect(first).to.deep.equal(c);
    queue.add(a, 'low');
    head = 'a';
    expect(await takeAll(queue), 'a keeps the priority normal').to.deep.equal(['b', 'a']);
    queue.done(c);
    queue.add(b);
    queue.add(a, 'head');
    expect(await takeAll(queue), 'a is the head again').to.deep.equal(['a', 'b']);
  });

  it('is raised for a key that is being processed', async () => {
    const { queue } = startQueue();
    queue.add(a, 'low');
    await queue.get();
    queue.add(a, 'low');
    queue.add(b, 'low');
    queue.add(a);
    queue.done(a);
    expect(await takeAll(queue)).to.deep.equal(['a', 'b']);
  });
});
