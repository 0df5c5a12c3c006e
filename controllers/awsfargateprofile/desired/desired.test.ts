import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileSpec } from '../../../api/v1beta2/index.ts';
import { podExecutionPolicyArn } from '../../../pkg/fargate/arns.ts';
import { type DesiredInputs, desiredFor, findSpecProblem } from './desired.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import type { Desired, DesiredResources, ManagedRole } from '../model/desired-state.ts';
import type { TargetSource } from '../goal/target.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import { type Reason, messageOf, newReason } from '../reasons/reasons.ts';
import {
  ACCOUNT,
  CAPA_TAG,
  CLUSTER_ARN,
  CREATION_FACTS,
  EKS_CLUSTER,
  HERE,
  FULL_RECORD,
  NOW,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_ID,
  PROFILE_TAGS,
  ROLE,
  ROLE_TAGS,
  TARGET,
  TRUST,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  asDesired,
  desiredInputs,
  desiredOf,
  desiredOfDeletion,
  observed,
  updatedRecordFor,
  type ObjectParts,
} from '../testing/builders.ts';
import { FOREIGN_TAGS } from '../testing/fixtures.ts';

const FORMER_ROLE = `${EKS_CLUSTER}-${PROFILE}_fargate`;
const extra = 'arn:aws:iam::111122223333:policy/extra';

const desiredIn = (spec: Partial<AWSFargateProfileSpec> = {}, over: Partial<DesiredInputs> = {}) =>
  filled(desiredOf(anObject({ spec }), over));

function filled(desired: Desired): DesiredResources {
  if (desired.profile === undefined) throw new Error('no profile and no role is desired');
  return desired;
}

function managedRole(spec: Partial<AWSFargateProfileSpec> = {}, over: Partial<DesiredInputs> = {}): ManagedRole {
  const { role } = desiredIn(spec, over);
  if (role.kind !== 'managed') throw new Error('the role is not managed');
  return role;
}

function refusalOf(parts: ObjectParts, over: Partial<DesiredInputs> = {}, seen = observed()): string {
  const object = anObject(parts);
  const desired = desiredFor(object, desiredInputs(over), updatedRecordFor(object, seen, over), seen, NOW);
  return E.isLeft(desired) ? textOf(desired.left) : 'none';
}

const textOf = (reason: Reason): string => `${reason.name}: ${messageOf(reason)}`;

