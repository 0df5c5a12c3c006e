import { expect } from 'chai';
import { isAdded, policyAddition, recordTags, tagAddition, tagsToCreate } from './added-record.ts';
import { ADDED_TAG } from './tag-keys.ts';
import type { Tags } from './tag-map.ts';
import { keepCase } from './tag-map.ts';

const many = (count: number): Tags => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
const wanted = (tags: Tags) => ({ tags, additions: Object.keys(tags).map((key) => tagAddition(key, keepCase)) });
const recordKeys = (tags: Tags) => Object.keys(tags).filter((key) => key.startsWith(ADDED_TAG));

describe('The record of additions in tags', () => {
  // A changed digest would disown all additions of earlier versions.
  it('has these digests', () => {
    const additions = [tagAddition('team', keepCase), policyAddition('arn:aws:iam::aws:policy/ReadOnlyAccess')];
    expect(tagsToCreate({ tags: { team: 'a' }, additions })).to.deep.equal({
      team: 'a',
      'sigs.k8s.io/cluster-api-provider-aws-fargate/added': 'RDHAtm8Afbj0pypRy2BLxZp8',
    });
  });

  it('does not exist without additions', () => {
    expect(tagsToCreate({ tags: { ours: 'x' }, additions: [] })).to.deep.equal({ ours: 'x' });
  });

  it('proves what it names, and nothing else', () => {
    const tags = tagsToCreate(wanted(many(44)));
    for (const key of Object.keys(many(44))) expect(isAdded(tags, tagAddition(key, keepCase)), key).to.equal(true);
    expect(isAdded(tags, tagAddition('k44', keepCase))).to.equal(false);
    expect(isAdded(tags, policyAddition('k1'))).to.equal(false);
  });

  it('fits into tags of at most 256 characters, and leaves room for 50 tags', () => {
    const counts = Object.fromEntries(
      [21, 22, 44, 47, 48, 50].map((count) => {
        const tags = tagsToCreate(wanted(many(count)));
        for (const value of Object.values(tags)) expect(value.length).to.be.most(256);
        return [count, recordKeys(tags).length];
      }),
    );
    expect(counts).to.deep.equal({ 21: 1, 22: 2, 44: 3, 47: 3, 48: 2, 50: 0 });
  });

  it('counts the tags of others too', () => {
    expect(recordKeys(recordTags(wanted({ a: '1' }), many(48), []))).to.have.length(1);
    expect(recordKeys(recordTags(wanted({ a: '1' }), many(49), []))).to.have.length(0);
  });
});
