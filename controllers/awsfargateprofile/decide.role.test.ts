import { expect } from 'chai';
import { ProfileName, RoleName } from '../../api/names.ts';
import type { AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import { keepRole } from './apply.ts';
import { decide } from './decide.ts';
import type { FargateProfile } from '../../pkg/cloud/types.ts';
import type { Desired, FoundRole, Observed } from './model.ts';
import { messageOf } from './reasons.ts';
import {
  EKS_CLUSTER_TAG,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  aProfile,
  aRole,
  anObject,
  asWanted,
  desiredOf,
  observed,
} from './testing/builders.ts';
import { TRUSTS } from './testing/oracle.ts';
import { CAPA, FOREIGN, PROVISIONED, SHARED, SHARED_ARN, SHARED_ROLE, living } from './testing/situations.ts';
import { wordOf } from './testing/words.ts';

const LOGS = 'arn:aws:iam::aws:policy/CloudWatchLogs';
const THEIRS = 'arn:aws:iam::111122223333:policy/theirs';
const BOUND = 'arn:aws:iam::111122223333:policy/bound';

const disputed = desiredOf(anObject({ spec: { roleName: SHARED } }), {
  sharers: [
    anObject({
      metadata: { name: 'older', uid: 'uid-of-older', creationTimestamp: '2026-11-19T00:00:00Z' },
      spec: { roleName: SHARED, rolePath: '/theirs/' },
    }),
  ],
});

const FORMER_PROFILE = ProfileName.of('former');
const FORMER_ROLE = RoleName.of('former-role');
const FORMERLY: AWSFargateProfileStatus = {
  profileName: FORMER_PROFILE,
  role: { name: FORMER_ROLE, managed: true },
};

/** What is left of an earlier spec: its role, ours where nothing else is said; and a profile with it, if that is described. */
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
  };
}

type Row = readonly [situation: string, desired: Desired, seen: Observed, decision: string];

