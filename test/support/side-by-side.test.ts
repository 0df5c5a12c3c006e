import { expect } from 'chai';
import { eventually } from './eventually.ts';
import { sideBySide } from './side-by-side.ts';

describe('sideBySide', () => {
  const concurrently = sideBySide();
  const started: string[] = [];

  for (const name of ['first', 'second', 'third'])
    concurrently(`starts all cases at the same time: the ${name}`, async () => {
      started.push(name);
      await eventually(() => expect(started).to.deep.equal(['first', 'second', 'third']));
    });
});
