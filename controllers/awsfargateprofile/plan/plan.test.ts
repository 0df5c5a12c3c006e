import { expect } from 'chai';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AdoptionPolicy, AWSFargateProfileSpec } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import type { Plan } from '../model/change.ts';
import { newReason } from '../reasons/reasons.ts';
import {
  type ObjectParts,
  CREATION_FACTS,
  HERE,
  NAMESPACE_TAG,
  FULL_RECORD,
  NOW,
  PROFILE,
  PROFILE_ID,
  PROFILE_TAGS,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  TARGET,
  aProfile,
  aRole,
  asDesired,
  observed,
} from '../testing/builders.ts';
import {
  CAPA_TAGS,
  FOREIGN_TAGS,
  PROVISIONED,
  SHARED_ROLE,
  SHARED_ROLE_ARN,
  SHARED_ROLE_NAME,
  TRUST_POLICIES,
  recordTag,
} from '../testing/fixtures.ts';
import { describePlan } from '../testing/mutations.ts';
import { withoutRoles } from '../testing/reconcile-state.ts';
import { type Desires, deleted, living, testPlans, withPlan } from '../testing/plan-tables.ts';
import { plan } from './plan.ts';

const THEIRS = 'arn:aws:iam::111122223333:policy/theirs';
const CREATE_PROFILE = 'create profile; stop: Creating';
const DELETE_PROFILE = 'delete unwanted profile; stop: DeletingProfile';
const DELETE_FORMER = 'delete different profile former; stop: DeletingProfile';
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

const ofSpec = (spec: Partial<AWSFargateProfileSpec>): Desires => living({ spec });
const plain = living();
const WITHOUT_RECORD = { metadata: { annotations: {} } };
/** The record contains the ID of a profile that has never matched the spec. */
const ATTEMPTED = { in: HERE, profiles: [{ name: PROFILE, id: PROFILE_ID }] } as const;
const attempted = living({ record: ATTEMPTED });
const provisioned = living({ record: FULL_RECORD, status: PROVISIONED });
const oneSubnet = { subnetIDs: ['subnet-0a'] };
const TAGGED_BY_US = withProfile({ tags: { ...PROFILE_TAGS, ...recordTag('tag team'), team: 'x' } });
const TAGGED_ROLE = { tags: { ...ROLE_TAGS, ...recordTag('tag team'), team: 'x' } };
const always = ofSpec({ adoptionPolicy: 'Always' });
const never = ofSpec({ adoptionPolicy: 'Never' });
const emptied = living({}, {}, { emptySelectorFields: ['spec.selectors[0].labels.app'] });
const NOT_NOW = { creationBlocker: newReason('ClusterDeleting', { what: 'Cluster team-a/prod' }) };
const blocked = (spec: Partial<AWSFargateProfileSpec> = {}): Desires => living({ spec }, {}, NOT_NOW);

const FORMER = ProfileName.of('former');
const FORMER_ROLE = aRole({ name: RoleName.of('former-role') });
const THIRTY_SECONDS_AGO = NOW - 30_000;
/** The record contains a former profile, and the spec sets a different name. */
const renamed = (served: { served?: true } = {}, change: Partial<Desired> = {}): Desires =>
  living(
    { spec: { profileName: PROFILE }, record: { in: HERE, profiles: [{ name: FORMER, id: PROFILE_ID, ...served }] } },
    {},
    change,
  );
