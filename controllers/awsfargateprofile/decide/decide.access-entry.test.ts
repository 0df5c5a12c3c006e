import { expect } from 'chai';
import type { AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { ACCESS_ENTRY_DELETED_ANNOTATION, ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed, ObservedAccessEntry } from '../model/observed-state.ts';
import {
  MOVED,
  PROFILE,
  ROLE,
  ROLE_ARN,
  ROLE_CREATED_AT,
  aProfile,
  aRole,
  aDeletedObject,
  anObject,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import { PROVISIONED } from '../testing/fixtures.ts';
import { describeDecision } from '../testing/mutations.ts';
import { decide } from './decide.ts';

type Row = readonly [situation: string, desired: Desired, seen: Observed, decision: string];

const OLD = { type: 'FARGATE_LINUX', createdAt: ROLE_CREATED_AT - 1 };
const NEW = { type: 'FARGATE_LINUX', createdAt: ROLE_CREATED_AT + 1_000 };
const STANDARD = { ...OLD, type: 'STANDARD' };
const DENIED = { refusal: 'no (EKS DescribeAccessEntry: AccessDeniedException)', isUnreadable: true } as const;
const WITHOUT_PROFILE = { role: aRole() };
const WITHOUT_POLICIES = { role: aRole({ attached: [] }) };
const LIVE = { profile: aProfile(), role: aRole() };
const MODES = ['API', 'API_AND_CONFIG_MAP'] as const;

const entry = (found: ObservedAccessEntry['found'], over: Partial<ObservedAccessEntry> = {}): ObservedAccessEntry => ({
  principal: ROLE_ARN,
  mode: 'API',
  found,
  ...over,
});
const withEntry = (parts: Parameters<typeof observed>[0], ...accessEntries: readonly ObservedAccessEntry[]): Observed =>
  observed({ ...parts, accessEntries });

const desiredWith = (
  status: AWSFargateProfileStatus = {},
  annotations: Readonly<Record<string, string>> = {},
): Desired => desiredOf(anObject({ status, metadata: { annotations } }));
const withRole = (role: AWSFargateProfileStatus['role']): AWSFargateProfileStatus => ({
  ...PROVISIONED,
  role: { name: ROLE, managed: true, ...role },
});
const CHECKED = withRole({ id: 'AROAEXAMPLE', accessEntryCheckedFor: 'AROAEXAMPLE' });
const CREATED = withRole({ id: 'AROAEXAMPLE' });
const RECREATED = withRole({ id: 'AROAFORMER', accessEntryCheckedFor: 'AROAFORMER' });

const CREATE = `create profile ${PROFILE} with fargate`;
const DELETE_ROLE = `delete role ${ROLE}`;
const CREATE_ENTRY = `create access entry of ${ROLE}`;
const deleteEntry = (because: string): string => `delete access entry of ${ROLE}, ${because}`;

const TABLES: Readonly<Record<string, readonly Row[]>> = {
  'before a profile is created': [
    ['the entry is not read', desiredWith(), withEntry(WITHOUT_PROFILE), 'read access entry before creation'],
    ['there is no entry', desiredWith(), withEntry(WITHOUT_PROFILE, entry(undefined)), CREATE],
    ['the entry is newer than the role', desiredWith(), withEntry(WITHOUT_PROFILE, entry(NEW)), CREATE],
    [
      'the entry is older than the role',
      desiredWith(),
      withEntry(WITHOUT_PROFILE, entry(OLD)),
      deleteEntry('profileCreation'),
    ],
    [
      'a live profile uses the role of the older entry',
      desiredWith(),
      withEntry(WITHOUT_PROFILE, entry(OLD, { inUseBy: 'Fargate profile "other"' })),
      CREATE,
    ],
    ['the entry has another type', desiredWith(), withEntry(WITHOUT_PROFILE, entry(STANDARD)), CREATE],
    ['AWS denies the read', desiredWith(), withEntry(WITHOUT_PROFILE, entry(undefined, DENIED)), CREATE],
    [
      'AWS denies the deletion of the older entry',
      desiredWith(),
      withEntry(WITHOUT_PROFILE, entry(OLD, { refusal: 'no' })),
      CREATE,
    ],
  ],
  'after the profile is ACTIVE': [
    ['the entry is not read', desiredWith(CREATED), withEntry(LIVE), 'read access entry before readiness'],
    ['the entry was checked for this role', desiredWith(CHECKED), withEntry(LIVE), 'settled'],
    ['the entry is newer than the role', desiredWith(CREATED), withEntry(LIVE, entry(NEW)), 'settled'],
    [
      'the entry is older than the role',
      desiredWith(CREATED),
      withEntry(LIVE, entry(OLD)),
      deleteEntry('roleRecreated'),
    ],
    ['there is no entry, in mode API', desiredWith(CREATED), withEntry(LIVE, entry(undefined)), CREATE_ENTRY],
    [
      'there is no entry, and aws-auth may serve the role',
      desiredWith(CREATED),
      withEntry(LIVE, entry(undefined, { mode: 'API_AND_CONFIG_MAP' })),
      'settled',
    ],
    [
      'there is no entry, because this controller has deleted it',
      desiredWith(CREATED, { [ACCESS_ENTRY_DELETED_ANNOTATION]: ROLE_ARN }),
      withEntry(LIVE, entry(undefined, { mode: 'API_AND_CONFIG_MAP' })),
      CREATE_ENTRY,
    ],
    [
      'there is no entry, because this pass has deleted it',
      desiredWith(CREATED),
      withEntry(LIVE, entry(undefined, { mode: 'API_AND_CONFIG_MAP', isDeletedByThisPass: true })),
      CREATE_ENTRY,
    ],
    ['the cluster has no access entries', desiredWith(CREATED), observed(LIVE), 'settled'],
    ['AWS denies the read', desiredWith(CREATED), withEntry(LIVE, entry(undefined, DENIED)), 'settled'],
    [
      'AWS denies the deletion of the older entry',
      desiredWith(CREATED),
      withEntry(LIVE, entry(OLD, { refusal: 'no' })),
      'stop: RoleRecreated',
    ],
    [
      'AWS denies the creation of the missing entry',
      desiredWith(CREATED),
      withEntry(LIVE, entry(undefined, { refusal: 'no', isDeletedByThisPass: true })),
      'stop: RoleRecreated',
    ],
    ['the entry has another type', desiredWith(CREATED), withEntry(LIVE, entry(STANDARD)), 'settled'],
  ],
  'when the role was deleted and created again under a live profile': [
    ['the entry is not read', desiredWith(RECREATED), withEntry(LIVE), 'read access entry before readiness'],
    [
      'the entry is older than the role',
      desiredWith(RECREATED),
      withEntry(LIVE, entry(OLD)),
      deleteEntry('roleRecreated'),
    ],
    [
      'the entry is of the same second as the role',
      desiredWith(RECREATED),
      withEntry(LIVE, entry({ ...NEW, createdAt: ROLE_CREATED_AT + 999 })),
      deleteEntry('roleRecreated'),
    ],
    ['the entry is newer than the role', desiredWith(RECREATED), withEntry(LIVE, entry(NEW)), 'settled'],
    [
      'this pass has made the entry anew',
      desiredWith(RECREATED),
      withEntry(LIVE, entry({ ...NEW, createdAt: 0 }, { isMadeAnew: true })),
      'settled',
    ],
    ['AWS denies the read', desiredWith(RECREATED), withEntry(LIVE, entry(undefined, DENIED)), 'stop: RoleRecreated'],
    [
      'a user has made the entry anew and says so',
      desiredWith(RECREATED, { [ACCESS_ENTRY_RENEWED_ANNOTATION]: 'AROAEXAMPLE' }),
      withEntry(LIVE),
      'settled',
    ],
    ['the entry has another type', desiredWith(RECREATED), withEntry(LIVE, entry(STANDARD)), 'stop: RoleRecreated'],
    ['the cluster has no access entries', desiredWith(RECREATED), observed(LIVE), 'settled'],
    [
      'the recorded id belongs to a role with another name',
      desiredWith({ ...PROVISIONED, role: { id: 'AROAFORMER', accessEntryCheckedFor: 'AROAEXAMPLE' } }),
      withEntry(LIVE, entry(OLD)),
      'settled',
    ],
  ],
  'before a role is deleted': [
    ['the entry is not read', desiredOfDeletion(), withEntry(WITHOUT_POLICIES), 'read access entry before deletion'],
    ['there is no entry', desiredOfDeletion(), withEntry(WITHOUT_POLICIES, entry(undefined)), DELETE_ROLE],
    [
      'the entry is newer than the role',
      desiredOfDeletion(),
      withEntry(WITHOUT_POLICIES, entry(NEW)),
      deleteEntry('roleDeletion'),
    ],
    [
      'the entry is older than the role',
      desiredOfDeletion(),
      withEntry(WITHOUT_POLICIES, entry(OLD)),
      deleteEntry('roleDeletion'),
    ],
    ['the entry has another type', desiredOfDeletion(), withEntry(WITHOUT_POLICIES, entry(STANDARD)), DELETE_ROLE],
    ['AWS denies the read', desiredOfDeletion(), withEntry(WITHOUT_POLICIES, entry(undefined, DENIED)), DELETE_ROLE],
    [
      'AWS denies the deletion of the entry',
      desiredOfDeletion(),
      withEntry(WITHOUT_POLICIES, entry(NEW, { refusal: 'no' })),
      DELETE_ROLE,
    ],
    [
      'the EKS cluster is going to be deleted',
      desiredOfDeletion(aDeletedObject(), { abandonment: 'removeFinalizer' }),
      withEntry(WITHOUT_POLICIES, entry(NEW)),
      DELETE_ROLE,
    ],
    [
      'the EKS cluster is gone',
      desiredOfDeletion(aDeletedObject(MOVED)),
      withEntry({ ...WITHOUT_POLICIES, cluster: 'gone' }),
      DELETE_ROLE,
    ],
  ],
};

describe('decide, about the access entry', () => {
  for (const [topic, rows] of Object.entries(TABLES)) {
    describe(topic, () => {
      for (const [situation, desired, seen, decision] of rows) {
        it(`${situation}: ${decision}`, () => expect(describeDecision(decide(desired, seen))).to.equal(decision));
      }
    });
  }

  for (const [what, shown, known] of [
    ['is older than the role', entry(STANDARD), 'outdated'],
    ['is missing', entry(undefined, { refusal: 'no' }), 'missing'],
    ['is not shown', entry(undefined, DENIED), 'unknown'],
  ] as const)
    it(`says no more of the entry than AWS has shown: it ${what}`, () => {
      const decision = decide(desiredWith(RECREATED), withEntry(LIVE, shown));
      expect(decision).to.have.nested.property('reason.facts.entry', known);
    });

  for (const mode of MODES)
    it(`touches no entry of a role of another owner, in mode ${mode}`, () => {
      const foreign = aRole({ tags: {} });
      const desired = desiredOf(anObject({ spec: { roleARN: ROLE_ARN } }));
      const seen = { role: foreign, accessEntries: [entry(OLD, { mode })] };
      expect(describeDecision(decide(desired, observed(seen)))).to.equal(CREATE);
      expect(describeDecision(decide(desired, observed({ ...seen, profile: aProfile() })))).to.equal('settled');
    });
});
