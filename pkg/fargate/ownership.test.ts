import { expect } from 'chai';
import { ClusterName, ProfileName, RoleName } from '../../api/names.ts';
import { type Ownership, profileOwnership, roleOwnership } from './ownership.ts';
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
const unclaimed = foreign('an unknown owner (it has no tag that names one)', false);

const OF_PROD = foreign('cluster prod (tag kubernetes.io/cluster/prod=owned), but not to this object', true);
const OF_STAGE = foreign('cluster stage (tag kubernetes.io/cluster/stage=owned), but not to this object', true);
const OF_CAPA = { [CAPA]: 'owned' };
const OURS = { [EKS_CLUSTER]: ARN, [NAMESPACE]: 'team-a' };
const elsewhere = ARN.replace('eu-west-1', 'us-east-1');
const SHARED_ROLE = 'EKS-fargate.cluster-api-provider-aws.sigs.k8s.io';

describe('The ownership', () => {
  const tables: Readonly<Record<string, readonly (readonly [string, Ownership, Ownership])[]>> = {
    'of a profile with': [
      ['our owner tag', profile({ [OWNER]: 'team-a/web' }), stamped],
      ['our owner tag and any name', profile({ ...OF_CAPA, [OWNER]: 'team-a/web' }, 'other'), stamped],
      ['the tag of CAPA and our name', profile(OF_CAPA), capaMade],
      [
        'the owner tag of another object, and the tag of CAPA',
        profile({ ...OF_CAPA, [OWNER]: 'team-b/web' }),
        foreign('AWSFargateProfile team-b/web', true),
      ],
      ['the tag of CAPA and another name', profile(OF_CAPA, 'team-a_api'), OF_PROD],
      ['the tag of another cluster', profile({ 'kubernetes.io/cluster/stage': 'owned' }), OF_STAGE],
      ['a cluster tag of the value "shared"', profile({ [CAPA]: 'shared' }), unclaimed],
      ['an owner tag whose key differs in case', profile({ [OWNER.toUpperCase()]: 'team-a/web' }), unclaimed],
      ['no tags', profile({}), unclaimed],
    ],
    'of a role with': [
      ['the tags of EKS cluster and namespace', role(OURS), stamped],
      ['these tags and any name', role(OURS, 'shared-by-two'), stamped],
      [
        'these tags in another case',
        role({ [EKS_CLUSTER.toUpperCase()]: ARN, [NAMESPACE.toUpperCase()]: 'team-a' }),
        stamped,
      ],
      [
        'the tag of another namespace with the same EKS cluster',
        role({ ...OURS, ...OF_CAPA, [NAMESPACE]: 'team-b' }),
        foreign('the AWSFargateProfiles of namespace team-b', true),
      ],
      ['the tag of the EKS cluster alone', role({ [EKS_CLUSTER]: ARN }), unclaimed],
      ['the tag of the namespace alone', role({ [NAMESPACE]: 'team-a' }), unclaimed],
      ['the tags of the EKS cluster and of CAPA', role({ [EKS_CLUSTER]: ARN, ...OF_CAPA }), capaMade],
      ['the same, and another name', role({ [EKS_CLUSTER]: ARN, ...OF_CAPA }, 'shared-by-two'), OF_PROD],
      ['the tag and name of CAPA', role(OF_CAPA), capaMade],
      ['the tag and name of older versions of CAPA', role(OF_CAPA, 'default_prod-team-a_web_fargate'), capaMade],
      ['the tag of CAPA and another name', role(OF_CAPA, 'nodes.cluster-api-provider-aws.sigs.k8s.io'), OF_PROD],
      [
        'the tag of a cluster of the same name in another region',
        role({ ...OF_CAPA, [EKS_CLUSTER]: elsewhere }),
        foreign(`the profiles of EKS cluster ${elsewhere}`, true),
      ],
      [
        'the name of the shared role of CAPA, whatever its tags are',
        role({ ...OURS, ...OF_CAPA }, SHARED_ROLE),
        foreign('all Fargate profiles of Cluster API Provider AWS, which share this role', true),
      ],
      ['the tag of another cluster in another case', role({ 'Kubernetes.io/Cluster/stage': 'owned' }), OF_STAGE],
      ['a cluster tag of the value "shared"', role({ [CAPA]: 'shared' }), unclaimed],
      ['no tags', role({}), unclaimed],
    ],
  };
  for (const [what, rows] of Object.entries(tables))
    describe(what, () => {
      for (const [tags, owner, expected] of rows)
        it(`${tags}: ${expected.kind}`, () => expect(owner).to.deep.equal(expected));
    });
});
