import { expect } from 'chai';
import { accessEntryUnused } from './checks.ts';
import { readRoleUsage } from './role-usage.ts';
import { newReason } from '../../reasons/reasons.ts';
import { ROLE, aDeletedObject, aFailure } from '../../testing/builders.ts';
import {
  aSimulatedProfile,
  aSimulatedRole,
  awsWith,
  passStateFor,
  newServices,
  roleUsers,
} from '../../testing/pass-state.ts';
import type { SimulatedAws } from '../../testing/simulated-aws.ts';
import { DELETE_ACCESS_ENTRY } from '../../testing/mutations.ts';
import { SHARED_ROLE_NAME, SHARED_ROLE_ARN } from '../../testing/fixtures.ts';

const named = aDeletedObject({ spec: { roleName: SHARED_ROLE_NAME } });
const theirs = aSimulatedProfile({ name: 'theirs', tags: {}, podExecutionRoleArn: SHARED_ROLE_ARN });

const usageOf = (aws: SimulatedAws, object = named, role = SHARED_ROLE_NAME) =>
  readRoleUsage(newServices().live, passStateFor(aws, object), role);

describe('readRoleUsage', () => {
  it('reports a role that no other object names as unused', async () => {
    expect(await usageOf(awsWith(aSimulatedRole({ name: 'shared' })))).to.deep.equal({ kind: 'unused' });
  });

  it('reports another object that names the role', async () => {
    const live = { ...newServices().live, readRoleUsers: async () => roleUsers('team-b/api') };
    const pass = passStateFor(awsWith(aSimulatedRole({ name: 'shared' })), named);
    expect(await readRoleUsage(live, pass, SHARED_ROLE_NAME)).to.deep.equal({
      kind: 'used',
      by: 'AWSFargateProfile team-b/api',
    });
  });

  it('reports a foreign Fargate profile that uses a role named in spec', async () => {
    const aws = awsWith(aSimulatedRole({ name: 'shared' }), theirs);
    expect(await usageOf(aws)).to.deep.equal({ kind: 'used', by: 'Fargate profile "theirs"' });
  });

  it('ignores a profile with another role', async () => {
    const aws = awsWith(aSimulatedRole({ name: 'shared' }), aSimulatedProfile({ name: 'theirs', tags: {} }));
    expect(await usageOf(aws)).to.deep.equal({ kind: 'unused' });
  });

  it('reports a foreign Fargate profile that uses a role with a computed name', async () => {
    const aws = awsWith(aSimulatedRole(), aSimulatedProfile({ name: 'theirs', tags: {} }));
    expect(await usageOf(aws, aDeletedObject(), ROLE)).to.deep.equal({ kind: 'used', by: 'Fargate profile "theirs"' });
  });

  it('does not read a profile of which another object says that it uses another role', async () => {
    const live = { ...newServices().live, readRoleUsers: async () => roleUsers(undefined, 'theirs') };
    const pass = passStateFor(awsWith(aSimulatedRole(), aSimulatedProfile({ name: 'theirs' })), aDeletedObject());
    expect(await readRoleUsage(live, pass, ROLE)).to.deep.equal({ kind: 'unused' });
    expect(pass.session.calls).to.deep.equal(['ListFargateProfiles']);
  });

  it('ignores the profile of the object, and does not read it again', async () => {
    const own = aSimulatedProfile({ podExecutionRoleArn: SHARED_ROLE_ARN });
    const pass = passStateFor(awsWith(aSimulatedRole({ name: 'shared' }), own), named);
    expect(await readRoleUsage(newServices().live, pass, SHARED_ROLE_NAME)).to.deep.equal({ kind: 'unused' });
    expect(pass.session.calls).to.deep.equal(['ListFargateProfiles']);
  });

  it('reports a role as unused when the EKS cluster is gone', async () => {
    const aws = awsWith(aSimulatedRole({ name: 'shared' }), theirs);
    aws.cluster = 'gone';
    expect(await usageOf(aws)).to.deep.equal({ kind: 'unused' });
  });

  it('reports a role as unused when the EKS cluster has disappeared since the observation', async () => {
    const aws = awsWith(aSimulatedRole({ name: 'shared' }), theirs);
    const pass = passStateFor(aws, named);
    aws.cluster = 'gone';
    expect(await readRoleUsage(newServices().live, pass, SHARED_ROLE_NAME)).to.deep.equal({ kind: 'unused' });
  });

  for (const operation of ['ListFargateProfiles', 'DescribeFargateProfile']) {
    it(`reports that the usage is unknown when ${operation} fails`, async () => {
      const pass = passStateFor(awsWith(aSimulatedRole({ name: 'shared' }), theirs), named);
      const denied = aFailure({ operation, code: 'AccessDeniedException', statusCode: 403, message: 'no' });
      pass.session.onCall = (called) => (called === operation ? denied : undefined);
      const usage = await readRoleUsage(newServices().live, pass, SHARED_ROLE_NAME);
      expect(usage).to.have.nested.property('reason.name', 'AccessDenied');
    });

    it(`ends the reconcile without a report when the manager stops ${operation}`, async () => {
      const pass = passStateFor(awsWith(aSimulatedRole({ name: 'shared' }), theirs), named);
      const stopped = aFailure({ operation, code: 'NotDispatched', message: 'the lease runs out' });
      pass.session.onCall = (called) => (called === operation ? stopped : undefined);
      expect(await readRoleUsage(newServices().live, pass, SHARED_ROLE_NAME)).to.deep.equal({
        kind: 'unknown',
        reason: newReason('NotNow', { because: 'the lease runs out' }),
      });
    });
  }

  it('ignores a profile that disappears between list and read', async () => {
    const aws = awsWith(aSimulatedRole({ name: 'shared' }), theirs);
    const pass = passStateFor(aws, named);
    pass.session.onCall = (called) => {
      if (called === 'DescribeFargateProfile') aws.profiles.delete('theirs');
      return undefined;
    };
    expect(await readRoleUsage(newServices().live, pass, SHARED_ROLE_NAME)).to.deep.equal({ kind: 'unused' });
  });
});

describe('accessEntryUnused', () => {
  const usageWith = (...roles: readonly ReturnType<typeof aSimulatedRole>[]) => {
    const aws = awsWith(aSimulatedProfile({ name: 'theirs', tags: {} }), ...roles);
    return accessEntryUnused()({ ...DELETE_ACCESS_ENTRY, because: 'profileCreation' }, passStateFor(aws));
  };

  it('keeps the entry while another live profile uses the ARN of the role, also if the role has to be made anew', async () => {
    expect(await usageWith(aSimulatedRole())).to.deep.equal({ kind: 'keep', by: 'Fargate profile "theirs"' });
    expect(await usageWith()).to.deep.equal({ kind: 'keep', by: 'Fargate profile "theirs"' });
  });
});
