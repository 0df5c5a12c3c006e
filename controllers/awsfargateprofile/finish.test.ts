import { expect } from 'chai';
import { KubeError } from 'controller-runtime/client';
import type { ReconcileContext, Requeue } from 'controller-runtime/controller';
import { MemoryLogger, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import { RoleArn } from '../../api/names.ts';
import { FIRST_RECORD, type ProfileRecord } from '../shared/record.ts';
import { observedAfter } from './model/observed-state.ts';
import { plan } from './plan/plan.ts';
import type { Execution, ReconcileResult } from './model/result.ts';
import { Finisher } from './finish.ts';
import { withWait, RetryStore } from './retry-state.ts';
import type { ReconcileEnd, Step } from './model/change.ts';
import { newReason } from './reasons/reasons.ts';
import {
  FULL_RECORD,
  PROFILE,
  aDeletedObject,
  aFailure,
  aRole,
  anObject,
  asDesired,
  desiredOf,
  observed,
} from './testing/builders.ts';
import { CREATE_PROFILE, CREATE_ROLE } from './testing/mutations.ts';

const ROLE_CREATED: Step = {
  mutation: CREATE_ROLE,
  outcome: { kind: 'done' },
};
const CREATE_CUT_OFF: Step = { ...ROLE_CREATED, outcome: { kind: 'failed', failure: aFailure({ code: 'NoAnswer' }) } };
const CREATING = newReason('Creating', { name: 'team-a_web' });

type Write = (object: AWSFargateProfile, status?: AWSFargateProfileStatus) => Promise<AWSFargateProfile | undefined>;

const newContext = (signal: AbortSignal = new AbortController().signal): ReconcileContext => ({
  logger: new MemoryLogger(),
  signal,
});

const connectionReset = new Error('the connection was reset');

describe('Finisher', () => {
  const clock = new VirtualClock();
  let retryStore: RetryStore;
  let recordedEvents: string[];
  let reordered: string[] = [];
  let abandoned: string[] = [];
  beforeEach(() => {
    retryStore = new RetryStore(clock);
    recordedEvents = [];
    reordered = [];
    abandoned = [];
  });

  const newFinisher = (write: Write, blocker?: string): Finisher =>
    new Finisher({
      competition: { withFewRivals: (_object, status) => status },
      clock,
      random: new SeededRandom(1),
      profileWriter: { patchStatus: write, patchMetadata: (object) => write(object), delete: async () => {} },
      clusterQueues: {
        reorder: ({ metadata }) => void reordered.push(metadata.name),
        abandon: ({ name }) => void abandoned.push(name),
      },
      findLiveBlocker: async () => blocker,
      recordEvent: (_object, { reason }) => void recordedEvents.push(reason),
      resync: 600_000,
      retryStore,
    });

  /** Finishes a reconcile. `write` stands for the API server and answers each write. */
  const finish = (result: ReconcileResult, write: Write, signal?: AbortSignal): Promise<Requeue | Error> =>
    newFinisher(write)
      .finish(result, newContext(signal))
      .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));

  const executed = (
    end: ReconcileEnd,
    ...steps: readonly Step[]
  ): { readonly end: ReconcileEnd; readonly execution: Execution } => ({
    end,
    execution: { end, steps: [...steps], notices: [], kept: [] },
  });
  const creating: ReconcileResult = { object: anObject(), ...executed(CREATING, ROLE_CREATED) };
  const deletionDone: ReconcileResult = { object: aDeletedObject(), ...executed('released', ROLE_CREATED) };

  for (const [what, result] of [
    ['the status write', creating],
    ['the release of a deleted object', deletionDone],
  ] as const)
    it(`records the events of the mutations when another client wrote before ${what}, and when it fails`, async () => {
      expect(await finish(result, async () => undefined)).to.deep.equal({ kind: 'conflict' });
      expect(await finish(result, () => Promise.reject(connectionReset))).to.equal(connectionReset);
      expect(recordedEvents).to.deep.equal(['SuccessfulIAMRoleCreation', 'SuccessfulIAMRoleCreation']);
    });

  it('takes no finalizer off an object that the API server shows as paused, and records the events of the changes', async () => {
    const finisher = newFinisher(() => expect.fail('written'), 'the object is paused');
    expect(await finisher.finish(deletionDone, newContext())).to.include({ kind: 'after', reason: 'NotNow' });
    expect(recordedEvents).to.deep.equal(['SuccessfulIAMRoleCreation']);
  });

  it('no longer counts on the reconciles of a paused object to watch its changes in EKS', async () => {
    const end = await newFinisher(async (object) => object).pause(anObject(), ['the object'], newContext());
    expect(end).to.deep.equal({ kind: 'done' });
    expect(abandoned).to.deep.equal(['web']);
  });

  describe('the record of a reconcile', () => {
    const record: ProfileRecord = { ...FIRST_RECORD, ...FULL_RECORD };
    /** Returns the writes, each as the written part and the object's resourceVersion before the write. */
    const writesOf = async (result: ReconcileResult, isRefused = false): Promise<readonly string[]> => {
      const writes: string[] = [];
      await finish(result, async (object, status) => {
        writes.push(`${status === undefined ? 'metadata' : 'status'} of ${object.metadata.resourceVersion}`);
        return isRefused ? undefined : { ...object, metadata: { ...object.metadata, resourceVersion: '101' } };
      });
      return writes;
    };

    it('is written before the status, because only the record tells where to look in AWS', async () => {
      expect(await writesOf({ ...creating, record })).to.deep.equal(['metadata of 100', 'status of 101']);
    });

    it('is written without a status when another client has written first', async () => {
      expect(await writesOf({ ...creating, record }, true)).to.deep.equal(['metadata of 100']);
    });

    it('is what this process remembers, once it is written', async () => {
      for (const isRefused of [true, false]) {
        await writesOf({ ...creating, record }, isRefused);
        expect(retryStore.get(anObject()).recorded).to.equal(isRefused ? undefined : record);
      }
    });

    it('is not written if it is too long to be read again, or if the object has no finalizer of ours', async () => {
      const long = { ...record, entry: RoleArn.of('x'.repeat(32_768)) };
      const bare = anObject({ metadata: { finalizers: [] } });
      for (const result of [
        { ...creating, record: long },
        { ...creating, object: bare, record },
      ])
        expect(await writesOf(result)).to.deep.equal(['status of 100']);
    });
  });

  describe('the next reconcile', () => {
    const written: Write = async (object) => object;
    const nextAfter = async (end: ReconcileEnd, object = anObject()) => finish({ object, end }, written);
    const sibling = { ahead: 'team-a_api', doing: 'being created' };

    it('is urgent while EKS changes the profile, because other objects wait for its end, unless AWS is out of reach', async () => {
      const changing = anObject({ status: { profileName: PROFILE, profileStatus: 'CREATING' } });
      expect(await nextAfter(CREATING, changing)).to.include({ kind: 'after', priority: 'urgent' });
      const outage = newReason('AWSUnavailable', { detail: 'x' });
      expect(await nextAfter(outage)).to.include({ priority: 'low' });
      for (const [end, object] of [
        [outage, changing],
        [newReason('Propagating', { detail: 'x' }), anObject()],
        [newReason('WaitingForSibling', { ...sibling, isUnverified: false }), anObject()],
      ] as const)
        expect(await nextAfter(end, object), end.name).to.not.have.property('priority');
    });

    it('is urgent as soon as the reconcile has begun a change', async () => {
      const object = anObject();
      const desired = desiredOf(object);
      const seen = observed({ role: aRole() });
      const created: Step = { mutation: CREATE_PROFILE, outcome: { kind: 'done' } };
      const facts = { desired, observed: seen, after: observedAfter(seen, [created]), plan: plan(desired, seen) };
      expect(await finish({ object, facts, ...executed(CREATING, created) }, written)).to.include({
        priority: 'urgent',
      });
    });

    for (const [end, least, most] of [
      ['inSync', 600_000, 660_000],
      [CREATING, 1_000, 1_100],
      [newReason('ClusterUpdating', { cluster: 'c', said: 'no', remaining: 9_000 }), 9_000, 9_900],
    ] as const)
      it(`comes ${least} to ${most} ms after ${typeof end === 'string' ? end : end.name}`, async () => {
        const object = anObject();
        const [desired, seen] = [desiredOf(object), asDesired()];
        const facts = { desired, observed: seen, after: seen, plan: plan(desired, seen) };
        const next = await finish({ object, end, facts }, written);
        expect('delay' in next && next.delay).to.be.within(least, most);
      });
  });

  describe('a reconcile without a result', () => {
    for (const [end, expected] of [
      [newReason('Conflict', {}), { kind: 'conflict' }],
      [
        newReason('ReadAgain', { because: 'the profile was adopted' }),
        { kind: 'backoff', reason: 'the profile was adopted' },
      ],
      [newReason('NotNow', { because: 'the object is paused' }), { kind: 'after', reason: 'NotNow' }],
    ] as const)
      it(`writes nothing, keeps the wait of the object and records its changes: ${end.name}`, async () => {
        retryStore.update(anObject(), (state) => withWait(state, CREATING, 0));
        const result = { object: anObject(), ...executed(end, ROLE_CREATED) };
        expect(await finish(result, () => expect.fail('written'))).to.include(expected);
        expect(retryStore.get(anObject()).waiting?.name).to.equal('Creating');
        expect(recordedEvents).to.deep.equal(['SuccessfulIAMRoleCreation']);
        expect(reordered).to.deep.equal([]);
      });
  });

  it('gives the object another place in its queue after the status is written, because both count', async () => {
    const write: Write = async (object) => {
      expect(reordered).to.deep.equal([]);
      return object;
    };
    await finish(creating, write);
    expect(reordered).to.deep.equal(['web']);
  });

  describe('finishRejected', () => {
    const refused = newReason('APIServerRefused', { message: 'forbidden', remedy: 'Apply the roles again' });
    const forbidden = new KubeError('patching it: forbidden', { status: 403, reason: 'Forbidden' });
    const finishRejected = async (write: Write, isPaused = false) =>
      newFinisher(write).finishRejected(anObject(), refused, isPaused, newContext());
    const reasonsIn = ({ conditions = [] }: AWSFargateProfileStatus = {}) => conditions.map(({ reason }) => reason);

    it('reports the rejection in status and in an event', async () => {
      let status: AWSFargateProfileStatus | undefined;
      await finishRejected(async (object, next) => {
        status = next;
        return object;
      });
      expect(reasonsIn(status)).to.include('APIServerRefused');
      expect(recordedEvents).to.deep.equal(['APIServerRefused']);
    });

    for (const [situation, write] of [
      ['the API server rejects the status too', () => Promise.reject(forbidden)],
      ['another client always writes first', async () => undefined],
    ] as const)
      it(`reports the rejection only in events, with a growing backoff, when ${situation}`, async () => {
        const first = await finishRejected(write);
        // No write of the status succeeds in this test, so only events report the rejection.
        for (let minute = 0; minute < 10; minute++) {
          await clock.advance(60_000);
          await finish(creating, write);
          await finishRejected(write);
        }
        const last = await finishRejected(write);
        expect(new Set(recordedEvents.filter((reason) => reason !== 'SuccessfulIAMRoleCreation'))).to.deep.equal(
          new Set(['APIServerRefused']),
        );
        expect(first.kind === 'after' && first.delay).to.be.within(1_800, 2_200);
        expect(last.kind === 'after' && last.delay).to.be.within(54_000, 66_000);
      });

    it('reports the rejection only in an event when the object is paused', async () => {
      await finishRejected(() => expect.fail('status was written'), true);
      expect(recordedEvents).to.deep.equal(['APIServerRefused']);
    });

    it('rethrows an error that is no answer of the API server', async () => {
      const end = await finishRejected(() => Promise.reject(connectionReset)).catch((error: unknown) => error);
      expect([end, recordedEvents]).to.deep.equal([connectionReset, []]);
    });
  });

  it('records no failure of a call that the stop of the manager has cut off', async () => {
    const cutOff: ReconcileResult = { object: anObject(), ...executed(CREATING, ROLE_CREATED, CREATE_CUT_OFF) };
    await finish(cutOff, () => Promise.reject(connectionReset), AbortSignal.abort());
    expect(recordedEvents).to.deep.equal(['SuccessfulIAMRoleCreation']);
    recordedEvents = [];
    await finish(cutOff, () => Promise.reject(connectionReset));
    expect(recordedEvents).to.deep.equal(['SuccessfulIAMRoleCreation', 'FailedIAMRoleCreation']);
  });
});
