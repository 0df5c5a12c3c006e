import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { DeadlineExceeded, aborted, deadline, sleep, untilAborted, withDeadline } from './deadline.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

const never = (): Promise<never> => new Promise(() => {});

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail('it resolved'),
    (error: unknown) => error,
  );

describe('deadline', () => {
  it('aborts after its limit, and names the operation', async () => {
    const clock = new VirtualClock();
    const { signal } = deadline(clock, 10_000, undefined, 'getting the widget');
    await clock.advance(9_999);
    expect(signal.aborted).to.equal(false);
    await clock.advance(1);
    expect(signal.reason).to.be.instanceOf(DeadlineExceeded);
    expect(signal.reason).to.have.property('message', 'getting the widget: no result within 10 s');
  });

  it('aborts with the reason of its parent, and then leaves no timer or listener', async () => {
    const clock = new VirtualClock();
    const parent = new AbortController();
    const { signal } = deadline(clock, 10_000, parent.signal, 'x');
    const reason = new Error('stop');
    parent.abort(reason);
    expect(signal.reason).to.equal(reason);
    expect(clock.pendingTimers()).to.deep.equal([]);
  });

  it('leaves no timer or listener after dispose', () => {
    const clock = new VirtualClock();
    const parent = new AbortController();
    const { signal, dispose } = deadline(clock, 10_000, parent.signal, 'x');
    dispose();
    parent.abort();
    expect(signal.aborted).to.equal(false);
    expect(clock.pendingTimers()).to.deep.equal([]);
  });
});

describe('withDeadline', () => {
  it('returns the result of the work, and leaves no timer', async () => {
    const clock = new VirtualClock();
    expect(await withDeadline(clock, 5, undefined, 'x', async () => 'result')).to.equal('result');
    expect(clock.pendingTimers()).to.deep.equal([]);
  });

  it('rejects with the error of the work, and leaves no timer', async () => {
    const clock = new VirtualClock();
    const problem = new Error('work');
    const { signal: parent } = new AbortController();
    expect(await rejection(withDeadline(clock, 5, parent, 'x', () => Promise.reject(problem)))).to.equal(problem);
    const thrown = withDeadline(clock, 5, undefined, 'x', () => {
      throw problem;
    });
    expect(await rejection(thrown)).to.equal(problem);
    expect(getEventListeners(parent, 'abort')).to.deep.equal([]);
    expect(clock.pendingTimers()).to.deep.equal([]);
  });

  it('rejects in time although the work ignores its signal', async () => {
    const clock = new VirtualClock();
    const result = rejection(withDeadline(clock, 250, undefined, 'reading', never));
    await clock.advance(250);
    expect(await result).to.have.property('message', 'reading: no result within 250 ms');
  });

  it('does not begin the work under an aborted parent', async () => {
    const reason = new Error('stop');
    let begun = false;
    const result = withDeadline(new VirtualClock(), 250, AbortSignal.abort(reason), 'reading', async () => {
      begun = true;
    });
    expect(await rejection(result)).to.equal(reason);
    expect(begun).to.equal(false);
  });
});

describe('sleep', () => {
  it('waits for its duration', async () => {
    const clock = new VirtualClock();
    let woke = false;
    const { signal } = new AbortController();
    void sleep(clock, 100, signal).then(() => (woke = true));
    await clock.advance(99);
    expect(woke).to.equal(false);
    await clock.advance(1);
    expect(woke).to.equal(true);
    expect(getEventListeners(signal, 'abort'), 'listeners on a signal that lives on').to.deep.equal([]);
  });

  it('rejects with the reason of an abort, and leaves no timer', async () => {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const result = rejection(sleep(clock, 100, controller.signal));
    const reason = new Error('stop');
    controller.abort(reason);
    expect(await result).to.equal(reason);
    expect(clock.pendingTimers()).to.deep.equal([]);
    expect(await rejection(sleep(clock, 100, controller.signal))).to.equal(reason);
  });
});

describe('untilAborted and aborted', () => {
  it('leave no listener after the work', async () => {
    const { signal } = new AbortController();
    await untilAborted(signal, async () => {});
    expect(getEventListeners(signal, 'abort')).to.deep.equal([]);
  });

  it('settle when the signal aborts', async () => {
    const controller = new AbortController();
    const over = aborted(controller.signal);
    const result = rejection(untilAborted(controller.signal, never));
    const reason = new Error('stop');
    controller.abort(reason);
    await over;
    await aborted(controller.signal);
    expect(await result).to.equal(reason);
  });
});
