import { expect } from 'chai';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import type { Plan } from '../model/change.ts';
import { messageOf, newReason } from '../reasons/reasons.ts';
import {
  type ObjectParts,
  CLUSTER_ARN,
  EKS_CLUSTER_TAG,
  HERE,
  NAMESPACE_TAG,
  NOW,
  FULL_RECORD,
  POD_EXECUTION_POLICY,
  PROFILE,
  PROFILE_ID,
  RECORDED,
  ROLE,
  ROLE_ARN,
  ROLE_TAGS,
  aProfile,
  aRole,
  asDesired,
  observed,
  sharedBy,
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
import { type Desires, living, testPlans, withPlan } from '../testing/plan-tables.ts';
import { plan } from './plan.ts';

const LOGS = 'arn:aws:iam::aws:policy/CloudWatchLogs';
const THEIRS = 'arn:aws:iam::111122223333:policy/theirs';
const BOUND = 'arn:aws:iam::111122223333:policy/bound';

const CREATE_PROFILE = 'create profile; stop: Creating';
const CREATE_ROLE = `create role; attach pod policy; ${CREATE_PROFILE}`;
const CREATE_SHARED = 'create role /shared; attach pod policy; create profile with /shared; stop: Creating';
const USE_SHARED = 'create profile with /shared; stop: Creating';
const DENIED = 'stop: NotAllowedByOperator';

/** Returns the tags of a role that record policies, a boundary, or tags that the controller has added to the role. */
const recording = (...additions: readonly string[]) => ({ ...ROLE_TAGS, ...recordTag(...additions) });
const alone = (role: Partial<FoundRole>): Observed => observed({ role: aRole(role) });
const liveOf = (role?: FoundRole): Observed => observed({ profile: aProfile(), role });
const live = (role?: Partial<FoundRole>): Observed => liveOf(role && aRole(role));
const sharedRole = (over: Partial<FoundRole> = {}): Observed => observed({ role: { ...SHARED_ROLE, ...over } });
const liveShared = (over: Partial<FoundRole> = {}): Observed =>
  observed({ profile: aProfile({ podExecutionRoleArn: SHARED_ROLE_ARN }), role: { ...SHARED_ROLE, ...over } });

const ofSpec = (spec: Partial<AWSFargateProfileSpec>): Desires => living({ spec });
const plain = living();
const provisioned = living({ record: FULL_RECORD, status: PROVISIONED });
/** The record shows that the profile has never been ACTIVE and matched the spec. */
const unserved = (spec: Partial<AWSFargateProfileSpec> = {}): Desires =>
  living({ spec, record: { in: HERE, profiles: [{ name: PROFILE, id: PROFILE_ID }] } });
const bounded = ofSpec({ rolePermissionsBoundary: BOUND });
const logged = ofSpec({ roleAdditionalPolicies: [LOGS] });
const NOT_READY = { creationBlocker: newReason('WaitingForEKSControlPlane', { detail: '', remedy: 'Wait' }) };
const notReady = living({}, {}, NOT_READY);
/** The record contains another owner's role, which an earlier reconcile has used. */
const usedBefore = (name: RoleName) => ({ in: HERE, roles: [{ name, id: 'AROATHEIRS', managed: false as const }] });
const BY = { permissionsBoundary: BOUND };
const BY_US = { ...BY, tags: recording(`boundary ${BOUND}`) };
const LOGGED = { attached: [POD_EXECUTION_POLICY, LOGS] };
const LOGGED_BY_US = { ...LOGGED, tags: recording(`policy ${LOGS}`) };
const EXCLUDED_BY_US = {
  ...BY,
  attached: [POD_EXECUTION_POLICY, THEIRS],
  tags: recording(`boundary ${BOUND}`, `policy ${THEIRS}`),
};
const TAGGED = { tags: { ...ROLE_TAGS, team: 'x' } };
const TAGGED_BY_US = { tags: { ...recording('tag team'), team: 'x' } };
const PUT_BY_OTHERS = { ...BY, ...LOGGED, ...TAGGED };
const TOLD_BY_STATUS: AWSFargateProfileStatus = {
  role: { name: ROLE, managed: true, attachedPolicies: [LOGS], ...BY },
};
const OF_CAPA = { tags: CAPA_TAGS };
const OF_NAMESPACE = { tags: { ...ROLE_TAGS, [NAMESPACE_TAG]: 'team-b' } };
const OF_CLUSTER = { tags: { [EKS_CLUSTER_TAG]: 'arn:aws:eks:eu-north-1:111122223333:cluster/x' } };
const SHARED = { name: SHARED_ROLE_NAME };

const disputed = living(
  { spec: { roleName: SHARED_ROLE_NAME } },
  sharedBy({
    roleConflict: newReason('RoleSettingsConflict', {
      name: SHARED_ROLE_NAME,
      other: 'AWSFargateProfile team-a/older',
      settings: ['rolePath'],
      isSpecFixed: false,
    }),
  }),
);

const FORMER_ROLE = RoleName.of('former-role');
const elsewhere = { rolePath: '/team-a/' };

/**
 * Returns the desired state under limits that the operator sets by flags of the manager. The limits require a
 * permissions boundary. They allow only roles below the path `/pods/` and policies that AWS manages.
 */
const limited = (spec: Partial<AWSFargateProfileSpec>, parts: ObjectParts = {}): Desires =>
  living(
    { spec, ...parts },
    {
      limits: {
        permissionsBoundary: BOUND,
        roleArns: ['arn:aws:iam::111122223333:role/pods/*'],
        policyArns: ['arn:aws:iam::aws:policy/*'],
      },
    },
  );
const limitedPolicy = limited({ roleAdditionalPolicies: [THEIRS] });
const limitedLogs = limited({ roleAdditionalPolicies: [LOGS] });
const limitedBoundary = { rolePermissionsBoundary: THEIRS };
const limitedName = limited({ roleName: SHARED_ROLE_NAME });
const limitedNameAndPolicy = limited({ roleName: SHARED_ROLE_NAME, roleAdditionalPolicies: [THEIRS] });
const limitedArn = { roleARN: SHARED_ROLE_ARN };

const nameInCapitals = { roleName: RoleName.of('SHARED') };
const CAPA_ROLE = RoleName.of('eks-fargate.cluster-api-provider-aws.sigs.k8s.io');
const ofCapa = ofSpec({ roleName: CAPA_ROLE });
const [shared, brought] = [ofSpec({ roleName: SHARED_ROLE_NAME }), ofSpec({ roleARN: SHARED_ROLE_ARN })];
const movedAmongForeign = ofSpec({ profileName: PROFILE, ...elsewhere });

const planFor = (desires: Desires, seen: Observed): Plan => plan(desires(seen), seen);

describe('plan, about the role', () => {
  testPlans({
    "for a spec beyond the operator's limits, which": [
      ...withPlan(
        DENIED,
        ['names a role, and the profile does not exist', limited(limitedArn), sharedRole()],
        [
          'names another role before the profile has served',
          limited(limitedArn, { record: { in: HERE, profiles: [{ name: PROFILE, id: PROFILE_ID }] } }),
          observed({ profile: aProfile({ createdAt: NOW }), role: SHARED_ROLE }),
        ],
        ['names a foreign role in spec.roleName', limitedName, sharedRole()],
        ['has another permissions boundary', limited(limitedBoundary), observed()],
        ['names a policy', limitedPolicy, observed()],
      ),
      ...withPlan(
        'in order',
        ['names a role, and the profile exists', limited(limitedArn), liveShared()],
        ['names a policy that is attached', limitedPolicy, live({ ...BY, attached: [POD_EXECUTION_POLICY, THEIRS] })],
      ),
      ['names a policy that is not attached', limitedPolicy, live(BY), 'in order: NotAllowedByOperator'],
      ['names an allowed policy', limitedLogs, live(BY), 'tag role with added; attach CloudWatchLogs; in order'],
      [
        'gives a new role a name',
        limitedName,
        { ...observed(), roles: [{ ...SHARED, found: undefined }] },
        CREATE_SHARED.replace(';', ' with boundary;'),
      ],
      [
        'has another permissions boundary, and the profile exists',
        limited(limitedBoundary, { record: FULL_RECORD, status: PROVISIONED }),
        live({ permissionsBoundary: THEIRS }),
        'set boundary bound?; in order',
      ],
      ['has no permissions boundary', limited({}), alone({}), `set boundary bound; ${CREATE_PROFILE}`],
      ['names a policy and a foreign role, and the profile exists', limitedNameAndPolicy, liveShared(), 'in order'],
      ['names no role, and another namespace has it', limited({}), alone(OF_NAMESPACE), 'stop: RoleNotOwned'],
      ['names a role, which is ours', limitedName, alone({ ...SHARED, ...BY }), USE_SHARED],
    ],
    'for a managed role that': [
      ['CAPA created', plain, alone(OF_CAPA), 'tag role with eks-cluster,namespace; stop: ReadAgain'],
      ['CAPA created, and that spec.roleARN names', ofSpec({ roleARN: ROLE_ARN }), live(OF_CAPA), 'in order'],
      [
        'CAPA created, with a control plane that is not ready',
        notReady,
        live(OF_CAPA),
        'stop: WaitingForEKSControlPlane',
      ],
      ['belongs to another namespace of the EKS cluster', plain, alone(OF_NAMESPACE), 'stop: RoleNotOwned'],
      ['belongs to another EKS cluster', plain, alone(OF_CLUSTER), 'stop: RoleNotOwned'],
      ['was foreign and is gone', living({ record: usedBefore(ROLE) }), observed(), CREATE_ROLE],
      ['has a trust policy that is too wide', plain, live({ trust: TRUST_POLICIES.wide }), 'set trust; in order'],
      ['has the wanted trust policy in another form', plain, live({ trust: TRUST_POLICIES.oursReordered }), 'in order'],
      ['lacks the boundary', bounded, alone({}), `tag role with added; set boundary bound; ${CREATE_PROFILE}`],
      [
        'lacks the boundary, while the profile is ACTIVE',
        bounded,
        live({}),
        'tag role with added; set boundary bound; in order',
      ],
      [
        'lacks a tag, while the profile is ACTIVE',
        ofSpec({ additionalTags: { team: 'x' }, rolePermissionsBoundary: BOUND }),
        live(BY_US),
        'tag role with added,team?; tag profile with added,team?; in order',
      ],
      [
        'lacks a tag, while the profile is ACTIVE, and has a boundary of others',
        ofSpec({ additionalTags: { team: 'x' } }),
        live(BY),
        'tag role with added,team?; tag profile with added,team?; in order',
      ],
      [
        'has a boundary that the spec dropped, and whose profile has never served',
        unserved(),
        live(BY_US),
        'remove boundary; untag role of added?; in order',
      ],
      [
        'records a boundary in whose place another client has set another one',
        plain,
        live({ ...BY_US, permissionsBoundary: THEIRS }),
        'untag role of added?; in order',
      ],
      ['records a boundary that is gone', plain, live({ tags: BY_US.tags }), 'untag role of added?; in order'],
      [
        'lacks an additional policy',
        logged,
        alone({ attached: [] }),
        `tag role with added; attach pod policy; attach CloudWatchLogs; ${CREATE_PROFILE}`,
      ],
      [
        'has a policy that the spec dropped',
        plain,
        live(LOGGED_BY_US),
        'detach CloudWatchLogs; untag role of added?; in order',
      ],
      ['has a tag that the spec dropped', plain, live(TAGGED_BY_US), 'untag role of added,team?; in order'],
      [
        'has a tag that the spec dropped, but that another object wants on the role',
        living({}, sharedBy({ keysOfOthers: ['team'] })),
        live(TAGGED_BY_US),
        'in order',
      ],
      [
        'has a policy that the spec dropped, and an added tag',
        ofSpec({ additionalTags: { team: 'x' } }),
        live({ ...LOGGED, tags: { ...recording(`policy ${LOGS}`, 'tag team'), team: 'x' } }),
        'detach CloudWatchLogs; tag role with added?; tag profile with added,team?; in order',
      ],
      ['is gone under a live profile', provisioned, live(), 'create role; attach pod policy; stop: ReadAgain'],
      ['has another path', ofSpec(elsewhere), alone({}), 'strip pod policy; delete role; stop: ReadAgain'],
      ['has another path and is used by our profile', ofSpec(elsewhere), asDesired(), 'stop: SpecDiffers'],
      [
        'has another path and is used by our profile, which has never served',
        unserved(elsewhere),
        observed({ profile: aProfile({ createdAt: NOW }), role: aRole() }),
        'delete different profile; stop: DeletingProfile',
      ],
      [
        'has another path and is used by a foreign profile',
        movedAmongForeign,
        observed({ profile: aProfile({ name: ProfileName.of('former'), tags: FOREIGN_TAGS }), role: aRole() }),
        'stop: RoleSettingsConflict',
      ],
    ],
    'leaves on a managed role': withPlan(
      'in order',
      ['a boundary that another client set', plain, live(BY)],
      ['a boundary that the spec lost once provisioned, by a foreign CRD', provisioned, live(BY_US)],
      ['a boundary that the spec lost with status, by a foreign CRD', living({ record: FULL_RECORD }), live(BY_US)],
      ['a policy that the limits do not allow any more', limitedPolicy, live(EXCLUDED_BY_US)],
      ['a policy that another client attached', plain, live({ attached: [POD_EXECUTION_POLICY, THEIRS] })],
      [
        'the policy of each role, which the spec once named too',
        plain,
        live({ tags: recording(`policy ${POD_EXECUTION_POLICY}`) }),
      ],
      [
        'a boundary, a policy and a tag that only status tells',
        living({ status: TOLD_BY_STATUS }),
        live(PUT_BY_OTHERS),
      ],
      ['a tag that another client set', plain, live(TAGGED)],
    ),
    'for a role for which an older object has other settings, which': [
      ['does not exist: the older object creates it', disputed, observed(), 'stop: RoleSettingsConflict'],
      ['is ours', disputed, alone({ ...SHARED, attached: [] }), 'stop: RoleSettingsConflict'],
      ['is foreign, and serves both objects unchanged', disputed, sharedRole(), USE_SHARED],
    ],
    'for a role that IAM has in other capital letters than the spec, and that': [
      ['is ours, and serves the new profile under its own ARN', ofSpec(nameInCapitals), alone(SHARED), USE_SHARED],
      ['is ours, and the profile uses it', ofSpec(nameInCapitals), liveShared(aRole(SHARED)), 'in order'],
      [
        'was foreign and is gone',
        living({ spec: nameInCapitals, record: usedBefore(SHARED_ROLE_NAME) }),
        observed(),
        'stop: RoleNotFound',
      ],
    ],
    'for a role that the spec names, and that': [
      ['is foreign', shared, sharedRole(), USE_SHARED],
      [
        'trusts Fargate for this profile alone',
        shared,
        sharedRole({ trust: TRUST_POLICIES.ours.replaceAll('/*', `/${PROFILE}/*`) }),
        USE_SHARED,
      ],
      ['does not trust Fargate', shared, sharedRole({ trust: TRUST_POLICIES.forNodes }), 'stop: RoleTrustInvalid'],
      [
        'is foreign and has another path',
        shared,
        alone({ ...SHARED, tags: {}, path: '/x/' }),
        'create profile with /x/shared; stop: Creating',
      ],
      ['does not exist', shared, observed(), CREATE_SHARED],
      [
        'does not exist, after a foreign role with another name',
        living({ spec: { roleName: SHARED_ROLE_NAME }, record: usedBefore(FORMER_ROLE) }),
        observed(),
        CREATE_SHARED,
      ],
      [
        'is ours, has another path, and our profile uses it',
        ofSpec({ roleName: SHARED_ROLE_NAME, ...elsewhere }),
        liveShared({ tags: ROLE_TAGS }),
        'stop: SpecDiffers',
      ],
      ...withPlan(
        'stop: RoleNotFound',
        [
          'was foreign and is gone',
          living({ spec: { roleName: SHARED_ROLE_NAME }, record: usedBefore(SHARED_ROLE_NAME) }),
          observed(),
        ],
        ['is the shared role of CAPA and does not exist', ofCapa, observed()],
        ['is not there under the ARN in spec.roleARN', brought, observed()],
        [
          'has another path than the ARN in spec.roleARN',
          brought,
          liveShared(aRole({ ...SHARED, path: '/x/', tags: {} })),
        ],
      ),
      ['has the ARN in spec.roleARN', brought, sharedRole(), USE_SHARED],
      ['has the ARN in spec.roleARN, and drifted', brought, liveShared({ tags: ROLE_TAGS, attached: [] }), 'in order'],
    ],
  });

  it('rejects a role beyond the limits with the same reason whether or not it exists, and whatever it trusts', () => {
    const { end } = planFor(limited(limitedArn), observed());
    expect(end).to.have.property('name', 'NotAllowedByOperator');
    for (const over of [{}, { trust: TRUST_POLICIES.forNodes }])
      expect(planFor(limited(limitedArn), sharedRole(over)).end).to.deep.equal(end);
  });

  it('creates nothing beyond the limits even if the status says that the object was provisioned', () => {
    const status = { ...RECORDED, ...PROVISIONED, profileName: PROFILE };
    for (const parts of [{ status }, { status, metadata: { annotations: {} } }])
      expect(describePlan(planFor(limited({ roleAdditionalPolicies: [THEIRS] }, parts), observed()))).to.equal(DENIED);
  });

  describe('and the authentication mode of the EKS cluster', () => {
    const BROUGHT = RoleArn.of('arn:aws:iam::111122223333:role/team-a/pods');
    const foreign = { role: aRole({ name: RoleName.of('pods'), path: '/team-a/', arn: BROUGHT, tags: {} }) };
    const role = aRole({ path: '/team-a/', arn: RoleArn.of(`arn:aws:iam::111122223333:role/team-a/${ROLE}`) });
    const using = (status: string) => ({ role, profile: aProfile({ podExecutionRoleArn: role.arn, status }) });
    const byPath = ofSpec(elsewhere);
    const entryIn = { accessEntries: [{ principal: role.arn, mode: 'CONFIG_MAP', found: undefined }] };
    const CREATE = `create role /team-a/${ROLE}; attach pod policy; create profile with /team-a/${ROLE}; stop: Creating`;
    const NOT_MAPPED = 'stop: RolePathNotMapped';
    type Seen = Parameters<typeof observed>[0];

    for (const [field, desires, seen] of [
      ['spec.rolePath', byPath, { role }],
      ['spec.roleARN', ofSpec({ roleARN: BROUGHT }), foreign],
      ['spec.roleName', ofSpec({ roleName: RoleName.of('pods') }), foreign],
    ] as const)
      it(`stops with the name of ${field} when the EKS cluster cannot map the path`, () =>
        expect(planFor(desires, observed({ ...seen, authenticationMode: 'CONFIG_MAP' })).end).to.nested.include({
          name: 'RolePathNotMapped',
          'facts.field': field,
        }));

    it('leads to advice if the profile is ACTIVE', () => {
      const seen = observed({ ...using('ACTIVE'), authenticationMode: 'CONFIG_MAP' });
      expect(planFor(byPath, seen).advice).to.have.nested.property('[0].event', 'RolePathNotMapped');
    });

    const attempted = { in: HERE, profiles: [{ name: PROFILE, id: PROFILE_ID }] };
    const rows: readonly (readonly [situation: string, desires: Desires, seen: Seen, mode: string, plan: string])[] = [
      ['rolePath', byPath, {}, 'API_AND_CONFIG_MAP', CREATE],
      ['rolePath', byPath, {}, 'unreadable', CREATE],
      ['the path /', ofSpec({ rolePath: '/' }), {}, 'CONFIG_MAP', CREATE_ROLE],
      ['an ACTIVE profile', byPath, using('ACTIVE'), 'CONFIG_MAP', 'in order'],
      [
        'a profile that differs and is replaced',
        living({ spec: elsewhere, record: attempted }),
        { role, profile: aProfile({ podExecutionRoleArn: role.arn, selectors: [], createdAt: NOW }) },
        'CONFIG_MAP',
        NOT_MAPPED,
      ],
      [
        'a provisioned profile that was deleted in AWS',
        living({ spec: elsewhere, record: FULL_RECORD, status: PROVISIONED }),
        { role, ...entryIn },
        'CONFIG_MAP',
        `create profile with /team-a/${ROLE}; stop: Creating`,
      ],
      [
        'a control plane that is not ready',
        living({ spec: elsewhere }, {}, NOT_READY),
        {},
        'CONFIG_MAP',
        'stop: WaitingForEKSControlPlane',
      ],
    ];
    for (const [situation, desires, seen, authenticationMode, expected] of rows)
      it(`${situation}, in mode ${authenticationMode}: ${expected}`, () => {
        expect(describePlan(planFor(desires, observed({ ...seen, authenticationMode })))).to.equal(expected);
      });
  });

  it('names spec.roleName for a missing role of CAPA only if the spec contains it', () => {
    const [name, arn] = [CAPA_ROLE, RoleArn.of(`arn:aws:iam::111122223333:role/${CAPA_ROLE}`)];
    const seen = {
      ...observed({ profile: aProfile({ podExecutionRoleArn: arn }) }),
      roles: [{ name, found: undefined }],
    };
    const recorded = living({ record: { ...FULL_RECORD, roles: [{ name }] } });
    expect(planFor(ofCapa, seen)).to.have.nested.property('end.facts.field', 'spec.roleName');
    expect(planFor(recorded, seen).end).to.have.property('name', 'RoleNotFound');
    expect(planFor(recorded, seen)).to.not.have.nested.property('end.facts.field');
  });

  const messageFor = (spec: Partial<AWSFargateProfileSpec>, seen: Observed, status: AWSFargateProfileStatus = {}) => {
    const { end } = planFor(living({ spec, status }), seen);
    return typeof end === 'string' ? end : `${end.name}: ${messageOf(end)}`;
  };

  describe('and the advice about a role that the controller may not change', () => {
    const ofOtherCluster = TRUST_POLICIES.ours.replaceAll('eu-west-1', 'eu-north-1');
    const clusterTags = { ...ROLE_TAGS, [EKS_CLUSTER_TAG]: CLUSTER_ARN.replace('eu-west-1', 'eu-north-1') };

    it('names spec.roleARN only if Fargate may use the role for this EKS cluster', () => {
      const adviceWith = (trust: string) => messageFor({}, alone({ tags: clusterTags, trust }));
      const [use, evade] = [
        `set spec.roleARN to ${ROLE_ARN}`,
        'To let the controller create a role with another name, set spec.roleName',
      ];
      expect(adviceWith(TRUST_POLICIES.wide)).to.include(`${use}. ${evade}. If`);
      expect(adviceWith(ofOtherCluster)).to.include(`does not change or delete it. ${evade}. If`);
    });

    it('asks for the right principal, or for the right condition, or for the removal of a denial', () => {
      const adviceWith = (trust: string) => messageFor({ roleName: SHARED_ROLE_NAME }, sharedRole({ trust }));
      expect(adviceWith(TRUST_POLICIES.forNodes)).to.match(
        /the principal must be the service \S+, and the action sts:AssumeRole\. The controller keeps retrying\.$/,
      );
      expect(adviceWith(ofOtherCluster)).to.match(
        /EKS sends aws:SourceArn \S+\. Fix this condition in the trust policy of the role, so that it allows what EKS sends\. The controller keeps retrying\.$/,
      );
      expect(adviceWith(TRUST_POLICIES.wide.replace('Allow', 'Deny'))).to.match(
        /to call sts:AssumeRole\. Remove the statement that denies this from the trust policy of the role\. The controller keeps retrying\.$/,
      );
    });
  });

  describe('of spec.roleARN that IAM knows under another ARN', () => {
    const otherPath = RoleArn.of('arn:aws:iam::111122223333:role/x/shared');
    for (const [difference, name, roleARN] of [
      ['another path', 'shared', otherPath],
      ['other capital letters', 'Shared', RoleArn.of('arn:aws:iam::111122223333:role/Shared')],
    ] as const)
      it(`with ${difference} is not used, and the message names the right ARN`, () => {
        expect(messageFor({ roleARN }, sharedRole())).to.equal(
          `RoleNotFound: IAM role "${name}" has the ARN ${SHARED_ROLE_ARN}, but spec.roleARN is ${roleARN}. ` +
            'Set spec.roleARN to the ARN of the role. The controller then continues.',
        );
      });

    it('is to be created or replaced in the spec if a new profile is to use it, and pods start meanwhile', () => {
      const spec = {
        roleARN: RoleArn.of('arn:aws:iam::111122223333:role/new'),
        updateStrategy: { type: 'Replace' },
      } as const;
      expect(messageFor(spec, observed({ profile: aProfile() }), PROVISIONED)).to.match(
        /^RoleNotFound: IAM role "new" \(spec\.roleARN\) does not exist\. .* Create the role with .*, or fix spec\.roleARN\. /,
      );
    });

    it('is to be recreated once the object is provisioned, because the API server refuses another ARN', () => {
      expect(messageFor({ roleARN: otherPath }, sharedRole(), PROVISIONED)).to.match(
        /\. Recreate the role with the ARN in status\.podExecutionRoleARN, with a trust policy for .* and the policy \w+, or create another AWSFargateProfile /,
      );
    });
  });
});
