import { expect } from 'chai';
import type { ReadObstacle } from 'controller-runtime/cache';
import { type ReportedFacts, REASON_EXAMPLES } from '../testing/reason-examples.ts';
import { remedyForUnreadable } from './wording.ts';
import {
  type Reason,
  REASONS,
  isEndedBySibling,
  isUnreported,
  messageOf,
  partsOfMessage,
  natureOf,
  conditionTypeOf,
  pollOf,
  newReason,
} from './reasons.ts';

type ReportedName = keyof ReportedFacts;
const isReason = (name: string): name is ReportedName => name in REASONS;
const reasonNamed = (name: ReportedName): Reason => ({ name, facts: REASON_EXAMPLES[name] }) as Reason;
const all = Object.keys(REASONS)
  .filter(isReason)
  .map((name) => ({ name, reason: reasonNamed(name) }));

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const WAITS = [0, 1, 1_234, 5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 24 * 60 * MINUTE];

/**
 * Reasons whose messages contain a field of the control plane, or of spec.eksCluster for an object without a Cluster.
 */
const OF_TARGET: readonly ReportedName[] = [
  'CredentialsMissing',
  'RegionInvalid',
  'RegionNotEnabled',
  'WrongAccount',
  'AccountUncertain',
  'SDKRefused',
  'EKSClusterNotFound',
];

