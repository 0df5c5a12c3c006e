import { expect } from 'chai';
import { eventually } from './eventually.ts';

const quick = { timeoutMs: 40, intervalMs: 1 };

async function failureOf(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => expect.fail('it was fulfilled'),
    (error: Error) => error,
  );
}

describe('eventually', () => {
  it('returns the first answer that is neither false nor an error', async () => {
    let calls = 0;
    const answer = await eventually(() => {
      calls += 1;
      if (calls === 1) throw new Error('not yet');
      return calls === 2 ? false : calls;
    }, quick);
    expect(answer).to.equal(3);
  });

  it('takes undefined for an answer, since a block of assertions returns nothing', async () => {
    expect(await eventually(() => undefined, quick)).to.equal(undefined);
  });

  it('gives up with the last error in its words and as its cause', async () => {
    const last = new Error('expected 1 to equal 2');
    const error = await failureOf(
      eventually(
        () => {
          throw last;
        },
        { ...quick, what: 'the profile being Ready' },
      ),
    );
    expect(error.message).to.equal('the profile being Ready did not come about within 40 ms: expected 1 to equal 2');
    expect(error.cause).to.equal(last);
  });

  it('gives up on a condition that stays false', async () => {
    const error = await failureOf(eventually(() => Promise.resolve(false), quick));
    expect(error.message).to.equal('the condition did not come about within 40 ms');
  });
});
