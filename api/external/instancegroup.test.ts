import { expect } from 'chai';
import { isFargateGroup, decodeFargateGroup } from './instancegroup.ts';
import * as E from 'fp-ts/lib/Either.js';
import { parse } from 'yaml';
import { describeProblems } from 'controller-runtime/schema';

describe('isFargateGroup', () => {
  it('recognizes the provisioner in any case, and no other provisioner', () => {
    for (const provisioner of ['eks-fargate', 'EKS-Fargate'])
      expect(isFargateGroup({ spec: { provisioner } }), provisioner).to.equal(true);
    for (const provisioner of ['eks', 'eks-managed', '', 7, undefined])
      expect(isFargateGroup({ spec: { provisioner } }), String(provisioner)).to.equal(false);
    expect(isFargateGroup({})).to.equal(false);
  });
});

const MANIFEST = `
apiVersion: instancemgr.keikoproj.io/v1alpha1
kind: InstanceGroup
metadata:
  name: hello-world
spec:
  # provision for EKS using Fargate
  provisioner: eks-fargate
  strategy:
    type: managed
  # provisioner configuration
  eks-fargate:
    clusterName: "the-cluster-for-my-pods"
    podExecutionRoleArn: "arn:aws:iam::123456789012:role/MyPodRole"
    subnets:
    - subnet-1a2b3c4d
    - subnet-4d3c2b1a
    - subnet-0w9x8y7z
    selectors:
    - namespace1:
      labels:
        key1: "value1"
        key2: "value2"
    - namespace2:
      labels:
        key1: "value1"
        key2: "value2"
    tags:
      key1: "value1"
      key2: "value2"
`;

/** An annotation of kubectl with a selector that is nested so deeply that comparing it overflows the stack. */
const DEEP = `{"spec":{"eks-fargate":{"selectors":[${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)},{}]}}}`;

const VALID = { clusterName: 'c', selectors: [{ namespace: 'web' }] };
const withFargate = (change: object, spec: object = {}): object => ({
  spec: { provisioner: 'eks-fargate', strategy: { type: 'managed' }, 'eks-fargate': { ...VALID, ...change }, ...spec },
});
const problemsOf = (group: object): string => {
  const decoded = decodeFargateGroup(group);
  return E.isLeft(decoded) ? describeProblems(decoded.left) : expect.fail('the group is accepted');
};
const decodedOf = (group: object) => {
  const decoded = decodeFargateGroup(group);
  return E.isRight(decoded) ? decoded.right : expect.fail(describeProblems(decoded.left));
};

