import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { FINALIZER, PLURAL, RECORD_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { CallRecord } from '../aws/call-log.ts';
import { CAPA_TRUST } from '../world/aws/capa-resources.ts';
import { ROLE, putCapaResources } from './phases/phase.ts';
import { ACCOUNT, CLUSTER, CONTROL_PLANE_REF, EKS_CLUSTER, HOUR, MINUTE, SECOND } from './world/cluster.ts';
import { recordIn } from './world/records.ts';
import { conditionsOf } from './world/problems.ts';
import { BASE, OTHER, REPLACE, REPLACEMENT, ReplaceableWorld, THIRD } from './world/replaceable-world.ts';
import type { SimulationOptions } from './world/simulated-world.ts';

const FILTER = 'cluster.x-k8s.io/watch-filter';
/** Makes EKS show a new profile only 50 s after its creation. */
const LATE: SimulationOptions = {
  aws: { eks: { describeAfterCreateMs: 50 * SECOND, listAfterCreateMs: 50 * SECOND } },
};

const [FIRST_CREATE, FIRST_DELETE] = [`Create ${BASE}`, `Delete ${BASE}`];

/** Returns a list to which each later AWS call adds its operation if AWS then has no ACTIVE profile of the object. */
function gapsFromNow(world: ReplaceableWorld): readonly string[] {
  const gaps: string[] = [];
  world.aws.onCall(({ operation }) => {
    if (world.aws.admin.profiles().every(({ status }) => status !== 'ACTIVE')) gaps.push(operation);
  });
  return gaps;
}

const arnsIn = ({ aws }: ReplaceableWorld): readonly string[] => aws.admin.profiles().map(({ arn }) => arn);

/** Returns the {@link ReplaceableWorld.eksChanges} without the calls that EKS refused. */
const eksDone = (world: ReplaceableWorld, from = 0): readonly string[] =>
  world.eksChanges(from).filter((each) => each.split(' ').length === 2);

const dropRecord = (world: ReplaceableWorld): void => world.change({ metadata: { annotations: null } });

const isAsked = (world: ReplaceableWorld, operation: string, name = BASE): boolean =>
  world
    .mutations()
    .some((call) => call.operation === operation && Object.values(call.identifiers).some((each) => each === name));

/** Two management clusters that have one AWS. Both have the Cluster, and `away` has no manager yet. */
function twoClusters(options: SimulationOptions = {}): {
  readonly home: ReplaceableWorld;
  readonly away: ReplaceableWorld;
} {
  const home = new ReplaceableWorld(options);
  return { home, away: new ReplaceableWorld({ shareAwsWith: home }) };
}

/**
 * Deletes the object at home with Retain. Then deletes it in the other management cluster, whose manager deletes its
 * AWS resources.
 */
async function retireBoth({ home, away }: { readonly home: ReplaceableWorld; readonly away: ReplaceableWorld }) {
  const before = arnsIn(home);
  home.change({ spec: { deletionPolicy: 'Retain' } });
  home.delete('web');
  await home.gone('web');
  expect(arnsIn(home)).to.deep.equal(before);
  await away.deleteAndFinish('web');
  await home.finish();
}

describe('a clusterctl move that stops after the target got the object', () => {
  for (const moment of ['True/Ready', 'False/Creating', 'False/Replacing', 'True/PredecessorKept'])
    it(`leaves one profile to two managers that agree, at ${moment}`, async () => {
      const both = twoClusters();
      const { home, away } = both;
      home.start();
      home.applyWith('web', REPLACE);
      if (moment !== 'False/Creating') await home.ready('web');
      if (/Replacing|Kept/.test(moment)) home.change({ spec: OTHER });
      await home.shows(moment);
      away.restore(home.backup(), { status: false });
      away.start();
      await home.shows('True/Ready');
      await away.shows('True/Ready');
      await home.clock.advance(2 * HOUR);
      const isReplaced = /Replacing|Kept/.test(moment);
      expect(home.names).to.deep.equal([isReplaced ? REPLACEMENT : BASE]);
      const made = isReplaced ? [FIRST_CREATE, `Create ${REPLACEMENT}`, FIRST_DELETE] : [FIRST_CREATE];
      expect(eksDone(home)).to.deep.equal(made);
      expect([home.shown(), away.shown()]).to.deep.equal(['True/Ready', 'True/Ready']);
      await retireBoth(both);
    });

  it('deletes the profile of both if one of them deletes its object, and the other creates it again', async () => {
    const { home, away } = twoClusters();
    await home.startWithReady('web');
    away.restore(home.backup(), { status: false });
    away.start();
    await away.ready('web');
    home.delete('web');
    await home.gone('web');
    await away.until('the end', () => away.shown() === 'True/Ready' && away.names.length === 1, 24 * HOUR);
    await away.clock.advance(HOUR);
    expect(away.shown()).to.equal('True/Ready');
    expect(away.role('web')?.attachedPolicies).to.have.length(1);
    await away.deleteAndFinish('web');
    await home.finish();
  });
});

describe('an object that Velero restores into another namespace', () => {
  const TEAM = 'team-b';
  const teamProfile = ({ api }: ReplaceableWorld): KubeObject | undefined =>
    api.storage.get(api.kind(PLURAL), { namespace: TEAM, name: 'web' });

  /**
   * Restores the object into the other namespace, which also gets a Cluster with the same EKS cluster and a ready
   * control plane.
   */
  function restoreIntoTeam(world: ReplaceableWorld, hasStatus: boolean, spec: object = {}): void {
    const { storage } = world.api;
    for (const [plural, name] of [
      ['clusters', CLUSTER],
      ['awsmanagedcontrolplanes', CONTROL_PLANE_REF.name],
    ] as const) {
      const { metadata, spec: its, status } = world.object(plural, name) ?? expect.fail(`no ${name}`);
      storage.create(world.api.kind(plural), TEAM, { metadata: { name, labels: metadata.labels }, spec: its });
      if (status !== undefined)
        storage.mergePatch(world.api.kind(plural), { namespace: TEAM, name }, { status }, 'status');
    }
    const { metadata, spec: own, status } = world.backup();
    const { name, labels, annotations, finalizers } = metadata;
    const kind = world.api.kind(PLURAL);
    storage.create(kind, TEAM, {
      metadata: { name, labels, annotations, finalizers },
      spec: { ...(own as object), ...spec },
    });
    if (hasStatus) storage.mergePatch(kind, { namespace: TEAM, name }, { status }, 'status');
  }

  const shownOfTeam = (world: ReplaceableWorld, type = 'Ready'): string => {
    const { status, reason } = conditionsOf(teamProfile(world)).find((each) => each.type === type) ?? {};
    return `${status}/${reason}`;
  };

  for (const hasStatus of [true, false])
    it(`gets a profile of its own, and leaves that of the first namespace, ${hasStatus ? 'with' : 'without'} its status`, async () => {
      const world = new ReplaceableWorld();
      await world.startWithReady('web');
      const before = arnsIn(world);
      restoreIntoTeam(world, hasStatus);
      const isOwn = (): boolean => shownOfTeam(world) === 'True/Ready' && world.names.includes(`${TEAM}_web`);
      await world.until('a profile of its own', isOwn, HOUR);
      expect(recordIn(teamProfile(world))['for']).to.equal(`${TEAM}/web`);
      expect(arnsIn(world)).to.include.members(before);
      world.api.storage.delete(world.api.kind(PLURAL), { namespace: TEAM, name: 'web' });
      await world.until('the deletion', () => teamProfile(world) === undefined, HOUR);
      expect(arnsIn(world)).to.deep.equal(before);
      expect(world.shown()).to.equal('True/Ready');
      await world.deleteAndFinish('web');
    });

  it('takes nothing of the first namespace along if it is deleted before its first reconcile', async () => {
    const world = new ReplaceableWorld();
    await world.startWithReady('web');
    await world.stopAll();
    const before = arnsIn(world);
    restoreIntoTeam(world, true);
    world.api.storage.delete(world.api.kind(PLURAL), { namespace: TEAM, name: 'web' });
    world.start();
    await world.until('the deletion', () => teamProfile(world) === undefined, HOUR);
    expect(arnsIn(world)).to.deep.equal(before);
    expect(world.role('web')?.attachedPolicies).to.have.length(1);
    await world.deleteAndFinish('web');
  });

  it('stops if its spec names the profile of the first namespace', async () => {
    const world = new ReplaceableWorld();
    await world.startWithReadyObject('web', { profileName: 'explicit' });
    const before = arnsIn(world);
    restoreIntoTeam(world, true, REPLACE);
    await world.until('the stop', () => shownOfTeam(world, 'Stalled') === 'True/ProfileNotOwned', HOUR);
    await world.clock.advance(2 * HOUR);
    expect(arnsIn(world)).to.deep.equal(before);
    world.api.storage.delete(world.api.kind(PLURAL), { namespace: TEAM, name: 'web' });
    await world.until('the deletion', () => teamProfile(world) === undefined, HOUR);
    expect(arnsIn(world)).to.deep.equal(before);
    await world.deleteAndFinish('web');
  });
});

describe('a manager that is restarted with another watch filter', () => {
  const label = (value: string) => ({ metadata: { labels: { [FILTER]: value } } });

  for (const moment of ['False/Creating', 'False/Replacing', 'True/PredecessorKept'])
    it(`leaves the object to the manager that gets it at ${moment}, which finishes what was begun`, async () => {
      const world = new ReplaceableWorld();
      const blue = world.start('--leader-elect', '--watch-filter', 'blue');
      world.applyWith('web', REPLACE);
      world.change(label('blue'));
      if (moment !== 'False/Creating') {
        await world.ready('web');
        world.change({ spec: OTHER });
      }
      await world.shows(moment);
      await world.stop(blue);
      world.start('--leader-elect', '--watch-filter', 'green');
      const { length } = world.mutations();
      await world.clock.advance(HOUR);
      expect(world.mutations()).to.have.length(length);
      world.change(label('green'));
      await world.until('the end', () => world.shown() === 'True/Ready' && world.names.length === 1, HOUR);
      const made = moment === 'False/Creating' ? [FIRST_CREATE] : [FIRST_CREATE, `Create ${REPLACEMENT}`, FIRST_DELETE];
      expect(world.eksChanges()).to.deep.equal(made);
      await world.deleteAndFinish('web');
    });

  it('does not undo what the other one does if the object changes hands while a create is not answered', async () => {
    const world = new ReplaceableWorld();
    for (const filter of ['blue', 'green']) world.start('--leader-elect', '--watch-filter', filter);
    world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind: 'slow:8000', times: 1 });
    world.apply('web');
    world.change(label('blue'));
    await world.until('the create', () => isAsked(world, 'CreateFargateProfile'));
    world.change(label('green'));
    await world.ready('web');
    await world.clock.advance(HOUR);
    expect(world.eksChanges()).to.deep.equal([FIRST_CREATE]);
    expect(world.shown()).to.equal('True/Ready');
    await world.deleteAndFinish('web');
  });
});

