import { expect } from 'chai';
import type { Facts, Reason, Why } from './reasons.ts';
import { REASONS, isEndedBySibling, messageOf, natureOf, partOf, pollOf, why } from './reasons.ts';

/** Facts as they really come, for each reason. */
const FACTS: Facts = {
  WaitingForCluster: { cluster: 'team-a/prod' },
  WaitingForAPI: { kind: 'Cluster', why: 'the kind is not served' },
  APIServerRefused: {
    words: 'patching awsfargateprofiles.infrastructure.cluster.x-k8s.io team-a/web: forbidden',
    cure: "Apply the manager's roles and role bindings again (config/rbac)",
  },
  ClusterDeleting: { what: 'Cluster team-a/prod' },
  WaitingForEKSControlPlane: { words: 'AWSManagedControlPlane team-a/prod-control-plane is not ready yet' },
  GuardRefused: { controlPlane: 'team-a/prod-control-plane', why: 'it is being changed all the time' },
  ClusterVanished: { cluster: 'team-a/prod', remaining: 20_000 },
  RetainBlocksClusterDeletion: { name: 'team-a_web', cluster: 'prod' },
  ForeignSchema: { provider: 'infrastructure-aws', missing: ['spec.deletionPolicy', 'spec.roleARN', 'status.account'] },
  ControlPlaneUnsupported: { cluster: 'team-a/prod', kind: 'KubeadmControlPlane' },
  TargetChanged: { field: 'spec.region', recorded: 'eu-west-1', found: 'eu-north-1', saidBy: 'status' },
  TargetUnknown: { missing: 'Cluster team-a/prod is not there', provisionedIn: undefined },
  InvalidSpec: { words: 'spec.roleARN: "x" is not the ARN of an IAM role' },
  TagsInvalid: { words: 'tag "aws:x" of the AWSFargateProfile: keys that begin with "aws:" are reserved for AWS' },
  NoPrivateSubnets: { controlPlane: 'team-a/prod-control-plane' },
  CredentialsMissing: { words: 'there are no AWS credentials' },
  CredentialsInvalid: { words: 'AWS rejects the credentials: The security token has expired' },
  IdentityUnreadable: { words: 'the AWSClusterStaticIdentity "tenant" cannot be read: the kind is not served' },
  IdentityNotFound: { words: 'there is no AWSClusterRoleIdentity "tenant"' },
  IdentityNotAllowed: { words: 'AWSClusterRoleIdentity "tenant" does not allow namespace "team-a"' },
  IdentityLoop: { words: 'AWSClusterRoleIdentity "a" comes back to itself' },
  IdentityInvalid: { words: 'AWSClusterRoleIdentity "tenant" has no spec.roleARN' },
  SecretNotFound: { words: 'there is no Secret "tenant"' },
  SecretIncomplete: { words: 'Secret "tenant" has no key AccessKeyID' },
  AssumeRoleDenied: { words: 'AWS denies sts:AssumeRole of arn:aws:iam::444455556666:role/tenant' },
  AssumeRoleRefused: { words: 'AWS refuses sts:AssumeRole: The requested DurationSeconds exceeds the limit' },
  WrongAccount: { whose: 'the manager itself', recorded: '111122223333', found: '444455556666' },
  AccountUncertain: { cluster: 'prod', region: 'eu-west-1', account: '444455556666' },
  AccessDenied: { words: 'no (EKS CreateFargateProfile: AccessDeniedException)', about: 'EKSFargateProfileReady' },
  AWSUnavailable: {
    words: 'AWS gives no usable answer: no answer within 10 s (EKS DescribeFargateProfile)',
    about: 'EKSFargateProfileReady',
  },
  AWSError: { words: 'I am a teapot (IAM GetRole: Teapot)', about: 'IAMFargateRolesReady' },
  Refused: { words: 'Subnet subnet-0a provided in Fargate Profile is not a private subnet' },
  AWSQuotaExceeded: { words: 'Cannot exceed quota for RolesPerAccount: 1000', about: 'IAMFargateRolesReady' },
  EKSClusterNotFound: { cluster: 'prod', region: 'eu-west-1' },
  RoleNotOwned: { name: 'shared', whose: 'somebody else: no tag names an owner' },
  RoleNotFound: { name: 'theirs' },
  RoleTrustInvalid: { name: 'theirs', problem: 'the trust policy is not a JSON policy document', ours: false },
  RoleSettingsConflict: {
    name: 'shared',
    other: 'AWSFargateProfile team-a/api',
    settings: ['rolePath', 'additionalTags["team"]'],
  },
  RoleRecreated: { name: 'pods', arn: 'arn:aws:iam::111122223333:role/pods', id: 'AROANEW', cluster: 'prod' },
  RoleBlocked: { name: 'pods', blockers: ['the inline policy "theirs"', 'the instance profile "nodes"'] },
  Propagating: { words: 'AWS does not agree with itself yet' },
  ProfileNotOwned: { name: 'team-a_web', whose: 'the AWSFargateProfile team-b/web' },
  SpecDiffers: { name: 'team-a_web', fields: ['subnets are subnet-0a, wanted subnet-0b'] },
  WaitingForSibling: { ahead: 'team-a_api', doing: 'being created', foreign: false },
  ClusterUpdating: { cluster: 'prod', remaining: 15_000 },
  QuotaExceeded: { words: 'Fargate Profile limit exceeded for cluster.' },
  Creating: { name: 'team-a_web' },
  DeletingProfile: { name: 'team-a_web' },
  WaitingForCreate: { name: 'team-a_web' },
  CreateFailed: {
    name: 'team-a_web',
    issues: [{ code: 'AccessDenied', message: 'the role may not be used', resourceIds: ['pods'] }],
  },
  DeleteFailed: { name: 'team-a_web', issues: [] },
  UnknownProfileStatus: { name: 'team-a_web', status: 'PAUSED' },
};

