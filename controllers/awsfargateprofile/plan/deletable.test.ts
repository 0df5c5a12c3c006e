import { expect } from 'chai';
import fc from 'fast-check';
import { ProfileName } from '../../../api/names.ts';
import type { AWSFargateProfileSpec } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import type { RecordedProfile } from '../../shared/record.ts';
import type { DesiredInputs } from '../desired/desired.ts';
import type { Observed } from '../model/observed-state.ts';
import {
  HERE,
  NOW,
  PROFILE,
  PROFILE_ID,
  PROFILE_TAGS,
  RECORDED,
  aProfile,
  aRole,
  observed,
} from '../testing/builders.ts';
import { FOREIGN_TAGS } from '../testing/fixtures.ts';
import { type Desires, deleted, living } from '../testing/plan-tables.ts';
import { whyDeletable } from './remove.ts';

const HOUR = 60 * 60_000;
const OTHER = ProfileName.of('other');
const [REJECT, REPLACE] = [
  { profileName: PROFILE },
  { profileName: PROFILE, updateStrategy: { type: 'Replace' } },
] as const;
const STATUSES = ['ACTIVE', 'CREATING', 'DELETING', 'CREATE_FAILED', 'DELETE_FAILED', 'PAUSED'];

/** Returns a profile with the desired name, which by default matches the spec. */
const named = (over: Partial<FargateProfile> = {}): FargateProfile => aProfile(over);
const other = (over: Partial<FargateProfile> = {}): FargateProfile => aProfile({ name: OTHER, ...over });
const YOUNG = { createdAt: NOW };
const DIFFERENT = { selectors: [{ namespace: 'other', labels: {} }] };
const aws = (...profiles: readonly FargateProfile[]): Observed => ({ ...observed({ role: aRole() }), profiles });

const entry = (name: ProfileName, over: Partial<RecordedProfile> = {}): RecordedProfile => ({
  name,
  id: PROFILE_ID,
  ...over,
});
const served = (name: ProfileName, over: Partial<RecordedProfile> = {}): RecordedProfile =>
  entry(name, { served: true, ...over });

interface Given {
  readonly spec?: Partial<AWSFargateProfileSpec>;
  readonly profiles?: readonly RecordedProfile[];
  readonly last?: number;
  readonly isQuotaExceeded?: boolean;
}

const partsOf = ({ spec = REJECT, profiles = [], last }: Given) => ({
  spec,
  record: { in: HERE, profiles, ...(last !== undefined && { last }) },
});
const alive = (given: Given = {}): Desires =>
  living(partsOf(given), { isQuotaExceeded: given.isQuotaExceeded ?? false });
const leaving = (given: Given = {}, over: Partial<DesiredInputs> = {}): Desires => deleted(partsOf(given), over);

type Row = readonly [situation: string, desires: Desires, seen: Observed, fate: string];

/** Returns what happens to the last profile in `seen`. */
function fateOf(desires: Desires, seen: Observed): string {
  const found = seen.profiles.at(-1);
  return found === undefined ? 'no profile' : (whyDeletable(desires(seen), seen, found) ?? 'stays');
}

/**
 * `whyDeletable` checks its conditions in order, and the first condition that applies decides. Each table tests one
 * condition. The table's key completes the sentence "A profile …".
 */