const TABLES: Readonly<Record<string, readonly Row[]>> = {
  'the role': [
    [
      'has lost our tags, made by Cluster API Provider AWS',
      living(),
      observed({ role: aRole({ tags: CAPA }) }),
      `tag role with ${EKS_CLUSTER_TAG}`,
    ],
    [
      'was somebody else’s, which stood in the way and has gone',
      living({}, { role: { name: ROLE, id: 'AROATHEIRS', managed: false } }),
      observed(),
      `create role /${ROLE}`,
    ],
    ['trusts too much', living(), observed({ role: aRole({ trust: TRUSTS.wide }) }), 'setTrust'],
    [
      'trusts the same in other words',
      living(),
      observed({ profile: aProfile(), role: aRole({ trust: TRUSTS.oursReordered }) }),
      'settled',
    ],
    [
      'lacks its boundary',
      living({ rolePermissionsBoundary: BOUND }),
      observed({ role: aRole() }),
      'setBoundary bound',
    ],
    [
      'has a boundary that is not wanted, and was never provisioned',
      living(),
      observed({ role: aRole({ permissionsBoundary: BOUND }) }),
      'removeBoundary',
    ],
    [
      'has a boundary that is not wanted, put there later',
      living({}, PROVISIONED),
      observed({ profile: aProfile(), role: aRole({ permissionsBoundary: BOUND }) }),
      'settled',
    ],
    [
      'lacks an additional policy',
      living({ roleAdditionalPolicies: [LOGS] }),
      observed({ role: aRole() }),
      'attachPolicy CloudWatchLogs',
    ],
    [
      'has a policy that we attached and nobody wants any more',
      living({}, { role: { name: ROLE, attachedPolicies: [LOGS] } }),
      observed({ role: aRole({ attached: [POD_EXECUTION_POLICY, LOGS] }) }),
      'detachPolicy CloudWatchLogs',
    ],
    [
      'has a policy that we attached to another role',
      living({}, { role: { name: SHARED, managed: false, attachedPolicies: [LOGS] } }),
      observed({ profile: aProfile(), role: aRole({ attached: [POD_EXECUTION_POLICY, LOGS] }) }),
      'settled',
    ],
    [
      'has a policy of somebody else',
      living(),
      observed({ profile: aProfile(), role: aRole({ attached: [POD_EXECUTION_POLICY, THEIRS] }) }),
      'settled',
    ],
    [
      'has a tag that we set and nobody wants any more',
      living({}, { tagKeys: ['Team'] }),
      observed({ role: aRole({ tags: { ...ROLE_TAGS, team: 'x' } }) }),
      'untag role of team',
    ],
    [
      'has a tag of somebody else',
      living(),
      observed({ profile: aProfile(), role: aRole({ tags: { ...ROLE_TAGS, team: 'x' } }) }),
      'settled',
    ],
    [
      'was deleted by somebody under the profile',
      living({}, PROVISIONED),
      observed({ profile: aProfile() }),
      `create role /${ROLE}`,
    ],
    [
      'is another cluster’s',
      living(),
      observed({ role: aRole({ tags: { [EKS_CLUSTER_TAG]: 'arn:aws:eks:eu-north-1:111122223333:cluster/x' } }) }),
      'stop: RoleNotOwned',
    ],
    [
      'has another path, and nothing uses it',
      living({ rolePath: '/team-a/' }),
      observed({ role: aRole({ attached: [] }) }),
      `delete role ${ROLE}`,
    ],
    [
      'has another path, and a profile that differs uses it',
      living({ rolePath: '/team-a/' }),
      asWanted(),
      'stop: SpecDiffers',
    ],
    [
      'has another path, and somebody else’s profile uses it where it is',
      living({ rolePath: '/team-a/' }, { profileName: FORMER_PROFILE }),
      withFormer({ role: aRole(), tags: FOREIGN, podExecutionRoleArn: ROLE_ARN }),
      'stop: RoleSettingsConflict',
    ],
  ],
  'a role that an older object wants otherwise': [
    ['is not there: that one makes it', disputed, observed(), 'stop: RoleSettingsConflict'],
    [
      'is ours, and stays as that one wants it',
      disputed,
      observed({ role: aRole({ name: SHARED, attached: [] }) }),
      'stop: RoleSettingsConflict',
    ],
    [
      'is somebody else’s: it serves both as it is',
      disputed,
      observed({ role: SHARED_ROLE }),
      `create profile ${PROFILE} with /shared`,
    ],
  ],
  'a role of ours that is recorded under another name': [
    [
      'has nothing that uses it',
      living({}, FORMERLY),
      withFormer({}),
      'detachPolicy AmazonEKSFargatePodExecutionRolePolicy, retiring',
    ],
    [
      'is bare',
      living({}, FORMERLY),
      withFormer({ role: aRole({ name: FORMER_ROLE, attached: [] }) }),
      `delete role ${FORMER_ROLE}`,
    ],
    [
      'is not ours any more',
      living({}, FORMERLY),
      withFormer({ role: aRole({ name: FORMER_ROLE, tags: {} }) }),
      `create role /${ROLE}`,
    ],
    [
      'is kept for somebody',
      living({}, FORMERLY),
      keepRole(withFormer({}), FORMER_ROLE, 'AWSFargateProfile team-a/api'),
      `create role /${ROLE}`,
    ],
    [
      'is what somebody else’s profile uses: it stays',
      living({}, FORMERLY),
      withFormer({ tags: FOREIGN }),
      `create role /${ROLE}`,
    ],
    [
      'is what an earlier profile of ours uses: that goes first',
      living({}, FORMERLY),
      withFormer({ tags: PROFILE_TAGS }),
      `delete profile ${FORMER_PROFILE}, unwanted`,
    ],
    [
      'is what an earlier profile of ours is being deleted with',
      living({}, FORMERLY),
      withFormer({ tags: PROFILE_TAGS, status: 'DELETING' }),
      'stop: DeletingProfile',
    ],
  ],
  'a role that the spec names': [
    [
      'is there and somebody else’s',
      living({ roleName: SHARED }),
      observed({ role: SHARED_ROLE }),
      `create profile ${PROFILE} with /shared`,
    ],
    [
      'is there and does not trust Fargate',
      living({ roleName: SHARED }),
      observed({ role: { ...SHARED_ROLE, trust: TRUSTS.forNodes } }),
      'stop: RoleTrustInvalid',
    ],
    [
      'is there under another path',
      living({ roleName: SHARED }),
      observed({ role: aRole({ name: SHARED, tags: {}, path: '/x/' }) }),
      `create profile ${PROFILE} with /shared`,
    ],
    ['is missing', living({ roleName: SHARED }), observed({ role: undefined }), 'create role /shared'],
    [
      'was somebody else’s and has vanished',
      living({ roleName: SHARED }, { role: { name: SHARED, managed: false } }),
      observed(),
      'stop: RoleNotFound',
    ],
    [
      'is the one that Cluster API Provider AWS shares, and missing',
      living({ roleName: RoleName.of('eks-fargate.cluster-api-provider-aws.sigs.k8s.io') }),
      observed(),
      'stop: RoleNotFound',
    ],
    [
      'by its ARN is there',
      living({ roleARN: SHARED_ARN }),
      observed({ role: SHARED_ROLE }),
      `create profile ${PROFILE} with /shared`,
    ],
    [
      'by its ARN is there with drift: it is not touched',
      living({ roleARN: SHARED_ARN }),
      observed({
        profile: aProfile({ podExecutionRoleArn: SHARED_ARN }),
        role: { ...SHARED_ROLE, tags: ROLE_TAGS, attached: [] },
      }),
      'settled',
    ],
    ['by its ARN is missing', living({ roleARN: SHARED_ARN }), observed(), 'stop: RoleNotFound'],
    [
      'by its ARN is under another path',
      living({ roleARN: SHARED_ARN }),
      observed({ role: aRole({ name: SHARED, path: '/x/', tags: {} }) }),
      'stop: RoleNotFound',
    ],
  ],
};

