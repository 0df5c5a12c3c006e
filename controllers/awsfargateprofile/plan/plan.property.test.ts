import { expect } from 'chai';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { boundaryAddition, isAdded, isAddedTagKey, policyAddition } from '../../../pkg/fargate/tags/tag-drift.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import { profileIdOf } from '../../shared/record.ts';
import { type Mutation, subjectOf } from '../model/change.ts';
import { type FoundRole, findProfile, findRole } from '../model/observed-state.ts';
import { ownershipOf } from '../model/owner.ts';
import { NOW, OWNER_TAG, POD_EXECUTION_POLICY } from '../testing/builders.ts';
import { recordTag } from '../testing/fixtures.ts';
import { describePlan } from '../testing/mutations.ts';
import { type Planned, POLICY, TAG, forEachPlan, planFor } from '../testing/plan-situations.ts';
import { describeDifferences } from './compare.ts';
import { plan } from './plan.ts';

// A plan depends only on the object and on what AWS shows, so plans for random situations show what the controller may
// do.

const HOUR = 60 * 60_000;
const mutationsOf = (planned: Planned): readonly Mutation[] =>
  [...planned.plan.changes, ...planned.plan.leftovers].map(({ mutation }) => mutation);
const forEachMutation = (check: (mutation: Mutation, planned: Planned) => void): void =>
  forEachPlan((planned) => mutationsOf(planned).forEach((mutation) => check(mutation, planned)));

const isProfileMutation = ({ kind }: Mutation): boolean => kind.endsWith('Profile');
const changedProfile = (mutation: Mutation, { seen }: Planned): FargateProfile | undefined =>
  isProfileMutation(mutation) ? findProfile(seen.profiles, subjectOf(mutation)) : undefined;
const changedRole = (mutation: Mutation, { seen }: Planned): FoundRole | undefined =>
  isProfileMutation(mutation)
    ? undefined
    : seen.roles.map(({ name }) => findRole(seen.roles, name)).find((role) => role?.name === subjectOf(mutation));
const tagsBefore = (mutation: Mutation, planned: Planned): Tags =>
  (changedProfile(mutation, planned) ?? changedRole(mutation, planned))?.tags ?? {};
const isOurs = ({ desired }: Planned, found: FargateProfile): boolean => ownershipOf(desired, found).kind === 'ours';
const entryOf = ({ desired }: Planned, { arn }: FargateProfile) =>
  desired.record.profiles.find(({ id }) => id === profileIdOf(arn));

function tagsIn(mutation: Mutation): Tags {
  if (mutation.kind === 'createProfile') return mutation.profile.tags;
  if (mutation.kind === 'createRole') return mutation.role.tags;
  return mutation.kind === 'tagProfile' || mutation.kind === 'tagRole' ? mutation.tags : {};
}

const digestsIn = (tags: Tags): readonly string[] =>
  Object.entries(tags).flatMap(([key, value]) => (isAddedTagKey(key) ? (value.match(/.{12}/g) ?? []) : []));