describe('desiredFor', () => {
  it('wants a profile with the name, selectors and subnets of the spec', () => {
    const selectors = [{ namespace: 'web', labels: { tier: 'front' } }, { namespace: 'batch' }];
    expect(desiredIn({ selectors, subnetIDs: ['subnet-0c'] }).profile).to.deep.equal({
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
    expect(desiredIn().role).to.deep.equal({
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
      roleConflict: undefined,
      keysOfOthers: [],
      unknownUsers: [],
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
    expect(desiredIn({ roleARN }).role).to.deep.equal({ kind: 'existing', name: 'pods', arn: roleARN });
  });

  it('takes the partition of the region, also on deletion', () => {
    const target = { ...TARGET, region: 'cn-north-1' };
    const alive = desiredOf(anObject(), { target });
    const eksClusterArn = `arn:aws-cn:eks:cn-north-1:${ACCOUNT}:cluster/${EKS_CLUSTER}`;
    expect(alive.identity).to.include({ eksClusterArn });
    expect(desiredOfDeletion(aDeletedObject(), { target }).identity).to.include({ eksClusterArn });
    expect(filled(alive).role.arn).to.match(/^arn:aws-cn:iam::/);
    expect(managedRole({}, { target }).policies).to.deep.equal([podExecutionPolicyArn('aws-cn')]);
  });

  it('desires no profile and no role on deletion', () => expect(desiredOfDeletion().profile).to.equal(undefined));

  it('wants the subnets of the spec, else the private ones of the control plane, else those that EKS chooses', () => {
    const subnetsOf = (spec: Partial<AWSFargateProfileSpec>, privateSubnets?: readonly string[]) => {
      const over = { creationFacts: { ...CREATION_FACTS, privateSubnets } };
      const { subnets, subnetSource } = desiredIn(spec, over).profile;
      return `${subnets.join()} of ${subnetSource}`;
    };
    expect(subnetsOf({ subnetIDs: ['subnet-0c'] }, ['subnet-0a'])).to.equal('subnet-0c of spec');
    expect(subnetsOf({ subnetIDs: [] }, ['subnet-0a'])).to.equal('subnet-0a of controlPlane');
    expect(subnetsOf({})).to.equal(' of eks');
  });

  describe('the desired tags', () => {
    const creationFacts = { ...CREATION_FACTS, controlPlaneTags: { team: 'platform', region: 'x' } };

    it('are those of the controller over those of the object over those of the control plane', () => {
      const { profile, role } = desiredIn({ additionalTags: { team: 'web', [CAPA_TAG]: 'shared' } }, { creationFacts });
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

    it('a control plane without private subnets, unless the profile is there and has some', () => {
      const over = { creationFacts: { ...CREATION_FACTS, privateSubnets: [] } };
      expect(refusalOf({}, over)).to.match(/^NoPrivateSubnets: .* team-a\/prod-control-plane has no/);
      expect(refusalOf({}, over, asDesired())).to.equal('none');
    });

    it('none of these on deletion', () => {
      const spec = { selectors: [], profileName: ProfileName.of('eks-web'), additionalTags: many };
      expect(desiredOfDeletion(aDeletedObject({ spec })).profile).to.equal(undefined);
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
      adoptionPolicy: 'Owned',
      adoptable: { profile: PROFILE, roles: [ROLE, FORMER_ROLE] },
    });
  });

  it('lets the controller adopt the names that Cluster API Provider AWS uses only if the target comes from a control plane', () => {
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

  it('has the record of this reconcile, and the profiles that another record has made', () => {
    const object = anObject({ record: { ...FULL_RECORD, last: NOW } });
    const theirs = aProfile({ name: ProfileName.of('9999-team-a_web'), createdAt: NOW, selectors: [] });
    const { record, elsewhere } = desiredOf(object, {}, { ...asDesired(), profiles: [aProfile(), theirs] });
    expect(record).to.deep.include({ ...FULL_RECORD, last: NOW });
    expect(elsewhere).to.deep.equal([theirs]);
  });

  it('takes only initialization.provisioned from status', () => {
    const status = {
      profileName: ProfileName.of('former'),
      subnets: ['subnet-0f'],
      podExecutionRoleARN: RoleArn.of('arn:aws:iam::111122223333:role/former'),
      role: { name: RoleName.of('former'), managed: true },
    };
    const [latched, other] = [{ ...status, initialization: { provisioned: true } }, status];
    expect(desiredOf(anObject({ status: latched }))).to.deep.equal({
      ...desiredOf(),
      isProvisioned: true,
      isSpecFixed: true,
    });
    expect(desiredOf(anObject({ status: other }))).to.deep.equal(desiredOf());
  });

  it('is unproven without a ready control plane, unless nothing was created', () => {
    const isUnproven = (targetSource: TargetSource, parts: ObjectParts) =>
      desiredOfDeletion(aDeletedObject(parts), { targetSource }).isUnproven;
    const withoutRecord = { metadata: { annotations: {} } };
    expect(isUnproven('unreadyControlPlane', withoutRecord)).to.equal(true);
    expect(isUnproven('unreadyControlPlane', { record: FULL_RECORD })).to.equal(true);
    expect(isUnproven('unreadyControlPlane', {}), 'nothing was created').to.equal(false);
    expect(isUnproven('controlPlane', withoutRecord)).to.equal(false);
  });

  it('contains the reason for which nothing may be created', () => {
    const creationBlocker = newReason('ClusterDeleting', { what: 'Cluster team-a/prod' });
    expect(desiredOf(anObject(), { creationFacts: { ...CREATION_FACTS, creationBlocker } }).creationBlocker).to.equal(
      creationBlocker,
    );
  });

  it('has the time for which a replaced profile stays', () => {
    const after = (keepPredecessorFor: string) =>
      desiredOf(anObject({ spec: { updateStrategy: { type: 'Replace', replace: { keepPredecessorFor } } } }));
    expect(after('10m').keepPredecessorFor).to.equal(600_000);
    expect(desiredOf().keepPredecessorFor).to.equal(0);
  });

  it('has the adoptionPolicy Owned unless the spec has another', () => {
    expect(desiredOf().identity.adoptionPolicy).to.equal('Owned');
    expect(desiredOf(anObject({ spec: { adoptionPolicy: 'Never' } })).identity.adoptionPolicy).to.equal('Never');
  });
});

describe('desiredFor, once AWS has answered', () => {
  const arnOf = (role: string) => RoleArn.of(`arn:aws:iam::111122223333:role/${role}`);
  const PODS = RoleName.of('pods');
  const using = (role: string, over: Partial<FargateProfile> = {}): Observed =>
    observed({ profile: aProfile({ podExecutionRoleArn: arnOf(role), ...over }) });
  const withPods = (tags: FoundRole['tags']): Observed =>
    observed({
      profile: aProfile({ podExecutionRoleArn: arnOf(PODS) }),
      role: aRole({ name: PODS, tags }),
    });
  const replace = { updateStrategy: { type: 'Replace' } } as const;
  const gone = (managed?: false) => ({
    record: { ...FULL_RECORD, roles: [{ name: PODS, id: 'AROAPODS', ...(managed === false && { managed }) }] },
  });
  const unread = (seen: Observed): Observed => ({ ...seen, roles: [{ name: PODS, found: 'unread' }] });

  for (const [situation, parts, seen, role] of [
    ['that the profile uses, which CAPA made before v2.7.0', {}, using(FORMER_ROLE), FORMER_ROLE],
    ['that the profile uses, and whose tags prove it to be of this object', {}, withPods(ROLE_TAGS), 'pods'],
    ['that the profile uses, which the record has and IAM does not', gone(), using('pods'), 'pods'],
    [
      'that the profile uses, which the record has and the reconcile has not read',
      gone(),
      unread(using('pods')),
      'pods',
    ],
    [
      'of the spec, although the profile uses another one',
      { spec: { roleName: RoleName.of('x') } },
      withPods(ROLE_TAGS),
      'x',
    ],
    ['with the computed name, although the profile uses a foreign one', {}, withPods({}), ROLE],
    [
      'with the computed name, although the profile uses one that another owner has deleted',
      gone(false),
      using('pods'),
      ROLE,
    ],
    ['with the computed name, although the profile uses any other one', {}, using('theirs'), ROLE],
    [
      'with the computed name, although a failed profile may be replaced',
      { spec: replace },
      using('pods', { status: 'DELETE_FAILED' }),
      ROLE,
    ],
    [
      'with the computed name, although a foreign profile uses one of ours',
      {},
      using(FORMER_ROLE, { tags: FOREIGN_TAGS }),
      ROLE,
    ],
  ] as const)
    it(`wants the role ${situation}: ${role}`, () => {
      const { role: desiredRole } = filled(desiredOf(anObject(parts), {}, seen));
      expect(desiredRole).to.include({ name: role, arn: arnOf(role) });
    });

  it('keeps all names of a profile after spec.profileName was removed', () => {
    const name = ProfileName.of('shared_web');
    const object = anObject({ record: { in: HERE, profiles: [{ name, id: PROFILE_ID, served: true }] } });
    const { identity } = desiredOf(object, {}, observed({ profile: aProfile({ name }) }));
    const roles = ['prod-shared_web_fargate', `${EKS_CLUSTER}-shared_web_fargate`];
    expect(identity).to.deep.include({ profileName: name, capaRoleNames: roles, adoptable: { profile: name, roles } });
  });

  it('has no names of the former profile if that belongs to another object now', () => {
    const name = ProfileName.of('shared_web');
    const object = anObject({ record: { in: HERE, profiles: [{ name, id: PROFILE_ID, served: true }] } });
    const { identity } = desiredOf(object, {}, observed({ profile: aProfile({ name, tags: FOREIGN_TAGS }) }));
    expect(identity).to.include({ profileName: PROFILE });
  });
});

describe('findSpecProblem, before AWS is read,', () => {
  const problemOf = (parts: ObjectParts, over: Partial<DesiredInputs> = {}): string => {
    const problem = findSpecProblem(anObject(parts), desiredInputs(over));
    return problem === undefined ? 'none' : textOf(problem);
  };
  const noSubnets = { creationFacts: { ...CREATION_FACTS, privateSubnets: [] } };
  const limits = { limits: { policyArns: [] } };
  const policy = { spec: { roleAdditionalPolicies: [extra] } };

  for (const [situation, parts, over, problem] of [
    ['a spec that EKS refuses', { spec: { selectors: [] } }, {}, 'InvalidSpec'],
    ['missing subnets', {}, noSubnets, 'NoPrivateSubnets'],
    ['missing subnets of a profile that may be there', { record: FULL_RECORD }, noSubnets, 'none'],
    ["a value beyond the operator's limits", policy, limits, 'NotAllowedByOperator'],
    [
      "a value beyond the operator's limits, of a profile that may be there",
      { ...policy, record: FULL_RECORD },
      limits,
      'none',
    ],
    ['a deletion', { spec: { selectors: [] } }, { creationFacts: undefined }, 'none'],
    ['a spec as AWS accepts it', {}, {}, 'none'],
  ] as const)
    it(`tells ${problem} of ${situation}`, () => expect(problemOf(parts, over).split(':')[0]).to.equal(problem));
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
