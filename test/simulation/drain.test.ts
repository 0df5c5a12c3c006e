import { expect } from 'chai';
import { fieldAt } from 'controller-runtime/json';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { HOUR, MINUTE, SECOND } from './world/cluster.ts';
import { itIn } from './world/it.ts';
import { recordedIn } from './world/records.ts';
import { BASE as OLD, REPLACEMENT as NEW, ReplaceableWorld } from './world/replaceable-world.ts';

const WEB = { kind: 'ReplicaSet', name: 'web-7d9c' };
const BUDGET = 'The disruption budget web needs 2 healthy pods and has 2 currently';

const strategy = (replace: object): object => ({ updateStrategy: { type: 'Replace', replace } });

/**
 * A world whose object `web` is Ready, with a workload cluster whose pods start on the first ACTIVE profile by name.
 */
class DrainingWorld extends ReplaceableWorld {
  async startWith(replace: object, pods: Readonly<Record<string, number>> = { ReplicaSet: 3 }): Promise<void> {
    this.workload.takerOf = () => this.active()[0] ?? '';
    this.start();
    this.applyWith('web', strategy(replace));
    await this.ready('web');
    for (const [kind, count] of Object.entries(pods))
      for (let i = 0; i < count; i++)
        this.workload.create({ namespace: 'app', owner: kind === 'none' ? undefined : { ...WEB, kind } });
    await this.clock.advance(2 * SECOND);
  }

  active(): readonly string[] {
    return this.aws.admin
      .profiles()
      .filter(({ status }) => status === 'ACTIVE')
      .map(({ name }) => name)
      .toSorted();
  }

  /** Replaces the profile: the new one has the same selectors and one more. */
  replace(spec: object = {}): void {
    const selectors = [{ namespace: 'app' }, { namespace: 'more' }];
    this.patch(PLURAL, 'web', { spec: { selectors, ...spec } });
  }

  drainSince(): unknown {
    return recordedIn(this.profile('web'), 'profiles').find(({ name }) => name === OLD)?.['drainSince'];
  }

  get message(): string {
    return this.condition('web')?.message ?? '';
  }

  async drained(): Promise<void> {
    await this.until('the old profile gone', () => this.eksProfile('web') === undefined, 30 * HOUR);
    await this.shows('True/Ready');
  }
}

const it = itIn(() => new DrainingWorld());

