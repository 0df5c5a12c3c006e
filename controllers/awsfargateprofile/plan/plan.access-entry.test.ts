import { expect } from 'chai';
import { RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileSpec } from '../../../api/v1beta2/index.ts';
import type { ProfileRecord, RecordedRole } from '../../shared/record.ts';
import type { Observed, ObservedAccessEntry } from '../model/observed-state.ts';
import {
  EKS_CLUSTER,
  FULL_RECORD,
  ROLE,
  ROLE_ARN,
  ROLE_CREATED_AT,
  aProfile,
  aRole,
  observed,
} from '../testing/builders.ts';
import { type Desires, deleted, living, testPlans } from '../testing/plan-tables.ts';
import { plan } from './plan.ts';

const OLD = { type: 'FARGATE_LINUX', createdAt: ROLE_CREATED_AT - 1 };
const NEW = { type: 'FARGATE_LINUX', createdAt: ROLE_CREATED_AT + 1_000 };
const STANDARD = { ...OLD, type: 'STANDARD' };
const DENIED = { refusal: 'no (EKS DescribeAccessEntry: AccessDeniedException)' } as const;
const EITHER = { mode: 'API_AND_CONFIG_MAP' };

const entry = (found?: ObservedAccessEntry['found'], over: Partial<ObservedAccessEntry> = {}): ObservedAccessEntry => ({
  principal: ROLE_ARN,
  mode: 'API',
  found,
  ...over,
});
/** `alone`: AWS has only the role. `live`: AWS has the profile and the role. `missing`: AWS has neither. */
const alone = (...accessEntries: readonly ObservedAccessEntry[]): Observed =>
  observed({ role: aRole(), accessEntries });
const live = (...accessEntries: readonly ObservedAccessEntry[]): Observed =>
  observed({ profile: aProfile(), role: aRole(), accessEntries });
const missing = (...accessEntries: readonly ObservedAccessEntry[]): Observed => observed({ accessEntries });

const withRole = (
  role: Partial<RecordedRole>,
  record: Partial<ProfileRecord> = {},
  spec: Partial<AWSFargateProfileSpec> = {},
): Desires => living({ spec, record: { ...FULL_RECORD, roles: [{ name: ROLE, ...role }], ...record } });
const plain = living();
const checked = living({ record: FULL_RECORD });
const created = withRole({ id: 'AROAEXAMPLE' });
const deletedBefore = withRole({ id: 'AROAEXAMPLE', checked: true }, { entry: ROLE_ARN });
/** The recorded ID is the former role's ID. */
const OF_OTHER_OWNER = { id: 'AROAFORMER', managed: false } as const;
const FORMER = { id: 'AROAFORMER', checked: true } as const;
const recreated = withRole(FORMER);
const ofOtherRole = withRole({ ...FORMER, name: RoleName.of('other') });
const deletion = deleted();
const leaving = deleted({}, { abandonment: 'removeFinalizer' });

const OF_OTHERS = entry(undefined, { principal: RoleArn.of('arn:aws:iam::111122223333:role/other') });
const CREATE = 'create profile; stop: Creating';
const CREATE_ENTRY = 'create entry; in order';
const REPLACE = `delete entry for roleRecreated; ${CREATE_ENTRY}`;
const RECREATED = 'stop: RoleRecreated';
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
      ['there is no entry, in mode API', created, live(entry()), CREATE_ENTRY],
      ['there is no entry, and aws-auth may serve the role', created, live(entry(undefined, EITHER)), 'in order'],
      [
        'there is no entry, because this controller has deleted it',
        deletedBefore,
        live(entry(undefined, EITHER)),
        CREATE_ENTRY,
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
        plain,
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
      ['there is no entry, and aws-auth may serve the role', recreated, live(entry(undefined, EITHER)), CREATE_ENTRY],
      ['the cluster has only aws-auth', recreated, live(entry(undefined, { mode: 'CONFIG_MAP' })), 'in order'],
      ['the entry is newer than the role', recreated, live(entry(NEW)), 'in order'],
      [
        'the entry is a second newer than the role',
        recreated,
        live(entry({ ...NEW, createdAt: ROLE_CREATED_AT + 1_000 })),
        'in order',
      ],
      ['AWS denies the read', recreated, live(entry(undefined, DENIED)), RECREATED],
      ['the entry has another type', recreated, live(entry(STANDARD)), RECREATED],
      ['the cluster has no access entries', recreated, observed({ profile: aProfile(), role: aRole() }), 'in order'],
      ['the recorded id belongs to a role with another name', ofOtherRole, live(entry(NEW)), 'in order'],
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
        deleted({ record: FULL_RECORD }),
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
      const brought = withRole(OF_OTHER_OWNER, {}, { roleARN: ROLE_ARN });
      const seen = live(shown);
      expect(plan(brought(seen), seen)).to.have.nested.property('end.facts.entry', known);
    });

  it('lists the reads that AWS has refused, and nothing else', () => {
    const protection = { kind: 'unreadable', refusal: 'no' } as const;
    const refused = { ...live(entry(undefined, DENIED)), deletionProtection: protection };
    expect(plan(recreated(refused), refused).refusedReads).to.deep.equal([
      { of: 'accessEntry', principal: ROLE_ARN, refusal: DENIED.refusal },
      { of: 'deletionProtection', eksCluster: EKS_CLUSTER, refusal: 'no' },
    ]);
    const shown = { ...live(entry(NEW)), deletionProtection: { kind: 'off' } as const };
    expect(plan(recreated(shown), shown).refusedReads).to.deep.equal([]);
  });

  for (const mode of ['API', 'API_AND_CONFIG_MAP']) {
    const seen = (parts: Parameters<typeof observed>[0]): Observed =>
      observed({ role: aRole({ tags: {} }), accessEntries: [entry(OLD, { mode })], ...parts });
    const showing = (found: ObservedAccessEntry['found']): Observed =>
      seen({ profile: aProfile(), accessEntries: [entry(found, { mode })] });
    const spec = { roleARN: ROLE_ARN };
    const brought = living({ spec });
    const named = living({ spec: { roleName: RoleName.of(ROLE) } });
    const broughtAnew = withRole(OF_OTHER_OWNER, {}, spec);
    testPlans({
      [`for a role of another owner, in mode ${mode}, and`]: [
        ['the profile is missing', brought, seen({}), CREATE],
        ['the profile is ACTIVE, and the role is not recorded', brought, seen({ profile: aProfile() }), RECREATED],
        ['the profile is ACTIVE, and spec.roleName names the role', named, seen({ profile: aProfile() }), RECREATED],
        ['the profile is ACTIVE, and the entry is newer than the role', brought, showing(NEW), 'in order'],
        ['the profile is ACTIVE, and the entry has another type', brought, showing(STANDARD), 'in order'],
        [
          'the profile is ACTIVE, and there is no entry',
          brought,
          showing(undefined),
          mode === 'API' ? RECREATED : 'in order',
        ],
        ['the role was recorded', withRole({ id: 'AROAEXAMPLE', managed: false }, {}, spec), showing(OLD), 'in order'],
        ['the profile is missing, and spec.roleName names the role', named, seen({}), CREATE],
        ['the role was created again', broughtAnew, seen({ profile: aProfile() }), RECREATED],
        [
          'the role was created again, and a user has removed the record because the entry is right',
          withRole({ managed: false }, {}, spec),
          seen({ profile: aProfile() }),
          'in order',
        ],
      ],
    });
  }
});
