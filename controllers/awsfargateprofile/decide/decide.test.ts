import { expect } from 'chai';
import { ProfileName } from '../../../api/names.ts';
import type { AdoptionPolicy } from '../../../api/v1beta2/index.ts';
import { markRoleInUse } from '../aws/apply-outcome.ts';
import { decide } from './decide.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { newReason } from '../reasons/reasons.ts';
import {
  CAPA_TAG,
  OWNER_TAG,
  PROFILE,
  PROFILE_TAGS,
  ROLE,
  ROLE_ARN,
  aDeletedObject,
  aProfile,
  aRole,
  anObject,
  asWanted,
  desiredOf,
  desiredOfDeletion,
  observed,
} from '../testing/builders.ts';
import { withoutRoles } from '../testing/pass-state.ts';
import { TRUST_POLICIES } from '../testing/expected-state.ts';
import {
  CREATE_REQUESTED,
  CAPA_TAGS,
  FOREIGN_TAGS,
  PROVISIONED,
  SHARED_ROLE_NAME,
  SHARED_ROLE_ARN,
  SHARED_ROLE,
  desiredOnDeletion,
  desiredFrom,
} from '../testing/fixtures.ts';
import { describeDecision } from '../testing/mutations.ts';
import type { Location } from '../model/location.ts';

const THEIRS = 'arn:aws:iam::111122223333:policy/theirs';

const other = aProfile({ selectors: [{ namespace: 'other', labels: {} }] });
const otherStatus = (status: string, tags: Readonly<Record<string, string>> = PROFILE_TAGS): Observed =>
  observed({ profile: aProfile({ status, tags }), role: aRole() });

type Row = readonly [situation: string, desired: Desired, seen: Observed, decision: string];

