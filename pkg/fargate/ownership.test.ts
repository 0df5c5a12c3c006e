import { expect } from 'chai';
import { ClusterName, ProfileName, RoleName } from '../../api/names.ts';
import type { Owner } from './ownership.ts';
import { profileOwner, roleOwner } from './ownership.ts';
import type { Tags } from './tags.ts';

const OWNER = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
const EKS_CLUSTER = 'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster';
const CAPA = 'kubernetes.io/cluster/prod';
const ARN = 'arn:aws:eks:eu-west-1:111122223333:cluster/default_prod';

const object = {
  namespace: 'team-a',
  name: 'web',
  clusterName: ClusterName.of('prod'),
  profileName: ProfileName.of('team-a_web'),
};
const roleObject = {
  clusterName: ClusterName.of('prod'),
  eksClusterArn: ARN,
  namesOfCapa: [RoleName.of('prod-team-a_web_fargate'), RoleName.of('default_prod-team-a_web_fargate')],
};

const profile = (tags: Tags, name = 'team-a_web'): Owner => profileOwner({ name: ProfileName.of(name), tags }, object);
const role = (tags: Tags, name = 'prod-team-a_web_fargate'): Owner =>
  roleOwner({ name: RoleName.of(name), tags }, roleObject);

const stamped: Owner = { kind: 'ours', stamped: true };
const capaMade: Owner = { kind: 'ours', stamped: false };
const foreign = (whose: string, claimed: boolean): Owner => ({ kind: 'foreign', whose, claimed });
const nobody = foreign('somebody else: no tag names an owner', false);

describe('ownership', () => {
  describe('of a profile', () => {
    const table: readonly (readonly [string, Owner, Owner])[] = [
      ['its owner tag names the object', profile({ [OWNER]: 'team-a/web' }), stamped],
      ['whatever its name is', profile({ [OWNER]: 'team-a/web', [CAPA]: 'owned' }, 'other'), stamped],
      ["Cluster API Provider AWS' tag, and the object's name", profile({ [CAPA]: 'owned' }), capaMade],
      [
        "an owner tag that names another object outweighs Cluster API Provider AWS' tag",
        profile({ [OWNER]: 'team-b/web', [CAPA]: 'owned' }),
        foreign('the AWSFargateProfile team-b/web', true),
      ],
      [
        "Cluster API Provider AWS' tag, and another name",
        profile({ [CAPA]: 'owned' }, 'team-a_api'),
        foreign('something else of the cluster prod (tag kubernetes.io/cluster/prod=owned)', true),
      ],
      [
        'another cluster of that name',
        profile({ 'kubernetes.io/cluster/stage': 'owned' }),
        foreign('something else of the cluster stage (tag kubernetes.io/cluster/stage=owned)', true),
      ],
      ['"shared" is not "owned"', profile({ [CAPA]: 'shared' }), nobody],
      ['EKS tells keys by their case', profile({ [OWNER.toUpperCase()]: 'team-a/web' }), nobody],
      ['no tags', profile({}), nobody],
    ];
    for (const [what, owner, wanted] of table) {
      it(what, () => {
        expect(owner).to.deep.equal(wanted);
      });
    }
  });

  describe('of a role', () => {
    const table: readonly (readonly [string, Owner, Owner])[] = [
      ['its tag names the EKS cluster', role({ [EKS_CLUSTER]: ARN }), stamped],
      ['whatever its name is', role({ [EKS_CLUSTER]: ARN }, 'shared-by-two'), stamped],
      ['IAM does not tell keys by their case', role({ [EKS_CLUSTER.toUpperCase()]: ARN }), stamped],
      ["Cluster API Provider AWS' tag and name", role({ [CAPA]: 'owned' }), capaMade],
      ['its older name', role({ [CAPA]: 'owned' }, 'default_prod-team-a_web_fargate'), capaMade],
      [
        "Cluster API Provider AWS' tag on another name: a role of its nodes, say",
        role({ [CAPA]: 'owned' }, 'nodes.cluster-api-provider-aws.sigs.k8s.io'),
        foreign('something else of the cluster prod (tag kubernetes.io/cluster/prod=owned)', true),
      ],
      [
        'the same cluster name in another region',
        role({ [EKS_CLUSTER]: ARN.replace('eu-west-1', 'us-east-1'), [CAPA]: 'owned' }),
        foreign('the profiles of EKS cluster arn:aws:eks:us-east-1:111122223333:cluster/default_prod', true),
      ],
      [
        'the shared role, whatever it carries',
        role({ [EKS_CLUSTER]: ARN, [CAPA]: 'owned' }, 'EKS-fargate.cluster-api-provider-aws.sigs.k8s.io'),
        foreign('every profile of Cluster API Provider AWS: it is their shared role', true),
      ],
      ['"shared" is not "owned"', role({ [CAPA]: 'shared' }), nobody],
      ['no tags', role({}), nobody],
    ];
    for (const [what, owner, wanted] of table) {
      it(what, () => {
        expect(owner).to.deep.equal(wanted);
      });
    }
  });
});
