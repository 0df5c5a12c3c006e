import { expect } from 'chai';
import fc from 'fast-check';
import { apply } from './apply.ts';
import { decide } from './decide.ts';
import type { Decision, Desired, Mutation, Observed } from './model.ts';
import type { Why } from './reasons.ts';
import { OWNER_TAG, POD_EXECUTION_POLICY } from './testing/builders.ts';
import type { Deed, Life, Snapshot } from './testing/life.ts';
import { isToGo, live } from './testing/life.ts';
import {
  equalsSpec,
  isAdoptable,
  isOurProfile,
  isOurRole,
  letsFargateIn,
  profileNameIn,
  roleNamesIn,
  shortfallsOf,
} from './testing/oracle.ts';
import type { SimulatedProfile, SimulatedRole } from './testing/simulated-aws.ts';
import { SimulatedAws, roleArnOf } from './testing/simulated-aws.ts';
import { holds, subnetsGiven, subnetsOf } from './testing/verdict.ts';
import type { World } from './testing/worlds.ts';
import { HERE, aWorld } from './testing/worlds.ts';

/** How many worlds each rule is tried on; to look further: `WORLDS=100000`. */
const WORLDS = Number(process.env['WORLDS'] ?? 1_000);

describe('decide, in whatever world', () => {
  /** The rule must hold for all lives in all worlds; a counterexample comes with what was done in it. */
  function inEveryLife(rule: (life: Life) => void): void {
    fc.assert(
      fc.property(aWorld, (world: World) => {
        const life = live(world);
        try {
          rule(life);
        } catch (error) {
          throw new Error(`${String(error)}\nwhat was done:\n${life.deeds.map(line).join('\n')}`, { cause: error });
        }
      }),
      { numRuns: WORLDS, ...(process.env['SEED'] !== undefined && { seed: Number(process.env['SEED']) }) },
    );
  }
  const atEveryDeed = (rule: (deed: Deed, life: Life) => void): void =>
    inEveryLife((life) => life.deeds.forEach((deed) => rule(deed, life)));

  it('comes to an end: all as desired, or a stop', () => {
    inEveryLife(({ end }) => expect(end.kind).to.be.oneOf(['settled', 'stopped']));
  });

  it('settles only when AWS is as desired', () => {
    inEveryLife((life) => {
      if (life.end.kind !== 'settled' || life.mode !== 'live') return;
      const controlPlaneTags = life.world.controlPlaneTags;
      const demand = { spec: life.spec, privateSubnets: subnetsOf(life), controlPlaneTags };
      expect(shortfallsOf(demand, life.aws)).to.deep.equal([]);
    });
  });

  it('leaves nothing of ours when all is deleted', () => {
    inEveryLife(({ end, mode, spec, judgements, aws, usedElsewhere }) => {
      const records = judgements.at(-1)?.desired.records;
      if (end.kind !== 'settled' || mode !== 'delete' || records === undefined) return;
      for (const name of [profileNameIn(spec), records.profileName]) {
        const profile = name === undefined ? undefined : aws.profiles.get(name);
        expect(profile !== undefined && isOurProfile(profile, spec), `profile ${name} is left`).to.equal(false);
      }
      const recorded = records.roleManaged === false ? undefined : records.roleName;
      for (const name of recorded === undefined ? roleNamesIn(spec) : [...roleNamesIn(spec).slice(0, 1), recorded]) {
        const role = aws.roles.get(name.toLowerCase());
        if (role === undefined) continue;
        const mayStay =
          !isOurRole(role, spec) || usedElsewhere.includes(role.name.toLowerCase()) || isUsed(role, aws.profiles);
        expect(mayStay, `role ${name} is left`).to.equal(true);
      }
    });
  });

  it('leaves nothing behind that it made itself, even where an answer was lost or the manager crashed', () => {
    inEveryLife(({ end, mode, spec, made, aws, usedElsewhere, world }) => {
      if (end.kind !== 'settled' || mode !== 'delete') return;
      if (isBlinded(world)) return;
      for (let minute = 0; minute < 6; minute++) aws.tick();
      for (const name of made.profiles) {
        const profile = aws.profiles.get(name);
        expect(profile !== undefined && isOurProfile(profile, spec), `profile ${name} is left`).to.equal(false);
      }
      for (const name of made.roles) {
        const role = aws.roles.get(name);
        if (role === undefined || !isOurRole(role, spec) || usedElsewhere.includes(name)) continue;
        // Named in spec.roleARN it is somebody else's from then on, whoever made it.
        if (roleArnOf(role) === spec.roleARN) continue;
        expect(isUsed(role, aws.profiles), `role ${name} is left`).to.equal(true);
      }
    });
  });

  it('stops only for a reason that holds', () => {
    inEveryLife((life) => {
      if (life.end.kind !== 'stopped') return;
      expect(holds(life.end.why, life), `${life.end.why.reason} ${JSON.stringify(life.end.why.facts)}`).to.equal(true);
    });
  });

  it('changes no profile that is not ours, other than to adopt it', () => {
    atEveryDeed(({ mutation, mode, spec, before, status }) => {
      const name = profileOf(mutation);
      const profile = name === undefined ? undefined : before.profiles.get(name);
      if (profile === undefined || mutation.kind === 'createProfile' || isOurProfile(profile, spec)) return;
      const aws = awsAt(before);
      expect(mutation.kind, `${name} is not ours`).to.equal('tagProfile');
      expect(isAdoptable(profile, spec, subnetsGiven(status), aws), `${name} may not be adopted`).to.equal(true);
      if (mutation.kind === 'tagProfile') expect(mutation.tags).to.have.property(OWNER_TAG, 'team-a/web');
      expect(mode).to.equal('live');
    });
  });

  it('changes no role that is not ours', () => {
    atEveryDeed(({ mutation, spec, before }) => {
      const role = changedRole(mutation, before);
      if (role !== undefined) expect(isOurRole(role, spec), `${role.name} is not ours`).to.equal(true);
    });
  });

  it('takes off only tags and policies that it once put on, and none that are wanted', () => {
    atEveryDeed(({ mutation, status, spec }) => {
      if (mutation.kind === 'untagProfile' || mutation.kind === 'untagRole') {
        const ours = (status.tagKeys ?? []).map((key) => key.toLowerCase());
        const wanted = Object.keys(spec.additionalTags ?? {}).map((key) => key.toLowerCase());
        for (const key of mutation.keys) {
          expect(ours, 'somebody else’s tag').to.include(key.toLowerCase());
          expect(mutation.kind === 'untagRole' && wanted.includes(key.toLowerCase()), 'a wanted tag').to.equal(false);
        }
      }
      if (mutation.kind === 'detachPolicy' && !mutation.retiring) {
        expect(status.role?.attachedPolicies, 'somebody else’s policy').to.include(mutation.policyArn);
        expect([POD_EXECUTION_POLICY, ...(spec.roleAdditionalPolicies ?? [])]).not.to.include(mutation.policyArn);
      }
    });
  });

  it('deletes or strips no role that a profile uses', () => {
    atEveryDeed(({ mutation, desired, before }, { world }) => {
      const isRetiring = mutation.kind === 'deleteRole' || (mutation.kind === 'detachPolicy' && mutation.retiring);
      const role = isRetiring ? before.roles.get(mutation.name.toLowerCase()) : undefined;
      // One that cannot be seen yet counts as well, as long as there is a record that it was asked for.
      const isKnown = ({ name, hidden }: SimulatedProfile): boolean =>
        desired.names.profiles.some((each) => each === name) && (hidden === 0 || !isBlinded(world));
      const profiles = new Map([...before.profiles].filter(([, profile]) => isKnown(profile)));
      if (role !== undefined) expect(isUsed(role, profiles), `${role.name} is in use`).to.equal(false);
    });
  });

  it('deletes no role that something else uses', () => {
    atEveryDeed(({ mutation }, { usedElsewhere }) => {
      const isRetiring = mutation.kind === 'deleteRole' || (mutation.kind === 'detachPolicy' && mutation.retiring);
      if (isRetiring) expect(usedElsewhere).not.to.include(mutation.name.toLowerCase());
    });
  });

  it('creates nothing while it deletes, or where nothing may be created', () => {
    atEveryDeed(({ mutation, mode, noCreation }) => {
      if (mutation.kind !== 'createProfile' && mutation.kind !== 'createRole') return;
      expect(mode).to.equal('live');
      expect(noCreation).to.equal(false);
    });
  });

  it('changes nothing that is to be retained', () => {
    atEveryDeed(({ mode }) => expect(mode).not.to.equal('retain'));
  });

  it('deletes an ACTIVE profile only if it is unwanted, or an unfinished one of ours that differs', () => {
    atEveryDeed(({ mutation, mode, spec, status, before }) => {
      if (mutation.kind !== 'deleteProfile' || mode !== 'live') return;
      const profile = before.profiles.get(mutation.name);
      if (profile?.status !== 'ACTIVE' || profile.name !== profileNameIn(spec)) return;
      expect(equalsSpec(profile, spec, subnetsGiven(status), awsAt(before)), 'it is as wanted').to.equal(false);
      expect(status.initialization?.provisioned ?? false, 'it was provisioned').to.equal(false);
      expect(status.createRequestedAt, 'it was not asked for').not.to.equal(undefined);
    });
  });

  it('waits for a create to appear only where its answer was not seen, or the record of it is lost', () => {
    inEveryLife(({ judgements, deeds, world }) => {
      const isUnseen =
        world.happenings.some(({ kind }) => kind === 'recordsLost') ||
        (world.status.account === undefined && world.provisionedIn === HERE) ||
        deeds.some(({ mutation, fault }) => mutation.kind === 'createProfile' && !isKnownFate(fault, deeds)) ||
        (world.status.createRequestedAt !== undefined && world.status.profileARN === undefined);
      const waits = judgements.filter(({ desired, decision }) => isStop(decision, 'Propagating') && isAbsent(desired));
      if (!isUnseen) expect(waits.map(({ desired }) => desired.records)).to.deep.equal([]);
    });
  });

  it('makes a profile only with a role that is there and in order', () => {
    atEveryDeed(({ mutation, spec, before }) => {
      if (mutation.kind !== 'createProfile') return;
      const role = [...before.roles.values()].find((each) => roleArnOf(each) === mutation.profile.podExecutionRoleArn);
      expect(role, 'the role is there').not.to.equal(undefined);
      expect(role?.trust).to.satisfy(letsFargateIn);
      if (role !== undefined && spec.roleARN === undefined && isOurRole(role, spec))
        expect(role.attached).to.include(POD_EXECUTION_POLICY);
    });
  });

  it('makes nothing that is there, and changes nothing that is not', () => {
    atEveryDeed(({ mutation, outcome, before }) => {
      if (mutation.kind === 'createRole') expect(before.roles.has(mutation.role.name.toLowerCase())).to.equal(false);
      if (mutation.kind === 'createProfile') {
        const profile = before.profiles.get(mutation.profile.name);
        expect(profile === undefined || profile.hidden > 0).to.equal(true);
      }
      expect(outcome.kind).not.to.be.oneOf(['vanished', 'notVisible']);
      const isBlocked = mutation.kind === 'deleteRole' && before.roles.get(mutation.name.toLowerCase())?.inline.length;
      if (outcome.kind === 'failed' && !isBlocked)
        expect(outcome.failure.code).to.be.oneOf(['NoAnswer', 'NotDispatched']);
    });
  });

  it('makes no role in the place of somebody else’s that was used by its name and has vanished', () => {
    atEveryDeed(({ mutation, spec, desired: { records } }) => {
      if (mutation.kind !== 'createRole' || spec.roleName === undefined || records.roleManaged !== false) return;
      expect(records.roleName).not.to.equal(mutation.role.name);
    });
  });

  it('makes no role in front of a foreign or differing profile', () => {
    atEveryDeed(({ mutation, spec, before, status }) => {
      const profile = mutation.kind === 'createRole' ? before.profiles.get(profileNameIn(spec)) : undefined;
      if (profile === undefined || profile.hidden > 0) return;
      const aws = awsAt(before);
      const isOurs = isOurProfile(profile, spec) || isAdoptable(profile, spec, subnetsGiven(status), aws);
      expect(isOurs, 'the profile is somebody else’s').to.equal(true);
      expect(equalsSpec(profile, spec, subnetsGiven(status), aws), 'the profile is as wanted').to.equal(true);
    });
  });

  it('says the same when asked again, and leaves its arguments alone', () => {
    inEveryLife(({ judgements }) => {
      for (const { desired, observed, decision } of judgements) {
        expect(decide(frozen(structuredClone(desired)), frozen(structuredClone(observed)))).to.deep.equal(decision);
      }
    });
  });

  it('folds answers in as AWS has them', () => {
    atEveryDeed(({ mutation, outcome, desired, observed, before }) => {
      if (outcome.kind !== 'done' && outcome.kind !== 'vanished') return;
      const aws = awsAt(before);
      aws.act(mutation);
      const names = {
        profiles: observed.profiles.map(({ name }) => name),
        roles: observed.roles.filter(({ found }) => found !== 'unread').map(({ name }) => name),
      };
      const folded = apply(observed, mutation, outcome);
      expect(plain(folded)).to.deep.equal(plain(aws.observe(names, { forBlockers: isToGo(desired) })));
    });
  });

  it('shows what is going on or what a human must do, never both, and Ready only when all is as desired', () => {
    inEveryLife(({ reports, end, status, mode }) => {
      for (const { status: each } of reports) {
        const isTrue = (type: string): boolean =>
          each.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
        expect(isTrue('Reconciling') && isTrue('Stalled')).to.equal(false);
        expect(isTrue('Ready') && isTrue('Stalled')).to.equal(false);
        expect(each.ready).to.equal(isTrue('Ready'));
      }
      expect(status.ready).to.equal(end.kind === 'settled' && mode === 'live');
    });
  });

  it('tells in status what AWS says of what is ours', () => {
    inEveryLife(({ reports, spec, world }) => {
      if (world.happenings.some(({ kind }) => kind === 'specChange')) return;
      for (const { observed, status } of reports) {
        const name = profileNameIn(spec);
        // On the way from one name to another, status names the former one.
        if (observed === undefined || (status.profileName ?? name) !== name) continue;
        const there = observed.profiles.find((profile) => profile.name === name)?.found;
        const found = there && isOurProfile(there, spec) ? there : undefined;
        const seen = [found?.status, found?.arn, found?.podExecutionRoleArn];
        expect([status.profileStatus, status.profileARN, status.podExecutionRoleARN]).to.deep.equal(seen);
      }
    });
  });

  it('writes nothing once nothing changes', () => {
    inEveryLife(({ status, statusAgain }) => expect(statusAgain).to.deep.equal(status));
  });
}).timeout(60_000);

