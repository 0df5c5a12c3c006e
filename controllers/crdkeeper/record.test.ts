import { expect } from 'chai';
import { addRestoration, unlistedFields } from './record.ts';

describe('the record of the CRD keeper', () => {
  it('keeps the dropped fields when only a webhook is reverted before the objects are listed', () => {
    const before = { restorations: [{ at: 1, parts: ['crd', 'mutating'], dropped: ['spec.roleARN'] }] };
    const next = addRestoration(before, ['mutating'], 2) ?? expect.fail('stopped');
    expect(unlistedFields(next)).to.deep.equal(['spec.roleARN']);
  });
});
