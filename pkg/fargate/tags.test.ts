import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { ClusterName } from '../../api/names.ts';
import type { Tags, TagsInvalid } from './tags.ts';
import { exactly, foldCase, ownerTagValue, profileTags, roleTags, tagDrift } from './tags.ts';

const clusterName = ClusterName.of('prod');
const owner = { namespace: 'team-a', name: 'web' };
const arn = 'arn:aws:eks:eu-west-1:111122223333:cluster/default_prod';
const none: Tags = {};

function expectTags(result: E.Either<TagsInvalid, Tags>, wanted: Tags): void {
  expect(result).to.deep.equal(E.right(wanted));
}

function expectProblems(result: E.Either<TagsInvalid, Tags>, ...wanted: readonly string[]): void {
  expect(result).to.deep.equal(E.left({ kind: 'TagsInvalid', problems: wanted }));
}

const many = (count: number): Tags => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));

describe('tags', () => {
  it("a profile carries its object, Cluster API's tag, and the tags of object and control plane", () => {
    expectTags(profileTags(owner, { clusterName, object: { team: 'a' }, controlPlane: { env: 'prod' } }), {
      'sigs.k8s.io/cluster-api-provider-aws-fargate/owner': 'team-a/web',
      'kubernetes.io/cluster/prod': 'owned',
      team: 'a',
      env: 'prod',
    });
  });

  it('a role carries its EKS cluster', () => {
    expectTags(roleTags(arn, { clusterName, object: none, controlPlane: none }), {
      'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster': arn,
      'kubernetes.io/cluster/prod': 'owned',
    });
  });

  it('ours win over those of the object, and these over those of the control plane', () => {
    const sources = {
      clusterName,
      object: { 'kubernetes.io/cluster/prod': 'shared', team: 'object' },
      controlPlane: { team: 'control plane', env: 'control plane' },
    };
    const tags = E.getOrElse(() => none)(profileTags(owner, sources));
    expect(tags['kubernetes.io/cluster/prod']).to.equal('owned');
    expect(tags['team']).to.equal('object');
    expect(tags['env']).to.equal('control plane');
  });

  it('keys that differ in case alone are two for EKS and one for IAM', () => {
    const sources = {
      clusterName,
      object: { Team: 'a' },
      controlPlane: { team: 'b', 'Kubernetes.io/Cluster/Prod': 'x' },
    };
    expectTags(roleTags(arn, sources), {
      'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster': arn,
      'kubernetes.io/cluster/prod': 'owned',
      Team: 'a',
    });
    const profile = E.getOrElse(() => none)(profileTags(owner, sources));
    expect(profile).to.include({ Team: 'a', team: 'b', 'Kubernetes.io/Cluster/Prod': 'x' });
  });

  it('fifty tags are allowed, ours included; one more is not', () => {
    expect(profileTags(owner, { clusterName, object: many(48), controlPlane: none })).to.satisfy(E.isRight);
    expectProblems(
      profileTags(owner, { clusterName, object: many(48), controlPlane: { one: 'more' } }),
      "51 tags, of which 2 are this controller's own, are more than the 50 AWS allows",
    );
  });

  it('names every mistake and where it comes from', () => {
    const long = 'k'.repeat(129);
    expectProblems(
      profileTags(owner, {
        clusterName,
        object: { [long]: 'v', note: 'v'.repeat(257) },
        controlPlane: { 'AWS:cloudformation:stack': 'x', '': 'x', semi: 'a;b' },
      }),
      `tag "${'k'.repeat(61)}..." of the AWSFargateProfile: the key has 129 characters, AWS allows 128`,
      'tag "note" of the AWSFargateProfile: the value has 257 characters, AWS allows 256',
      'a tag of the control plane has an empty key',
      'tag "AWS:cloudformation:stack" of the control plane: keys that begin with "aws:" are reserved for AWS',
      'tag "semi" of the control plane: the value may hold letters, digits, spaces and _ . : / = + - @ only',
    );
  });

  it('a long Cluster name can make our own key too long, and that is said', () => {
    const long = ClusterName.of('c'.repeat(128));
    const [problem] = E.match(
      (invalid: TagsInvalid) => invalid.problems,
      () => [],
    )(profileTags(owner, { clusterName: long, object: none, controlPlane: none }));
    expect(problem).to.contain('of this controller: the key has 150 characters');
  });

  describe('owner', () => {
    it('is written out while it fits into a tag', () => {
      const name = 'n'.repeat(253);
      expect(ownerTagValue({ namespace: 'ab', name })).to.equal(`ab/${name}`);
    });

    it('is hashed when it does not, and stays telling the namespace', () => {
      const value = ownerTagValue({ namespace: 'abc', name: 'n'.repeat(253) });
      expect(value).to.match(/^abc\/sha256-[0-9a-f]{40}$/);
      expect(ownerTagValue({ namespace: 'abc', name: `${'n'.repeat(252)}m` })).to.not.equal(value);
    });
  });

  describe('drift', () => {
    it('is none when everything wanted is there, whatever else is', () => {
      const drift = tagDrift({ a: '1' }, { a: '1', theirs: 'x', 'aws:cloudformation:stack': 'y' }, ['a'], exactly);
      expect(drift).to.deep.equal({ set: {}, remove: [] });
    });

    it('sets what is missing or differs', () => {
      const drift = tagDrift({ a: '1', b: '2', c: '3' }, { a: '1', b: 'x' }, [], exactly);
      expect(drift).to.deep.equal({ set: { b: '2', c: '3' }, remove: [] });
    });

    it('removes only what this controller once set and no longer wants', () => {
      const drift = tagDrift({ a: '1' }, { a: '1', old: 'x', theirs: 'y' }, ['a', 'old', 'gone'], exactly);
      expect(drift).to.deep.equal({ set: {}, remove: ['old'] });
    });

    it('never removes a tag of AWS, even if the list of owned keys claims it', () => {
      expect(tagDrift({}, { 'aws:x': 'y' }, ['aws:x'], exactly).remove).to.deep.equal([]);
    });

    it('compares keys without case for IAM, and spells removals as found', () => {
      expect(tagDrift({ Team: 'a' }, { team: 'a' }, ['Team'], foldCase)).to.deep.equal({ set: {}, remove: [] });
      expect(tagDrift({ Team: 'b' }, { team: 'a' }, ['Team'], foldCase)).to.deep.equal({
        set: { Team: 'b' },
        remove: [],
      });
      expect(tagDrift({}, { TEAM: 'a' }, ['team'], foldCase)).to.deep.equal({ set: {}, remove: ['TEAM'] });
      expect(tagDrift({ Team: 'a' }, { team: 'a' }, ['team'], exactly)).to.deep.equal({
        set: { Team: 'a' },
        remove: ['team'],
      });
    });
  });
});