const withFormer = (former?: Partial<FargateProfile>, desired?: Partial<FargateProfile>): Observed => ({
  ...withRoleAlone(),
  profiles: [
    ...(desired === undefined ? [] : [aProfile(desired)]),
    ...(former === undefined ? [] : [aProfile({ name: FORMER, ...former })]),
  ],
});
const REPLACE_TYPE = { updateStrategy: { type: 'Replace' } } as const;
const replacing = { profileName: PROFILE, ...REPLACE_TYPE };
const SERVED_FORMER = { name: FORMER, id: PROFILE_ID, served: true } as const;
const replaceable = living({ spec: replacing, record: { in: HERE, profiles: [SERVED_FORMER] } });
const activeSince = (since: { desired?: number; former?: number }): Desires => {
  const time = (instant: number | undefined) => (instant === undefined ? {} : { activeSince: instant });
  const desired = { name: PROFILE, id: PROFILE_ID, ...time(since.desired) };
  const profiles = [{ ...SERVED_FORMER, ...time(since.former) }, desired];
  return living({ spec: replacing, record: { in: HERE, profiles } });
};
const succeeded = activeSince({ desired: THIRTY_SECONDS_AGO });
const OLDER = ProfileName.of('older');
const withTwoFormer = (older: Partial<FargateProfile>): Observed => {
  const { profiles, ...rest } = withFormer({});
  return { ...rest, profiles: [aProfile({ name: OLDER, ...older }), ...profiles] };
};
const withFormerRole = (former: Partial<FargateProfile>): Observed => ({
  ...withFormer(former),
  roles: [...withRoleAlone().roles, { name: FORMER_ROLE.name, found: FORMER_ROLE }],
});

/** AWS has not answered these create requests. */
const unanswered = (...names: readonly ProfileName[]): Partial<Desired> => ({
  record: { in: HERE, profiles: names.map((name) => ({ name, requestedAt: NOW })), roles: [] },
});
const unansweredRole: Partial<Desired> = {
  record: { in: HERE, profiles: [], roles: [{ name: ROLE, requestedAt: NOW }] },
};

const deletion = deleted();
const leaving = deleted({}, { abandonment: 'removeFinalizer' });
const withProtection = (seen: Observed): Observed => ({ ...seen, deletionProtection: { kind: 'on' } });
const retaining = (parts: ObjectParts = {}, change: Partial<Desired> = {}): Desires =>
  deleted(parts, { unwanted: 'retain' }, change);
/**
 * The record contains the creation time of the object's own profile (`last`). EKS also has a profile of the same age
 * that the record does not contain.
 */
const ELSEWHERE = { record: { ...FULL_RECORD, last: NOW } };
const withStranger = (createdAt = NOW): Observed => withFormer({ createdAt }, { createdAt: NOW });

