import { expect } from 'chai';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { SeededRandom } from '../../pkg/env/testing/seeded-random.ts';
import { VirtualClock } from '../../pkg/env/testing/virtual-clock.ts';
import { KubeError } from '../../pkg/kube/errors.ts';
import { Turns } from '../../pkg/runtime/turns.ts';
import type { ReconcileContext, Requeue } from '../../pkg/runtime/types.ts';
import type { Findings } from './conclusion.ts';
import { Conclusion } from './conclusion.ts';
import { Memories } from './memories.ts';
import type { Step } from './model.ts';
import { why } from './reasons.ts';
import { PROFILE, aDeletedObject, aFailure, aProfile, anObject, desiredOf } from './testing/builders.ts';
import { CREATE_ROLE } from './testing/mutations.ts';

const ROLE_CREATED: Step = {
  mutation: CREATE_ROLE,
  outcome: { kind: 'done' },
};
const CREATE_CUT_OFF: Step = { ...ROLE_CREATED, outcome: { kind: 'failed', failure: aFailure({ code: 'NoAnswer' }) } };
const CREATING = why('Creating', { name: 'team-a_web' });

type Write = (object: AWSFargateProfile, status?: AWSFargateProfileStatus) => Promise<AWSFargateProfile | undefined>;

const aContext = (signal: AbortSignal = new AbortController().signal): ReconcileContext => ({
  logger: new MemoryLogger(),
  signal,
});

const gone = new Error('the connection was reset');

