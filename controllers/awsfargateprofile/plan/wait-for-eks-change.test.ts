import { expect } from 'chai';
import { ProfileName } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { transitReason } from './replace.ts';
import type { Observed } from '../model/observed-state.ts';
import { newReason } from '../reasons/reasons.ts';
import { HERE, NOW, OWNER_TAG, PROFILE, PROFILE_ID, PROFILE_TAGS, aProfile, observed } from '../testing/builders.ts';
import { type Desires, deleted, living } from '../testing/plan-tables.ts';

describe('transitReason for a profile that is', () => {
  const retaining = deleted({}, { unwanted: 'retain' });
  const inSubnets = (...subnetIDs: readonly string[]): Desires => living({ spec: { subnetIDs } });
  const seen = (status: string, tags: FargateProfile['tags'] = PROFILE_TAGS): Observed =>
    observed({ profile: aProfile({ status, tags }) });
  const OTHER = ProfileName.of('other');
  /** A profile next to the desired one, which is ACTIVE. */
  const beside = (status: string, desired: Partial<FargateProfile> = {}): Observed => ({
    ...seen('ACTIVE'),
    profiles: [aProfile({ name: OTHER, status }), aProfile(desired)],
  });
  const rows: readonly (readonly [string, Desires, Observed, string | undefined])[] = [
    ['being created as desired', living(), seen('CREATING'), 'Creating'],
    ['being created in the subnets of the spec', inSubnets('subnet-0b', 'subnet-0a'), seen('CREATING'), 'Creating'],
    ['being created and differs from the spec', inSubnets('subnet-0f'), seen('CREATING'), 'WaitingForCreate'],
    ['being created and unwanted', deleted(), seen('CREATING'), 'WaitingForCreate'],
    ['being created, with deletionPolicy Retain', retaining, seen('CREATING'), 'Creating'],
    ['being deleted, with deletionPolicy Retain', retaining, seen('DELETING'), 'DeletingProfile'],
    ['being deleted', living(), seen('DELETING'), 'DeletingProfile'],
    ['being deleted and unwanted', deleted(), seen('DELETING'), 'DeletingProfile'],
    ['ACTIVE', living(), seen('ACTIVE'), undefined],
    ['being created and foreign', living(), seen('CREATING', { [OWNER_TAG]: 'team-b/web' }), undefined],
    ['absent', living(), observed(), undefined],
    ['being deleted beside the desired one', living(), beside('DELETING'), undefined],
    ['being created beside the desired one', living(), beside('CREATING'), undefined],
    [
      'being deleted beside one that has the desired name and differs',
      living(),
      beside('DELETING', { selectors: [] }),
      'DeletingProfile',
    ],
  ];
  for (const [situation, desires, world, reason] of rows) {
    it(`${situation}: ${reason ?? 'none'}`, () => expect(transitReason(desires(world), world)?.name).to.equal(reason));
  }

  it('names the profile that is created afterwards, if any', () => {
    const factsOf = (desires: Desires, world: Observed) => transitReason(desires(world), world)?.facts;
    const both = { name: PROFILE, successor: PROFILE };
    expect(factsOf(inSubnets('subnet-0f'), seen('CREATING'))).to.deep.equal(both);
    expect(factsOf(living(), seen('DELETING'))).to.deep.equal(both);
    const creationBlocker = newReason('ClusterDeleting', { what: 'Cluster team-a/prod' });
    const blocked = living({}, {}, { creationBlocker });
    expect(factsOf(blocked, seen('DELETING')), 'nothing may be created').to.deep.equal({ name: PROFILE });
    expect(factsOf(deleted(), seen('DELETING'))).to.deep.equal({ name: PROFILE });
  });

  it('names the profile that serves pods until the one which EKS creates is ACTIVE', () => {
    const replacing = living({
      spec: { profileName: PROFILE, updateStrategy: { type: 'Replace' } },
      record: { in: HERE, profiles: [{ name: OTHER, id: PROFILE_ID, served: true }], last: NOW },
    });
    const world = { ...seen('CREATING'), profiles: [aProfile({ status: 'CREATING' }), aProfile({ name: OTHER })] };
    const reason = transitReason(replacing(world), world);
    expect(reason).to.deep.include({ name: 'Replacing', facts: { name: PROFILE, predecessor: OTHER } });
  });
});