describe('decodeFargateGroup', () => {
  it('reads the manifest in the documentation of keiko', () => {
    const labels = { key1: 'value1', key2: 'value2' };
    expect(decodedOf(parse(MANIFEST) as object)).to.deep.equal({
      clusterName: 'the-cluster-for-my-pods',
      podExecutionRoleArn: 'arn:aws:iam::123456789012:role/MyPodRole',
      subnets: ['subnet-1a2b3c4d', 'subnet-4d3c2b1a', 'subnet-0w9x8y7z'],
      selectors: [
        { namespace: 'namespace1', labels },
        { namespace: 'namespace2', labels },
      ],
      tags: labels,
    });
  });

  it('reads what the CRD of keiko accepts', () => {
    const group = withFargate(
      {
        podExecutionRoleArn: '',
        subnets: null,
        selectors: [{ namespace: 'a', labels: { app: 'x' } }, { namespace: 'b' }],
        tags: [{ Team: 'a', Env: 'x' }, { Env: 'b' }, { key: 'k', value: 'v' }],
      },
      { strategy: { type: 'Managed' } },
    );
    expect(decodedOf(group)).to.deep.equal({
      clusterName: 'c',
      subnets: [],
      selectors: [
        { namespace: 'a', labels: { app: 'x' } },
        { namespace: 'b', labels: {} },
      ],
      tags: { Team: 'a', Env: 'b', key: 'k', value: 'v' },
    });
  });

  describe('after a client-side kubectl apply, which drops fields without a value', () => {
    const applied = parse(MANIFEST) as { readonly spec: { readonly 'eks-fargate': object } };
    const shortened = (selectors: readonly object[], annotation: string = JSON.stringify(applied)): object => ({
      metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': annotation } },
      spec: { ...applied.spec, 'eks-fargate': { ...applied.spec['eks-fargate'], selectors } },
    });
    const labels = { key2: 'value2', key1: 'value1' };

    it('reads the namespaces from the annotation of kubectl', () => {
      expect(decodedOf(shortened([{ labels }, { labels }])).selectors.map(({ namespace }) => namespace)).to.deep.equal([
        'namespace1',
        'namespace2',
      ]);
    });

    const stale: readonly (readonly [given: string, group: object, index: number])[] = [
      ['other labels', shortened([{ labels }, { labels: { other: 'x' } }]), 1],
      ['another number of selectors', shortened([{ labels }]), 0],
      ['no manifest', shortened([{ labels }, { labels }], '{'), 0],
      ['a value that is nested deeply', shortened([{ labels }, { labels }], DEEP), 0],
      ['another manifest', shortened([{ labels }, { labels }], '{"spec":[]}'), 0],
    ];
    for (const [given, group, index] of stale)
      it(`refuses a selector without a namespace if the annotation has ${given}`, () => {
        expect(problemsOf(group)).to.include(`spec.eks-fargate.selectors[${index}]: expected namespace`);
      });

    it('refuses a selector whose label had no value, instead of selecting more pods', () => {
      const written = { namespace: 'web', labels: { compute: null } };
      const selectors = [{ namespace: 'web', labels: {} }];
      const annotation = JSON.stringify({ spec: { 'eks-fargate': { selectors: [written] } } });
      expect(problemsOf(shortened(selectors, annotation))).to.include(
        'spec.eks-fargate.selectors[0]: expected labels that are a map of texts, each with a value',
      );
    });

    it('prefers what another client has written since', () => {
      const { selectors } = decodedOf(shortened([{ namespace: 'a', labels }, { labels }]));
      expect(selectors.map(({ namespace }) => namespace)).to.deep.equal(['a', 'namespace2']);
    });
  });

  const form = 'namespace, and labels if they matter, and no other field';
  const selectors: readonly (readonly [selector: object, expected: string])[] = [
    [{ labels: { app: 'x' } }, form],
    [{ web: 'yes' }, form],
    [{ one: null, two: null }, form],
    [{ namespace: 'a', web: null }, form],
    [{ namespace: null }, 'namespace with the name of a namespace'],
    [{ namespace: 'a', labels: { app: 1 } }, 'labels that are a map of texts, each with a value'],
  ];
  const cases: readonly (readonly [given: string, group: object, problem: string])[] = [
    [
      'an empty strategy',
      withFargate({}, { strategy: {} }),
      'spec.strategy.type is missing: set spec.strategy.type to managed',
    ],
    [
      'another strategy',
      withFargate({}, { strategy: { type: 'rollingUpdate' } }),
      'spec.strategy.type: expected "managed", got "rollingUpdate"',
    ],
    [
      'an empty part for the provisioner',
      withFargate({}, { 'eks-fargate': {} }),
      'spec.eks-fargate.clusterName is missing: set spec.eks-fargate.clusterName to the name of a cluster in EKS; spec.eks-fargate.selectors is missing: set spec.eks-fargate.selectors to a list of selectors, each with a namespace',
    ],
    [
      'no cluster',
      withFargate({ clusterName: '' }),
      'spec.eks-fargate.clusterName: expected the name of a cluster in EKS, got ""',
    ],
    ...selectors.map(
      ([selector, expected]) =>
        [
          `the selector ${JSON.stringify(selector)}`,
          withFargate({ selectors: [{ namespace: 'a' }, selector] }),
          `spec.eks-fargate.selectors[1]: expected ${expected}, got an object`,
        ] as const,
    ),
    ['a tag that is no text', withFargate({ tags: { cost: 7 } }), 'spec.eks-fargate.tags.cost: expected string, got 7'],
    [
      'a tag in a list that is no text',
      withFargate({ tags: [{ a: 'b' }, { cost: 7 }] }),
      'spec.eks-fargate.tags[1].cost: expected string, got 7',
    ],
  ];
  for (const [given, group, problem] of cases)
    it(`refuses ${given}`, () => {
      expect(problemsOf(group)).to.equal(problem);
    });
});
