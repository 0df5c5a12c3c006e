import { expect } from 'chai';
import { ClusterName, ProfileName, RoleName } from '../../api/names.ts';
import type { Ownership } from './ownership.ts';
import { profileOwnership, roleOwnership } from './ownership.ts';
import type { Tags } from './tags/tag-keys.ts';

const OWNER = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
const EKS_CLUSTER = 'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster';
const NAMESPACE = 'sigs.k8s.io/cluster-api-provider-aws-fargate/namespace';
const CAPA = 'kubernetes.io/cluster/prod';
const ARN = 'arn:aws:eks:eu-west-1:111122223333:cluster/default_prod';

const object = {
  namespace: 'team-a',
  name: 'web',
  clusterName: ClusterName.of('prod'),
  adoptable: { profile: ProfileName.of('team-a_web') },
};
const roleObject = {
  namespace: 'team-a',
  clusterName: ClusterName.of('prod'),
  eksClusterArn: ARN,
  adoptable: {
    roles: [RoleName.of('prod-team-a_web_fargate'), RoleName.of('default_prod-team-a_web_fargate')],
  },
};

const profile = (tags: Tags, name = 'team-a_web'): Ownership =>
  profileOwnership({ name: ProfileName.of(name), tags }, object);
const role = (tags: Tags, name = 'prod-team-a_web_fargate'): Ownership =>
  roleOwnership({ name: RoleName.of(name), tags }, roleObject);

const stamped: Ownership = { kind: 'ours', stamped: true };
const capaMade: Ownership = { kind: 'ours', stamped: false };
const foreign = (whose: string, claimed: boolean): Ownership => ({ kind: 'foreign', whose, claimed });
const unclaimed = foreign('an unknown owner (no tag names the owner)', false);

describe('The ownership', () => {
  describe('of a profile', () => {
    const table: readonly (readonly [string, Ownership, Ownership])[] = [
      ['is ours when its owner tag names the object', profile({ [OWNER]: 'team-a/web' }), stamped],
      [
        'is ours with the owner tag, whatever its name is',
        profile({ [OWNER]: 'team-a/web', [CAPA]: 'owned' }, 'other'),
        stamped,
      ],
      [
        "is ours with Cluster API Provider AWS's tag and the object's profile name",
        profile({ [CAPA]: 'owned' }),
        capaMade,
      ],
      [
        "is foreign when its owner tag names another object, even with Cluster API Provider AWS's tag",
        profile({ [OWNER]: 'team-b/web', [CAPA]: 'owned' }),
        foreign('AWSFargateProfile team-b/web', true),
      ],
      [
        "is foreign with Cluster API Provider AWS's tag and another name",
        profile({ [CAPA]: 'owned' }, 'team-a_api'),
        foreign('cluster prod (tag kubernetes.io/cluster/prod=owned), but not to this object', true),
      ],
      [
        'is foreign with the tag of another cluster',
        profile({ 'kubernetes.io/cluster/stage': 'owned' }),
        foreign('cluster stage (tag kubernetes.io/cluster/stage=owned), but not to this object', true),
      ],
      ['is foreign with a cluster tag of the value "shared"', profile({ [CAPA]: 'shared' }), unclaimed],
      [
        'is foreign when the key of the owner tag differs in case',
        profile({ [OWNER.toUpperCase()]: 'team-a/web' }),
        unclaimed,
      ],
      ['is foreign without tags', profile({}), unclaimed],
    ];
    for (const [what, owner, wanted] of table) {
      it(what, () => {
        expect(owner).to.deep.equal(wanted);
      });
    }
  });

  describe('of a role', () => {
    const OUR_TAGS = { [EKS_CLUSTER]: ARN, [NAMESPACE]: 'team-a' };
    const table: readonly (readonly [string, Ownership, Ownership])[] = [
      ['is ours when its tags name the EKS cluster and the namespace', role(OUR_TAGS), stamped],
      ['is ours with the tags, whatever its name is', role(OUR_TAGS, 'shared-by-two'), stamped],
      [
        'is ours when the keys of the tags differ in case',
        role({ [EKS_CLUSTER.toUpperCase()]: ARN, [NAMESPACE.toUpperCase()]: 'team-a' }),
        stamped,
      ],
      [
        'is foreign when its tag names another namespace with the same EKS cluster',
        role({ ...OUR_TAGS, [NAMESPACE]: 'team-b', [CAPA]: 'owned' }),
        foreign('the AWSFargateProfiles of namespace team-b', true),
      ],
      [
        'is foreign when its tag names the EKS cluster and no tag names the namespace',
        role({ [EKS_CLUSTER]: ARN }),
        unclaimed,
      ],
      [
        'is foreign when its tag names the namespace and no tag names the EKS cluster',
        role({ [NAMESPACE]: 'team-a' }),
        unclaimed,
      ],
      [
        "is ours without the tag of the namespace, with Cluster API Provider AWS's tag and name",
        role({ [EKS_CLUSTER]: ARN, [CAPA]: 'owned' }),
        capaMade,
      ],
      [
        "is foreign without the tag of the namespace, with Cluster API Provider AWS's tag and another name",
        role({ [EKS_CLUSTER]: ARN, [CAPA]: 'owned' }, 'shared-by-two'),
        foreign('cluster prod (tag kubernetes.io/cluster/prod=owned), but not to this object', true),
      ],
      ["is ours with Cluster API Provider AWS's tag and name", role({ [CAPA]: 'owned' }), capaMade],
      [
        'is ours with the name of older versions of Cluster API Provider AWS',
        role({ [CAPA]: 'owned' }, 'default_prod-team-a_web_fargate'),
        capaMade,
      ],
      [
        "is foreign with Cluster API Provider AWS's tag and another name, e.g. a role for nodes",
        role({ [CAPA]: 'owned' }, 'nodes.cluster-api-provider-aws.sigs.k8s.io'),
        foreign('cluster prod (tag kubernetes.io/cluster/prod=owned), but not to this object', true),
      ],
      [
        'is foreign with the ARN of a cluster of the same name in another region',
        role({ [EKS_CLUSTER]: ARN.replace('eu-west-1', 'us-east-1'), [CAPA]: 'owned' }),
        foreign('the profiles of EKS cluster arn:aws:eks:us-east-1:111122223333:cluster/default_prod', true),
      ],
      [
        'is foreign as the shared role of Cluster API Provider AWS, whatever its tags are',
        role({ ...OUR_TAGS, [CAPA]: 'owned' }, 'EKS-fargate.cluster-api-provider-aws.sigs.k8s.io'),
        foreign('all Fargate profiles of Cluster API Provider AWS, which share this role', true),
      ],
      ['is foreign with a cluster tag of the value "shared"', role({ [CAPA]: 'shared' }), unclaimed],
      ['is foreign without tags', role({}), unclaimed],
    ];
    for (const [what, owner, wanted] of table) {
      it(what, () => {
        expect(owner).to.deep.equal(wanted);
      });
    }
  });
});