// ---- what the rules speak of

/** Who takes our records or our tags away takes the way to what we made. */
const isBlinded = ({ happenings }: World): boolean =>
  happenings.some(({ kind }) => kind === 'recordsLost' || kind === 'profileTagged' || kind === 'roleChanged');

/** Whether the manager knows what came of a change. That it did not send one it knows until it dies. */
const isKnownFate = (fault: Deed['fault'], deeds: readonly Deed[]): boolean =>
  fault === 'none' || (fault === 'held' && deeds.every((deed) => deed.fault !== 'crash'));

const isStop = (decision: Decision, reason: Why['reason']): boolean =>
  decision.kind === 'stop' && decision.why.reason === reason;
const isAbsent = ({ wanted }: Desired): boolean => wanted === undefined;

const isUsed = (role: Pick<SimulatedRole, 'name' | 'path'>, profiles: Snapshot['profiles']): boolean =>
  [...profiles.values()].some((profile) => profile.podExecutionRoleArn === roleArnOf(role));

function profileOf(mutation: Mutation): string | undefined {
  switch (mutation.kind) {
    case 'createProfile':
      return mutation.profile.name;
    case 'deleteProfile':
    case 'tagProfile':
    case 'untagProfile':
      return mutation.name;
    default:
      return undefined;
  }
}