describe('an object of Cluster API Provider AWS that is deleted before its first reconcile', () => {
  for (const hasStatus of [true, false])
    it(`takes its profile and role along, ${hasStatus ? 'with' : 'without'} its status`, async () => {
      const world = new ReplaceableWorld();
      putCapaResources(world, BASE, ROLE);
      world.create(PLURAL, {
        metadata: { name: 'web', finalizers: [FINALIZER] },
        spec: { clusterName: CLUSTER, profileName: BASE, selectors: [{ namespace: 'web' }] },
      });
      if (hasStatus) {
        const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2025-11-03T09:00:00Z' }];
        world.patch(PLURAL, 'web', { status: { ready: true, conditions } }, 'status');
      }
      world.delete('web');
      world.start();
      await world.gone('web');
      await world.finish();
    });
});

describe('a manager that is killed at a call to AWS, and whose record is lost with it', () => {
  /** `atLoss` returns the names of the profiles that AWS had when the record was lost. */
  type Story = (world: ReplaceableWorld, atLoss: () => readonly string[]) => Promise<void>;

  /**
   * Plays the story. When AWS has executed the change with the number `moment`, kills the manager, removes the record,
   * and starts a new manager. Returns false if the story has fewer changes.
   */
  async function playKilledAt(
    moment: number,
    { hasStatus, story }: { readonly hasStatus: boolean; readonly story: Story },
  ): Promise<boolean> {
    const world = new ReplaceableWorld({ seed: moment });
    let changes = 0;
    let atLoss: readonly string[] = [];
    world.onChange = (change) => {
      if ('operation' in change) changes += 1;
      if (!('operation' in change) || changes !== moment) return;
      atLoss = world.names;
      world.managers.at(-1)?.kill();
      dropRecord(world);
      if (!hasStatus) world.patch(PLURAL, 'web', { status: null }, 'status');
      world.start();
    };
    await story(world, () => atLoss);
    if (world.profile('web') !== undefined) await world.deleteAndFinish('web');
    else await world.finish();
    return changes >= moment;
  }

  const settled = (world: ReplaceableWorld, name: string): Promise<void> =>
    world.until(
      `only ${name}`,
      () => world.shown() === 'True/Ready' && world.names.length === 1 && world.names[0] === name,
      HOUR,
    );

  for (const hasStatus of [true, false]) {
    const words = hasStatus ? 'and its status is kept' : 'and its status is lost too';
    it(`creates and deletes one profile and one role, ${words}`, async () => {
      const story: Story = async (world) => {
        world.start();
        world.apply('web');
        await settled(world, BASE);
        world.delete('web');
        await world.gone('web');
        expect(eksDone(world)).to.deep.equal([FIRST_CREATE, FIRST_DELETE]);
      };
      let moment = 1;
      while (await playKilledAt(moment, { hasStatus, story })) moment += 1;
      expect(moment).to.be.above(6);
    });

    it(`replaces the profile once and without a gap, ${words}`, async () => {
      const story: Story = async (world, atLoss) => {
        world.start();
        world.applyWith('web', REPLACE);
        await settled(world, BASE);
        const gaps = gapsFromNow(world);
        world.change({ spec: { ...OTHER, roleName: 'other-role' } });
        await settled(world, REPLACEMENT);
        expect(gaps).to.deep.equal([]);
        // The tags of a role do not name the object. So if the record is lost after the former profile has gone, the
        // role stays.
        if (atLoss().join() === REPLACEMENT) world.aws.admin.removeRole({ name: ROLE });
        await world.until('the end of the former role', () => world.role('', ROLE) === undefined, HOUR);
        expect(eksDone(world)).to.deep.equal([FIRST_CREATE, `Create ${REPLACEMENT}`, FIRST_DELETE]);
      };
      let moment = 4;
      while (await playKilledAt(moment, { hasStatus, story })) moment += 1;
      expect(moment).to.be.above(10);
    });
  }
});

