import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { KSTATUS_GOLDEN, KSTATUS_NAMES } from './kstatus-names.ts';

// Only `make test-gitops` compares the statuses that kstatus computes with the golden file. This test fails in `make
// test` too if a new test situation has no line in the golden file.
describe('golden/kstatus.golden', () => {
  it('has a line for each phase: UPDATE_GOLDEN=1 make test-gitops writes it', () => {
    const lines = readFileSync(KSTATUS_GOLDEN, 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => line.split(' ')[0])).to.deep.equal(KSTATUS_NAMES);
  });
});