describe('decide, about the role', () => {
  for (const [topic, rows] of Object.entries(TABLES)) {
    describe(topic, () => {
      for (const [situation, desired, seen, decision] of rows) {
        it(`${situation}: ${decision}`, () => expect(wordOf(decide(desired, seen))).to.equal(decision));
      }
    });
  }

  describe('a role that was made anew', () => {
    const records: AWSFargateProfileStatus = { ...PROVISIONED, role: { name: ROLE, id: 'AROAFORMER', managed: true } };
    const rows: readonly (readonly [string, Desired, Observed, string])[] = [
      [
        'its access entry is bound to the former',
        living({}, records),
        { ...asWanted(), authenticationMode: 'API' },
        'stop: RoleRecreated',
      ],
      [
        'the cluster goes by the ConfigMap alone',
        living({}, records),
        { ...asWanted(), authenticationMode: 'CONFIG_MAP' },
        'settled',
      ],
      ['how the cluster knows its roles is not known yet', living({}, records), asWanted(), 'stop: Propagating'],
      [
        'the record is of another role',
        living({}, { ...records, role: { name: SHARED, id: 'AROAFORMER' } }),
        { ...asWanted(), authenticationMode: 'API' },
        'settled',
      ],
    ];
    for (const [situation, desired, seen, decision] of rows) {
      it(`${situation}: ${decision}`, () => expect(wordOf(decide(desired, seen))).to.equal(decision));
    }

    it('is well once a human has said so', () => {
      const renewed = { ...living({}, records) };
      const desired = { ...renewed, records: { ...renewed.records, renewedFor: 'AROAEXAMPLE' } };
      expect(decide(desired, { ...asWanted(), authenticationMode: 'API' }).kind).to.equal('settled');
    });
  });

  it('says whose role it is', () => {
    const kept = keepRole(observed({ role: aRole() }), ROLE, 'AWSFargateProfile team-a/other');
    const decision = decide(living({ rolePath: '/team-a/' }), kept);
    expect(decision.kind === 'stop' && messageOf(decision.why)).to.match(
      /^IAM role "prod-team-a_web_fargate" is used by AWSFargateProfile team-a\/other too, and this object wants it otherwise: rolePath\. /,
    );
  });
});
