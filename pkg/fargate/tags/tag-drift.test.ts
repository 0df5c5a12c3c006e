import { expect } from 'chai';
import { type Tagged, policyAddition, tagAddition, tagsToCreate, tagDrift, isAdded, addedTags } from './tag-drift.ts';
import { type KeyFold, type Tags, ADDED_TAG, foldCase, keepCase } from './tag-keys.ts';

/** Returns desired tags, all of which come from the user. */
const desired = (tags: Tags, fold: KeyFold = keepCase) => ({
  tags,
  additions: Object.keys(tags).map((key) => tagAddition(key, fold)),
});
/** Returns the tags in AWS, whose digests are those of `added`. */
const found = (tags: Tags, added: Tags, fold: KeyFold = keepCase): Tagged => ({
  tags: { ...tags, ...tagsToCreate(desired(added, fold)) },
});
const NO_DRIFT = { set: {}, remove: [] };

describe('tagDrift', () => {
  it('is empty when all desired tags and their digests exist, whatever other tags exist', () => {
    const tags = { theirs: 'x', 'aws:cloudformation:stack': 'y' };
    expect(tagDrift(desired({ a: '1' }), found(tags, { a: '1' }), keepCase)).to.deep.equal(NO_DRIFT);
  });

  it('sets tags that are missing or differ, and records them', () => {
    const goal = desired({ a: '1', b: '2', c: '3' });
    const drift = tagDrift(goal, { tags: { a: '1', b: 'x' } }, keepCase);
    const { a: _present, ...missing } = tagsToCreate(goal);
    expect(drift).to.deep.equal({ set: missing, remove: [] });
    expect(Object.keys(missing)).to.deep.equal(['b', 'c', ADDED_TAG]);
  });

  it('removes only tags that a digest proves, and that the spec does not name any more', () => {
    const tags = found({ theirs: 'y' }, { a: '1', old: 'x' });
    expect(tagDrift(desired({ a: '1' }), tags, keepCase)).to.deep.equal({ set: {}, remove: ['old'] });
  });

  it('removes nothing that only another client can have set', () => {
    expect(tagDrift(desired({}), { tags: { theirs: 'y' } }, keepCase)).to.deep.equal(NO_DRIFT);
    expect(tagDrift(desired({ a: '1' }), found({ theirs: 'y' }, { a: '1' }), keepCase)).to.deep.equal(NO_DRIFT);
  });

  it('drops the digest of what is gone, and the added tags with the last one', () => {
    const { [ADDED_TAG]: added = '' } = tagsToCreate(desired({ a: '1' }));
    const { a: _gone, b: _also, ...both } = tagsToCreate(desired({ a: '1', b: '2' }));
    const drift = tagDrift(desired({ a: '1' }), { tags: { a: '1', ...both } }, keepCase);
    expect(drift).to.deep.equal({ set: { [ADDED_TAG]: added }, remove: [] });
    expect(tagDrift(desired({}), { tags: both }, keepCase)).to.deep.equal({ set: {}, remove: [ADDED_TAG] });
    const last = tagDrift(desired({}), found({}, { a: '1' }), keepCase);
    expect(last, 'in one call').to.deep.equal({ set: {}, remove: ['a', ADDED_TAG] });
  });

  it('keeps a tag that another object wants on the role, and its digest', () => {
    const tags = found({}, { Team: 'a', old: 'x' }, foldCase);
    const drift = tagDrift({ ...desired({}), keysOfOthers: ['team'] }, tags, foldCase);
    expect(drift).to.deep.equal({ set: {}, remove: ['old'] });
  });

  it('keeps the digest of a policy that is still attached', () => {
    const additions = [policyAddition('arn:aws:iam::aws:policy/A')];
    const tags = tagsToCreate({ tags: {}, additions });
    expect(tagDrift(desired({}), { tags, additions }, foldCase)).to.deep.equal(NO_DRIFT);
    expect(tagDrift(desired({}), { tags }, foldCase), 'detached').to.deep.equal({ set: {}, remove: [ADDED_TAG] });
  });

  it('never removes a tag of AWS, even if a digest names it', () => {
    const drift = tagDrift(desired({}), found({}, { 'aws:x': 'y' }), keepCase);
    expect(drift.remove).to.deep.equal([]);
  });

  it('ignores case for IAM, and spells removed keys as in AWS', () => {
    const goal = (tags: Tags) => desired(tags, foldCase);
    const [team, upper] = [found({}, { team: 'a' }, foldCase), found({}, { TEAM: 'a' }, foldCase)];
    expect(tagDrift(goal({ Team: 'a' }), team, foldCase)).to.deep.equal(NO_DRIFT);
    expect(tagDrift(goal({ Team: 'b' }), team, foldCase)).to.deep.equal({ set: { Team: 'b' }, remove: [] });
    expect(tagDrift(goal({}), upper, foldCase).remove).to.deep.equal(['TEAM', ADDED_TAG]);
    const drift = tagDrift(desired({ Team: 'a' }), found({}, { team: 'a' }), keepCase);
    expect(drift.set).to.include({ Team: 'a' });
    expect(drift.remove).to.deep.equal(['team']);
  });
});

const many = (count: number): Tags => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
const addedTagKeys = (tags: Tags) => Object.keys(tags).filter((key) => key.startsWith(ADDED_TAG));

describe('The added tags', () => {
  // If a digest changed, the controller would no longer recognize the additions of earlier versions.
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
    const tags = tagsToCreate(desired(many(44)));
    for (const key of Object.keys(many(44))) expect(isAdded(tags, tagAddition(key, keepCase)), key).to.equal(true);
    expect(isAdded(tags, tagAddition('k44', keepCase))).to.equal(false);
    expect(isAdded(tags, policyAddition('k1'))).to.equal(false);
  });

  it('fits into tags of at most 256 characters, and leaves room for 50 tags', () => {
    const counts = Object.fromEntries(
      [21, 22, 44, 47, 48, 50].map((count) => {
        const tags = tagsToCreate(desired(many(count)));
        for (const value of Object.values(tags)) expect(value.length).to.be.most(256);
        return [count, addedTagKeys(tags).length];
      }),
    );
    expect(counts).to.deep.equal({ 21: 1, 22: 2, 44: 3, 47: 3, 48: 2, 50: 0 });
  });

  it('counts the tags of others too', () => {
    expect(addedTagKeys(addedTags(desired({ a: '1' }), many(48), []))).to.have.length(1);
    expect(addedTagKeys(addedTags(desired({ a: '1' }), many(49), []))).to.have.length(0);
  });
});