describe('an EKS that shows a profile 50 s late', () => {
  async function startLate(spec: object = {}): Promise<ReplaceableWorld> {
    const world = new ReplaceableWorld(LATE);
    world.start();
    world.applyWith('web', spec);
    await world.until('the create', () => isAsked(world, 'CreateFargateProfile'));
    await world.clock.advance(2 * SECOND);
    return world;
  }

  async function restartWithoutRecord(world: ReplaceableWorld): Promise<void> {
    world.managers.at(-1)?.kill();
    dropRecord(world);
    world.start();
  }

  for (const isLost of [false, true]) {
    const words = isLost ? ', and whose record is lost' : '';
    it(`creates one profile for an object${words}`, async () => {
      const world = await startLate();
      if (isLost) await restartWithoutRecord(world);
      await world.ready('web');
      expect(eksDone(world)).to.deep.equal([FIRST_CREATE]);
      await world.deleteAndFinish('web');
    });

    it(`keeps nothing of an object that is deleted meanwhile${words}`, async () => {
      const world = await startLate();
      if (isLost) await restartWithoutRecord(world);
      await world.clock.advance(SECOND);
      world.delete('web');
      await world.gone('web');
      await world.finish();
    });

    it(`keeps one profile of an object whose spec changes meanwhile${words}`, async () => {
      const world = await startLate(REPLACE);
      await world.ready('web');
      const gaps = gapsFromNow(world);
      world.change({ spec: OTHER });
      await world.until('the second create', () => isAsked(world, 'CreateFargateProfile', REPLACEMENT));
      await world.clock.advance(SECOND);
      if (isLost) await restartWithoutRecord(world);
      world.change({ spec: THIRD });
      const wanted = (): boolean =>
        world.shown() === 'True/Ready' &&
        world.names.length === 1 &&
        world.aws.admin.profiles()[0]?.selectors[0]?.namespace === 'third';
      await world.until('the third', wanted, HOUR);
      expect(gaps).to.deep.equal([]);
      await world.deleteAndFinish('web');
    });
  }
});

