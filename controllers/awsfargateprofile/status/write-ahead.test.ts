import { expect } from 'chai';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Mutation } from '../model/mutation.ts';
import type { Observed } from '../model/observed-state.ts';
import { withReadyOnlyIfActive, writeAheadStatus } from './write-ahead.ts';
import {
  CAPA_TAG,
  EKS_CLUSTER_TAG,
  NAMESPACE_TAG,
  NOW,
  OWNER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  ROLE,
  ROLE_ARN,
  TARGET,
  aDeletedObject,
  aProfile,
  ROLE_TAGS,
  aRole,
  anObject,
  asWanted,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import {
  ATTACH_POLICY,
  CREATE_ACCESS_ENTRY,
  CREATE_PROFILE,
  CREATE_ROLE,
  DELETE_ACCESS_ENTRY,
  DELETE_PROFILE,
  DELETE_ROLE,
  SET_TRUST,
} from '../testing/mutations.ts';

const WHERE = { region: 'eu-west-1', account: '111122223333', eksClusterName: 'team-a_prod-control-plane' };
const OUTDATED_ACCESS_ENTRY = { ...DELETE_ACCESS_ENTRY, because: 'roleRecreated' } as const;
const OUR_KEYS = [CAPA_TAG, EKS_CLUSTER_TAG, NAMESPACE_TAG, OWNER_TAG].toSorted();

/** The expected `status.role` before the controller creates the role. */
const NEW_ROLE = { name: ROLE, attachedPolicies: [POD_EXECUTION_POLICY] };

const statusBefore = (
  mutation: Mutation,
  status: AWSFargateProfileStatus = {},
  spec: Partial<AWSFargateProfileSpec> = {},
): AWSFargateProfileStatus => {
  const object = anObject({ spec, status });
  return writeAheadStatus(object, TARGET, { desired: desiredOf(object), observed: observed() }, mutation, NOW);
};

describe('writeAheadStatus', () => {
  const mutations: readonly Mutation[] = [CREATE_ROLE, CREATE_PROFILE, ATTACH_POLICY, SET_TRUST, DELETE_PROFILE];
  it('records the location before each change, and keeps all other fields of status', () => {
    const status: AWSFargateProfileStatus = {
      conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-11-20T10:00:00Z' }],
      initialization: { provisioned: true },
      profileName: PROFILE,
      observedGeneration: 1,
    };
    for (const mutation of mutations)
      expect(statusBefore(mutation, status), mutation.kind).to.deep.include({ ...status, ...WHERE });
  });

  for (const [what, podExecutionRoleArn, role] of [
    ['not the role that the spec asks for too', ROLE_ARN, {}],
    ['a role that has to be deleted', RoleArn.of('arn:aws:iam::111122223333:role/old'), { role: 'old' }],
  ] as const)
    it(`records a predecessor, and ${what}`, () => {
      const record = { profileName: PROFILE, profileARN: aProfile().arn };
      const object = anObject({ spec: { updateStrategy: { type: 'Replace' } }, status: record });
      const { wanted, ...desired } = desiredOf(object);
      if (wanted === undefined) throw new Error('nothing is wanted');
      const next = { ...wanted, profile: { ...wanted.profile, name: ProfileName.of('next') } };
      const former = aProfile({ podExecutionRoleArn });
      const facts = { desired: { ...desired, wanted: next }, observed: observed({ profile: former, role: aRole() }) };
      const written = writeAheadStatus(object, TARGET, facts, CREATE_PROFILE, NOW);
      expect(written.predecessors).to.deep.equal([{ name: PROFILE, arn: former.arn, status: 'ACTIVE', ...role }]);
      expect(written, 'until its successor is ACTIVE').to.include(record);
    });

  it('records only the location before a deletion', () => {
    const object = aDeletedObject();
    expect(
      writeAheadStatus(
        object,
        TARGET,
        { desired: desiredOfDeletion(object), observed: observed() },
        DELETE_PROFILE,
        NOW,
      ),
    ).to.deep.equal(WHERE);
  });

  it('records the identity whose credentials are used, and drops a former identity', () => {
    const identity = { kind: 'AWSClusterRoleIdentity', name: 'tenant' };
    const object = anObject({ status: { identityRef: { kind: 'AWSClusterStaticIdentity', name: 'former' } } });
    const before = (target = TARGET) =>
      writeAheadStatus(object, target, { desired: desiredOf(object), observed: observed() }, CREATE_ROLE, NOW);
    expect(before({ ...TARGET, identity }).identityRef).to.deep.equal(identity);
    expect(before()).not.to.have.property('identityRef');
  });

  it('records the names of profile and role, and the policies of the role, before the role is created', () => {
    expect(statusBefore(CREATE_ROLE)).to.deep.include({
      profileName: PROFILE,
      role: NEW_ROLE,
      tagKeys: OUR_KEYS,
    });
  });

  it('records the policies before a policy is attached, beside the policies of earlier passes', () => {
    const status = { role: { name: ROLE, id: 'AROAEXAMPLE', attachedPolicies: ['arn:aws:iam::aws:policy/former'] } };
    expect(statusBefore(ATTACH_POLICY, status).role).to.deep.equal({
      name: ROLE,
      id: 'AROAEXAMPLE',
      attachedPolicies: ['arn:aws:iam::aws:policy/former', POD_EXECUTION_POLICY],
    });
  });

  it('leaves out policies and tag keys recorded before, but none that is wanted, before the record gets too long', () => {
    const former = Array.from({ length: 2_000 }, (_, index) => `former-${index}`);
    const status = { role: { name: ROLE, attachedPolicies: former }, tagKeys: former };
    const { role, tagKeys } = statusBefore(CREATE_ROLE, status);
    expect(role?.attachedPolicies).to.have.lengthOf(500).and.include(POD_EXECUTION_POLICY);
    expect(tagKeys)
      .to.have.lengthOf(500)
      .and.include.members([...OUR_KEYS]);
  });

  it('records the permissions boundary before the role is created with it, or gets it', () => {
    const policyArn = 'arn:aws:iam::111122223333:policy/bound';
    const status = { role: { name: ROLE, id: 'AROAEXAMPLE', permissionsBoundary: 'arn:aws:iam::aws:policy/former' } };
    const create = { ...CREATE_ROLE, role: { ...CREATE_ROLE.role, permissionsBoundary: policyArn } };
    expect(statusBefore(create).role).to.deep.equal({ ...NEW_ROLE, permissionsBoundary: policyArn });
    expect(statusBefore({ kind: 'setBoundary', name: ROLE, policyArn }, status).role).to.deep.equal({
      name: ROLE,
      id: 'AROAEXAMPLE',
      permissionsBoundary: policyArn,
    });
  });

  it('keeps the record of a profile while its role is made anew', () => {
    const status = { profileName: PROFILE, profileARN: aProfile().arn };
    expect(statusBefore(CREATE_ROLE, status)).to.include(status);
  });

  it('drops the record of a role with another name', () => {
    const status = { role: { name: RoleName.of('former'), managed: true, id: 'AROAFORMER', attachedPolicies: ['x'] } };
    expect(statusBefore(CREATE_ROLE, status).role).to.deep.equal(NEW_ROLE);
  });

  it('keeps of a role of the name that another owner had only the id, because the access entry is bound to it', () => {
    const status = { role: { name: ROLE, managed: false, id: 'AROATHEIRS', attachedPolicies: ['x'] } };
    expect(statusBefore(CREATE_ROLE, status).role).to.deep.equal({ ...NEW_ROLE, id: 'AROATHEIRS' });
  });

  it('drops the record of a profile with another name', () => {
    const former = {
      profileName: ProfileName.of('former'),
      createRequestedAt: '2026-11-21T03:24:00Z',
      profileARN: 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/c/former/1',
      profileStatus: 'CREATE_FAILED',
      health: { issues: [] },
    };
    const written = statusBefore(CREATE_ROLE, former, { profileName: PROFILE });
    expect(written.profileName).to.equal(PROFILE);
    expect(written).not.to.have.any.keys('createRequestedAt', 'profileARN', 'profileStatus', 'health');
  });

  it('records no role that is only used', () => {
    const roleARN = RoleArn.of('arn:aws:iam::111122223333:role/pods');
    expect(statusBefore(CREATE_PROFILE, {}, { roleARN })).not.to.have.property('role');
  });

  describe('before a create of the profile', () => {
    for (const [before, createRequestedAt] of [
      ['none', undefined],
      ['an earlier one', '2026-11-21T03:24:55Z'],
      ['an invalid one', 'yesterday'],
      ['one in the future', '2026-11-22T00:00:00Z'],
    ] as const)
      it(`records the name, and the time of the request in place of ${before}`, () => {
        const status = createRequestedAt === undefined ? {} : { createRequestedAt };
        const expected = { profileName: PROFILE, createRequestedAt: '2026-11-21T03:25:00Z' };
        expect(statusBefore(CREATE_PROFILE, status)).to.include(expected);
      });

    it('drops the record of a former profile, and the id of the role that the profile was bound to', () => {
      const status: AWSFargateProfileStatus = {
        profileName: PROFILE,
        profileARN: 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/c/p/former',
        profileStatus: 'CREATE_FAILED',
        health: { issues: [{ code: 'AccessDenied' }] },
        role: { name: ROLE, id: 'AROAFORMER', managed: true },
      };
      const written = statusBefore(CREATE_PROFILE, status);
      expect(written).not.to.have.any.keys('profileARN', 'profileStatus', 'health');
      expect(written.role).to.deep.equal({ name: ROLE, managed: true });
    });

    for (const [whose, tags, known] of [
      ['ours', ROLE_TAGS, { id: 'AROAEXAMPLE', managed: true }],
      ['of another owner', {}, {}],
    ] as const)
      it(`records of an existing role ${whose} ${'id' in known ? 'the id' : 'no id'}`, () => {
        const object = anObject({ status: { role: { name: ROLE, id: 'AROAFORMER' } } });
        const facts = { desired: desiredOf(object), observed: observed({ role: aRole({ tags }) }) };
        const { role } = writeAheadStatus(object, TARGET, facts, CREATE_PROFILE, NOW);
        expect(role).to.deep.equal({ name: ROLE, ...known });
      });
  });

  it('records tag keys before they are set, beside the recorded keys, and none before a change that sets none', () => {
    const [status, spec] = [{ tagKeys: ['former'] }, { additionalTags: { team: 'a' } }];
    expect(statusBefore(CREATE_ROLE, status, spec).tagKeys).to.deep.equal([...OUR_KEYS, 'former', 'team'].toSorted());
    expect(statusBefore(SET_TRUST, status, spec).tagKeys).to.deep.equal(['former']);
  });
});

describe('withReadyOnlyIfActive', () => {
  const condition = (status: 'True' | 'False') => ({
    type: 'Ready',
    status,
    reason: 'Ready',
    lastTransitionTime: '2026-11-20T10:00:00Z',
  });
  const theirs = { ...condition('True'), type: 'Theirs' };
  const ready: AWSFargateProfileStatus = { ready: true, conditions: [condition('True'), theirs] };
  const vanished = observed({ role: aRole() });

  const conditionsBefore = (object: AWSFargateProfile, desired: Desired, observation: Observed, mutation: Mutation) => {
    const written = withReadyOnlyIfActive(ready, object, { desired, observed: observation, mutation }, NOW);
    expect(written).to.include({ ready: false, observedGeneration: object.metadata.generation });
    expect(written.conditions).to.deep.include(theirs);
    return written.conditions?.map(({ type, status, reason, lastTransitionTime }) =>
      [type, status, reason, ...(type === 'Ready' ? [lastTransitionTime] : [])].join(' '),
    );
  };

  for (const [situation, mutation, observation, reason] of [
    ['a lost profile is created again', CREATE_PROFILE, vanished, 'Creating'],
    ['the role of a live profile is created', CREATE_ROLE, asWanted(), 'RestoringRole'],
    ['the entry of a live profile is deleted', OUTDATED_ACCESS_ENTRY, asWanted(), 'RestoringRole'],
    ['the entry of a live profile is created', CREATE_ACCESS_ENTRY, asWanted(), 'RestoringRole'],
  ] as const)
    it(`sets Ready to False before ${situation}`, () => {
      const object = anObject({ metadata: { generation: 3 }, status: ready });
      const conditions = conditionsBefore(object, desiredOf(object), observation, mutation);
      expect(conditions).to.include(`Ready False ${reason} 2026-11-21T03:25:00Z`);
      if (reason === 'RestoringRole') expect(conditions).to.include('IAMFargateRolesReady False RestoringRole');
    });

  it('sets Ready to False before the profile is deleted', () => {
    const object = aDeletedObject({ metadata: { generation: 4 }, status: ready });
    expect(conditionsBefore(object, desiredOfDeletion(object), asWanted(), DELETE_PROFILE)).to.include.members([
      'Ready False Deleting 2026-11-21T03:25:00Z',
      'Reconciling True DeletingProfile',
      'Deleting True DeletingProfile',
    ]);
  });

  const ofFormerRole = { ...DELETE_ACCESS_ENTRY, name: RoleName.of('former') };
  const unchanged: readonly (readonly [string, AWSFargateProfileStatus, Observed, Mutation?])[] = [
    ['has an ACTIVE profile', ready, asWanted()],
    ['has an ACTIVE profile that has replaced another', ready, asWanted(), { ...DELETE_PROFILE, because: 'replaced' }],
    ['has an ACTIVE profile and a former role', ready, asWanted(), ofFormerRole],
    ['never was Ready', { conditions: [condition('False')] }, vanished],
    ['has no conditions yet', {}, vanished],
  ];
  for (const [situation, status, observation, mutation = SET_TRUST] of unchanged) {
    it(`changes nothing for an object that ${situation}`, () => {
      const object = anObject({ status });
      const change = { desired: desiredOf(object), observed: observation, mutation };
      expect(withReadyOnlyIfActive(status, object, change, NOW)).to.equal(status);
    });
  }

  it('changes nothing when only the role of a deleted object is left', () => {
    const object = aDeletedObject({ status: ready });
    const change = { desired: desiredOfDeletion(object), observed: vanished, mutation: DELETE_ROLE };
    expect(withReadyOnlyIfActive(ready, object, change, NOW)).to.equal(ready);
  });
});
