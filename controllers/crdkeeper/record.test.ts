import { expect } from 'chai';
import { addRestoration, parseRecord, unlistedFields } from './record.ts';

describe('the record of the CRD keeper', () => {
  for (const text of ['', 'null', '{}', '{"restorations":[{"at":"now","parts":[]}]}'])
    it(`is not read from ${JSON.stringify(text)}`, () => expect(parseRecord(text)).to.equal(undefined));

  it('keeps the dropped fields when only a webhook is reverted before the objects are listed', () => {
    const before = { restorations: [{ at: 1, parts: ['crd', 'mutating'], dropped: ['spec.roleARN'] }] };
    const next = addRestoration(before, ['mutating'], 2) ?? expect.fail('stopped');
    expect(unlistedFields(next)).to.deep.equal(['spec.roleARN']);
  });
});
