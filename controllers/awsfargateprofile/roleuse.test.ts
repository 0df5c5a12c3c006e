import { expect } from 'chai';
import { isRoleInUse } from './roleuse.ts';
import { ROLE, aDeletedObject, aFailure } from './testing/builders.ts';
import { aSimulatedProfile, aSimulatedRole, awsWith, flightIn, services } from './testing/flight.ts';
import type { SimulatedAws } from './testing/simulated-aws.ts';
import { SHARED, SHARED_ARN } from './testing/situations.ts';

const named = aDeletedObject({ spec: { roleName: SHARED } });
const theirs = aSimulatedProfile({ name: 'theirs', tags: {}, podExecutionRoleArn: SHARED_ARN });

const useOf = (aws: SimulatedAws, object = named, role = SHARED) =>
  isRoleInUse(services().live, flightIn(aws, object), role);

describe('isRoleInUse', () => {
  it('is not, by an object that is alone', async () => {
    expect(await useOf(awsWith(aSimulatedRole({ name: 'shared' })))).to.deep.equal({ kind: 'unused' });
  });

  it('is, by another object', async () => {
    const live = { ...services().live, otherUserOf: async () => 'team-b/api' };
    const flight = flightIn(awsWith(aSimulatedRole({ name: 'shared' })), named);
    expect(await isRoleInUse(live, flight, SHARED)).to.deep.equal({
      kind: 'used',
      by: 'AWSFargateProfile team-b/api',
    });
  });

  it('is, by somebody else’s profile, where the name is known to anybody', async () => {
    const aws = awsWith(aSimulatedRole({ name: 'shared' }), theirs);
    expect(await useOf(aws)).to.deep.equal({ kind: 'used', by: 'Fargate profile "theirs"' });
  });

  it('is not, by a profile with another role', async () => {
    const aws = awsWith(aSimulatedRole({ name: 'shared' }), aSimulatedProfile({ name: 'theirs', tags: {} }));
    expect(await useOf(aws)).to.deep.equal({ kind: 'unused' });
  });

  it('does not look for other profiles where the name is computed', async () => {
    const flight = flightIn(awsWith(aSimulatedRole(), aSimulatedProfile({ name: 'theirs' })), aDeletedObject());
    expect(await isRoleInUse(services().live, flight, ROLE)).to.deep.equal({ kind: 'unused' });
    expect(flight.session.calls).to.deep.equal([]);
  });

  it('does not count the object’s own profile, nor look at it twice', async () => {
    const own = aSimulatedProfile({ podExecutionRoleArn: SHARED_ARN });
    const flight = flightIn(awsWith(aSimulatedRole({ name: 'shared' }), own), named);
    expect(await isRoleInUse(services().live, flight, SHARED)).to.deep.equal({ kind: 'unused' });
    expect(flight.session.calls).to.deep.equal(['ListFargateProfiles']);
  });

  it('is not, in a cluster that is gone', async () => {
    const aws = awsWith(aSimulatedRole({ name: 'shared' }), theirs);
    aws.cluster = 'gone';
    expect(await useOf(aws)).to.deep.equal({ kind: 'unused' });
  });

  it('is not, in a cluster that has gone since', async () => {
    const aws = awsWith(aSimulatedRole({ name: 'shared' }), theirs);
    const flight = flightIn(aws, named);
    aws.cluster = 'gone';
    expect(await isRoleInUse(services().live, flight, SHARED)).to.deep.equal({ kind: 'unused' });
  });

  for (const operation of ['ListFargateProfiles', 'DescribeFargateProfile']) {
    it(`is not known, when ${operation} fails`, async () => {
      const flight = flightIn(awsWith(aSimulatedRole({ name: 'shared' }), theirs), named);
      const denied = aFailure({ operation, code: 'AccessDeniedException', statusCode: 403, message: 'no' });
      flight.session.onCall = (called) => (called === operation ? denied : undefined);
      const use = await isRoleInUse(services().live, flight, SHARED);
      expect(use.kind === 'unknown' && use.why.reason).to.equal('AccessDenied');
    });
  }

  it('takes a profile that has gone between list and look for none', async () => {
    const aws = awsWith(aSimulatedRole({ name: 'shared' }), theirs);
    const flight = flightIn(aws, named);
    flight.session.onCall = (called) => {
      if (called === 'DescribeFargateProfile') aws.profiles.delete('theirs');
      return undefined;
    };
    expect(await isRoleInUse(services().live, flight, SHARED)).to.deep.equal({ kind: 'unused' });
  });
});
