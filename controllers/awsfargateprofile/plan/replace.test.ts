import { expect } from 'chai';
import { ProfileName } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import type { ProfileRecord, RecordedProfile } from '../../shared/record.ts';
import type { Observed } from '../model/observed-state.ts';
import { HERE, NOW, PROFILE, PROFILE_ID, aProfile, aRole, observed } from '../testing/builders.ts';
import { FOREIGN_TAGS } from '../testing/fixtures.ts';
import { type Desires, living } from '../testing/plan-tables.ts';
import { drainObstacle, keptReason, keptUntil, servingPredecessor } from './replace.ts';

const MINUTE = 60_000;
const profile = (name: string, over: Partial<FargateProfile> = {}): FargateProfile =>
  aProfile({ name: ProfileName.of(name), arn: aProfile().arn.replace(PROFILE_ID, `id-of-${name}`), ...over });
const entry = (name: string, over: Partial<RecordedProfile> = {}): RecordedProfile => ({
  name: ProfileName.of(name),
  id: `id-of-${name}`,
  ...over,
});
const recorded = (...profiles: readonly RecordedProfile[]): Partial<ProfileRecord> => ({ in: HERE, profiles });
const aws = (...profiles: readonly FargateProfile[]): Observed => ({ ...observed({ role: aRole() }), profiles });
const replacing = (record: Partial<ProfileRecord>, keepPredecessorFor = '0s', drainTimeout = '0s'): Desires =>
  living({
    spec: { profileName: PROFILE, updateStrategy: { type: 'Replace', replace: { keepPredecessorFor, drainTimeout } } },
    record,
  });

describe('The predecessor that serves pods until the desired profile does', () => {
  for (const [situation, record, seen, name] of [
    [
      'is the one that served last',
      recorded(entry('a', { served: true }), entry('b', { served: true })),
      aws(profile('a'), profile('b')),
      'b',
    ],
    [
      'is the one that served, and not a younger attempt',
      recorded(entry('a', { served: true }), entry('b')),
      aws(profile('b'), profile('a')),
      'a',
    ],
    [
      'is an ACTIVE one',
      recorded(entry('a'), entry('b', { served: true })),
      aws(profile('a'), profile('b', { status: 'DELETING' })),
      'a',
    ],
    ['is not the desired one', recorded(entry(PROFILE, { served: true })), aws(profile(PROFILE)), undefined],
    ['is none of another object', recorded(), aws(profile('a', { tags: FOREIGN_TAGS })), undefined],
  ] as const)
    it(`${situation}: ${name ?? 'none'}`, () =>
      expect(servingPredecessor(replacing(record)(seen), seen)?.name).to.equal(name));
});

describe('A predecessor stays', () => {
  const seen = aws(profile('a'), profile(PROFILE));
  for (const [situation, activeSince, keepPredecessorFor, until] of [
    ['for 30 s after the desired profile is ACTIVE', NOW - MINUTE, '0s', NOW - MINUTE / 2],
    ['for 30 s, if a shorter time is asked for', NOW - MINUTE, '29s', NOW - MINUTE / 2],
    ['for keepPredecessorFor', NOW - MINUTE, '10m', NOW + 9 * MINUTE],
    [
      'from now on, while the record does not have since when the desired profile is ACTIVE',
      undefined,
      '10m',
      NOW + 10 * MINUTE,
    ],
    ['from now on, if that time is in the future', NOW + MINUTE, '10m', NOW + 10 * MINUTE],
  ] as const)
    it(situation, () => {
      const record = recorded(entry(PROFILE, { served: true, ...(activeSince !== undefined && { activeSince }) }));
      expect(keptUntil(replacing(record, keepPredecessorFor)(seen), seen)).to.equal(until);
    });

  it('from now on, after another client has deleted the desired profile and the controller has created it again', () => {
    const record = recorded(entry(PROFILE, { id: 'former', served: true, activeSince: NOW - MINUTE }));
    expect(keptUntil(replacing(record)(seen), seen)).to.equal(NOW + MINUTE / 2);
  });
});

describe('A drain', () => {
  for (const [predecessor, successor, obstacle] of [
    ['web', '9999-web', undefined],
    ['9999-web', 'web', 'comesLater'],
    ['w'.repeat(63), '9999-web', undefined],
    ['w'.repeat(64), '9999-web', 'noLabel'],
  ] as const)
    it(`from ${predecessor} to ${successor}: ${obstacle ?? 'is possible'}`, () =>
      expect(drainObstacle(predecessor, successor)).to.equal(obstacle));
});

describe('The notice about a kept predecessor announces', () => {
  for (const [what, drainTimeout, predecessor, drain] of [
    ['no drain without a drainTimeout', '0s', 'zone', undefined],
    ['a drain', '5m', 'zone', { timeout: 5 * MINUTE }],
    ['what prevents the drain', '5m', 'a', { timeout: 5 * MINUTE, obstacle: 'comesLater' }],
  ] as const)
    it(what, () => {
      const seen = aws(profile(predecessor), profile(PROFILE));
      const reason = keptReason(replacing(recorded(), '0s', drainTimeout)(seen), seen);
      expect(reason?.name === 'PredecessorKept' && reason.facts.drain).to.deep.equal(drain);
    });
});
