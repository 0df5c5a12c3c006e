import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { type Eviction, KubeError } from 'controller-runtime/client';
import type { ObjectMeta } from 'controller-runtime/schema';
import { ProfileName } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import type { ServerProblem } from '../../shared/workload-server.ts';
import type { Observed } from '../model/observed-state.ts';
import { HERE, NOW, PROFILE_ID, aProfile, aRole, observed } from '../testing/builders.ts';
import { awsAsDesired, newServices, reconcileStateFor } from '../testing/reconcile-state.ts';
import { living } from '../testing/plan-tables.ts';
import { drainPredecessor } from './drain-predecessor.ts';
import type { Obstacle, ReconcileState } from './guards.ts';

const [OLD, NEW] = [ProfileName.of('web'), ProfileName.of('9999-web')];
const REMOVAL = { kind: 'deleteProfile', name: OLD, because: 'replaced' } as const;
const MINUTE = 60_000;
const FORBIDDEN = new KubeError('no', { status: 403, reason: 'Forbidden', said: 'no' });
const UNKNOWN_CALLER = new KubeError('no', { status: 401, reason: 'Unauthorized', said: 'no' });

const profile = (name: ProfileName): FargateProfile =>
  aProfile({ name, arn: aProfile().arn.replace(PROFILE_ID, `id-of-${name}`) });
const SEEN: Observed = { ...observed({ role: aRole() }), profiles: [profile(OLD), profile(NEW)] };

const aPod = (name: string, over: Partial<ObjectMeta> = {}): ObjectMeta => ({
  name,
  namespace: SEEN.profiles[0]?.selectors[0]?.namespace ?? '',
  uid: `uid-of-${name}`,
  resourceVersion: '1',
  labels: SEEN.profiles[0]?.selectors[0]?.labels ?? {},
  creationTimestamp: '2001-01-01T00:00:00Z',
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'o', controller: true }],
  ...over,
});

function drainingReconcile(drainSince?: number): ReconcileState {
  const entries = [
    { name: OLD, id: `id-of-${OLD}`, served: true as const, ...(drainSince !== undefined && { drainSince }) },
    { name: NEW, id: `id-of-${NEW}`, served: true as const, activeSince: NOW - 60 * MINUTE },
  ];
  const updateStrategy = { type: 'Replace', replace: { drainTimeout: '10m' } } as const;
  const desired = living({ spec: { profileName: NEW, updateStrategy }, record: { in: HERE, profiles: entries } })(SEEN);
  return { ...reconcileStateFor(awsAsDesired()), desired, observed: SEEN, record: desired.record };
}

