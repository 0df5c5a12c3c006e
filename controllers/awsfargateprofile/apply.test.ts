import { expect } from 'chai';
import { RoleName } from '../../api/names.ts';
import { apply, keepRole } from './apply.ts';
import { roleNamed } from './comparison.ts';
import type { Mutation, Observed } from './model.ts';
import {
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  aProfile,
  aRole,
  asWanted,
  observed,
} from './testing/builders.ts';

// That AWS folds its answers in the same way is what the property tests of decide look at; here are the rules of which no
// random world is sure to think.

const DONE = { kind: 'done' } as const;
const EXTRA = 'arn:aws:iam::111122223333:policy/extra';
const otherCase = RoleName.of(ROLE.toUpperCase());

/** What `change` made of the profile, or the role, that are there as wanted. */
const profileAfter = (mutation: Mutation, seen: Observed = asWanted()) =>
  apply(seen, mutation, DONE).profiles[0]?.found;
const roleAfter = (mutation: Mutation, seen: Observed = asWanted()) =>
  roleNamed(apply(seen, mutation, DONE).roles, ROLE);

describe('apply', () => {
  it('takes a tag off a role whatever case its key has: IAM does not tell them apart', () => {
    const seen = observed({ role: aRole({ tags: { Team: 'a', cost: '7' } }) });
    expect(roleAfter({ kind: 'untagRole', name: ROLE, keys: ['tEAM'] }, seen)?.tags).to.deep.equal({ cost: '7' });
  });

  it('puts a tag on a role in the place of the one that differs in case alone', () => {
    const seen = observed({ role: aRole({ tags: { Team: 'a', cost: '7' } }) });
    expect(roleAfter({ kind: 'tagRole', name: ROLE, tags: { team: 'b' } }, seen)?.tags).to.deep.equal({
      team: 'b',
      cost: '7',
    });
  });

  it('tells the keys of a profile apart by case, as EKS does', () => {
    const seen = observed({ profile: aProfile({ tags: { Team: 'a', team: 'b' } }) });
    const untag: Mutation = { kind: 'untagProfile', name: PROFILE, arn: aProfile().arn, keys: ['team'] };
    expect(profileAfter(untag, seen)?.tags).to.deep.equal({ Team: 'a' });
    const tag: Mutation = { kind: 'tagProfile', name: PROFILE, arn: aProfile().arn, tags: { TEAM: 'c' } };
    expect(profileAfter(tag, seen)?.tags).to.deep.equal({ Team: 'a', team: 'b', TEAM: 'c' });
  });

  it('finds a role by its name in any case', () => {
    const attach: Mutation = { kind: 'attachPolicy', name: otherCase, policyArn: EXTRA };
    expect(roleAfter(attach)?.attached).to.deep.equal([POD_EXECUTION_POLICY, EXTRA]);
    expect(roleNamed(keepRole(asWanted(), otherCase, 'somebody').roles, ROLE)?.keep).to.equal('somebody');
    expect(apply(asWanted(), { kind: 'deleteRole', name: otherCase }, DONE).roles[0]?.found).to.equal(undefined);
  });

  it('takes a profile whose creation or deletion was accepted for begun, not for done', () => {
    const { cluster, name, podExecutionRoleArn, subnets, selectors } = aProfile();
    const profile = { cluster, name, podExecutionRoleArn, subnets, selectors, tags: PROFILE_TAGS };
    expect(profileAfter({ kind: 'createProfile', profile }, observed())?.status).to.equal('CREATING');
    expect(profileAfter({ kind: 'deleteProfile', name, because: 'unwanted' })?.status).to.equal('DELETING');
  });

  it('takes a profile that was not there to be deleted for gone', () => {
    const deletion: Mutation = { kind: 'deleteProfile', name: PROFILE, because: 'unwanted' };
    expect(apply(asWanted(), deletion, { kind: 'vanished' }).profiles).to.deep.equal([
      { name: PROFILE, found: undefined },
    ]);
  });

  it('takes all profiles for gone with their cluster, and leaves the roles', () => {
    const deletion: Mutation = { kind: 'deleteProfile', name: PROFILE, because: 'unwanted' };
    const after = apply(asWanted(), deletion, { kind: 'clusterGone' });
    expect(after).to.deep.equal({ ...asWanted(), cluster: 'gone', profiles: [{ name: PROFILE, found: undefined }] });
  });

  it('leaves its argument alone', () => {
    const seen = asWanted();
    for (const mutation of [
      { kind: 'detachPolicy', name: ROLE, policyArn: POD_EXECUTION_POLICY, retiring: true },
      { kind: 'tagRole', name: ROLE, tags: { team: 'b' } },
      { kind: 'deleteProfile', name: PROFILE, because: 'unwanted' },
    ] satisfies readonly Mutation[])
      apply(seen, mutation, DONE);
    expect(seen).to.deep.equal(asWanted());
  });
});
