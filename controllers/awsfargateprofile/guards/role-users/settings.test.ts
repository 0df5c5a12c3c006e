import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { MemoryLogger } from 'controller-runtime/testing';
import { AccountId, EksClusterName, ProfileName, RoleArn, RoleName } from '../../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileSpec } from '../../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../../pkg/cloud/index.ts';
import { OWNER_TAG } from '../../../../pkg/fargate/tags/tag-keys.ts';
import { newCaches } from '../../../shared/caches.ts';
import { newApi } from '../../testing/api.ts';
import { NO_LIMITS } from '../../../../pkg/fargate/operator-limits.ts';
import { messageOf } from '../../reasons/reasons.ts';
import {
  type ObjectParts,
  CREATION_FACTS,
  EKS_CLUSTER,
  HERE,
  aDeletedObject,
  aProfile,
  anObject,
  desiredInputs,
} from '../../testing/builders.ts';
import { type SharedRole, findRoleSharers, settingsOfSharers, sharedRole } from './settings.ts';

const shared = RoleName.of('shared');
const [logs, extra] = ['arn:aws:iam::aws:policy/CloudWatchLogs', 'arn:aws:iam::111122223333:policy/extra'];

const roleSharer = (name: string, createdAt: string, spec: Partial<AWSFargateProfileSpec> = {}): AWSFargateProfile =>
  anObject({
    metadata: { name, uid: `uid-of-${name}`, creationTimestamp: createdAt },
    spec: { roleName: shared, ...spec },
  });

const [OLD, YOUNG, YOUNGEST] = ['2026-11-19T00:00:00Z', '2026-11-20T00:00:00Z', '2026-11-21T00:00:00Z'];

const SHARED: SharedRole = {
  name: shared,
  place: { partition: 'aws', region: 'eu-west-1', account: AccountId.of('111122223333') },
  eksCluster: EKS_CLUSTER,
  limits: NO_LIMITS,
  controlPlaneTags: {},
};
const conflict = (
  object: AWSFargateProfile,
  roleSharers: readonly AWSFargateProfile[],
  profiles: readonly FargateProfile[] = [],
) => {
  const found = settingsOfSharers(object, roleSharers, SHARED, profiles).roleConflict;
  return found?.name === 'RoleSettingsConflict' ? found.facts : found;
};

/** Returns a Fargate profile that uses the shared role, which IAM has in capital letters and with a path. */
const profileOf = (owner: string, over: Partial<FargateProfile> = {}): FargateProfile =>
  aProfile({
    name: ProfileName.of(`of-${owner.replace('/', '-')}`),
    podExecutionRoleArn: RoleArn.of('arn:aws:iam::111122223333:role/a/SHARED'),
    tags: { [OWNER_TAG]: owner },
    ...over,
  });

describe('findRoleSharers', () => {
  it('finds the other objects of the namespace that name the same role in any case and are not being deleted', () => {
    const named = (name: string, role: string, parts: Parameters<typeof anObject>[0] = {}): KubeObject => {
      const spec = { ...parts.spec, roleName: RoleName.of(role) };
      return { ...anObject({ ...parts, metadata: { ...parts.metadata, name, uid: name }, spec }) };
    };
    const object = anObject({ spec: { roleName: RoleName.of('Shared') } });
    const deleted = { ...aDeletedObject({ metadata: { name: 'd', uid: 'd' }, spec: object.spec }) };
    const { profiles, typed } = newCaches({ ...newApi(), logger: new MemoryLogger() });
    const invalid = { ...anObject({ metadata: { name: 'c', uid: 'c' } }), spec: 7 };
    profiles.replaceAll([{ ...object }, named('a', 'shared'), named('b', 'other'), deleted, invalid], '100');
    expect(
      findRoleSharers(object, RoleName.of('Shared'), typed.profiles).map((each) => each.metadata.name),
    ).to.deep.equal(['a']);
  });
});

