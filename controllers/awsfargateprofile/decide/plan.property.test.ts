import { expect } from 'chai';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { isAdded, isRecordKey, policyAddition, boundaryAddition } from '../../../pkg/fargate/tags/tag-drift.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { Desired } from '../model/desired-state.ts';
import { type Mutation, subjectOf } from '../model/mutation.ts';
import type { FoundRole } from '../model/observed-state.ts';
import { HERE, OWNER_TAG, POD_EXECUTION_POLICY, ROLE_TAGS } from '../testing/builders.ts';
import { afterEverySimulation, atEveryMutation } from '../testing/environment-generator.ts';
import type { RecordedMutation, SimulatedEnvironment } from '../testing/environment.ts';
import { TRUST_POLICIES, recordTag } from '../testing/fixtures.ts';
import { type SimulatedProfile, type Snapshot, SimulatedAws, roleArnOf } from '../testing/simulated-aws.ts';
import { describeDifferences, findProfile, findRole, ownershipOf } from './compare.ts';
import { plan } from './plan.ts';

// Which state of AWS an object asks for, and which profiles and roles are its own, is known from `Desired` and
// from the tests of pkg/fargate. The rules of this file say that no sequence of events leads the plans astray.

describe('The passes of an object in any environment', () => {
  it('end in order or with a reason to stop', () => {
    afterEverySimulation(({ end }) => expect(end).not.to.have.property('kind', 'endless'));
  });

  it('end in order only when AWS is as desired, and then plan no more changes', () => {
    afterEverySimulation(({ end, plans, aws }) => {
      const { desired, plan: last } = plans.at(-1) ?? {};
      if (end !== 'inOrder' || desired?.wanted === undefined) return;
      expect(last?.changes).to.deep.equal([]);
      const { profile, role } = desired.wanted;
      const observed = aws.observe(desired.names, { forBlockers: () => false });
      const found = findProfile(observed.profiles, profile.name) ?? expect.fail('there is no profile');
      expect(found.status).to.equal('ACTIVE');
      expect(describeDifferences(desired, observed, found)).to.deep.equal([]);
      expect(found.tags).to.include(profile.tags);
      const used = findRole(observed.roles, role.name) ?? expect.fail('there is no role');
      expect(found.podExecutionRoleArn).to.equal(used.arn);
      if (role.kind === 'existing' || !isOurRole(desired, used)) {
        expect(role.kind === 'existing' || role.isNamedInSpec, 'only the spec names a foreign role').to.equal(true);
        expect(used.trust).to.satisfy(trustsFargate);
        return;
      }
      expect(used.path).to.equal(role.path);
      expect(used.trust).to.satisfy(isOwnTrustPolicy);
      expect(used.attached).to.include.members([...role.policies]);
      if (role.permissionsBoundary !== undefined) expect(used.permissionsBoundary).to.equal(role.permissionsBoundary);
      expect(inLowerCase(used.tags)).to.include(inLowerCase(role.tags));
    });
  });

  it('end in order only when the access entry serves the role of the object, or the ConfigMap aws-auth may serve it', () => {
    afterEverySimulation(({ end, plans, environment, aws }) => {
      const desired = plans.at(-1)?.desired;
      if (end !== 'inOrder' || desired?.wanted?.role.kind !== 'managed' || aws.authenticationMode === 'CONFIG_MAP')
        return;
      const role = roleIn(aws, desired.wanted.role.name);
      const isUserResponsible = role?.id === environment.accessEntryRenewedFor;
      if (role === undefined || !isOurRole(desired, role) || isUserResponsible) return;
      const entry = aws.accessEntries.get(role.arn);
      if (entry === undefined) expect(aws.authenticationMode).to.equal('API_AND_CONFIG_MAP');
      else expect(entry.roleId).to.equal(role.id);
    });
  });

  it('delete access entries only of roles of the object that no profile uses, or that the entry does not serve', () => {
    atEveryMutation(({ mutation, desired, observed, awsBefore }) => {
      if (mutation.kind !== 'deleteAccessEntry') return;
      const role = roleIn(awsBefore, mutation.name) ?? expect.fail('the role is gone');
      expect(isOurRole(desired, role), 'our role').to.equal(true);
      const isServed = awsBefore.accessEntries.get(mutation.principal)?.roleId === role.id;
      // Before the controller deletes an access entry to create a profile, it asks EKS for profiles of other owners
      // that use the role. The simulation of this file leaves that check out, so only the object's own profiles count
      // here.
      const isUsedByUs = observed.profiles.some(({ found }) => found?.podExecutionRoleArn === mutation.principal);
      expect(isUsedByUs && isServed, 'used and served').to.equal(false);
    });
  });

  it('leave no access entry of a role that they delete', () => {
    atEveryMutation(({ mutation, outcome, awsBefore }, { aws }) => {
      if (mutation.kind !== 'deleteRole' || outcome.kind !== 'done' || awsBefore.cluster === 'gone') return;
      const role = roleIn(awsBefore, mutation.name) ?? expect.fail('the role is gone');
      const isLeft = awsBefore.accessEntries.has(role.arn) && aws.authenticationMode !== 'CONFIG_MAP';
      expect(isLeft, 'an entry is left').to.equal(false);
    });
  });

  it('leave no profile and no role of the object after its deletion', () => {
    afterEverySimulation(({ end, mode, plans, aws, rolesUsedElsewhere }) => {
      const desired = plans.at(-1)?.desired;
      if (end !== 'inOrder' || mode !== 'delete' || desired === undefined) return;
      for (const name of desired.names.profiles)
        expect(isOurProfile(desired, profileIn(aws, name)), `profile ${name} is left`).to.equal(false);
      for (const name of desired.names.roles) {
        const role = roleIn(aws, name);
        // The controller never deletes the role of spec.roleARN, even if an earlier reconcile created that role.
        const mayStay =
          role === undefined ||
          role.arn === desired.broughtRole ||
          !isOurRole(desired, role) ||
          rolesUsedElsewhere.includes(name.toLowerCase()) ||
          isUsed(role, aws.profiles);
        expect(mayStay, `role ${name} is left`).to.equal(true);
      }
    });
  });

  it('delete what they created, even if an answer was lost or the manager crashed', () => {
    afterEverySimulation(({ end, mode, plans, created, aws: awsAtEnd, rolesUsedElsewhere, environment }) => {
      const desired = plans.at(-1)?.desired;
      if (end !== 'inOrder' || mode !== 'delete' || desired === undefined || isOwnershipRecordRemoved(environment))
        return;
      const aws = awsAtEnd.copy();
      for (let minute = 0; minute < 6; minute++) aws.tick();
      for (const name of created.profiles)
        expect(isOurProfile(desired, profileIn(aws, name)), `profile ${name} is left`).to.equal(false);
      for (const name of created.roles) {
        const role = roleIn(aws, name);
        if (role === undefined || !isOurRole(desired, role) || rolesUsedElsewhere.includes(name)) continue;
        // The controller never deletes the role of spec.roleARN, even if an earlier reconcile created that role.
        if (role.arn !== desired.broughtRole) expect(isUsed(role, aws.profiles), `role ${name} is left`).to.equal(true);
      }
    });
  });

  it('change no foreign profile, other than to adopt it', () => {
    atEveryMutation(({ mutation, mode, desired, observed, awsBefore }) => {
      const profile = isProfileMutation(mutation) ? profileIn(awsBefore, subjectOf(mutation)) : undefined;
      if (profile === undefined || mutation.kind === 'createProfile') return;
      const ownership = ownershipOf(desired, profile);
      if (ownership.kind === 'ours') return;
      expect(mutation.kind, `${profile.name} is foreign`).to.equal('tagProfile');
      const adoptable = { adoptionPolicy: desired.adoptionPolicy, claimed: ownership.claimed, status: profile.status };
      expect(adoptable).to.deep.equal({ adoptionPolicy: 'Always', claimed: false, status: 'ACTIVE' });
      expect(describeDifferences(desired, observed, profile)).to.deep.equal([]);
      if (mutation.kind === 'tagProfile') expect(mutation.tags).to.have.property(OWNER_TAG, 'team-a/web');
      expect(mode).to.equal('live');
    });
  });

  it('change no foreign role', () => {
    atEveryMutation(({ mutation, desired, awsBefore }) => {
      const role = changedRole(mutation, awsBefore);
      if (role !== undefined) expect(isOurRole(desired, role), `${role.name} is foreign`).to.equal(true);
    });
  });

  it('change no role of spec.roleARN, even if an earlier reconcile created that role', () => {
    atEveryMutation(({ mutation, spec, awsBefore }) => {
      const role = changedRole(mutation, awsBefore);
      if (role !== undefined) expect(role.arn, mutation.kind).not.to.equal(spec.roleARN);
    });
  });

  it('remove only tags and policies that the controller added and that the spec does not want', () => {
    atEveryMutation(({ mutation, status, spec, awsBefore }) => {
      const tags = changedTags(mutation, awsBefore);
      if (mutation.kind === 'untagProfile' || mutation.kind === 'untagRole') {
        const isRole = mutation.kind === 'untagRole';
        const wanted = Object.keys(spec.additionalTags ?? {}).map((key) => key.toLowerCase());
        for (const key of mutation.keys.filter((each) => !isRecordKey(each))) {
          expect(isAdded(tags, `tag ${isRole ? key.toLowerCase() : key}`), 'a foreign tag').to.equal(true);
          expect((status.tagKeys ?? []).map((each) => each.toLowerCase())).to.include(key.toLowerCase());
          expect(isRole && wanted.includes(key.toLowerCase()), 'a wanted tag').to.equal(false);
        }
      }
      if (mutation.kind === 'detachPolicy' && !mutation.retiring) {
        expect(isAdded(tags, policyAddition(mutation.policyArn)), 'a foreign policy').to.equal(true);
        expect([POD_EXECUTION_POLICY, ...(spec.roleAdditionalPolicies ?? [])]).not.to.include(mutation.policyArn);
      }
    });
  });

  it('remove only a permissions boundary that the controller put on the role and that the spec does not want', () => {
    atEveryMutation(({ mutation, spec, awsBefore }) => {
      if (mutation.kind !== 'removeBoundary') return;
      const { permissionsBoundary = '', tags = {} } = roleIn(awsBefore, mutation.name) ?? {};
      expect(isAdded(tags, boundaryAddition(permissionsBoundary)), 'a foreign boundary').to.equal(true);
      expect(spec.rolePermissionsBoundary).to.equal(undefined);
    });
  });

  it('record as added only what a spec names, whatever a client writes into status', () => {
    atEveryMutation(({ pass, mutation, awsBefore }, { environment }) => {
      const { controlPlaneTags, events } = environment;
      const changes = events.flatMap((event) =>
        event.kind === 'specChange' && event.before <= pass ? [event.spec] : [],
      );
      const named = [environment.spec, ...changes].flatMap((spec) => [
        ...Object.keys({ ...controlPlaneTags, ...spec.additionalTags })
          .flatMap((key) => [key, key.toLowerCase()])
          .map((key) => `tag ${key}`),
        ...(spec.roleAdditionalPolicies ?? []).map(policyAddition),
        boundaryAddition(`${spec.rolePermissionsBoundary}`),
      ]);
      const known = [...digestsIn(recordTag(...named)), ...digestsIn(changedTags(mutation, awsBefore))];
      for (const digest of digestsIn(tagsIn(mutation))) expect(known).to.include(digest);
    });
  });

  it('put on a role only what the role records as added before', () => {
    atEveryMutation(({ mutation, spec, awsBefore }) => {
      const tags = changedTags(mutation, awsBefore);
      const isRecorded = (addition: string) => expect(isAdded(tags, addition), addition).to.equal(true);
      if (mutation.kind === 'setBoundary') isRecorded(boundaryAddition(mutation.policyArn));
      if (mutation.kind === 'attachPolicy' && mutation.policyArn !== POD_EXECUTION_POLICY)
        isRecorded(policyAddition(mutation.policyArn));
      const set = tagsIn(mutation);
      for (const key of Object.keys(spec.additionalTags ?? {}).filter((each) => set[each] !== undefined)) {
        const addition = `tag ${isProfileMutation(mutation) ? key : key.toLowerCase()}`;
        expect(isAdded({ ...tags, ...set }, addition), key).to.equal(true);
      }
    });
  });

  it('narrow the record of additions in the very pass that removes these, while nothing fails', () => {
    afterEverySimulation(({ mutations, environment: { events, faults, profiles, roles, status } }) => {
      const isAlone = events.every(({ kind }) => kind === 'specChange' || kind === 'controlPlane');
      // A record from before may name an addition that is not there.
      const isOld = profiles.some(({ tags }) => Object.keys(tags).some(isRecordKey));
      if (!isAlone || isOld || faults.some((fault) => fault !== 'none')) return;
      if (roles.length + Object.keys(status).length > 0) return;
      for (const [index, { pass, mutation, awsBefore }] of mutations.entries()) {
        if (mutations[index - 1]?.pass === pass) continue;
        const left = digestsIn({ ...changedTags(mutation, awsBefore), ...tagsIn(mutation) });
        for (const digest of digestsIn(changedTags(mutation, awsBefore))) expect(left).to.include(digest);
      }
    });
  });

  it('leave nothing of an earlier spec on the role, even if an answer was lost or the manager crashed', () => {
    afterEverySimulation(({ end, mode, spec, status, environment, aws }) => {
      const isAlone = environment.events.every(({ kind }) => kind === 'specChange' || kind === 'controlPlane');
      const isFirst = environment.roles.length === 0 && Object.keys(environment.status).length === 0;
      if (end !== 'inOrder' || mode !== 'live' || !isAlone || !isFirst) return;
      const role = roleIn(aws, status.role?.name ?? '');
      if (role === undefined || spec.roleARN !== undefined) return;
      const { roleAdditionalPolicies = [], rolePermissionsBoundary, additionalTags = {} } = spec;
      expect(role.attached).to.have.members([...new Set([POD_EXECUTION_POLICY, ...roleAdditionalPolicies])]);
      expect(role.permissionsBoundary).to.equal(rolePermissionsBoundary);
      const wanted = inLowerCase({ ...environment.controlPlaneTags, ...additionalTags, ...ROLE_TAGS });
      const left = Object.keys(role.tags).filter((key) => !isRecordKey(key) && !(key.toLowerCase() in wanted));
      expect(left).to.deep.equal([]);
    });
  });

  it('delete or strip no role that a profile uses', () => {
    atEveryMutation(({ mutation, desired, awsBefore }, { environment }) => {
      const role = roleIn(awsBefore, retiredRoleName(mutation) ?? '');
      // A profile that EKS does not show yet counts as a user of the role only if the controller can still find the
      // profile by its name in status and by its tags.
      const isKnown = ({ name, hidden }: SimulatedProfile): boolean =>
        desired.names.profiles.some((each) => each === name) &&
        (hidden === 0 || !isOwnershipRecordRemoved(environment));
      const profiles = new Map([...awsBefore.profiles].filter(([, profile]) => isKnown(profile)));
      if (role !== undefined) expect(isUsed(role, profiles), `${role.name} is in use`).to.equal(false);
    });
  });

  it('delete or strip no role that another AWSFargateProfile uses', () => {
    atEveryMutation(({ mutation }, { rolesUsedElsewhere }) => {
      const name = retiredRoleName(mutation);
      if (name !== undefined) expect(rolesUsedElsewhere).not.to.include(name);
    });
  });

  it('create nothing during a deletion or while creation is blocked', () => {
    atEveryMutation(({ mutation, mode, creationBlocker }) => {
      if (mutation.kind !== 'createProfile' && mutation.kind !== 'createRole') return;
      expect(mode).to.equal('live');
      expect(creationBlocker).to.equal(false);
    });
  });

  it('change nothing of an object with deletionPolicy Retain after its deletion', () => {
    atEveryMutation(({ mode }) => expect(mode).not.to.equal('retain'));
  });

  it('delete an ACTIVE profile of a living object only if the controller created it and it never matched the spec', () => {
    atEveryMutation(({ mutation, mode, desired, observed, status, awsBefore }) => {
      if (mutation.kind !== 'deleteProfile' || mode !== 'live') return;
      const profile = profileIn(awsBefore, mutation.name);
      if (profile?.status !== 'ACTIVE' || profile.name !== desired.wanted?.profile.name) return;
      expect(describeDifferences(desired, observed, profile), 'differences').not.to.deep.equal([]);
      expect(status.initialization?.provisioned ?? false, 'provisioned').to.equal(false);
      expect(status.createRequestedAt, 'createRequestedAt').not.to.equal(undefined);
    });
  });

  it('delete no ACTIVE profile that a living object recorded as provisioned, whatever the spec says', () => {
    atEveryMutation(({ mutation, mode, status, awsBefore }) => {
      if (mutation.kind !== 'deleteProfile' || mode !== 'live' || status.initialization?.provisioned !== true) return;
      if (awsBefore.profiles.get(mutation.name)?.status !== 'ACTIVE') return;
      expect(mutation.name).not.to.equal(status.profileName);
    });
  });

  it('wait for a created profile to appear only if its answer or its record was lost', () => {
    afterEverySimulation(({ plans, mutations, environment }) => {
      const isUnconfirmed =
        environment.events.some(({ kind }) => kind === 'statusLost') ||
        (environment.status.account === undefined && environment.provisionedIn === HERE) ||
        mutations.some(({ mutation, fault }) => mutation.kind === 'createProfile' && !isAnswered(fault, mutations)) ||
        (environment.status.createRequestedAt !== undefined && environment.status.profileARN === undefined);
      const waits = plans.filter(
        ({ desired, plan: { end } }) => end !== 'inOrder' && end.name === 'Propagating' && desired.wanted === undefined,
      );
      if (!isUnconfirmed) expect(waits.map(({ desired }) => desired.recorded)).to.deep.equal([]);
    });
  });

  it('create a profile only with a role that exists and is as wanted', () => {
    atEveryMutation(({ mutation, desired, awsBefore }) => {
      if (mutation.kind !== 'createProfile') return;
      const { podExecutionRoleArn } = mutation.profile;
      const used = [...awsBefore.roles.values()].find((each) => roleArnOf(each) === podExecutionRoleArn);
      const role = roleIn(awsBefore, used?.name ?? '') ?? expect.fail('the role does not exist');
      expect(role.trust).to.satisfy(trustsFargate);
      if (desired.broughtRole === undefined && isOurRole(desired, role))
        expect(role.attached).to.include(POD_EXECUTION_POLICY);
    });
  });

  it('create nothing that exists, and change nothing that does not', () => {
    atEveryMutation(({ mutation, outcome, awsBefore }) => {
      const { profiles, roles } = awsBefore;
      if (mutation.kind === 'createRole') expect(roles.has(mutation.role.name.toLowerCase())).to.equal(false);
      if (mutation.kind === 'createProfile') {
        const profile = profiles.get(mutation.profile.name);
        expect(profile === undefined || profile.hidden > 0).to.equal(true);
      }
      expect(outcome.kind).not.to.be.oneOf(['gone', 'notVisible']);
      const isBlocked = mutation.kind === 'deleteRole' && roles.get(mutation.name.toLowerCase())?.inline.length;
      if (outcome.kind === 'failed' && !isBlocked)
        expect(outcome.failure.code).to.be.oneOf(['NoAnswer', 'NotDispatched']);
    });
  });

  it('do not replace a foreign role that the object used by its name and that was deleted', () => {
    atEveryMutation(({ mutation, spec, desired: { recorded } }) => {
      if (mutation.kind !== 'createRole' || spec.roleName === undefined || recorded.isRoleManaged !== false) return;
      expect(recorded.roleName).not.to.equal(mutation.role.name);
    });
  });

  it('create no role for a profile that is foreign or differs from the spec', () => {
    atEveryMutation(({ mutation, desired, observed, awsBefore }) => {
      const profile = profileIn(awsBefore, desired.wanted?.profile.name ?? '');
      if (mutation.kind !== 'createRole' || profile === undefined) return;
      const ownership = ownershipOf(desired, profile);
      const isAdoptable = desired.adoptionPolicy === 'Always' && ownership.kind === 'foreign' && !ownership.claimed;
      expect(ownership.kind === 'ours' || isAdoptable, 'the profile is ours').to.equal(true);
      expect(describeDifferences(desired, observed, profile)).to.deep.equal([]);
    });
  });
});

