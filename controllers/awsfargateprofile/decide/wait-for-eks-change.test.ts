import { expect } from 'chai';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { transitReason } from './wait-for-eks-change.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { newReason } from '../reasons/reasons.ts';
import { OWNER_TAG, PROFILE, PROFILE_TAGS, aProfile, desiredOfDeletion, observed } from '../testing/builders.ts';
import { desiredFrom } from '../testing/fixtures.ts';

describe('transitReason for a profile that is', () => {
  const retaining = desiredOfDeletion(undefined, { surplus: 'retain' });
  const profiles = (status: string, tags: FargateProfile['tags'] = PROFILE_TAGS): Observed['profiles'] =>
    observed({ profile: aProfile({ status, tags }) }).profiles;
  const rows: readonly (readonly [string, Desired, Observed['profiles'], string | undefined])[] = [
    ['being created as wanted', desiredFrom(), profiles('CREATING'), 'Creating'],
    [
      'being created in the subnets of the spec',
      desiredFrom({ subnetIDs: ['subnet-0b', 'subnet-0a'] }),
      profiles('CREATING'),
      'Creating',
    ],
    [
      'being created and differs from the spec',
      desiredFrom({ subnetIDs: ['subnet-0f'] }),
      profiles('CREATING'),
      'WaitingForCreate',
    ],
    ['being created and unwanted', desiredOfDeletion(), profiles('CREATING'), 'WaitingForCreate'],
    ['being created, with deletionPolicy Retain', retaining, profiles('CREATING'), 'Creating'],
    ['being deleted, with deletionPolicy Retain', retaining, profiles('DELETING'), 'DeletingProfile'],
    ['being deleted', desiredFrom(), profiles('DELETING'), 'DeletingProfile'],
    ['being deleted and unwanted', desiredOfDeletion(), profiles('DELETING'), 'DeletingProfile'],
    ['ACTIVE', desiredFrom(), profiles('ACTIVE'), undefined],
    ['being created and foreign', desiredFrom(), profiles('CREATING', { [OWNER_TAG]: 'team-b/web' }), undefined],
    ['absent', desiredFrom(), observed().profiles, undefined],
  ];
  for (const [situation, desired, seen, reason] of rows) {
    it(`${situation}: ${reason ?? 'none'}`, () => expect(transitReason(desired, seen)?.name).to.equal(reason));
  }

  it('names the profile that is created afterwards, if any', () => {
    const otherwise = { subnetIDs: ['subnet-0f'] };
    expect(transitReason(desiredFrom(otherwise), profiles('CREATING'))?.facts).to.deep.equal({
      name: PROFILE,
      successor: PROFILE,
    });
    expect(transitReason(desiredFrom(), profiles('DELETING'))?.facts).to.deep.equal({
      name: PROFILE,
      successor: PROFILE,
    });
    const blocked = {
      ...desiredFrom(),
      creationBlocker: newReason('ClusterDeleting', { what: 'Cluster team-a/prod' }),
    };
    expect(transitReason(blocked, profiles('DELETING'))?.facts, 'nothing may be created').to.deep.equal({
      name: PROFILE,
    });
    expect(transitReason(desiredOfDeletion(), profiles('DELETING'))?.facts).to.deep.equal({ name: PROFILE });
  });
});
