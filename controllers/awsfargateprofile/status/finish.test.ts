import { expect } from 'chai';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { MemoryLogger } from '../../../pkg/env/testing/memory-logger.ts';
import { SeededRandom } from '../../../pkg/env/testing/seeded-random.ts';
import { VirtualClock } from '../../../pkg/env/testing/virtual-clock.ts';
import { KubeError } from '../../../pkg/kube/errors.ts';
import { ClusterQueue } from '../../../pkg/runtime/queue/cluster-queue.ts';
import type { ReconcileContext, Requeue } from '../../../pkg/runtime/reconcile.ts';
import type { PassResult } from '../model/pass.ts';
import { PassFinisher } from './finish.ts';
import { RetryStore } from '../retry/retry-store.ts';
import type { Step } from '../model/outcome.ts';
import type { Reason } from '../reasons/reasons.ts';
import { newReason } from '../reasons/reasons.ts';
import { PROFILE, aDeletedObject, aFailure, aProfile, anObject, desiredOf } from '../testing/builders.ts';
import { CREATE_ROLE } from '../testing/mutations.ts';

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

describe('PassFinisher', () => {
  const clock = new VirtualClock();
  let retryStore: RetryStore;
  let recordedEvents: string[];
  let woken: string[];
  let clusterQueue: ClusterQueue;
  beforeEach(() => {
    retryStore = new RetryStore(clock);
    recordedEvents = [];
    woken = [];
    clusterQueue = new ClusterQueue({ clock, wake: (id) => void woken.push(id) });
  });

  const newFinisher = (write: Write): PassFinisher =>
    new PassFinisher({
      clock,
      random: new SeededRandom(1),
      profileWriter: { patchStatus: write, patchMetadata: (object) => write(object), delete: async () => {} },
      clusterQueue,
      findLiveBlocker: async () => undefined,
      recordEvent: (_object, { reason }) => void recordedEvents.push(reason),
      resync: 600_000,
      retryStore,
    });

  /** Finishes a reconcile. `write` stands for the API server and answers each write. */
  const finish = (result: PassResult, write: Write, signal?: AbortSignal): Promise<Requeue | Error> =>
    newFinisher(write)
      .finish(result, newContext(signal))
      .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));

  const creating: PassResult = {
    object: anObject(),
    end: { kind: 'stopped', reason: CREATING },
    steps: [ROLE_CREATED],
  };
  const deletionDone: PassResult = { object: aDeletedObject(), end: { kind: 'settled' }, steps: [ROLE_CREATED] };

  for (const [write, result] of [
    ['the status write', creating],
    ['the release of a deleted object', deletionDone],
  ] as const) {
    it(`records the events of the mutations when another client wrote before ${write}`, async () => {
      expect(await finish(result, async () => undefined)).to.deep.equal({ kind: 'conflict' });
      expect(recordedEvents).to.deep.equal(['SuccessfulIAMRoleCreation']);
    });

    it(`records the events of the mutations when ${write} fails`, async () => {
      expect(await finish(result, () => Promise.reject(connectionReset))).to.equal(connectionReset);
      expect(recordedEvents).to.deep.equal(['SuccessfulIAMRoleCreation']);
    });
  }

  it('returns a high priority while EKS changes the profile, because other profiles may wait for its end', async () => {
    const passThatFound = (status: string): PassResult => ({
      ...creating,
      desired: desiredOf(anObject()),
      observed: { cluster: 'there', profiles: [{ name: PROFILE, found: aProfile({ status }) }] },
    });
    const write = async (object: AWSFargateProfile) => object;
    expect(await finish(passThatFound('CREATING'), write)).to.deep.include({ kind: 'after', priority: 'high' });
    expect(await finish(passThatFound('ACTIVE'), write)).to.deep.include({ priority: 'head' });
  });

  describe('for an object whose profile EKS does not change', () => {
    const reasons: readonly (readonly [string, Reason, 'head' | undefined])[] = [
      ['waits until IAM has propagated its role', newReason('Propagating', { detail: 'x' }), 'head'],
      ['cannot reach AWS', newReason('AWSUnavailable', { detail: 'x' }), undefined],
      ['is refused by AWS', newReason('Refused', { detail: 'x' }), undefined],
      [
        'waits for its turn',
        newReason('WaitingForSibling', { ahead: 'team-a_api', doing: 'being created', isUnverified: false }),
        undefined,
      ],
    ];
    const priorityAfter = async (object: AWSFargateProfile, reason: Reason): Promise<unknown> => {
      const next = await finish({ object, end: { kind: 'stopped', reason } }, async (written) => written);
      return 'priority' in next ? next.priority : undefined;
    };
    for (const [what, reason, priority] of reasons) {
      it(`returns ${priority ?? 'the usual'} priority when it ${what}`, async () => {
        expect(await priorityAfter(anObject(), reason)).to.equal(priority);
      });
    }

    it('returns the usual priority when AWS cannot be reached while EKS changes the profile', async () => {
      const object = anObject({ status: { profileStatus: 'CREATING' } });
      expect(await priorityAfter(object, newReason('AWSUnavailable', { detail: 'x' }))).to.equal(undefined);
    });
  });

  describe('for an object that waits for its turn', () => {
    const ahead = newReason('WaitingForSibling', { ahead: 'team-a_api', doing: 'being created', isUnverified: false });
    const ends: readonly (readonly [string, PassResult['end'], boolean])[] = [
      ['still has to wait', { kind: 'stopped', reason: ahead }, true],
      ['ends with a conflict', { kind: 'conflict' }, true],
      ['was dropped', { kind: 'quit', because: 'the object has changed', until: 'later' }, true],
      ['has settled', { kind: 'settled' }, false],
    ];
    for (const [situation, end, isInQueue] of ends) {
      it(`${isInQueue ? 'keeps the object in the queue' : 'removes the object from the queue'} when the pass ${situation}`, async () => {
        const { metadata } = anObject();
        const id = `${metadata.namespace}/${metadata.name}`;
        clusterQueue.markInFlight('queue', 'team-a_api', 'being created', false);
        clusterQueue.requestTurn({
          queue: 'queue',
          id,
          name: PROFILE,
          urgent: false,
          createdAt: metadata.creationTimestamp ?? '',
        });
        await finish({ ...creating, end }, async (object) => object);
        clusterQueue.markSettled('queue', 'team-a_api');
        expect(woken).to.deep.equal(isInQueue ? [id] : []);
      });
    }
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
        // No write of the status succeeds in this test, so nothing but events reports the rejection.
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

    it('writes nothing to a paused object', async () => {
      await finishRejected(() => expect.fail('status was written'), true);
      expect(recordedEvents).to.deep.equal(['APIServerRefused']);
    });

    it('rethrows an error that is no answer of the API server', async () => {
      const end = await finishRejected(() => Promise.reject(connectionReset)).catch((error: unknown) => error);
      expect([end, recordedEvents]).to.deep.equal([connectionReset, []]);
    });
  });

  it('records no failure of a call that the stop of the manager has cut off', async () => {
    const cutOff: PassResult = { ...creating, steps: [ROLE_CREATED, CREATE_CUT_OFF] };
    await finish(cutOff, () => Promise.reject(connectionReset), AbortSignal.abort());
    expect(recordedEvents).to.deep.equal(['SuccessfulIAMRoleCreation']);
    recordedEvents = [];
    await finish(cutOff, () => Promise.reject(connectionReset));
    expect(recordedEvents).to.deep.equal(['SuccessfulIAMRoleCreation', 'FailedIAMRoleCreation']);
  });
});