const TABLES: Readonly<Record<string, readonly Row[]>> = {
  // The tests of the record say which profiles were made by another record.
  'of which another profile was made by another record,': [
    [
      'is recorded, in a deletion',
      leaving({ profiles: [served(PROFILE)], last: NOW }),
      aws(other({ createdAt: NOW }), named({ createdAt: NOW })),
      'stays',
    ],
    [
      'has failed',
      alive({ profiles: [served(PROFILE)], last: NOW }),
      aws(other({ createdAt: NOW }), named({ status: 'CREATE_FAILED' })),
      'stays',
    ],
    [
      'was replaced long ago',
      alive({ profiles: [served(PROFILE, { activeSince: 0 }), served(OTHER)], last: NOW }),
      aws(aProfile({ name: ProfileName.of('third'), createdAt: NOW }), named(), other()),
      'stays',
    ],
  ],

  'of a deleted object': [
    ...STATUSES.map((status): Row => [`has status ${status}`, leaving(), aws(named({ status })), 'unwanted']),
    ['has any name', leaving(), aws(other()), 'unwanted'],
    ['has served', leaving({ profiles: [served(PROFILE)], last: NOW }), aws(named()), 'unwanted'],
    ['goes with its cluster', leaving({}, { abandonment: 'removeFinalizer' }), aws(named()), 'unwanted'],
    ['is retained', leaving({}, { unwanted: 'retain' }), aws(named()), 'stays'],
    [
      'has failed and is retained',
      leaving({}, { unwanted: 'retain' }),
      aws(named({ status: 'CREATE_FAILED' })),
      'stays',
    ],
  ],

  'that has failed': ['CREATE_FAILED', 'DELETE_FAILED'].flatMap((status): readonly Row[] => [
    [
      `is as the spec asks for, and ${status}`,
      alive({ profiles: [served(PROFILE)] }),
      aws(named({ status })),
      'failed',
    ],
    [`differs, and is ${status}`, alive(), aws(named({ status, ...DIFFERENT })), 'different'],
    [`is not desired, and ${status}`, alive({ spec: REPLACE }), aws(named(), other({ status })), 'unwanted'],
    [`has been replaced just now, and is ${status}`, alive(), aws(named(), other({ status })), 'unwanted'],
  ]),

  'that is not the desired one': [
    ...[REJECT, REPLACE].flatMap((spec): readonly Row[] => {
      const strategy = spec === REJECT ? 'Reject' : 'Replace';
      const since = (activeSince: number): Desires =>
        alive({ spec, profiles: [served(PROFILE, { activeSince }), served(OTHER)] });
      return [
        [
          `waits for the desired one, ACTIVE for 30 s, under ${strategy}`,
          since(NOW - 30_000),
          aws(named(), other()),
          'replaced',
        ],
        [
          `waits for the desired one, ACTIVE for 30 s, with a health issue, under ${strategy}`,
          since(NOW - 30_000),
          aws(named({ health: [{ code: 'AccessDenied', message: '', resourceIds: [] }] }), other()),
          'stays',
        ],
        [
          `waits for the desired one, ACTIVE for less, under ${strategy}`,
          since(NOW - 29_999),
          aws(named(), other()),
          'stays',
        ],
        [
          `waits for the desired one, which is UPDATING, under ${strategy}`,
          since(0),
          aws(named({ status: 'UPDATING' }), other()),
          'stays',
        ],
        [
          `waits for the desired one, which differs, under ${strategy}`,
          since(0),
          aws(named(DIFFERENT), other()),
          'stays',
        ],
        [
          `waits for the desired one, which is foreign, under ${strategy}`,
          since(0),
          aws(named({ tags: FOREIGN_TAGS }), other()),
          'stays',
        ],
        [`waits for the desired one, which is gone, under ${strategy}`, since(0), aws(other()), 'stays'],
      ];
    }),
    ['is the desired one', alive({ profiles: [served(PROFILE, { activeSince: 0 })] }), aws(other(), named()), 'stays'],
    [
      'has the desired name and differs, for long',
      alive({ profiles: [served(PROFILE, { activeSince: 0 })] }),
      aws(named(DIFFERENT)),
      'stays',
    ],
  ],

  'that is an unfinished first attempt and differs': [
    [
      'has a former name and has never served',
      alive({ profiles: [entry(OTHER)] }),
      aws(other({ createdAt: NOW })),
      'different',
    ],
    [
      'has never served, but EKS does not say when it was created',
      alive({ profiles: [entry(PROFILE)] }),
      aws(named(DIFFERENT)),
      'stays',
    ],
    [
      'has never served, and was created less than an hour ago',
      alive({ profiles: [entry(PROFILE)] }),
      aws(named({ ...DIFFERENT, createdAt: NOW - HOUR + 1 })),
      'different',
    ],
    [
      'was created an hour ago',
      alive({ profiles: [entry(PROFILE)] }),
      aws(named({ ...DIFFERENT, createdAt: NOW - HOUR })),
      'stays',
    ],
    ['has served', alive({ profiles: [served(PROFILE)] }), aws(named(DIFFERENT)), 'stays'],
    ['does not differ', alive({ profiles: [entry(PROFILE)] }), aws(named()), 'stays'],
    [
      'was made again by another client',
      alive({ profiles: [entry(PROFILE)] }),
      aws(named({ ...DIFFERENT, arn: 'a/b/c/again' })),
      'stays',
    ],
    ['is in no record', alive(), aws(named(DIFFERENT)), 'stays'],
    [
      'is in status alone',
      living({
        spec: REJECT,
        metadata: { annotations: {} },
        status: { ...RECORDED, profileName: PROFILE, profileARN: named().arn },
      }),
      aws(named(DIFFERENT)),
      'stays',
    ],
    ['may be replaced', alive({ spec: REPLACE, profiles: [entry(OTHER)] }), aws(other()), 'stays'],
  ],

  'for which EKS has no room': [
    [
      'is unwanted and has never served',
      alive({ spec: REPLACE, profiles: [served(PROFILE), entry(OTHER)], isQuotaExceeded: true }),
      aws(named(DIFFERENT), other(YOUNG)),
      'unwanted',
    ],
    [
      'is unwanted, has never served, and was created an hour ago',
      alive({ spec: REPLACE, profiles: [served(PROFILE), entry(OTHER)], isQuotaExceeded: true }),
      aws(named(DIFFERENT), other({ createdAt: NOW - HOUR })),
      'stays',
    ],
    [
      'is unwanted and has served',
      alive({ spec: REPLACE, profiles: [served(PROFILE), served(OTHER)], isQuotaExceeded: true }),
      aws(named(DIFFERENT), other(YOUNG)),
      'stays',
    ],
    [
      'is unwanted and in no record',
      alive({ spec: REPLACE, profiles: [served(PROFILE)], isQuotaExceeded: true }),
      aws(named(DIFFERENT), other(YOUNG)),
      'stays',
    ],
    [
      'is unwanted, while EKS has room',
      alive({ spec: REPLACE, profiles: [served(PROFILE), entry(OTHER)] }),
      aws(named(DIFFERENT), other(YOUNG)),
      'stays',
    ],
    [
      'is unwanted, and the last one that is ACTIVE',
      alive({ spec: REPLACE, profiles: [entry(OTHER)], isQuotaExceeded: true }),
      aws(other(YOUNG)),
      'stays',
    ],
    [
      'is unwanted, and the last one that is ACTIVE, next to a failed one',
      alive({ spec: REPLACE, profiles: [entry(OTHER)], isQuotaExceeded: true }),
      aws(named({ status: 'CREATE_FAILED' }), other(YOUNG)),
      'stays',
    ],
    [
      'is unwanted, has never served, and has an unknown status',
      alive({ spec: REPLACE, profiles: [entry(OTHER)], isQuotaExceeded: true }),
      aws(other({ status: 'PAUSED', ...YOUNG })),
      'unwanted',
    ],
    [
      'is the desired one',
      alive({ spec: REPLACE, profiles: [served(OTHER), entry(PROFILE)], isQuotaExceeded: true }),
      aws(other(), named(YOUNG)),
      'stays',
    ],
  ],
};

