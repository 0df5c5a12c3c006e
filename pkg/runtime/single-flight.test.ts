import { expect } from 'chai';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import { SingleFlight } from './single-flight.ts';

const { signal } = new AbortController();

/** A question whose answers are given by hand, each the number of the asking. */
function byHand() {
  const asked: PromiseWithResolvers<number>[] = [];
  const flight = new SingleFlight(() => {
    const answer = Promise.withResolvers<number>();
    asked.push(answer);
    return answer.promise;
  });
  const answer = async (number: number): Promise<void> => {
    asked[number - 1]?.resolve(number);
    await settled();
  };
  return { flight, asked, answer };
}

/** All that was resolved has been told. */
const settled = (): Promise<void> => new VirtualClock().settle();

describe('SingleFlight', () => {
  it('asks anew for each who comes alone', async () => {
    const { flight, answer } = byHand();
    const first = flight.get(signal);
    await answer(1);
    const second = flight.get(signal);
    await answer(2);
    expect(await Promise.all([first, second])).to.deep.equal([1, 2]);
  });

  it('gives nobody an answer that was asked for before he came, and asks once for all who came meanwhile', async () => {
    const { flight, asked, answer } = byHand();
    const first = flight.get(signal);
    const later = [flight.get(signal), flight.get(signal), flight.get(signal)];
    expect(asked).to.have.length(1);
    await answer(1);
    expect(asked).to.have.length(2);
    const last = flight.get(signal);
    await answer(2);
    await answer(3);
    expect(await Promise.all([first, ...later, last])).to.deep.equal([1, 2, 2, 2, 3]);
    expect(asked).to.have.length(3);
  });

  it('goes on after a failure, which only those learn of who shared it', async () => {
    const { flight, asked, answer } = byHand();
    const first = flight.get(signal).catch((error: unknown) => String(error));
    const second = flight.get(signal);
    asked[0]?.reject(new Error('no'));
    await settled();
    await answer(2);
    expect(await first).to.equal('Error: no');
    expect(await second).to.equal(2);
  });

  it('takes a question that throws at once for one that failed', async () => {
    const flight = new SingleFlight((): Promise<never> => {
      throw new Error('no');
    });
    for (let time = 0; time < 2; time++) {
      expect(await flight.get(signal).catch((error: unknown) => String(error))).to.equal('Error: no');
    }
  });

  it('lets go whoever stops waiting, and the others have their answer', async () => {
    const { flight, answer } = byHand();
    const stop = new AbortController();
    const first = flight.get(signal);
    const second = flight.get(stop.signal).catch((error: unknown) => String(error));
    const third = flight.get(signal);
    stop.abort(new Error('stopped'));
    expect(await second).to.equal('Error: stopped');
    await answer(1);
    await answer(2);
    expect(await Promise.all([first, third])).to.deep.equal([1, 2]);
  });
});
