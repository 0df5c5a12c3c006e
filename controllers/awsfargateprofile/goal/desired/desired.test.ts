import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { ProfileName, RoleArn, RoleName } from '../../../../api/names.ts';
import type { AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../../api/v1beta2/index.ts';
import { ACCESS_ENTRY_DELETED_ANNOTATION, ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../../../api/v1beta2/index.ts';
import { podExecutionPolicyArn } from '../../../../pkg/fargate/arns.ts';
import type { DesiredInputs } from './desired.ts';
import { desiredFor, withCurrentRoleName, withProfileNameInUse } from './desired.ts';
import type { Desired, ManagedRole } from '../../model/desired-state.ts';
import type { TargetSource } from '../../model/goal-kinds.ts';
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

function refusalOf(spec: Partial<AWSFargateProfileSpec>, over: Partial<DesiredInputs> = {}): string {
  const desired = desiredFor(anObject({ spec }), desiredInputs(over));
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
      excludedPolicies: [],
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

  for (const [region, partition] of [
    ['eu-west-1', 'aws'],
    ['cn-north-1', 'aws-cn'],
    ['us-gov-west-1', 'aws-us-gov'],
  ] as const)
    it(`takes partition ${partition} for region ${region}, also on deletion`, () => {
      const target = { ...TARGET, region };
      const [alive, leaving] = [desiredOf(anObject(), { target }), desiredOfDeletion(aDeletedObject(), { target })];
      expect(leaving.identity.eksClusterArn).to.equal(
        `arn:${partition}:eks:${region}:${ACCOUNT}:cluster/${EKS_CLUSTER}`,
      );
      expect(alive.identity.eksClusterArn, 'the ARN in the ownership tag of a role').to.equal(
        leaving.identity.eksClusterArn,
      );
      expect(wanted(alive).role.arn).to.match(new RegExp(`^arn:${partition}:iam::`));
      expect(managedRole({}, { target }).policies).to.deep.equal([podExecutionPolicyArn(partition)]);
    });

  it('wants no profile and no role on deletion', () => expect(desiredOfDeletion().wanted).to.equal(undefined));

  describe('the wanted subnets', () => {
    const provisioned: AWSFargateProfileStatus = { initialization: { provisioned: true }, subnets: ['subnet-0f'] };
    const subnetsOf = (spec: Partial<AWSFargateProfileSpec>, status: AWSFargateProfileStatus = {}) => {
      const { subnets, subnetSource } = wanted(desiredOf(anObject({ spec, status }))).profile;
      return `${subnets.join()} of ${subnetSource}`;
    };

    it('are those of spec.subnetIDs', () => {
      expect(subnetsOf({ subnetIDs: ['subnet-0c'] }, provisioned)).to.equal('subnet-0c of spec');
    });

    it('of a provisioned object are those in status, even if the control plane has new subnets', () => {
      expect(subnetsOf({}, provisioned)).to.equal('subnet-0f of status');
    });

    it('of an object that is not provisioned are those of the control plane', () => {
      expect(subnetsOf({}, { subnets: ['subnet-0f'] })).to.equal('subnet-0a,subnet-0b of controlPlane');
    });

    it('with an empty spec.subnetIDs are those of the control plane', () => {
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

    it('with keys that differ only in case are one tag for IAM and two tags for EKS', () => {
      const { profile, role } = wantedOf({ additionalTags: { Team: 'web' } }, { controlPlaneFacts });
      expect(profile.tags).to.include({ Team: 'web', team: 'platform' });
      expect(role).to.deep.include({ tags: { Team: 'web', region: 'x', ...ROLE_TAGS } });
    });
  });

  describe('reports an error for', () => {
    const CORRECT = 'Correct this field. The controller then continues on its own.';
    const many = Object.fromEntries(Array.from({ length: 49 }, (_, index) => [`key-${index}`, 'x']));
    const refusals: readonly (readonly [what: string, spec: Partial<AWSFargateProfileSpec>, message: string])[] = [
      [
        'a profile name with the prefix that EKS reserves',
        { profileName: ProfileName.of('eks-web') },
        `InvalidSpec: spec.profileName: EKS does not allow the name "eks-web": The fargate profile name starts with the reserved prefix: 'eks-'. ${CORRECT}`,
      ],
      [
        'a profile name with characters that EKS rejects',
        { profileName: ProfileName.of('my web') },
        `InvalidSpec: spec.profileName: EKS does not allow the name "my web": The Fargate profile name parameter contains invalid characters. It should begin with letter or digit and can have any of the following characters: the set of Unicode letters, digits, hyphens and underscores. ${CORRECT}`,
      ],
      [
        'a profile name that is too long for EKS',
        { profileName: ProfileName.of('x'.repeat(101)) },
        `InvalidSpec: spec.profileName: EKS does not allow the name "${'x'.repeat(101)}": The Fargate profile name parameter should not be greater than 100 characters. ${CORRECT}`,
      ],
      [
        'a spec without selectors',
        { selectors: [] },
        `InvalidSpec: spec.selectors is empty, but a Fargate profile requires at least one selector. ${CORRECT}`,
      ],
      [
        'an ARN that is not the ARN of a role',
        { roleARN: RoleArn.of('arn:aws:iam::111122223333:user/someone') },
        `InvalidSpec: spec.roleARN "arn:aws:iam::111122223333:user/someone" is not the ARN of an IAM role. ${CORRECT}`,
      ],
      [
        'the ARN of a role in another account',
        { roleARN: RoleArn.of('arn:aws:iam::444455556666:role/pods') },
        `InvalidSpec: spec.roleARN names a role in account 444455556666, but EKS accepts only roles of the account of the EKS cluster, 111122223333. ${CORRECT}`,
      ],
      [
        'more tags than AWS allows',
        { additionalTags: many },
        'TagsInvalid: AWS does not accept the tags for this object: there are 51 tags (2 of them from this controller), but AWS allows only 50. Correct the tags that this message names, in spec.additionalTags of this object or of its control plane. The controller then continues on its own.',
      ],
      [
        'a tag key that AWS reserves',
        { additionalTags: { 'aws:team': 'x' } },
        'TagsInvalid: AWS does not accept the tags for this object: tag "aws:team" of the AWSFargateProfile: AWS reserves keys that begin with "aws:". Correct the tags that this message names, in spec.additionalTags of this object or of its control plane. The controller then continues on its own.',
      ],
    ];
    for (const [what, spec, message] of refusals) {
      it(what, () => expect(refusalOf(spec)).to.equal(message));
    }

    it('a computed profile name with the prefix that EKS reserves', () => {
      const object = anObject({ metadata: { namespace: 'eks-system' } });
      const desired = desiredFor(object, desiredInputs());
      expect(E.isLeft(desired) && messageOf(desired.left)).to.include('spec.profileName is not set');
    });

    it('a control plane without private subnets', () => {
      const controlPlaneFacts = { ...CONTROL_PLANE_FACTS, privateSubnets: [] };
      expect(refusalOf({}, { controlPlaneFacts })).to.match(
        /^NoPrivateSubnets: Fargate needs private subnets, .* of AWSManagedControlPlane team-a\/prod-control-plane has no private subnet\. /,
      );
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
      const { roleConflict } = desiredOf(object, { roleSharers: [older(theirs)], ...over });
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
    const namesOf = (spec: Partial<AWSFargateProfileSpec>, status: AWSFargateProfileStatus = {}) =>
      desiredOf(anObject({ spec, status })).names;
    const namesOnDeletion = (spec: Partial<AWSFargateProfileSpec>, status: AWSFargateProfileStatus = {}) =>
      desiredOfDeletion(aDeletedObject({ spec, status })).names;

    it('are those of the wanted profile and role', () => {
      expect(namesOf({})).to.deep.equal({ profiles: [PROFILE], roles: [ROLE] });
    });

    it('include those in status, each name once', () => {
      const status = { profileName: ProfileName.of('former'), role: { name: RoleName.of('former-role') } };
      expect(namesOf({ profileName: PROFILE }, status)).to.deep.equal({
        profiles: [PROFILE, 'former'],
        roles: [ROLE, 'former-role'],
      });
      expect(namesOf({}, { profileName: PROFILE, role: { name: ROLE } })).to.deep.equal({
        profiles: [PROFILE],
        roles: [ROLE],
      });
    });

    it('have each role once, because IAM takes names in upper and lower case for the same name', () => {
      const [roleName, recorded] = [RoleName.of('Pods'), RoleName.of('pods')];
      expect(namesOf({ roleName }, { role: { name: recorded } }).roles).to.deep.equal(['Pods']);
      expect(namesOnDeletion({ roleName }, { role: { name: recorded } }).roles).to.deep.equal(['Pods']);
    });

    it('do not include a foreign role in status', () => {
      expect(namesOf({}, { role: { name: RoleName.of('theirs'), managed: false } }).roles).to.deep.equal([ROLE]);
    });

    it('on deletion are those of spec and status', () => {
      const status = { profileName: ProfileName.of('former'), role: { name: RoleName.of('former-role') } };
      expect(namesOnDeletion({ profileName: ProfileName.of('web') }, status)).to.deep.equal({
        profiles: ['web', 'former'],
        roles: ['prod-web_fargate', 'former-role'],
      });
    });

    it('on deletion without a recorded role include all role names that Cluster API Provider AWS computes', () => {
      expect(namesOnDeletion({}).roles).to.deep.equal([ROLE, FORMER_ROLE]);
    });

    it('on deletion do not include the role of spec.roleARN', () => {
      const roleARN = RoleArn.of('arn:aws:iam::111122223333:role/pods');
      expect(namesOnDeletion({ roleARN }).roles).to.deep.equal([]);
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
    const lostAfter = (parts: Parameters<typeof anObject>[0]) => desiredOf(anObject(parts)).recorded.lostNames;
    expect(lostAfter(MOVED)).to.deep.equal({ profiles: [PROFILE], roles: [ROLE, FORMER_ROLE] });
    expect(lostAfter({ ...MOVED, status: { account: ACCOUNT, role: { name: ROLE } } })).to.deep.equal({
      profiles: [],
      roles: [],
    });
    // A role that spec.roleName names may belong to another owner. So after status was dropped, this role is not in
    // `lostNames`, which lists the names that the profile and roles of the object may have.
    const named = { roleName: RoleName.of('shared') };
    expect(lostAfter({ ...MOVED, spec: named })).to.deep.equal({ profiles: [PROFILE], roles: [] });
  });

  it('has an empty recorded state without status', () => {
    expect(desiredOf().recorded).to.deep.equal({
      profileName: undefined,
      profileARN: undefined,
      lostNames: { profiles: [], roles: [] },
      isUnproven: false,
      roleName: undefined,
      isRoleManaged: undefined,
      roleId: undefined,
      accessEntryRenewedFor: undefined,
      accessEntryCheckedFor: undefined,
      accessEntryDeletedOf: undefined,
      attachedPolicies: [],
      permissionsBoundary: undefined,
      tagKeys: [],
      isProvisioned: false,
      location: 'none',
      isCreateRequested: false,
      isCreateUnconfirmed: false,
    });
  });

  it('contains the reason for which nothing may be created', () => {
    const creationBlocker = newReason('ClusterDeleting', { what: 'Cluster team-a/prod' });
    expect(
      desiredOf(anObject(), { controlPlaneFacts: { ...CONTROL_PLANE_FACTS, creationBlocker } }).creationBlocker,
    ).to.equal(creationBlocker);
  });

  it('has the adoptionPolicy Owned unless the spec has another', () => {
    expect(desiredOf().adoptionPolicy).to.equal('Owned');
    expect(desiredOf(anObject({ spec: { adoptionPolicy: 'Never' } })).adoptionPolicy).to.equal('Never');
  });
});

describe('withProfileNameInUse', () => {
  const KEPT = ProfileName.of('shared_web');
  const object = (spec: Partial<AWSFargateProfileSpec> = {}) => anObject({ spec, status: { profileName: KEPT } });
  const namesFor = (desired: Desired, tags?: Readonly<Record<string, string>>) => {
    const profiles = [{ name: KEPT, found: tags && aProfile({ name: KEPT, tags }) }];
    const chosen = withProfileNameInUse(desired, profiles);
    if (E.isLeft(chosen)) return chosen.left.name;
    const { profile, role } = wanted(chosen.right);
    return [profile.name, role.name];
  };
  const COMPUTED = [PROFILE, ROLE];

  it('keeps the recorded name, and the role name computed from it, if spec.profileName has been removed', () => {
    expect(namesFor(desiredOf(object()), PROFILE_TAGS)).to.deep.equal([KEPT, 'prod-shared_web_fargate']);
  });

  it('computes the names that Cluster API Provider AWS would give from the recorded name', () => {
    const found = aProfile({ name: KEPT });
    const chosen = withProfileNameInUse(desiredOf(object()), [{ name: KEPT, found }]);
    expect(E.isRight(chosen) && chosen.right.identity).to.deep.include({
      profileName: KEPT,
      capaRoleNames: ['prod-shared_web_fargate', `${EKS_CLUSTER}-shared_web_fargate`],
    });
  });

  const others: readonly (readonly [string, Readonly<Record<string, string>> | undefined])[] = [
    ['does not exist', undefined],
    ['belongs to another object', { [OWNER_TAG]: 'team-b/web' }],
    ['has no tag of an owner', {}],
    ['has only the tag of Cluster API Provider AWS, because anyone who writes status could name it', CAPA_TAGS],
  ];
  for (const [what, tags] of others) {
    it(`takes the computed name if the profile with the recorded name ${what}`, () => {
      expect(namesFor(desiredOf(object()), tags)).to.deep.equal(COMPUTED);
    });
  }

  it('takes the name in the spec, whatever name is recorded', () => {
    expect(namesFor(desiredOf(object({ profileName: PROFILE })), PROFILE_TAGS)).to.deep.equal(COMPUTED);
  });

  it('takes the computed name if the recorded name is no valid name', () => {
    const desired = desiredOf(anObject({ status: { profileName: ProfileName.of('no name') } }));
    expect(namesFor(desired, undefined)).to.deep.equal(COMPUTED);
  });

  it('reports an invalid computed name only if the recorded name does not apply', () => {
    const invalid = desiredOf(anObject({ metadata: { namespace: 'eks-team' }, status: { profileName: KEPT } }));
    expect(namesFor(invalid, { [OWNER_TAG]: 'eks-team/web' })).to.deep.equal([KEPT, 'prod-shared_web_fargate']);
    expect(namesFor(invalid, undefined)).to.equal('InvalidSpec');
  });

  it('wants nothing on deletion', () => {
    const desired = desiredOfDeletion(aDeletedObject({ status: { profileName: KEPT } }));
    expect(E.toUnion(withProfileNameInUse(desired, []))).to.equal(desired);
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
    expect(fieldsOf({ namespace: 'web', labels: { compute: null } }, { labels: {} })).to.deep.equal([
      `${path}.compute`,
    ]);
    expect(fieldsOf({ namespace: 'web', labels: { a: 'b', c: null } }, { labels: { a: 'b' } })).to.deep.equal([
      `${path}.c`,
    ]);
    expect(fieldsOf({ namespace: 'web', labels: null }, {})).to.deep.equal([path]);
  });

  it('finds nothing in other manifests, and after another client has changed the selector', () => {
    expect(fieldsOf({ namespace: 'web', labels: { a: '' } }, { labels: { a: '' } })).to.deep.equal([]);
    expect(fieldsOf({ namespace: 'web', labels: { compute: null } }, { labels: { other: 'x' } })).to.deep.equal([]);
    expect(fieldsOf(null, {})).to.deep.equal([]);
  });
});

describe('withCurrentRoleName', () => {
  const using = (arn: string) => [{ name: PROFILE, found: aProfile({ podExecutionRoleArn: RoleArn.of(arn) }) }];
  const formerArn = `arn:aws:iam::111122223333:role/${FORMER_ROLE}`;

  it('keeps the role name of Cluster API Provider AWS before v2.7.0 if the profile uses that role', () => {
    const adapted = withCurrentRoleName(desiredOf(), using(formerArn));
    expect(wanted(adapted).role).to.include({ name: FORMER_ROLE, arn: formerArn });
    expect(adapted.names.roles).to.deep.equal([FORMER_ROLE]);
  });

  it('keeps the role in status if spec.roleName has been removed from a provisioned object', () => {
    const status = { role: { name: RoleName.of('pods_fargate') }, initialization: { provisioned: true } };
    const keptArn = 'arn:aws:iam::111122223333:role/pods_fargate';
    const adapted = withCurrentRoleName(desiredOf(anObject({ status })), using(keptArn));
    expect(wanted(adapted).role).to.include({ name: 'pods_fargate', arn: keptArn });
    expect(adapted.names.roles).to.deep.equal(['pods_fargate']);
  });

  const unchanged: readonly (readonly [string, Desired, ReturnType<typeof using>])[] = [
    [
      'the role in status is removed from the spec before the profile is provisioned',
      desiredOf(anObject({ status: { role: { name: RoleName.of('pods_fargate') } } })),
      using('arn:aws:iam::111122223333:role/pods_fargate'),
    ],
    ['the profile uses the role with the wanted name', desiredOf(), using(`arn:aws:iam::111122223333:role/${ROLE}`)],
    ['the profile uses any other role', desiredOf(), using('arn:aws:iam::111122223333:role/theirs')],
    [
      'the role is named in the spec',
      desiredOf(anObject({ spec: { roleName: RoleName.of('shared') } })),
      using(formerArn),
    ],
    ['nothing is wanted', desiredOfDeletion(), using(formerArn)],
  ];
  for (const [situation, desired, profiles] of unchanged) {
    it(`changes nothing if ${situation}`, () => expect(withCurrentRoleName(desired, profiles)).to.equal(desired));
  }

  it('changes nothing without a profile', () => {
    const desired = desiredOf();
    expect(withCurrentRoleName(desired, [{ name: PROFILE, found: undefined }])).to.equal(desired);
  });
});
