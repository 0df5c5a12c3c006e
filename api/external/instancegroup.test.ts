import { expect } from 'chai';
import { isFargateGroup } from './instancegroup.ts';

describe('isFargateGroup', () => {
  it('recognizes the provisioner in any case, and no other provisioner', () => {
    for (const provisioner of ['eks-fargate', 'EKS-Fargate'])
      expect(isFargateGroup({ spec: { provisioner } }), provisioner).to.equal(true);
    for (const provisioner of ['eks', 'eks-managed', '', 7, undefined])
      expect(isFargateGroup({ spec: { provisioner } }), String(provisioner)).to.equal(false);
    expect(isFargateGroup({})).to.equal(false);
  });
});
