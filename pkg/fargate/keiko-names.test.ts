import { expect } from 'chai';
import { EksClusterName } from '../../api/names.ts';
import { keikoNames } from './keiko-names.ts';

const group = { namespace: 'namespace-1', name: 'instancegroup-1' };

describe('keikoNames', () => {
  // The expected name is from a test of keiko's instance-manager, TestCreateProfileName in eksfargate_test.go.
  it('computes the names that keiko computes', () => {
    expect(keikoNames(EksClusterName.of('TestNameCluster'), group)).to.deep.equal({
      profile: 'fargate-TestNameCluster-13281223259712081633',
      role: 'fargate-TestNameCluster-13281223259712081633-role',
    });
  });

  it('has no name of a role that is too long for IAM, and no name of a profile that is too long for EKS', () => {
    const ofLength = (length: number) => keikoNames(EksClusterName.of('c'.repeat(length)), group);
    expect(ofLength(25).role).to.have.length.of.at.most(64);
    expect(ofLength(32)).to.include({ role: undefined });
    expect(ofLength(32).profile).to.match(/^fargate-c{32}-\d+$/);
    expect(ofLength(75)).to.deep.equal({ profile: undefined, role: undefined });
  });
});
