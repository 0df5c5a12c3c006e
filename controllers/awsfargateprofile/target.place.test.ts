import { expect } from 'chai';
import type { Inputs } from './inputs.ts';
import { goalFor } from './target.ts';
import { ABSENT, RECORDED, found, aControlPlane, aDeletedObject, inputs } from './testing/builders.ts';

describe('the target of a goal', () => {
  const targetOf = (given: Partial<Inputs>) => {
    const goal = goalFor(inputs(given));
    return goal.kind === 'pursue' ? goal.target : goal;
  };

  it('is the control plane’s', () => {
    const identityRef = { kind: 'AWSClusterRoleIdentity', name: 'tenant' } as const;
    expect(targetOf({ controlPlane: found(aControlPlane({ identityRef })) })).to.deep.equal({
      clusterName: 'prod',
      eksCluster: 'team-a_prod-control-plane',
      region: 'eu-west-1',
      identity: identityRef,
    });
  });

  it('has the name that Cluster API Provider AWS gives to a cluster without one', () => {
    const { eksClusterName: _name, ...nameless } = aControlPlane();
    expect(targetOf({ controlPlane: found(nameless) })).to.have.property('eksCluster', 'team-a_prod-control-plane');
  });

  it('of a deletion is where status says, when the control plane now names another', () => {
    const object = aDeletedObject({ status: { ...RECORDED, identityRef: { kind: 'k', name: 'n' } } });
    expect(targetOf({ object, controlPlane: found(aControlPlane({ region: 'eu-north-1' })) })).to.include({
      region: 'eu-west-1',
    });
  });

  it('of a deletion has the identity that the control plane names now', () => {
    const identityRef = { kind: 'AWSClusterRoleIdentity', name: 'renewed' } as const;
    const object = aDeletedObject({
      status: { ...RECORDED, identityRef: { kind: 'AWSClusterRoleIdentity', name: 'former' } },
    });
    expect(targetOf({ object, controlPlane: found(aControlPlane({ identityRef })) })).to.deep.include({
      identity: identityRef,
    });
  });

  it('of a deletion without a control plane has the identity that status names', () => {
    const identityRef = { kind: 'AWSClusterRoleIdentity', name: 'tenant' };
    const object = aDeletedObject({ status: { ...RECORDED, identityRef } });
    expect(targetOf({ object, controlPlane: ABSENT })).to.deep.include({ identity: identityRef });
  });

  it('takes the private subnets and tags of the control plane', () => {
    const controlPlane = aControlPlane({
      additionalTags: { team: 'a' },
      subnets: [
        { id: 'subnet-public', isPublic: true, tags: {} },
        { id: 'placeholder', resourceID: 'subnet-0c', isPublic: false, tags: {} },
      ],
    });
    expect(goalFor(inputs({ controlPlane: found(controlPlane) }))).to.deep.include({
      surroundings: {
        controlPlaneTags: { team: 'a' },
        privateSubnets: ['subnet-0c'],
        controlPlane: { namespace: 'team-a', name: 'prod-control-plane' },
        noCreation: undefined,
      },
    });
  });
});
