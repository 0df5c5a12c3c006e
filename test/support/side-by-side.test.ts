import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { sideBySide } from './side-by-side.ts';

describe('side by side', () => {
  const alongside = sideBySide();
  const began: string[] = [];
  let beginning = 0;
  before(() => {
    beginning = performance.now();
  });

  for (const name of ['first', 'second', 'third'])
    alongside(`cases begin at the same time: the ${name}`, async () => {
      began.push(name);
      await delay(100);
      expect(began).to.deep.equal(['first', 'second', 'third']);
    });

  it('take as long as one of them', () => {
    expect(performance.now() - beginning).to.be.below(250);
  });
});
