import { expect } from 'chai';
import { tagDrift } from './tag-drift.ts';
import { foldCase, keepCase } from './tag-map.ts';

describe('tagDrift', () => {
  it('is empty when all wanted tags exist, whatever other tags exist', () => {
    const drift = tagDrift({ a: '1' }, { a: '1', theirs: 'x', 'aws:cloudformation:stack': 'y' }, ['a'], keepCase);
    expect(drift).to.deep.equal({ set: {}, remove: [] });
  });

  it('sets tags that are missing or differ', () => {
    const drift = tagDrift({ a: '1', b: '2', c: '3' }, { a: '1', b: 'x' }, [], keepCase);
    expect(drift).to.deep.equal({ set: { b: '2', c: '3' }, remove: [] });
  });

  it('removes only tags that this controller has set and no longer wants', () => {
    const drift = tagDrift({ a: '1' }, { a: '1', old: 'x', theirs: 'y' }, ['a', 'old', 'gone'], keepCase);
    expect(drift).to.deep.equal({ set: {}, remove: ['old'] });
  });

  it('never removes a tag of AWS, even if ownedKeys contains it', () => {
    expect(tagDrift({}, { 'aws:x': 'y' }, ['aws:x'], keepCase).remove).to.deep.equal([]);
  });

  it('ignores case for IAM, and spells removed keys as in AWS', () => {
    expect(tagDrift({ Team: 'a' }, { team: 'a' }, ['Team'], foldCase)).to.deep.equal({ set: {}, remove: [] });
    expect(tagDrift({ Team: 'b' }, { team: 'a' }, ['Team'], foldCase)).to.deep.equal({
      set: { Team: 'b' },
      remove: [],
    });
    expect(tagDrift({}, { TEAM: 'a' }, ['team'], foldCase)).to.deep.equal({ set: {}, remove: ['TEAM'] });
    expect(tagDrift({ Team: 'a' }, { team: 'a' }, ['team'], keepCase)).to.deep.equal({
      set: { Team: 'a' },
      remove: ['team'],
    });
  });
});