const planFor = (desires: Desires, seen: Observed): Plan => plan(desires(seen), seen);

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
      ['role and profile are as desired', plain, asDesired(), 'in order'],
      ['the profile has a tag that the spec dropped', plain, TAGGED_BY_US, 'untag profile of added,team?; in order'],
      [
        'the profile has one added tag too many',
        ofSpec({ additionalTags: { team: 'x' } }),
        withProfile({ tags: { ...PROFILE_TAGS, ...recordTag('tag old', 'tag team'), old: 'y', team: 'x' } }),
        'tag role with added,team?; untag profile of old?; tag profile with added?; in order',
      ],
      ['the EKS cluster is gone', plain, GONE, 'stop: EKSClusterNotFound'],
      ['EKS is creating the profile', plain, withoutRoles(withStatus('CREATING')), 'stop: Creating'],
      ['EKS is deleting the profile', plain, withoutRoles(withStatus('DELETING')), 'stop: DeletingProfile'],
      ['the creation of the profile failed', plain, withStatus('CREATE_FAILED'), RETRY],
      ['the deletion of the profile failed', plain, withStatus('DELETE_FAILED'), RETRY],
      ['the profile has an unknown status', plain, withStatus('PAUSED'), 'stop: UnknownProfileStatus'],
      ['another client has deleted the profile', provisioned, withRoleAlone(), CREATE_PROFILE],
      ['its own create was not answered', living({}, {}, unanswered(PROFILE)), withRoleAlone(), CREATE_PROFILE],
      [
        'its own create with the role of spec.roleARN was not answered',
        living({ spec: { roleARN: ROLE_ARN } }, {}, unanswered(PROFILE)),
        withRoleAlone(),
        CREATE_PROFILE,
      ],
      [
        'another management cluster has made a younger profile',
        living(ELSEWHERE),
        withStranger(),
        'stop: ManagedElsewhere',
      ],
      [
        'another management cluster has made a younger profile, and that of the record is gone',
        living(ELSEWHERE),
        withFormer({ createdAt: NOW }),
        'stop: ManagedElsewhere',
      ],
      ['a selector has no value in the manifest', emptied, observed(), 'stop: InvalidSpec'],
      ['a selector has no value in the manifest, and the profile is as desired', emptied, asDesired(), 'in order'],
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
      ['role and profile are as desired', blocked(), asDesired(), 'in order'],
      ['the trust policy of the role has drifted', blocked(), withProfile({}, WIDE), 'set trust; in order'],
      ['the profile uses a foreign role', blocked({ roleName: SHARED_ROLE_NAME }), USING_SHARED, 'in order'],
      [
        'a foreign profile has the former name',
        renamed({}, NOT_NOW),
        withFormer({ tags: FOREIGN_TAGS }, {}),
        'in order',
      ],
    ],
    'for a profile with the desired name that belongs to': [
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
        'no owner, as desired, with adoptionPolicy Always',
        always,
        withStatus('ACTIVE', {}),
        'tag profile with prod,owner; stop: ReadAgain',
      ],
      [
        'no owner, in the subnets that EKS chose, with adoptionPolicy Always',
        living(
          { spec: { adoptionPolicy: 'Always' } },
          { creationFacts: { ...CREATION_FACTS, privateSubnets: undefined } },
        ),
        withStatus('ACTIVE', {}),
        'tag profile with prod,owner; stop: ReadAgain',
      ],
      [
        'CAPA, beside a role that has drifted',
        plain,
        withProfile({ tags: CAPA_TAGS }, WIDE),
        'tag profile with owner; stop: ReadAgain',
      ],
      ['CAPA, which failed to create it', plain, withStatus('CREATE_FAILED', CAPA_TAGS), RETRY],
      ['the object itself, with adoptionPolicy Never', never, asDesired(), 'in order'],
    ],
    'for a profile of the object that differs from the spec': [
      ...withPlan(
        'stop: SpecDiffers',
        ['without a record', plain, withProfile(OTHER)],
        ['in its selectors', plain, withProfile({ selectors: [] })],
        ['in its role', plain, withProfile({ podExecutionRoleArn: SHARED_ROLE_ARN })],
        ['in subnets that spec.subnetIDs names', ofSpec(oneSubnet), withProfile({ subnets: ['subnet-0f'] })],
      ),
      [
        'after a create, if the role is missing',
        attempted,
        observed({ profile: aProfile({ ...OTHER, createdAt: NOW }) }),
        REPLACE,
      ],
      ['that failed', plain, withProfile({ ...OTHER, status: 'CREATE_FAILED' }), REPLACE],
      [
        'still being created',
        attempted,
        withoutRoles(withProfile({ ...OTHER, status: 'CREATING' })),
        'stop: WaitingForCreate',
      ],
      [
        'still being created, in subnets that spec.subnetIDs does not name',
        ofSpec(oneSubnet),
        withoutRoles(withProfile({ status: 'CREATING', subnets: ['subnet-0f'] })),
        'stop: WaitingForCreate',
      ],
      ['in subnets alone, without spec.subnetIDs', attempted, withProfile({ subnets: ['subnet-0f'] }), 'in order'],
      ['in an unknown status', plain, withProfile({ ...OTHER, status: 'PAUSED' }), 'stop: UnknownProfileStatus'],
      ['in the order of subnets alone', plain, withProfile({ subnets: ['subnet-0b', 'subnet-0a'] }), 'in order'],
    ],
    'after a change of the profile name, if': [
      ['the former profile has never served', renamed(), withFormer({ createdAt: NOW }), DELETE_FORMER],
      [
        'the former profile has never served, and a foreign profile has the new name',
        renamed(),
        withFormer({}, { tags: FOREIGN_TAGS }),
        'stop: ProfileNotOwned',
      ],
      ['the former profile has served', renamed({ served: true }), withFormer({}), 'stop: SpecDiffers'],
      [
        'the former profile has served, and has an unknown status',
        renamed({ served: true }),
        withFormer({ status: 'PAUSED' }),
        'stop: SpecDiffers',
      ],
      ['a foreign profile has the former name', renamed(), withFormer({ tags: FOREIGN_TAGS }), CREATE_PROFILE],
      ['the former profile has lost its tags', renamed(), withFormer({ tags: {} }), 'stop: OwnershipTagMissing'],
      ['another client has deleted the former profile', renamed({ served: true }), withFormer(), CREATE_PROFILE],
      [
        'the create under the former name was not answered',
        renamed({}, unanswered(FORMER)),
        withFormer(),
        'stop: Propagating',
      ],
    ],
    'for an object with updateStrategy Replace, if': [
      ['only the desired profile exists', succeeded, asDesired(), 'in order'],
      ['the former profile serves pods', replaceable, withFormer({}), 'create profile; stop: Replacing'],
      ['EKS creates the desired profile', replaceable, withFormer({}, { status: 'CREATING' }), 'stop: Replacing'],
      ['the desired profile has just become ACTIVE', replaceable, withFormer({}, {}), 'in order: PredecessorKept'],
      [
        'the desired profile has just become ACTIVE, and the former one failed',
        replaceable,
        withFormer({ status: 'CREATE_FAILED' }, {}),
        'delete unwanted profile former; in order: RemovingPredecessor',
      ],
      [
        'the former profile was ACTIVE for long, and the desired one has just become so',
        activeSince({ former: THIRTY_SECONDS_AGO }),
        withFormer({}, {}),
        'in order: PredecessorKept',
      ],
      [
        'EKS creates another profile, which is not desired any more',
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
        'an unused role has to be deleted, and the last create was not answered',
        living({ spec: replacing }, {}, unanswered(PROFILE)),
        withFormerRole({}),
        'stop: Propagating',
      ],
      [
        'the former profile uses another role, and the last create was not answered',
        living({ spec: replacing }, {}, unanswered(PROFILE)),
        withFormerRole({ podExecutionRoleArn: FORMER_ROLE.arn }),
        'create profile; stop: Replacing',
      ],
      ['two former profiles serve pods', replaceable, withTwoFormer({}), 'create profile; stop: Replacing'],
      [
        'the desired profile has been ACTIVE for long',
        succeeded,
        withFormer({}, {}),
        'delete replaced profile former; in order: RemovingPredecessor',
      ],
      [
        'the desired profile has been ACTIVE for long, and its role is gone',
        succeeded,
        { ...withFormer({}, {}), roles: observed().roles },
        'create role; attach pod policy; stop: ReadAgain',
      ],
      [
        'the profile differs from the spec, which names none',
        living({ spec: REPLACE_TYPE, record: FULL_RECORD }),
        withProfile(OTHER),
        'create profile 9999-team-a_web; stop: Replacing',
      ],
      [
        'the spec has changed for the second time',
        living({ spec: REPLACE_TYPE }),
        withProfile({ ...OTHER, name: ProfileName.of('9999-team-a_web') }),
        'create profile 9998-team-a_web; stop: Replacing',
      ],
    ],
    'for a deletion, if': [
      ...withPlan(
        DELETE_PROFILE,
        ['role and profile exist', deletion, asDesired()],
        ['the roles are unread', deletion, withoutRoles(asDesired())],
        ['the creation of the profile failed', deletion, withStatus('CREATE_FAILED')],
        ['the deletion of the profile failed', deletion, withStatus('DELETE_FAILED')],
      ),
      ...withPlan(
        'stop: ReadAgain',
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
      [
        'CAPA created the role',
        deletion,
        withRoleAlone({ tags: CAPA_TAGS }),
        `tag role with eks-cluster,namespace, retiring; ${DELETE_ROLE}`,
      ],
      ...withPlan(
        'in order',
        ['neither role nor profile exist', deletion, observed()],
        ['the EKS cluster is not found in the account of the record', deleted({ record: FULL_RECORD }), GONE],
        ['the EKS cluster is not found, and nothing was created', deletion, GONE],
        ['nothing exists in an existing cluster, and there is no record', deleted(WITHOUT_RECORD), observed()],
      ),
      [
        'the EKS cluster is not found, and there is no record',
        deleted(WITHOUT_RECORD),
        ROLE_OF_GONE,
        'stop: AccountUncertain',
      ],
      ...withPlan(
        'stop: Propagating',
        ['the create of the profile was not answered', deleted({}, {}, unanswered(PROFILE)), withRoleAlone()],
        ['the create of the role was not answered', deleted({}, {}, unansweredRole), observed()],
        [
          'the record was lost lately, and may have had a create',
          deleted(WITHOUT_RECORD, {}, { isLost: true }),
          observed(),
        ],
      ),
      [
        'the create of the profile was not answered, in no cluster',
        deleted({}, {}, unanswered(PROFILE)),
        ROLE_OF_GONE,
        DELETE_ROLE,
      ],
      ...withPlan(
        'stop: ManagedElsewhere',
        ['another management cluster has made a younger profile', deleted(ELSEWHERE), withStranger()],
        [
          'another management cluster has made a younger profile, in a teardown',
          deleted(ELSEWHERE, { abandonment: 'removeFinalizer' }),
          withStranger(),
        ],
      ),
      ['another profile of the object is much older', deleted(ELSEWHERE), withStranger(NOW - 300_001), DELETE_PROFILE],
    ],
    'for a deletion with an EKS cluster that has deletion protection, if': [
      ['role and profile exist', leaving, withProtection(asDesired()), 'stop: ClusterDeletionProtected'],
      ['only the role exists', leaving, withProtection(withRoleAlone()), 'stop: ClusterDeletionProtected'],
      [
        'only a foreign profile exists',
        leaving,
        withProtection(observed({ profile: FOREIGN.profiles[0] })),
        'in order',
      ],
    ],
    'for a retained object in a cluster that is being deleted, if': [
      ['role and profile exist', retaining(), asDesired(), 'stop: RetainBlocksClusterDeletion'],
      ['EKS is creating the profile', retaining(), withStatus('CREATING'), 'stop: Creating'],
      ['EKS is deleting the profile', retaining(), withStatus('DELETING'), 'stop: DeletingProfile'],
      ['the profile is gone', retaining(), withRoleAlone(), 'in order'],
      ['the EKS cluster is not found', retaining(WITHOUT_RECORD), GONE, 'in order'],
      ['the profile is foreign', retaining(), FOREIGN, 'in order'],
      ['the last create was not answered', retaining({}, unanswered(PROFILE)), withRoleAlone(), 'stop: Propagating'],
      ['the record was lost lately', retaining(WITHOUT_RECORD, { isLost: true }), observed(), 'stop: Propagating'],
      [
        'the record was lost lately, and the EKS cluster is not found',
        retaining(WITHOUT_RECORD, { isLost: true }),
        GONE,
        'in order',
      ],
    ],
  });

  describe('tells the health of', () => {
    const tagged = ofSpec({ additionalTags: { team: 'web' } });
    const bounded = ofSpec({ rolePermissionsBoundary: THEIRS });
    const limited = living({}, { limits: { permissionsBoundary: 'arn:aws:iam::*:policy/bound' } });
    const recreated = living({ record: { ...FULL_RECORD, roles: [{ name: ROLE, id: 'AROAFORMER' }] } });
    const shared = ofSpec({ roleName: SHARED_ROLE_NAME });
    const rows: readonly (readonly [situation: string, desires: Desires, seen: Observed, health: string])[] = [
      ['profile and role as desired', plain, asDesired(), 'works, works'],
      ['a role of another owner', shared, USING_SHARED, 'works, works'],
      ['a profile and a role that lack a tag', tagged, asDesired(), 'works, works'],
      ['a role that lacks a tag, and no profile', tagged, withRoleAlone(), 'broken, works'],
      ['a role with a dropped tag, and no profile', plain, withRoleAlone(TAGGED_ROLE), 'broken, works'],
      ['a role in use without the boundary of the operator', limited, asDesired(), 'works, works'],
      ['a role without the boundary of the operator', limited, withRoleAlone(), 'broken, broken'],
      ['a role in use without the boundary of the spec', bounded, asDesired(), 'works, broken'],
      ['a role with another trust policy', plain, withProfile({}, WIDE), 'works, broken'],
      ['a role without its policy', plain, withProfile({}, { attached: [] }), 'works, broken'],
      ['a missing role', plain, observed({ profile: aProfile() }), 'works, broken'],
      ['a role that was created again', recreated, asDesired(), 'works, broken'],
      ['a profile that differs', plain, withProfile(OTHER), 'broken, works'],
      [
        'a profile that differs, so that the controller deletes it and creates another',
        attempted,
        withProfile(OTHER),
        'broken, works',
      ],
      ['a profile of another object', plain, FOREIGN, 'broken, works'],
      ['a profile that is being created', plain, withoutRoles(withStatus('CREATING')), 'broken, notRead'],
      [
        'both in the record, without tags',
        living({ record: FULL_RECORD }),
        withProfile({ tags: {} }, { tags: {} }),
        'works, works',
      ],
      [
        'the role of spec.roleARN without its tags, which does not trust Fargate',
        living({ spec: { roleARN: ROLE_ARN }, record: FULL_RECORD }),
        withProfile({}, { tags: {}, trust: TRUST_POLICIES.forNodes }),
        'works, broken',
      ],
      [
        'the recorded role without its tags, and a role with another path in spec.roleARN',
        living({ spec: { roleARN: RoleArn.of(ROLE_ARN.replace('/', '/x/')) }, record: FULL_RECORD }),
        withProfile({}, { tags: {} }),
        'broken, broken',
      ],
      ['nothing, in a deletion', deletion, asDesired(), 'notRead, notRead'],
    ];
    for (const [situation, desires, seen, expected] of rows)
      it(`${situation}: ${expected}`, () => {
        const { profile, role } = planFor(desires, seen);
        expect(`${profile}, ${role}`).to.equal(expected);
      });
  });

  it('names the fields in which a profile differs', () => {
    const fields = (field: string, isSpecFixed: boolean, name = PROFILE) =>
      newReason('SpecDiffers', { name, fields: [field], isSpecFixed });
    expect(planFor(plain, withProfile(OTHER)).end).to.deep.equal(fields(SELECTORS_DIFFER, false));
    const former = living({
      spec: { profileName: PROFILE },
      record: { in: HERE, profiles: [SERVED_FORMER] },
      status: PROVISIONED,
    });
    expect(planFor(former, withFormer({})).end).to.deep.equal(
      fields('the name is former in AWS, but team-a_web in the spec', true, FORMER),
    );
  });

  it('names the profile that another management cluster has made, by the id that take-over needs', () => {
    const { end } = planFor(deleted(ELSEWHERE, { abandonment: 'removeFinalizer' }), withStranger());
    const facts = { name: FORMER, id: PROFILE_ID, isDeleting: true, abandonment: 'removeFinalizer' };
    expect(end).to.have.property('facts').that.deep.equals(facts);
    expect(planFor(living(ELSEWHERE), withStranger())).to.have.nested.property('end.facts.isDeleting', false);
  });

  it('names the profile that is created after the one that EKS is changing, if any', () => {
    const factsOf = (desires: Desires, seen: Observed) => {
      const { end } = planFor(desires, seen);
      return typeof end === 'string' ? end : end.facts;
    };
    const both = { name: PROFILE, successor: PROFILE };
    const inOtherSubnets = withProfile({ status: 'CREATING', subnets: ['subnet-0f'] });
    expect(factsOf(ofSpec(oneSubnet), inOtherSubnets)).to.deep.equal(both);
    expect(factsOf(plain, withStatus('DELETING'))).to.deep.equal(both);
    expect(factsOf(blocked(), withStatus('DELETING')), 'nothing may be created').to.deep.equal({ name: PROFILE });
    expect(factsOf(deletion, withStatus('DELETING'))).to.deep.equal({ name: PROFILE });
  });

  it('tells whether the EKS cluster that is not found is that of a Cluster', () => {
    for (const [clusterName, isOfObject] of [
      [TARGET.clusterName, false],
      [undefined, true],
    ] as const) {
      const over = { target: { ...TARGET, clusterName } };
      for (const desires of [living({}, over), deleted(WITHOUT_RECORD, over)])
        expect(planFor(desires, GONE)).to.have.nested.property('end.facts.isOfObject', isOfObject);
    }
  });

  it('names the role to look for in an unknown account, unless the spec brings it or it is foreign', () => {
    for (const [spec, seen, role] of [
      [{}, GONE, ROLE],
      [{}, ROLE_OF_GONE, ROLE],
      [{}, observed({ cluster: 'gone', role: aRole({ tags: {} }) }), undefined],
      [{ roleARN: ROLE_ARN }, { ...GONE, roles: [] }, undefined],
    ] as const)
      expect(planFor(deleted({ ...WITHOUT_RECORD, spec }), seen)).to.have.nested.property('end.facts.role', role);
  });

  it('names the profile that new pods get while a former one stays', () => {
    for (const [former, taker] of [
      ['former', 'former'],
      ['zone', PROFILE],
    ] as const) {
      const name = ProfileName.of(former);
      const { profiles, ...rest } = asDesired();
      const [notice] = planFor(replaceable, { ...rest, profiles: [...profiles, aProfile({ name })] }).notices;
      expect(notice?.facts).to.include({ name: PROFILE, predecessor: former, taker });
      const selectors = [{ namespace: 'of-no-pod-of-the-wanted-profile', labels: {} }];
      const disjoint = { ...rest, profiles: [...profiles, aProfile({ name, selectors })] };
      expect(planFor(replaceable, disjoint).notices[0]?.facts).to.include({ predecessor: former, taker: undefined });
    }
    const [removal] = planFor(succeeded, withFormer({}, {})).notices;
    expect(removal?.facts).to.deep.equal({ name: PROFILE, predecessor: FORMER });
  });

  describe('chooses for status', () => {
    const [FAILED, OTHER_ID] = [{ status: 'CREATE_FAILED' }, { arn: 'a/b/c/former' }];
    const sameName = living({
      spec: { ...replacing, roleName: RoleName.of(PROFILE) },
      record: { in: HERE, profiles: [SERVED_FORMER], roles: [{ name: RoleName.of(PROFILE), id: aRole().id }] },
    });
    const strippedRole = aRole({ name: RoleName.of(PROFILE), tags: {} });
    const rows: readonly (readonly [situation: string, desires: Desires, seen: Observed, shown: string])[] = [
      ['the profile that differs, and not the former one', renamed(), withFormer({}, OTHER), PROFILE],
      ['the profile that blocks the deletion of the EKS cluster', retaining(), withFormer({}, FAILED), PROFILE],
      [
        'the former profile that serves pods, although a role without tags has the name of the failed one',
        sameName,
        { ...withFormer({}, FAILED), roles: [{ name: strippedRole.name, found: strippedRole }] },
        FORMER,
      ],
      [
        'the ACTIVE profile of a deleted object, which EKS lists after a failed one',
        deletion,
        withFormer(OTHER_ID, FAILED),
        FORMER,
      ],
      [
        'the ACTIVE profile of a deleted object, which EKS lists before a failed one',
        deletion,
        withFormer({ ...FAILED, ...OTHER_ID }, {}),
        PROFILE,
      ],
    ];
    for (const [situation, desires, seen, shown] of rows)
      it(situation, () => expect(planFor(desires, seen).shown).to.equal(shown));
  });

  it('advises about the health issues of a profile that matches the spec', () => {
    const health = [{ code: 'PodExecutionRoleAlreadyInUse', message: 'in use', resourceIds: [] }];
    const foreign = aProfile({ name: FORMER, tags: FOREIGN_TAGS });
    const adviceOn = (over: Partial<FargateProfile>): readonly string[] => {
      const seen = { ...asDesired(), profiles: [foreign, aProfile({ health, ...over })] };
      return planFor(plain, seen).advice.map(({ event }) => event);
    };
    expect(adviceOn({})).to.deep.equal(['UnhealthyEKSFargateProfile']);
    expect(adviceOn(OTHER)).to.deep.equal([]);
  });

  it('says why a profile or role may still appear during a deletion', () => {
    const planWith = (change: Partial<Desired>) => planFor(deleted(WITHOUT_RECORD, {}, change), observed());
    expect(planWith({ isLost: true }))
      .to.have.nested.property('end.facts.detail')
      .that.includes('has no record');
    expect(planWith(unansweredRole)).to.have.nested.property('end.facts.detail').that.includes('has not answered');
  });

  it('names what prevents the adoption of a foreign profile', () => {
    expect(planFor(always, withProfile({ ...OTHER, status: 'CREATE_FAILED', tags: {} })))
      .to.have.nested.property('end.facts.obstacles')
      .that.deep.equals(['status is CREATE_FAILED instead of ACTIVE', SELECTORS_DIFFER]);
  });

  it('calls no value of the control plane, and no default, a value in the spec', () => {
    const found = withProfile({ subnets: ['subnet-x'], podExecutionRoleArn: SHARED_ROLE_ARN, tags: {} });
    expect(planFor(always, found))
      .to.have.nested.property('end.facts.obstacles')
      .that.deep.equals([
        'subnets are subnet-x in AWS, but subnet-0a, subnet-0b in the control plane (spec.subnetIDs is not set)',
        `pod execution role is ${SHARED_ROLE_ARN} in AWS, but ${ROLE_ARN} by default (spec.roleARN is not set)`,
      ]);
  });

  it('names the adoptionPolicy that would adopt a foreign profile, if any', () => {
    const adoptionOf = (policy: AdoptionPolicy, tags: Readonly<Record<string, string>>) => {
      const planned = planFor(ofSpec({ adoptionPolicy: policy }), withStatus('ACTIVE', tags));
      return typeof planned.end !== 'string' && planned.end.name === 'ProfileNotOwned'
        ? planned.end.facts.adoption
        : describePlan(planned);
    };
    expect(adoptionOf('Owned', {}), 'no owner').to.equal('Always');
    expect(adoptionOf('Never', {}), 'no owner').to.equal('Always');
    expect(adoptionOf('Never', CAPA_TAGS), 'Cluster API Provider AWS').to.equal('Owned');
    for (const policy of ['Owned', 'Always', 'Never'] as const)
      expect(adoptionOf(policy, FOREIGN_TAGS), 'another object').to.equal(undefined);
  });

  it('says that adoptionPolicy Never forbids the adoption of a profile of Cluster API Provider AWS', () => {
    expect(planFor(never, withStatus('ACTIVE', CAPA_TAGS)))
      .to.have.nested.property('end.facts.whose')
      .that.contains('Cluster API Provider AWS, and spec.adoptionPolicy Never forbids its adoption');
  });

  it('creates the profile with the values of the spec', () => {
    const spec = {
      subnetIDs: ['subnet-0c'],
      selectors: [{ namespace: 'web', labels: { a: 'x' } }],
      additionalTags: { team: 'x' },
    };
    expect(planFor(ofSpec(spec), withRoleAlone(TAGGED_ROLE)).changes).to.deep.equal([
      {
        mutation: {
          kind: 'createProfile',
          profile: {
            cluster: 'team-a_prod-control-plane',
            name: PROFILE,
            podExecutionRoleArn: ROLE_ARN,
            subnets: ['subnet-0c'],
            selectors: [{ namespace: 'web', labels: { a: 'x' } }],
            tags: { ...PROFILE_TAGS, ...recordTag('tag team'), team: 'x' },
          },
        },
      },
    ]);
  });
});