describe('the conclusion of a pass', () => {
  const clock = new VirtualClock();
  let memories: Memories;
  let told: string[];
  let woken: string[];
  let turns: Turns;
  beforeEach(() => {
    memories = new Memories(clock);
    told = [];
    woken = [];
    turns = new Turns({ clock, wake: (id) => void woken.push(id) });
  });

  const newConclusion = (write: Write): Conclusion =>
    new Conclusion(
      {
        clock,
        random: new SeededRandom(1),
        objects: { patchStatus: write, patchMetadata: (object) => write(object), delete: async () => {} },
        turns,
        tell: (_object, { reason }) => void told.push(reason),
        resync: 600_000,
      },
      memories,
    );

  /** What becomes of a pass whose last write is answered like this. */
  const conclude = (findings: Findings, write: Write, signal?: AbortSignal): Promise<Requeue | Error> =>
    newConclusion(write)
      .conclude(findings, aContext(signal))
      .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));

  const creating: Findings = { object: anObject(), end: { kind: 'stopped', why: CREATING }, trail: [ROLE_CREATED] };
  const over: Findings = { object: aDeletedObject(), end: { kind: 'settled' }, trail: [ROLE_CREATED] };

  for (const [what, findings] of [
    ['status', creating],
    ['the release of a deleted object', over],
  ] as const) {
    it(`tells what was done where somebody else wrote before ${what}`, async () => {
      expect(await conclude(findings, async () => undefined)).to.deep.equal({ kind: 'conflict' });
      expect(told).to.deep.equal(['SuccessfulIAMRoleCreation']);
    });

    it(`tells what was done where ${what} cannot be written`, async () => {
      expect(await conclude(findings, () => Promise.reject(gone))).to.equal(gone);
      expect(told).to.deep.equal(['SuccessfulIAMRoleCreation']);
    });
  }

  it('asks to come back before others where EKS is busy with the profile: a line may wait for its end', async () => {
    const seen = (status: string): Findings => ({
      ...creating,
      desired: desiredOf(anObject()),
      observed: { cluster: 'there', profiles: [{ name: PROFILE, found: aProfile({ status }) }] },
    });
    const write = async (object: AWSFargateProfile) => object;
    expect(await conclude(seen('CREATING'), write)).to.deep.include({ kind: 'after', priority: 'high' });
    expect(await conclude(seen('ACTIVE'), write)).not.to.have.property('priority');
  });

  describe('of one that waits for its turn', () => {
    const ahead = why('WaitingForSibling', { ahead: 'team-a_api', doing: 'being created', foreign: false });
    const ends: readonly (readonly [string, Findings['end'], boolean])[] = [
      ['goes on waiting', { kind: 'stopped', why: ahead }, true],
      ['was overtaken by another writer', { kind: 'conflict' }, true],
      ['was given up', { kind: 'quit', because: 'the object has changed', until: 'later' }, true],
      ['has nothing to change any more', { kind: 'settled' }, false],
    ];
    for (const [what, end, isInLine] of ends) {
      it(`${isInLine ? 'leaves it in line' : 'takes it out of the line'} where the pass ${what}`, async () => {
        const { metadata } = anObject();
        const id = `${metadata.namespace}/${metadata.name}`;
        turns.busy('lane', 'team-a_api', 'being created', false);
        turns.ask({ lane: 'lane', id, name: PROFILE, urgent: false, createdAt: metadata.creationTimestamp ?? '' });
        await conclude({ ...creating, end }, async (object) => object);
        turns.settled('lane', 'team-a_api');
        expect(woken).to.deep.equal(isInLine ? [id] : []);
      });
    }
  });

  describe('where the API server refuses what a pass needs', () => {
    const refused = why('APIServerRefused', { words: 'forbidden', cure: 'Apply the roles again' });
    const forbidden = new KubeError('patching it: forbidden', { status: 403, reason: 'Forbidden' });
    const refuse = async (write: Write, isPaused = false) =>
      newConclusion(write).refuse(anObject(), refused, isPaused, aContext());
    const reasonsIn = ({ conditions = [] }: AWSFargateProfileStatus = {}) => conditions.map(({ reason }) => reason);

    it('says so on the object, and in an event', async () => {
      let status: AWSFargateProfileStatus | undefined;
      await refuse(async (object, next) => {
        status = next;
        return object;
      });
      expect(reasonsIn(status)).to.include('APIServerRefused');
      expect(told).to.deep.equal(['APIServerRefused']);
    });

    for (const [what, write] of [
      ['the API server refuses that too', () => Promise.reject(forbidden)],
      ['somebody else always writes first', async () => undefined],
    ] as const)
      it(`says so in an event alone where ${what}, ever less often`, async () => {
        const first = await refuse(write);
        // Each pass gets as far as a status that cannot be written.
        for (let minute = 0; minute < 10; minute++) {
          await clock.advance(60_000);
          await conclude(creating, write);
          await refuse(write);
        }
        const last = await refuse(write);
        expect(new Set(told.filter((reason) => reason !== 'SuccessfulIAMRoleCreation'))).to.deep.equal(
          new Set(['APIServerRefused']),
        );
        expect(first.kind === 'after' && first.delay).to.be.within(1_800, 2_200);
        expect(last.kind === 'after' && last.delay).to.be.within(54_000, 66_000);
      });

    it('writes nothing on one that is paused', async () => {
      await refuse(() => expect.fail('it was written'), true);
      expect(told).to.deep.equal(['APIServerRefused']);
    });

    it('says nothing of what is no answer of the API server', async () => {
      const end = await refuse(() => Promise.reject(gone)).catch((error: unknown) => error);
      expect([end, told]).to.deep.equal([gone, []]);
    });
  });

  it('tells no call as failed that the manager’s own stop cut off', async () => {
    const cutOff: Findings = { ...creating, trail: [ROLE_CREATED, CREATE_CUT_OFF] };
    await conclude(cutOff, () => Promise.reject(gone), AbortSignal.abort());
    expect(told).to.deep.equal(['SuccessfulIAMRoleCreation']);
    told = [];
    await conclude(cutOff, () => Promise.reject(gone));
    expect(told).to.deep.equal(['SuccessfulIAMRoleCreation', 'FailedIAMRoleCreation']);
  });
});
