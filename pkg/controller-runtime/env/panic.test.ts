import assert from 'node:assert';
import { expect } from 'chai';
import { isPanic } from './panic.ts';

const thrownBy = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return expect.fail('nothing was thrown');
};

describe('isPanic', () => {
  it('is true for bugs in the program', () => {
    const nothing: unknown = undefined;
    expect(isPanic(thrownBy(() => (nothing as { field: string }).field))).to.equal(true);
    expect(isPanic(thrownBy(() => 'x'.repeat(-1)))).to.equal(true);
    expect(isPanic(thrownBy(() => JSON.parse('{')))).to.equal(true);
    expect(isPanic(thrownBy(() => assert.equal(1, 2)))).to.equal(true);
    for (const value of ['text', undefined, null, { message: 'like an error' }]) expect(isPanic(value)).to.equal(true);
  });

  it('is false for failures of the environment, also when their cause has a class of JavaScript', () => {
    class Refused extends Error {}
    expect(isPanic(new Refused('GET …'))).to.equal(false);
    expect(isPanic(new Error('reading', { cause: new TypeError('fetch failed') }))).to.equal(false);
    expect(isPanic(new DOMException('aborted', 'AbortError'))).to.equal(false);
  });
});
