import { expect } from 'chai';
import { ClusterName, EksClusterName, ProfileName } from '../../api/names.ts';
import {
  defaultEksClusterName,
  generateName,
  profileNameFor,
  roleNameFor,
  roleNamesOfCapa,
  isSameRoleName,
} from './names.ts';

describe('Names', () => {
  describe('generateName', () => {
    const vectors: readonly (readonly [string, string, number, string])[] = [
      ['foo', 'default', 100, 'default_foo'],
      ['my.other.profile', 'default', 100, 'default_my_other_profile'],
      ['abcde'.repeat(20), 'default', 100, 'capa_lw9gghk6oj4nkdbmthd0mplrnqe'],
      ['fargate', 'my-cluster.prod-default_my.profile', 64, 'my-cluster.prod-default_my.profile_fargate'],
      [
        'fargate',
        'my-very-long-cluster-name-for-production-default_my-very-long-profile-name',
        64,
        'capa_10uyoudsbd1q75zvbl5fqtlamoi',
      ],
    ];
    for (const [resource, namespace, max, wanted] of vectors) {
      it(`${namespace} / ${resource} in ${max} bytes is ${wanted}`, () => {
        expect(generateName(resource, namespace, max)).to.equal(wanted);
      });
    }

    it('hashes a name that is exactly as long as the limit, and keeps a name that is a byte shorter', () => {
      expect(generateName('a'.repeat(97), 'ns', 100)).to.match(/^capa_[0-9a-z]{27}$/);
      expect(generateName('a'.repeat(96), 'ns', 100)).to.equal(`ns_${'a'.repeat(96)}`);
    });

    it('counts bytes, not characters', () => {
      expect(generateName('ä'.repeat(49), 'ns', 100)).to.match(/^capa_[0-9a-z]{27}$/);
      expect(generateName('ä'.repeat(48), 'ns', 100)).to.equal(`ns_${'ä'.repeat(48)}`);
    });
  });

  it('of profiles consist of namespace and name', () => {
    expect(profileNameFor({ name: 'foo', namespace: 'default' })).to.equal('default_foo');
  });

  it('of roles consist of cluster and profile', () => {
    expect(roleNameFor(ClusterName.of('prod'), ProfileName.of('default_foo'))).to.equal('prod-default_foo_fargate');
  });

  it('of roles of Cluster API Provider AWS include both generations, without duplicates', () => {
    const profileName = ProfileName.of('default_foo');
    const clusterName = ClusterName.of('prod');
    expect(
      roleNamesOfCapa({ clusterName, eksClusterName: EksClusterName.of('default_prod-control-plane'), profileName }),
    ).to.deep.equal(['prod-default_foo_fargate', 'default_prod-control-plane-default_foo_fargate']);
    expect(roleNamesOfCapa({ clusterName, eksClusterName: EksClusterName.of('prod'), profileName })).to.deep.equal([
      'prod-default_foo_fargate',
    ]);
  });

  it('of roles are the same without regard to case', () => {
    expect(isSameRoleName('Pods', 'pODS')).to.equal(true);
    expect(isSameRoleName('pods', 'pod')).to.equal(false);
    expect(isSameRoleName(undefined, 'pods')).to.equal(false);
  });

  it('of EKS clusters default to namespace and name of the control plane', () => {
    expect(defaultEksClusterName('prod-control-plane', 'default')).to.equal('default_prod-control-plane');
  });
});
