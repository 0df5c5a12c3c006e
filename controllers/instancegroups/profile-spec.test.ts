import { expect } from 'chai';
import { EksClusterName } from '../../api/names.ts';
import type { AWSFargateProfileSpec } from '../../api/v1beta2/index.ts';
import { findStrategyProblem, profileSpec, profileSpecPatch } from './profile-spec.ts';

const STRATEGY = 'aws-fargate.cluster.x-k8s.io/update-strategy';
const DRAIN = 'aws-fargate.cluster.x-k8s.io/drain-timeout';

const metadata = (annotations: Readonly<Record<string, string>>) => ({
  name: 'web',
  namespace: 'team-a',
  uid: 'u',
  resourceVersion: '1',
  annotations,
});
const specOf = (annotations: Readonly<Record<string, string>>): AWSFargateProfileSpec =>
  profileSpec(
    { metadata: metadata(annotations) },
    { clusterName: EksClusterName.of('prod'), subnets: [], selectors: [{ namespace: 'shop', labels: {} }], tags: {} },
  );

describe('the update strategy of the profile of an InstanceGroup', () => {
  for (const [annotations, expected] of [
    [{}, undefined],
    [{ [STRATEGY]: 'Replace' }, { type: 'Replace' }],
    [{ [DRAIN]: '10m' }, { replace: { drainTimeout: '10m' } }],
    [
      { [STRATEGY]: 'Replace', [DRAIN]: '0s' },
      { type: 'Replace', replace: { drainTimeout: '0s' } },
    ],
  ] as const)
    it(`is ${JSON.stringify(expected)} with the annotations ${JSON.stringify(annotations)}`, () =>
      expect(specOf(annotations).updateStrategy).to.deep.equal(expected));

  it('keeps the fields that users set on the profile', () => {
    const wanted = specOf({ [DRAIN]: '10m' });
    const users = { type: 'Replace', replace: { keepPredecessorFor: '1h', drainTimeout: '5m' } };
    expect(profileSpecPatch({ ...wanted, updateStrategy: users }, wanted)).to.deep.equal({
      updateStrategy: { replace: { drainTimeout: '10m' } },
    });
    const without = specOf({});
    expect(profileSpecPatch({ ...without, updateStrategy: users }, without)).to.equal(undefined);
  });

  for (const value of ['', '10', '500ms', '25h', '-1m', '9'.repeat(70)])
    it(`has no drain timeout "${value}"`, () =>
      expect(findStrategyProblem({ metadata: metadata({ [DRAIN]: value }) })).to.equal(
        `metadata.annotations["${DRAIN}"]: expected a duration of at most 24h such as "10m", got "${value}"`,
      ));

  for (const value of ['24h', '1h30m', '0s'])
    it(`may have the drain timeout ${value}`, () =>
      expect(findStrategyProblem({ metadata: metadata({ [DRAIN]: value }) })).to.equal(undefined));
});