describe('settingsOfSharers', () => {
  const other = { rolePath: '/a/' };
  const alike = { ...other, roleAdditionalPolicies: [logs, extra], additionalTags: { team: 'a' } };
  const young = (spec: Partial<AWSFargateProfileSpec> = {}) => roleSharer('web', YOUNG, spec);
  const old = (spec: Partial<AWSFargateProfileSpec> = {}) => roleSharer('api', OLD, spec);
  const [ofWeb, ofApi] = [profileOf('team-a/web'), profileOf('team-a/api')];
  const ofWebInCreation = profileOf('team-a/web', { status: 'CREATING' });
  const ownRole = { podExecutionRoleArn: RoleArn.of('arn:aws:iam::111122223333:role/own') };

  for (const [what, object, sharers, ...profiles] of [
    ['an object that shares its role with no other object', young(), []],
    ['equal settings', young(alike), [old({ ...alike, roleAdditionalPolicies: [extra, logs, extra] })]],
    ['an absent rolePath and "/"', young(), [old({ rolePath: '/' })]],
    ['the older object', old(), [young(other)]],
    ['the older object, if both serve', old(), [young(other)], ofWeb, ofApi],
    ['the object that serves, also if it is younger', young(), [old(other)], ofWeb],
    [
      'the older object, if the younger one serves with another role',
      old(),
      [young(other)],
      profileOf('team-a/web', ownRole),
    ],
    [
      'the older object, if EKS has failed to create the younger one’s profile',
      old(),
      [young(other)],
      profileOf('team-a/web', { status: 'CREATE_FAILED' }),
    ],
    ['the older object, if a namesake in another namespace serves', old(), [young(other)], profileOf('team-b/web')],
    [
      'an object that differs only from one whose own settings do not apply',
      roleSharer('x', YOUNGEST, { additionalTags: { app: 'y' } }),
      [old({ additionalTags: { team: 'a' } }), young({ additionalTags: { team: 'b', app: 'x' } })],
    ],
    [
      'the object with the earlier name, if both have the same age',
      roleSharer('a', OLD),
      [roleSharer('b', OLD, other)],
    ],
  ] as const)
    it(`is undefined for ${what}`, () => expect(conflict(object, sharers, profiles)).to.equal(undefined));

  for (const [what, object, sharers, by, settings, ...profiles] of [
    [
      'each setting that differs',
      young({ ...other, roleAdditionalPolicies: [logs], additionalTags: { team: 'a', only: 'mine' } }),
      [old({ rolePermissionsBoundary: extra, additionalTags: { team: 'b', other: 'theirs' } })],
      'api',
      ['rolePath', 'rolePermissionsBoundary', 'roleAdditionalPolicies', 'additionalTags["team"]'],
    ],
    [
      'a tag whose key differs in case, which IAM ignores',
      young({ additionalTags: { Team: 'a', app: 'x' } }),
      [old({ additionalTags: { team: 'b', APP: 'x' } })],
      'api',
      ['additionalTags["Team"]'],
    ],
    ['the object with the earlier name', roleSharer('b', OLD, other), [roleSharer('a', OLD)], 'a', ['rolePath']],
    ['the object that serves, also if it is younger', old(other), [young()], 'web', ['rolePath'], ofWeb],
    ['the object whose profile is being created', old(other), [young()], 'web', ['rolePath'], ofWebInCreation],
    [
      'the object that serves, before one whose profile is being created',
      young(other),
      [old()],
      'api',
      ['rolePath'],
      ofWebInCreation,
      ofApi,
    ],
    [
      'the object that serves, before an older one whose profile is being created',
      old(other),
      [young()],
      'web',
      ['rolePath'],
      profileOf('team-a/api', { status: 'CREATING' }),
      ofWeb,
    ],
    [
      'the object that serves, also if its record is about another EKS cluster',
      old(other),
      [anObject({ ...young(), record: { in: { ...HERE, eksCluster: EksClusterName.of('former') } } })],
      'web',
      ['rolePath'],
      ofWeb,
    ],
    [
      'the object that serves, before older ones',
      roleSharer('x', YOUNGEST, other),
      [old(), young()],
      'web',
      ['rolePath'],
      ofWeb,
    ],
    [
      'the oldest object',
      roleSharer('web', YOUNGEST, other),
      [roleSharer('middle', YOUNG, { rolePath: '/b/' }), roleSharer('first', OLD)],
      'first',
      ['rolePath'],
    ],
  ] as const)
    it(`names ${what}`, () => {
      const facts = { name: 'shared', other: `AWSFargateProfile team-a/${by}`, settings };
      expect(conflict(object, sharers, profiles)).to.deep.include(facts);
    });

  it('is about the profile if both objects have the same profile name', () => {
    const profileName = ProfileName.of('batch');
    const object = young({ ...other, profileName });
    const found = settingsOfSharers(object, [old({ profileName })], SHARED, []).roleConflict;
    expect(found?.name).to.equal('ProfileNotOwned');
    expect(found?.facts).to.include({ name: 'batch', whose: 'AWSFargateProfile team-a/api' });
  });

  it('tells the user which settings differ', () => {
    const { roleConflict } = settingsOfSharers(young({ rolePath: '/mine/' }), [old()], SHARED, []);
    expect(roleConflict && messageOf(roleConflict)).to.include(
      'IAM role "shared" is also used by AWSFargateProfile team-a/api, and this object has different values for spec.rolePath. ',
    );
  });

  it('counts the tags that an object has from the control plane', () => {
    const theirs = old({ additionalTags: { team: 'theirs' } });
    const controlPlaneTags = { team: 'platform', 'cost-center': '1' };
    const role = sharedRole(shared, desiredInputs({ creationFacts: { ...CREATION_FACTS, controlPlaneTags } }));
    expect(settingsOfSharers(young(), [theirs], SHARED, []).roleConflict).to.equal(undefined);
    const { roleConflict, keysOfOthers } = settingsOfSharers(young(), [theirs], role, []);
    expect(roleConflict?.facts).to.deep.include({ settings: ['additionalTags["team"]'] });
    expect(keysOfOthers).to.deep.equal(['team', 'cost-center']);
  });

  it('ignores a boundary of the spec where the operator requires one of all roles', () => {
    const limits = { ...NO_LIMITS, permissionsBoundary: extra };
    const theirs = old({ rolePermissionsBoundary: logs });
    expect(settingsOfSharers(young(), [theirs], SHARED, []).roleConflict?.name).to.equal('RoleSettingsConflict');
    expect(settingsOfSharers(young(), [theirs], { ...SHARED, limits }, []).roleConflict).to.equal(undefined);
  });

  it('collects the folded keys of the tags that other objects want on the role, younger ones included', () => {
    const sharers = [
      old({ additionalTags: { Team: 'a' } }),
      old(),
      roleSharer('x', YOUNGEST, { additionalTags: { app: 'b' } }),
    ];
    expect(settingsOfSharers(young(), sharers, SHARED, []).keysOfOthers).to.deep.equal(['team', 'app']);
  });
});

