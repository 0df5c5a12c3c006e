import { expect } from 'chai';
import type { ReconcileInputs } from './inputs.ts';
import { goalFor } from './goal.ts';
import { ABSENT, RECORDED, found, aControlPlane, aDeletedObject, inputs } from '../testing/builders.ts';

describe('the target of a goal', () => {
  const targetOf = (given: Partial<ReconcileInputs>) => {
    const goal = goalFor(inputs(given));
    return goal.kind === 'pursue' ? goal.target : goal;
  };

  it('is the region, EKS cluster and identity of the control plane', () => {
    const identityRef = { kind: 'AWSClusterRoleIdentity', name: 'tenant' } as const;
    expect(targetOf({ controlPlane: found(aControlPlane({ identityRef })) })).to.deep.equal({
      clusterName: 'prod',
      eksCluster: 'team-a_prod-control-plane',
      region: 'eu-west-1',
      identity: identityRef,
      controlPlaneUid: 'uid-of-cp',
    });
  });

  it('has the default EKS cluster name of Cluster API Provider AWS for a control plane without a name', () => {
    const { eksClusterName: _name, ...nameless } = aControlPlane();
    expect(targetOf({ controlPlane: found(nameless) })).to.have.property('eksCluster', 'team-a_prod-control-plane');
  });

  it('of a deletion is the region in status if the control plane names another region', () => {
    const object = aDeletedObject({ status: { ...RECORDED, identityRef: { kind: 'k', name: 'n' } } });
    expect(targetOf({ object, controlPlane: found(aControlPlane({ region: 'eu-north-1' })) })).to.include({
      region: 'eu-west-1',
    });
  });

  it('of a deletion has the identity of the control plane', () => {
    const identityRef = { kind: 'AWSClusterRoleIdentity', name: 'renewed' } as const;
    const object = aDeletedObject({
      status: { ...RECORDED, identityRef: { kind: 'AWSClusterRoleIdentity', name: 'former' } },
    });
    expect(targetOf({ object, controlPlane: found(aControlPlane({ identityRef })) })).to.deep.include({
      identity: identityRef,
    });
  });

  it('of a deletion without a control plane has the identity in status', () => {
    const identityRef = { kind: 'AWSClusterRoleIdentity', name: 'tenant' };
    const object = aDeletedObject({ status: { ...RECORDED, identityRef } });
    expect(targetOf({ object, controlPlane: ABSENT })).to.deep.include({ identity: identityRef });
  });

  it('comes with the private subnets and tags of the control plane', () => {
    const controlPlane = aControlPlane({
      additionalTags: { team: 'a' },
      subnets: [
        { id: 'subnet-public', isPublic: true, tags: {} },
        { id: 'placeholder', resourceID: 'subnet-0c', isPublic: false, tags: {} },
      ],
    });
    expect(goalFor(inputs({ controlPlane: found(controlPlane) }))).to.deep.include({
      controlPlaneFacts: {
        controlPlaneTags: { team: 'a' },
        privateSubnets: ['subnet-0c'],
        controlPlane: { namespace: 'team-a', name: 'prod-control-plane' },
        creationBlocker: undefined,
      },
    });
  });
});