describe('a drain', () => {
  it('moves the pods to the new profile before the old one is deleted, and reports each step', async (world) => {
    await world.startWith({ drainTimeout: '10m' });
    world.replace();
    await world.reason('web', 'PredecessorKept');
    expect(world.message).to.match(
      / replaces "default_web", which the controller drains at [-0-9T:]+Z, for at most 10m, and then deletes\. The pods of "default_web" do not start on "9999-default_web", because no pod can match both\. /,
    );
    await world.reason('web', 'Draining');
    expect(world.shown()).to.equal('True/Draining');
    expect(world.condition('web', 'Reconciling')?.status).to.equal('False');
    expect(world.condition('web', 'Stalled')?.status).not.to.equal('True');
    expect(world.message).to.match(
      /^The controller is evicting 3 of 3 pods from Fargate profile "default_web", which "9999-default_web" has replaced\. The controller tries again every 10 seconds, and deletes "default_web" at \S+Z at the latest; EKS then stops the remaining pods\.$/,
    );
    await world.drained();
    expect(world.workload.on(NEW)).to.have.length(3);
    expect(world.workload.evicted).to.have.length(3);
    expect(world.eventMessages('StartedDrain')).to.have.length(1);
    expect(world.eventMessages('EndedDrain')).to.deep.equal([
      'No pod of EKS fargate profile default_web is left that can move to 9999-default_web. With the profile, EKS stops 0 pods',
    ]);
    await world.deleteAndFinish('web');
    expect(world.problems()).to.deep.equal([]);
  });

  it('waits for a PodDisruptionBudget, quotes it, and ends at the timeout with an event that names the pods', async (world) => {
    await world.startWith({ drainTimeout: '5m' });
    world.workload.refusalOf = () => BUDGET;
    world.replace();
    await world.reason('web', 'Draining');
    const began = world.clock.now();
    expect(world.message).to.contain(
      ', but the API server refuses to evict app/web-7d9c-0001 and 2 more. If a PodDisruptionBudget never allows',
    );
    expect(world.message).to.contain(
      ` The API server says: Cannot evict pod as it would violate the pod's disruption budget. ${BUDGET}.`,
    );
    await world.clock.advance(2 * MINUTE);
    expect(world.eksProfile('web')?.status).to.equal('ACTIVE');
    await world.drained();
    expect(world.clock.now() - began).to.be.within(5 * MINUTE - 10 * SECOND, 6 * MINUTE);
    expect(world.eventMessages('DrainTimedOut')).to.deep.equal([
      'The time to drain EKS fargate profile default_web is over (spec.updateStrategy.replace.drainTimeout), and 3 pods have not moved to 9999-default_web. With the profile, EKS stops 3 pods: app/web-7d9c-0001, app/web-7d9c-0002, app/web-7d9c-0003',
    ]);
  });

  it('tries every 10 seconds although AWS denies a change of the tags', async (world) => {
    await world.startWith({ drainTimeout: '5m' });
    world.workload.refusalOf = () => BUDGET;
    world.aws.admin.deny({ principal: '*', action: 'eks:TagResource' });
    world.replace();
    await world.reason('web', 'PredecessorKept');
    world.patch(PLURAL, 'web', { spec: { additionalTags: { team: 'web' } } });
    await world.shows('True/Draining');
    const [began, { requests }] = [world.clock.now(), world.workload];
    await world.shows('True/AccessDenied', 'Stalled');
    await world.clock.advance(4 * MINUTE);
    // Each attempt lists the pods once, and tries to evict each of the three.
    expect((world.workload.requests - requests) / 4).to.be.within(20, 25);
    const attempts = world.operations().filter((operation) => operation === 'TagResource');
    expect(attempts.length, 'attempts to change the tags').to.be.within(3, 4);
    world.workload.refusalOf = () => undefined;
    await world.until('the old profile gone', () => world.eksProfile('web') === undefined, HOUR);
    expect(world.clock.now() - began, 'the time until the pods have moved').to.be.below(6 * MINUTE);
    expect(world.workload.on(NEW)).to.have.length(3);
    expect(world.eventMessages('DrainTimedOut')).to.deep.equal([]);
    world.aws.admin.allow();
    await world.drained();
  });

  for (const [mood, said] of [
    ['unauthorized', "does not accept the controller's AWS identity. Give this identity an access entry"],
    [
      'forbidden',
      'says: pods is forbidden: User "capaf" cannot list resource "pods". Allow the controller to list pods and to create pods/eviction',
    ],
    ['silent', 'does not respond: the list of pods: no result within 15 s. Check that'],
    ['endless', 'returns an invalid response: listing pods: there are more than 10000 pods. Check what answers'],
    ['huge', 'does not respond: listing pods: no answer: the response has more than 4194304 bytes. Check that'],
    ['wrong', 'returns an invalid response: listing pods: labels.app: '],
  ] as const)
    it(`says what is wrong with an API server that is ${mood}, and deletes the profile at the timeout`, async (world) => {
      await world.startWith({ drainTimeout: '1m' });
      world.workload.mood = mood;
      world.replace();
      await world.reason('web', 'Draining');
      expect(world.message).to.contain(
        `The controller cannot evict the pods of Fargate profile "default_web", which "9999-default_web" has replaced: the API server of EKS cluster default_prod-control-plane ${said}`,
      );
      await world.drained();
      expect(world.workload.evicted).to.deep.equal([]);
      expect(world.eventMessages('DrainTimedOut')[0]).to.match(
        /drainTimeout\)\. How many pods EKS stops with the profile is not known: the API server of EKS cluster default_prod-control-plane/,
      );
    });

  for (const [webhook, what] of [
    ['denies', 'denies the evictions of a namespace'],
    ['hangs', 'does not answer for the pods of a namespace'],
  ] as const)
    it(`moves the pods of other namespaces although an admission webhook ${what}`, async (world) => {
      world.workload.webhookOf = ({ namespace }) => (namespace === 'app' ? webhook : undefined);
      await world.startWith({ drainTimeout: '10m' }, {});
      for (const namespace of [...Array<string>(12).fill('app'), ...Array<string>(20).fill('shop')])
        world.workload.create({ namespace, owner: WEB });
      await world.clock.advance(2 * SECOND);
      world.replace({ selectors: [{ namespace: 'app' }, { namespace: 'shop' }] });
      await world.reason('web', 'Draining');
      await world.clock.advance(5 * MINUTE);
      expect(world.workload.evicted.filter((pod) => pod.startsWith('shop/'))).to.have.length(20);
      expect(world.message).to.contain(webhook === 'denies' ? 'no disruption allowed' : 'does not respond');
      await world.drained();
    });

  it('continues when the API server of the workload cluster responds again', async (world) => {
    await world.startWith({ drainTimeout: '10m' });
    world.workload.mood = 'silent';
    world.replace();
    await world.reason('web', 'Draining');
    world.workload.mood = 'works';
    await world.drained();
    expect(world.workload.on(NEW)).to.have.length(3);
    expect(world.eventMessages('DrainTimedOut')).to.deep.equal([]);
  });

  it('does not delay other objects while the API server does not respond', async (world) => {
    await world.startWith({ drainTimeout: '10m' });
    world.workload.mood = 'silent';
    world.replace();
    await world.reason('web', 'Draining');
    const began = world.clock.now();
    world.apply('other');
    await world.ready('other');
    expect(world.clock.now() - began).to.be.below(40 * SECOND);
    expect(world.eksProfile('web')?.status).to.equal('ACTIVE');
  });

  it('evicts no pods while the object is paused, but its timeout keeps running', async (world) => {
    await world.startWith({ drainTimeout: '5m' });
    world.workload.refusalOf = () => BUDGET;
    world.replace();
    await world.reason('web', 'Draining');
    const since = world.drainSince();
    world.patch(PLURAL, 'web', { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } });
    world.workload.refusalOf = () => undefined;
    await world.clock.advance(6 * MINUTE);
    expect(world.workload.evicted).to.deep.equal([]);
    expect(world.eksProfile('web')?.status).to.equal('ACTIVE');
    expect(world.drainSince()).to.equal(since);
    world.patch(PLURAL, 'web', { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } });
    await world.drained();
    expect(world.eventMessages('DrainTimedOut')).to.have.length(1);
  });

  it('limits its requests despite frequent events, and applies a new timeout immediately', async (world) => {
    await world.startWith({ drainTimeout: '1h' });
    world.workload.refusalOf = () => BUDGET;
    world.replace();
    await world.reason('web', 'Draining');
    const { requests } = world.workload;
    for (let i = 0; i < 10; i++) {
      await world.clock.advance(SECOND);
      world.patch('clusters', 'prod', { metadata: { annotations: { touched: String(i) } } });
    }
    expect(world.workload.requests - requests).to.be.at.most(8);
    world.patch(PLURAL, 'web', { spec: { updateStrategy: { replace: { drainTimeout: '0s' } } } });
    await world.clock.advance(5 * SECOND);
    expect(world.eksProfile('web')?.status).not.to.equal('ACTIVE');
    await world.drained();
    expect(world.workload.evicted).to.deep.equal([]);
  });

  it('cannot move pods after a revert, because the former profile comes later by name, and says so', async (world) => {
    await world.startWith({ drainTimeout: '10m', keepPredecessorFor: '2m' });
    const selectors = fieldAt(world.profile('web')?.['spec'], 'selectors');
    world.replace();
    await world.reason('web', 'PredecessorKept');
    for (let i = 0; i < 2; i++) world.workload.create({ namespace: 'app', owner: WEB });
    world.patch(PLURAL, 'web', { spec: { selectors } });
    await world.until('the revert', () => world.message.includes(`"${OLD}" is ACTIVE and replaces "${NEW}"`), HOUR);
    expect(world.message).to.contain(
      'without a drain, because EKS would start them on "9999-default_web" again, whose name comes before "default_web"',
    );
    await world.until('the replacement gone', () => world.eksProfile('web', NEW) === undefined, HOUR);
    expect(world.workload.evicted).to.deep.equal([]);
    expect(world.eventMessages('EndedDrain')[0]).to.match(
      /^No pod of EKS fargate profile 9999-default_web was evicted, because .* EKS stops 2 pods: /,
    );
  });

  it('has at most ten requests in flight for 500 pods', async (world) => {
    await world.startWith({ drainTimeout: '10m' }, { ReplicaSet: 500 });
    world.replace();
    await world.drained();
    expect(world.workload.on(NEW)).to.have.length(500);
    expect(world.workload.mostInFlight).to.equal(10);
  });

  it('sends no requests to the workload cluster without drainTimeout, and describes the EKS cluster at most once', async (world) => {
    await world.startWith({});
    world.replace();
    await world.drained();
    expect(world.workload.requests).to.equal(0);
    const calls = world.aws.admin.calls().map(({ operation }) => operation);
    expect(calls.filter((operation) => operation === 'DescribeCluster').length).to.be.at.most(1);
  });
});
