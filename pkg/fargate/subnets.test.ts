import { expect } from 'chai';
import type { ControlPlaneSubnet } from '../../api/external/index.ts';
import { areSubnetsEqual, privateSubnets } from './subnets.ts';

/** Returns the AWS IDs of the private subnets. By default, a subnet is private and has no tags. */
const idsOf = (subnets: readonly Partial<ControlPlaneSubnet>[]) =>
  privateSubnets(subnets.map((subnet) => ({ id: '', isPublic: false, tags: {}, ...subnet })));

describe('Subnets', () => {
  it('have their AWS ID in id or in resourceID', () => {
    expect(idsOf([{ id: 'subnet-1' }, { id: 'prod-subnet-private-a', resourceID: 'subnet-2' }])).to.deep.equal([
      'subnet-1',
      'subnet-2',
    ]);
  });

  it('exclude public subnets, edge zones and secondary CNI subnets', () => {
    expect(
      idsOf([
        { id: 'subnet-public', isPublic: true },
        { id: 'subnet-local', zoneType: 'local-zone' },
        { id: 'subnet-wavelength', zoneType: 'wavelength-zone' },
        { id: 'subnet-secondary', tags: { 'sigs.k8s.io/cluster-api-provider-aws/association': 'secondary' } },
        { id: 'subnet-zone', zoneType: 'availability-zone', isPublic: false, tags: { a: 'b' } },
      ]),
    ).to.deep.equal(['subnet-zone']);
  });

  it('exclude subnets without an AWS ID', () => {
    expect(idsOf([{ id: 'prod-subnet-private-a' }, { id: 'subnet-1' }, {}])).to.deep.equal(['subnet-1']);
  });

  it('are listed once', () => {
    expect(idsOf([{ id: 'subnet-1' }, { id: 'x', resourceID: 'subnet-1' }])).to.deep.equal(['subnet-1']);
  });

  it('are equal as sets', () => {
    expect(areSubnetsEqual(['subnet-1', 'subnet-2'], ['subnet-2', 'subnet-1', 'subnet-1'])).to.equal(true);
    expect(areSubnetsEqual(['subnet-1'], ['subnet-2'])).to.equal(false);
    expect(areSubnetsEqual(['subnet-1'], ['subnet-1', 'subnet-2'])).to.equal(false);
    expect(areSubnetsEqual(['subnet-1', 'subnet-2'], ['subnet-1'])).to.equal(false);
    expect(areSubnetsEqual([], [])).to.equal(true);
  });
});