describe('a role whose creation IAM does not answer', () => {
  const kinds = ['no-answer-before', 'no-answer-after', 'reset-after'] as const;
  for (const kind of kinds)
    for (const isLost of [false, true])
      it(`leaves nothing if the object is deleted then (${kind}${isLost ? ', the record is lost' : ''})`, async () => {
        const world = new ReplaceableWorld({ aws: { iam: { readAfterCreateMs: 30 * SECOND } } });
        const manager = world.start();
        world.aws.admin.addFault({ operation: 'CreateRole', kind, times: 1 });
        world.apply('web');
        await world.until('the request', () => isAsked(world, 'CreateRole', ROLE));
        await world.clock.advance(SECOND);
        manager.kill();
        if (isLost) dropRecord(world);
        world.delete('web');
        world.start();
        await world.gone('web');
        expect(world.eksChanges()).to.deep.equal([]);
        await world.finish();
      });

  it('is created once', async () => {
    const world = new ReplaceableWorld({ aws: { iam: { readAfterCreateMs: 5 * SECOND } } });
    world.start();
    world.aws.admin.addFault({ operation: 'CreateRole', kind: 'no-answer-after', times: 1 });
    world.apply('web');
    await world.ready('web');
    expect(world.mutations().filter(({ operation, applied }) => operation === 'CreateRole' && applied)).to.have.length(
      1,
    );
    await world.deleteAndFinish('web');
  });
});

