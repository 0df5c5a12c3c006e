import { expect } from 'chai';
import { ownerTagValue } from './tag-keys.ts';

describe('ownerTagValue', () => {
  it('is namespace and name if they fit into a tag', () => {
    const name = 'n'.repeat(253);
    expect(ownerTagValue({ namespace: 'ab', name })).to.equal(`ab/${name}`);
  });

  it('is namespace and a hash otherwise', () => {
    const value = ownerTagValue({ namespace: 'abc', name: 'n'.repeat(253) });
    expect(value).to.match(/^abc\/sha256-[0-9a-f]{40}$/);
    expect(ownerTagValue({ namespace: 'abc', name: `${'n'.repeat(252)}m` })).to.not.equal(value);
  });
});