describe('Plans for random situations', () => {
  it('never change a foreign profile, except to adopt it', () => {
    forEachMutation((mutation, planned) => {
      const { desired, seen } = planned;
      const profile = changedProfile(mutation, planned);
      if (profile === undefined || isOurs(planned, profile)) return;
      expect(mutation.kind, 'to adopt').to.equal('tagProfile');
      expect([desired.identity.adoptionPolicy, profile.status, profile.tags[OWNER_TAG]]).to.deep.equal([
        'Always',
        'ACTIVE',
        undefined,
      ]);
      expect(describeDifferences(desired, seen, profile)).to.deep.equal([]);
      expect(planned.isDeleted).to.equal(false);
      expect(tagsIn(mutation)).to.have.property(OWNER_TAG, 'team-a/web');
    });
  });

  it('never change a foreign role', () => {
    forEachMutation((mutation, planned) => {
      const role = changedRole(mutation, planned);
      if (role === undefined || mutation.kind === 'createRole') return;
      expect(roleOwnership(role, planned.desired.identity).kind, mutation.kind).to.equal('ours');
      expect(role.arn, 'the role of spec.roleARN').not.to.equal(planned.object.spec.roleARN);
    });
  });

  it('change nothing while another record of the object has made a profile', () => {
    forEachPlan((planned) => {
      if (planned.desired.elsewhere.length === 0) return;
      expect(describePlan(planned.plan)).to.equal('stop: ManagedElsewhere');
    });
  });

  it('delete a profile of a live object only for a reason that AWS and the record prove', () => {
    forEachMutation((mutation, planned) => {
      const { desired, seen, isDeleted, object } = planned;
      if (mutation.kind !== 'deleteProfile' || isDeleted) return;
      const profile = findProfile(seen.profiles, mutation.name) ?? expect.fail('there is no such profile');
      if (profile.status === 'CREATE_FAILED' || profile.status === 'DELETE_FAILED') return;
      const active = seen.profiles.filter((each) => each.status === 'ACTIVE' && isOurs(planned, each));
      const since = active
        .filter((each) => each !== profile && describeDifferences(desired, seen, each).length === 0)
        .flatMap((each) => entryOf(planned, each)?.activeSince ?? []);
      if (mutation.because === 'replaced') {
        expect(
          since.some((time) => time <= NOW - 30_000),
          'the desired profile has been ACTIVE',
        ).to.equal(true);
        return;
      }
      expect(entryOf(planned, profile), 'the record has the profile').to.include({ name: profile.name });
      expect(entryOf(planned, profile)?.served, 'the profile has never served').to.equal(undefined);
      if (object.spec.updateStrategy?.type === 'Replace') {
        expect(planned.isQuotaExceeded, 'EKS is full').to.equal(true);
        expect(active.filter((each) => each !== profile).length + Number(profile.status !== 'ACTIVE')).to.be.above(0);
        return;
      }
      expect(NOW - (profile.createdAt ?? 0)).to.be.below(HOUR);
      const isNamed = profile.name === desired.profile?.name;
      expect(isNamed && describeDifferences(desired, seen, profile).length === 0, 'it is as desired').to.equal(false);
    });
  });

  it('do not depend on what a client writes into status, apart from initialization.provisioned', () => {
    forEachPlan((planned) => {
      const { initialization } = planned.object.status ?? {};
      const object = { ...planned.object, status: initialization === undefined ? {} : { initialization } };
      const without = planFor({ ...planned, object });
      expect(without && describePlan(without.plan)).to.equal(describePlan(planned.plan));
      expect(without && mutationsOf(without)).to.deep.equal(mutationsOf(planned));
    });
  });

  it('remove only tags and policies that the controller added and that the spec does not request', () => {
    forEachMutation((mutation, planned) => {
      const tags = tagsBefore(mutation, planned);
      const { additionalTags = {}, roleAdditionalPolicies = [] } = planned.object.spec;
      if (mutation.kind === 'untagProfile' || mutation.kind === 'untagRole')
        for (const key of mutation.keys.filter((each) => !isAddedTagKey(each))) {
          expect(isAdded(tags, `tag ${key}`), 'a foreign tag').to.equal(true);
          expect(additionalTags, 'a desired tag').not.to.have.property(key);
        }
      if (mutation.kind === 'detachPolicy' && !mutation.retiring) {
        expect(isAdded(tags, policyAddition(mutation.policyArn)), 'a foreign policy').to.equal(true);
        expect([POD_EXECUTION_POLICY, ...roleAdditionalPolicies]).not.to.include(mutation.policyArn);
      }
    });
  });

  it('remove a permissions boundary only if the controller added it and the spec does not request one', () => {
    forEachMutation((mutation, planned) => {
      if (mutation.kind !== 'removeBoundary') return;
      const { permissionsBoundary = '', tags = {} } = changedRole(mutation, planned) ?? {};
      expect(isAdded(tags, boundaryAddition(permissionsBoundary)), 'a foreign boundary').to.equal(true);
      expect(planned.object.spec.rolePermissionsBoundary).to.equal(undefined);
    });
  });

  it('record only additions that a spec requests, regardless of what a client writes into status', () => {
    forEachMutation((mutation, planned) => {
      const { additionalTags, roleAdditionalPolicies = [], rolePermissionsBoundary } = planned.object.spec;
      const named = recordTag(
        ...(additionalTags === undefined ? [] : [`tag ${TAG}`]),
        ...roleAdditionalPolicies.map(policyAddition),
        ...(rolePermissionsBoundary === undefined ? [] : [boundaryAddition(rolePermissionsBoundary)]),
      );
      const known = [...digestsIn(named), ...digestsIn(tagsBefore(mutation, planned))];
      for (const digest of digestsIn(tagsIn(mutation))) expect(known).to.include(digest);
    });
  });

  it('put a policy or boundary on a role only after the role records it', () => {
    forEachPlan((planned) => {
      const set: Tags[] = [];
      for (const mutation of mutationsOf(planned)) {
        const tags = set.reduce<Tags>((all, each) => ({ ...all, ...each }), tagsBefore(mutation, planned));
        if (mutation.kind === 'attachPolicy' && mutation.policyArn === POLICY)
          expect(isAdded(tags, policyAddition(POLICY))).to.equal(true);
        if (mutation.kind === 'setBoundary') expect(isAdded(tags, boundaryAddition(mutation.policyArn))).to.equal(true);
        if (!isProfileMutation(mutation)) set.push(tagsIn(mutation));
      }
    });
  });

  it('never delete a role that a profile uses, or detach its policies to delete it', () => {
    forEachMutation((mutation, planned) => {
      const isRetiring = mutation.kind === 'deleteRole' || (mutation.kind === 'detachPolicy' && mutation.retiring);
      const role = isRetiring ? changedRole(mutation, planned) : undefined;
      if (role === undefined) return;
      const users = planned.seen.profiles.filter(({ podExecutionRoleArn }) => podExecutionRoleArn === role.arn);
      expect(users).to.deep.equal([]);
    });
  });

  it('create nothing during a deletion or while creation is blocked, and nothing that exists', () => {
    forEachMutation((mutation, planned) => {
      if (mutation.kind !== 'createProfile' && mutation.kind !== 'createRole') return;
      expect([planned.isDeleted, planned.isBlocked]).to.deep.equal([false, false]);
      expect(changedProfile(mutation, planned)).to.equal(undefined);
      const isMadeAgain = mutationsOf(planned).some(({ kind }) => kind === 'deleteRole');
      if (!isMadeAgain) expect(changedRole(mutation, planned)).to.equal(undefined);
    });
  });

  it('are pure: equal arguments give an equal plan, and stay unchanged', () => {
    forEachPlan(({ desired, seen, plan: expected }) => {
      expect(plan(frozen(structuredClone(desired)), frozen(structuredClone(seen)))).to.deep.equal(expected);
    });
  });
});

function frozen<A>(value: A): A {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
