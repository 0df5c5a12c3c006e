import { expect } from 'chai';
import { left, right } from 'fp-ts/lib/Either.js';
import type { Resource } from 'controller-runtime/client';
import { MemoryLogger, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import { type AWSFargateProfile, type Condition, PAUSED_ANNOTATION } from '../../api/v1beta2/index.ts';
import { Finisher } from './finish.ts';
import { goalFor } from './goal/goal.ts';
import type { ReconcileInputs } from './goal/inputs.ts';
import { newFindLiveBlocker, noLiveBlocker } from './guards/checks.ts';
import { findObstacle } from './guards/guards.ts';
import { newGuards } from './guards/guard-order.ts';
import { RetryStore } from './retry-state.ts';
import type { Execution } from './model/result.ts';
import { newReason } from './reasons/reasons.ts';
import { pausedStatus, statusAfter } from './report/status.ts';
import { newApi } from './testing/api.ts';
import { FULL_RECORD, NOW, aCluster, aDeletedObject, anObject, found, inputs } from './testing/builders.ts';
import { READY, conditionsOf, observedReconcile, ready } from './testing/completed-reconcile.ts';
import {
  CONSTRUCTIVE,
  CREATE_ROLE,
  DELETE_PROFILE,
  DELETE_ROLE,
  DESTRUCTIVE,
  describeObstacle,
} from './testing/mutations.ts';
import {
  QUEUE,
  aSimulatedRole,
  awsAsDesired,
  awsWith,
  newServices,
  reconcileStateFor,
} from './testing/reconcile-state.ts';

// These tests show what a pause does to one reconcile. test/simulation/pause.test.ts covers what a manager does when a
// pause begins and ends.

const BY_CLUSTER = 'Cluster spec.paused is set to true';
const BY_OBJECT = 'AWSFargateProfile has the cluster.x-k8s.io/paused annotation';
const annotated = (value = '') => ({ metadata: { annotations: { [PAUSED_ANNOTATION]: value } } });
const pausedCluster: Partial<ReconcileInputs> = { cluster: found(aCluster({ paused: true })) };

describe('the goal of a paused object is the end of the pause', () => {
  const UNREADABLE_RECORD = anObject({
    metadata: { annotations: { 'aws-fargate.cluster.x-k8s.io/record': '{"v":2}' } },
  });
  const rows: readonly (readonly [situation: string, given: Partial<ReconcileInputs>, by: readonly string[]])[] = [
    ['by its Cluster', pausedCluster, [BY_CLUSTER]],
    ['by its annotation, whatever its value', { object: anObject(annotated('false')) }, [BY_OBJECT]],
    ['by both', { ...pausedCluster, object: anObject(annotated()) }, [BY_CLUSTER, BY_OBJECT]],
    ['deleted', { ...pausedCluster, object: aDeletedObject({ record: FULL_RECORD }) }, [BY_CLUSTER]],
    [
      'deleted with Retain',
      { ...pausedCluster, object: aDeletedObject({ spec: { deletionPolicy: 'Retain' }, record: FULL_RECORD }) },
      [BY_CLUSTER],
    ],
    [
      'moved here while it was being deleted',
      { ...pausedCluster, object: anObject({ record: { ...FULL_RECORD, deleting: true } }) },
      [BY_CLUSTER],
    ],
    ['with a record that cannot be read', { ...pausedCluster, object: UNREADABLE_RECORD }, [BY_CLUSTER]],
  ];
  for (const [situation, given, by] of rows)
    it(situation, () => expect(goalFor(inputs(given))).to.deep.equal({ kind: 'paused', by }));
});

describe('a pause that the caches do not show yet', () => {
  const CLUSTERS: Resource = { group: 'cluster.x-k8s.io', version: 'v1beta2', plural: 'clusters' };
  const KEY = { namespace: 'team-a', name: 'prod' };
  const { signal } = new AbortController();
  type Api = ReturnType<typeof newApi>;

  const rows: readonly (readonly [
    when: string,
    blocker: string | undefined,
    make: (api: Api, object: AWSFargateProfile) => unknown,
    over?: Partial<Parameters<typeof newFindLiveBlocker>[0]>,
  ])[] = [
    ['no pause', undefined, (api) => api.putCluster()],
    ['a pause of the object', 'the object is paused', (api, object) => api.change(object, annotated())],
    ['a pause of the Cluster', 'the Cluster is paused', (api) => api.putCluster({ paused: true })],
    ['a Cluster that cannot be decoded', 'the Cluster cannot be read', (api) => api.putCluster({ paused: 'perhaps' })],
    ['no Clusters', 'Cluster objects cannot be read', () => {}, { clusters: () => undefined }],
    ['an unknown Cluster', 'not listed yet', () => {}, { clusterKeyOf: () => left('not listed yet') }],
    [
      'a pause of a Cluster to which the object does not belong',
      undefined,
      (api) => api.putCluster({ paused: true }),
      { clusterKeyOf: () => right(undefined) },
    ],
  ];
  for (const [when, blocker, make, over] of rows)
    it(`${blocker === undefined ? 'does not block' : 'blocks'} a deletion in AWS if the API server shows ${when}`, async () => {
      const api = newApi();
      const live = newFindLiveBlocker({
        client: api.client,
        clusters: () => CLUSTERS,
        clusterKeyOf: () => right(KEY),
        ...over,
      });
      const object = api.put();
      make(api, object);
      expect(await live(object, signal)).to.equal(blocker);
    });

  it('is looked for before each change that deletes something, and before no other', async () => {
    const leaving = reconcileStateFor(awsAsDesired(), aDeletedObject());
    const paused = noLiveBlocker(newServices({ findLiveBlocker: async () => 'the object is paused' }));
    for (const mutation of DESTRUCTIVE) {
      expect(describeObstacle(await paused(mutation, leaving)), mutation.kind).to.equal('stop: NotNow');
      expect(await noLiveBlocker(newServices())(mutation, leaving), mutation.kind).to.equal(undefined);
    }
    for (const mutation of CONSTRUCTIVE) expect(await paused(mutation, leaving), mutation.kind).to.equal(undefined);
  });

  for (const [what, mutation, slowStep] of [
    ['reads from EKS who uses the role', DELETE_ROLE, 'ListFargateProfiles'],
    ['asks EKS about the change of another client', DELETE_PROFILE, 'DescribeFargateProfile'],
  ] as const)
    it(`stops a deletion although it begins while the reconcile ${what}`, async () => {
      const reconcile = reconcileStateFor(awsWith(aSimulatedRole()), aDeletedObject());
      const hasBegun = (): boolean => reconcile.session.calls.some((call) => call.startsWith(slowStep));
      const findLiveBlocker = async () => (hasBegun() ? 'the object is paused' : undefined);
      const services = newServices({ findLiveBlocker });
      services.clusterQueues.saw(QUEUE, 'theirs', 'being created');
      expect(describeObstacle(await findObstacle(newGuards(services), mutation, reconcile))).to.equal('stop: NotNow');
    });
});

describe('the end of the reconcile of a paused object', () => {
  let events: string[] = [];
  let abandoned: string[] = [];
  beforeEach(() => ([events, abandoned] = [[], []]));

  const context = { logger: new MemoryLogger(), signal: new AbortController().signal };
  const newFinisher = (
    write: (object: AWSFargateProfile) => Promise<AWSFargateProfile | undefined>,
    blocker?: string,
  ): Finisher => {
    const clock = new VirtualClock();
    return new Finisher({
      competition: { withFewRivals: (_object, status) => status },
      clock,
      random: new SeededRandom(1),
      profileWriter: { patchStatus: write, patchMetadata: write, delete: async () => {} },
      clusterQueues: { reorder: () => {}, abandon: ({ name }) => void abandoned.push(name) },
      findLiveBlocker: async () => blocker,
      recordEvent: (_object, { reason }) => void events.push(reason),
      resync: 600_000,
      retryStore: new RetryStore(clock),
    });
  };

  it('takes no finalizer off, and records the events of the changes', async () => {
    const finisher = newFinisher(() => expect.fail('written'), 'the object is paused');
    const execution: Execution = {
      end: 'released',
      steps: [{ mutation: CREATE_ROLE, outcome: { kind: 'done' } }],
      notices: [],
      kept: [],
    };
    const result = { object: aDeletedObject(), end: 'released', execution } as const;
    expect(await finisher.finish(result, context)).to.include({ kind: 'after', reason: 'NotNow' });
    expect(events).to.deep.equal(['SuccessfulIAMRoleCreation']);
  });

  it("no longer counts on the object's reconciles to watch its changes in EKS", async () => {
    const end = await newFinisher(async (object) => object).pause(anObject(), ['the object'], context);
    expect(end).to.deep.equal({ kind: 'done' });
    expect(abandoned).to.deep.equal(['web']);
  });

  it('reports a rejection of the API server in an event, and writes nothing', async () => {
    const rejection = newReason('APIServerRefused', { message: 'forbidden', remedy: 'Apply the roles again' });
    await newFinisher(() => expect.fail('status was written')).finishRejected(anObject(), rejection, true, context);
    expect(events).to.deep.equal(['APIServerRefused']);
  });
});

describe('the status of a paused object', () => {
  it('keeps the earlier status, and sets Paused', () => {
    const status = pausedStatus(ready({ metadata: { generation: 5 } }), [BY_CLUSTER], NOW);
    const { conditions, ...rest } = status;
    const { conditions: before, ...restBefore } = READY;
    expect(rest, 'the generation is not observed').to.deep.equal({ ...restBefore, deletionPolicy: 'Delete' });
    const others = (list: readonly Condition[] = []) => list.filter(({ type }) => type !== 'Paused');
    expect(others(conditions)).to.deep.equal(others(before));
    expect(conditionsOf(status)['Paused']).to.equal('True / Paused');
  });

  it('shows the effective deletion policy, also of an object without a status', () => {
    const policyOf = (object: AWSFargateProfile) => pausedStatus(object, [BY_CLUSTER], NOW).deletionPolicy;
    expect(policyOf(anObject())).to.equal('Delete');
    expect(policyOf(anObject({ spec: { deletionPolicy: 'Retain' } }))).to.equal('Retain');
  });

  it('names what pauses the object', () => {
    expect(pausedStatus(anObject(), [BY_CLUSTER, BY_OBJECT], NOW).conditions).to.deep.equal([
      {
        type: 'Paused',
        status: 'True',
        observedGeneration: 1,
        reason: 'Paused',
        message: `${BY_CLUSTER}, ${BY_OBJECT}`,
        lastTransitionTime: '2026-11-21T03:25:00Z',
      },
    ]);
  });

  it('is followed by Paused False after the next reconcile', () => {
    const object = anObject({ status: pausedStatus(ready(), [BY_CLUSTER], NOW) });
    expect(conditionsOf(statusAfter(observedReconcile({ object })))).to.deep.include({ Paused: 'False / NotPaused' });
  });
});
