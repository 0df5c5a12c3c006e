import { expect } from 'chai';
import type { KeeperRecord } from './record.ts';
import { formatRecord, parseRecord, unlistedFields, withDropped, replaceDroppedByLost } from './record.ts';

describe('the record of the keeper of the CRD', () => {
  const record: KeeperRecord = {
    restorations: [{ at: 1_700_000_000_000, parts: ['crd'], dropped: ['spec.roleARN'] }],
    stopped: { at: 1_700_000_000_001, writers: ['kustomize-controller'] },
  };

  it('survives a restart of the manager', () => {
    expect(parseRecord(formatRecord(record))).to.deep.equal(record);
  });

  for (const text of ['', 'null', '{}', '{"restorations":[{"at":"now","parts":[]}]}'])
    it(`is not read from ${JSON.stringify(text)}`, () => expect(parseRecord(text)).to.equal(undefined));

  it('names the dropped fields until the objects that lost them are listed', () => {
    const before = withDropped({ restorations: [{ at: 1, parts: ['crd'] }] }, ['spec.roleARN']);
    expect(unlistedFields(before)).to.deep.equal(['spec.roleARN']);
    const afterwards = replaceDroppedByLost(before, ['default/web: spec.roleARN']);
    expect(unlistedFields(afterwards)).to.equal(undefined);
    expect(afterwards.restorations[0]?.lost).to.deep.equal(['default/web: spec.roleARN']);
  });
});
