import { expect } from 'chai';
import { ProfileName, RoleName } from '../../../api/names.ts';
import type { AdoptionPolicy, AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Location } from '../model/location.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import { newReason } from '../reasons/reasons.ts';
import {
  CONTROL_PLANE_FACTS,
  NAMESPACE_TAG,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  TARGET,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  asWanted,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import {
  CAPA_TAGS,
  CREATE_REQUESTED,
  FOREIGN_TAGS,
  PROVISIONED,
  SHARED_ROLE,
  SHARED_ROLE_ARN,
  SHARED_ROLE_NAME,
  desiredFrom,
  desiredOnDeletion,
  TRUST_POLICIES,
  recordTag,
} from '../testing/fixtures.ts';
import { describePlan } from '../testing/mutations.ts';
import { withoutRoles } from '../testing/pass-state.ts';
import { testPlans, withPlan } from '../testing/plan-tables.ts';
import { plan } from './plan.ts';

const THEIRS = 'arn:aws:iam::111122223333:policy/theirs';
const CREATE_PROFILE = 'create profile; stop: Creating';
const DELETE_PROFILE = 'delete unwanted profile; stop: DeletingProfile';
const DELETE_FORMER = 'delete unwanted profile former; stop: DeletingProfile';
const DELETE_ROLE = 'strip pod policy; delete role; in order';
const REPLACE = 'delete different profile; stop: DeletingProfile';
const RETRY = 'delete failed profile; stop: DeletingProfile';

const SELECTORS_DIFFER = 'selectors are "namespace other" in AWS, but "namespace web" in the spec';

const withProfile = (over: Partial<FargateProfile>, role: Partial<FoundRole> = {}): Observed =>
  observed({ profile: aProfile(over), role: aRole(role) });
const withStatus = (status: string, tags: Readonly<Record<string, string>> = PROFILE_TAGS): Observed =>
  withProfile({ status, tags });
const withRoleAlone = (over: Partial<FoundRole> = {}): Observed => observed({ role: aRole(over) });
const GONE = observed({ cluster: 'gone' });
const ROLE_OF_GONE = observed({ cluster: 'gone', role: aRole() });
const OTHER = { selectors: [{ namespace: 'other', labels: {} }] };
const WIDE = { trust: TRUST_POLICIES.wide };
const FOREIGN = withStatus('ACTIVE', FOREIGN_TAGS);
const USING_SHARED = observed({ profile: aProfile({ podExecutionRoleArn: SHARED_ROLE_ARN }), role: SHARED_ROLE });

const plain = desiredFrom();
const created = desiredFrom({}, CREATE_REQUESTED);
const oneSubnet = { subnetIDs: ['subnet-0a'] };
const withTagKey = desiredFrom({}, { tagKeys: ['team'] });
const TAGGED_BY_US = withProfile({ tags: { ...PROFILE_TAGS, ...recordTag('tag team'), team: 'x' } });
const TAGGED_ROLE = { tags: { ...ROLE_TAGS, ...recordTag('tag team'), team: 'x' } };
const always = desiredFrom({ adoptionPolicy: 'Always' });
const never = desiredFrom({ adoptionPolicy: 'Never' });
const emptied: Desired = { ...plain, emptySelectorFields: ['spec.selectors[0].labels.app'] };
const blocked = (spec: Partial<AWSFargateProfileSpec> = {}): Desired => ({
  ...desiredFrom(spec),
  creationBlocker: newReason('ClusterDeleting', { what: 'Cluster team-a/prod' }),
});

const FORMER = ProfileName.of('former');
const FORMER_ROLE = aRole({ name: RoleName.of('former-role') });
/** A spec with another profile name than status records. */
const renamed = (status: AWSFargateProfileStatus): Desired =>
  desiredFrom({ profileName: PROFILE }, { ...status, profileName: FORMER });
const withFormer = (former?: Partial<FargateProfile>, wanted?: Partial<FargateProfile>): Observed => ({
  ...withRoleAlone(),
  profiles: [
    { name: PROFILE, found: wanted && aProfile(wanted) },
    { name: FORMER, found: former && aProfile({ name: FORMER, ...former }) },
  ],
});
const replacing = { profileName: PROFILE, updateStrategy: { type: 'Replace' } } as const;
const replaceable = desiredFrom(replacing, PROVISIONED);
/** For the 30 s that the former profile stays at least. */
const LONG_ACTIVE = { name: PROFILE, time: '2026-11-21T03:24:30Z' };
const succeeded = desiredFrom(replacing, { ...PROVISIONED, activeSince: LONG_ACTIVE });
const withTwoFormer = (older: Partial<FargateProfile>): Observed => {
  const { profiles, ...rest } = withFormer({});
  const name = ProfileName.of('older');
  return { ...rest, profiles: [{ name, found: aProfile({ name, ...older }) }, ...profiles] };
};
const unanswered = { isCreateUnconfirmed: true };
const unansweredUnder = (profileName: ProfileName): Desired =>
  desiredOf(anObject({ spec: { profileName: PROFILE }, status: { ...CREATE_REQUESTED, profileName } }), unanswered);
const unansweredWithRole = desiredOf(
  anObject({ spec: { profileName: PROFILE, roleARN: ROLE_ARN }, status: CREATE_REQUESTED }),
  unanswered,
);

const deletion = desiredOnDeletion();
const deletionAt = (location: Location['kind']): Desired => ({
  ...deletion,
  recorded: { ...deletion.recorded, location },
});
const unansweredDeletion = desiredOfDeletion(aDeletedObject({ status: CREATE_REQUESTED }), unanswered);
const retaining = (location: Location['kind'] = 'known'): Desired => ({ ...deletionAt(location), surplus: 'retain' });

describe('plan', () => {
  testPlans({
    'for a living object, if': [
      [
        'neither role nor profile exist',
        plain,
        observed(),
        'create role; attach pod policy; create profile; stop: Creating',
      ],
      ['the role has no policies', plain, withRoleAlone({ attached: [] }), `attach pod policy; ${CREATE_PROFILE}`],
      ['the role exists', plain, withRoleAlone(), CREATE_PROFILE],
      ['role and profile are as wanted', plain, asWanted(), 'in order'],
      [
        'the profile has a tag that the spec dropped',
        withTagKey,
        TAGGED_BY_US,
        'untag profile of added,team?; in order',
      ],
      [
        'the profile has one added tag too many',
        desiredFrom({ additionalTags: { team: 'x' } }, { tagKeys: ['old'] }),
        withProfile({ tags: { ...PROFILE_TAGS, ...recordTag('tag old', 'tag team'), old: 'y', team: 'x' } }),
        'tag role with added,team?; untag profile of old?; tag profile with added?; in order',
      ],
      ['the EKS cluster is gone', plain, GONE, 'stop: EKSClusterNotFound'],
      ['EKS is creating the profile', plain, withoutRoles(withStatus('CREATING')), 'stop: Creating'],
      ['EKS is deleting the profile', plain, withoutRoles(withStatus('DELETING')), 'stop: DeletingProfile'],
      ['the creation of the profile failed', plain, withStatus('CREATE_FAILED'), RETRY],
      ['the deletion of the profile failed', plain, withStatus('DELETE_FAILED'), RETRY],
      ['the profile has an unknown status', plain, withStatus('PAUSED'), 'stop: UnknownProfileStatus'],
      ['another client has deleted the profile', desiredFrom({}, PROVISIONED), withRoleAlone(), CREATE_PROFILE],
      ['its own create was not answered', unansweredUnder(PROFILE), withRoleAlone(), CREATE_PROFILE],
      [
        'its own create with the role of spec.roleARN was not answered',
        unansweredWithRole,
        withRoleAlone(),
        CREATE_PROFILE,
      ],
      ['a selector has no value in the manifest', emptied, observed(), 'stop: InvalidSpec'],
      ['a selector has no value in the manifest, and the profile is as wanted', emptied, asWanted(), 'in order'],
    ],
    'for an object for which nothing may be created, if': [
      ...withPlan(
        'stop: ClusterDeleting',
        ['the role is missing', blocked(), observed()],
        ['the profile is missing', blocked(), withRoleAlone()],
        ['the role of a live profile is missing', blocked(), observed({ profile: aProfile() })],
        ['CAPA created the profile', blocked(), withStatus('ACTIVE', CAPA_TAGS)],
        ['CAPA failed to create the profile', blocked(), withStatus('CREATE_FAILED', CAPA_TAGS)],
        ['the profile has no owner', blocked({ adoptionPolicy: 'Always' }), withStatus('ACTIVE', {})],
        ['another object has the profile, which must not be told', blocked(), FOREIGN],
        ['the role belongs to another namespace', blocked(), withRoleAlone({ tags: { [NAMESPACE_TAG]: 'team-b' } })],
      ),
      ['role and profile are as wanted', blocked(), asWanted(), 'in order'],
      ['the trust policy of the role has drifted', blocked(), withProfile({}, WIDE), 'set trust; in order'],
      ['the profile uses a foreign role', blocked({ roleName: SHARED_ROLE_NAME }), USING_SHARED, 'in order'],
      [
        'a foreign profile has the former name',
        { ...renamed(CREATE_REQUESTED), creationBlocker: blocked().creationBlocker },
        withFormer({ tags: FOREIGN_TAGS }, {}),
        'in order',
      ],
    ],
    'for a profile with the wanted name that belongs to': [
      ...withPlan(
        'stop: ProfileNotOwned',
        ['another object', plain, FOREIGN],
        [
          'another object, while the role does not exist',
          plain,
          observed({ profile: aProfile({ tags: FOREIGN_TAGS }) }),
        ],
        ['another object, with adoptionPolicy Always', always, FOREIGN],
        ['no owner', plain, withStatus('ACTIVE', {})],
        ['no owner, being created, with adoptionPolicy Always', always, withStatus('CREATING', {})],
        ['no owner, different, with adoptionPolicy Always', always, withProfile({ ...OTHER, tags: {} })],
        ['no owner, in other subnets, with Always', always, withProfile({ subnets: ['subnet-0f'], tags: {} })],
        ['CAPA, with adoptionPolicy Never', never, withStatus('ACTIVE', CAPA_TAGS)],
      ),
      [
        'no owner, as wanted, with adoptionPolicy Always',
        always,
        withStatus('ACTIVE', {}),
        'tag profile with prod,owner; stop: Outdated',
      ],
      [
        'no owner, in the subnets that EKS chose, with adoptionPolicy Always',
        desiredOf(anObject({ spec: { adoptionPolicy: 'Always' } }), {
          controlPlaneFacts: { ...CONTROL_PLANE_FACTS, privateSubnets: undefined },
        }),
        withStatus('ACTIVE', {}),
        'tag profile with prod,owner; stop: Outdated',
      ],
      [
        'CAPA, beside a role that has drifted',
        plain,
        withProfile({ tags: CAPA_TAGS }, WIDE),
        'tag profile with owner; stop: Outdated',
      ],
      ['CAPA, which failed to create it', plain, withStatus('CREATE_FAILED', CAPA_TAGS), RETRY],
      ['the object itself, with adoptionPolicy Never', never, asWanted(), 'in order'],
    ],
    'for a profile of the object that differs from the spec': [
      ...withPlan(
        'stop: SpecDiffers',
        ['without records in status', plain, withProfile(OTHER)],
        ['and may be replaced', desiredFrom(replacing, CREATE_REQUESTED), withProfile(OTHER)],
        ['without a record of its create', desiredFrom({}, { profileName: PROFILE }), withProfile(OTHER)],
        ['once provisioned', desiredFrom(oneSubnet, PROVISIONED), withProfile(OTHER)],
        ['after a create under another name', renamed(CREATE_REQUESTED), withProfile(OTHER)],
        ['in its selectors', plain, withProfile({ selectors: [] })],
        ['in its role', plain, withProfile({ podExecutionRoleArn: SHARED_ROLE_ARN })],
        ['in subnets that spec.subnetIDs names', desiredFrom(oneSubnet), withProfile({ subnets: ['subnet-0f'] })],
      ),
      ['after a create, if the role is missing', created, observed({ profile: aProfile(OTHER) }), REPLACE],
      ['that failed', plain, withProfile({ ...OTHER, status: 'CREATE_FAILED' }), REPLACE],
      [
        'still being created',
        created,
        withoutRoles(withProfile({ ...OTHER, status: 'CREATING' })),
        'stop: WaitingForCreate',
      ],
      ['in subnets alone, without spec.subnetIDs', created, withProfile({ subnets: ['subnet-0f'] }), 'in order'],
      ['in the order of subnets alone', plain, withProfile({ subnets: ['subnet-0b', 'subnet-0a'] }), 'in order'],
    ],
    'after a change of the profile name, if': [
      ['the former profile exists', renamed(CREATE_REQUESTED), withFormer({}), DELETE_FORMER],
      [
        'the former profile exists, and a foreign profile has the new name',
        renamed(CREATE_REQUESTED),
        withFormer({}, { tags: FOREIGN_TAGS }),
        'stop: ProfileNotOwned',
      ],
      ...withPlan(
        'stop: SpecDiffers',
        ['the former profile was provisioned', renamed(PROVISIONED), withFormer({})],
        ['a foreign profile has the former name', renamed(PROVISIONED), withFormer({ tags: FOREIGN_TAGS })],
        ['a profile without tags has the former name', renamed(PROVISIONED), withFormer({ tags: {} })],
      ),
      ['another client has deleted the provisioned profile', renamed(PROVISIONED), withFormer(), CREATE_PROFILE],
      ['the create under the former name was not answered', unansweredUnder(FORMER), withFormer(), 'stop: Propagating'],
    ],
    'for an object with updateStrategy Replace, if': [
      ['only the wanted profile exists', succeeded, asWanted(), 'in order'],
      ['the former profile serves pods', replaceable, withFormer({}), 'create profile; stop: Replacing'],
      ['EKS creates the wanted profile', replaceable, withFormer({}, { status: 'CREATING' }), 'stop: Replacing'],
      ['the wanted profile has just become ACTIVE', replaceable, withFormer({}, {}), 'in order: PredecessorKept'],
      [
        'the wanted profile has just become ACTIVE, and the former one failed',
        replaceable,
        withFormer({ status: 'CREATE_FAILED' }, {}),
        'delete replaced profile former; in order: RemovingPredecessor',
      ],
      [
        'the former profile was ACTIVE for long, and the wanted one has just become so',
        desiredFrom(replacing, { ...PROVISIONED, activeSince: { ...LONG_ACTIVE, name: FORMER } }),
        withFormer({}, {}),
        'in order: PredecessorKept',
      ],
      [
        'EKS creates another profile, which is not wanted any more',
        succeeded,
        withFormer({ status: 'CREATING' }, {}),
        'in order: WaitingForCreate',
      ],
      [
        'EKS deletes the former profile',
        succeeded,
        withFormer({ status: 'DELETING' }, {}),
        'in order: RemovingPredecessor',
      ],
      [
        'one former profile serves pods, and another failed',
        replaceable,
        withTwoFormer({ status: 'CREATE_FAILED' }),
        'delete unwanted profile older; stop: DeletingProfile',
      ],
      [
        'an unused role has to go, and the last create was not answered',
        { ...replaceable, recorded: { ...replaceable.recorded, isCreateUnconfirmed: true } },
        { ...withFormer({}), roles: [...withRoleAlone().roles, { name: FORMER_ROLE.name, found: FORMER_ROLE }] },
        'stop: Propagating',
      ],
      [
        'the former profile uses another role, and the last create was not answered',
        { ...replaceable, recorded: { ...replaceable.recorded, isCreateUnconfirmed: true } },
        {
          ...withFormer({ podExecutionRoleArn: FORMER_ROLE.arn }),
          roles: [...withRoleAlone().roles, { name: FORMER_ROLE.name, found: FORMER_ROLE }],
        },
        'create profile; stop: Replacing',
      ],
      ['two former profiles serve pods', replaceable, withTwoFormer({}), 'create profile; stop: Replacing'],
      [
        'two former profiles serve pods, and EKS has no room',
        { ...replaceable, recorded: { ...replaceable.recorded, profileName: FORMER, isQuotaExceeded: true } },
        withTwoFormer({}),
        'delete unwanted profile older; stop: DeletingProfile',
      ],
      [
        'the wanted profile has been ACTIVE for long',
        succeeded,
        withFormer({}, {}),
        'delete replaced profile former; in order: RemovingPredecessor',
      ],
      [
        'the wanted profile has been ACTIVE for long, and its role is gone',
        succeeded,
        { ...withFormer({}, {}), roles: observed().roles },
        'create role; attach pod policy; stop: Outdated',
      ],
    ],
    'for a deletion, if': [
      ...withPlan(
        DELETE_PROFILE,
        ['role and profile exist', deletion, asWanted()],
        ['the roles are unread', deletion, withoutRoles(asWanted())],
        ['the creation of the profile failed', deletion, withStatus('CREATE_FAILED')],
        ['the deletion of the profile failed', deletion, withStatus('DELETE_FAILED')],
        ['the profile differs from the spec', deletion, withProfile(OTHER)],
        ['the profile might have been replaced', desiredOnDeletion(replacing), asWanted()],
      ),
      ...withPlan(
        'stop: Outdated',
        ['the profile is gone, and the roles are unread', deletion, withoutRoles(observed())],
        ['the profile is foreign, and the roles are unread', deletion, withoutRoles(FOREIGN)],
        ['the EKS cluster is gone, and the roles are unread', deletion, withoutRoles(GONE)],
      ),
      ['the profile is being created', deletion, withStatus('CREATING'), 'stop: WaitingForCreate'],
      ['the profile is being deleted', deletion, withStatus('DELETING'), 'stop: DeletingProfile'],
      ['the profile has an unknown status', deletion, withStatus('PAUSED'), 'stop: UnknownProfileStatus'],
      ['the profile is gone', deletion, withRoleAlone(), DELETE_ROLE],
      ['the EKS cluster is gone', deletion, ROLE_OF_GONE, DELETE_ROLE],
      ['the role has no policies', deletion, withRoleAlone({ attached: [] }), 'delete role; in order'],
      [
        'the role has a policy of others',
        deletion,
        withRoleAlone({ attached: [THEIRS] }),
        'strip theirs; delete role; in order',
      ],
      ['the role has an inline policy', deletion, withRoleAlone({ blockers: ['x'] }), 'stop: RoleBlocked'],
      [
        'CAPA created the role',
        deletion,
        withRoleAlone({ tags: CAPA_TAGS }),
        `tag role with eks-cluster,namespace, retiring; ${DELETE_ROLE}`,
      ],
      ...withPlan(
        'in order',
        ['neither role nor profile exist', deletion, observed()],
        ['the role is foreign', desiredOnDeletion({ roleName: SHARED_ROLE_NAME }), observed({ role: SHARED_ROLE })],
        ['a foreign profile uses our role', deletion, FOREIGN],
        ['the EKS cluster is not found in the recorded account', deletionAt('known'), GONE],
        ['the EKS cluster is not found, and nothing was created', deletionAt('none'), GONE],
        ['nothing exists in an existing cluster, and no location is recorded', deletionAt('unknown'), observed()],
      ),
      [
        'EKS is deleting a foreign profile that uses our role',
        deletion,
        withStatus('DELETING', FOREIGN_TAGS),
        'stop: DeletingProfile',
      ],
      [
        'EKS is deleting one of two foreign profiles that use our role',
        deletion,
        withFormer({ tags: FOREIGN_TAGS }, { tags: FOREIGN_TAGS, status: 'DELETING' }),
        'in order',
      ],
      [
        'the EKS cluster is not found, and no location is recorded',
        deletionAt('unknown'),
        ROLE_OF_GONE,
        'stop: AccountUncertain',
      ],
      ['the last create was not answered', unansweredDeletion, withRoleAlone(), 'stop: Propagating'],
      ['the last create was not answered, in no cluster', unansweredDeletion, ROLE_OF_GONE, DELETE_ROLE],
    ],
    'for a retained object in a cluster that is being deleted, if': [
      ['role and profile exist', retaining(), asWanted(), 'stop: RetainBlocksClusterDeletion'],
      ['the profile is gone', retaining(), withRoleAlone(), 'in order'],
      ['the EKS cluster is not found', retaining('unknown'), GONE, 'in order'],
      ['the profile is foreign', retaining(), FOREIGN, 'in order'],
      [
        'the last create was not answered',
        { ...unansweredDeletion, surplus: 'retain' },
        withRoleAlone(),
        'stop: Propagating',
      ],
    ],
  });

  describe('tells the health of', () => {
    const tagged = desiredFrom({ additionalTags: { team: 'web' } });
    const bounded = desiredFrom({ rolePermissionsBoundary: THEIRS });
    const limited = desiredOf(anObject(), { limits: { permissionsBoundary: 'arn:aws:iam::*:policy/bound' } });
    const recreated = desiredFrom({}, { ...PROVISIONED, role: { name: ROLE, id: 'AROAFORMER' } });
    const recorded = { profileARN: aProfile().arn, role: { name: ROLE, managed: true, id: aRole().id } };
    const shared = desiredFrom({ roleName: SHARED_ROLE_NAME });
    const rows: readonly (readonly [situation: string, desired: Desired, seen: Observed, health: string])[] = [
      ['profile and role as wanted', plain, asWanted(), 'inOrder, inOrder'],
      ['a role of another owner', shared, USING_SHARED, 'inOrder, inOrder'],
      ['a profile and a role that lack a tag', tagged, asWanted(), 'works, works'],
      ['a role that lacks a tag, and no profile', tagged, withRoleAlone(), 'broken, works'],
      ['a role with a dropped tag, and no profile', withTagKey, withRoleAlone(TAGGED_ROLE), 'broken, works'],
      ['a role in use without the boundary of the operator', limited, asWanted(), 'inOrder, works'],
      ['a role without the boundary of the operator', limited, withRoleAlone(), 'broken, broken'],
      ['a role in use without the boundary of the spec', bounded, asWanted(), 'inOrder, broken'],
      ['a role with another trust policy', plain, withProfile({}, WIDE), 'inOrder, broken'],
      ['a role without its policy', plain, withProfile({}, { attached: [] }), 'inOrder, broken'],
      ['a missing role', plain, observed({ profile: aProfile() }), 'inOrder, broken'],
      ['a role that was created again', recreated, asWanted(), 'inOrder, broken'],
      ['a profile that differs', plain, withProfile(OTHER), 'broken, inOrder'],
      ['a profile that differs and is made anew', created, withProfile(OTHER), 'broken, inOrder'],
      ['a profile of another object', plain, FOREIGN, 'broken, inOrder'],
      ['a profile that is being created', plain, withoutRoles(withStatus('CREATING')), 'broken, notRead'],
      [
        'both on record without tags',
        desiredFrom({}, recorded),
        withProfile({ tags: {} }, { tags: {} }),
        'works, works',
      ],
      [
        'the role of spec.roleARN without its tags, which does not trust Fargate',
        desiredFrom({ roleARN: ROLE_ARN }, recorded),
        withProfile({}, { tags: {}, trust: TRUST_POLICIES.forNodes }),
        'inOrder, broken',
      ],
      ['nothing, in a deletion', deletion, asWanted(), 'notRead, notRead'],
    ];
    for (const [situation, desired, seen, expected] of rows)
      it(`${situation}: ${expected}`, () => {
        const { profile, role } = plan(desired, seen);
        expect(`${profile}, ${role}`).to.equal(expected);
      });
  });

  it('names the fields in which a profile differs', () => {
    const fields = (field: string, isProvisioned: boolean, name = PROFILE) =>
      newReason('SpecDiffers', { name, fields: [field], isProvisioned });
    expect(plan(desiredFrom(), withProfile(OTHER)).end).to.deep.equal(fields(SELECTORS_DIFFER, false));
    expect(plan(renamed(PROVISIONED), withFormer({})).end).to.deep.equal(
      fields('the name is former in AWS, but team-a_web in the spec', true, FORMER),
    );
  });

  it('tells whether the EKS cluster that is not found is that of a Cluster', () => {
    for (const [clusterName, isOfObject] of [
      [TARGET.clusterName, false],
      [undefined, true],
    ] as const) {
      const over = { target: { ...TARGET, clusterName } };
      const leaving = desiredOfDeletion(aDeletedObject(), over);
      const unrecorded: Desired = { ...leaving, recorded: { ...leaving.recorded, location: 'unknown' } };
      for (const desired of [desiredOf(anObject(), over), unrecorded])
        expect(plan(desired, GONE)).to.have.nested.property('end.facts.isOfObject', isOfObject);
    }
  });

  it('names the role to look for in an unknown account, unless the spec brings it or it is foreign', () => {
    for (const [spec, seen, role] of [
      [{}, GONE, ROLE],
      [{}, ROLE_OF_GONE, ROLE],
      [{}, observed({ cluster: 'gone', role: aRole({ tags: {} }) }), undefined],
      [{ roleARN: ROLE_ARN }, GONE, undefined],
    ] as const) {
      const leaving = desiredOnDeletion(spec);
      const { end } = plan({ ...leaving, recorded: { ...leaving.recorded, location: 'unknown' } }, seen);
      expect(end).to.have.nested.property('facts.role', role);
    }
  });

  it('names the profile that new pods get while a former one stays', () => {
    for (const [former, taker] of [
      ['former', 'former'],
      ['zone', PROFILE],
    ] as const) {
      const name = ProfileName.of(former);
      const profiles = [...asWanted().profiles, { name, found: aProfile({ name }) }];
      const [notice] = plan(replaceable, { ...asWanted(), profiles }).notices;
      expect(notice?.facts).to.include({ name: PROFILE, predecessor: former, taker });
    }
    const [removal] = plan(succeeded, withFormer({}, {})).notices;
    expect(removal?.facts).to.deep.equal({ name: PROFILE, predecessor: FORMER });
  });

  it('names what prevents the adoption of a foreign profile', () => {
    expect(plan(always, withProfile({ ...OTHER, status: 'CREATE_FAILED', tags: {} })))
      .to.have.nested.property('end.facts.obstacles')
      .that.deep.equals(['status is CREATE_FAILED instead of ACTIVE', SELECTORS_DIFFER]);
  });

  it('names the adoptionPolicy that would adopt a foreign profile, if any', () => {
    const adoptionOf = (policy: AdoptionPolicy, tags: Readonly<Record<string, string>>) => {
      const planned = plan(desiredFrom({ adoptionPolicy: policy }), withStatus('ACTIVE', tags));
      return planned.end !== 'inOrder' && planned.end.name === 'ProfileNotOwned'
        ? planned.end.facts.adoption
        : describePlan(planned);
    };
    expect(adoptionOf('Owned', {}), 'no owner').to.equal('Always');
    expect(adoptionOf('Never', {}), 'no owner').to.equal('Always');
    expect(adoptionOf('Never', CAPA_TAGS), 'Cluster API Provider AWS').to.equal('Owned');
    for (const policy of ['Owned', 'Always', 'Never'] as const)
      expect(adoptionOf(policy, FOREIGN_TAGS), 'another object').to.equal(undefined);
  });

  it('creates the profile with the values of the spec', () => {
    const spec = { subnetIDs: ['subnet-0c'], selectors: [{ namespace: 'web', labels: { a: 'x' } }] };
    expect(plan(desiredFrom(spec), withRoleAlone()).changes).to.deep.equal([
      {
        mutation: {
          kind: 'createProfile',
          profile: {
            cluster: 'team-a_prod-control-plane',
            name: PROFILE,
            podExecutionRoleArn: ROLE_ARN,
            subnets: ['subnet-0c'],
            selectors: [{ namespace: 'web', labels: { a: 'x' } }],
            tags: PROFILE_TAGS,
          },
        },
      },
    ]);
  });
});