describe('two management clusters that create a profile for one object at the same moment', () => {
  async function startBoth(homeSpec: object, awaySpec: object) {
    const both = twoClusters();
    both.home.start();
    both.away.start();
    both.home.applyWith('web', homeSpec);
    both.away.applyWith('web', awaySpec);
    return both;
  }

  it('have one profile if they agree', async () => {
    const both = await startBoth({}, {});
    const { home, away } = both;
    await home.ready('web');
    await away.ready('web');
    await home.clock.advance(2 * HOUR);
    expect(eksDone(home)).to.deep.equal([FIRST_CREATE]);
    expect([home.shown('Stalled'), away.shown('Stalled')]).to.deep.equal(['False/NotStalled', 'False/NotStalled']);
    await retireBoth(both);
  });

  it('keep the profile of the faster one under Reject, and the other one says how it differs', async () => {
    const { home, away } = await startBoth({}, OTHER);
    const isDecided = (): boolean => [home, away].some((world) => world.shown('Stalled') === 'True/SpecDiffers');
    await home.until('the loser', isDecided, HOUR);
    await home.clock.advance(2 * HOUR);
    expect(eksDone(home)).to.deep.equal([FIRST_CREATE]);
    const [winner, loser] = home.shown() === 'True/Ready' ? [home, away] : [away, home];
    expect([winner.shown(), loser.shown()]).to.deep.equal(['True/Ready', 'False/SpecDiffers']);
    loser.change({ spec: { deletionPolicy: 'Retain' } });
    loser.delete('web');
    await loser.gone('web');
    expect(winner.names).to.deep.equal([BASE]);
    winner.delete('web');
    await winner.gone('web');
    await away.finish();
    await home.finish();
  });

  it('replace the profile at most once under Replace', async () => {
    const { home, away } = await startBoth(REPLACE, { ...REPLACE, ...OTHER });
    const isStopped = (): boolean => [home, away].some((world) => world.shown('Stalled') === 'True/ManagedElsewhere');
    await home.until('the loser', isStopped, 3 * HOUR);
    await home.clock.advance(6 * HOUR);
    expect(eksDone(home)).to.deep.equal([FIRST_CREATE, `Create ${REPLACEMENT}`, FIRST_DELETE]);
    const [winner, loser] = home.shown() === 'True/Ready' ? [home, away] : [away, home];
    expect(winner.shown()).to.equal('True/Ready');
    loser.change({ spec: { deletionPolicy: 'Retain' } });
    loser.delete('web');
    await loser.gone('web');
    winner.delete('web');
    await winner.gone('web');
    await away.finish();
    await home.finish();
  });
});