const TABLES: Readonly<Record<string, readonly Row[]>> = {
  'an object that is not being deleted': [
    ['neither role nor profile exist', desiredFrom(), observed(), `create role /${ROLE}`],
    [
      'the role exists without policies',
      desiredFrom(),
      observed({ role: aRole({ attached: [] }) }),
      'attachPolicy AmazonEKSFargatePodExecutionRolePolicy',
    ],
    ['the role exists', desiredFrom(), observed({ role: aRole() }), `create profile ${PROFILE} with fargate`],
    ['role and profile are as wanted', desiredFrom(), asWanted(), 'settled'],
    ['the EKS cluster is gone', desiredFrom(), observed({ cluster: 'gone' }), 'stop: EKSClusterNotFound'],
    ['the profile is being created', desiredFrom(), otherStatus('CREATING'), 'stop: Creating'],
    ['another client is deleting the profile', desiredFrom(), otherStatus('DELETING'), 'stop: DeletingProfile'],
    [
      'the creation of the profile failed',
      desiredFrom(),
      otherStatus('CREATE_FAILED'),
      `delete profile ${PROFILE}, failed`,
    ],
    [
      'the deletion of the profile failed',
      desiredFrom(),
      otherStatus('DELETE_FAILED'),
      `delete profile ${PROFILE}, failed`,
    ],
    ['the profile has an unknown status', desiredFrom(), otherStatus('PAUSED'), 'stop: UnknownProfileStatus'],
    [
      'another client has deleted the profile',
      desiredFrom({}, PROVISIONED),
      observed({ role: aRole() }),
      `create profile ${PROFILE} with fargate`,
    ],
  ],
  'an object for which nothing may be created': [
    ['the role is missing', withCreationBlocked(), observed(), 'stop: ClusterDeleting'],
    ['the profile is missing', withCreationBlocked(), observed({ role: aRole() }), 'stop: ClusterDeleting'],
    ['role and profile are as wanted', withCreationBlocked(), asWanted(), 'settled'],
    [
      'Cluster API Provider AWS created the profile',
      withCreationBlocked(),
      otherStatus('ACTIVE', CAPA_TAGS),
      'stop: ClusterDeleting',
    ],
    [
      'Cluster API Provider AWS failed to create the profile',
      withCreationBlocked(),
      otherStatus('CREATE_FAILED', CAPA_TAGS),
      'stop: ClusterDeleting',
    ],
    [
      'the profile has no owner, with adoptionPolicy Always',
      withCreationBlocked({ adoptionPolicy: 'Always' }),
      otherStatus('ACTIVE', {}),
      'stop: ClusterDeleting',
    ],
    [
      'the trust policy of the role has drifted',
      withCreationBlocked(),
      observed({ profile: aProfile(), role: aRole({ trust: TRUST_POLICIES.wide }) }),
      'setTrust',
    ],
  ],
  'a profile with the wanted name that belongs to': [
    ['another object', desiredFrom(), otherStatus('ACTIVE', FOREIGN_TAGS), 'stop: ProfileNotOwned'],
    ['no owner', desiredFrom(), otherStatus('ACTIVE', {}), 'stop: ProfileNotOwned'],
    [
      'Cluster API Provider AWS, which created it for this object',
      desiredFrom(),
      otherStatus('ACTIVE', CAPA_TAGS),
      `tag profile with ${OWNER_TAG}`,
    ],
    [
      'Cluster API Provider AWS, with adoptionPolicy Never',
      desiredFrom({ adoptionPolicy: 'Never' }),
      otherStatus('ACTIVE', CAPA_TAGS),
      'stop: ProfileNotOwned',
    ],
    [
      'no owner, as wanted, with adoptionPolicy Always',
      desiredFrom({ adoptionPolicy: 'Always' }),
      otherStatus('ACTIVE', {}),
      `tag profile with ${CAPA_TAG},${OWNER_TAG}`,
    ],
    [
      'no owner, being created, with adoptionPolicy Always',
      desiredFrom({ adoptionPolicy: 'Always' }),
      otherStatus('CREATING', {}),
      'stop: ProfileNotOwned',
    ],
    [
      'no owner, different, with adoptionPolicy Always',
      desiredFrom({ adoptionPolicy: 'Always' }),
      observed({ profile: { ...other, tags: {} }, role: aRole() }),
      'stop: ProfileNotOwned',
    ],
    [
      'another object, with adoptionPolicy Always',
      desiredFrom({ adoptionPolicy: 'Always' }),
      otherStatus('ACTIVE', FOREIGN_TAGS),
      'stop: ProfileNotOwned',
    ],
    [
      'another object, while the role does not exist',
      desiredFrom(),
      observed({ profile: aProfile({ tags: FOREIGN_TAGS }) }),
      'stop: ProfileNotOwned',
    ],
  ],
  'our profile that differs from the spec': [
    ['without records in status', desiredFrom(), observed({ profile: other, role: aRole() }), 'stop: SpecDiffers'],
    [
      'once provisioned',
      desiredFrom({ subnetIDs: ['subnet-0a'] }, PROVISIONED),
      observed({ profile: other, role: aRole() }),
      'stop: SpecDiffers',
    ],
    [
      'after a create, before it was provisioned',
      desiredFrom({}, CREATE_REQUESTED),
      observed({ profile: other, role: aRole() }),
      `delete profile ${PROFILE}, different`,
    ],
    [
      'after a create under another name',
      desiredFrom({ profileName: PROFILE }, { ...CREATE_REQUESTED, profileName: ProfileName.of('former') }),
      observed({ profile: other, role: aRole() }),
      'stop: SpecDiffers',
    ],
    [
      'still being created',
      desiredFrom({}, CREATE_REQUESTED),
      observed({ profile: { ...other, status: 'CREATING' }, role: aRole() }),
      'stop: WaitingForCreate',
    ],
    [
      'that failed',
      desiredFrom(),
      observed({ profile: { ...other, status: 'CREATE_FAILED' }, role: aRole() }),
      `delete profile ${PROFILE}, different`,
    ],
    [
      'in its selectors',
      desiredFrom(),
      observed({ profile: aProfile({ selectors: [] }), role: aRole() }),
      'stop: SpecDiffers',
    ],
    [
      'in its role',
      desiredFrom(),
      observed({ profile: aProfile({ podExecutionRoleArn: SHARED_ROLE_ARN }), role: aRole() }),
      'stop: SpecDiffers',
    ],
    [
      'in subnets that spec.subnetIDs names',
      desiredFrom({ subnetIDs: ['subnet-0a'] }),
      observed({ profile: aProfile({ subnets: ['subnet-0f'] }), role: aRole() }),
      'stop: SpecDiffers',
    ],
    [
      'in subnets alone, without spec.subnetIDs',
      desiredFrom({}, CREATE_REQUESTED),
      observed({ profile: aProfile({ subnets: ['subnet-0f'] }), role: aRole() }),
      'settled',
    ],
    [
      'in the order of subnets alone',
      desiredFrom(),
      observed({ profile: aProfile({ subnets: ['subnet-0b', 'subnet-0a'] }), role: aRole() }),
      'settled',
    ],
  ],
  'an object that is being deleted': [
    ['role and profile exist', desiredOnDeletion(), asWanted(), `delete profile ${PROFILE}, unwanted`],
    ['the profile is being created', desiredOnDeletion(), otherStatus('CREATING'), 'stop: WaitingForCreate'],
    ['the profile is being deleted', desiredOnDeletion(), otherStatus('DELETING'), 'stop: DeletingProfile'],
    ['the roles are unread', desiredOnDeletion(), withoutRoles(asWanted()), `delete profile ${PROFILE}, unwanted`],
    ['the profile is gone, and the roles are unread', desiredOnDeletion(), withoutRoles(observed()), 'observeAgain'],
    [
      'the profile is foreign, and the roles are unread',
      desiredOnDeletion(),
      withoutRoles(otherStatus('ACTIVE', FOREIGN_TAGS)),
      'observeAgain',
    ],
    [
      'the EKS cluster is gone, and the roles are unread',
      desiredOnDeletion(),
      withoutRoles(observed({ cluster: 'gone' })),
      'observeAgain',
    ],
    [
      'the creation of the profile failed',
      desiredOnDeletion(),
      otherStatus('CREATE_FAILED'),
      `delete profile ${PROFILE}, unwanted`,
    ],
    [
      'the deletion of the profile failed',
      desiredOnDeletion(),
      otherStatus('DELETE_FAILED'),
      `delete profile ${PROFILE}, unwanted`,
    ],
    ['the profile has an unknown status', desiredOnDeletion(), otherStatus('PAUSED'), 'stop: UnknownProfileStatus'],
    [
      'the profile differs from the spec',
      desiredOnDeletion(),
      observed({ profile: other, role: aRole() }),
      `delete profile ${PROFILE}, unwanted`,
    ],
    [
      'the profile is gone',
      desiredOnDeletion(),
      observed({ role: aRole() }),
      'detachPolicy AmazonEKSFargatePodExecutionRolePolicy, retiring',
    ],
    [
      'the role exists without policies',
      desiredOnDeletion(),
      observed({ role: aRole({ attached: [] }) }),
      `delete role ${ROLE}`,
    ],
    [
      'the role has a policy that another client attached',
      desiredOnDeletion(),
      observed({ role: aRole({ attached: [THEIRS] }) }),
      'detachPolicy theirs, retiring',
    ],
    [
      'the role has an inline policy',
      desiredOnDeletion(),
      observed({ role: aRole({ blockers: ['the inline policy "x"'] }) }),
      'stop: RoleBlocked',
    ],
    [
      'another AWSFargateProfile uses the role',
      desiredOnDeletion(),
      markRoleInUse(observed({ role: aRole() }), ROLE, 'AWSFargateProfile team-a/api'),
      'settled',
    ],
    [
      'the role is foreign',
      desiredOnDeletion({ roleName: SHARED_ROLE_NAME }),
      observed({ role: SHARED_ROLE }),
      'settled',
    ],
    [
      'a foreign profile uses our role',
      desiredOnDeletion(),
      observed({ profile: aProfile({ tags: FOREIGN_TAGS }), role: aRole() }),
      'settled',
    ],
    ['neither role nor profile exist', desiredOnDeletion(), observed(), 'settled'],
    [
      'the EKS cluster is gone',
      desiredOnDeletion(),
      observed({ cluster: 'gone', role: aRole({ attached: [] }) }),
      `delete role ${ROLE}`,
    ],
    [
      'the EKS cluster is not found, and the object records no location',
      onDeletionWithLocation('unknown'),
      observed({ cluster: 'gone', role: aRole({ attached: [] }) }),
      'stop: AccountUncertain',
    ],
    [
      'the EKS cluster is not found in the recorded account',
      onDeletionWithLocation('known'),
      observed({ cluster: 'gone' }),
      'settled',
    ],
    [
      'the EKS cluster is not found, and nothing was created',
      onDeletionWithLocation('none'),
      observed({ cluster: 'gone' }),
      'settled',
    ],
    [
      'neither role nor profile exist in an existing cluster, and the object records no location',
      onDeletionWithLocation('unknown'),
      observed(),
      'settled',
    ],
    ['the last create was not answered', withUnconfirmedCreate(), observed({ role: aRole() }), 'stop: Propagating'],
    [
      'the last create was not answered, and the EKS cluster is gone',
      withUnconfirmedCreate(),
      observed({ cluster: 'gone', role: aRole({ attached: [] }) }),
      `delete role ${ROLE}`,
    ],
  ],
  'an object with deletionPolicy Retain in a cluster that is being deleted': [
    ['role and profile exist', retaining(), asWanted(), 'stop: RetainBlocksClusterDeletion'],
    ['the profile is gone', retaining(), observed({ role: aRole() }), 'settled'],
    ['the EKS cluster is not found', retaining('unknown'), observed({ cluster: 'gone' }), 'settled'],
    ['the profile is foreign', retaining(), otherStatus('ACTIVE', FOREIGN_TAGS), 'settled'],
  ],
};

