import { expect } from 'chai';
import { OWNER_TAG } from '../testing/builders.ts';
import { afterEverySimulation } from '../testing/environment-generator.ts';
import {
  expectedProfileName,
  expectedSubnets,
  findDefects,
  hasImmutableFieldsOfSpec,
  isOurProfile,
  withNamesInUse,
} from '../testing/expected-state.ts';

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

  it('is ready only once everything is as desired, or is as desired but for removed owner tags', () => {
    afterEverySimulation(({ end, status, mode, spec, aws }) => {
      // A profile without its owner tag still runs pods, so the object may be ready.
      if (end !== 'inOrder' && 'name' in end && end.name === 'OwnershipTagMissing') {
        if (status.ready === true) expect(findDefects(spec, status, aws)).to.deep.equal([]);
      } else expect(status.ready).to.equal(end === 'inOrder' && mode === 'live');
    });
  });

  it('is ready only in a pass that has seen the profile ACTIVE and its role', () => {
    afterEverySimulation(({ statuses }) => {
      for (const { observed, status } of statuses) {
        if (status.ready !== true || observed === undefined) continue;
        const profile = observed.profiles.find(({ name }) => name === status.profileName)?.found;
        expect(profile?.status).to.equal('ACTIVE');
        const roles = observed.roles.flatMap(({ found }) => (found === undefined || found === 'unread' ? [] : [found]));
        expect(roles.map(({ arn }) => arn)).to.include(profile?.podExecutionRoleArn);
      }
    });
  });

  it('shows what EKS says of the profile, if the profile is ours or has lost its owner tag', () => {
    afterEverySimulation(({ statuses, spec, environment }) => {
      if (environment.events.some(({ kind }) => kind === 'specChange')) return;
      const name = expectedProfileName(spec);
      for (const { observed, steps, status } of statuses) {
        // A change of the pass itself is newer than what the pass has read.
        if (steps.some(({ mutation }) => mutation.kind === 'createProfile' || mutation.kind === 'deleteProfile'))
          continue;
        // While the controller replaces a profile by a profile with another name, status still shows the old profile.
        if (observed === undefined || (status.profileName ?? name) !== name) continue;
        const found = observed.profiles.find((profile) => profile.name === name)?.found;
        const isStripped = found?.tags[OWNER_TAG] === undefined && status.profileARN === found?.arn;
        const ours = found !== undefined && (isOurProfile(found, spec) || isStripped) ? found : undefined;
        const expected = [ours?.status, ours?.arn, ours?.podExecutionRoleArn];
        expect([status.profileStatus, status.profileARN, status.podExecutionRoleARN]).to.deep.equal(expected);
      }
    });
  });

  it('has a True EKSFargateProfileReady only if the profile is as the spec asks for in all immutable fields', () => {
    afterEverySimulation(({ end, mode, spec: asked, status, statuses, aws }) => {
      const isTrue = status.conditions?.some(
        (each) => each.type === 'EKSFargateProfileReady' && each.status === 'True',
      );
      // A reconcile that reads no roles leaves the condition as it is.
      const wasRead = statuses.at(-1)?.observed?.roles.every(({ found }) => found !== 'unread') === true;
      if (isTrue !== true || !wasRead || mode !== 'live' || (end !== 'inOrder' && 'kind' in end)) return;
      const spec = withNamesInUse(asked, status, aws);
      const profile = aws.profiles.get(expectedProfileName(spec)) ?? expect.fail('there is no profile');
      expect(hasImmutableFieldsOfSpec(profile, spec, expectedSubnets(status), aws)).to.equal(true);
    });
  });

  it('does not change once AWS and the object do not change', () => {
    afterEverySimulation(({ status, statusAfterIdlePass }) => expect(statusAfterIdlePass).to.deep.equal(status));
  });
});
