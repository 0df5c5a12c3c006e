import { expect } from 'chai';
import { ProfileName } from '../../api/names.ts';
import type { AdoptionPolicy } from '../../api/v1beta2/index.ts';
import { keepRole } from './apply.ts';
import { decide } from './decide.ts';
import type { Desired, Observed } from './model.ts';
import { why } from './reasons.ts';
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
} from './testing/builders.ts';
import { withoutRoles } from './testing/flight.ts';
import { TRUSTS } from './testing/oracle.ts';
import {
  ASKED,
  CAPA,
  FOREIGN,
  PROVISIONED,
  SHARED,
  SHARED_ARN,
  SHARED_ROLE,
  leaving,
  living,
} from './testing/situations.ts';
import { wordOf } from './testing/words.ts';
import type { Whereabouts } from './whereabouts.ts';

const THEIRS = 'arn:aws:iam::111122223333:policy/theirs';

const other = aProfile({ subnets: ['subnet-0f'] });
const otherStatus = (status: string, tags: Readonly<Record<string, string>> = PROFILE_TAGS): Observed =>
  observed({ profile: aProfile({ status, tags }), role: aRole() });

type Row = readonly [situation: string, desired: Desired, seen: Observed, decision: string];

const TABLES: Readonly<Record<string, readonly Row[]>> = {
  'what is wanted': [
    ['nothing is there', living(), observed(), `create role /${ROLE}`],
    [
      'the role is there, bare',
      living(),
      observed({ role: aRole({ attached: [] }) }),
      'attachPolicy AmazonEKSFargatePodExecutionRolePolicy',
    ],
    ['the role is there', living(), observed({ role: aRole() }), `create profile ${PROFILE} with fargate`],
    ['all is there', living(), asWanted(), 'settled'],
    ['the EKS cluster is gone', living(), observed({ cluster: 'gone' }), 'stop: EKSClusterNotFound'],
    ['the profile is being created', living(), otherStatus('CREATING'), 'stop: Creating'],
    ['the profile is being deleted by somebody', living(), otherStatus('DELETING'), 'stop: DeletingProfile'],
    ['the profile could not be created', living(), otherStatus('CREATE_FAILED'), `delete profile ${PROFILE}, failed`],
    ['the profile could not be deleted', living(), otherStatus('DELETE_FAILED'), `delete profile ${PROFILE}, failed`],
    ['the profile has a status nobody knows', living(), otherStatus('PAUSED'), 'stop: UnknownProfileStatus'],
    [
      'the profile was deleted by somebody',
      living({}, PROVISIONED),
      observed({ role: aRole() }),
      `create profile ${PROFILE} with fargate`,
    ],
  ],
  'what nothing may be created for': [
    ['the role is missing', barred(), observed(), 'stop: ClusterDeleting'],
    ['the profile is missing', barred(), observed({ role: aRole() }), 'stop: ClusterDeleting'],
    ['all is there', barred(), asWanted(), 'settled'],
    [
      'the role has drifted',
      barred(),
      observed({ profile: aProfile(), role: aRole({ trust: TRUSTS.wide }) }),
      'setTrust',
    ],
  ],
  'whose the profile is': [
    ['another object’s', living(), otherStatus('ACTIVE', FOREIGN), 'stop: ProfileNotOwned'],
    ['nobody’s', living(), otherStatus('ACTIVE', {}), 'stop: ProfileNotOwned'],
    [
      'made by Cluster API Provider AWS for this object',
      living(),
      otherStatus('ACTIVE', CAPA),
      `tag profile with ${OWNER_TAG}`,
    ],
    [
      'the same, and adoptionPolicy is Never',
      living({ adoptionPolicy: 'Never' }),
      otherStatus('ACTIVE', CAPA),
      'stop: ProfileNotOwned',
    ],
    [
      'nobody’s and equal, and adoptionPolicy is Always',
      living({ adoptionPolicy: 'Always' }),
      otherStatus('ACTIVE', {}),
      `tag profile with ${CAPA_TAG},${OWNER_TAG}`,
    ],
    [
      'nobody’s and being created, and adoptionPolicy is Always',
      living({ adoptionPolicy: 'Always' }),
      otherStatus('CREATING', {}),
      'stop: ProfileNotOwned',
    ],
    [
      'nobody’s and different, and adoptionPolicy is Always',
      living({ adoptionPolicy: 'Always' }),
      observed({ profile: { ...other, tags: {} }, role: aRole() }),
      'stop: ProfileNotOwned',
    ],
    [
      'another object’s, and adoptionPolicy is Always',
      living({ adoptionPolicy: 'Always' }),
      otherStatus('ACTIVE', FOREIGN),
      'stop: ProfileNotOwned',
    ],
    [
      'another object’s, and there is no role: none is made',
      living(),
      observed({ profile: aProfile({ tags: FOREIGN }) }),
      'stop: ProfileNotOwned',
    ],
  ],
  'a profile of ours that differs': [
    ['without any record', living(), observed({ profile: other, role: aRole() }), 'stop: SpecDiffers'],
    [
      'once provisioned',
      living({ subnetIDs: ['subnet-0a'] }, PROVISIONED),
      observed({ profile: other, role: aRole() }),
      'stop: SpecDiffers',
    ],
    [
      'not finished yet',
      living({}, ASKED),
      observed({ profile: other, role: aRole() }),
      `delete profile ${PROFILE}, different`,
    ],
    [
      'asked for under another name',
      living({}, { ...ASKED, profileName: ProfileName.of('former') }),
      observed({ profile: other, role: aRole() }),
      'stop: SpecDiffers',
    ],
    [
      'still being created',
      living({}, ASKED),
      observed({ profile: { ...other, status: 'CREATING' }, role: aRole() }),
      'stop: WaitingForCreate',
    ],
    [
      'that failed',
      living(),
      observed({ profile: { ...other, status: 'CREATE_FAILED' }, role: aRole() }),
      `delete profile ${PROFILE}, different`,
    ],
    [
      'in its selectors',
      living(),
      observed({ profile: aProfile({ selectors: [] }), role: aRole() }),
      'stop: SpecDiffers',
    ],
    [
      'in its role',
      living(),
      observed({ profile: aProfile({ podExecutionRoleArn: SHARED_ARN }), role: aRole() }),
      'stop: SpecDiffers',
    ],
    [
      'in the order of subnets alone',
      living(),
      observed({ profile: aProfile({ subnets: ['subnet-0b', 'subnet-0a'] }), role: aRole() }),
      'settled',
    ],
  ],
  deletion: [
    ['all is there', leaving(), asWanted(), `delete profile ${PROFILE}, unwanted`],
    ['the profile is being created', leaving(), otherStatus('CREATING'), 'stop: WaitingForCreate'],
    ['the profile is being deleted', leaving(), otherStatus('DELETING'), 'stop: DeletingProfile'],
    ['the role was not looked at', leaving(), withoutRoles(asWanted()), `delete profile ${PROFILE}, unwanted`],
    ['the profile is gone, and the role was not looked at', leaving(), withoutRoles(observed()), 'lookAgain'],
    [
      'the profile is somebody else’s, and the role was not looked at',
      leaving(),
      withoutRoles(otherStatus('ACTIVE', FOREIGN)),
      'lookAgain',
    ],
    [
      'the cluster is gone, and the role was not looked at',
      leaving(),
      withoutRoles(observed({ cluster: 'gone' })),
      'lookAgain',
    ],
    ['the profile failed', leaving(), otherStatus('CREATE_FAILED'), `delete profile ${PROFILE}, unwanted`],
    [
      'the profile could not be deleted',
      leaving(),
      otherStatus('DELETE_FAILED'),
      `delete profile ${PROFILE}, unwanted`,
    ],
    ['the profile has a status nobody knows', leaving(), otherStatus('PAUSED'), 'stop: UnknownProfileStatus'],
    [
      'the profile differs from the spec',
      leaving(),
      observed({ profile: other, role: aRole() }),
      `delete profile ${PROFILE}, unwanted`,
    ],
    [
      'the profile is gone',
      leaving(),
      observed({ role: aRole() }),
      'detachPolicy AmazonEKSFargatePodExecutionRolePolicy, retiring',
    ],
    ['the role is bare', leaving(), observed({ role: aRole({ attached: [] }) }), `delete role ${ROLE}`],
    [
      'the role has policies of others',
      leaving(),
      observed({ role: aRole({ attached: [THEIRS] }) }),
      'detachPolicy theirs, retiring',
    ],
    [
      'the role is blocked',
      leaving(),
      observed({ role: aRole({ blockers: ['the inline policy "x"'] }) }),
      'stop: RoleBlocked',
    ],
    [
      'the role is kept for somebody',
      leaving(),
      keepRole(observed({ role: aRole() }), ROLE, 'AWSFargateProfile team-a/api'),
      'settled',
    ],
    ['the role is somebody else’s', leaving({ roleName: SHARED }), observed({ role: SHARED_ROLE }), 'settled'],
    [
      'a foreign profile uses our role',
      leaving(),
      observed({ profile: aProfile({ tags: FOREIGN }), role: aRole() }),
      'settled',
    ],
    ['nothing is left', leaving(), observed(), 'settled'],
    [
      'the EKS cluster is gone',
      leaving(),
      observed({ cluster: 'gone', role: aRole({ attached: [] }) }),
      `delete role ${ROLE}`,
    ],
    [
      'the EKS cluster is not found, and nothing says that it was in this account',
      of('unknown'),
      observed({ cluster: 'gone', role: aRole({ attached: [] }) }),
      'stop: AccountUncertain',
    ],
    [
      'the EKS cluster is not found in the account that the object names',
      of('somewhere'),
      observed({ cluster: 'gone' }),
      'settled',
    ],
    ['the EKS cluster is not found, and nothing was begun', of('nowhere'), observed({ cluster: 'gone' }), 'settled'],
    ['nothing is left in a cluster that is there', of('unknown'), observed(), 'settled'],
    ['a create may still appear', unseen(), observed({ role: aRole() }), 'stop: Propagating'],
    [
      'a create may not appear any more: the cluster is gone',
      unseen(),
      observed({ cluster: 'gone', role: aRole({ attached: [] }) }),
      `delete role ${ROLE}`,
    ],
  ],
  'what is to be retained': [
    ['all is there', retaining(), asWanted(), 'stop: RetainBlocksClusterDeletion'],
    ['the profile is gone', retaining(), observed({ role: aRole() }), 'settled'],
    ['the EKS cluster is not found', retaining('unknown'), observed({ cluster: 'gone' }), 'settled'],
    ['the profile is somebody else’s', retaining(), otherStatus('ACTIVE', FOREIGN), 'settled'],
  ],
};