function changedRole(mutation: Mutation, before: Snapshot): SimulatedRole | undefined {
  return mutation.kind === 'createRole' || mutation.kind === 'createProfile' || profileOf(mutation) !== undefined
    ? undefined
    : before.roles.get(nameOf(mutation).toLowerCase());
}

const nameOf = (mutation: Mutation): string =>
  mutation.kind === 'createProfile'
    ? mutation.profile.name
    : mutation.kind === 'createRole'
      ? mutation.role.name
      : mutation.name;

function awsAt({ cluster, profiles, roles }: Snapshot): SimulatedAws {
  const aws = new SimulatedAws();
  aws.cluster = cluster;
  for (const [name, profile] of profiles) aws.profiles.set(name, { ...profile });
  for (const [name, role] of roles) aws.roles.set(name, { ...role });
  return aws;
}

/** As far as it was looked at, and without what only the pass knows. */
const plain = (observed: Observed): unknown => ({
  cluster: observed.cluster,
  profiles: observed.profiles,
  roles: observed.roles
    .filter(({ found }) => found !== 'unread')
    .map(({ name, found }) => {
      if (found === undefined || found === 'unread') return { name, found };
      const { keep: _keep, id: _id, ...rest } = found;
      return { name, found: { ...rest, attached: found.attached.toSorted() } };
    }),
});

function frozen<A>(value: A): A {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

const line = ({ pass, mutation, outcome }: Deed): string => `  ${pass}: ${JSON.stringify(mutation)} → ${outcome.kind}`;