describe('a second management cluster', () => {
  it('that loses its profile and its process leaves the object to the first, and stops when it comes back', async () => {
    const { home, away } = twoClusters();
    await home.startReplaceable();
    away.restore(home.backup(), { spec: OTHER });
    const manager = away.start();
    await home.shows('True/ManagedElsewhere', 'Stalled');
    await away.shows('True/Ready');
    manager.kill();
    home.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: REPLACEMENT });
    await home.shows('True/Ready');
    expect(home.names).to.have.length(1);
    const served = arnsIn(home);
    const { length } = home.mutations();
    away.start();
    await away.shows('True/ManagedElsewhere', 'Stalled');
    await home.clock.advance(6 * HOUR);
    expect(arnsIn(home)).to.deep.equal(served);
    expect(home.mutations()).to.have.length(length);
    expect(home.shown()).to.equal('True/Ready');
    away.change({ spec: { deletionPolicy: 'Retain' } });
    away.delete('web');
    await away.gone('web');
    expect(arnsIn(home)).to.deep.equal(served);
    home.delete('web');
    await home.gone('web');
    await away.finish();
    await home.finish();
  });
});

describe('a manager with a wrong clock', () => {
  /** Returns when AWS executed the operation on the profile, on the clock of the simulation, which is right. */
  const timeOf = (world: ReplaceableWorld, operation: string, name: string): number => {
    const isIt = (call: CallRecord): boolean =>
      call.operation === operation && call.identifiers['fargateProfileName'] === name;
    return world.mutations().find(isIt)?.actedAt ?? expect.fail(`no ${operation} of ${name}`);
  };

  for (const [first, second] of [
    [HOUR, -HOUR],
    [-HOUR, HOUR],
    [24 * HOUR, 24 * HOUR],
  ] as const)
    it(`keeps a predecessor as long as the spec says (wrong by ${first / MINUTE} and, after a restart, by ${second / MINUTE} minutes)`, async () => {
      const keep = 10 * MINUTE;
      const world = new ReplaceableWorld();
      const manager = world.startSkewed(first);
      world.applyWith('web', { updateStrategy: { type: 'Replace', replace: { keepPredecessorFor: '10m' } } });
      await world.ready('web');
      world.change({ spec: OTHER });
      await world.shows('True/PredecessorKept');
      const since = world.clock.now();
      await world.clock.advance(MINUTE);
      await world.stop(manager);
      world.startSkewed(second);
      await world.until('one profile', () => world.shown() === 'True/Ready' && world.names.length === 1, HOUR);
      expect(timeOf(world, 'DeleteFargateProfile', BASE) - since).to.be.within(keep - 10 * SECOND, keep + MINUTE);
      await world.deleteAndFinish('web');
    });

  for (const skew of [24 * HOUR, -24 * HOUR])
    it(`does not take the profile of another record for its own (wrong by ${skew / HOUR} h)`, async () => {
      const world = new ReplaceableWorld();
      world.startSkewed(skew);
      world.applyWith('web', REPLACE);
      await world.ready('web');
      const backup = world.backup();
      await world.replaced();
      await world.stopAll();
      const { length } = world.mutations();
      world.restore(backup, { spec: THIRD });
      world.startSkewed(-skew);
      await world.shows('True/ManagedElsewhere', 'Stalled');
      await world.clock.advance(2 * HOUR);
      expect(world.mutations()).to.have.length(length);
      world.change({ spec: OTHER });
      await world.shows('True/Ready');
      await world.deleteAndFinish('web');
    });
});

describe('a record that says that the deletion has begun, set back by Git', () => {
  it('deletes no living object and no profile, and is told', async () => {
    const world = new ReplaceableWorld();
    await world.startWithReady('web');
    const record = { ...recordIn(world.backup()), deleting: true };
    const before = arnsIn(world);
    const { length } = world.mutations();
    world.change({ metadata: { annotations: { [RECORD_ANNOTATION]: JSON.stringify(record) } } });
    await world.until('the event', () => world.eventReasons.includes('IgnoredDeletion'));
    await world.clock.advance(2 * HOUR);
    expect(world.profile('web')?.metadata.deletionTimestamp).to.equal(undefined);
    expect(arnsIn(world)).to.deep.equal(before);
    expect(world.mutations()).to.have.length(length);
    expect(recordIn(world.profile('web'))['deleting']).to.equal(undefined);
    await world.deleteAndFinish('web');
  });
});

