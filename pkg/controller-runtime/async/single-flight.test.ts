import { expect } from 'chai';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { SingleFlight } from './single-flight.ts';

const never = new AbortController().signal;

interface StartedWork {
  readonly key: string;
  readonly signal: AbortSignal;
  /**
   * Lets the work of a call succeed. Its result is 1 for the work that began first, 2 for the work that began second,
   * and so on.
   */
  readonly succeed: () => Promise<void>;
  readonly fail: (message: string) => Promise<void>;
}

/** Creates a SingleFlight, and functions that call it with work that runs until the test calls `succeed` or `fail`. */
function newFlight() {
  const flight = new SingleFlight<number>();
  const started: StartedWork[] = [];
  const workOf = (key: string) => (signal: AbortSignal) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const number = started.length + 1;
    const succeed = (): Promise<void> => (resolve(number), settled());
    const fail = (message: string): Promise<void> => (reject(new Error(message)), settled());
    started.push({ key, signal, succeed, fail });
    return promise;
  };
  const run = (key = 'a', signal: AbortSignal | undefined = never) => outcome(flight.run(key, signal, workOf(key)));
  const runFresh = (key = 'a', signal: AbortSignal | undefined = never) =>
    outcome(flight.runFresh(key, signal, workOf(key)));
  const work = (number: number): StartedWork => started[number - 1] ?? expect.fail(`work ${number} has not begun`);
  return { flight, started, run, runFresh, work };
}

/** Resolves with the value of a promise, or with the text of the error with which that promise rejects. */
const outcome = (promise: Promise<number>): Promise<number | string> => promise.catch(String);

/** Waits until all promise callbacks that can run now have run. */
const settled = (): Promise<void> => new VirtualClock().settle();

describe('SingleFlight', () => {
  describe('run', () => {
    it('shares the running call of a key, and begins a new call after it', async () => {
      const { run, work, started } = newFlight();
      const callers = [run(), run(), run()];
      expect(started).to.have.length(1);
      await work(1).succeed();
      const later = run();
      await work(2).succeed();
      expect(await Promise.all([...callers, later])).to.deep.equal([1, 1, 1, 2]);
    });

    it('rejects all callers of a failed call, and begins a new call for the next caller', async () => {
      const { run, work } = newFlight();
      const callers = [run(), run()];
      await work(1).fail('no');
      const later = run();
      await work(2).succeed();
      expect(await Promise.all([...callers, later])).to.deep.equal(['Error: no', 'Error: no', 2]);
    });

    it('rejects where the work throws before its first promise', async () => {
      const flight = new SingleFlight<number>();
      const fail = (): Promise<number> => {
        throw new Error('no');
      };
      for (let time = 0; time < 2; time++) expect(await outcome(flight.run('a', never, fail))).to.equal('Error: no');
    });
  });

  describe('abort', () => {
    it('rejects the caller that aborts at once, and gives the others the result', async () => {
      const { run, work } = newFlight();
      const [first, second] = [new AbortController(), new AbortController()];
      const callers = [run('a', first.signal), run('a', second.signal), run()];
      first.abort(new Error('first stopped'));
      second.abort(new Error('second stopped'));
      expect(await Promise.all(callers.slice(0, 2))).to.deep.equal(['Error: first stopped', 'Error: second stopped']);
      expect(work(1).signal.aborted).to.equal(false);
      await work(1).succeed();
      expect(await callers[2]).to.equal(1);
    });

    it('aborts the call with the last of its callers, and begins a new call for the next caller at once', async () => {
      const { run, work } = newFlight();
      const stop = new AbortController();
      const callers = [run('a', stop.signal), run('a', stop.signal)];
      stop.abort(new Error('stopped'));
      const later = run();
      expect(work(1).signal.reason).to.be.an('error').with.property('message', 'stopped');
      // The aborted work of the first call fails while the second call is running. The second call must continue.
      await work(1).fail('aborted');
      const joined = run();
      await work(2).succeed();
      expect(await Promise.all([...callers, later, joined])).to.deep.equal(['Error: stopped', 'Error: stopped', 2, 2]);
    });

    it('does not abort a call that a caller without signal waits for', async () => {
      const { flight, run, work } = newFlight();
      const stop = new AbortController();
      const first = run('a', stop.signal);
      const second = flight.run('a', undefined, () => expect.fail('a second work'));
      stop.abort(new Error('stopped'));
      expect(work(1).signal.aborted).to.equal(false);
      await work(1).succeed();
      expect(await Promise.all([first, second])).to.deep.equal(['Error: stopped', 1]);
    });

    it('begins no work for a caller that has aborted before', async () => {
      const { run, runFresh, started } = newFlight();
      const signal = AbortSignal.abort(new Error('stopped'));
      expect(await Promise.all([run('a', signal), runFresh('a', signal)])).to.deep.equal([
        'Error: stopped',
        'Error: stopped',
      ]);
      expect(started).to.deep.equal([]);
    });
  });

  it('does not abort a call after its end', async () => {
    const { run, work } = newFlight();
    const stop = new AbortController();
    const caller = run('a', stop.signal);
    await work(1).succeed();
    stop.abort();
    expect(await caller).to.equal(1);
    expect(work(1).signal.aborted).to.equal(false);
  });

  describe('runFresh', () => {
    it('shares the call after the running one among all callers that come meanwhile', async () => {
      const { runFresh, work, started } = newFlight();
      const first = runFresh();
      const later = [runFresh(), runFresh(), runFresh()];
      expect(started).to.have.length(1);
      await work(1).succeed();
      expect(started).to.have.length(2);
      const last = runFresh();
      await work(2).succeed();
      await work(3).succeed();
      expect(await Promise.all([first, ...later, last])).to.deep.equal([1, 2, 2, 2, 3]);
      expect(started).to.have.length(3);
    });

    it('begins the next call at once when the running one is aborted', async () => {
      const { run, runFresh, work } = newFlight();
      const stop = new AbortController();
      const first = run('a', stop.signal);
      const second = runFresh();
      stop.abort(new Error('stopped'));
      await work(2).succeed();
      expect(await Promise.all([first, second])).to.deep.equal(['Error: stopped', 2]);
    });

    it('drops the next call when all its callers have aborted', async () => {
      const { runFresh, work, started } = newFlight();
      const stop = new AbortController();
      const first = runFresh();
      const second = runFresh('a', stop.signal);
      stop.abort(new Error('stopped'));
      const third = runFresh();
      await work(1).succeed();
      await work(2).succeed();
      expect(await Promise.all([first, second, third])).to.deep.equal([1, 'Error: stopped', 2]);
      expect(started).to.have.length(2);
    });
  });
});
