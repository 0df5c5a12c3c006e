import { expect } from 'chai';
import { eventually } from './eventually.ts';

const often = { intervalMs: 1 };
const short = { timeoutMs: 40, ...often };

async function failureOf(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => expect.fail('it was fulfilled'),
    (error: Error) => error,
  );
}

describe('eventually', () => {
  it('returns the first result that is neither false nor an error', async () => {
    let calls = 0;
    const result = await eventually(() => {
      calls += 1;
      if (calls === 1) throw new Error('not yet');
      return calls === 2 ? false : calls;
    }, often);
    expect(result).to.equal(3);
  });

  it('accepts undefined as a result, since a block of assertions returns nothing', async () => {
    expect(await eventually(() => undefined, often)).to.equal(undefined);
  });

  it('fails with the last error in the message and as cause', async () => {
    const last = new Error('expected 1 to equal 2');
    const error = await failureOf(
      eventually(
        () => {
          throw last;
        },
        { ...short, what: 'the profile being Ready' },
      ),
    );
    expect(error.message).to.equal('waiting for the profile being Ready timed out after 40 ms: expected 1 to equal 2');
    expect(error.cause).to.equal(last);
  });

  it('fails if the condition stays false', async () => {
    const error = await failureOf(eventually(() => Promise.resolve(false), short));
    expect(error.message).to.equal('waiting for the condition timed out after 40 ms');
  });
});
