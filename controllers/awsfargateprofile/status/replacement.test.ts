import { expect } from 'chai';
import { ProfileName, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileStatus, ReplacementProfile } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { formatTimestamp } from '../../../pkg/env/timestamp.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed, ObservedRole } from '../model/observed-state.ts';
import {
  NOW,
  RECORDED,
  ROLE,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  desiredOf,
  desiredOfDeletion,
} from '../testing/builders.ts';
import type { Step } from '../model/outcome.ts';
import type { Execution } from '../model/pass.ts';
import { DELETE_PROFILE, DELETE_ROLE } from '../testing/mutations.ts';
import { replacementAfter, replacementAhead } from './replacement.ts';

const [NEXT, FORMER] = [ProfileName.of('next'), ProfileName.of('former')];
const OLD = RoleName.of('old');
const spec = { profileName: NEXT, roleName: ROLE, updateStrategy: { type: 'Replace' } } as const;
const { arn: ARN } = aProfile({ name: FORMER });
const THEN = '2026-11-20T10:00:00Z';

const of = (status: AWSFargateProfileStatus, isCreateUnconfirmed = false): Desired =>
  desiredOf(anObject({ spec, status: { ...RECORDED, ...status } }), { isCreateUnconfirmed });
const recording = (...predecessors: readonly ReplacementProfile[]): AWSFargateProfileStatus => ({
  profileName: NEXT,
  predecessors,
});
const former = (over: Partial<FargateProfile> = {}): FargateProfile => aProfile({ name: FORMER, ...over });
const next = (over: Partial<FargateProfile> = {}): FargateProfile => aProfile({ name: NEXT, ...over });
const withOld = (found: ObservedRole['found']): ObservedRole => ({ name: OLD, found });
const oldRole = { name: OLD, found: aRole({ name: OLD }) };
const seen = (profiles: readonly FargateProfile[], ...roles: readonly ObservedRole[]): Observed => ({
  cluster: 'there',
  profiles: [NEXT, FORMER].map((name) => ({ name, found: profiles.find((each) => each.name === name) })),
  roles: [{ name: ROLE, found: aRole() }, ...roles],
});

const describeEntry = ({ name, status, arn, role }: ReplacementProfile): string =>
  [name, status, arn === undefined ? undefined : arn === ARN ? 'with ARN' : 'with its ARN', role && `role ${role}`]
    .filter((each) => each !== undefined)
    .join(' ');
const describeRecord = (record: ReturnType<typeof replacementAfter>): string =>
  [
    ...(record.predecessors ?? []).map((each) => `replaces ${describeEntry(each)}`),
    ...(record.successor === undefined ? [] : [`by ${describeEntry(record.successor)}`]),
    ...(record.activeSince === undefined ? [] : [`${record.activeSince.name} since ${record.activeSince.time}`]),
    ...(record.profileName === undefined ? [] : [`as ${record.profileName}`]),
  ].join('; ');

