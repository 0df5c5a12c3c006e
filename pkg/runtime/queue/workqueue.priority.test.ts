import { expect } from 'chai';
import { key, startQueue, takeAll } from '../testing/workqueue.ts';

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

  it('puts urgent before all others', async () => {
    const { queue } = startQueue();
    queue.add(a);
    queue.add(b, 'low');
    queue.add(c, 'urgent');
    expect(queue.length).to.equal(3);
    expect(await takeAll(queue)).to.deep.equal(['c', 'a', 'b']);
    queue.add(a);
    queue.add(b, 'low');
    queue.add(b, 'urgent');
    expect(await takeAll(queue), 'raised').to.deep.equal(['b', 'a']);
  });

  it('counts for one hand-out', async () => {
    const { queue, clock } = startQueue();
    queue.add(a, 'urgent');
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