describe('plan', () => {
  it('is pure: equal arguments give an equal plan, and stay unchanged', () => {
    afterEverySimulation(({ plans }) => {
      for (const { desired, observed, plan: expected } of plans) {
        expect(plan(frozen(structuredClone(desired)), frozen(structuredClone(observed)))).to.deep.equal(expected);
      }
    });
  });
});

/**
 * Whether a random event of the simulation has removed the status or the tags by which the controller finds its AWS
 * resources.
 */
const isOwnershipRecordRemoved = ({ events }: SimulatedEnvironment): boolean =>
  events.some(({ kind }) => kind === 'statusLost' || kind === 'profileTagged' || kind === 'roleChanged');

/**
 * Whether the manager knows the result of a request to AWS: AWS has answered the request, or the manager knows that it
 * did not send the request. A crash makes the manager forget which requests it did not send.
 */
const isAnswered = (fault: RecordedMutation['fault'], mutations: readonly RecordedMutation[]): boolean =>
  fault === 'none' || (fault === 'notSent' && mutations.every((each) => each.fault !== 'crash'));

const isUsed = ({ arn }: FoundRole, profiles: Snapshot['profiles']): boolean =>
  [...profiles.values()].some((profile) => profile.podExecutionRoleArn === arn);

/** Returns the profile as EKS shows it; `undefined` if EKS does not show it. */
const profileIn = (aws: Snapshot, name: string): FargateProfile | undefined =>
  SimulatedAws.from(aws).observe({ profiles: [name], roles: [] }, { forBlockers: () => false }).profiles[0]?.found;

