import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { ProfileName, RoleArn, RoleName } from '../../../../api/names.ts';
import type {
  AWSFargateProfile,
  AWSFargateProfileSpec,
  AWSFargateProfileStatus,
} from '../../../../api/v1beta2/index.ts';
import { ACCESS_ENTRY_DELETED_ANNOTATION, ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../../../api/v1beta2/index.ts';
import { podExecutionPolicyArn } from '../../../../pkg/fargate/arns.ts';
import { type DesiredInputs, candidateProfiles, desiredFor, roleConflictOf } from './desired.ts';
import type { FargateProfile } from '../../../../pkg/cloud/index.ts';
import type { Desired, ManagedRole } from '../../model/desired-state.ts';
import type { TargetSource } from '../../model/goal-kinds.ts';
import type { ObservedProfile } from '../../model/observed-state.ts';
import { messageOf, newReason } from '../../reasons/reasons.ts';
import {
  ACCOUNT,
  CAPA_TAG,
  CLUSTER_ARN,
  EKS_CLUSTER,
  MOVED,
  OWNER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  ROLE_TAGS,
  CONTROL_PLANE_FACTS,
  TARGET,
  TRUST,
  aDeletedObject,
  aProfile,
  anObject,
  desiredInputs,
  desiredOf,
  desiredOfDeletion,
} from '../../testing/builders.ts';
import type { ObjectParts } from '../../testing/builders.ts';
import { CAPA_TAGS } from '../../testing/fixtures.ts';

const FORMER_ROLE = `${EKS_CLUSTER}-${PROFILE}_fargate`;
const extra = 'arn:aws:iam::111122223333:policy/extra';

const wantedOf = (spec: Partial<AWSFargateProfileSpec> = {}, over: Partial<DesiredInputs> = {}) =>
  wanted(desiredOf(anObject({ spec }), over));

function wanted({ wanted: all }: Desired): NonNullable<Desired['wanted']> {
  if (all === undefined) throw new Error('no profile and no role is wanted');
  return all;
}

function managedRole(spec: Partial<AWSFargateProfileSpec> = {}, over: Partial<DesiredInputs> = {}): ManagedRole {
  const { role } = wantedOf(spec, over);
  if (role.kind !== 'managed') throw new Error('the role is not managed');
  return role;
}

function refusalOf(parts: ObjectParts, over: Partial<DesiredInputs> = {}): string {
  const desired = desiredFor(anObject(parts), desiredInputs(over));
  return E.isLeft(desired) ? `${desired.left.name}: ${messageOf(desired.left)}` : 'none';
}

describe('desiredFor', () => {
  it('wants a profile with the name, selectors and subnets of the spec', () => {
    const selectors = [{ namespace: 'web', labels: { tier: 'front' } }, { namespace: 'batch' }];
    expect(wantedOf({ selectors, subnetIDs: ['subnet-0c'] }).profile).to.deep.equal({
      name: 'team-a_web',
      selectors: [
        { namespace: 'web', labels: { tier: 'front' } },
        { namespace: 'batch', labels: {} },
      ],
      subnets: ['subnet-0c'],
      subnetSource: 'spec',
      tags: PROFILE_TAGS,
      additions: [],
    });
  });

  it('wants a managed role with a computed name by default', () => {
    expect(wantedOf().role).to.deep.equal({
      kind: 'managed',
      name: 'prod-team-a_web_fargate',
      path: '/',
      arn: 'arn:aws:iam::111122223333:role/prod-team-a_web_fargate',
      trust: TRUST,
      policies: [POD_EXECUTION_POLICY],
      tags: ROLE_TAGS,
      isNamedInSpec: false,
      isBoundaryFromLimits: false,
      policiesInSpec: [],
      additions: [],
    });
  });

  it('wants a managed role with the name, path, boundary and policies of the spec', () => {
    const role = managedRole({
      roleName: RoleName.of('shared'),
      rolePath: '/team-a/',
      rolePermissionsBoundary: 'arn:aws:iam::111122223333:policy/bound',
      roleAdditionalPolicies: [extra, extra, POD_EXECUTION_POLICY],
    });
    expect(role).to.include({
      name: 'shared',
      path: '/team-a/',
      arn: 'arn:aws:iam::111122223333:role/team-a/shared',
      permissionsBoundary: 'arn:aws:iam::111122223333:policy/bound',
      isNamedInSpec: true,
    });
    expect(role.policies, 'each policy once').to.deep.equal([POD_EXECUTION_POLICY, extra]);
  });

  it('wants the existing role of spec.roleARN unchanged', () => {
    const roleARN = RoleArn.of('arn:aws:iam::111122223333:role/theirs/pods');
    expect(wantedOf({ roleARN }).role).to.deep.equal({ kind: 'existing', name: 'pods', arn: roleARN });
  });

  it('takes the partition of the region, also on deletion', () => {
    const target = { ...TARGET, region: 'cn-north-1' };
    const alive = desiredOf(anObject(), { target });
    const eksClusterArn = `arn:aws-cn:eks:cn-north-1:${ACCOUNT}:cluster/${EKS_CLUSTER}`;
    expect(alive.identity).to.include({ eksClusterArn });
    expect(desiredOfDeletion(aDeletedObject(), { target }).identity).to.include({ eksClusterArn });
    expect(wanted(alive).role.arn).to.match(/^arn:aws-cn:iam::/);
    expect(managedRole({}, { target }).policies).to.deep.equal([podExecutionPolicyArn('aws-cn')]);
  });

  it('wants no profile and no role on deletion', () => expect(desiredOfDeletion().wanted).to.equal(undefined));

  describe('the wanted subnets', () => {
    const provisioned: AWSFargateProfileStatus = { initialization: { provisioned: true }, subnets: ['subnet-0f'] };
    const subnetsOf = (spec: Partial<AWSFargateProfileSpec>, status: AWSFargateProfileStatus = {}) => {
      const { subnets, subnetSource } = wanted(desiredOf(anObject({ spec, status }))).profile;
      return `${subnets.join()} of ${subnetSource}`;
    };

    it('are those of spec.subnetIDs, else those in status once provisioned, else those of the control plane', () => {
      expect(subnetsOf({ subnetIDs: ['subnet-0c'] }, provisioned)).to.equal('subnet-0c of spec');
      expect(subnetsOf({}, provisioned)).to.equal('subnet-0f of status');
      expect(subnetsOf({}, { ...provisioned, subnets: [] })).to.equal('subnet-0a,subnet-0b of controlPlane');
      expect(subnetsOf({}, { subnets: ['subnet-0f'] })).to.equal('subnet-0a,subnet-0b of controlPlane');
      expect(subnetsOf({ subnetIDs: [] })).to.equal('subnet-0a,subnet-0b of controlPlane');
    });
  });

  describe('the wanted tags', () => {
    const controlPlaneFacts = { ...CONTROL_PLANE_FACTS, controlPlaneTags: { team: 'platform', region: 'x' } };

    it('are those of the controller over those of the object over those of the control plane', () => {
      const { profile, role } = wantedOf(
        { additionalTags: { team: 'web', [CAPA_TAG]: 'shared' } },
        { controlPlaneFacts },
      );
      const others = { team: 'web', region: 'x' };
      expect(profile.tags).to.deep.equal({ ...others, ...PROFILE_TAGS });
      expect(role).to.deep.include({ tags: { ...others, ...ROLE_TAGS } });
    });
  });

  describe('reports an error for', () => {
    const many = Object.fromEntries(Array.from({ length: 49 }, (_, index) => [`key-${index}`, 'x']));
    const long = 'x'.repeat(101);
    const eksSystem = { metadata: { namespace: 'eks-system' } };
    const profileNamed = (name: string): ObjectParts => ({ spec: { profileName: ProfileName.of(name) } });
    const roleARN = (arn: string): ObjectParts => ({ spec: { roleARN: RoleArn.of(arn) } });
    const tagged = (additionalTags: Readonly<Record<string, string>>): ObjectParts => ({ spec: { additionalTags } });
    for (const [message, parts] of [
      ['InvalidSpec: spec.profileName: EKS does not allow the name "eks-web": The fargate', profileNamed('eks-web')],
      ['InvalidSpec: spec.profileName: EKS does not allow the name "my web": The Fargate', profileNamed('my web')],
      ['x": The Fargate profile name parameter should not', profileNamed(long)],
      ['InvalidSpec: spec.profileName is not set, and EKS does not allow the computed name "eks-', eksSystem],
      ['InvalidSpec: spec.roleName: "my role" is not', { spec: { roleName: RoleName.of('my role') } }],
      ['InvalidSpec: spec.roleName is not set, and IAM does not allow the computed name: "prod-é', profileNamed('é')],
      ['InvalidSpec: spec.selectors is empty', { spec: { selectors: [] } }],
      ['InvalidSpec: spec.roleARN "arn:aws:iam::1:user/x" is not', roleARN('arn:aws:iam::1:user/x')],
      ['InvalidSpec: spec.roleARN names a role in account 444455556666', roleARN('arn:aws:iam::444455556666:role/x')],
      ['TagsInvalid: AWS does not accept the tags for this object: there are 51', tagged(many)],
      ['TagsInvalid: AWS does not accept the tags for this object: tag "aws:team"', tagged({ 'aws:team': 'x' })],
    ] satisfies readonly (readonly [string, ObjectParts])[])
      it(message, () => expect(refusalOf(parts)).to.contain(message));

    it('a control plane without private subnets', () => {
      const controlPlaneFacts = { ...CONTROL_PLANE_FACTS, privateSubnets: [] };
      expect(refusalOf({}, { controlPlaneFacts })).to.match(/^NoPrivateSubnets: .* team-a\/prod-control-plane has no/);
    });

    it('none of these on deletion', () => {
      const spec = { selectors: [], profileName: ProfileName.of('eks-web'), additionalTags: many };
      expect(E.isRight(desiredFor(aDeletedObject({ spec }), desiredInputs({ controlPlaneFacts: undefined })))).to.equal(
        true,
      );
    });
  });

  describe('the conflict about a role that an older object names too', () => {
    const older = (spec: Partial<AWSFargateProfileSpec>) =>
      anObject({
        metadata: { name: 'older', uid: 'uid-of-older', creationTimestamp: '2026-11-19T00:00:00Z' },
        spec: { roleName: RoleName.of('shared'), ...spec },
      });
    const conflictWith = (theirs: Partial<AWSFargateProfileSpec>, over: Partial<DesiredInputs> = {}): string => {
      const object = anObject({ spec: { roleName: RoleName.of('shared') } });
      const roleConflict = roleConflictOf(object, desiredInputs(over), [older(theirs)]);
      return roleConflict === undefined ? 'none' : messageOf(roleConflict);
    };
    const detail =
      'IAM role "shared" is also used by AWSFargateProfile team-a/older, and this object has other values in spec.';

    it('names the settings that differ', () => {
      expect(conflictWith({ rolePath: '/theirs/' })).to.include(`${detail}rolePath. `);
    });

    it('names a tag of the older object that this object has from the control plane', () => {
      const controlPlaneFacts = { ...CONTROL_PLANE_FACTS, controlPlaneTags: { team: 'platform' } };
      const theirs = { additionalTags: { team: 'theirs' } };
      expect(conflictWith(theirs)).to.equal('none');
      expect(conflictWith(theirs, { controlPlaneFacts })).to.include(`${detail}additionalTags["team"]. `);
    });
  });

  describe('the names to observe', () => {
    const describeNames = ({ names }: Desired) => `${names.profiles.join()} and ${names.roles.join()}`;
    const namesOf = (spec: Partial<AWSFargateProfileSpec>, status: AWSFargateProfileStatus = {}) =>
      describeNames(desiredOf(anObject({ spec, status })));
    const onDeletion = (spec: Partial<AWSFargateProfileSpec>, status: AWSFargateProfileStatus = {}) =>
      describeNames(desiredOfDeletion(aDeletedObject({ spec, status })));
    const before = { profileName: ProfileName.of('former'), role: { name: RoleName.of('former-role') } };
    const foreign = { role: { name: RoleName.of('theirs'), managed: false } };
    const small = { role: { name: RoleName.of('pods') } };
    const [capitals, web] = [{ roleName: RoleName.of('Pods') }, { profileName: ProfileName.of('web') }];
    const roleARN = RoleArn.of('arn:aws:iam::111122223333:role/pods');

    it('are those of the wanted profile and role, and those in status, each once', () => {
      expect(namesOf({})).to.equal(`${PROFILE} and ${ROLE}`);
      expect(namesOf({ profileName: PROFILE }, before)).to.equal(`${PROFILE},former and ${ROLE},former-role`);
      expect(namesOf({}, { profileName: PROFILE, role: { name: ROLE } })).to.equal(`${PROFILE} and ${ROLE}`);
      expect(namesOf(capitals, small), 'IAM ignores the case of names').to.equal(`${PROFILE} and Pods`);
      expect(namesOf({}, foreign), 'without a foreign role').to.equal(`${PROFILE} and ${ROLE}`);
    });

    it('on deletion are those of spec and status, and without a recorded role all that CAPA computes', () => {
      expect(onDeletion(web, before)).to.equal('web,former and prod-web_fargate,former-role');
      expect(onDeletion(capitals, small), 'IAM ignores the case of names').to.equal(`${PROFILE} and Pods`);
      expect(onDeletion({})).to.equal(`${PROFILE} and ${ROLE},${FORMER_ROLE}`);
      expect(onDeletion({ roleName: RoleName.of('Pods') })).to.equal(`${PROFILE} and Pods`);
      const invalid = { profileName: ProfileName.of('no name'), role: { name: RoleName.of('no name') } };
      expect(onDeletion({}, invalid), 'names that AWS would reject').to.equal(`${PROFILE} and ${ROLE}`);
      expect(onDeletion({}, before), 'spec.profileName was removed').to.equal(
        `${PROFILE},former and prod-former_fargate,${ROLE},former-role`,
      );
      expect(onDeletion({ roleARN }), 'without the role of spec.roleARN').to.equal(`${PROFILE} and `);
    });
  });

  it('identifies the object and its EKS cluster', () => {
    expect(desiredOf().identity).to.deep.equal({
      namespace: 'team-a',
      name: 'web',
      clusterName: 'prod',
      eksCluster: EKS_CLUSTER,
      eksClusterArn: CLUSTER_ARN,
      profileName: PROFILE,
      capaRoleNames: [ROLE, FORMER_ROLE],
      adoptable: { profile: PROFILE, roles: [ROLE, FORMER_ROLE] },
    });
  });

  it('takes the names of spec for those of Cluster API Provider AWS only if a control plane names the target', () => {
    const object = aDeletedObject({ spec: { profileName: ProfileName.of('web') } });
    const adoptable = (targetSource: TargetSource) => desiredOfDeletion(object, { targetSource }).identity.adoptable;
    expect(adoptable('controlPlane')).to.deep.equal({
      profile: 'web',
      roles: ['prod-web_fargate', 'team-a_prod-control-plane-web_fargate'],
    });
    expect(adoptable('record')).to.deep.equal({ profile: PROFILE, roles: [ROLE] });
  });

  describe("under the operator's limits", () => {
    const limits = { permissionsBoundary: 'arn:*:iam::*:policy/bound', policyArns: ['arn:aws:iam::aws:policy/*'] };
    const bound = 'arn:aws:iam::111122223333:policy/bound';

    it('wants the required permissions boundary of the account on a managed role', () => {
      expect(managedRole({}, { limits })).to.include({ permissionsBoundary: bound, isBoundaryFromLimits: true });
      const spec = { rolePermissionsBoundary: bound };
      expect(managedRole(spec, { limits })).to.include({ permissionsBoundary: bound, isBoundaryFromLimits: false });
    });

    it('wants the allowed policies alone, and lists the values that are not allowed with their fields', () => {
      const spec = { rolePermissionsBoundary: extra, roleAdditionalPolicies: ['arn:aws:iam::aws:policy/A', extra] };
      expect(managedRole(spec, { limits }).policies).to.deep.equal([POD_EXECUTION_POLICY, 'arn:aws:iam::aws:policy/A']);
      expect(desiredOf(anObject({ spec }), { limits }).excess).to.deep.equal([
        { field: 'spec.rolePermissionsBoundary', value: extra, allowed: [bound] },
        { field: 'spec.roleAdditionalPolicies[1]', value: extra, allowed: limits.policyArns },
      ]);
    });

    it('has no limits for a deletion', () => {
      const object = aDeletedObject({ spec: { roleAdditionalPolicies: [extra] } });
      expect(desiredOfDeletion(object, { limits: { ...limits, policyArns: [] } }).excess).to.deep.equal([]);
    });
  });

  it('reads the recorded state from status and annotations', () => {
    const object = anObject({
      metadata: {
        annotations: {
          [ACCESS_ENTRY_RENEWED_ANNOTATION]: 'AROANEW',
          [ACCESS_ENTRY_DELETED_ANNOTATION]: 'arn:aws:iam::111122223333:role/pods',
        },
      },
      status: {
        account: ACCOUNT,
        region: 'eu-west-1',
        eksClusterName: EKS_CLUSTER,
        profileName: PROFILE,
        createRequestedAt: '2026-11-21T03:24:00Z',
        tagKeys: ['team'],
        role: {
          name: ROLE,
          managed: true,
          id: 'AROAEXAMPLE',
          accessEntryCheckedFor: 'AROACHECKED',
          attachedPolicies: [extra],
          permissionsBoundary: 'arn:aws:iam::111122223333:policy/bound',
        },
        initialization: { provisioned: true },
      },
    });
    expect(desiredOf(object, { isCreateUnconfirmed: true }).recorded).to.deep.equal({
      profileName: PROFILE,
      requestedName: PROFILE,
      replacement: [],
      activeSince: undefined,
      isQuotaExceeded: false,
      profileARN: undefined,
      lostNames: { profiles: [], roles: [] },
      isUnproven: false,
      roleName: ROLE,
      isRoleManaged: true,
      roleId: 'AROAEXAMPLE',
      accessEntryRenewedFor: 'AROANEW',
      accessEntryCheckedFor: 'AROACHECKED',
      accessEntryDeletedOf: 'arn:aws:iam::111122223333:role/pods',
      attachedPolicies: [extra],
      permissionsBoundary: 'arn:aws:iam::111122223333:policy/bound',
      tagKeys: ['team'],
      isProvisioned: true,
      location: 'known',
      isCreateRequested: true,
      isCreateUnconfirmed: true,
    });
  });

  it('has no policies and no boundary in the recorded state of a role that belongs to another owner', () => {
    const role = {
      name: ROLE,
      managed: false,
      id: 'AROAEXAMPLE',
      attachedPolicies: [extra],
      permissionsBoundary: extra,
    };
    const { recorded } = desiredOf(anObject({ status: { role } }));
    const nothing = { attachedPolicies: [], permissionsBoundary: undefined };
    expect(recorded).to.deep.include({ ...nothing, isRoleManaged: false, roleId: 'AROAEXAMPLE' });
  });

  it('names the profile and roles whose records a move or a restore has dropped', () => {
    const lostAfter = (parts: ObjectParts) => desiredOf(anObject(parts)).recorded.lostNames;
    expect(lostAfter(MOVED)).to.deep.equal({ profiles: [PROFILE], roles: [ROLE, FORMER_ROLE] });
    expect(lostAfter({ ...MOVED, status: { account: ACCOUNT, role: { name: ROLE } } })).to.deep.equal({
      profiles: [],
      roles: [],
    });
    const refused = desiredOf(anObject(MOVED), { target: { ...TARGET, clusterName: undefined } });
    expect(refused.recorded.lostNames, 'in an EKS cluster that the operator does not allow').to.deep.equal({
      profiles: [],
      roles: [],
    });
    for (const status of [{ account: ACCOUNT }, { profileName: PROFILE }, { profileARN: 'arn' }])
      expect(lostAfter({ ...MOVED, status }).profiles, JSON.stringify(status)).to.deep.equal([]);
    for (const spec of [{ roleARN: RoleArn.of(`arn:aws:iam::${ACCOUNT}:role/pods`) }, { roleName: ROLE }])
      expect(lostAfter({ ...MOVED, spec }).roles, JSON.stringify(spec)).to.deep.equal([]);
    // A role that spec.roleName names may belong to another owner. So after status was dropped, this role is not in
    // `lostNames`, which lists the names that the profile and roles of the object may have.
    const named = { roleName: RoleName.of('shared') };
    expect(lostAfter({ ...MOVED, spec: named })).to.deep.equal({ profiles: [PROFILE], roles: [] });
  });

  it('records as requested the successor of a profile, if there is one', () => {
    const successor = { name: ProfileName.of('next') };
    expect(desiredOf(anObject({ status: { profileName: PROFILE } })).recorded.requestedName).to.equal(PROFILE);
    expect(desiredOf(anObject({ status: { profileName: PROFILE, successor } })).recorded.requestedName).to.equal(
      'next',
    );
  });

  it('knows from the condition Ready that EKS has no room for another profile', () => {
    const lastTransitionTime = '2026-11-21T03:24:00Z';
    const conditions = ['Other', 'Ready', 'Stalled'].map(
      (type) => ({ type, status: 'False', lastTransitionTime }) as const,
    );
    for (const type of ['Other', 'Ready', 'Stalled']) {
      const withReason = conditions.map((each) => (each.type === type ? { ...each, reason: 'QuotaExceeded' } : each));
      const { recorded } = desiredOf(anObject({ status: { conditions: withReason } }));
      expect(recorded.isQuotaExceeded, type).to.equal(type === 'Ready');
    }
  });

  it('contains the reason for which nothing may be created', () => {
    const creationBlocker = newReason('ClusterDeleting', { what: 'Cluster team-a/prod' });
    expect(
      desiredOf(anObject(), { controlPlaneFacts: { ...CONTROL_PLANE_FACTS, creationBlocker } }).creationBlocker,
    ).to.equal(creationBlocker);
  });

  it('has the time for which a replaced profile stays', () => {
    const after = (keepPredecessorFor: string) =>
      desiredOf(anObject({ spec: { updateStrategy: { type: 'Replace', replace: { keepPredecessorFor } } } }));
    expect(after('10m').keepPredecessorFor).to.equal(600_000);
    expect(desiredOf().keepPredecessorFor).to.equal(0);
  });

  it('has the adoptionPolicy Owned unless the spec has another', () => {
    expect(desiredOf().adoptionPolicy).to.equal('Owned');
    expect(desiredOf(anObject({ spec: { adoptionPolicy: 'Never' } })).adoptionPolicy).to.equal('Never');
  });
});

describe('desiredFor, once EKS has answered', () => {
  const KEPT = ProfileName.of('shared_web');
  const COMPUTED = [PROFILE, ROLE];
  const KEPT_NAMES = [KEPT, 'prod-shared_web_fargate'];
  const kept = (spec: Partial<AWSFargateProfileSpec> = {}) => anObject({ spec, status: { profileName: KEPT } });
  const tagged = (tags: Readonly<Record<string, string>> = PROFILE_TAGS) => [
    { name: KEPT, found: aProfile({ name: KEPT, tags }) },
    { name: PROFILE, found: undefined },
  ];
  const arnOf = (role: string) => RoleArn.of(`arn:aws:iam::111122223333:role/${role}`);
  const using = (role: string) => [{ name: PROFILE, found: aProfile({ podExecutionRoleArn: arnOf(role) }) }];
  const NOTHING: readonly ObservedProfile[] = [];
  const OF_EKS_TEAM = { [OWNER_TAG]: 'eks-team/web' };

  /** Returns the names of the wanted profile and role, after a look whether the pass had asked for them. */
  function namesFor(object: AWSFargateProfile, profiles: readonly ObservedProfile[]): readonly string[] {
    const desired = desiredFor(object, desiredInputs(), profiles);
    if (E.isLeft(desired)) return [desired.left.name];
    const { profile, role } = wanted(desired.right);
    expect(candidateProfiles(object, desiredOf(object))).to.include.members([...desired.right.names.profiles]);
    return [profile.name, role.name];
  }

  const roleInStatus = { role: { name: RoleName.of('pods') } };
  const provisioned = anObject({ status: { ...roleInStatus, initialization: { provisioned: true } } });
  const ofInvalidName = anObject({ metadata: { namespace: 'eks-team' }, status: { profileName: KEPT } });
  const namedRole = anObject({ spec: { roleName: RoleName.of('shared') } });
  const badRecord = anObject({ status: { profileName: ProfileName.of('no name') } });
  const DERIVED = ProfileName.of(`${PROFILE}-0123abcd`);
  const replaced = anObject({ status: { profileName: DERIVED } });
  const derived = (over: Partial<FargateProfile> = {}) => ({
    name: DERIVED,
    found: aProfile({ name: DERIVED, ...over }),
  });
  const twoWith = (over: Partial<FargateProfile>) => [derived(), { name: PROFILE, found: aProfile(over) }];
  const OTHER_ROLE = { podExecutionRoleArn: arnOf('theirs') };
  const status = { profileName: DERIVED };
  const inSubnets = anObject({ status, spec: { subnetIDs: aProfile().subnets } });
  const brought = anObject({ status, spec: { roleARN: arnOf('pods') } });
  const WITH_PODS = { podExecutionRoleArn: arnOf('pods') };
  const replaceableWithPods = {
    ...provisioned,
    spec: { ...provisioned.spec, updateStrategy: { type: 'Replace' } },
  } as const;
  type Row = readonly [string, AWSFargateProfile, readonly ObservedProfile[], names: readonly string[]];
  const rows: readonly Row[] = [
    [
      'one with a role of a former spec that failed, and may be replaced',
      replaceableWithPods,
      [{ name: PROFILE, found: aProfile({ ...WITH_PODS, status: 'DELETE_FAILED' }) }],
      COMPUTED,
    ],
    ['a recorded profile, and spec.profileName was removed', kept(), tagged(), KEPT_NAMES],
    ['no recorded profile any more', kept(), NOTHING, COMPUTED],
    ['a recorded profile of another object', kept(), tagged({ [OWNER_TAG]: 'team-b/web' }), COMPUTED],
    ['a recorded profile without an owner', kept(), tagged({}), COMPUTED],
    ['a recorded profile of CAPA, which anyone who writes status could name', kept(), tagged(CAPA_TAGS), COMPUTED],
    ['a recorded profile, and another name in the spec', kept({ profileName: PROFILE }), tagged(), COMPUTED],
    ['a recorded name of a replacement that is gone', replaced, [{ name: DERIVED, found: undefined }], COMPUTED],
    ['a recorded replacement that is foreign', replaced, [derived({ tags: {} })], COMPUTED],
    ['a recorded replacement that differs', replaced, [derived({ selectors: [] })], [DERIVED, ROLE]],
    ['two profiles as wanted', anObject(), [derived(), { name: PROFILE, found: aProfile() }], COMPUTED],
    ['one that failed and one as wanted', replaced, twoWith({ status: 'CREATE_FAILED' }), [DERIVED, ROLE]],
    ['one that EKS creates and one as wanted', replaced, twoWith({ status: 'CREATING' }), [DERIVED, ROLE]],
    [
      'one that EKS deletes and one that it creates',
      replaced,
      [derived({ status: 'CREATING' }), { name: PROFILE, found: aProfile({ status: 'DELETING' }) }],
      [DERIVED, ROLE],
    ],
    [
      'the recorded one with another role and one with that of spec.roleARN',
      brought,
      [derived(), { name: PROFILE, found: aProfile(WITH_PODS) }],
      [PROFILE, 'pods'],
    ],
    ['one with other selectors and one as wanted', replaced, twoWith({ selectors: [] }), [DERIVED, ROLE]],
    ['one with another role and one as wanted', replaced, twoWith(OTHER_ROLE), [DERIVED, ROLE]],
    ['one in other subnets and one as wanted', inSubnets, twoWith({ subnets: ['subnet-0f'] }), [DERIVED, ROLE]],
    [
      'one with another role and one with that of spec.roleARN',
      brought,
      [derived(WITH_PODS), { name: PROFILE, found: aProfile() }],
      [DERIVED, 'pods'],
    ],
    ['a recorded name that is invalid', badRecord, NOTHING, COMPUTED],
    ['an invalid computed name', ofInvalidName, NOTHING, ['InvalidSpec']],
    ['an invalid computed name, and a recorded profile', ofInvalidName, tagged(OF_EKS_TEAM), KEPT_NAMES],
    ['a profile with the role that CAPA made before v2.7.0', anObject(), using(FORMER_ROLE), [PROFILE, FORMER_ROLE]],
    ['a provisioned profile, and spec.roleName was removed', provisioned, using('pods'), [PROFILE, 'pods']],
    ['a profile with the recorded role', anObject({ status: roleInStatus }), using('pods'), COMPUTED],
    ['a profile with the computed role', anObject(), using(ROLE), COMPUTED],
    ['a profile with any other role', anObject(), using('theirs'), COMPUTED],
    ['a profile with a role of CAPA, and another in the spec', namedRole, using(FORMER_ROLE), [PROFILE, 'shared']],
  ];
  for (const [situation, object, profiles, names] of rows)
    it(`wants the names ${names.join()} with ${situation}`, () =>
      expect(namesFor(object, profiles)).to.deep.equal(names));

  it('wants a replacement under a name that follows from the spec and is free', () => {
    const updateStrategy = { type: 'Replace' } as const;
    const nameFor = (spec: Partial<AWSFargateProfileSpec>, ...others: readonly ObservedProfile[]) => {
      const object = anObject({ spec: { selectors: [{ namespace: 'x' }], updateStrategy, ...spec } });
      const desired = desiredFor(object, desiredInputs(), [{ name: PROFILE, found: aProfile() }, ...others]);
      return E.isLeft(desired) ? desired.left.name : wanted(desired.right).profile.name;
    };
    const name = ProfileName.of(nameFor({}));
    const beside = (over: Partial<FargateProfile>) => nameFor({}, { name, found: aProfile({ name, ...over }) });
    expect(name).to.match(new RegExp(`^${PROFILE}-[0-9a-f]{8}$`));
    expect(nameFor({}, { name, found: undefined }), 'looked for').to.equal(name);
    expect(beside({ status: 'CREATE_FAILED' }), 'failed').to.equal(name);
    const others = [
      beside({}),
      beside({ tags: {}, status: 'CREATE_FAILED' }),
      nameFor({ selectors: [{ namespace: 'y' }] }),
      nameFor({ subnetIDs: ['subnet-0f'] }),
      nameFor({ roleName: RoleName.of('pods') }),
      nameFor({ roleARN: arnOf('pods') }),
    ];
    for (const other of others)
      expect(other)
        .to.match(new RegExp(`^${PROFILE}-[0-9a-f]{8}$`))
        .and.not.equal(name);
  });

  it('looks for the own profiles that a replacement leaves, and for their roles', () => {
    const object = anObject({ spec: { updateStrategy: { type: 'Replace' } } });
    for (const [tags, names] of [
      [PROFILE_TAGS, `${PROFILE},${KEPT} and ${ROLE},old`],
      [{}, `${PROFILE} and ${ROLE}`],
    ] as const) {
      const other = { name: KEPT, found: aProfile({ name: KEPT, tags, podExecutionRoleArn: arnOf('old') }) };
      const desired = desiredFor(object, desiredInputs(), [{ name: PROFILE, found: aProfile() }, other]);
      const { profiles, roles } = E.isRight(desired) ? desired.right.names : { profiles: [], roles: [] };
      expect(`${profiles.join()} and ${roles.join()}`).to.equal(names);
    }
  });

  it('has all other values of the names in use', () => {
    const desired = desiredFor(kept(), desiredInputs(), tagged());
    expect(E.isRight(desired) && desired.right.identity).to.deep.include({
      profileName: KEPT,
      capaRoleNames: ['prod-shared_web_fargate', `${EKS_CLUSTER}-shared_web_fargate`],
    });
    const former = desiredFor(anObject(), desiredInputs(), using(FORMER_ROLE));
    expect(E.isRight(former) && former.right).to.deep.include({ names: { profiles: [PROFILE], roles: [FORMER_ROLE] } });
    expect(E.isRight(former) && wanted(former.right).role.arn).to.equal(arnOf(FORMER_ROLE));
  });

  it('wants nothing on deletion, and looks for the same names', () => {
    const object = aDeletedObject({ status: { profileName: KEPT } });
    const inputs = desiredInputs({ controlPlaneFacts: undefined });
    const desired = desiredOfDeletion(object);
    expect(E.toUnion(desiredFor(object, inputs, tagged()))).to.deep.equal(desired);
    expect(candidateProfiles(object, desired)).to.equal(desired.names.profiles);
    expect(candidateProfiles(kept(), desiredOf(kept())), 'without a deletion').to.deep.equal([KEPT, PROFILE]);
  });
});

describe('findEmptySelectorFields', () => {
  const fieldsOf = (written: unknown, stored: object): readonly string[] => {
    const applied = JSON.stringify({ spec: { selectors: [{ namespace: 'a' }, written] } });
    return desiredOf(
      anObject({
        metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': applied } },
        spec: { selectors: [{ namespace: 'a' }, { namespace: 'web', ...stored }] },
      }),
    ).emptySelectorFields;
  };

  it('finds labels without a value in the manifest that kubectl has applied', () => {
    const path = 'spec.selectors[1].labels';
    for (const [labels, stored, found] of [
      [{ compute: null }, { labels: {} }, [`${path}.compute`]],
      [{ a: 'b', c: null }, { labels: { a: 'b' } }, [`${path}.c`]],
      [null, {}, [path]],
    ] as const)
      expect(fieldsOf({ namespace: 'web', labels }, stored)).to.deep.equal(found);
  });

  it('finds nothing in other manifests, and after another client has changed the selector', () => {
    expect(fieldsOf({ namespace: 'web', labels: { a: '' } }, { labels: { a: '' } })).to.deep.equal([]);
    expect(fieldsOf({ namespace: 'web', labels: { compute: null } }, { labels: { other: 'x' } })).to.deep.equal([]);
    expect(fieldsOf(null, {})).to.deep.equal([]);
  });
});