const isReason = (name: string): name is Reason => name in REASONS;
const whyFor = (reason: Reason): Why => ({ reason, facts: FACTS[reason] }) as Why;
const all = Object.keys(REASONS).filter(isReason).map(whyFor);

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const WAITS = [0, 1, 1_234, 5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 24 * 60 * MINUTE];

describe('the table of reasons', () => {
  for (const each of all) {
    const { reason } = each;
    describe(reason, () => {
      const words = messageOf(each);

      it('is one word that programs can rely on', () => expect(reason).to.match(/^[A-Z][A-Za-z]{2,60}$/));

      it('reads as sentences', () => {
        const isField = words.startsWith('spec.');
        expect(words, 'begins like a sentence, or with a field').to.match(isField ? /^spec\./ : /^[A-Z]/);
        expect(words).not.to.match(/undefined|null|NaN|\[object|\s\s|\s$|^\s|\.\.|,,|;;/);
        expect(words.length).to.be.below(700);
      });

      it('ends with a full stop where a cure follows, and without one elsewhere', () => {
        const { cure } = REASONS[reason];
        expect(words.endsWith('.')).to.equal(cure !== undefined);
        expect(words.endsWith('..')).to.equal(false);
      });

      it('has a cure where a human has to act', () => {
        // Its words say what is wrong in which field.
        if (reason !== 'InvalidSpec' && natureOf(each) === 'human')
          expect(REASONS[reason].cure).not.to.equal(undefined);
      });

      it('says the same however long it lasts: no time, no request in it', () => {
        expect(words).not.to.match(/\d{4}-\d\d-\d\dT|request ?id|[0-9a-f]{8}-[0-9a-f]{4}-/i);
        expect(messageOf(each)).to.equal(words);
      });

      it('is looked at again, neither in a rush nor never', () => {
        for (const waited of WAITS) {
          expect(pollOf(each, waited), `after ${waited} ms`).to.be.within(SECOND / 2, 10 * MINUTE);
        }
      });
    });
  }

  it('has facts for each reason here', () =>
    expect(Object.keys(FACTS).toSorted()).to.deep.equal(Object.keys(REASONS).toSorted()));
});

describe('how soon something is looked at again', () => {
  /** When a profile is looked at whose creation takes so long, the last time at its end. */
  const looksUntil = (end: number, usual?: number): readonly number[] => {
    const looks: number[] = [];
    let waited = 0;
    while (waited < end) looks.push((waited += pollOf(whyFor('Creating'), waited, usual)));
    return looks;
  };

  it('of a create of two minutes in fewer than forty calls, a sixteenth late on the average', () => {
    expect(looksUntil(2 * MINUTE)).to.have.length.within(25, 40);
    for (const waited of WAITS) expect(pollOf(whyFor('Creating'), waited)).to.be.at.most(Math.max(waited / 8, 500));
    expect(pollOf(whyFor('Creating'), 0)).to.equal(500);
    expect(pollOf(whyFor('Creating'), 60 * MINUTE)).to.equal(10 * SECOND);
  });

  describe('of a create, where it is known how long the last one took', () => {
    for (const usual of [500, 2 * SECOND, 20 * SECOND, 2 * MINUTE, 6 * MINUTE]) {
      it(`${usual} ms: closely about that time, in hardly more calls`, () => {
        const looks = looksUntil(usual, usual);
        expect(looks.length).to.be.at.most(looksUntil(usual).length + 5);
        expect(looks.at(-1)).to.be.within(usual, usual * (1 + 1 / 32) + 50);
        expect(looks.at(-2)).to.be.within(usual * (1 - 2 / 32) - 100, usual);
      });
    }

    it('and it ends earlier: no later than one of which nothing is known', () => {
      for (let waited = 0; waited < 5 * MINUTE; waited += 77) {
        expect(pollOf(whyFor('Creating'), waited, 6 * MINUTE)).to.be.within(50, pollOf(whyFor('Creating'), waited));
      }
    });

    it('and it takes longer: at the pace of one of which nothing is known', () => {
      for (const waited of [25 * SECOND, 2 * MINUTE, 60 * MINUTE]) {
        expect(pollOf(whyFor('Creating'), waited, 20 * SECOND)).to.equal(pollOf(whyFor('Creating'), waited));
      }
    });
  });

  it('of a sibling after half a minute at most, sooner where nobody looks after it', () => {
    expect(pollOf(why('WaitingForSibling', { ahead: 'a', doing: 'being created', foreign: false }), 0)).to.equal(
      30 * SECOND,
    );
    expect(pollOf(why('WaitingForSibling', { ahead: 'a', doing: 'being created', foreign: true }), 0)).to.equal(
      5 * SECOND,
    );
  });

  it('of a pause when it is over', () => {
    expect(pollOf(why('ClusterUpdating', { cluster: 'prod', remaining: 7_000 }), 0)).to.equal(7_000);
    expect(pollOf(why('ClusterUpdating', { cluster: 'prod', remaining: -3 }), 0)).to.equal(500);
    expect(pollOf(why('ClusterVanished', { cluster: 'prod', remaining: 7_000 }), 0)).to.equal(7_000);
  });

  it('of an outage soon, then every minute', () => {
    expect(pollOf(whyFor('AWSUnavailable'), 0)).to.equal(2 * SECOND);
    expect(pollOf(whyFor('AWSUnavailable'), 60 * MINUTE)).to.equal(MINUTE);
  });
});

describe('messageOf', () => {
  it('says what is the matter and what to do about it', () => {
    expect(messageOf(whyFor('RoleBlocked'))).to.equal(
      'IAM role "pods" cannot be deleted while it has the inline policy "theirs", the instance profile "nodes". Take that off the role; the deletion goes on by itself.',
    );
    expect(messageOf(whyFor('CreateFailed'))).to.equal(
      'EKS failed to create Fargate profile "team-a_web": AccessDenied: the role may not be used (pods). Correct what EKS names; the profile is made anew by itself.',
    );
    expect(messageOf(whyFor('DeleteFailed'))).to.match(/: EKS gives no reason\. /);
    expect(messageOf(whyFor('RoleRecreated'))).to.include(
      'then set the annotation aws-fargate.cluster.x-k8s.io/access-entry-renewed=AROANEW on this object',
    );
    expect(messageOf(whyFor('Creating'))).to.equal('EKS is creating Fargate profile "team-a_web"');
  });

  it('says after half an hour that EKS takes too long, and who may know why', () => {
    for (const reason of ['Creating', 'DeletingProfile', 'WaitingForCreate'] as const) {
      const early = messageOf(whyFor(reason), 30 * MINUTE - 1);
      expect(early).to.equal(messageOf(whyFor(reason)));
      const late = messageOf(whyFor(reason), 30 * MINUTE);
      expect(late).to.match(/^EKS has been (creating|deleting) Fargate profile "team-a_web" for over half an hour, /);
      expect(late).to.contain('AWS Support');
      expect(messageOf(whyFor(reason), 24 * 60 * MINUTE), 'once').to.equal(late);
    }
    expect(messageOf(whyFor('WaitingForCluster'), 24 * 60 * MINUTE)).to.equal(messageOf(whyFor('WaitingForCluster')));
  });

  it('says of a profile that is on its way out what comes after it', () => {
    const tell = (successor?: string) =>
      (['DeletingProfile', 'WaitingForCreate'] as const).map((reason) =>
        messageOf(why(reason, { name: 'web', ...(successor && { successor }) })),
      );
    expect(tell()).to.deep.equal([
      'EKS is deleting Fargate profile "web"',
      'Fargate profile "web" is still being created; EKS deletes it only once that has ended',
    ]);
    expect(tell('web')).to.deep.equal([
      'EKS is deleting Fargate profile "web"; then it is created anew as the spec wants it',
      'Fargate profile "web" is still being created as the spec was before; once that has ended it is deleted, and then it is created anew as the spec wants it',
    ]);
    expect(tell('shop')[0]).to.equal(
      'EKS is deleting Fargate profile "web"; then "shop" is created as the spec wants it',
    );
  });

  it('does not ask for the cure of what EKS does not name', () => {
    expect(messageOf(whyFor('DeleteFailed'))).to.equal(
      'EKS failed to delete Fargate profile "team-a_web": EKS gives no reason. AWS Support may know more; the deletion is tried again by itself.',
    );
  });

  it('does not double the full stop of AWS’s own words', () => {
    expect(messageOf(whyFor('QuotaExceeded'))).to.match(/: Fargate Profile limit exceeded for cluster\. Delete one /);
  });

  it('says how to get the name of a profile that somebody else has, where there is a way', () => {
    const tell = (adoption?: 'Always' | 'Owned') =>
      messageOf(why('ProfileNotOwned', { name: 'web', whose: 'somebody', ...(adoption && { adoption }) }));
    expect(tell()).to.match(/ Choose another spec\.profileName; should the profile go, its name is taken by itself\.$/);
    expect(tell('Owned')).to.match(/, or set spec\.adoptionPolicy to Owned to have the profile taken over\.$/);
  });

  it('leaves the name of a field as it is', () => {
    expect(messageOf(whyFor('InvalidSpec'))).to.equal('spec.roleARN: "x" is not the ARN of an IAM role');
  });

  it('says why a profile was not adopted that was to be', () => {
    const facts = { name: 'team-a_web', whose: 'somebody else', obstacles: ['subnets are a, wanted b'] };
    const told = messageOf(why('ProfileNotOwned', facts));
    expect(told).to.include('since it is not what the spec wants: subnets are a, wanted b');
    expect(told).to.include('make the spec match the profile');
  });
});

describe('partOf', () => {
  it('is the reason’s own, or the one that the call belongs to', () => {
    expect(partOf(whyFor('RoleNotFound'))).to.equal('IAMFargateRolesReady');
    expect(partOf(whyFor('WrongAccount'))).to.equal('CredentialsReady');
    expect(partOf(why('AccessDenied', { words: 'no', about: 'IAMFargateRolesReady' }))).to.equal(
      'IAMFargateRolesReady',
    );
    expect(partOf(whyFor('WaitingForCluster'))).to.equal(undefined);
  });
});

describe('isEndedBySibling', () => {
  const rows: readonly (readonly [Reason, 'gone' | 'changed', boolean])[] = [
    ['QuotaExceeded', 'gone', true],
    ['QuotaExceeded', 'changed', false],
    ['ProfileNotOwned', 'gone', true],
    ['RoleSettingsConflict', 'gone', true],
    ['RoleSettingsConflict', 'changed', true],
    ['Creating', 'gone', false],
  ];
  for (const [reason, news, ends] of rows) {
    it(`${reason} is ${ends ? '' : 'not '}ended by a sibling that is ${news}`, () =>
      expect(isEndedBySibling(reason, news)).to.equal(ends));
  }
});
