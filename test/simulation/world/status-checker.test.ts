import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { EKS_POLICY } from '../../world/aws/capa-resources.ts';
import { type AwsSnapshot, StatusChecker } from './status-checker.ts';

const ARN = 'arn:aws:eks:us-east-1:123456789012:fargateprofile/c/web/1';
const ROLE = { id: 'AROA1', attachedPolicies: [EKS_POLICY] };
const ACTIVE: AwsSnapshot = { profiles: [{ arn: ARN, status: 'ACTIVE' }], roles: [ROLE] };
const CREATING: AwsSnapshot = { profiles: [{ arn: ARN, status: 'CREATING' }], roles: [ROLE] };
const NOTHING: AwsSnapshot = { profiles: [], roles: [] };
const WORKING = { Ready: 'False', Reconciling: 'True' };
const SAYS = { profileARN: ARN, profileStatus: 'ACTIVE', role: { id: 'AROA1' } };
const PROVISIONED = { initialization: { provisioned: true } };

type Version = readonly [conditions: Readonly<Record<string, string>>, status: object, aws: AwsSnapshot];

function objectOf([conditions, status]: Version): KubeObject {
  return {
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
    kind: 'AWSFargateProfile',
    metadata: { name: 'web', namespace: 'default', uid: 'uid', generation: 1, resourceVersion: '1' },
    status: {
      observedGeneration: 1,
      ready: conditions['Ready'] === 'True',
      conditions: Object.entries(conditions).map(([type, text]) => ({ type, status: text, observedGeneration: 1 })),
      ...status,
    },
  };
}

describe('the status checker', () => {
  const cases: readonly (readonly [title: string, versions: readonly Version[], violations: readonly string[]])[] = [
    ['a status that agrees with AWS', [[{ Ready: 'True' }, SAYS, ACTIVE]], []],
    ['Ready before ACTIVE', [[{ Ready: 'True' }, {}, CREATING]], ['Ready is True without ACTIVE']],
    [
      'a profile, an ARN and a role that do not exist',
      [[WORKING, SAYS, NOTHING]],
      ['status.profileStatus is ACTIVE', 'status.profileARN names no profile', 'status.role.id names no role'],
    ],
    [
      'a role without its policy',
      [[{ ...WORKING, IAMFargateRolesReady: 'True' }, {}, NOTHING]],
      ['IAMFargateRolesReady became True without a role that has its policy'],
    ],
    ['Stalled beside Ready', [[{ Ready: 'True', Stalled: 'True' }, {}, ACTIVE]], ['Ready and Stalled are both True']],
    ['an idle object', [[{ Ready: 'False' }, {}, NOTHING]], ['Ready is False, but neither Reconciling nor Stalled']],
    ['a deletion that nobody wants', [[{ ...WORKING, Deleting: 'True' }, {}, NOTHING]], ['Deleting is True without']],
    ['status.ready', [[{ Ready: 'True' }, { ready: false }, ACTIVE]], ['status.ready is false while Ready is True']],
    ['a later generation', [[WORKING, { observedGeneration: 2 }, NOTHING]], ['observedGeneration 2 is ahead']],
    [
      'provisioned, and its removal',
      [
        [WORKING, PROVISIONED, CREATING],
        [WORKING, {}, CREATING],
      ],
      ['initialization.provisioned was set without ACTIVE', 'initialization.provisioned was removed'],
    ],
  ];
  for (const [title, versions, violations] of cases)
    it(`finds ${violations.length === 0 ? 'nothing in ' : ''}${title}`, () => {
      const checker = new StatusChecker();
      for (const version of versions) checker.checkVersion({ type: 'MODIFIED', object: objectOf(version) }, version[2]);
      expect(checker.violations).to.have.length(violations.length);
      for (const [index, words] of violations.entries()) expect(checker.violations[index]).to.contain(words);
    });

  it('finds an object that is gone before its profile and role', () => {
    const checker = new StatusChecker();
    checker.checkVersion({ type: 'DELETED', object: objectOf([WORKING, {}, ACTIVE]) }, ACTIVE);
    expect(checker.violations).to.deep.equal([
      'the object was deleted while its profile was ACTIVE',
      'the object was deleted while its role existed',
    ]);
  });

  it('accepts a status that AWS has overtaken since the previous version', () => {
    const checker = new StatusChecker();
    checker.checkVersion({ type: 'ADDED', object: objectOf([WORKING, {}, CREATING]) }, CREATING);
    checker.recordAws(ACTIVE);
    checker.checkVersion(
      { type: 'MODIFIED', object: objectOf([WORKING, { profileStatus: 'CREATING' }, ACTIVE]) },
      ACTIVE,
    );
    expect(checker.violations).to.deep.equal([]);
  });
});
