import { expect } from 'chai';
import type { RawObject } from '../envtest/clients/api.ts';
import { EKS_POLICY } from '../world/aws/capa-resources.ts';
import { type AwsSnapshot, StatusChecker } from './status-checker.ts';

const ARN = 'arn:aws:eks:us-east-1:123456789012:fargateprofile/c/web/1';
const ROLE = { id: 'AROA1', attachedPolicies: [EKS_POLICY] };
const ACTIVE: AwsSnapshot = { profiles: [{ arn: ARN, status: 'ACTIVE' }], roles: [ROLE] };
const CREATING: AwsSnapshot = { profiles: [{ arn: ARN, status: 'CREATING' }], roles: [ROLE] };
const NOTHING: AwsSnapshot = { profiles: [], roles: [] };
const WORKING = { Ready: 'False', Reconciling: 'True' };

/**
 * Number of object versions that the tests have made. This number is also the resourceVersion of the newest version.
 */
let versions = 0;
function version(conditions: Readonly<Record<string, string>>, status: object = {}, generation = 1): RawObject {
  versions += 1;
  return {
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
    kind: 'AWSFargateProfile',
    metadata: {
      name: 'web',
      uid: 'uid',
      generation,
      resourceVersion: String(versions),
      creationTimestamp: '2026-11-21T00:00:00Z',
    },
    status: {
      observedGeneration: 1,
      ready: conditions['Ready'] === 'True',
      conditions: Object.entries(conditions).map(([type, text]) => ({ type, status: text, observedGeneration: 1 })),
      ...status,
    },
  };
}

describe('the status checker of the fault grid', () => {
  const check = (...versionsAndSights: readonly (readonly [RawObject, AwsSnapshot])[]): readonly string[] => {
    const checker = new StatusChecker();
    for (const [object, snapshot] of versionsAndSights) checker.checkVersion({ type: 'MODIFIED', object }, snapshot);
    return checker.violations.map((violation) => violation.replace(/^version \d+: /, ''));
  };
  const inSeeing = '(in AWS since the previous version: ';

  it('accepts a status that agrees with AWS', () => {
    const status = { profileARN: ARN, profileStatus: 'ACTIVE', role: { id: 'AROA1' } };
    expect(check([version({ Ready: 'True', Stalled: 'False', Reconciling: 'False' }, status), ACTIVE])).to.deep.equal(
      [],
    );
  });

  it('reports Ready True without an ACTIVE profile', () => {
    expect(check([version({ Ready: 'True' }), CREATING])).to.deep.equal([
      `Ready is True without ACTIVE ${inSeeing}CREATING)`,
    ]);
  });

  it('reports Ready True that is written again after the profile was deleted', () => {
    const versionsOfALoss = [
      [version({ Ready: 'True' }), ACTIVE],
      [version({ Ready: 'True' }), NOTHING],
      [version({ Ready: 'True' }, { account: '123456789012' }), NOTHING],
    ] as const;
    expect(check(...versionsOfALoss)).to.deep.equal([`Ready is True without ACTIVE ${inSeeing}absent)`]);
  });

  it('accepts a status that AWS has overtaken since the previous version', () => {
    const checker = new StatusChecker();
    checker.checkVersion({ type: 'ADDED', object: version({}) }, CREATING);
    checker.recordAws(ACTIVE);
    checker.checkVersion({ type: 'MODIFIED', object: version(WORKING, { profileStatus: 'CREATING' }) }, ACTIVE);
    expect(checker.violations).to.deep.equal([]);
  });

  it('reports a profile status, an ARN and a role that do not exist in AWS', () => {
    const status = { profileARN: ARN, profileStatus: 'ACTIVE', role: { id: 'AROA1' } };
    expect(check([version(WORKING, status), NOTHING])).to.deep.equal([
      `status.profileStatus is ACTIVE ${inSeeing}absent)`,
      `status.profileARN names no profile ${inSeeing}absent)`,
      'status.role.id names no role',
    ]);
  });

  it('reports contradictory conditions', () => {
    expect(check([version({ Stalled: 'True', Reconciling: 'True' }), NOTHING])).to.deep.equal([
      'Stalled and Reconciling are both True',
    ]);
    expect(check([version({ Ready: 'True', Stalled: 'True' }), ACTIVE])).to.deep.equal([
      'Ready and Stalled are both True',
    ]);
    expect(check([version({ Ready: 'True' }, { ready: false }), ACTIVE])).to.deep.equal([
      'status.ready is false while Ready is True',
    ]);
  });

  it('reports IAMFargateRolesReady True before the role has its policy', () => {
    const stripped: AwsSnapshot = { profiles: [], roles: [{ id: 'AROA1', attachedPolicies: [] }] };
    const claim = { ...WORKING, IAMFargateRolesReady: 'True' };
    const violation = 'IAMFargateRolesReady became True without a role that has its policy';
    expect(check([version(claim), stripped])).to.deep.equal([violation]);
    expect(check([version(claim), NOTHING])).to.deep.equal([violation]);
    expect(check([version(claim), CREATING])).to.deep.equal([]);
  });

  it('reports Ready False without Reconciling or Stalled, and Deleting without a deletion', () => {
    expect(check([version({ Ready: 'False', Reconciling: 'False', Stalled: 'False' }), NOTHING])).to.deep.equal([
      'Ready is False, but neither Reconciling nor Stalled is True',
    ]);
    expect(check([version({ ...WORKING, Deleting: 'True' }), NOTHING])).to.deep.equal([
      'Deleting is True without a deletion timestamp',
    ]);
  });

  it('lists the reasons for which a condition was True', () => {
    const checker = new StatusChecker();
    for (const status of ['True', 'False']) {
      const object = version({});
      const conditions = [{ type: 'Stalled', status, reason: status === 'True' ? 'AccessDenied' : 'NotStalled' }];
      checker.checkVersion({ type: 'MODIFIED', object: { ...object, status: { conditions } } }, NOTHING);
    }
    expect(checker.reasonsWhileTrue('Stalled')).to.deep.equal(['AccessDenied']);
    expect(checker.reasonsWhileTrue('Ready')).to.deep.equal([]);
  });

  it('reports an observedGeneration that is ahead or goes back', () => {
    expect(check([version(WORKING, { observedGeneration: 2 }), NOTHING])).to.deep.equal([
      'observedGeneration 2 is ahead of generation 1',
    ]);
    const back = [version({}, { observedGeneration: 2 }, 2), version({}, { observedGeneration: 1 }, 2)] as const;
    expect(check([back[0], NOTHING], [back[1], NOTHING])).to.deep.equal(['observedGeneration went back from 2 to 1']);
  });

  it('reports initialization.provisioned without an ACTIVE profile, and its removal', () => {
    const provisioned = { initialization: { provisioned: true } };
    expect(check([version({}, provisioned), CREATING], [version({}), CREATING])).to.deep.equal([
      `initialization.provisioned was set without ACTIVE ${inSeeing}CREATING)`,
      'initialization.provisioned was removed',
    ]);
  });

  it('reports an object that is deleted before its profile and role', () => {
    const checker = new StatusChecker();
    checker.checkVersion({ type: 'ADDED', object: version({}) }, ACTIVE);
    checker.checkVersion({ type: 'DELETED', object: version({}) }, ACTIVE);
    expect(checker.violations.map((violation) => violation.replace(/^version \d+: /, ''))).to.deep.equal([
      'the object was deleted while its profile was ACTIVE',
      'the object was deleted while its role existed',
    ]);
    expect(checker.latest).to.equal(undefined);
  });
});
