import { expect } from 'chai';
import type { Mutation } from '../model/mutation.ts';
import { subjectOf } from '../model/mutation.ts';
import { HERE, OWNER_TAG, POD_EXECUTION_POLICY, ROLE_TAGS } from '../testing/builders.ts';
import { afterEverySimulation, atEveryMutation } from '../testing/environment-generator.ts';
import type { RecordedMutation, SimulatedEnvironment } from '../testing/environment.ts';
import {
  ADDED_TAG,
  digestOf,
  expectedProfileName,
  expectedRole,
  expectedSubnets,
  findDeviations,
  hasImmutableFieldsOfSpec,
  isAdoptable,
  isOnRecord,
  isOurProfile,
  isOurRole,
  isStopJustified,
  possibleRoleNames,
  recordedDigests,
  trustsFargate,
  withNamesInUse,
} from '../testing/expected-state.ts';
import type { SimulatedProfile, SimulatedRole, Snapshot } from '../testing/simulated-aws.ts';
import { SimulatedAws, roleArnOf } from '../testing/simulated-aws.ts';
import { plan } from './plan.ts';

describe('The passes of an object in any environment', () => {
  it('end in order or with a reason to stop', () => {
    afterEverySimulation(({ end }) => expect(end).not.to.have.property('kind', 'endless'));
  });

  it('end in order only when AWS is as desired', () => {
    afterEverySimulation(({ end, mode, spec, status, environment, aws }) => {
      if (end !== 'inOrder' || mode !== 'live') return;
      const { controlPlaneTags } = environment;
      const expected = {
        spec: withNamesInUse(spec, status, aws),
        privateSubnets: expectedSubnets(status),
        controlPlaneTags,
      };
      expect(findDeviations(expected, aws)).to.deep.equal([]);
    });
  });

  it('end in order only when the access entry serves the role of the object, or the ConfigMap aws-auth may serve it', () => {
    afterEverySimulation(({ end, mode, spec: asked, status, environment, aws }) => {
      if (end !== 'inOrder' || mode !== 'live' || aws.authenticationMode === 'CONFIG_MAP') return;
      const spec = withNamesInUse(asked, status, aws);
      const role = aws.roles.get(expectedRole(spec, aws).name.toLowerCase());
      const isUserResponsible = role?.id === environment.accessEntryRenewedFor;
      if (role === undefined || spec.roleARN !== undefined || !isOurRole(role, spec) || isUserResponsible) return;
      const entry = aws.accessEntries.get(roleArnOf(role));
      if (entry === undefined) expect(aws.authenticationMode).to.equal('API_AND_CONFIG_MAP');
      else expect(entry.roleId).to.equal(role.id);
    });
  });

  it('delete access entries only of roles of the object that no profile uses, or that the entry does not serve', () => {
    atEveryMutation(({ mutation, spec, observed, awsBefore }) => {
      if (mutation.kind !== 'deleteAccessEntry') return;
      const role = awsBefore.roles.get(mutation.name.toLowerCase()) ?? expect.fail('the role is gone');
      expect(isOurRole(role, spec), 'our role').to.equal(true);
      const isServed = awsBefore.accessEntries.get(mutation.principal)?.roleId === role.id;
      // Before the controller deletes an access entry to create a profile, it asks EKS for profiles of other owners
      // that use the role. The simulation of this file leaves that check out, so only the object's own profiles count
      // here.
      const isUsed = observed.profiles.some(({ found }) => found?.podExecutionRoleArn === mutation.principal);
      expect(isUsed && isServed, 'used and served').to.equal(false);
    });
  });

  it('leave no access entry of a role that they delete', () => {
    atEveryMutation(({ mutation, outcome, awsBefore }, { aws }) => {
      if (mutation.kind !== 'deleteRole' || outcome.kind !== 'done' || awsBefore.cluster === 'gone') return;
      const role = awsBefore.roles.get(mutation.name.toLowerCase()) ?? expect.fail('the role is gone');
      const isLeft = awsBefore.accessEntries.has(roleArnOf(role)) && aws.authenticationMode !== 'CONFIG_MAP';
      expect(isLeft, 'an entry is left').to.equal(false);
    });
  });

  it('stop only for a reason that is true', () => {
    afterEverySimulation((result) => {
      const { end } = result;
      if (end === 'inOrder' || !('name' in end)) return;
      expect(isStopJustified(end, result), `${end.name} ${JSON.stringify(end.facts)}`).to.equal(true);
    });
  });

  it('leave no profile and no role of the object after its deletion', () => {
    afterEverySimulation(({ end, mode, spec, plans, aws, rolesUsedElsewhere }) => {
      const recorded = plans.at(-1)?.desired.recorded;
      if (end !== 'inOrder' || mode !== 'delete' || recorded === undefined) return;
      for (const name of [expectedProfileName(spec), recorded.profileName]) {
        const profile = name === undefined ? undefined : aws.profiles.get(name);
        expect(profile !== undefined && isOurProfile(profile, spec), `profile ${name} is left`).to.equal(false);
      }
      const ownRole = recorded.isRoleManaged === false ? undefined : recorded.roleName;
      const names = possibleRoleNames(spec);
      for (const name of ownRole === undefined ? names : [...names.slice(0, 1), ownRole]) {
        const role = aws.roles.get(name.toLowerCase());
        // The controller never deletes the role of spec.roleARN, even if an earlier reconcile created that role.
        if (role === undefined || roleArnOf(role) === spec.roleARN) continue;
        const mayStay =
          !isOurRole(role, spec) || rolesUsedElsewhere.includes(role.name.toLowerCase()) || isUsed(role, aws.profiles);
        expect(mayStay, `role ${name} is left`).to.equal(true);
      }
    });
  });

  it('delete what they created, even if an answer was lost or the manager crashed', () => {
    afterEverySimulation(({ end, mode, spec, created, aws: awsAtEnd, rolesUsedElsewhere, environment }) => {
      if (end !== 'inOrder' || mode !== 'delete') return;
      if (isOwnershipRecordRemoved(environment)) return;
      const aws = awsAtEnd.copy();
      for (let minute = 0; minute < 6; minute++) aws.tick();
      for (const name of created.profiles) {
        const profile = aws.profiles.get(name);
        expect(profile !== undefined && isOurProfile(profile, spec), `profile ${name} is left`).to.equal(false);
      }
      for (const name of created.roles) {
        const role = aws.roles.get(name);
        if (role === undefined || !isOurRole(role, spec) || rolesUsedElsewhere.includes(name)) continue;
        // The controller never deletes the role of spec.roleARN, even if an earlier reconcile created that role.
        if (roleArnOf(role) === spec.roleARN) continue;
        expect(isUsed(role, aws.profiles), `role ${name} is left`).to.equal(true);
      }
    });
  });

  it('change no foreign profile, other than to adopt it', () => {
    atEveryMutation(({ mutation, mode, spec: asked, awsBefore, status }) => {
      const spec = mode === 'live' ? withNamesInUse(asked, status, awsBefore) : asked;
      const name = isProfileMutation(mutation) ? subjectOf(mutation) : undefined;
      const profile = name === undefined ? undefined : awsBefore.profiles.get(name);
      if (profile === undefined || mutation.kind === 'createProfile' || isOurProfile(profile, spec)) return;
      const aws = SimulatedAws.from(awsBefore);
      expect(mutation.kind, `${name} is foreign`).to.equal('tagProfile');
      expect(isAdoptable(profile, spec, expectedSubnets(status), aws), `${name} may not be adopted`).to.equal(true);
      if (mutation.kind === 'tagProfile') expect(mutation.tags).to.have.property(OWNER_TAG, 'team-a/web');
      expect(mode).to.equal('live');
    });
  });

  it('change no foreign role', () => {
    atEveryMutation(({ mutation, mode, spec: asked, status, awsBefore }) => {
      const spec = mode === 'live' ? withNamesInUse(asked, status, awsBefore) : asked;
      const role = changedRole(mutation, awsBefore);
      if (role !== undefined) expect(isOurRole(role, spec), `${role.name} is foreign`).to.equal(true);
    });
  });

  it('change no role of spec.roleARN, even if an earlier reconcile created that role', () => {
    atEveryMutation(({ mutation, spec, awsBefore }) => {
      const role = changedRole(mutation, awsBefore);
      if (role !== undefined) expect(roleArnOf(role), mutation.kind).not.to.equal(spec.roleARN);
    });
  });

  it('remove only tags and policies that the controller added and that the spec does not want', () => {
    atEveryMutation(({ mutation, status, spec, awsBefore }) => {
      const tags = changedTags(mutation, awsBefore);
      if (mutation.kind === 'untagProfile' || mutation.kind === 'untagRole') {
        const isRole = mutation.kind === 'untagRole';
        const wanted = Object.keys(spec.additionalTags ?? {}).map((key) => key.toLowerCase());
        for (const key of mutation.keys.filter((each) => each !== ADDED_TAG)) {
          expect(isOnRecord(tags, `tag ${isRole ? key.toLowerCase() : key}`), 'a foreign tag').to.equal(true);
          expect((status.tagKeys ?? []).map((each) => each.toLowerCase())).to.include(key.toLowerCase());
          expect(isRole && wanted.includes(key.toLowerCase()), 'a wanted tag').to.equal(false);
        }
      }
      if (mutation.kind === 'detachPolicy' && !mutation.retiring) {
        expect(isOnRecord(tags, `policy ${mutation.policyArn}`), 'a foreign policy').to.equal(true);
        expect([POD_EXECUTION_POLICY, ...(spec.roleAdditionalPolicies ?? [])]).not.to.include(mutation.policyArn);
      }
    });
  });

  it('remove only a permissions boundary that the controller put on the role and that the spec does not want', () => {
    atEveryMutation(({ mutation, spec, awsBefore }) => {
      if (mutation.kind !== 'removeBoundary') return;
      const { boundary, tags = {} } = awsBefore.roles.get(mutation.name.toLowerCase()) ?? {};
      expect(isOnRecord(tags, `boundary ${boundary}`), 'a foreign boundary').to.equal(true);
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
        ...(spec.roleAdditionalPolicies ?? []).map((arn) => `policy ${arn}`),
        `boundary ${spec.rolePermissionsBoundary}`,
      ]);
      const known = [...named.map(digestOf), ...recordedDigests(changedTags(mutation, awsBefore))];
      for (const digest of recordedDigests(tagsIn(mutation))) expect(known).to.include(digest);
    });
  });

  it('put on a role only what the role records as added before', () => {
    atEveryMutation(({ mutation, spec, awsBefore }) => {
      const tags = changedTags(mutation, awsBefore);
      const isRecorded = (addition: string) => expect(isOnRecord(tags, addition), addition).to.equal(true);
      if (mutation.kind === 'setBoundary') isRecorded(`boundary ${mutation.policyArn}`);
      if (mutation.kind === 'attachPolicy' && mutation.policyArn !== POD_EXECUTION_POLICY)
        isRecorded(`policy ${mutation.policyArn}`);
      const set = tagsIn(mutation);
      for (const key of Object.keys(spec.additionalTags ?? {}).filter((each) => set[each] !== undefined))
        expect(
          isOnRecord({ ...tags, ...set }, `tag ${isProfileMutation(mutation) ? key : key.toLowerCase()}`),
          key,
        ).to.equal(true);
    });
  });

  it('narrow the record of additions in the very pass that removes these, while nothing fails', () => {
    afterEverySimulation(({ mutations, environment: { events, faults, roles, status } }) => {
      const isAlone = events.every(({ kind }) => kind === 'specChange' || kind === 'controlPlane');
      if (!isAlone || faults.some((fault) => fault !== 'none') || roles.length + Object.keys(status).length > 0) return;
      for (const [index, { pass, mutation, awsBefore }] of mutations.entries()) {
        if (mutations[index - 1]?.pass === pass) continue;
        const left = recordedDigests({ ...changedTags(mutation, awsBefore), ...tagsIn(mutation) });
        for (const digest of recordedDigests(changedTags(mutation, awsBefore))) expect(left).to.include(digest);
      }
    });
  });

  it('leave nothing of an earlier spec on the role, even if an answer was lost or the manager crashed', () => {
    afterEverySimulation(({ end, mode, spec, status, environment, aws }) => {
      const isAlone = environment.events.every(({ kind }) => kind === 'specChange' || kind === 'controlPlane');
      const isFirst = environment.roles.length === 0 && Object.keys(environment.status).length === 0;
      if (end !== 'inOrder' || mode !== 'live' || !isAlone || !isFirst) return;
      const role = aws.roles.get(status.role?.name?.toLowerCase() ?? '');
      if (role === undefined || spec.roleARN !== undefined) return;
      const { roleAdditionalPolicies = [], rolePermissionsBoundary, additionalTags = {} } = spec;
      expect(role.attached).to.have.members([...new Set([POD_EXECUTION_POLICY, ...roleAdditionalPolicies])]);
      expect(role.boundary).to.equal(rolePermissionsBoundary);
      const keys = Object.keys({ ...environment.controlPlaneTags, ...additionalTags, ...ROLE_TAGS });
      const left = Object.keys(role.tags).filter(
        (key) => !keys.some((each) => each.toLowerCase() === key.toLowerCase()),
      );
      expect(left.filter((key) => key !== ADDED_TAG)).to.deep.equal([]);
    });
  });

  it('delete or strip no role that a profile uses', () => {
    atEveryMutation(({ mutation, desired, awsBefore }, { environment }) => {
      const role = awsBefore.roles.get(retiredRoleName(mutation) ?? '');
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
    atEveryMutation(({ mutation, mode, spec: asked, status, awsBefore }) => {
      if (mutation.kind !== 'deleteProfile' || mode !== 'live') return;
      const spec = withNamesInUse(asked, status, awsBefore);
      const profile = awsBefore.profiles.get(mutation.name);
      if (profile?.status !== 'ACTIVE' || profile.name !== expectedProfileName(spec)) return;
      const aws = SimulatedAws.from(awsBefore);
      expect(hasImmutableFieldsOfSpec(profile, spec, expectedSubnets(status), aws), 'as wanted').to.equal(false);
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
    atEveryMutation(({ mutation, spec, awsBefore }) => {
      if (mutation.kind !== 'createProfile') return;
      const { podExecutionRoleArn } = mutation.profile;
      const role = [...awsBefore.roles.values()].find((each) => roleArnOf(each) === podExecutionRoleArn);
      expect(role, 'the role exists').not.to.equal(undefined);
      expect(role?.trust).to.satisfy(trustsFargate);
      if (role !== undefined && spec.roleARN === undefined && isOurRole(role, spec))
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
    atEveryMutation(({ mutation, spec: asked, awsBefore, status }) => {
      const spec = withNamesInUse(asked, status, awsBefore);
      const profile = mutation.kind === 'createRole' ? awsBefore.profiles.get(expectedProfileName(spec)) : undefined;
      if (profile === undefined || profile.hidden > 0) return;
      const aws = SimulatedAws.from(awsBefore);
      const subnets = expectedSubnets(status);
      const isOurs = isOurProfile(profile, spec) || isAdoptable(profile, spec, subnets, aws);
      expect(isOurs, 'the profile is ours').to.equal(true);
      expect(hasImmutableFieldsOfSpec(profile, spec, subnets, aws), 'the profile is as wanted').to.equal(true);
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

const isUsed = (role: Pick<SimulatedRole, 'name' | 'path'>, profiles: Snapshot['profiles']): boolean =>
  [...profiles.values()].some((profile) => profile.podExecutionRoleArn === roleArnOf(role));

const isProfileMutation = ({ kind }: Mutation): boolean =>
  kind === 'createProfile' || kind === 'deleteProfile' || kind === 'tagProfile' || kind === 'untagProfile';

/** The tags of the profile or role that the change concerns, before the change. */
const changedTags = (mutation: Mutation, before: Snapshot): Readonly<Record<string, string>> =>
  (isProfileMutation(mutation) ? before.profiles.get(subjectOf(mutation)) : changedRole(mutation, before))?.tags ?? {};

/** The tags that the change sets. */
function tagsIn(mutation: Mutation): Readonly<Record<string, string>> {
  if (mutation.kind === 'createProfile') return mutation.profile.tags;
  if (mutation.kind === 'createRole') return mutation.role.tags;
  return mutation.kind === 'tagProfile' || mutation.kind === 'tagRole' ? mutation.tags : {};
}

const changedRole = (mutation: Mutation, { roles }: Snapshot): SimulatedRole | undefined =>
  mutation.kind === 'createRole' || isProfileMutation(mutation)
    ? undefined
    : roles.get(subjectOf(mutation).toLowerCase());

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