describe('replacementAfter', () => {
  const onFormer = of({ profileName: FORMER });
  const onNext = of(recording());
  const onRecord = (entry: ReplacementProfile, isCreateUnconfirmed = false): Desired =>
    of(recording({ name: FORMER, ...entry }), isCreateUnconfirmed);
  const byRole = onRecord({ role: OLD });
  const unnamed = of({});
  const retained = desiredOf(anObject({ spec: { profileName: NEXT, roleName: ROLE }, status: RECORDED }));
  const leaving = desiredOfDeletion(aDeletedObject({ spec, status: { ...RECORDED, ...recording({ name: FORMER }) } }));
  const [SINCE, BY] = [`next since ${formatTimestamp(NOW)}; as next`, `by next role ${ROLE}`];
  const withOther = { podExecutionRoleArn: oldRole.found.arn };
  const foreign = { tags: {} };
  const started = [{ mutation: { ...DELETE_PROFILE, name: FORMER }, outcome: { kind: 'done' } }] as const;
  const removed = [{ mutation: { ...DELETE_ROLE, name: OLD }, outcome: { kind: 'done' } }] as const;
  type Made = { readonly steps?: readonly Step[]; readonly keeps?: RoleName };
  const rows: readonly (readonly [string, Desired, Observed, string, Made?])[] = [
    ['a profile before its successor', onFormer, seen([former()]), `replaces former ACTIVE with ARN; ${BY}`],
    [
      'a successor that EKS creates',
      onFormer,
      seen([former(), next({ status: 'CREATING' })]),
      `replaces former ACTIVE with ARN; by next CREATING with its ARN role ${ROLE}`,
    ],
    ['both until the first is gone', onFormer, seen([former(), next()]), `replaces former ACTIVE with ARN; ${SINCE}`],
    [
      'the deletion that this pass has begun',
      onFormer,
      seen([former(), next()]),
      `replaces former DELETING with ARN; ${SINCE}`,
      { steps: started },
    ],
    ['nothing that is replaced', onNext, seen([next()]), SINCE],
    ['no successor under the name on record', onNext, seen([]), ''],
    ['no successor of an object without a profile', unnamed, seen([]), ''],
    ['a successor without a name on record', unnamed, seen([former()]), `replaces former ACTIVE with ARN; ${BY}`],
    [
      'another role of the first, which has to be deleted',
      onFormer,
      seen([former(withOther), next()], oldRole),
      `replaces former ACTIVE with ARN role old; ${SINCE}`,
    ],
    [
      'the other role of a profile with the wanted name',
      of(recording({ name: NEXT, role: OLD })),
      seen([], oldRole),
      'replaces next role old',
    ],
    ['a role that is left', byRole, seen([next()], oldRole), `replaces former role old; ${SINCE}`],
    ['a role that was not read', byRole, seen([next()], withOld('unread')), `replaces former role old; ${SINCE}`],
    ['no role that is in use', byRole, seen([next()], oldRole), SINCE, { keeps: OLD }],
    [
      'a role while another one is in use',
      byRole,
      seen([next()], oldRole),
      `replaces former role old; ${SINCE}`,
      { keeps: ROLE },
    ],
    ['no role that is gone', byRole, seen([next()], withOld(undefined)), SINCE],
    ['no role that this pass has deleted', byRole, seen([next()], oldRole), SINCE, { steps: removed }],
    ['no role of others', byRole, seen([next()], withOld(aRole({ name: OLD, tags: {} }))), SINCE],
    [
      'once a profile that is recorded and found',
      onRecord({ arn: ARN }),
      seen([former(), next()]),
      `replaces former ACTIVE with ARN; ${SINCE}`,
    ],
    ['no profile that is gone', onRecord({}), seen([next()]), SINCE],
    ['nor while other roles are not read', onRecord({}), seen([next()], withOld('unread')), SINCE],
    ['a profile whose create was not answered', onRecord({}, true), seen([next()]), `replaces former; ${SINCE}`],
    ['no profile that EKS has shown before', onRecord({ arn: ARN }, true), seen([next()]), SINCE],
    [
      'a profile that has lost its tags',
      onRecord({ arn: ARN }),
      seen([former(foreign), next()]),
      `replaces former ACTIVE with ARN; ${SINCE}`,
    ],
    ['no profile of others', onRecord({ arn: 'other' }), seen([former(foreign), next()]), SINCE],
    [
      'no other profile if none may be replaced',
      retained,
      seen([former(), next()]),
      `next since ${formatTimestamp(NOW)}`,
    ],
    ['what a deleted object has', leaving, seen([former()]), 'replaces former ACTIVE with ARN'],
  ];
  for (const [what, desired, observed, record, { steps = [], keeps } = {}] of rows)
    it(`records ${what}: ${record}`, () => {
      const kept = keeps === undefined ? [] : [{ name: keeps, usedBy: 'x' }];
      const execution: Execution = { end: 'inOrder', steps: [...steps], notices: [], kept };
      expect(describeRecord(replacementAfter({ execution }, { desired, observed }, {}))).to.equal(record);
    });

  it('keeps since when the wanted profile is ACTIVE', () => {
    for (const [name, time] of [
      [NEXT, THEN],
      [FORMER, formatTimestamp(NOW)],
    ] as const) {
      const activeSince = { name, time: THEN };
      const desired = of({ ...recording(), activeSince });
      const after = (...profiles: FargateProfile[]) =>
        replacementAfter({}, { desired, observed: seen(profiles) }, { activeSince }).activeSince;
      expect(after(next())).to.deep.equal({ name: NEXT, time });
      expect(after(), 'without the profile').to.deep.equal(activeSince);
      const deleted = replacementAfter({}, { desired: leaving, observed: seen([]) }, { activeSince });
      expect(deleted.activeSince, 'in a deletion').to.deep.equal(activeSince);
    }
  });

  it('records ahead of a change what is replaced, and the successor until it is ACTIVE', () => {
    const ahead = (...profiles: FargateProfile[]) => describeRecord(replacementAhead(onFormer, seen(profiles)));
    expect(ahead(former())).to.equal(`replaces former ACTIVE with ARN; ${BY}`);
    expect(ahead(former(), next())).to.equal('replaces former ACTIVE with ARN');
    expect(ahead(next())).to.equal('');
    expect(describeRecord(replacementAhead(leaving, seen([])))).to.equal('replaces former');
  });
});
