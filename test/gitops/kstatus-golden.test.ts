import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { KSTATUS_GOLDEN, KSTATUS_NAMES } from './kstatus-names.ts';

// This test does not run kstatus, so it is part of `make test`. It fails if the golden file has no line for a test
// situation. Only `make test-gitops` compares the statuses in the golden file with those that kstatus computes.
describe('golden/kstatus.golden', () => {
  it('has a line for each phase: UPDATE_GOLDEN=1 make test-gitops writes it', () => {
    const lines = readFileSync(KSTATUS_GOLDEN, 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => line.split(' ')[0])).to.deep.equal(KSTATUS_NAMES);
  });
});