describe('whyDeletable, for a profile', () => {
  for (const [topic, rows] of Object.entries(TABLES))
    describe(topic, () => {
      for (const [situation, desires, seen, fate] of rows)
        it(`${situation}: ${fate}`, () => expect(fateOf(desires, seen)).to.equal(fate));
    });

  it('keeps the last ACTIVE profile that served, whatever status, record and strategy of a living object say', () => {
    const aName = fc.constantFrom(PROFILE, OTHER, ProfileName.of('third'));
    const anEntry = fc.record(
      { name: aName, id: fc.constant(PROFILE_ID), served: fc.constant(true as const), activeSince: fc.nat(2 * NOW) },
      { requiredKeys: ['name'] },
    );
    const aFound = fc.record({
      name: aName,
      status: fc.constantFrom('ACTIVE', 'CREATING', 'DELETING', 'CREATE_FAILED'),
      selectors: fc.constantFrom(named().selectors, DIFFERENT.selectors),
      tags: fc.constantFrom(PROFILE_TAGS, FOREIGN_TAGS),
      createdAt: fc.constantFrom(NOW - 2 * HOUR, NOW - 1),
    });
    const isSameName = { selector: ({ name }: { readonly name: string }) => name };
    fc.assert(
      fc.property(
        fc.constantFrom(REJECT, REPLACE),
        fc.uniqueArray(anEntry, isSameName),
        fc.uniqueArray(aFound, isSameName),
        fc.boolean(),
        (spec, profiles, foundIn, isQuotaExceeded) => {
          const seen = aws(...foundIn.map((each) => aProfile(each)));
          const desired = alive({ spec, profiles, isQuotaExceeded })(seen);
          const active = seen.profiles.filter(({ status, tags }) => status === 'ACTIVE' && tags === PROFILE_TAGS);
          const hasServed = ({ name }: FargateProfile): boolean =>
            desired.record.profiles.some((each) => each.name === name && each.served === true);
          const left = active.filter((found) => whyDeletable(desired, seen, found) === undefined);
          if (active.some(hasServed)) expect(left).to.not.deep.equal([]);
        },
      ),
    );
  });
});
