import { expect } from 'chai';
import { endAll } from './end-all.ts';

describe('endAll', () => {
  it('ends one after the other, each whatever came of those before it, and throws what went wrong first', async () => {
    const ended: string[] = [];
    const ending = (name: string, error?: Error) => async (): Promise<void> => {
      await Promise.resolve();
      ended.push(name);
      if (error !== undefined) throw error;
    };
    const end = endAll(ending('a'), ending('b', new Error('b fails')), ending('c', new Error('c fails')), ending('d'));
    const outcome = await end.then(
      () => 'nothing was thrown',
      (error: unknown) => error,
    );
    expect(outcome).to.be.an.instanceOf(Error).with.property('message', 'b fails');
    expect(ended).to.deep.equal(['a', 'b', 'c', 'd']);
  });

  it('throws nothing where all end', async () => {
    await endAll(
      () => Promise.resolve(),
      () => Promise.resolve(),
    );
  });
});
