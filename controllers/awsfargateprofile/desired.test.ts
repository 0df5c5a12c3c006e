import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import type { AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import { ACCESS_ENTRY_RENEWED_ANNOTATION } from '../../api/v1beta2/index.ts';
import { podExecutionPolicyArn } from '../../pkg/fargate/arns.ts';
import type { Circumstances } from './desired.ts';
import { desiredBy, withRoleInUse } from './desired.ts';
import type { Desired, ManagedRole } from './model.ts';
import { messageOf, why } from './reasons.ts';
import {
  ACCOUNT,
  CAPA_TAG,
  CLUSTER_ARN,
  EKS_CLUSTER,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  ROLE_TAGS,
  SURROUNDINGS,
  TARGET,
  TRUST,
  aDeletedObject,
  aProfile,
  anObject,
  circumstances,
  desiredOf,
  desiredOfDeletion,
} from './testing/builders.ts';

const FORMER_ROLE = `${EKS_CLUSTER}-${PROFILE}_fargate`;
const extra = 'arn:aws:iam::111122223333:policy/extra';

const wantedOf = (spec: Partial<AWSFargateProfileSpec> = {}, over: Partial<Circumstances> = {}) =>
  wanted(desiredOf(anObject({ spec }), over));

function wanted({ wanted: all }: Desired): NonNullable<Desired['wanted']> {
  if (all === undefined) throw new Error('nothing is wanted');
  return all;
}

function managedRole(spec: Partial<AWSFargateProfileSpec> = {}, over: Partial<Circumstances> = {}): ManagedRole {
  const { role } = wantedOf(spec, over);
  if (role.kind !== 'managed') throw new Error('the role is not managed');
  return role;
}

function refusalOf(spec: Partial<AWSFargateProfileSpec>, over: Partial<Circumstances> = {}): string {
  const desired = desiredBy(anObject({ spec }), circumstances(over));
  return E.isLeft(desired) ? `${desired.left.reason}: ${messageOf(desired.left)}` : 'none';
}

describe('desiredBy', () => {
  it('wants the profile of the spec', () => {
    const selectors = [{ namespace: 'web', labels: { tier: 'front' } }, { namespace: 'batch' }];
    expect(wantedOf({ selectors, subnetIDs: ['subnet-0c'] }).profile).to.deep.equal({
      name: 'team-a_web',
      selectors: [
        { namespace: 'web', labels: { tier: 'front' } },
        { namespace: 'batch', labels: {} },
      ],
      subnets: ['subnet-0c'],
      tags: PROFILE_TAGS,
    });
  });

  it('wants a role of its own', () => {
    expect(wantedOf().role).to.deep.equal({
      kind: 'managed',
      name: 'prod-team-a_web_fargate',
      path: '/',
      arn: 'arn:aws:iam::111122223333:role/prod-team-a_web_fargate',
      trust: TRUST,
      policies: [POD_EXECUTION_POLICY],
      tags: ROLE_TAGS,
      named: false,
    });
  });

  it('wants the role with what the spec says of it', () => {
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
      named: true,
    });
    expect(role.policies, 'each once').to.deep.equal([POD_EXECUTION_POLICY, extra]);
  });

  it('wants somebody else’s role as it is', () => {
    const roleARN = RoleArn.of('arn:aws:iam::111122223333:role/theirs/pods');
    expect(wantedOf({ roleARN }).role).to.deep.equal({ kind: 'existing', name: 'pods', arn: roleARN });
  });

  for (const [region, partition] of [
    ['eu-west-1', 'aws'],
    ['cn-north-1', 'aws-cn'],
    ['us-gov-west-1', 'aws-us-gov'],
  ] as const)
    it(`is, alive and on deletion, in the partition of its region: ${region} in ${partition}`, () => {
      const target = { ...TARGET, region };
      const [alive, leaving] = [desiredOf(anObject(), { target }), desiredOfDeletion(aDeletedObject(), { target })];
      expect(leaving.owner.eksClusterArn).to.equal(`arn:${partition}:eks:${region}:${ACCOUNT}:cluster/${EKS_CLUSTER}`);
      expect(alive.owner.eksClusterArn, 'what tells whose a role is').to.equal(leaving.owner.eksClusterArn);
      expect(wanted(alive).role.arn).to.match(new RegExp(`^arn:${partition}:iam::`));
      expect(managedRole({}, { target }).policies).to.deep.equal([podExecutionPolicyArn(partition)]);
    });

  it('wants nothing on deletion', () => expect(desiredOfDeletion().wanted).to.equal(undefined));

  describe('subnets', () => {
    const provisioned: AWSFargateProfileStatus = { initialization: { provisioned: true }, subnets: ['subnet-0f'] };
    const subnetsOf = (spec: Partial<AWSFargateProfileSpec>, status: AWSFargateProfileStatus = {}) =>
      wanted(desiredOf(anObject({ spec, status }))).profile.subnets;

    it('are those of the spec first', () => {
      expect(subnetsOf({ subnetIDs: ['subnet-0c'] }, provisioned)).to.deep.equal(['subnet-0c']);
    });

    it('are, once provisioned, what the profile was given: a subnet that the control plane gains changes nothing', () => {
      expect(subnetsOf({}, provisioned)).to.deep.equal(['subnet-0f']);
    });

    it('are those of the control plane until then', () => {
      expect(subnetsOf({}, { subnets: ['subnet-0f'] })).to.deep.equal(['subnet-0a', 'subnet-0b']);
    });

    it('of an empty list are those of the control plane', () => {
      expect(subnetsOf({ subnetIDs: [] })).to.deep.equal(['subnet-0a', 'subnet-0b']);
    });
  });

  describe('tags', () => {
    const surroundings = { ...SURROUNDINGS, controlPlaneTags: { team: 'platform', region: 'x' } };

    it('are ours before the object’s before the control plane’s', () => {
      const { profile, role } = wantedOf({ additionalTags: { team: 'web', [CAPA_TAG]: 'shared' } }, { surroundings });
      const others = { team: 'web', region: 'x' };
      expect(profile.tags).to.deep.equal({ ...others, ...PROFILE_TAGS });
      expect(role).to.deep.include({ tags: { ...others, ...ROLE_TAGS } });
    });

    it('that differ in case alone are one to IAM and two to EKS', () => {
      const { profile, role } = wantedOf({ additionalTags: { Team: 'web' } }, { surroundings });
      expect(profile.tags).to.include({ Team: 'web', team: 'platform' });
      expect(role).to.deep.include({ tags: { Team: 'web', region: 'x', ...ROLE_TAGS } });
    });
  });

  describe('refuses', () => {
    const many = Object.fromEntries(Array.from({ length: 49 }, (_, index) => [`key-${index}`, 'x']));
    const refusals: readonly (readonly [what: string, spec: Partial<AWSFargateProfileSpec>, message: string])[] = [
      [
        'a name that EKS keeps for itself',
        { profileName: ProfileName.of('eks-web') },
        `InvalidSpec: spec.profileName: "eks-web": The fargate profile name starts with the reserved prefix: 'eks-'.`,
      ],
      [
        'a name of characters that EKS does not take',
        { profileName: ProfileName.of('my web') },
        'InvalidSpec: spec.profileName: "my web": The Fargate profile name parameter contains invalid characters. It should begin with letter or digit and can have any of the following characters: the set of Unicode letters, digits, hyphens and underscores.',
      ],
      [
        'a name that is too long for EKS',
        { profileName: ProfileName.of('x'.repeat(101)) },
        `InvalidSpec: spec.profileName: "${'x'.repeat(101)}": The Fargate profile name parameter should not be greater than 100 characters.`,
      ],
      [
        'no selector',
        { selectors: [] },
        'InvalidSpec: spec.selectors: Fargate Profile requires at least one selector.',
      ],
      [
        'the ARN of something that is no role',
        { roleARN: RoleArn.of('arn:aws:iam::111122223333:user/someone') },
        'InvalidSpec: spec.roleARN: "arn:aws:iam::111122223333:user/someone" is not the ARN of an IAM role',
      ],
      [
        'a role of another account',
        { roleARN: RoleArn.of('arn:aws:iam::444455556666:role/pods') },
        "InvalidSpec: spec.roleARN: the role is in account 444455556666, but EKS takes only roles of the cluster's own account, 111122223333",
      ],
      [
        'more tags than AWS takes',
        { additionalTags: many },
        "TagsInvalid: AWS would refuse the tags: 51 tags, of which 2 are this controller's own, are more than the 50 AWS allows. Correct additionalTags of this object or of its control plane.",
      ],
      [
        'a tag that is AWS’s own',
        { additionalTags: { 'aws:team': 'x' } },
        'TagsInvalid: AWS would refuse the tags: tag "aws:team" of the AWSFargateProfile: keys that begin with "aws:" are reserved for AWS. Correct additionalTags of this object or of its control plane.',
      ],
    ];
    for (const [what, spec, message] of refusals) {
      it(what, () => expect(refusalOf(spec)).to.equal(message));
    }

    it('a computed name that EKS keeps for itself', () => {
      const object = anObject({ metadata: { namespace: 'eks-system' } });
      const desired = desiredBy(object, circumstances());
      expect(E.isLeft(desired) && messageOf(desired.left)).to.include('set spec.profileName');
    });

    it('to begin without a private subnet', () => {
      const surroundings = { ...SURROUNDINGS, privateSubnets: [] };
      expect(refusalOf({}, { surroundings })).to.match(
        /^NoPrivateSubnets: No subnet is named and AWSManagedControlPlane team-a\/prod-control-plane lists no private one/,
      );
    });

    it('nothing of that on deletion: what cannot be had can still be taken away', () => {
      const spec = { selectors: [], profileName: ProfileName.of('eks-web'), additionalTags: many };
      expect(E.isRight(desiredBy(aDeletedObject({ spec }), circumstances({ surroundings: undefined })))).to.equal(true);
    });
  });

  describe('a role that an older object names too', () => {
    const older = (spec: Partial<AWSFargateProfileSpec>) =>
      anObject({
        metadata: { name: 'older', uid: 'uid-of-older', creationTimestamp: '2026-11-19T00:00:00Z' },
        spec: { roleName: RoleName.of('shared'), ...spec },
      });
    const conflictWith = (theirs: Partial<AWSFargateProfileSpec>, over: Partial<Circumstances> = {}): string => {
      const object = anObject({ spec: { roleName: RoleName.of('shared') } });
      const { conflict } = desiredOf(object, { sharers: [older(theirs)], ...over });
      return conflict === undefined ? 'none' : messageOf(conflict);
    };
    const words =
      'IAM role "shared" is used by AWSFargateProfile team-a/older too, and this object wants it otherwise: ';

    it('is disputed where that wants it otherwise', () => {
      expect(conflictWith({ rolePath: '/theirs/' })).to.include(`${words}rolePath. `);
    });

    it('is disputed where that has a tag of its own that this one has from the control plane', () => {
      const surroundings = { ...SURROUNDINGS, controlPlaneTags: { team: 'platform' } };
      const theirs = { additionalTags: { team: 'theirs' } };
      expect(conflictWith(theirs)).to.equal('none');
      expect(conflictWith(theirs, { surroundings })).to.include(`${words}additionalTags["team"]. `);
    });
  });

  describe('names whose state counts', () => {
    const namesOf = (spec: Partial<AWSFargateProfileSpec>, status: AWSFargateProfileStatus = {}) =>
      desiredOf(anObject({ spec, status })).names;
    const namesOnDeletion = (spec: Partial<AWSFargateProfileSpec>, status: AWSFargateProfileStatus = {}) =>
      desiredOfDeletion(aDeletedObject({ spec, status })).names;

    it('are those of the spec', () => {
      expect(namesOf({})).to.deep.equal({ profiles: [PROFILE], roles: [ROLE] });
    });

    it('are also those of status, each once', () => {
      const status = { profileName: ProfileName.of('former'), role: { name: RoleName.of('former-role') } };
      expect(namesOf({}, status)).to.deep.equal({ profiles: [PROFILE, 'former'], roles: [ROLE, 'former-role'] });
      expect(namesOf({}, { profileName: PROFILE, role: { name: ROLE } })).to.deep.equal({
        profiles: [PROFILE],
        roles: [ROLE],
      });
    });

    it('are not those of a role that was only used', () => {
      expect(namesOf({}, { role: { name: RoleName.of('theirs'), managed: false } }).roles).to.deep.equal([ROLE]);
    });

    it('on deletion are those of spec and status', () => {
      const status = { profileName: ProfileName.of('former'), role: { name: RoleName.of('former-role') } };
      expect(namesOnDeletion({ profileName: ProfileName.of('web') }, status)).to.deep.equal({
        profiles: ['web', 'former'],
        roles: ['prod-web_fargate', 'former-role'],
      });
    });

    it('on deletion without a record are all that Cluster API Provider AWS can have given', () => {
      expect(namesOnDeletion({}).roles).to.deep.equal([ROLE, FORMER_ROLE]);
    });

    it('on deletion are none for a role of spec.roleARN: it is not touched', () => {
      const roleARN = RoleArn.of('arn:aws:iam::111122223333:role/pods');
      expect(namesOnDeletion({ roleARN }).roles).to.deep.equal([]);
    });
  });

  it('knows whose the object’s things are', () => {
    expect(desiredOf().owner).to.deep.equal({
      namespace: 'team-a',
      name: 'web',
      clusterName: 'prod',
      eksCluster: EKS_CLUSTER,
      eksClusterArn: CLUSTER_ARN,
      profileName: PROFILE,
      namesOfCapa: [ROLE, FORMER_ROLE],
    });
  });

  it('reads the records of status', () => {
    const object = anObject({
      metadata: { annotations: { [ACCESS_ENTRY_RENEWED_ANNOTATION]: 'AROANEW' } },
      status: {
        account: ACCOUNT,
        region: 'eu-west-1',
        eksClusterName: EKS_CLUSTER,
        profileName: PROFILE,
        createRequestedAt: '2026-11-21T03:24:00Z',
        tagKeys: ['team'],
        role: { name: ROLE, managed: true, id: 'AROAEXAMPLE', attachedPolicies: [extra] },
        initialization: { provisioned: true },
      },
    });
    expect(desiredOf(object, { createUnseen: true }).records).to.deep.equal({
      profileName: PROFILE,
      roleName: ROLE,
      roleManaged: true,
      roleId: 'AROAEXAMPLE',
      renewedFor: 'AROANEW',
      attachedPolicies: [extra],
      tagKeys: ['team'],
      provisioned: true,
      whereabouts: 'somewhere',
      createRequested: true,
      createUnseen: true,
    });
  });

  it('has no records without status', () => {
    expect(desiredOf().records).to.deep.equal({
      profileName: undefined,
      roleName: undefined,
      roleManaged: undefined,
      roleId: undefined,
      renewedFor: undefined,
      attachedPolicies: [],
      tagKeys: [],
      provisioned: false,
      whereabouts: 'nowhere',
      createRequested: false,
      createUnseen: false,
    });
  });

  it('passes on why nothing may be created', () => {
    const noCreation = why('ClusterDeleting', { what: 'Cluster team-a/prod' });
    expect(desiredOf(anObject(), { surroundings: { ...SURROUNDINGS, noCreation } }).noCreation).to.equal(noCreation);
  });

  it('adopts what is owned unless the spec says otherwise', () => {
    expect(desiredOf().adopt).to.equal('Owned');
    expect(desiredOf(anObject({ spec: { adoptionPolicy: 'Never' } })).adopt).to.equal('Never');
  });
});

