import { expect } from 'chai';
import { RoleName } from '../../../api/names.ts';
import { apply, markRoleInUse } from './apply-outcome.ts';
import { findRole } from '../decide/compare.ts';
import type { Mutation } from '../model/mutation.ts';
import type { Observed } from '../model/observed-state.ts';
import {
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  aProfile,
  aRole,
  asWanted,
  observed,
} from '../testing/builders.ts';

// The property tests in `decide.property.test.ts` check the function `apply` with random inputs, against a simulated
// AWS. The tests of this file cover rules that random inputs may never reach.

const DONE = { kind: 'done' } as const;
const EXTRA = 'arn:aws:iam::111122223333:policy/extra';
const otherCase = RoleName.of(ROLE.toUpperCase());

const profileAfter = (mutation: Mutation, before: Observed = asWanted()) =>
  apply(before, mutation, DONE).profiles[0]?.found;
const roleAfter = (mutation: Mutation, before: Observed = asWanted()) =>
  findRole(apply(before, mutation, DONE).roles, ROLE);

describe('apply', () => {
  it('removes a tag from a role by its key in any case, because IAM ignores the case of tag keys', () => {
    const before = observed({ role: aRole({ tags: { Team: 'a', cost: '7' } }) });
    expect(roleAfter({ kind: 'untagRole', name: ROLE, keys: ['tEAM'] }, before)?.tags).to.deep.equal({ cost: '7' });
  });

  it('replaces the tag of a role whose key differs in case only', () => {
    const before = observed({ role: aRole({ tags: { Team: 'a', cost: '7' } }) });
    expect(roleAfter({ kind: 'tagRole', name: ROLE, tags: { team: 'b' } }, before)?.tags).to.deep.equal({
      team: 'b',
      cost: '7',
    });
  });

  it('distinguishes the tag keys of a profile by case, as EKS does', () => {
    const before = observed({ profile: aProfile({ tags: { Team: 'a', team: 'b' } }) });
    const untag: Mutation = { kind: 'untagProfile', name: PROFILE, arn: aProfile().arn, keys: ['team'] };
    expect(profileAfter(untag, before)?.tags).to.deep.equal({ Team: 'a' });
    const tag: Mutation = { kind: 'tagProfile', name: PROFILE, arn: aProfile().arn, tags: { TEAM: 'c' } };
    expect(profileAfter(tag, before)?.tags).to.deep.equal({ Team: 'a', team: 'b', TEAM: 'c' });
  });

  it('finds a role by its name in any case', () => {
    const attach: Mutation = { kind: 'attachPolicy', name: otherCase, policyArn: EXTRA };
    expect(roleAfter(attach)?.attached).to.deep.equal([POD_EXECUTION_POLICY, EXTRA]);
    expect(findRole(markRoleInUse(asWanted(), otherCase, 'team-a/api').roles, ROLE)?.inUseBy).to.equal('team-a/api');
    expect(apply(asWanted(), { kind: 'deleteRole', name: otherCase }, DONE).roles[0]?.found).to.equal(undefined);
  });

  it('sets a profile to CREATING or DELETING when EKS has accepted its creation or deletion', () => {
    const { cluster, name, podExecutionRoleArn, subnets, selectors } = aProfile();
    const profile = { cluster, name, podExecutionRoleArn, subnets, selectors, tags: PROFILE_TAGS };
    expect(profileAfter({ kind: 'createProfile', profile }, observed())?.status).to.equal('CREATING');
    expect(profileAfter({ kind: 'deleteProfile', name, because: 'unwanted' })?.status).to.equal('DELETING');
  });

  it('removes a profile that vanished before its deletion', () => {
    const deletion: Mutation = { kind: 'deleteProfile', name: PROFILE, because: 'unwanted' };
    expect(apply(asWanted(), deletion, { kind: 'gone' }).profiles).to.deep.equal([{ name: PROFILE, found: undefined }]);
  });

  it('removes all profiles of a missing EKS cluster, and keeps the roles', () => {
    const deletion: Mutation = { kind: 'deleteProfile', name: PROFILE, because: 'unwanted' };
    const after = apply(asWanted(), deletion, { kind: 'clusterGone' });
    expect(after).to.deep.equal({ ...asWanted(), cluster: 'gone', profiles: [{ name: PROFILE, found: undefined }] });
  });

  it('does not change its argument', () => {
    const before = asWanted();
    for (const mutation of [
      { kind: 'detachPolicy', name: ROLE, policyArn: POD_EXECUTION_POLICY, retiring: true },
      { kind: 'tagRole', name: ROLE, tags: { team: 'b' } },
      { kind: 'deleteProfile', name: PROFILE, because: 'unwanted' },
    ] satisfies readonly Mutation[])
      apply(before, mutation, DONE);
    expect(before).to.deep.equal(asWanted());
  });
});
