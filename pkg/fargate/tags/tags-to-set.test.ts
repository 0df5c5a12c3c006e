import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { ClusterName } from '../../../api/names.ts';
import { MAX_ADDITIONAL_TAGS, MAX_TAGS } from '../../../api/v1beta2/index.ts';
import { roleOwnershipTags, type Tags } from './tag-keys.ts';
import * as tagsToSet from './tags-to-set.ts';
import type { TagsToSet } from './tags-to-set.ts';

const clusterName = ClusterName.of('prod');
const owner = { namespace: 'team-a', name: 'web' };
const place = { eksClusterArn: 'arn:aws:eks:eu-west-1:111122223333:cluster/default_prod', namespace: 'team-a' };
const none: Tags = {};

interface Sources {
  readonly clusterName: ClusterName;
  readonly object: Tags;
  readonly controlPlane: Tags;
}
const specOf = (sources: Sources) => ({
  spec: { clusterName: sources.clusterName, additionalTags: sources.object },
});
const justTags = E.map(({ tags }: TagsToSet) => tags);
const profileTags = (who: typeof owner, sources: Sources) =>
  justTags(tagsToSet.profileTags({ ...who, clusterName: sources.clusterName }, specOf(sources), sources.controlPlane));
const roleTags = (where: typeof place, sources: Sources) =>
  justTags(tagsToSet.roleTags({ ...where, clusterName: sources.clusterName }, specOf(sources), sources.controlPlane));

type Result = E.Either<readonly string[], Tags>;

function expectTags(result: Result, wanted: Tags): void {
  expect(result).to.deep.equal(E.right(wanted));
}

function expectProblems(result: Result, ...wanted: readonly string[]): void {
  expect(result).to.deep.equal(E.left(wanted));
}

const many = (count: number): Tags => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));

describe('Tags', () => {
  it('of a profile name its object and its Cluster, and include those of object and control plane', () => {
    expectTags(profileTags(owner, { clusterName, object: { team: 'a' }, controlPlane: { env: 'prod' } }), {
      'sigs.k8s.io/cluster-api-provider-aws-fargate/owner': 'team-a/web',
      'kubernetes.io/cluster/prod': 'owned',
      team: 'a',
      env: 'prod',
    });
  });

  it('of this controller override those of the object, which override those of the control plane', () => {
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

  it('that differ only in case are two tags for EKS and one for IAM', () => {
    const sources = {
      clusterName,
      object: { Team: 'a' },
      controlPlane: { team: 'b', 'Kubernetes.io/Cluster/Prod': 'x' },
    };
    expectTags(roleTags(place, sources), {
      'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster': place.eksClusterArn,
      'sigs.k8s.io/cluster-api-provider-aws-fargate/namespace': 'team-a',
      'kubernetes.io/cluster/prod': 'owned',
      Team: 'a',
    });
    const profile = E.getOrElse(() => none)(profileTags(owner, sources));
    expect(profile).to.include({ Team: 'a', team: 'b', 'Kubernetes.io/Cluster/Prod': 'x' });
  });

  it('that differ only in case are refused where the role would lose one of them, and both are named', () => {
    const object = { Team: 'a', team: 'b', owner: 'x', Owner: 'x' };
    expectProblems(
      roleTags(place, { clusterName, object, controlPlane: none }),
      'tags "Team" and "team" of the AWSFargateProfile: IAM ignores the case of letters in keys, so the role could have only one of these tags',
    );
    expect(profileTags(owner, { clusterName, object, controlPlane: none })).to.satisfy(E.isRight);
  });

  it('are rejected if their key is one that the controller uses to record its additions', () => {
    const key = 'SIGS.k8s.io/cluster-api-provider-aws-fargate/added-2';
    for (const [source, tags] of [
      ['control plane', { object: none, controlPlane: { [key]: 'x' } }],
      ['AWSFargateProfile', { object: { [key]: 'x' }, controlPlane: none }],
    ] as const)
      for (const found of [profileTags(owner, { clusterName, ...tags }), roleTags(place, { clusterName, ...tags })])
        expectProblems(found, `tag "${key}" of the ${source}: only this controller may set it`);
  });

  it('are at most fifty, including those of this controller', () => {
    expect(profileTags(owner, { clusterName, object: many(48), controlPlane: none })).to.satisfy(E.isRight);
    expectProblems(
      profileTags(owner, { clusterName, object: many(48), controlPlane: { one: 'more' } }),
      'there are 51 tags (2 of them from this controller), but AWS allows only 50',
    );
  });

  it('fit on profile and role if spec.additionalTags is full', () => {
    const full = { clusterName, object: many(MAX_ADDITIONAL_TAGS), controlPlane: none };
    const [ofRole, ofProfile] = [roleTags(place, full), profileTags(owner, full)];
    expect(Object.keys(E.getOrElse(() => none)(ofRole))).to.have.length(MAX_TAGS);
    expect(ofProfile).to.satisfy(E.isRight);
  });

  it('that users want on a role are its tags except those of this controller', () => {
    const sources = { clusterName, object: { Team: 'a' }, controlPlane: { team: 'b', env: 'prod' } };
    const ofUsers = tagsToSet.roleTagsOfUsers(specOf(sources), sources.controlPlane);
    expect([...ofUsers.keys()]).to.deep.equal(['team', 'env']);
    const own = { ...roleOwnershipTags(place), 'kubernetes.io/cluster/prod': 'owned' };
    const wanted = Object.fromEntries([...ofUsers.values()].map(({ key, value }) => [key, value]));
    expectTags(roleTags(place, sources), { ...own, ...wanted });
  });

  it('are rejected with every problem and its source', () => {
    const long = 'k'.repeat(129);
    expectProblems(
      profileTags(owner, {
        clusterName,
        object: { [long]: 'v', note: 'v'.repeat(257) },
        controlPlane: { 'AWS:cloudformation:stack': 'x', '': 'x', semi: 'a;b' },
      }),
      `tag "${'k'.repeat(63)}…" of the AWSFargateProfile: the key has 129 characters, but AWS allows only 128`,
      'tag "note" of the AWSFargateProfile: the value has 257 characters, but AWS allows only 256',
      'a tag of the control plane has an empty key',
      'tag "AWS:cloudformation:stack" of the control plane: AWS reserves keys that begin with "aws:"',
      'tag "semi" of the control plane: the value may contain only letters, digits, and spaces of any language, and _ . : / = + - @',
    );
  });

  it('have letters, digits, and spaces of any language, and are counted in characters', () => {
    const international = { owner: 'Équipe Données', 所有者: '平台\u3000团队 ٣', ['𝒳'.repeat(128)]: '𝒳'.repeat(256) };
    const sources = { clusterName, object: none, controlPlane: international };
    for (const tags of [profileTags(owner, sources), roleTags(place, sources)]) {
      expect(E.getOrElse(() => none)(tags)).to.include(international);
    }
    for (const value of ['a\tb', 'a\nb', 'a\u0301', '🙂', '𝒳'.repeat(257)]) {
      expect(profileTags(owner, { clusterName, object: none, controlPlane: { value } })).to.satisfy(E.isLeft);
    }
  });

  it('are rejected when a long Cluster name makes the key of this controller too long', () => {
    const long = ClusterName.of('c'.repeat(128));
    expectProblems(
      profileTags(owner, { clusterName: long, object: none, controlPlane: none }),
      `tag "kubernetes.io/cluster/${'c'.repeat(41)}…" of this controller: the key has 150 characters, but AWS allows only 128`,
    );
  });
});