const roleIn = (aws: Snapshot, name: string): FoundRole | undefined =>
  SimulatedAws.from(aws).observe({ profiles: [], roles: [name] }, { forBlockers: () => false }).roles[0]?.found;

const isOurProfile = (desired: Desired, profile: FargateProfile | undefined): boolean =>
  profile !== undefined && ownershipOf(desired, profile).kind === 'ours';

const isOurRole = ({ identity }: Desired, role: FoundRole): boolean => roleOwnership(role, identity).kind === 'ours';

/**
 * Whether the controller writes this trust policy. A comparison of texts is enough, because the simulations use only
 * the policies in {@link TRUST_POLICIES}.
 */
const isOwnTrustPolicy = (trust: string): boolean =>
  trust === TRUST_POLICIES.ours || trust === TRUST_POLICIES.oursReordered;
const trustsFargate = (trust: string): boolean => isOwnTrustPolicy(trust) || trust === TRUST_POLICIES.wide;

const inLowerCase = (tags: Tags): Tags =>
  Object.fromEntries(Object.entries(tags).map(([key, value]) => [key.toLowerCase(), value]));

/** The digests of the additions that the tags of a profile or role record. */
const digestsIn = (tags: Tags): readonly string[] =>
  Object.entries(tags).flatMap(([key, value]) => (isRecordKey(key) ? (value.match(/.{12}/g) ?? []) : []));