describe('decide', () => {
  for (const [topic, rows] of Object.entries(TABLES)) {
    describe(topic, () => {
      for (const [situation, desired, seen, decision] of rows) {
        it(`${situation}: ${decision}`, () => expect(wordOf(decide(desired, seen))).to.equal(decision));
      }
    });
  }

  describe('two profiles on the way from one name to another', () => {
    const former = ProfileName.of('former');
    const desired = living({}, { ...ASKED, profileName: former });
    const seen = (profiles: Observed['profiles']): Observed => ({ ...observed({ role: aRole() }), profiles });

    it('the former goes first', () => {
      const both = seen([
        { name: PROFILE, found: undefined },
        { name: former, found: aProfile({ name: former }) },
      ]);
      expect(wordOf(decide(desired, both))).to.equal('delete profile former, unwanted');
    });

    it('nothing goes before the new one can be had', () => {
      const taken = seen([
        { name: PROFILE, found: aProfile({ tags: FOREIGN }) },
        { name: former, found: aProfile({ name: former }) },
      ]);
      expect(wordOf(decide(desired, taken))).to.equal('stop: ProfileNotOwned');
    });

    it('a create of the former that may still appear is waited for', () => {
      const object = anObject({ status: { ...ASKED, profileName: former } });
      const pending = desiredOf(object, { createUnseen: true });
      const none = seen([
        { name: PROFILE, found: undefined },
        { name: former, found: undefined },
      ]);
      expect(wordOf(decide(pending, none))).to.equal('stop: Propagating');
    });
  });

  it('says in what a profile differs', () => {
    const decision = decide(living(), observed({ profile: other, role: aRole() }));
    expect(decision).to.deep.equal({
      kind: 'stop',
      why: why('SpecDiffers', { name: PROFILE, fields: ['subnets are subnet-0f, wanted subnet-0a, subnet-0b'] }),
    });
  });

  it('says which adoptionPolicy would take over a profile that is not ours, if any', () => {
    const adoptionOf = (policy: AdoptionPolicy, tags: Readonly<Record<string, string>>) => {
      const decision = decide(living({ adoptionPolicy: policy }), otherStatus('ACTIVE', tags));
      return decision.kind === 'stop' && decision.why.reason === 'ProfileNotOwned'
        ? decision.why.facts.adoption
        : wordOf(decision);
    };
    expect(adoptionOf('Owned', {}), 'nobody’s').to.equal('Always');
    expect(adoptionOf('Never', {}), 'nobody’s').to.equal('Always');
    expect(adoptionOf('Never', CAPA), 'Cluster API Provider AWS’s for this object').to.equal('Owned');
    for (const policy of ['Owned', 'Always', 'Never'] as const)
      expect(adoptionOf(policy, FOREIGN), 'another object’s').to.equal(undefined);
  });

  it('asks for exactly what the spec says', () => {
    const spec = { subnetIDs: ['subnet-0c'], selectors: [{ namespace: 'web', labels: { a: 'x' } }] };
    expect(decide(living(spec), observed({ role: aRole() }))).to.deep.equal({
      kind: 'do',
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

function barred(): Desired {
  return { ...living(), noCreation: why('ClusterDeleting', { what: 'Cluster team-a/prod' }) };
}

function of(whereabouts: Whereabouts['kind']): Desired {
  const desired = leaving();
  return { ...desired, records: { ...desired.records, whereabouts } };
}

function retaining(whereabouts: Whereabouts['kind'] = 'somewhere'): Desired {
  return { ...of(whereabouts), surplus: 'retain' };
}

function unseen(): Desired {
  return desiredOfDeletion(aDeletedObject({ status: ASKED }), { createUnseen: true });
}
