import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { sideBySide } from './side-by-side.ts';

describe('sideBySide', () => {
  const concurrently = sideBySide();
  const started: string[] = [];
  let startedAt = 0;
  before(() => {
    startedAt = performance.now();
  });

  for (const name of ['first', 'second', 'third'])
    concurrently(`starts all cases at the same time: the ${name}`, async () => {
      started.push(name);
      await delay(100);
      expect(started).to.deep.equal(['first', 'second', 'third']);
    });

  it('takes as long as one case', () => {
    expect(performance.now() - startedAt).to.be.below(250);
  });
});
