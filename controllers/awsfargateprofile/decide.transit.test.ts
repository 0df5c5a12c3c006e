import { expect } from 'chai';
import type { FargateProfile } from '../../pkg/cloud/types.ts';
import { transitOf } from './decide.ts';
import type { Desired, Observed } from './model.ts';
import { why } from './reasons.ts';
import { OWNER_TAG, PROFILE, PROFILE_TAGS, aProfile, desiredOfDeletion, observed } from './testing/builders.ts';
import { living } from './testing/situations.ts';

describe('transitOf', () => {
  const retaining = desiredOfDeletion(undefined, { surplus: 'retain' });
  const profiles = (status: string, tags: FargateProfile['tags'] = PROFILE_TAGS): Observed['profiles'] =>
    observed({ profile: aProfile({ status, tags }) }).profiles;
  const rows: readonly (readonly [string, Desired, Observed['profiles'], string | undefined])[] = [
    ['being created as wanted', living(), profiles('CREATING'), 'Creating'],
    [
      'being created otherwise than wanted',
      living({ subnetIDs: ['subnet-0f'] }),
      profiles('CREATING'),
      'WaitingForCreate',
    ],
    ['being created and unwanted', desiredOfDeletion(), profiles('CREATING'), 'WaitingForCreate'],
    ['being created, and to be retained', retaining, profiles('CREATING'), 'Creating'],
    ['being deleted, though it was to be retained', retaining, profiles('DELETING'), 'DeletingProfile'],
    ['being deleted', living(), profiles('DELETING'), 'DeletingProfile'],
    ['being deleted and unwanted', desiredOfDeletion(), profiles('DELETING'), 'DeletingProfile'],
    ['ACTIVE', living(), profiles('ACTIVE'), undefined],
    ['being created, somebody else’s', living(), profiles('CREATING', { [OWNER_TAG]: 'team-b/web' }), undefined],
    ['not there', living(), observed().profiles, undefined],
  ];
  for (const [situation, desired, seen, reason] of rows) {
    it(`${situation}: ${reason ?? 'none'}`, () => expect(transitOf(desired, seen)?.reason).to.equal(reason));
  }

  it('says what comes after a profile that has to go, if anything', () => {
    const otherwise = { subnetIDs: ['subnet-0f'] };
    expect(transitOf(living(otherwise), profiles('CREATING'))?.facts).to.deep.equal({
      name: PROFILE,
      successor: PROFILE,
    });
    expect(transitOf(living(), profiles('DELETING'))?.facts).to.deep.equal({ name: PROFILE, successor: PROFILE });
    const barred = { ...living(), noCreation: why('ClusterDeleting', { what: 'Cluster team-a/prod' }) };
    expect(transitOf(barred, profiles('DELETING'))?.facts, 'nothing may be created').to.deep.equal({ name: PROFILE });
    expect(transitOf(desiredOfDeletion(), profiles('DELETING'))?.facts).to.deep.equal({ name: PROFILE });
  });
});
