import { expect } from 'chai';
import { endAll } from './end-all.ts';

describe('endAll', () => {
  it('calls all cleanups in order despite failures, and throws the first error', async () => {
    const ended: string[] = [];
    const cleanup = (name: string, error?: Error) => async (): Promise<void> => {
      await Promise.resolve();
      ended.push(name);
      if (error !== undefined) throw error;
    };
    const end = endAll(
      cleanup('a'),
      cleanup('b', new Error('b fails')),
      cleanup('c', new Error('c fails')),
      cleanup('d'),
    );
    const outcome = await end.then(
      () => 'nothing was thrown',
      (error: unknown) => error,
    );
    expect(outcome).to.be.an.instanceOf(Error).with.property('message', 'b fails');
    expect(ended).to.deep.equal(['a', 'b', 'c', 'd']);
  });

  it('throws nothing if all cleanups succeed', async () => {
    await endAll(
      () => Promise.resolve(),
      () => Promise.resolve(),
    );
  });
});
