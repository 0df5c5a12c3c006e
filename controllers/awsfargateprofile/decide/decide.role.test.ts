import { expect } from 'chai';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { markRoleInUse } from '../aws/apply-outcome.ts';
import { decide } from './decide.ts';
import type { FargateProfile } from '../../../pkg/cloud/eks/eks-api.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import { messageOf, newReason } from '../reasons/reasons.ts';
import {
  CLUSTER_ARN,
  CONTROL_PLANE_FACTS,
  EKS_CLUSTER_TAG,
  NAMESPACE_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  RECORDED,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  asWanted,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import { ADDED_TAG, TRUST_POLICIES, recordTag } from '../testing/expected-state.ts';
import {
  CAPA_TAGS,
  CREATE_REQUESTED,
  FOREIGN_TAGS,
  PROVISIONED,
  SHARED_ROLE_NAME,
  SHARED_ROLE_ARN,
  SHARED_ROLE,
  desiredFrom,
} from '../testing/fixtures.ts';
import { describeDecision } from '../testing/mutations.ts';

const LOGS = 'arn:aws:iam::aws:policy/CloudWatchLogs';
const THEIRS = 'arn:aws:iam::111122223333:policy/theirs';
const BOUND = 'arn:aws:iam::111122223333:policy/bound';

/** The tags of a role whose record names policies, a boundary or tags that the controller has put on the role. */
const recording = (...additions: readonly string[]) => ({ ...ROLE_TAGS, ...recordTag(...additions) });

const disputed = desiredOf(anObject({ spec: { roleName: SHARED_ROLE_NAME } }), {
  roleSharers: [
    anObject({
      metadata: { name: 'older', uid: 'uid-of-older', creationTimestamp: '2026-11-19T00:00:00Z' },
      spec: { roleName: SHARED_ROLE_NAME, rolePath: '/theirs/' },
    }),
  ],
});

const FORMER_PROFILE = ProfileName.of('former');
const FORMER_ROLE = RoleName.of('former-role');
/**
 * A part of the spec that names the Fargate profile. Without spec.profileName, the controller would keep the profile
 * name that status records.
 */
const NAMED = { profileName: PROFILE } as const;
const FORMERLY: AWSFargateProfileStatus = {
  profileName: FORMER_PROFILE,
  role: { name: FORMER_ROLE, managed: true },
};

/**
 * Returns the state of AWS after a user has changed the profile name and the role name in the spec. AWS has `role`, by
 * default a role with the former name that belongs to this controller. If fields of a profile are given, EKS has the
 * profile with the former name, which by default uses `role`.
 */
function withFormer({
  role = aRole({ name: FORMER_ROLE }),
  ...profile
}: { readonly role?: FoundRole } & Partial<FargateProfile>): Observed {
  const isThere = Object.keys(profile).length > 0;
  const found = aProfile({ name: FORMER_PROFILE, podExecutionRoleArn: role.arn, ...profile });
  return {
    cluster: 'there',
    profiles: [
      { name: PROFILE, found: undefined },
      { name: FORMER_PROFILE, found: isThere ? found : undefined },
    ],
    roles: [
      { name: ROLE, found: role.name === ROLE ? role : undefined },
      { name: FORMER_ROLE, found: role.name === ROLE ? undefined : role },
    ],
    authenticationMode: 'API_AND_CONFIG_MAP',
  };
}

/**
 * Returns the desired state under limits that the operator sets by flags of the manager. The limits require a
 * permissions boundary. They allow only roles below the path `/pods/` and policies that AWS manages.
 */
const limited = (spec: Partial<AWSFargateProfileSpec>, status: AWSFargateProfileStatus = {}): Desired =>
  desiredOf(anObject({ spec, status }), {
    limits: {
      permissionsBoundary: BOUND,
      roleArns: ['arn:aws:iam::111122223333:role/pods/*'],
      policyArns: ['arn:aws:iam::aws:policy/*'],
    },
  });

type Row = readonly [situation: string, desired: Desired, seen: Observed, decision: string];

const TABLES: Readonly<Record<string, readonly Row[]>> = {
  "a spec beyond the operator's limits": [
    [
      'names a role, and the profile does not exist',
      limited({ roleARN: SHARED_ROLE_ARN }),
      observed({ role: SHARED_ROLE }),
      'stop: NotAllowedByOperator',
    ],
    [
      'names a role, and the profile exists',
      limited({ roleARN: SHARED_ROLE_ARN }),
      observed({ profile: aProfile({ podExecutionRoleArn: SHARED_ROLE_ARN }), role: SHARED_ROLE }),
      'settled',
    ],
    [
      'names another role before the profile was provisioned',
      limited({ roleARN: SHARED_ROLE_ARN }, CREATE_REQUESTED),
      observed({ profile: aProfile(), role: SHARED_ROLE }),
      'stop: NotAllowedByOperator',
    ],
    [
      'names a foreign role in spec.roleName',
      limited({ roleName: SHARED_ROLE_NAME }),
      observed({ role: SHARED_ROLE }),
      'stop: NotAllowedByOperator',
    ],
    [
      'gives a new role a name',
      limited({ roleName: SHARED_ROLE_NAME }),
      { ...observed(), roles: [{ name: SHARED_ROLE_NAME, found: undefined }] },
      'create role /shared',
    ],
    [
      'has another permissions boundary',
      limited({ rolePermissionsBoundary: 'arn:aws:iam::111122223333:policy/theirs' }),
      observed(),
      'stop: NotAllowedByOperator',
    ],
    [
      'has another permissions boundary, and the profile exists',
      limited({ rolePermissionsBoundary: 'arn:aws:iam::111122223333:policy/theirs' }, PROVISIONED),
      observed({ profile: aProfile(), role: aRole({ permissionsBoundary: THEIRS }) }),
      'setBoundary bound',
    ],
    [
      'has no permissions boundary, and the profile exists',
      limited({}, PROVISIONED),
      observed({ profile: aProfile(), role: aRole() }),
      'setBoundary bound',
    ],
    ['names a policy', limited({ roleAdditionalPolicies: [THEIRS] }), observed(), 'stop: NotAllowedByOperator'],
    [
      'names a policy that is not attached, and the profile exists',
      limited({ roleAdditionalPolicies: [THEIRS] }),
      observed({ profile: aProfile(), role: aRole({ permissionsBoundary: BOUND }) }),
      'settled: NotAllowedByOperator',
    ],
    [
      'names a policy that is attached, and the profile exists',
      limited({ roleAdditionalPolicies: [THEIRS] }, { role: { name: ROLE, attachedPolicies: [THEIRS] } }),
      observed({
        profile: aProfile(),
        role: aRole({ permissionsBoundary: BOUND, attached: [POD_EXECUTION_POLICY, THEIRS] }),
      }),
      'settled',
    ],
    [
      'names an allowed policy',
      limited({ roleAdditionalPolicies: [LOGS] }),
      observed({ profile: aProfile(), role: aRole({ permissionsBoundary: BOUND, tags: recording(`policy ${LOGS}`) }) }),
      'attachPolicy CloudWatchLogs',
    ],
  ],
  'the managed role': [
    [
      'was created by Cluster API Provider AWS and lacks our tag',
      desiredFrom(),
      observed({ role: aRole({ tags: CAPA_TAGS }) }),
      `tag role with ${EKS_CLUSTER_TAG},${NAMESPACE_TAG}`,
    ],
    [
      'was created by Cluster API Provider AWS, while the control plane is not ready',
      { ...desiredFrom(), creationBlocker: newReason('WaitingForEKSControlPlane', { detail: '' }) },
      observed({ profile: aProfile(), role: aRole({ tags: CAPA_TAGS }) }),
      'stop: WaitingForEKSControlPlane',
    ],
    [
      'belongs to the same EKS cluster and another namespace',
      desiredFrom(),
      observed({ role: aRole({ tags: { ...ROLE_TAGS, [NAMESPACE_TAG]: 'team-b' } }) }),
      'stop: RoleNotOwned',
    ],
    [
      'was a foreign role that has been deleted',
      desiredFrom({}, { role: { name: ROLE, id: 'AROATHEIRS', managed: false } }),
      observed(),
      `create role /${ROLE}`,
    ],
    [
      'has a trust policy that is too wide',
      desiredFrom(),
      observed({ role: aRole({ trust: TRUST_POLICIES.wide }) }),
      'setTrust',
    ],
    [
      'has the wanted trust policy in another form',
      desiredFrom(),
      observed({ profile: aProfile(), role: aRole({ trust: TRUST_POLICIES.oursReordered }) }),
      'settled',
    ],
    [
      'lacks the wanted permissions boundary',
      desiredFrom({ rolePermissionsBoundary: BOUND }),
      observed({ role: aRole({ tags: recording(`boundary ${BOUND}`) }) }),
      'setBoundary bound',
    ],
    [
      'lacks the wanted permissions boundary and its record',
      desiredFrom({ rolePermissionsBoundary: BOUND }),
      observed({ role: aRole() }),
      `tag role with ${ADDED_TAG}`,
    ],
    [
      'has a boundary that the controller set and the spec no longer contains',
      desiredFrom({}, { role: { name: ROLE, permissionsBoundary: BOUND } }),
      observed({ role: aRole({ permissionsBoundary: BOUND, tags: recording(`boundary ${BOUND}`) }) }),
      'removeBoundary',
    ],
    [
      'has a boundary that only status calls a boundary of the controller',
      desiredFrom({}, { role: { name: ROLE, permissionsBoundary: BOUND } }),
      observed({ profile: aProfile(), role: aRole({ permissionsBoundary: BOUND }) }),
      'settled',
    ],
    [
      'has the record of a boundary that it has not any more',
      desiredFrom({}, { role: { name: ROLE } }),
      observed({ profile: aProfile(), role: aRole({ tags: recording(`boundary ${BOUND}`) }) }),
      `untag role of ${ADDED_TAG}`,
    ],
    [
      'has a boundary that another client set',
      desiredFrom(),
      observed({ profile: aProfile(), role: aRole({ permissionsBoundary: BOUND }) }),
      'settled',
    ],
    [
      'has a boundary that another client set after the controller had set another one',
      desiredFrom({}, { role: { name: ROLE, permissionsBoundary: THEIRS } }),
      observed({
        profile: aProfile(),
        role: aRole({ permissionsBoundary: BOUND, tags: recording(`boundary ${BOUND}`) }),
      }),
      'settled',
    ],
    [
      'has a boundary that was recorded while the role belonged to another owner',
      desiredFrom({}, { role: { name: ROLE, managed: false, permissionsBoundary: BOUND } }),
      observed({
        profile: aProfile(),
        role: aRole({ permissionsBoundary: BOUND, tags: recording(`boundary ${BOUND}`) }),
      }),
      'settled',
    ],
    [
      'has the boundary that the controller set on another role',
      desiredFrom({}, { role: { name: SHARED_ROLE_NAME, permissionsBoundary: BOUND } }),
      observed({
        profile: aProfile(),
        role: aRole({ permissionsBoundary: BOUND, tags: recording(`boundary ${BOUND}`) }),
      }),
      'settled',
    ],
    [
      'has a boundary that another CRD has dropped from the spec after the object was provisioned',
      desiredFrom({}, { ...PROVISIONED, role: { name: ROLE, permissionsBoundary: BOUND } }),
      observed({
        profile: aProfile(),
        role: aRole({ permissionsBoundary: BOUND, tags: recording(`boundary ${BOUND}`) }),
      }),
      'settled',
    ],
    [
      'lacks an additional policy',
      desiredFrom({ roleAdditionalPolicies: [LOGS] }),
      observed({ role: aRole({ tags: recording(`policy ${LOGS}`) }) }),
      'attachPolicy CloudWatchLogs',
    ],
    [
      'has a policy that the controller attached and the spec no longer contains',
      desiredFrom({}, { role: { name: ROLE, attachedPolicies: [LOGS] } }),
      observed({ role: aRole({ attached: [POD_EXECUTION_POLICY, LOGS], tags: recording(`policy ${LOGS}`) }) }),
      'detachPolicy CloudWatchLogs',
    ],
    [
      'has a policy that only status calls a policy of the controller',
      desiredFrom({}, { role: { name: ROLE, attachedPolicies: [LOGS] } }),
      observed({ profile: aProfile(), role: aRole({ attached: [POD_EXECUTION_POLICY, LOGS] }) }),
      'settled',
    ],
    [
      'lacks an additional policy and its record',
      desiredFrom({ roleAdditionalPolicies: [LOGS] }),
      observed({ role: aRole() }),
      `tag role with ${ADDED_TAG}`,
    ],
    [
      'has a policy that the controller attached to another role',
      desiredFrom({}, { role: { name: SHARED_ROLE_NAME, managed: false, attachedPolicies: [LOGS] } }),
      observed({
        profile: aProfile(),
        role: aRole({ attached: [POD_EXECUTION_POLICY, LOGS], tags: recording(`policy ${LOGS}`) }),
      }),
      'settled',
    ],
    [
      'has a policy that another client attached while the role belonged to another owner',
      desiredFrom({}, { role: { name: ROLE, managed: false, attachedPolicies: [LOGS] } }),
      observed({
        profile: aProfile(),
        role: aRole({ attached: [POD_EXECUTION_POLICY, LOGS], tags: recording(`policy ${LOGS}`) }),
      }),
      'settled',
    ],
    [
      'has a policy that another client attached',
      desiredFrom(),
      observed({ profile: aProfile(), role: aRole({ attached: [POD_EXECUTION_POLICY, THEIRS] }) }),
      'settled',
    ],
    [
      'has a tag that the controller set and the spec no longer contains',
      desiredFrom({}, { tagKeys: ['Team'] }),
      observed({ role: aRole({ tags: { ...recording('tag team'), team: 'x' } }) }),
      `untag role of ${ADDED_TAG},team`,
    ],
    [
      'has a tag that only status calls a tag of the controller',
      desiredFrom({}, { tagKeys: ['Team'] }),
      observed({ profile: aProfile(), role: aRole({ tags: { ...ROLE_TAGS, team: 'x' } }) }),
      'settled',
    ],
    [
      'has a tag that another client set',
      desiredFrom(),
      observed({ profile: aProfile(), role: aRole({ tags: { ...ROLE_TAGS, team: 'x' } }) }),
      'settled',
    ],
    [
      'was deleted by another client while the profile exists',
      desiredFrom({}, PROVISIONED),
      observed({ profile: aProfile() }),
      `create role /${ROLE}`,
    ],
    [
      'belongs to another EKS cluster',
      desiredFrom(),
      observed({ role: aRole({ tags: { [EKS_CLUSTER_TAG]: 'arn:aws:eks:eu-north-1:111122223333:cluster/x' } }) }),
      'stop: RoleNotOwned',
    ],
    [
      'has another path and is unused',
      desiredFrom({ rolePath: '/team-a/' }),
      observed({ role: aRole({ attached: [] }) }),
      `delete role ${ROLE}`,
    ],
    [
      'has another path and is used by our profile',
      desiredFrom({ rolePath: '/team-a/' }),
      asWanted(),
      'stop: SpecDiffers',
    ],
    [
      'has another path and is used by a foreign profile',
      desiredFrom({ ...NAMED, rolePath: '/team-a/' }, { profileName: FORMER_PROFILE }),
      withFormer({ role: aRole(), tags: FOREIGN_TAGS, podExecutionRoleArn: ROLE_ARN }),
      'stop: RoleSettingsConflict',
    ],
  ],
  'a role for which an older object has other settings': [
    ['does not exist: the older object creates it', disputed, observed(), 'stop: RoleSettingsConflict'],
    [
      'is ours, and keeps the settings of the older object',
      disputed,
      observed({ role: aRole({ name: SHARED_ROLE_NAME, attached: [] }) }),
      'stop: RoleSettingsConflict',
    ],
    [
      'is foreign, and serves both objects unchanged',
      disputed,
      observed({ role: SHARED_ROLE }),
      `create profile ${PROFILE} with /shared`,
    ],
  ],
  'our role that is recorded under a former name': [
    [
      'is unused',
      desiredFrom(NAMED, FORMERLY),
      withFormer({}),
      'detachPolicy AmazonEKSFargatePodExecutionRolePolicy, retiring',
    ],
    [
      'is unused and has no policies',
      desiredFrom(NAMED, FORMERLY),
      withFormer({ role: aRole({ name: FORMER_ROLE, attached: [] }) }),
      'read access entry before deletion',
    ],
    [
      'is foreign now',
      desiredFrom(NAMED, FORMERLY),
      withFormer({ role: aRole({ name: FORMER_ROLE, tags: {} }) }),
      `create role /${ROLE}`,
    ],
    [
      'is used by another AWSFargateProfile',
      desiredFrom(NAMED, FORMERLY),
      markRoleInUse(withFormer({}), FORMER_ROLE, 'AWSFargateProfile team-a/api'),
      `create role /${ROLE}`,
    ],
    [
      'is used by a foreign profile',
      desiredFrom(NAMED, FORMERLY),
      withFormer({ tags: FOREIGN_TAGS }),
      `create role /${ROLE}`,
    ],
    [
      'is used by our profile with a former name',
      desiredFrom(NAMED, FORMERLY),
      withFormer({ tags: PROFILE_TAGS }),
      `delete profile ${FORMER_PROFILE}, unwanted`,
    ],
    [
      'is used by our profile with a former name, which is being deleted',
      desiredFrom(NAMED, FORMERLY),
      withFormer({ tags: PROFILE_TAGS, status: 'DELETING' }),
      'stop: DeletingProfile',
    ],
  ],
  'a role that IAM has in other capital letters than the spec': [
    [
      'is ours, and is used by the new profile under its own ARN',
      desiredFrom({ roleName: RoleName.of('SHARED') }),
      observed({ role: aRole({ name: SHARED_ROLE_NAME }) }),
      `create profile ${PROFILE} with /shared`,
    ],
    [
      'is ours, and the profile uses it',
      desiredFrom({ roleName: RoleName.of('SHARED') }, { role: { name: SHARED_ROLE_NAME, managed: true } }),
      observed({
        profile: aProfile({ podExecutionRoleArn: SHARED_ROLE_ARN }),
        role: aRole({ name: SHARED_ROLE_NAME }),
      }),
      'settled',
    ],
    [
      'was foreign and has been deleted',
      desiredFrom({ roleName: RoleName.of('SHARED') }, { role: { name: SHARED_ROLE_NAME, managed: false } }),
      observed({ role: undefined }),
      'stop: RoleNotFound',
    ],
  ],
  'a role that the spec names': [
    [
      'is foreign',
      desiredFrom({ roleName: SHARED_ROLE_NAME }),
      observed({ role: SHARED_ROLE }),
      `create profile ${PROFILE} with /shared`,
    ],
    [
      'is foreign and does not trust Fargate',
      desiredFrom({ roleName: SHARED_ROLE_NAME }),
      observed({ role: { ...SHARED_ROLE, trust: TRUST_POLICIES.forNodes } }),
      'stop: RoleTrustInvalid',
    ],
    [
      'is foreign and has another path',
      desiredFrom({ roleName: SHARED_ROLE_NAME }),
      observed({ role: aRole({ name: SHARED_ROLE_NAME, tags: {}, path: '/x/' }) }),
      `create profile ${PROFILE} with /shared`,
    ],
    [
      'does not exist',
      desiredFrom({ roleName: SHARED_ROLE_NAME }),
      observed({ role: undefined }),
      'create role /shared',
    ],
    [
      'was foreign and has been deleted',
      desiredFrom({ roleName: SHARED_ROLE_NAME }, { role: { name: SHARED_ROLE_NAME, managed: false } }),
      observed(),
      'stop: RoleNotFound',
    ],
    [
      'is the shared role of Cluster API Provider AWS and does not exist',
      desiredFrom({ roleName: RoleName.of('eks-fargate.cluster-api-provider-aws.sigs.k8s.io') }),
      observed(),
      'stop: RoleNotFound',
    ],
    [
      'by its ARN exists',
      desiredFrom({ roleARN: SHARED_ROLE_ARN }),
      observed({ role: SHARED_ROLE }),
      `create profile ${PROFILE} with /shared`,
    ],
    [
      'by its ARN has drifted',
      desiredFrom({ roleARN: SHARED_ROLE_ARN }),
      observed({
        profile: aProfile({ podExecutionRoleArn: SHARED_ROLE_ARN }),
        role: { ...SHARED_ROLE, tags: ROLE_TAGS, attached: [] },
      }),
      'settled',
    ],
    ['by its ARN does not exist', desiredFrom({ roleARN: SHARED_ROLE_ARN }), observed(), 'stop: RoleNotFound'],
    [
      'by its ARN has another path',
      desiredFrom({ roleARN: SHARED_ROLE_ARN }),
      observed({ role: aRole({ name: SHARED_ROLE_NAME, path: '/x/', tags: {} }) }),
      'stop: RoleNotFound',
    ],
  ],
};

describe('decide, about the path of the role and the authentication mode of the EKS cluster', () => {
  const BROUGHT = RoleArn.of('arn:aws:iam::111122223333:role/team-a/pods');
  const brought = aRole({ name: RoleName.of('pods'), path: '/team-a/', arn: BROUGHT, tags: {} });
  const managed = aRole({ path: '/team-a/', arn: RoleArn.of(`arn:aws:iam::111122223333:role/team-a/${ROLE}`) });
  const [byPath, byArn, byName] = [
    { rolePath: '/team-a/' },
    { roleARN: BROUGHT },
    { roleName: RoleName.of('pods') },
  ] as const;
  const using = { podExecutionRoleArn: managed.arn };
  const rows: readonly (readonly [string, Desired, Parameters<typeof observed>[0], string | undefined, string])[] = [
    ['rolePath, mode unknown', desiredFrom(byPath), {}, undefined, 'read authentication mode before creation'],
    [
      'roleARN, mode unknown',
      desiredFrom(byArn),
      { role: brought },
      undefined,
      'read authentication mode before creation',
    ],
    ['rolePath', desiredFrom(byPath), {}, 'CONFIG_MAP', 'stop: RolePathNotMapped'],
    ['roleARN', desiredFrom(byArn), { role: brought }, 'CONFIG_MAP', 'stop: RolePathNotMapped'],
    [
      'the path of a role of another owner',
      desiredFrom(byName),
      { role: brought },
      'CONFIG_MAP',
      'stop: RolePathNotMapped',
    ],
    ['rolePath', desiredFrom(byPath), {}, 'API_AND_CONFIG_MAP', `create role /team-a/${ROLE}`],
    ['rolePath', desiredFrom(byPath), {}, 'unreadable', `create role /team-a/${ROLE}`],
    ['the path /', desiredFrom({ rolePath: '/' }), {}, undefined, `create role /${ROLE}`],
    ['a live profile', desiredFrom(byPath), { role: managed, profile: aProfile(using) }, 'CONFIG_MAP', 'settled'],
    [
      'a live profile, mode unknown',
      desiredFrom(byPath),
      { role: managed, profile: aProfile(using) },
      undefined,
      'read authentication mode before readiness',
    ],
    [
      'a provisioned profile that was deleted in AWS',
      desiredFrom(byPath, PROVISIONED),
      { role: managed, accessEntries: [{ principal: managed.arn, mode: 'CONFIG_MAP', found: undefined }] },
      'CONFIG_MAP',
      `create profile ${PROFILE} with fargate`,
    ],
    [
      'a control plane that is not ready',
      desiredOf(anObject({ spec: byPath }), {
        controlPlaneFacts: {
          ...CONTROL_PLANE_FACTS,
          creationBlocker: newReason('WaitingForEKSControlPlane', { detail: 'not ready' }),
        },
      }),
      {},
      undefined,
      'stop: WaitingForEKSControlPlane',
    ],
  ];
  for (const [situation, desired, seen, mode, decision] of rows) {
    it(`${situation}, ${mode ?? ''}: ${decision}`, () => {
      const { authenticationMode: _default, ...read } = observed(seen);
      const known = mode === undefined ? read : { ...read, authenticationMode: mode };
      expect(describeDecision(decide(desired, known))).to.equal(decision);
    });
  }
});

describe('decide, about the role', () => {
  for (const [topic, rows] of Object.entries(TABLES)) {
    describe(topic, () => {
      for (const [situation, desired, seen, decision] of rows) {
        it(`${situation}: ${decision}`, () => expect(describeDecision(decide(desired, seen))).to.equal(decision));
      }
    });
  }

  describe('a role of this controller that spec.roleARN names since', () => {
    const managed = { role: { name: ROLE, managed: true, id: 'AROAEXAMPLE' } };
    const deletion = (spec: Partial<AWSFargateProfileSpec>) =>
      desiredOfDeletion(aDeletedObject({ spec, status: { ...RECORDED, ...managed } }));

    it('stays when the object is deleted before status records the change', () => {
      const desired = deletion({ roleARN: ROLE_ARN });
      expect(describeDecision(decide(desired, observed({ role: aRole() })))).to.equal('settled');
      const stripped = observed({ role: aRole({ tags: {} }) });
      expect(describeDecision(decide(desired, stripped))).to.equal('settled');
    });

    it('is deleted if spec.roleARN names another role', () => {
      const desired = deletion({ roleARN: SHARED_ROLE_ARN });
      expect(describeDecision(decide(desired, observed({ role: aRole() })))).not.to.equal('settled');
    });
  });

  describe('the advice about a role that the controller may not change', () => {
    const adviceFor = (spec: Partial<AWSFargateProfileSpec>, seen: Observed): string => {
      const decision = decide(desiredFrom(spec), seen);
      return decision.kind === 'stop' ? messageOf(decision.reason) : decision.kind;
    };
    const ofOtherCluster = TRUST_POLICIES.ours.replaceAll('eu-west-1', 'eu-north-1');
    const clusterTags = { ...ROLE_TAGS, [EKS_CLUSTER_TAG]: CLUSTER_ARN.replace('eu-west-1', 'eu-north-1') };

    it('names spec.roleARN only if Fargate may use the role for this EKS cluster', () => {
      const adviceWith = (trust: string) => adviceFor({}, observed({ role: aRole({ tags: clusterTags, trust }) }));
      const [use, evade] = [
        'set spec.roleARN to the ARN of the role',
        'To let the controller create a role with another name, set spec.roleName',
      ];
      expect(adviceWith(TRUST_POLICIES.wide)).to.include(`${use}. ${evade}. Or wait`);
      expect(adviceWith(ofOtherCluster)).to.include(`does not change or delete it. ${evade}. Or wait`);
    });

    it('asks for the right principal, or for the right condition, or for the removal of a denial', () => {
      const adviceWith = (trust: string) =>
        adviceFor({ roleName: SHARED_ROLE_NAME }, observed({ role: { ...SHARED_ROLE, trust } }));
      expect(adviceWith(TRUST_POLICIES.forNodes)).to.match(
        /the principal must be the service \S+, and the action sts:AssumeRole\. The controller retries on its own\.$/,
      );
      expect(adviceWith(ofOtherCluster)).to.match(
        /EKS sends aws:SourceArn \S+\. Correct this condition in the trust policy of the role, so that it allows what EKS sends\. The controller retries on its own\.$/,
      );
      expect(adviceWith(TRUST_POLICIES.wide.replace('Allow', 'Deny'))).to.match(
        /to call sts:AssumeRole\. Remove the statement that denies this from the trust policy of the role\. The controller retries on its own\.$/,
      );
    });
  });

  describe('a role of spec.roleARN that IAM knows under another ARN', () => {
    const messageFor = (roleARN: string, status: AWSFargateProfileStatus = {}): string => {
      const desired = desiredFrom({ roleARN: RoleArn.of(roleARN) }, status);
      const decision = decide(desired, observed({ role: SHARED_ROLE }));
      return decision.kind === 'stop' ? `${decision.reason.name}: ${messageOf(decision.reason)}` : decision.kind;
    };

    for (const [difference, name, roleARN] of [
      ['another path', 'shared', 'arn:aws:iam::111122223333:role/x/shared'],
      ['other capital letters', 'Shared', 'arn:aws:iam::111122223333:role/Shared'],
    ] as const)
      it(`with ${difference} is not used, and the message names the right ARN`, () => {
        expect(messageFor(roleARN)).to.equal(
          `RoleNotFound: IAM role "${name}" has the ARN ${SHARED_ROLE_ARN}, but spec.roleARN is ${roleARN}. ` +
            'Set spec.roleARN to the ARN of the role. The controller then continues on its own.',
        );
      });

    it('is to be created again once the object is provisioned, because the API server refuses another ARN', () => {
      expect(messageFor('arn:aws:iam::111122223333:role/x/shared', PROVISIONED)).to.match(
        /\. Create the role again with the ARN in status\.podExecutionRoleARN, with a trust policy for .* and the policy \w+\. If EKS still has the access entry of the deleted role, this condition tells afterwards /,
      );
    });
  });

  it('names the AWSFargateProfile that uses the role', () => {
    const kept = markRoleInUse(observed({ role: aRole() }), ROLE, 'AWSFargateProfile team-a/other');
    const decision = decide(desiredFrom({ rolePath: '/team-a/' }), kept);
    expect(decision.kind === 'stop' && messageOf(decision.reason)).to.match(
      /^IAM role "prod-team-a_web_fargate" is also used by AWSFargateProfile team-a\/other, and this object has other values in spec\.rolePath\. /,
    );
  });
});
