import { expect } from 'chai';
import { RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { ACCESS_ENTRY_DELETED_ANNOTATION, ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed, ObservedAccessEntry } from '../model/observed-state.ts';
import { newReason } from '../reasons/reasons.ts';
import {
  MOVED,
  ROLE,
  ROLE_ARN,
  ROLE_CREATED_AT,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import { CAPA_TAGS, PROVISIONED, desiredFrom } from '../testing/fixtures.ts';
import { withoutRoles } from '../testing/pass-state.ts';
import { testPlans } from '../testing/plan-tables.ts';
import { entriesToRead } from './further-reads.ts';
import { plan } from './plan.ts';

const OLD = { type: 'FARGATE_LINUX', createdAt: ROLE_CREATED_AT - 1 };
const NEW = { type: 'FARGATE_LINUX', createdAt: ROLE_CREATED_AT + 1_000 };
const STANDARD = { ...OLD, type: 'STANDARD' };
const DENIED = { refusal: 'no (EKS DescribeAccessEntry: AccessDeniedException)', isUnreadable: true } as const;
const EITHER = { mode: 'API_AND_CONFIG_MAP' };

const entry = (found?: ObservedAccessEntry['found'], over: Partial<ObservedAccessEntry> = {}): ObservedAccessEntry => ({
  principal: ROLE_ARN,
  mode: 'API',
  found,
  ...over,
});
/** AWS with the role alone, with profile and role, and with the role alone before its deletion. */
const alone = (...accessEntries: readonly ObservedAccessEntry[]): Observed =>
  observed({ role: aRole(), accessEntries });
const live = (...accessEntries: readonly ObservedAccessEntry[]): Observed =>
  observed({ profile: aProfile(), role: aRole(), accessEntries });
const missing = (...accessEntries: readonly ObservedAccessEntry[]): Observed => observed({ accessEntries });

const desiredWith = (
  role: AWSFargateProfileStatus['role'],
  annotations: Readonly<Record<string, string>> = {},
): Desired => {
  const status = { ...PROVISIONED, role: { name: ROLE, managed: true, ...role } };
  return desiredOf(anObject({ status, metadata: { annotations } }));
};
const plain = desiredFrom();
const checked = desiredWith({ id: 'AROAEXAMPLE', accessEntryCheckedFor: 'AROAEXAMPLE' });
const created = desiredWith({ id: 'AROAEXAMPLE' });
const deletedBefore = desiredWith({ id: 'AROAEXAMPLE' }, { [ACCESS_ENTRY_DELETED_ANNOTATION]: ROLE_ARN });
const FORMER = { id: 'AROAFORMER', accessEntryCheckedFor: 'AROAFORMER' };
const recreated = desiredWith(FORMER);
const renewed = desiredWith(FORMER, { [ACCESS_ENTRY_RENEWED_ANNOTATION]: 'AROAEXAMPLE' });
const ofOtherRole = desiredOf(
  anObject({ status: { ...PROVISIONED, role: { id: 'AROAFORMER', accessEntryCheckedFor: 'AROAEXAMPLE' } } }),
);
const deletion = desiredOfDeletion();
const leaving = desiredOfDeletion(aDeletedObject(), { abandonment: 'removeFinalizer' });
const blocked = { ...plain, creationBlocker: newReason('WaitingForEKSControlPlane', { detail: 'not ready' }) };

const OF_OTHERS = entry(undefined, { principal: RoleArn.of('arn:aws:iam::111122223333:role/other') });
const CREATE = 'create profile; stop: Creating';
const REPLACE = 'delete entry for roleRecreated; create entry; in order';
const DELETE_ROLE = 'strip pod policy; delete role; in order';
const DELETE_BOTH = 'strip pod policy; delete entry for roleDeletion?; delete role; in order';

describe('plan, about the access entry', () => {
  testPlans({
    'before a profile is created, and': [
      ['there is no entry', plain, alone(entry()), CREATE],
      ['the entry is newer than the role', plain, alone(entry(NEW)), CREATE],
      ['the entry is older than the role', plain, alone(entry(OLD)), `delete entry for profileCreation?; ${CREATE}`],
      ['the entry has another type', plain, alone(entry(STANDARD)), CREATE],
      ['AWS denies the read', plain, alone(entry(undefined, DENIED)), CREATE],
      [
        'the role does not exist yet, so any entry is older',
        plain,
        missing(entry(NEW)),
        `create role; attach pod policy; delete entry for profileCreation?; ${CREATE}`,
      ],
      [
        'the role does not exist yet, and the entry has another type',
        plain,
        missing(entry(STANDARD)),
        `create role; attach pod policy; ${CREATE}`,
      ],
    ],
    'while the profile is ACTIVE, and': [
      ['the entry was checked for this role', checked, live(entry(OLD)), 'in order'],
      ['the entry is newer than the role', created, live(entry(NEW)), 'in order'],
      ['the entry is older than the role', created, live(entry(OLD)), REPLACE],
      ['there is no entry, in mode API', created, live(entry()), 'create entry; in order'],
      ['there is no entry, and aws-auth may serve the role', created, live(entry(undefined, EITHER)), 'in order'],
      [
        'there is no entry, because this controller has deleted it',
        deletedBefore,
        live(entry(undefined, EITHER)),
        'create entry; in order',
      ],
      [
        'the entry that this controller has deleted cannot exist any more',
        deletedBefore,
        live(entry(undefined, { mode: 'CONFIG_MAP' })),
        'in order',
      ],
      ['the entry is as old as the role', created, live(entry({ ...NEW, createdAt: ROLE_CREATED_AT })), 'in order'],
      [
        'the entry is of the same second as the role, whose id is not recorded yet',
        desiredWith({}),
        live(entry({ ...NEW, createdAt: ROLE_CREATED_AT + 999 })),
        'in order',
      ],
      ['the cluster has no access entries', created, observed({ profile: aProfile(), role: aRole() }), 'in order'],
      ['AWS denies the read', created, live(entry(undefined, DENIED)), 'in order'],
      ['the entry has another type', created, live(entry(STANDARD)), 'in order'],
    ],
    'while the role was created again under an ACTIVE profile, and': [
      ['the entry is older than the role', recreated, live(entry(OLD)), REPLACE],
      [
        'the entry is of the same second as the role',
        recreated,
        live(entry({ ...NEW, createdAt: ROLE_CREATED_AT + 999 })),
        REPLACE,
      ],
      ['the entry is newer than the role', recreated, live(entry(NEW)), 'in order'],
      [
        'the entry is a second newer than the role',
        recreated,
        live(entry({ ...NEW, createdAt: ROLE_CREATED_AT + 1_000 })),
        'in order',
      ],
      ['AWS denies the read', recreated, live(entry(undefined, DENIED)), 'stop: RoleRecreated'],
      ['a user has made the entry anew and says so', renewed, live(entry(OLD)), 'in order'],
      ['the entry has another type', recreated, live(entry(STANDARD)), 'stop: RoleRecreated'],
      ['the cluster has no access entries', recreated, observed({ profile: aProfile(), role: aRole() }), 'in order'],
      ['the recorded id belongs to a role with another name', ofOtherRole, live(entry(OLD)), 'in order'],
    ],
    'before a role is deleted, and': [
      ['there is no entry', deletion, alone(entry()), DELETE_ROLE],
      ['the entry is newer than the role', deletion, alone(OF_OTHERS, entry(NEW)), DELETE_BOTH],
      ['the entry is older than the role', deletion, alone(entry(OLD)), DELETE_BOTH],
      ['the entry has another type', deletion, alone(entry(STANDARD)), DELETE_ROLE],
      ['AWS denies the read', deletion, alone(entry(undefined, DENIED)), DELETE_ROLE],
      ['the EKS cluster is being deleted', leaving, alone(entry(NEW)), DELETE_ROLE],
      [
        'the EKS cluster is gone',
        desiredOfDeletion(aDeletedObject(MOVED)),
        observed({ cluster: 'gone', role: aRole(), accessEntries: [entry(NEW)] }),
        DELETE_ROLE,
      ],
    ],
  });

  for (const [what, shown, known] of [
    ['is older than the role', entry(STANDARD), 'outdated'],
    ['is missing', entry(), 'missing'],
    ['is not shown', entry(undefined, DENIED), 'unknown'],
  ] as const)
    it(`says no more of the entry than AWS has shown: it ${what}`, () => {
      const brought = desiredFrom({ roleARN: ROLE_ARN }, { ...PROVISIONED, role: { name: ROLE, ...FORMER } });
      expect(plan(brought, live(shown))).to.have.nested.property('end.facts.entry', known);
    });

  for (const mode of ['API', 'API_AND_CONFIG_MAP']) {
    const seen = (parts: Parameters<typeof observed>[0]): Observed =>
      observed({ role: aRole({ tags: {} }), accessEntries: [entry(OLD, { mode })], ...parts });
    const brought = desiredFrom({ roleARN: ROLE_ARN });
    const named = desiredFrom({ roleName: RoleName.of(ROLE) });
    const broughtAnew = desiredFrom({ roleARN: ROLE_ARN }, { ...PROVISIONED, role: { name: ROLE, ...FORMER } });
    testPlans({
      [`for a role of another owner, in mode ${mode}, and`]: [
        ['the profile is missing', brought, seen({}), CREATE],
        ['the profile is ACTIVE', brought, seen({ profile: aProfile() }), 'in order'],
        ['the profile is missing, and spec.roleName names the role', named, seen({}), CREATE],
        ['the role was created again', broughtAnew, seen({ profile: aProfile() }), 'stop: RoleRecreated'],
      ],
    });
  }

  describe('reads the entry only if it matters:', () => {
    const [yes, no] = [[ROLE_ARN], []];

    const rows: readonly (readonly [situation: string, desired: Desired, seen: Observed, read: readonly string[]])[] = [
      ['a profile is to be made', plain, alone(), yes],
      ['role and profile are to be made', plain, missing(), yes],
      ['the profile uses a role of another owner', desiredFrom({ roleARN: ROLE_ARN }), alone(), no],
      ['the control plane is not ready', blocked, alone(), no],
      ['the EKS cluster is gone', plain, observed({ cluster: 'gone', role: aRole() }), no],
      ['the role has to be adopted first', plain, observed({ role: aRole({ tags: CAPA_TAGS }) }), no],
      ['EKS is creating the profile', plain, withoutRoles(observed({ profile: aProfile({ status: 'CREATING' }) })), no],
      ['the profile is ACTIVE, and the role was never checked', created, live(), yes],
      ['the profile is ACTIVE, and the role was checked', checked, live(), no],
      ['the role was created again under an ACTIVE profile', recreated, live(), yes],
      ['a user has made the entry anew and says so', renewed, live(), no],
      ['the role of a deleted object goes', deletion, alone(), yes],
      ['the profile of a deleted object goes first', deletion, withoutRoles(live()), no],
      ['the role of a deleted object goes, and the EKS cluster too', leaving, alone(), no],
      [
        'the role of a deleted object goes, and the EKS cluster is gone',
        deletion,
        observed({ cluster: 'gone', role: aRole() }),
        no,
      ],
      ['the role of a deleted object cannot go', deletion, observed({ role: aRole({ blockers: ['x'] }) }), no],
      ['a retained object keeps its role', { ...deletion, surplus: 'retain' }, alone(), no],
    ];
    for (const [situation, desired, seen, read] of rows)
      it(`${situation}: ${read.length > 0}`, () => expect(entriesToRead(desired, seen)).to.deep.equal(read));
  });
});