describe('decide', () => {
  for (const [topic, rows] of Object.entries(TABLES)) {
    describe(topic, () => {
      for (const [situation, desired, seen, decision] of rows) {
        it(`${situation}: ${decision}`, () => expect(describeDecision(decide(desired, seen))).to.equal(decision));
      }
    });
  }

  describe('after a change of the profile name', () => {
    const former = ProfileName.of('former');
    const desired = desiredFrom({ profileName: PROFILE }, { ...CREATE_REQUESTED, profileName: former });
    const seen = (profiles: Observed['profiles']): Observed => ({ ...observed({ role: aRole() }), profiles });

    it('deletes the profile with the former name first', () => {
      const both = seen([
        { name: PROFILE, found: undefined },
        { name: former, found: aProfile({ name: former }) },
      ]);
      expect(describeDecision(decide(desired, both))).to.equal('delete profile former, unwanted');
    });

    it('deletes nothing while a foreign profile has the new name', () => {
      const taken = seen([
        { name: PROFILE, found: aProfile({ tags: FOREIGN_TAGS }) },
        { name: former, found: aProfile({ name: former }) },
      ]);
      expect(describeDecision(decide(desired, taken))).to.equal('stop: ProfileNotOwned');
    });

    it('deletes nothing of a provisioned object, and says that the names differ', () => {
      const provisioned = desiredFrom({ profileName: PROFILE }, { ...PROVISIONED, profileName: former });
      for (const tags of [PROFILE_TAGS, FOREIGN_TAGS, {}]) {
        const both = seen([
          { name: PROFILE, found: undefined },
          { name: former, found: aProfile({ name: former, tags }) },
        ]);
        expect(decide(provisioned, both)).to.deep.equal({
          kind: 'stop',
          reason: newReason('SpecDiffers', {
            name: former,
            fields: ['the name is former in AWS, but team-a_web in the spec'],
            isProvisioned: true,
          }),
        });
      }
    });

    it('creates the profile with the new name if another client has deleted the provisioned profile', () => {
      const provisioned = desiredFrom({ profileName: PROFILE }, { ...PROVISIONED, profileName: former });
      const none = seen([
        { name: PROFILE, found: undefined },
        { name: former, found: undefined },
      ]);
      expect(describeDecision(decide(provisioned, none))).to.equal(`create profile ${PROFILE} with fargate`);
    });

    it('waits for the profile of an unanswered create with the former name', () => {
      const object = anObject({
        spec: { profileName: PROFILE },
        status: { ...CREATE_REQUESTED, profileName: former },
      });
      const pending = desiredOf(object, { isCreateUnconfirmed: true });
      const none = seen([
        { name: PROFILE, found: undefined },
        { name: former, found: undefined },
      ]);
      expect(describeDecision(decide(pending, none))).to.equal('stop: Propagating');
    });
  });

  it('names the fields in which a profile differs', () => {
    const decision = decide(desiredFrom(), observed({ profile: other, role: aRole() }));
    expect(decision).to.deep.equal({
      kind: 'stop',
      reason: newReason('SpecDiffers', {
        name: PROFILE,
        fields: ['selectors are "namespace other" in AWS, but "namespace web" in the spec'],
        isProvisioned: false,
      }),
    });
  });

  it('names the adoptionPolicy that would adopt a foreign profile, if any', () => {
    const adoptionOf = (policy: AdoptionPolicy, tags: Readonly<Record<string, string>>) => {
      const decision = decide(desiredFrom({ adoptionPolicy: policy }), otherStatus('ACTIVE', tags));
      return decision.kind === 'stop' && decision.reason.name === 'ProfileNotOwned'
        ? decision.reason.facts.adoption
        : describeDecision(decision);
    };
    expect(adoptionOf('Owned', {}), 'no owner').to.equal('Always');
    expect(adoptionOf('Never', {}), 'no owner').to.equal('Always');
    expect(adoptionOf('Never', CAPA_TAGS), 'Cluster API Provider AWS').to.equal('Owned');
    for (const policy of ['Owned', 'Always', 'Never'] as const)
      expect(adoptionOf(policy, FOREIGN_TAGS), 'another object').to.equal(undefined);
  });

  it('creates the profile with the values of the spec', () => {
    const spec = { subnetIDs: ['subnet-0c'], selectors: [{ namespace: 'web', labels: { a: 'x' } }] };
    expect(decide(desiredFrom(spec), observed({ role: aRole() }))).to.deep.equal({
      kind: 'mutate',
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
    });
  });
});

function withCreationBlocked(spec: { readonly adoptionPolicy?: AdoptionPolicy } = {}): Desired {
  return { ...desiredFrom(spec), creationBlocker: newReason('ClusterDeleting', { what: 'Cluster team-a/prod' }) };
}

function onDeletionWithLocation(location: Location['kind']): Desired {
  const desired = desiredOnDeletion();
  return { ...desired, recorded: { ...desired.recorded, location } };
}

function retaining(location: Location['kind'] = 'known'): Desired {
  return { ...onDeletionWithLocation(location), surplus: 'retain' };
}

function withUnconfirmedCreate(): Desired {
  return desiredOfDeletion(aDeletedObject({ status: CREATE_REQUESTED }), { isCreateUnconfirmed: true });
}
