import { expect } from 'chai';
import { keyOf } from 'controller-runtime/client';
import { VirtualClock } from 'controller-runtime/testing';
import { ClusterName, EksClusterName, ProfileName, RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { DELETE_FOR_MOVE_ANNOTATION, FINALIZER, PAUSED_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { ClusterQueueWait } from './cluster-queue.ts';
import { type ObjectParts, HERE, NOW, RECORDED, anObject } from './testing/builders.ts';
import { type TestClusterQueues, newClusterQueues } from './testing/cluster-queues.ts';

const PROD = EksClusterName.of('prod');
const QUEUE = `111122223333/eu-west-1/${PROD}`;

const profile = (name: string, { metadata, ...rest }: ObjectParts = {}): AWSFargateProfile =>
  anObject({ ...rest, metadata: { name, uid: `uid-of-${name}`, ...metadata } });
const createdAt = (hour: number) => ({ creationTimestamp: `2026-11-20T${`${hour}`.padStart(2, '0')}:00:00Z` });
const DELETED = { deletionTimestamp: '2026-11-21T03:00:00Z' };
const CREATED = { record: { in: HERE, profiles: [{ name: ProfileName.of('9999-team-a_a'), requestedAt: NOW }] } };
const SERVED = {
  record: { in: HERE, profiles: [{ name: ProfileName.of('team-a_a'), id: 'x', served: true }] },
} as const;
const deleted = (name: string, hour = 10): AWSFargateProfile =>
  profile(name, {
    metadata: { ...createdAt(hour), ...DELETED },
    record: { in: HERE, profiles: [{ name: ProfileName.of(`team-a_${name}`), id: 'x' }] },
  });
/** Returns an object with spec.eksCluster instead of spec.clusterName. */
const joined = (name: string, region: string, identity?: string, kind = 'Role'): AWSFargateProfile => ({
  ...profile(name),
  spec: {
    eksCluster: {
      name: PROD,
      region,
      ...(identity !== undefined && { identityRef: { kind: `AWSCluster${kind}Identity`, name: identity } }),
    },
    selectors: [{ namespace: 'web' }],
  },
});
const provisioned = (profileStatus?: string): ObjectParts => ({
  status: { initialization: { provisioned: true }, ...(profileStatus !== undefined && { profileStatus }) },
});

describe('ClusterQueues', () => {
  let clock: VirtualClock;
  let world: TestClusterQueues;
  let clusterQueues: TestClusterQueues['clusterQueues'];

  beforeEach(() => {
    clock = new VirtualClock();
    world = newClusterQueues(clock);
    ({ clusterQueues } = world);
  });

  const take = (object: AWSFargateProfile, queueKey = QUEUE): ClusterQueueWait | undefined =>
    clusterQueues.take(
      queueKey,
      object,
      `team-a_${object.metadata.name}`,
      object.metadata.deletionTimestamp === undefined ? 'being created' : 'being deleted',
    );
  const describeWait = (wait: ClusterQueueWait | undefined): string => {
    if (wait === undefined) return 'go';
    if (wait.kind === 'closed') return `closed for ${wait.remaining}`;
    return `${wait.ahead} is ${wait.doing}${wait.isForeign ? ', as a foreign change' : ''}`;
  };
  const turnOf = (object: AWSFargateProfile, queueKey = QUEUE): string => {
    const wait = take(object, queueKey);
    if (wait === undefined) clusterQueues.release(queueKey, object);
    return describeWait(wait);
  };
  /**
   * Returns three objects that wait for their first profile, in their order, and forgets which objects they have woken.
   */
  function putThree(): readonly [AWSFargateProfile, AWSFargateProfile, AWSFargateProfile] {
    const three = [world.put(profile('a')), world.put(profile('b')), world.put(profile('c'))] as const;
    world.woken.length = 0;
    return three;
  }
  const wokenBy = (change: () => void): readonly string[] => {
    world.woken.length = 0;
    change();
    return world.woken;
  };

  describe('order the objects of a cluster', () => {
    /** Returns the names of the objects that come before a young object, in order. */
    function order(objects: readonly AWSFargateProfile[]): string {
      for (const object of objects) world.put(object);
      const { spec } = objects.at(-1) ?? profile('z');
      const young = world.put({ ...profile('z', { metadata: createdAt(23) }), spec });
      const names: string[] = [];
      for (;;) {
        const wait = take(young);
        if (wait?.kind !== 'wait') return names.join(' ');
        const first = objects.find(({ metadata }) => wait.ahead.endsWith(`team-a_${metadata.name}`));
        if (first === undefined || names.length > objects.length) return expect.fail(`behind ${wait.ahead}`);
        names.push(first.metadata.name);
        world.remove(first);
      }
    }
    const rows: readonly (readonly [string, readonly AWSFargateProfile[], string])[] = [
      [
        'older ones first',
        [profile('a', { metadata: createdAt(12) }), profile('b', { metadata: createdAt(11) })],
        'b a',
      ],
      ['by name within a second', [profile('b'), profile('c'), profile('a')], 'a b c'],
      ['deletions before older creates', [profile('a', { metadata: createdAt(9) }), deleted('b')], 'b a'],
      ['the deletion of an older one first', [deleted('a', 12), deleted('b', 11)], 'b a'],
      ['with one whose profile is gone', [profile('a', provisioned()), profile('b')], 'a b'],
      [
        'with one whose profile is replaced',
        [profile('a', { ...provisioned('ACTIVE'), ...CREATED }), profile('b')],
        'a b',
      ],
      [
        'with one that never was in order',
        [profile('a', { status: { profileStatus: 'ACTIVE' } }), profile('b')],
        'a b',
      ],
      ['with one whose profile has failed', [profile('a', provisioned('CREATE_FAILED')), profile('b')], 'a b'],
      ['without one that has its profile', [profile('a', { ...provisioned('ACTIVE'), ...SERVED }), profile('b')], 'b'],
      [
        'with a deletion whose record has a profile',
        [profile('a', { metadata: DELETED, ...SERVED }), profile('b')],
        'a b',
      ],
      [
        'with a deletion whose status has a profile',
        [profile('a', { metadata: DELETED, status: { profileARN: 'arn' } }), profile('b')],
        'a b',
      ],
      ['without a deletion that has nothing in EKS', [profile('a', { metadata: DELETED }), profile('b')], 'b'],
      [
        'without a deletion that is not ours to end',
        [
          profile('a', { metadata: { ...DELETED, finalizers: [FINALIZER.replace('aws', 'xyz')] }, ...CREATED }),
          profile('b'),
        ],
        'b',
      ],
      ...[PAUSED_ANNOTATION, DELETE_FOR_MOVE_ANNOTATION].map(
        (key) =>
          [
            `without one that has ${key}`,
            [profile('a', { metadata: { annotations: { [key]: '' } } }), profile('b')],
            'b',
          ] as const,
      ),
      [
        'without those of another cluster',
        [profile('a', { spec: { clusterName: ClusterName.of('other') } }), profile('b')],
        'b',
      ],
      [
        'without those of an EKS cluster of the same name in another region',
        [joined('a', 'eu-west-1'), joined('b', 'us-east-1')],
        'b',
      ],
      [
        'without those of an EKS cluster of the same name that another identity reaches, perhaps in another account',
        [
          joined('a', 'eu-west-1', 'theirs'),
          joined('aa', 'eu-west-1', 'ours', 'Static'),
          joined('b', 'eu-west-1', 'ours'),
        ],
        'b',
      ],
    ];
    for (const [how, objects, expected] of rows) it(how, () => expect(order(objects)).to.equal(expected));

    it('without one that something other than its turn has stopped', () => {
      world.stopped.add('a');
      expect(order([profile('a'), profile('b')])).to.equal('b');
    });

    it('without one that cannot be decoded, before and after the order is known', () => {
      const odd = { clusterName: 'prod', selectors: 7 };
      world.store.upsert({ ...profile('odd'), spec: odd });
      const first = world.put(profile('a'));
      world.store.upsert({ ...first, metadata: { ...first.metadata, resourceVersion: '900' }, spec: odd });
      expect(order([])).to.equal('');
    });
  });

  describe('give one turn at a time', () => {
    it('to the first alone, until the turn is released', () => {
      const [a, b, c] = putThree();
      expect(turnOf(b)).to.equal('team-a_a is next in turn');
      expect(take(a)).to.equal(undefined);
      expect(turnOf(c)).to.equal('team-a_a is being created');
      expect(take(a), 'once more').to.equal(undefined);
      clusterQueues.release(QUEUE, c);
      expect(turnOf(c), 'after a release by another object').to.equal('team-a_a is being created');
      clusterQueues.release(QUEUE, a);
      expect(turnOf(a)).to.equal('go');
    });

    it('and one in each EKS cluster', () => {
      const [a, b] = putThree();
      take(a);
      world.stopped.add('a');
      expect(turnOf(b, '111122223333/eu-west-1/staging')).to.equal('go');
    });

    it('to the next object when the first has left or stopped, and no event has reported this', () => {
      const [a, b, c] = putThree();
      expect(turnOf(b)).to.equal('team-a_a is next in turn');
      const lookup = world.store.lookup(keyOf(a));
      if (lookup.kind === 'found') world.store.remove(lookup.object);
      expect(turnOf(b)).to.equal('go');
      world.stopped.add('b');
      expect(turnOf(c)).to.equal('go');
      expect(turnOf(b), 'an older one that tries again').to.equal('go');
      world.store.upsert({ ...c, metadata: { ...c.metadata, uid: 'of another', resourceVersion: '900' } });
      expect(turnOf(profile('d')), 'behind one that was recreated under its name').to.equal('team-a_c is next in turn');
    });

    it('to an object that is at rest for the queue, as soon as the queue is free', () => {
      const [a] = putThree();
      const atRest = world.put(profile('y', provisioned('ACTIVE')));
      expect(turnOf(atRest)).to.equal('go');
      const ofNoCluster = world.put({ ...profile('x'), spec: { selectors: [] } });
      expect(turnOf(ofNoCluster)).to.equal('go');
      take(a);
      for (const each of [atRest, ofNoCluster]) expect(turnOf(each)).to.equal('team-a_a is being created');
    });
  });

  describe('tell what EKS is changing', () => {
    it('until a reconcile has seen the end; the profile itself passes', () => {
      const [a, b] = putThree();
      take(a);
      clusterQueues.saw(QUEUE, 'team-a_a', 'being created', a);
      clusterQueues.release(QUEUE, a);
      expect([turnOf(a), turnOf(b)]).to.deep.equal(['go', 'team-a_a is being created']);
      clusterQueues.sawNoChange(QUEUE, 'team-a_other', a);
      world.remove(a);
      expect(turnOf(b)).to.equal('team-a_a is being created');
      clusterQueues.sawNoChange(QUEUE, 'team-a_a', a);
      expect(turnOf(b)).to.equal('go');
    });

    it("as another client's change, until a reconcile of the profile's object has seen the change", () => {
      const [a, b] = putThree();
      clusterQueues.saw(QUEUE, 'team-a_b', 'being deleted');
      expect(turnOf(a)).to.equal('team-a_b is being deleted, as a foreign change');
      clusterQueues.saw(QUEUE, 'team-a_b', 'being deleted', b);
      clusterQueues.saw(QUEUE, 'team-a_b', 'being deleted');
      expect(turnOf(a)).to.equal('team-a_b is being deleted');
      clusterQueues.saw(QUEUE, 'theirs', 'being created');
      expect(turnOf(a), 'the newest answer counts').to.equal('theirs is being created, as a foreign change');
    });

    it("as another client's change again, once no reconcile watches the change", () => {
      const [a, b] = putThree();
      clusterQueues.saw(QUEUE, 'team-a_a', 'being created', a);
      world.stop(a);
      expect(turnOf(b)).to.equal('team-a_a is being created');
      expect(wokenBy(() => clusterQueues.abandon(keyOf(b)))).to.deep.equal([]);
      expect(wokenBy(() => clusterQueues.abandon(keyOf(a)))).to.deep.equal(['b first', 'c second']);
      expect(turnOf(b)).to.equal('team-a_a is being created, as a foreign change');
    });

    it('as long as the change is seen again within 35 s', async () => {
      const [a, b] = putThree();
      world.remove(a);
      for (let poll = 0; poll < 5; poll++) {
        clusterQueues.saw(QUEUE, 'team-a_a', 'being created', a);
        await clock.advance(34_999);
        expect(turnOf(b)).to.equal('team-a_a is being created');
      }
      await clock.advance(1);
      expect(turnOf(b)).to.equal('go');
    });
  });

  it('learn of the change of another client from a survey, unless they know of a newer change', () => {
    const [a] = putThree();
    const survey = () => clusterQueues.compare(QUEUE, a, [{ name: ProfileName.of('theirs'), status: 'CREATING' }], []);
    survey();
    expect(turnOf(a)).to.equal('theirs is being created, as a foreign change');
    clusterQueues.saw(QUEUE, 'team-a_b', 'being deleted', profile('b'));
    survey();
    expect(turnOf(a)).to.equal('team-a_b is being deleted');
  });

  it('give no turn while EKS updates the cluster', async () => {
    const [a] = putThree();
    clusterQueues.close(QUEUE, 15_000, 'busy');
    clusterQueues.close(QUEUE, 1_000, 'busy');
    await clock.advance(4_000);
    expect(turnOf(a)).to.equal('closed for 11000');
    await clock.advance(11_000);
    expect(turnOf(a)).to.equal('go');
  });

  describe('end a reconcile before AWS is asked', () => {
    const aheadOf = (object: AWSFargateProfile): string => describeWait(clusterQueues.findAhead(QUEUE, object));

    it('of each object after the second', () => {
      const [a, b, c] = putThree();
      expect([a, b, c].map(aheadOf)).to.deep.equal(['go', 'go', 'team-a_a is next in turn']);
      clusterQueues.saw(QUEUE, 'theirs', 'being created');
      expect(aheadOf(c), 'the first asks EKS about a foreign change').to.equal('theirs is being created');
      clusterQueues.sawNoChange(QUEUE, 'theirs', a);
      take(a);
      expect(aheadOf(c)).to.equal('team-a_a is being created');
      clusterQueues.close(QUEUE, 1_000, 'busy');
      expect(aheadOf(c)).to.equal('closed for 1000');
    });

    it('of the second as soon as it has nothing to prepare', () => {
      const [a, b] = putThree();
      expect(aheadOf(b), 'its role').to.equal('go');
      const prepared = { record: { roles: [{ name: RoleName.of('r'), id: 'AROAEXAMPLE' }] } };
      expect(aheadOf(world.put(profile('b', prepared)))).to.equal('team-a_a is next in turn');
      world.remove(a);
      expect(aheadOf(world.put(profile('b', prepared))), 'it is the first now').to.equal('go');
      const [first, second] = [world.put(deleted('y')), world.put(deleted('z'))];
      expect([first, second].map(aheadOf)).to.deep.equal(['go', 'team-a_y is next in turn']);
    });

    it("of the first object while it only waits, unless it has to ask EKS about another client's change", () => {
      const [a] = putThree();
      const first = world.put(profile('a', { record: { roles: [{ name: RoleName.of('r'), id: 'AROAEXAMPLE' }] } }));
      clusterQueues.saw(QUEUE, 'team-a_b', 'being created', profile('b'));
      expect(aheadOf(a), 'its role').to.equal('go');
      expect(aheadOf(first)).to.equal('team-a_b is being created');
      clusterQueues.saw(QUEUE, 'theirs', 'being created');
      expect(aheadOf(first)).to.equal('go');
    });

    it('but not of an object that does not wait for a turn', () => {
      const [, , c] = putThree();
      world.stopped.add('c');
      expect(aheadOf(c), 'it looks whether its problem is over').to.equal('go');
      expect(aheadOf(world.put(profile('y', provisioned('ACTIVE'))))).to.equal('go');
    });

    it('nor of the object that EKS is changing', () => {
      const [, , c] = putThree();
      clusterQueues.saw(QUEUE, 'team-a_c', 'being created', c);
      expect(aheadOf(c)).to.equal('go');
      const status = { profileName: ProfileName.of('team-a_z'), profileStatus: 'CREATING' };
      expect(aheadOf(world.put(profile('z', { status }))), 'after a start').to.equal('go');
      const requested = profile('y', {
        record: { in: HERE, profiles: [{ name: ProfileName.of('team-a_y'), requestedAt: NOW }] },
      });
      expect(aheadOf(world.put(requested)), 'after a start, before status tells').to.equal('go');
    });

    it('nor while the objects are not listed', () => {
      const [, , c] = putThree();
      world.store.markUnknown({ reason: 'the kind is not served' });
      expect(aheadOf(c)).to.equal('go');
    });
  });

  it('compare each object with only a few others, however many objects ask for a turn and change', () => {
    const run = (count: number): number => {
      const many = newClusterQueues(clock);
      const objects = Array.from({ length: count }, (_, index) => profile(`${2 * count - index}`)).map(many.put);
      for (const object of objects) {
        many.clusterQueues.findAhead(QUEUE, object);
        many.put({ ...object, status: RECORDED });
        many.stop(object);
        many.stop(object, false);
        many.clusterQueues.take(QUEUE, object, 'team-a_x', 'being created');
        many.clusterQueues.release(QUEUE, object);
      }
      return many.questions();
    };
    expect(run(1_000)).to.be.at.most(3 * run(500));
  });

  it('inspect only a few of many stopped objects, and let the object behind them proceed', () => {
    const many = newClusterQueues(clock);
    for (let index = 0; index < 1_000; index++) {
      const object = profile(`a-${index}`);
      many.stopped.add(object.metadata.name);
      many.put(object);
    }
    const last = many.put(profile('last'));
    const before = many.questions();
    expect(many.clusterQueues.findAhead(QUEUE, last)).to.equal(undefined);
    expect(many.questions() - before).to.be.at.most(50);
  });

  describe('wake', () => {
    const rows: readonly (readonly [string, readonly string[], (objects: ReturnType<typeof putThree>) => void])[] = [
      ['a deletion, which goes before the others', ['d first'], () => world.put(deleted('d'))],
      ['an older object, which goes before the others', ['0 first'], () => world.put(profile('0'))],
      ['a new object that is second', ['aa second'], () => world.put(profile('aa'))],
      ['nobody for a new object that is last', [], () => world.put(profile('z'))],
      ['nobody when only the status of the first has changed', [], ([a]) => world.put({ ...a, status: RECORDED })],
      ['first and second when the first is gone', ['b first', 'c second'], ([a]) => world.remove(a)],
      [
        'first and second when the first cannot be decoded any more',
        ['b first', 'c second'],
        ([a]) => world.put({ ...a, spec: JSON.parse('{"selectors": 7}') as AWSFargateProfile['spec'] }),
      ],
      ['the new second when the second is gone', ['c second'], ([, b]) => world.remove(b)],
      ['nobody when the third is gone', [], ([, , c]) => world.remove(c)],
      [
        'first and second when something stops the first',
        ['b first', 'c second'],
        ([a]) => {
          world.stop(a);
        },
      ],
      [
        'the new second alone when EKS makes the change of the first',
        ['c second'],
        ([a]) => {
          clusterQueues.saw(QUEUE, 'team-a_a', 'being created', a);
          world.stop(
            world.put({ ...a, status: { profileName: ProfileName.of('team-a_a'), profileStatus: 'CREATING' } }),
          );
        },
      ],
      [
        'first and second when a deleted object loses its finalizer, although its status still shows the deletion in EKS',
        ['b first', 'c second'],
        () => {
          const status = { profileName: ProfileName.of('team-a_a'), profileStatus: 'DELETING' };
          const leaving = world.put({ ...deleted('a'), status });
          world.woken.length = 0;
          world.put({ ...leaving, metadata: { ...leaving.metadata, finalizers: [] } });
        },
      ],
      [
        'the third as first, if the second has stopped without a word',
        ['c first'],
        ([a]) => {
          clusterQueues.saw(QUEUE, 'team-a_a', 'being created', a);
          world.put({ ...a, status: { profileStatus: 'CREATING' } });
          world.stopped.add('b');
          world.stop(a);
        },
      ],
      [
        'first and second when EKS has ended the change of the first, which status still shows',
        ['b first', 'c second'],
        ([a]) => {
          world.stopped.add('a');
          world.put({ ...a, status: { profileStatus: 'DELETING' } });
          clusterQueues.saw(QUEUE, 'team-a_a', 'being deleted', a);
          clusterQueues.sawNoChange(QUEUE, 'team-a_a', a);
        },
      ],
      [
        'first and second when the first has its profile',
        ['b first', 'c second'],
        ([a]) => world.put(profile(a.metadata.name, provisioned('ACTIVE'))),
      ],
      [
        'first and second when the first is recreated under its name',
        ['b second', 'a first'],
        ([a]) => world.put({ ...a, metadata: { ...a.metadata, uid: 'x' } }),
      ],
    ];
    for (const [whom, woken, change] of rows)
      it(whom, () => {
        const objects = putThree();
        expect(wokenBy(() => change(objects))).to.deep.equal(woken);
      });

    it('the first object of a cluster, and the second', () => {
      for (const name of ['a', 'b']) world.put(profile(name));
      expect(world.woken).to.deep.equal(['a first', 'b second']);
    });

    it('nobody whose reconcile goes on, until it is told to wait or its reconcile ends', () => {
      const [a, b] = putThree();
      clusterQueues.beginReconcile(b);
      expect(wokenBy(() => world.remove(a))).to.deep.equal(['c second']);
      const first = world.put(a);
      expect(turnOf(b)).to.equal('team-a_a is next in turn');
      expect(wokenBy(() => world.remove(first))).to.deep.equal(['b first', 'c second']);
      const again = world.put(a);
      clusterQueues.beginReconcile(b);
      clusterQueues.endReconcile(b);
      expect(wokenBy(() => world.remove(again))).to.deep.equal(['b first', 'c second']);
    });

    it('nobody for objects that were put into the cache without a word, until one of the first two changes', () => {
      for (const name of ['c', 'b', 'a']) world.store.upsert(profile(name));
      expect(world.woken).to.deep.equal([]);
      world.put(profile('a', provisioned('ACTIVE')));
      expect(world.woken).to.deep.equal(['b first', 'c second']);
    });

    it('first and second when EKS has ended a change, but not the object whose reconcile sees it', () => {
      const [a, b, c] = putThree();
      clusterQueues.saw(QUEUE, 'team-a_c', 'being created', c);
      turnOf(b);
      expect(wokenBy(() => clusterQueues.sawNoChange(QUEUE, 'team-a_other', c))).to.deep.equal([]);
      expect(wokenBy(() => clusterQueues.sawNoChange(QUEUE, 'team-a_c', c))).to.deep.equal(['a first', 'b second']);
      clusterQueues.saw(QUEUE, 'team-a_a', 'being deleted', a);
      expect(wokenBy(() => clusterQueues.sawNoChange(QUEUE, 'team-a_a', a))).to.deep.equal(['b second']);
    });

    it('nobody when EKS has ended a change while a reconcile has the turn', () => {
      const [a, b] = putThree();
      take(a);
      turnOf(b);
      clusterQueues.saw(QUEUE, 'theirs', 'being deleted');
      expect(wokenBy(() => clusterQueues.sawNoChange(QUEUE, 'theirs', b))).to.deep.equal([]);
    });

    it('first and second when a turn ends without a change, and nobody while EKS makes the change', () => {
      const [a, b] = putThree();
      const sibling = world.put(deleted('d'));
      take(sibling);
      turnOf(b);
      world.stop(sibling);
      expect(wokenBy(() => clusterQueues.release(QUEUE, sibling))).to.deep.equal(['a first', 'b second']);
      take(a);
      clusterQueues.saw(QUEUE, 'team-a_a', 'being created', a);
      world.remove(a);
      expect(wokenBy(() => clusterQueues.release(QUEUE, a))).to.deep.equal([]);
    });

    it('the first two of all clusters that name the same EKS cluster, once AWS has confirmed it', () => {
      const [a] = putThree();
      world.put(joined('unconfirmed', 'eu-west-1'));
      const confirmed = world.put({
        ...joined('confirmed', 'eu-west-1'),
        status: { ...RECORDED, eksClusterName: PROD },
      });
      clusterQueues.saw(QUEUE, 'theirs', 'being deleted');
      expect([turnOf(confirmed), turnOf(a)]).to.deep.equal(
        Array(2).fill('theirs is being deleted, as a foreign change'),
      );
      expect(wokenBy(() => clusterQueues.sawNoChange(QUEUE, 'theirs', a))).to.deep.equal([
        'b second',
        'confirmed first',
      ]);
      clusterQueues.saw(QUEUE, 'theirs', 'being deleted');
      expect(wokenBy(() => clusterQueues.sawNoChange(QUEUE, 'theirs', confirmed))).to.deep.equal([
        'unconfirmed second',
      ]);
    });
  });

  it('forget the queue that was used longest ago, beyond 10,000 queues', () => {
    const [a] = putThree();
    for (let index = 0; index <= 10_000; index++) clusterQueues.saw(`cluster ${index}`, 'theirs', 'being created');
    expect(turnOf(a, 'cluster 0')).to.equal('go');
    expect(turnOf(a, 'cluster 2')).to.equal('theirs is being created, as a foreign change');
  });
});