describe('the drain of a predecessor', () => {
  let evicted: string[];
  let recorded: (number | undefined)[];
  let lists: number;
  let closed: number;
  let counted: string[];
  let opened: E.Either<ServerProblem, undefined> | undefined;
  let pods: readonly ObjectMeta[] | Error;
  let answer: Eviction | Error;
  let takes: number;
  let opensAfter: number;
  let timeLeft: number;
  let blocker: string | undefined;
  let obstacleOfRecord: Obstacle | undefined;

  beforeEach(() => {
    [evicted, recorded, lists, closed] = [[], [], 0, 0];
    [counted, opened] = [[], undefined];
    pods = [aPod('a'), aPod('b')];
    answer = { kind: 'accepted' };
    [takes, opensAfter, timeLeft] = [0, 0, 10_000];
    [blocker, obstacleOfRecord] = [undefined, undefined];
  });

  const services = newServices();
  const guard = drainPredecessor({
    ...services,
    findLiveBlocker: async () => blocker,
    mutationTimeLeft: () => timeLeft,
    recordEviction: (kind) => void counted.push(kind),
    openPods: async () => {
      if (opensAfter > 0) await new Promise<void>((resolve) => services.clock.after(opensAfter, resolve));
      if (opened !== undefined) return opened;
      return E.right({
        async *list() {
          lists += 1;
          if (pods instanceof Error) throw pods;
          yield pods;
        },
        evict: async ({ name }) => {
          evicted.push(name);
          if (takes > 0) await new Promise<void>((resolve) => services.clock.after(takes, resolve));
          if (answer instanceof Error) throw answer;
          return answer;
        },
        close: async () => void (closed += 1),
      });
    },
    writeRecord: async (reconcile, record) => {
      expect(evicted, 'evicted before the record was written').to.deep.equal([]);
      recorded.push(record.profiles.find(({ name }) => name === OLD)?.drainSince);
      if (obstacleOfRecord === undefined) reconcile.record = record;
      return obstacleOfRecord;
    },
  });
  const drain = async (reconcile: ReconcileState): Promise<string> => {
    const obstacle = await guard(REMOVAL, reconcile);
    return obstacle === undefined ? 'delete' : obstacle.kind === 'stop' ? obstacle.reason.name : obstacle.kind;
  };

  it('writes the record with the time before the first eviction', async () => {
    const reconcile = drainingReconcile();
    expect(await drain(reconcile)).to.equal('Draining');
    expect({ evicted: evicted.toSorted(), recorded, closed }).to.deep.equal({
      evicted: ['a', 'b'],
      recorded: [NOW],
      closed: 1,
    });
    expect(reconcile.record.profiles.find(({ name }) => name === OLD)?.drainSince).to.equal(NOW);
  });

  for (const [situation, arrange, end] of [
    ['the object is paused', () => (blocker = 'the object is paused'), 'NotNow'],
    [
      'another client has written the object',
      () => (obstacleOfRecord = { kind: 'stop', reason: { name: 'Conflict', facts: {} } }),
      'Conflict',
    ],
    ['the lease may have run out', () => (timeLeft = 0), 'Draining'],
    ['no pod moves', () => (pods = [aPod('a', { ownerReferences: [] })]), 'delete'],
  ] as const)
    it(`evicts nothing if ${situation}`, async () => {
      arrange();
      expect(await drain(drainingReconcile())).to.equal(end);
      expect({ evicted, closed }).to.deep.equal({ evicted: [], closed: 1 });
    });

  it('announces its beginning once', async () => {
    const reconcile = drainingReconcile();
    expect(await guard(REMOVAL, reconcile)).to.have.nested.property('reason.facts.begins', true);
    for (const passed of [1_000, 10_000]) {
      evicted = [];
      await services.clock.advance(passed);
      expect(await guard(REMOVAL, reconcile)).to.not.have.nested.property('reason.facts.begins');
    }
  });

  it('reports refused evictions, and counts them', async () => {
    answer = { kind: 'refused', said: 'the budget needs it' };
    expect(await guard(REMOVAL, drainingReconcile())).to.have.deep.nested.property('reason.facts.refused', {
      pod: 'web/a',
      said: 'the budget needs it',
      others: 1,
    });
    expect(counted).to.deep.equal(['refused', 'refused']);
  });

  for (const [situation, arrange, problem] of [
    ['EKS does not show the cluster', () => (opened = E.left({ problem: 'denied', remedy: 'allow it' })), 'denied'],
    ['the pods cannot be listed', () => (pods = FORBIDDEN), 'says: no'],
    ['the API server rejects the credentials', () => (answer = UNKNOWN_CALLER), 'does not accept'],
  ] as const)
    it(`keeps the predecessor, and says why, if ${situation}`, async () => {
      arrange();
      expect(await guard(REMOVAL, drainingReconcile()))
        .to.have.nested.property('reason.facts.problem.problem')
        .that.contains(problem);
    });

  it('lets the deletion go on if the EKS cluster is gone', async () => {
    opened = E.right(undefined);
    expect(await drain(drainingReconcile())).to.equal('delete');
  });

  it('fails if the manager has a bug or is stopping, instead of reporting a problem', async () => {
    const stopping = { ...drainingReconcile(), signal: AbortSignal.abort() };
    expect(await guard(REMOVAL, stopping).catch(String)).to.contain('AbortError');
    answer = new TypeError('a bug');
    expect(await guard(REMOVAL, drainingReconcile()).catch(String)).to.equal('TypeError: a bug');
  });

  it('stops at the first answer that shows that the way in is closed', async () => {
    pods = Array.from({ length: 30 }, (_, index) => aPod(`p-${index}`));
    answer = UNKNOWN_CALLER;
    expect(await drain(drainingReconcile())).to.equal('Draining');
    expect(evicted).to.have.length(10);
  });

  it('leaves the pods of a slow API server that it does not reach to the next reconcile, which is no problem', async () => {
    pods = Array.from({ length: 40 }, (_, index) => aPod(`p-${index}`));
    takes = 2_500;
    const ended = guard(REMOVAL, drainingReconcile());
    await services.clock.advance(60_000);
    const obstacle = await ended;
    expect(evicted).to.have.length(20);
    expect(obstacle)
      .to.nested.include({ 'reason.name': 'Draining' })
      .and.not.to.have.nested.property('reason.facts.problem');
  });

  it('closes connections that open after the deadline', async () => {
    opensAfter = 20_000;
    const ended = guard(REMOVAL, drainingReconcile());
    await services.clock.advance(15_000);
    const obstacle = await ended;
    expect(obstacle).to.have.nested.property('reason.facts.problem').that.is.an('object');
    expect(closed).to.equal(0);
    await services.clock.advance(5_000);
    expect({ closed, lists, evicted }).to.deep.equal({ closed: 1, lists: 0, evicted: [] });
  });

  it('ends at its timeout, and tells the deletion what it leaves', async () => {
    const reconcile = drainingReconcile(NOW - 10 * MINUTE);
    expect(await drain(reconcile)).to.equal('delete');
    expect(reconcile.drained?.because).to.equal('timeout');
    expect(reconcile.drained?.stopped).to.deep.include({ count: 2, unmoved: 2 });
    expect({ evicted, recorded }).to.deep.equal({ evicted: [], recorded: [] });
  });
});