describe('the unknown users in settingsOfSharers', () => {
  const [web, api] = [roleSharer('web', OLD), roleSharer('api', YOUNG)];
  const unknownUsersIn = (...profiles: readonly FargateProfile[]) =>
    settingsOfSharers(web, [api], SHARED, profiles).unknownUsers;

  it('are the profiles with the role that belong to no object of the namespace which shares the role', () => {
    const creating = profileOf('team-a/new', { status: 'CREATING' });
    expect(
      unknownUsersIn(profileOf('team-a/web'), profileOf('team-a/api'), profileOf('team-a/old'), creating),
    ).to.deep.equal(['of-team-a-old', 'of-team-a-new']);
  });

  for (const [what, profile] of [
    ['belongs to an object of another namespace, which may name any role', profileOf('team-b/old')],
    ['has no owner tag', profileOf('team-a/old', { tags: {} })],
    ['uses another role', profileOf('team-a/old', { podExecutionRoleArn: aProfile().podExecutionRoleArn })],
    ['EKS is deleting', profileOf('team-a/old', { status: 'DELETING' })],
    ['EKS has failed to create', profileOf('team-a/old', { status: 'CREATE_FAILED' })],
  ] as const)
    it(`do not include a profile that ${what}`, () => expect(unknownUsersIn(profile)).to.deep.equal([]));
});

describe('settingsOfSharers counts only objects of the same EKS cluster', () => {
  const [account, region, eksCluster] = [AccountId.of('111122223333'), 'eu-west-1', EksClusterName.of('tools')];
  const place = { account, region, eksCluster };
  const counts = (other: AWSFargateProfile, object: AWSFargateProfile): boolean => {
    const tagged = { ...other, spec: { ...other.spec, additionalTags: { team: 'a' } } };
    const role = { ...SHARED, place: { ...SHARED.place, account, region }, eksCluster };
    return settingsOfSharers(object, [tagged], role, []).keysOfOthers.length > 0;
  };
  const here = { in: { ...HERE, ...place } };
  const elsewhere = (over: object) => ({ in: { ...HERE, ...place, ...over } });
  const identity = (name: string) => ({ kind: 'AWSClusterStaticIdentity', name });
  const [mine, theirs] = [identity('mine'), identity('theirs')];
  const inEks = (over: object, parts: ObjectParts = {}): AWSFargateProfile => {
    const { clusterName: _none, ...spec } = anObject().spec;
    const named = { name: eksCluster, identityRef: mine, ...over };
    return { ...anObject(parts), spec: { ...spec, eksCluster: named } };
  };
  const lostRecord = { metadata: { annotations: {} }, status: { account, region, eksClusterName: eksCluster } };
  for (const [what, other, expected] of [
    ['a new object with the same identity', inEks({}), true],
    ['a new object with another identity', inEks({ identityRef: theirs }), false],
    ['a new object with another region', inEks({ region: 'eu-west-2' }), false],
    [
      'an object with a record of the same place, with another identity',
      inEks({ identityRef: theirs }, { record: here }),
      true,
    ],
    [
      'an object with a record of another account',
      inEks({}, { record: elsewhere({ account: AccountId.of('444455556666') }) }),
      false,
    ],
    ['an object with a record of another region', inEks({}, { record: elsewhere({ region: 'eu-west-2' }) }), false],
    [
      'an object with a record of another EKS cluster',
      inEks({}, { record: elsewhere({ eksCluster: EksClusterName.of('x') }) }),
      false,
    ],
    ['an object of a Cluster with a record of the same place', anObject({ record: here }), true],
    ['an object of a Cluster that has lost its record', anObject(lostRecord), true],
    ['a new object of a Cluster', anObject(), false],
  ] as const)
    it(`${expected ? 'counts' : 'ignores'} ${what}`, () => {
      expect(counts(other, inEks({}))).to.equal(expected);
    });

  it('counts a new object of the same Cluster', () => {
    expect(counts(roleSharer('api', OLD), roleSharer('web', YOUNG))).to.equal(true);
  });
});