describe('REASONS', () => {
  for (const name of OF_TARGET)
    it(`has a message of ${name} that names a field of spec.eksCluster if the object has one`, () => {
      const messageFor = (isOfObject: boolean): string =>
        messageOf({ name, facts: { ...REASON_EXAMPLES[name], isOfObject } } as Reason);
      expect(messageFor(false)).to.include('control plane').and.not.to.include('spec.eksCluster.');
      expect(messageFor(true)).to.include('spec.eksCluster.').and.not.to.include('control plane');
    });

  for (const { name, reason: each } of all) {
    describe(name, () => {
      const detail = messageOf(each);

      it('has a name that is a valid condition reason', () => expect(name).to.match(/^[A-Z][A-Za-z]{2,60}$/));

      it('has a message of whole sentences', () => {
        const isField = detail.startsWith('spec.');
        expect(detail, 'begins with a capital letter or a field path').to.match(isField ? /^spec\./ : /^[A-Z]/);
        expect(detail).not.to.match(/undefined|null|NaN|\[object|\s\s|\s$|^\s|\.\.|,,|;;/);
        expect(detail.length).to.be.below(700);
      });

      it('has a message that ends with a full stop if it has more than one sentence', () => {
        expect(detail.endsWith('.')).to.equal(/[.] [A-Z]/.test(detail));
        expect(detail.endsWith('..')).to.equal(false);
      });

      it('quotes AWS and the API server only at the end of the message', () => {
        const { quote, ...others } = partsOfMessage(each);
        expect(Object.values(others).join('. ')).not.to.match(/\bsays?:|Error:/);
        if (quote !== undefined) expect(detail.endsWith(`: ${quote.said}.`), detail).to.equal(true);
      });

      it('has no chain of alternatives over several sentences', () =>
        expect(detail).not.to.match(/(?:[.:;] )(?:Or|Otherwise)\b/i));

      it('has a remedy if a user must act', () => {
        if (natureOf(each) === 'human') expect(REASONS[name].remedy).not.to.equal(undefined);
      });

      it('uses no word that leaves the reader without a subject', () =>
        expect(detail).not.to.match(/\b(somebody|nobody|by itself|on its own|anew|any more|goes on|mend)\b/i));

      it('has a message without times and request IDs, which would change it with every attempt', () => {
        // The time until which a predecessor stays, and a profile's ID, are the same in each reconcile.
        if (name === 'PredecessorKept' || name === 'Draining' || name === 'ManagedElsewhere') return;
        expect(detail).not.to.match(/\d{4}-\d\d-\d\dT|request ?id|[0-9a-f]{8}-[0-9a-f]{4}-/i);
        expect(messageOf(each)).to.equal(detail);
      });

      it('has a poll interval between a second and ten minutes', () => {
        for (const waited of WAITS) {
          expect(pollOf(each, waited), `after ${waited} ms`).to.be.within(SECOND, 10 * MINUTE);
        }
      });
    });
  }

  it('reports nothing about a reconcile that ended without a result, and something about each other end', () => {
    const because = 'the lease may have run out';
    const unreported = [
      newReason('Conflict', {}),
      newReason('ReadAgain', { because }),
      newReason('NotNow', { because }),
    ];
    expect(unreported.map(isUnreported)).to.deep.equal([true, true, true]);
    expect(all.filter(({ reason }) => isUnreported(reason))).to.deep.equal([]);
  });

  it('has an example for each reason', () =>
    expect(Object.keys(REASON_EXAMPLES).toSorted()).to.deep.equal(Object.keys(REASONS).toSorted()));
});

describe('pollOf', () => {
  it('polls a creation of two minutes in fewer than fifty calls, and notices its end at most 5 s late', () => {
    const looks = [0];
    while ((looks.at(-1) ?? 0) < 2 * MINUTE)
      looks.push((looks.at(-1) ?? 0) + pollOf(reasonNamed('Creating'), looks.at(-1) ?? 0));
    expect(looks.slice(1, 5)).to.deep.equal([1_000, 2_000, 3_000, 4_000]);
    expect(looks).to.have.length.within(25, 50);
    for (const waited of WAITS)
      expect(pollOf(reasonNamed('Creating'), waited)).to.be.within(
        SECOND,
        Math.max(SECOND, Math.min(0.07 * waited, 5 * SECOND)),
      );
  });

  it('polls another profile of the cluster after 30 s, or after 5 s if no object manages that profile', () => {
    expect(
      pollOf(newReason('WaitingForSibling', { ahead: 'a', doing: 'being created', isUnverified: false }), 0),
    ).to.equal(30 * SECOND);
    expect(
      pollOf(newReason('WaitingForSibling', { ahead: 'a', doing: 'being created', isUnverified: true }), 0),
    ).to.equal(5 * SECOND);
  });

  it('polls at the end of a pause', () => {
    expect(pollOf(newReason('ClusterUpdating', { cluster: 'prod', said: 'no', remaining: 7_000 }), 0)).to.equal(7_000);
    expect(pollOf(newReason('ClusterUpdating', { cluster: 'prod', said: 'no', remaining: -3 }), 0)).to.equal(500);
    expect(pollOf(newReason('ClusterVanished', { cluster: 'prod', remaining: 7_000 }), 0)).to.equal(7_000);
  });

  it('polls an outage after two seconds, later every minute', () => {
    expect(pollOf(reasonNamed('AWSUnavailable'), 0)).to.equal(2 * SECOND);
    expect(pollOf(reasonNamed('AWSUnavailable'), 60 * MINUTE)).to.equal(MINUTE);
  });
});

describe('PredecessorKept', () => {
  const kept = (remaining: number, isSuccessorUnhealthy: boolean) =>
    pollOf(newReason('PredecessorKept', { ...REASON_EXAMPLES.PredecessorKept, remaining, isSuccessorUnhealthy }), 0);

  it('polls at its end, and every five minutes while EKS reports health issues of the successor', () => {
    expect([kept(30 * SECOND, false), kept(-SECOND, true), kept(MINUTE, true)]).to.deep.equal([
      30 * SECOND,
      5 * MINUTE,
      5 * MINUTE,
    ]);
    expect(kept(10 * MINUTE, true)).to.equal(10 * MINUTE);
  });
});

describe('messageOf', () => {
  it('names each field that the operator does not allow, and the flags of the manager', () => {
    const excess = [
      { field: 'spec.roleARN', value: 'arn:aws:iam::111122223333:role/x', allowed: ['arn:aws:iam::*:role/pods/*'] },
      { field: 'spec.roleAdditionalPolicies[0]', value: 'arn:aws:iam::aws:policy/A', allowed: ['none'] },
      { field: 'spec.roleAdditionalPolicies[2]', value: 'arn:aws:iam::aws:policy/B', allowed: ['none'] },
    ];
    expect(messageOf(newReason('NotAllowedByOperator', { about: 'IAMFargateRolesReady', excess }))).to.equal(
      'The manager\'s administrator does not allow "arn:aws:iam::111122223333:role/x" in spec.roleARN and "arn:aws:iam::aws:policy/A" in spec.roleAdditionalPolicies[0] and "arn:aws:iam::aws:policy/B" in spec.roleAdditionalPolicies[2]. Use only values in spec.roleARN that match arn:aws:iam::*:role/pods/* and remove the value from spec.roleAdditionalPolicies, or ask the manager\'s administrator to allow these values with --allow-role-arn and --allow-policy-arn. The controller then continues.',
    );
    const boundary = { field: 'spec.rolePermissionsBoundary', value: 'arn:x', allowed: ['arn:y'] };
    expect(
      messageOf(newReason('NotAllowedByOperator', { about: 'IAMFargateRolesReady', excess: [boundary] })),
    ).to.include("or ask the manager's administrator to allow this value with --require-permissions-boundary.");
  });

  it('says after 30 minutes that EKS takes longer than usual', () => {
    for (const reason of ['Creating', 'DeletingProfile', 'WaitingForCreate'] as const) {
      const early = messageOf(reasonNamed(reason), 30 * MINUTE - 1);
      expect(early).to.equal(messageOf(reasonNamed(reason)));
      const late = messageOf(reasonNamed(reason), 30 * MINUTE);
      expect(late).to.match(
        /^EKS has been (creating|deleting) Fargate profile "default_web" for more than 30 minutes, although EKS usually needs a few\. /,
      );
      expect(late).to.contain('AWS Support');
      expect(messageOf(reasonNamed(reason), 24 * 60 * MINUTE), 'once').to.equal(late);
    }
    expect(messageOf(reasonNamed('WaitingForCluster'), 24 * 60 * MINUTE)).to.equal(
      messageOf(reasonNamed('WaitingForCluster')),
    );
  });

  it('does not suggest another account for an EKS cluster that the object has used', () => {
    const facts = { cluster: 'tools', region: 'eu-west-1', account: '123456789012', isOfObject: true };
    expect(messageOf(newReason('EKSClusterNotFound', { ...facts, hasExisted: true }))).to.equal(
      'EKS cluster "tools" no longer exists in region eu-west-1 of account 123456789012; its Fargate profiles and their pods are gone too. If the EKS cluster was deleted on purpose, delete this object; if not, recreate the EKS cluster. The controller keeps retrying.',
    );
  });

  it('names a profile with another name that the controller creates after a deletion', () => {
    expect(messageOf(newReason('DeletingProfile', { name: 'web', successor: 'shop' }))).to.equal(
      'EKS is deleting Fargate profile "web". The controller then creates Fargate profile "shop".',
    );
  });

  it('does not refer to a problem that EKS does not name', () => {
    expect(messageOf(newReason('DeleteFailed', { name: 'team-a_web', issues: [] }))).to.equal(
      'EKS failed to delete Fargate profile "team-a_web" and gives no reason. Ask AWS Support for the reason. The controller keeps retrying the deletion.',
    );
  });

  it('shows control characters and bidi overrides in names of other people as escape sequences', () => {
    const facts = { name: 'web\u009b31m', whose: '\u202ereyap\n  Warning  Forged' };
    expect(messageOf(newReason('ProfileNotOwned', facts)))
      .to.contain('web\\u009b31m')
      .and.to.contain('\\u202ereyap Warning  Forged');
  });

  it('asks for an action that helps about the missing or unknown access entry of a recreated role of a user', () => {
    const facts = { name: 'pods', arn: 'arn:aws:iam::123456789012:role/pods', id: 'AROA1', cluster: 'tools' };
    const told = (entry: 'missing' | 'unknown', refusal?: string): string =>
      messageOf(newReason('RoleRecreated', { ...facts, entry, ours: false, ...(refusal && { refusal }) }));
    const is = 'IAM role "pods" was recreated with the ID AROA1, and';
    const accessEntry =
      'the access entry of arn:aws:iam::123456789012:role/pods in EKS cluster "tools" with type FARGATE_LINUX';
    expect(told('missing')).to.equal(
      `${is} the EKS cluster has no access entry for it, so new pods cannot join the EKS cluster. Create ${accessEntry}. The controller notices the new access entry within ten minutes.`,
    );
    expect(told('unknown', 'no')).to.equal(
      `${is} its access entry may still belong to the deleted role, so new pods may not be able to join the EKS cluster. Recreate ${accessEntry}, and then remove the annotation aws-fargate.cluster.x-k8s.io/record from this object, because the controller is not allowed to read the entry. The controller then writes the annotation again. AWS says: no.`,
    );
  });

  it('asks for no change of the spec that the API server refuses once the profile is provisioned', () => {
    const isSpecFixed = true;
    const reasons = [
      newReason('RoleNotOwned', { name: 'pods', whose: 'an unknown owner', usableArn: 'x', isSpecFixed }),
      newReason('RoleNotFound', { name: 'pods', field: 'spec.roleARN', isSpecFixed }),
      newReason('RoleNotFound', {
        name: 'pods',
        field: 'spec.roleARN',
        other: { arn: 'b', desired: 'a' },
        isSpecFixed,
      }),
      newReason('ProfileNotOwned', { name: 'web', whose: 'an unknown owner', isSpecFixed }),
      newReason('ProfileNotOwned', { name: 'web', whose: 'an unknown owner', adoption: 'Always', isSpecFixed }),
      newReason('ProfileNotOwned', { name: 'web', whose: 'an unknown owner', obstacles: ['x'], isSpecFixed }),
      newReason('RoleSettingsConflict', { name: 'pods', settings: ['rolePath'], isSpecFixed }),
      newReason('RoleSettingsConflict', { name: 'pods', path: '/a/', settings: ['rolePath'], isSpecFixed }),
      newReason('RoleSettingsConflict', { name: 'pods', unknownUser: 'x', settings: ['rolePath'], isSpecFixed }),
    ];
    const refused = /set spec\.(?:profileName|roleName|roleARN)|change the spec|with spec\.roleName/i;
    for (const reason of reasons) {
      const told = messageOf(reason);
      expect(told).not.to.match(refused);
      expect(told).to.match(/create another AWSFargateProfile/i);
    }
    const differs = messageOf(newReason('SpecDiffers', { name: 'web', fields: ['x'], isSpecFixed }));
    expect(differs).not.to.match(refused);
    expect(differs).to.include('set spec.updateStrategy.type to Replace; to keep it, also revert the spec');
  });
});

describe('conditionTypeOf', () => {
  it('is the condition type of the reason, or of the failed AWS call', () => {
    expect(conditionTypeOf(reasonNamed('RoleNotFound'))).to.equal('IAMFargateRolesReady');
    expect(conditionTypeOf(reasonNamed('WrongAccount'))).to.equal('CredentialsReady');
    expect(conditionTypeOf(newReason('Refused', { detail: 'no', about: 'IAMFargateRolesReady' }))).to.equal(
      'IAMFargateRolesReady',
    );
    expect(conditionTypeOf(reasonNamed('WaitingForCluster'))).to.equal(undefined);
  });
});

describe('isEndedBySibling', () => {
  const rows: readonly (readonly [ReportedName, 'gone' | 'changed', boolean])[] = [
    ['QuotaExceeded', 'gone', true],
    ['QuotaExceeded', 'changed', false],
    ['ProfileNotOwned', 'gone', true],
    ['RoleSettingsConflict', 'gone', true],
    ['RoleSettingsConflict', 'changed', true],
    ['Creating', 'gone', false],
  ];
  for (const [reason, news, ends] of rows) {
    it(`is ${ends} for ${reason} if another object of the cluster is ${news}`, () =>
      expect(isEndedBySibling(reason, news)).to.equal(ends));
  }
});

describe('remedyForUnreadable', () => {
  const rows: readonly (readonly [obstacle: ReadObstacle | undefined, remedy: string])[] = [
    [
      { kind: 'notServed', resource: 'clusters.cluster.x-k8s.io' },
      'Check that the CRD clusters.cluster.x-k8s.io is installed',
    ],
    [{ kind: 'forbidden' }, "Allow the manager's ServiceAccount to read these objects"],
    [
      undefined,
      "If this lasts longer than five minutes, check that the manager's ServiceAccount is allowed to read these objects",
    ],
  ];
  for (const [obstacle, remedy] of rows)
    it(`advises for: ${obstacle?.kind ?? 'no known obstacle'}`, () =>
      expect(remedyForUnreadable(obstacle)).to.equal(remedy));
});
