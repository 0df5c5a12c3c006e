import { expect } from 'chai';
import {
  EMPTY_RECORD,
  parseRecord,
  replaceDroppedByLost,
  unlistedFields,
  withDropped,
  withRestored,
  addRestoration,
} from './record.ts';

describe('the record of the keeper of the CRD', () => {
  for (const text of ['', 'null', '{}', '{"restorations":[{"at":"now","parts":[]}]}'])
    it(`is not read from ${JSON.stringify(text)}`, () => expect(parseRecord(text)).to.equal(undefined));

  it('tells begun from restored parts, and continues a restoration that no client has reverted', () => {
    const begun = addRestoration(EMPTY_RECORD, ['crd'], 1) ?? expect.fail('stopped');
    expect(addRestoration(begun, ['crd'], 2)).to.deep.equal({ restorations: [{ at: 2, parts: [], begun: ['crd'] }] });
    const restored = withRestored(begun, (part) => part === 'crd');
    expect(restored).to.deep.equal({ restorations: [{ at: 1, parts: ['crd'] }] });
    expect(withRestored(restored, () => true)).to.equal(restored);
    const both = addRestoration(restored, ['mutating'], 2) ?? expect.fail('stopped');
    expect(both.restorations).to.deep.equal([{ at: 2, parts: ['crd'], begun: ['mutating'] }]);
    expect(addRestoration(both, ['crd'], 3)?.restorations).to.have.length(2);
  });

  it('keeps the dropped fields when only a webhook is reverted before the objects are listed', () => {
    const before = { restorations: [{ at: 1, parts: ['crd', 'mutating'], dropped: ['spec.roleARN'] }] };
    const next = addRestoration(before, ['mutating'], 2) ?? expect.fail('stopped');
    expect(unlistedFields(next)).to.deep.equal(['spec.roleARN']);
  });

  it('names the dropped fields until the objects that lost them are listed', () => {
    const before = withDropped({ restorations: [{ at: 1, parts: ['crd'] }] }, ['spec.roleARN']);
    expect(unlistedFields(before)).to.deep.equal(['spec.roleARN']);
    const afterwards = replaceDroppedByLost(before, ['default/web: spec.roleARN']);
    expect(unlistedFields(afterwards)).to.equal(undefined);
    expect(afterwards.restorations[0]?.lost).to.deep.equal(['default/web: spec.roleARN']);
  });
});