describe('an object with adoptionPolicy Always', () => {
  function startAdopting(): { readonly world: ReplaceableWorld; readonly arn: string } {
    const world = new ReplaceableWorld();
    const role = world.aws.admin.putRole({ name: 'everybodys', trustPolicy: CAPA_TRUST });
    const selectors = [{ namespace: 'web', labels: {} }];
    const { arn } = world.aws.admin.putProfile({
      cluster: EKS_CLUSTER,
      name: BASE,
      podExecutionRoleArn: role.arn,
      selectors,
    });
    world.applyWith('web', { roleARN: `arn:aws:iam::${ACCOUNT}:role/everybodys`, adoptionPolicy: 'Always' });
    return { world, arn };
  }

  it('leaves the profile if it is deleted before the tag', async () => {
    const { world, arn } = startAdopting();
    world.aws.admin.addFault({ operation: 'TagResource', kind: '500-before' });
    world.start();
    await world.until('the request', () => world.mutations().some(({ operation }) => operation === 'TagResource'));
    world.delete('web');
    await world.gone('web');
    expect(arnsIn(world)).to.deep.equal([arn]);
    expect(world.eksChanges()).to.deep.equal([]);
    await world.finish();
  });

  for (const kind of ['500-after', 'no-answer-after'] as const)
    it(`takes the profile along if it is deleted after the tag, whose answer is lost (${kind})`, async () => {
      const { world } = startAdopting();
      world.aws.admin.addFault({ operation: 'TagResource', kind, times: 1 });
      const manager = world.start();
      const isTagged = (): boolean =>
        world.mutations().some(({ operation, applied }) => operation === 'TagResource' && applied);
      await world.until('the tag', isTagged);
      manager.kill();
      world.delete('web');
      world.start();
      await world.gone('web');
      expect(arnsIn(world)).to.deep.equal([]);
      await world.finish();
    });

  it('leaves the profile if it was restored without tag and record, and is deleted at once', async () => {
    const { world, arn } = startAdopting();
    world.change({ metadata: { finalizers: [FINALIZER] } });
    world.delete('web');
    world.start();
    await world.gone('web');
    expect(arnsIn(world)).to.deep.equal([arn]);
    await world.finish();
  });
});

describe('a replacement that EKS fails to create several times in a row', () => {
  it('uses one name, leaves no failed profile, and serves all the time', async () => {
    const world = new ReplaceableWorld();
    await world.startReplaceable();
    const gaps = gapsFromNow(world);
    world.aws.admin.planFailure({ operation: 'create', times: 5, issues: [] });
    let most = 0;
    world.onChange = () => (most = Math.max(most, world.names.length));
    await world.replaced();
    expect(world.names).to.deep.equal([REPLACEMENT]);
    expect(most, 'profiles at the same time').to.equal(2);
    const again = Array.from({ length: 5 }).flatMap(() => [`Delete ${REPLACEMENT}`, `Create ${REPLACEMENT}`]);
    expect(world.eksChanges()).to.deep.equal([FIRST_CREATE, `Create ${REPLACEMENT}`, ...again, FIRST_DELETE]);
    expect(gaps).to.deep.equal([]);
    await world.deleteAndFinish('web');
  });

  it('keeps the profile that serves if another spec fails each time, and the record is lost between', async () => {
    const world = new ReplaceableWorld();
    await world.startReplaceable();
    const gaps = gapsFromNow(world);
    world.aws.admin.planFailure({ operation: 'create', issues: [] });
    for (const [index, spec] of [OTHER, THIRD, { roleName: 'other-role' }].entries()) {
      world.change({ spec });
      await world.clock.advance(30 * MINUTE);
      world.managers.at(-1)?.kill();
      dropRecord(world);
      if (index % 2 === 1) world.patch(PLURAL, 'web', { status: null }, 'status');
      world.start();
    }
    await world.clock.advance(HOUR);
    expect(world.aws.admin.profiles().find(({ status }) => status === 'ACTIVE')?.name).to.equal(BASE);
    world.aws.admin.clearPlannedFailures();
    await world.until('the end', () => world.shown() === 'True/Ready' && world.names.length === 1, 12 * HOUR);
    expect(gaps).to.deep.equal([]);
    await world.deleteAndFinish('web');
  });
});
