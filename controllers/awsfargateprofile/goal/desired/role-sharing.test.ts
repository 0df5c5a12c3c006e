import { expect } from 'chai';
import { AccountId, EksClusterName, ProfileName, RoleArn, RoleName } from '../../../../api/names.ts';
import type { AWSFargateProfile, AWSFargateProfileSpec } from '../../../../api/v1beta2/index.ts';
import { PROVISIONED_IN_ANNOTATION } from '../../../../api/v1beta2/index.ts';
import type { RoleSettings } from './role-sharing.ts';
import { findRoleSharers, isInEksCluster, roleSettingsConflict } from './role-sharing.ts';
import { MemoryLogger } from '../../../../pkg/env/testing/memory-logger.ts';
import type { KubeObject } from '../../../../pkg/kube/types.ts';
import { newCaches } from '../../../shared/caches.ts';
import { newApi } from '../../testing/api.ts';
import { aDeletedObject, anObject } from '../../testing/builders.ts';

const shared = RoleName.of('shared');
const [logs, extra] = ['arn:aws:iam::aws:policy/CloudWatchLogs', 'arn:aws:iam::111122223333:policy/extra'];

const roleSharer = (name: string, createdAt: string, spec: Partial<AWSFargateProfileSpec> = {}): AWSFargateProfile =>
  anObject({
    metadata: { name, uid: `uid-of-${name}`, creationTimestamp: createdAt },
    spec: { roleName: shared, ...spec },
  });

const [OLD, YOUNG, YOUNGEST] = ['2026-11-19T00:00:00Z', '2026-11-20T00:00:00Z', '2026-11-21T00:00:00Z'];

const SETTINGS: RoleSettings = {
  controlPlaneTags: {},
  boundaryOf: ({ spec }) => spec.rolePermissionsBoundary,
};
const conflict = (object: AWSFargateProfile, ...roleSharers: readonly AWSFargateProfile[]) => {
  const found = roleSettingsConflict(object, roleSharers, SETTINGS);
  return found?.name === 'RoleSettingsConflict' ? found.facts : found;
};

describe('findRoleSharers', () => {
  it('finds the other objects of the namespace that name the same role in any case and are not being deleted', () => {
    const named = (name: string, role: string, parts: Parameters<typeof anObject>[0] = {}): KubeObject => {
      const spec = { ...parts.spec, roleName: RoleName.of(role) };
      return { ...anObject({ ...parts, metadata: { ...parts.metadata, name, uid: name }, spec }) };
    };
    const object = anObject({ spec: { roleName: RoleName.of('Shared') } });
    const deleted = { ...aDeletedObject({ metadata: { name: 'd', uid: 'd' }, spec: object.spec }) };
    const { profiles, typed } = newCaches({ ...newApi(), logger: new MemoryLogger() });
    profiles.replaceAll(
      [{ ...object }, named('a', 'shared'), named('b', 'other'), deleted, { ...anObject(), spec: 7 }],
      '100',
    );
    expect(findRoleSharers(object, typed.profiles).map((each) => each.metadata.name)).to.deep.equal(['a']);
  });
});

