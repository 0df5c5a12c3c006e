import { expect } from 'chai';
import { OWNER_TAG } from '../testing/builders.ts';
import { afterEverySimulation } from '../testing/environment-generator.ts';
import { describeDifferences, findProfile, ownershipOf } from './compare.ts';

describe('The status of an object in any environment', () => {
  it('has at most one of Reconciling and Stalled, and Ready only without Stalled or while an owner tag is missing', () => {
    afterEverySimulation(({ statuses }) => {
      for (const { status } of statuses) {
        const isTrue = (type: string): boolean =>
          status.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
        expect(isTrue('Reconciling') && isTrue('Stalled')).to.equal(false);
        const isTagMissing = status.conditions?.some(({ reason }) => reason === 'OwnershipTagMissing') ?? false;
        expect(isTrue('Ready') && isTrue('Stalled') && !isTagMissing).to.equal(false);
        expect(status.ready).to.equal(isTrue('Ready'));
      }
    });
  });

  it('is ready only once everything is as desired, or works without its owner tags', () => {
    afterEverySimulation(({ end, status, statuses, mode }) => {
      const { profile, role } = statuses.at(-1)?.facts?.plan ?? {};
      const isStripped = end !== 'inOrder' && 'name' in end && end.name === 'OwnershipTagMissing';
      // A profile without its owner tag still runs pods, so the object may be ready.
      if (isStripped) expect(status.ready === true && (profile === 'broken' || role === 'broken')).to.equal(false);
      else expect(status.ready).to.equal(end === 'inOrder' && mode === 'live');
    });
  });

  it('is ready only in a pass that has seen the profile ACTIVE and its role', () => {
    afterEverySimulation(({ statuses }) => {
      for (const { facts: { observed } = {}, status } of statuses) {
        if (status.ready !== true || observed === undefined) continue;
        const profile = observed.profiles.find(({ name }) => name === status.profileName)?.found;
        expect(profile?.status).to.equal('ACTIVE');
        const roles = observed.roles.flatMap(({ found }) => (found === undefined || found === 'unread' ? [] : [found]));
        expect(roles.map(({ arn }) => arn)).to.include(profile?.podExecutionRoleArn);
      }
    });
  });

  it('shows what EKS says of the profile, if the profile is ours or has lost its owner tag', () => {
    afterEverySimulation(({ statuses, environment }) => {
      if (environment.events.some(({ kind }) => kind === 'specChange')) return;
      for (const { facts, steps, status } of statuses) {
        // A change of the pass itself is newer than what the pass has read.
        if (steps.some(({ mutation }) => mutation.kind === 'createProfile' || mutation.kind === 'deleteProfile'))
          continue;
        if (facts === undefined) continue;
        const { desired, observed, plan } = facts;
        // Status keeps a profile without its tags, also when the name on record then belongs to another profile.
        const stop = plan.end !== 'inOrder' && plan.end.name === 'OwnershipTagMissing' ? plan.end : undefined;
        const isProfile = stop?.facts.resource === 'Fargate profile';
        const name = isProfile ? stop.facts.name : desired.identity.profileName;
        // While the controller replaces a profile by a profile with another name, status still shows the old profile.
        if ((status.profileName ?? name) !== name) continue;
        const found = findProfile(observed.profiles, name);
        const isStripped = found?.tags[OWNER_TAG] === undefined && status.profileARN === found?.arn;
        const ours = found && (ownershipOf(desired, found).kind === 'ours' || isStripped) ? found : undefined;
        const expected = [ours?.status, ours?.arn, ours?.podExecutionRoleArn];
        expect([status.profileStatus, status.profileARN, status.podExecutionRoleARN]).to.deep.equal(expected);
      }
    });
  });

  it('has a True EKSFargateProfileReady only if the profile is as the spec asks for in all immutable fields', () => {
    afterEverySimulation(({ end, mode, status, statuses, aws }) => {
      const isTrue = status.conditions?.some(
        (each) => each.type === 'EKSFargateProfileReady' && each.status === 'True',
      );
      const { desired, observed: read } = statuses.at(-1)?.facts ?? {};
      // A reconcile that reads no roles leaves the condition as it is.
      const wasRead = read?.roles.every(({ found }) => found !== 'unread') === true;
      if (isTrue !== true || !wasRead || mode !== 'live' || (end !== 'inOrder' && 'kind' in end)) return;
      if (desired === undefined) return;
      const observed = aws.observe(desired.names, { forBlockers: () => false });
      const found = findProfile(observed.profiles, desired.identity.profileName) ?? expect.fail('there is no profile');
      expect(describeDifferences(desired, observed, found)).to.deep.equal([]);
    });
  });

  it('does not change once AWS and the object do not change', () => {
    afterEverySimulation(({ status, statusAfterIdlePass }) => expect(statusAfterIdlePass).to.deep.equal(status));
  });
});
