import { expect } from 'chai';
import type { Ms } from '../../../pkg/env/clock.ts';
import { SeededRandom } from '../../../pkg/env/testing/seeded-random.ts';
import type { UsualDuration } from '../reasons/reasons.ts';
import { newReason, pollOf } from '../reasons/reasons.ts';
import { Durations } from './eks-durations.ts';

const SECOND: Ms = 1_000;
const CREATING = newReason('Creating', { name: 'web' });

interface Followed {
  readonly polls: number;
  readonly lasted: Ms;
  readonly took: Ms;
}

/** Polls one creation, which takes EKS the time `end`, until a poll finds it finished. */
function follow(end: Ms, usual: UsualDuration | undefined): Followed {
  let [polls, lasted, waited] = [0, 0, 0];
  for (;;) {
    polls += 1;
    waited += pollOf(CREATING, waited, usual);
    if (waited >= end) return { polls, lasted, took: waited };
    lasted = waited;
  }
}

/**
 * Polls 400 creations one after the other. Returns the mean number of polls, and how late the ends are noticed as a share
 * of the time that EKS takes.
 */
function followAll(next: () => Ms, { learns }: { readonly learns: boolean }): { polls: number; late: number } {
  const durations = new Durations();
  let [polls, late, total, now] = [0, 0, 0, 0];
  for (let creation = 0; creation < 400; creation++) {
    const end = next();
    const followed = follow(end, learns ? durations.usual('creation') : undefined);
    now += followed.took;
    durations.record('creation', { name: 'Creating', ...followed }, now);
    polls += followed.polls;
    late += followed.took - end;
    total += end;
  }
  return { polls: polls / 400, late: late / total };
}

describe('Durations', () => {
  let now: Ms;

  beforeEach(() => {
    now = 0;
  });

  const record = (durations: Durations, lasted: Ms, took: Ms): UsualDuration | undefined => {
    now += took;
    durations.record('creation', { name: 'Creating', lasted, took }, now);
    return durations.usual('creation');
  };

  it('know nothing before the first operation, and nothing about operations of another kind', () => {
    const durations = new Durations();
    expect(durations.usual('creation')).to.equal(undefined);
    expect(record(durations, 57 * SECOND, 64 * SECOND)).to.deep.equal({ least: 57 * SECOND, most: 64 * SECOND });
    expect(durations.usual('deletion')).to.equal(undefined);
  });

  it('fall to a shorter duration at once, and grow slowly to a longer one', () => {
    const durations = new Durations();
    record(durations, 57 * SECOND, 64 * SECOND);
    expect(record(durations, 0, 16 * SECOND)).to.deep.equal({ least: 16 * SECOND, most: 16 * SECOND });
    expect(record(durations, 20 * SECOND, 24 * SECOND)?.most).to.equal(17 * SECOND);
    for (let creation = 0; creation < 40; creation++) record(durations, 20 * SECOND, 24 * SECOND);
    expect(durations.usual('creation')?.most).to.be.within(23.5 * SECOND, 24 * SECOND);
  });

  it('doubt a lower bound that no poll confirms, the more the more time passes', () => {
    const durations = new Durations();
    record(durations, 31 * SECOND, 32 * SECOND);
    expect(record(durations, 0, 32 * SECOND)?.least).to.equal(30 * SECOND);
    expect(record(durations, 20 * SECOND, 32 * SECOND)?.least).to.equal(29 * SECOND);
    for (let creation = 0; creation < 10; creation++) record(durations, 0, 32 * SECOND);
    expect(durations.usual('creation')?.least).to.equal(28 * SECOND);
    expect(record(durations, 30 * SECOND, 32 * SECOND)?.least).to.equal(30 * SECOND);
  });

  it('doubt a lower bound no more if many operations end at the same time', () => {
    const durations = new Durations();
    record(durations, 31 * SECOND, 32 * SECOND);
    for (let creation = 0; creation < 40; creation++)
      durations.record('creation', { name: 'Creating', lasted: 0, took: 32 * SECOND }, now + 32 * SECOND);
    expect(durations.usual('creation')?.least).to.equal(30 * SECOND);
  });

  describe('with the polls that follow from them', () => {
    const always = (span: Ms) => () => span;
    for (const [span, most] of [
      [2 * SECOND, 1.6],
      [20 * SECOND, 4.6],
      [120 * SECOND, 18.6],
    ] as const)
      it(`need ${most} polls or fewer for an operation of ${span / SECOND} s, and notice its end a thirty-second late or less`, () => {
        const { polls, late } = followAll(always(span), { learns: true });
        expect(polls).to.be.at.most(most);
        expect(late).to.be.at.most(1 / 32);
      });

    for (const [least, most] of [
      [30, 90],
      [60, 120],
      [110, 130],
    ] as const)
      it(`need half of the polls for operations of ${least} s to ${most} s, and notice no end later on average`, () => {
        const between = (random: SeededRandom) => () => (least + (most - least) * random.next()) * SECOND;
        const without = followAll(between(new SeededRandom(least)), { learns: false });
        const known = followAll(between(new SeededRandom(least)), { learns: true });
        expect(known.polls).to.be.at.most(without.polls * 0.55);
        expect(known.late).to.be.at.most(without.late);
      });

    it('notice within five seconds that EKS has become much faster, and then at once', () => {
      const durations = new Durations();
      for (let creation = 0; creation < 10; creation++) record(durations, 38 * SECOND, 40 * SECOND);
      const first = follow(8 * SECOND, durations.usual('creation'));
      expect(first.took).to.be.within(8 * SECOND, 13 * SECOND);
      durations.record('creation', { name: 'Creating', ...first }, now + first.took);
      expect(follow(8 * SECOND, durations.usual('creation')).took).to.be.at.most(first.took);
    });

    it('come back to the true duration after an overload in which the ends were noticed late', () => {
      const durations = new Durations();
      record(durations, 1.7 * SECOND, 6 * SECOND);
      for (let creation = 0; creation < 4; creation++) {
        const { lasted, took } = follow(2 * SECOND, durations.usual('creation'));
        record(durations, lasted, took);
      }
      expect(follow(2 * SECOND, durations.usual('creation')).took).to.be.at.most(2.1 * SECOND);
    });
  });
});