describe('withRoleInUse', () => {
  const using = (arn: string) => [{ name: PROFILE, found: aProfile({ podExecutionRoleArn: RoleArn.of(arn) }) }];
  const formerArn = `arn:aws:iam::111122223333:role/${FORMER_ROLE}`;

  it('keeps the name that Cluster API Provider AWS gave before v2.7.0, if the profile uses it', () => {
    const adapted = withRoleInUse(desiredOf(), using(formerArn));
    expect(wanted(adapted).role).to.include({ name: FORMER_ROLE, arn: formerArn });
    expect(adapted.names.roles).to.deep.equal([FORMER_ROLE]);
  });

  const unchanged: readonly (readonly [string, Desired, ReturnType<typeof using>])[] = [
    ['the profile uses the role as it is named now', desiredOf(), using(`arn:aws:iam::111122223333:role/${ROLE}`)],
    ['the profile uses any other role', desiredOf(), using('arn:aws:iam::111122223333:role/theirs')],
    [
      'the role is named in the spec',
      desiredOf(anObject({ spec: { roleName: RoleName.of('shared') } })),
      using(formerArn),
    ],
    ['nothing is wanted', desiredOfDeletion(), using(formerArn)],
  ];
  for (const [situation, desired, profiles] of unchanged) {
    it(`changes nothing where ${situation}`, () => expect(withRoleInUse(desired, profiles)).to.equal(desired));
  }

  it('changes nothing without a profile', () => {
    const desired = desiredOf();
    expect(withRoleInUse(desired, [{ name: PROFILE, found: undefined }])).to.equal(desired);
  });
});
