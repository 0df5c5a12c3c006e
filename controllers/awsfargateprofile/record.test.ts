import { expect } from 'chai';
import { ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import type { AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import type { Mutation, Observed } from './model.ts';
import { readyOnlyIfActive, recordBefore } from './record.ts';
import {
  CAPA_TAG,
  EKS_CLUSTER_TAG,
  NOW,
  OWNER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  ROLE,
  TARGET,
  aDeletedObject,
  aRole,
  anObject,
  asWanted,
  desiredOf,
  desiredOfDeletion,
  observed,
} from './testing/builders.ts';
import {
  ATTACH_POLICY,
  CREATE_PROFILE,
  CREATE_ROLE,
  DELETE_PROFILE,
  DELETE_ROLE,
  SET_TRUST,
} from './testing/mutations.ts';

const WHERE = { region: 'eu-west-1', account: '111122223333', eksClusterName: 'team-a_prod-control-plane' };
const OUR_KEYS = [CAPA_TAG, EKS_CLUSTER_TAG, OWNER_TAG].toSorted();

const recorded = (
  mutation: Mutation,
  status: AWSFargateProfileStatus = {},
  spec: Partial<AWSFargateProfileSpec> = {},
): AWSFargateProfileStatus => {
  const object = anObject({ spec, status });
  return recordBefore(object, TARGET, desiredOf(object), mutation, NOW);
};

describe('recordBefore', () => {
  const everything: readonly Mutation[] = [CREATE_ROLE, CREATE_PROFILE, ATTACH_POLICY, SET_TRUST, DELETE_PROFILE];
  for (const mutation of everything) {
    it(`says before ${mutation.kind} where the object is`, () => {
      expect(recorded(mutation)).to.include(WHERE);
    });
  }

  it('says before a deletion where the object is, and nothing else', () => {
    const object = aDeletedObject();
    expect(recordBefore(object, TARGET, desiredOfDeletion(object), DELETE_PROFILE, NOW)).to.deep.equal(WHERE);
  });

  it('says whose credentials are used, and forgets former ones', () => {
    const identity = { kind: 'AWSClusterRoleIdentity', name: 'tenant' };
    const object = anObject({ status: { identityRef: { kind: 'AWSClusterStaticIdentity', name: 'former' } } });
    const before = (target = TARGET) => recordBefore(object, target, desiredOf(object), CREATE_ROLE, NOW);
    expect(before({ ...TARGET, identity }).identityRef).to.deep.equal(identity);
    expect(before()).not.to.have.property('identityRef');
  });

  it('names profile and role before the role is made', () => {
    expect(recorded(CREATE_ROLE)).to.deep.include({ profileName: PROFILE, role: { name: ROLE }, tagKeys: OUR_KEYS });
  });

  it('names the policies before one is attached, beside those of earlier', () => {
    const status = { role: { name: ROLE, id: 'AROAEXAMPLE', attachedPolicies: ['arn:aws:iam::aws:policy/former'] } };
    expect(recorded(ATTACH_POLICY, status).role).to.deep.equal({
      name: ROLE,
      id: 'AROAEXAMPLE',
      attachedPolicies: ['arn:aws:iam::aws:policy/former', POD_EXECUTION_POLICY],
    });
  });

  it('says nothing of a role that was made of another name', () => {
    const status = { role: { name: RoleName.of('former'), managed: true, id: 'AROAFORMER', attachedPolicies: ['x'] } };
    expect(recorded(CREATE_ROLE, status).role).to.deep.equal({ name: ROLE });
  });

  it('says nothing of a role of the name that was somebody else’s', () => {
    const status = { role: { name: ROLE, managed: false, id: 'AROATHEIRS' } };
    expect(recorded(CREATE_ROLE, status).role).to.deep.equal({ name: ROLE });
  });

  it('says nothing of a profile that was asked for under another name', () => {
    const record = recorded(CREATE_ROLE, {
      profileName: ProfileName.of('former'),
      createRequestedAt: '2026-11-21T03:24:00Z',
      profileARN: 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/c/former/1',
      profileStatus: 'CREATE_FAILED',
      health: { issues: [] },
    });
    expect(record.profileName).to.equal(PROFILE);
    expect(record).not.to.have.any.keys('createRequestedAt', 'profileARN', 'profileStatus', 'health');
  });

  it('says nothing of a role that is only used', () => {
    const roleARN = RoleArn.of('arn:aws:iam::111122223333:role/pods');
    expect(recorded(CREATE_PROFILE, {}, { roleARN })).not.to.have.property('role');
  });

  describe('a create of the profile', () => {
    it('is written down with its time', () => {
      expect(recorded(CREATE_PROFILE)).to.include({ profileName: PROFILE, createRequestedAt: '2026-11-21T03:25:00Z' });
    });

    it('is written down anew at each attempt', () => {
      expect(recorded(CREATE_PROFILE, { createRequestedAt: '2026-11-21T03:24:55Z' }).createRequestedAt).to.equal(
        '2026-11-21T03:25:00Z',
      );
    });

    it('is written down anew over a time that is no time, or lies ahead', () => {
      for (const createRequestedAt of ['yesterday', '2026-11-22T00:00:00Z']) {
        expect(recorded(CREATE_PROFILE, { createRequestedAt }).createRequestedAt).to.equal('2026-11-21T03:25:00Z');
      }
    });

    it('forgets what was known of a former profile, and to which role it was bound', () => {
      const status: AWSFargateProfileStatus = {
        profileARN: 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/c/p/former',
        profileStatus: 'CREATE_FAILED',
        health: { issues: [{ code: 'AccessDenied' }] },
        role: { name: ROLE, id: 'AROAFORMER', managed: true },
      };
      const record = recorded(CREATE_PROFILE, status);
      expect(record).not.to.have.any.keys('profileARN', 'profileStatus', 'health');
      expect(record.role).to.deep.equal({ name: ROLE, managed: true });
    });
  });

  describe('the keys of tags', () => {
    it('are written down before they are set, and kept', () => {
      const record = recorded(CREATE_ROLE, { tagKeys: ['former'] }, { additionalTags: { team: 'a' } });
      expect(record.tagKeys).to.deep.equal([...OUR_KEYS, 'former', 'team'].toSorted());
    });

    it('are not written down before something else', () => {
      expect(recorded(SET_TRUST, { tagKeys: ['former'] }, { additionalTags: { team: 'a' } }).tagKeys).to.deep.equal([
        'former',
      ]);
    });
  });

  it('keeps all else of status', () => {
    const status: AWSFargateProfileStatus = {
      conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-11-20T10:00:00Z' }],
      initialization: { provisioned: true },
      profileName: ProfileName.of('team-a_web'),
      observedGeneration: 1,
    };
    for (const mutation of everything) expect(recorded(mutation, status)).to.deep.include(status);
  });
});

describe('readyOnlyIfActive', () => {
  const condition = (status: 'True' | 'False') => ({
    type: 'Ready',
    status,
    reason: 'Ready',
    lastTransitionTime: '2026-11-20T10:00:00Z',
  });
  const ready: AWSFargateProfileStatus = { ready: true, conditions: [condition('True')] };
  const vanished = observed({ role: aRole() });

  it('says before a lost profile is made anew that it is not Ready', () => {
    const object = anObject({ metadata: { generation: 3 }, status: ready });
    const about = { desired: desiredOf(object), observed: vanished, mutation: CREATE_PROFILE };
    const record = readyOnlyIfActive(ready, object, about, NOW);
    expect(record).to.include({ ready: false, observedGeneration: 3 });
    expect(record.conditions?.find(({ type }) => type === 'Ready')).to.deep.include({
      status: 'False',
      reason: 'Creating',
      lastTransitionTime: '2026-11-21T03:25:00Z',
    });
  });

  it('says before the profile is deleted that it is not Ready', () => {
    const object = aDeletedObject({ metadata: { generation: 4 }, status: ready });
    const about = { desired: desiredOfDeletion(object), observed: asWanted(), mutation: DELETE_PROFILE };
    const record = readyOnlyIfActive(ready, object, about, NOW);
    expect(record).to.include({ ready: false, observedGeneration: 4 });
    const said = record.conditions?.map(({ type, status, reason }) => [type, status, reason].join(' '));
    expect(said).to.include.members([
      'Ready False Deleting',
      'Reconciling True DeletingProfile',
      'Deleting True DeletingProfile',
    ]);
  });

  const unchanged: readonly (readonly [string, AWSFargateProfileStatus, Observed])[] = [
    ['is ACTIVE', ready, asWanted()],
    ['never was Ready', { conditions: [condition('False')] }, vanished],
    ['has no conditions yet', {}, vanished],
  ];
  for (const [situation, status, seen] of unchanged) {
    it(`changes nothing for one that ${situation}`, () => {
      const object = anObject({ status });
      const about = { desired: desiredOf(object), observed: seen, mutation: SET_TRUST };
      expect(readyOnlyIfActive(status, object, about, NOW)).to.equal(status);
    });
  }

  it('changes nothing where nothing but the role of a deleted object is left', () => {
    const object = aDeletedObject({ status: ready });
    const about = { desired: desiredOfDeletion(object), observed: vanished, mutation: DELETE_ROLE };
    expect(readyOnlyIfActive(ready, object, about, NOW)).to.equal(ready);
  });
});