describe('roleSettingsConflict', () => {
  it('is undefined for an object that shares its role with no other object', () => {
    expect(conflict(roleSharer('web', YOUNG))).to.equal(undefined);
  });

  it('is undefined between objects with equal settings', () => {
    const spec = { rolePath: '/a/', roleAdditionalPolicies: [logs, extra], additionalTags: { team: 'a' } };
    const alike = { ...spec, roleAdditionalPolicies: [extra, logs, extra] };
    expect(conflict(roleSharer('web', YOUNG, spec), roleSharer('api', OLD, alike))).to.equal(undefined);
  });

  it('treats an absent rolePath as "/"', () => {
    expect(conflict(roleSharer('web', YOUNG), roleSharer('api', OLD, { rolePath: '/' }))).to.equal(undefined);
  });

  it('names the differing settings and the other object', () => {
    const mine = {
      rolePath: '/a/',
      roleAdditionalPolicies: [logs],
      additionalTags: { team: 'a', only: 'mine' },
    };
    const theirs = {
      rolePermissionsBoundary: 'arn:aws:iam::111122223333:policy/bound',
      additionalTags: { team: 'b', other: 'theirs' },
    };
    const facts = conflict(roleSharer('web', YOUNG, mine), roleSharer('api', OLD, theirs));
    expect(facts)
      .to.include({ name: 'shared' })
      .and.to.deep.include({
        settings: ['rolePath', 'rolePermissionsBoundary', 'roleAdditionalPolicies', 'additionalTags["team"]'],
      });
    expect(JSON.stringify(facts)).to.include('team-a/api');
  });

  it('compares tag keys without regard to case, as IAM does', () => {
    const [mine, theirs] = [{ additionalTags: { Team: 'a', app: 'x' } }, { additionalTags: { team: 'b', APP: 'x' } }];
    expect(conflict(roleSharer('web', YOUNG, mine), roleSharer('api', OLD, theirs))).to.deep.include({
      settings: ['additionalTags["Team"]'],
    });
  });

  it('is reported to the younger object only', () => {
    const [old, young] = [roleSharer('web', OLD), roleSharer('api', YOUNG, { rolePath: '/a/' })];
    expect(conflict(old, young)).to.equal(undefined);
    expect(conflict(young, old)).to.have.property('name', 'shared');
  });

  it('is reported to the object with the later name if both have the same age', () => {
    const [a, b] = [roleSharer('a', OLD), roleSharer('b', OLD, { rolePath: '/a/' })];
    expect(conflict(a, b)).to.equal(undefined);
    expect(conflict(b, a)).to.have.property('name', 'shared');
  });

  it('names the oldest object', () => {
    const facts = conflict(
      roleSharer('web', YOUNGEST, { rolePath: '/a/' }),
      roleSharer('middle', YOUNG, { rolePath: '/b/' }),
      roleSharer('first', OLD),
    );
    expect(JSON.stringify(facts)).to.include('team-a/first');
  });

  it('is about the profile if both objects have the same profile name', () => {
    const profileName = ProfileName.of('batch');
    const [old, young] = [
      roleSharer('web', OLD, { profileName }),
      roleSharer('api', YOUNG, { profileName, rolePath: '/a/' }),
    ];
    const found = roleSettingsConflict(young, [old], SETTINGS);
    expect(found?.name).to.equal('ProfileNotOwned');
    expect(found?.facts).to.include({ name: 'batch', whose: 'AWSFargateProfile team-a/web' });
    expect(roleSettingsConflict(old, [young], SETTINGS)).to.equal(undefined);
  });

  it('is undefined for a role of spec.roleARN', () => {
    const object = anObject({ spec: { roleARN: RoleArn.of('arn:aws:iam::111122223333:role/shared') } });
    expect(conflict(object, roleSharer('api', OLD, { rolePath: '/a/' }))).to.equal(undefined);
  });
});

describe('isInEksCluster', () => {
  const [account, region, eksCluster] = [AccountId.of('111122223333'), 'eu-west-1', EksClusterName.of('tools')];
  const place = { account, region, eksCluster };
  const here = { account, region, eksClusterName: eksCluster };
  const identity = (name: string) => ({ kind: 'AWSClusterStaticIdentity', name });
  const [mine, theirs] = [identity('mine'), identity('theirs')];
  const inEks = (over: object, status: AWSFargateProfile['status'] = {}): AWSFargateProfile => {
    const { clusterName: _none, ...spec } = anObject().spec;
    const named = { name: EksClusterName.of('tools'), identityRef: mine, ...over };
    return { ...anObject({ status }), spec: { ...spec, eksCluster: named } };
  };
  for (const [what, other, expected] of [
    ['a new object with the same identity', inEks({}), true],
    ['a new object with another identity', inEks({ identityRef: theirs }), false],
    ['a new object with another region', inEks({ region: 'eu-west-2' }), false],
    ['an object on record in the same place, with another identity', inEks({ identityRef: theirs }, here), true],
    ['an object on record in another account', inEks({}, { ...here, account: AccountId.of('444455556666') }), false],
    ['an object on record in another region', inEks({}, { ...here, region: 'eu-west-2' }), false],
    [
      'an object on record in another EKS cluster',
      inEks({}, { ...here, eksClusterName: EksClusterName.of('x') }),
      false,
    ],
    ['an object of a Cluster on record in the same place', anObject({ status: here }), true],
    ['a new object of a Cluster', anObject(), false],
    [
      'an object of a Cluster that has lost its status in a move',
      anObject({ metadata: { annotations: { [PROVISIONED_IN_ANNOTATION]: `${account}/${region}/tools` } } }),
      true,
    ],
  ] as const)
    it(`is ${expected} for ${what}`, () => {
      expect(isInEksCluster(other, inEks({}), place)).to.equal(expected);
    });

  it('is true for a new object of the same Cluster', () => {
    expect(isInEksCluster(roleSharer('api', OLD), roleSharer('web', YOUNG), place)).to.equal(true);
  });
});