const isProfileMutation = ({ kind }: Mutation): boolean =>
  kind === 'createProfile' || kind === 'deleteProfile' || kind === 'tagProfile' || kind === 'untagProfile';

/** The tags of the profile or role that the change concerns, before the change. */
const changedTags = (mutation: Mutation, before: Snapshot): Tags =>
  (isProfileMutation(mutation) ? before.profiles.get(subjectOf(mutation)) : changedRole(mutation, before))?.tags ?? {};

/** The tags that the change sets. */
function tagsIn(mutation: Mutation): Tags {
  if (mutation.kind === 'createProfile') return mutation.profile.tags;
  if (mutation.kind === 'createRole') return mutation.role.tags;
  return mutation.kind === 'tagProfile' || mutation.kind === 'tagRole' ? mutation.tags : {};
}

const changedRole = (mutation: Mutation, before: Snapshot): FoundRole | undefined =>
  mutation.kind === 'createRole' || isProfileMutation(mutation) ? undefined : roleIn(before, subjectOf(mutation));

/**
 * Returns the lower-case name of the role that the change deletes, or from which the change detaches a policy because
 * the role is deleted next.
 */
const retiredRoleName = (mutation: Mutation): string | undefined =>
  mutation.kind === 'deleteRole' || (mutation.kind === 'detachPolicy' && mutation.retiring)
    ? mutation.name.toLowerCase()
    : undefined;

function frozen<A>(value: A): A {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
