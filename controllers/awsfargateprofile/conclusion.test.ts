import { expect } from 'chai';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { SeededRandom } from '../../pkg/env/testing/seeded-random.ts';
import { VirtualClock } from '../../pkg/env/testing/virtual-clock.ts';
import { Turns } from '../../pkg/runtime/turns.ts';
import type { Requeue } from '../../pkg/runtime/types.ts';
import type { Findings } from './conclusion.ts';
import { CHANGED, Conclusion, again } from './conclusion.ts';
import { Memories } from './memories.ts';
import type { Step } from './model.ts';
import { why } from './reasons.ts';
import { ROLE, ROLE_TAGS, TRUST, aDeletedObject, aFailure, anObject } from './testing/builders.ts';

const ROLE_CREATED: Step = {
  mutation: { kind: 'createRole', role: { name: ROLE, path: '/', trust: TRUST, tags: ROLE_TAGS } },
  outcome: { kind: 'done' },
};
const CREATE_CUT_OFF: Step = { ...ROLE_CREATED, outcome: { kind: 'failed', failure: aFailure({ code: 'NoAnswer' }) } };
const CREATING = why('Creating', { name: 'team-a_web' });

const gone = new Error('the connection was reset');

describe('the conclusion of a pass', () => {
  const clock = new VirtualClock();
  let told: string[];
  beforeEach(() => (told = []));

  /** What becomes of a pass whose last write is answered like this. */
  async function conclude(
    findings: Findings,
    write: (object: AWSFargateProfile) => Promise<AWSFargateProfile | undefined>,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<Requeue | Error> {
    const conclusion = new Conclusion(
      {
        clock,
        random: new SeededRandom(1),
        objects: { patchStatus: write, patchMetadata: write, delete: async () => {} },
        turns: new Turns({ clock, wake: () => {} }),
        tell: (_object, { reason }) => void told.push(reason),
        resync: 600_000,
      },
      new Memories(clock),
    );
    return conclusion
      .conclude(findings, { logger: new MemoryLogger(), signal })
      .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
  }

  const creating: Findings = { object: anObject(), end: { kind: 'stopped', why: CREATING }, trail: [ROLE_CREATED] };
  const over: Findings = { object: aDeletedObject(), end: { kind: 'settled' }, trail: [ROLE_CREATED] };

  for (const [what, findings] of [
    ['status', creating],
    ['the release of a deleted object', over],
  ] as const) {
    it(`tells what was done where somebody else wrote before ${what}`, async () => {
      expect(await conclude(findings, async () => undefined)).to.deep.equal(again(CHANGED));
      expect(told).to.deep.equal(['SuccessfulIAMRoleCreation']);
    });

    it(`tells what was done where ${what} cannot be written`, async () => {
      expect(await conclude(findings, () => Promise.reject(gone))).to.equal(gone);
      expect(told).to.deep.equal(['SuccessfulIAMRoleCreation']);
    });
  }

  it('tells no call as failed that the manager’s own stop cut off', async () => {
    const cutOff: Findings = { ...creating, trail: [ROLE_CREATED, CREATE_CUT_OFF] };
    await conclude(cutOff, () => Promise.reject(gone), AbortSignal.abort());
    expect(told).to.deep.equal(['SuccessfulIAMRoleCreation']);
    told = [];
    await conclude(cutOff, () => Promise.reject(gone));
    expect(told).to.deep.equal(['SuccessfulIAMRoleCreation', 'FailedIAMRoleCreation']);
  });
});
