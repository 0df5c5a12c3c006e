import { expect } from 'chai';
import { isLeft, isRight, right } from 'fp-ts/lib/Either.js';
import type { OpenApi } from 'controller-runtime/schema';
import { crd } from './crd.ts';
import { decodeAWSFargateProfile, describeProblem } from './index.ts';

const metadata = { name: 'foo', namespace: 'default', uid: 'u', resourceVersion: '1' };
const object = (spec: unknown, more: object = {}): object => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
  kind: 'AWSFargateProfile',
  metadata,
  spec,
  ...more,
});

const problems = (input: unknown): readonly string[] => {
  const result = decodeAWSFargateProfile(input);
  return isLeft(result) ? result.left.map(describeProblem) : [];
};

describe('decodeAWSFargateProfile', () => {
  it('decodes an object with known and unknown fields', () => {
    const full = object(
      {
        clusterName: 'prod',
        profileName: 'a',
        selectors: [{ namespace: 'a', labels: { b: 'c' } }],
        subnetIDs: ['subnet-1'],
        additionalTags: { a: '' },
        roleName: 'r',
        rolePath: '/',
        rolePermissionsBoundary: 'arn',
        roleAdditionalPolicies: ['arn'],
        updateStrategy: { type: 'Reject' },
        deletionPolicy: 'Retain',
        adoptionPolicy: 'Always',
        ofTheFuture: true,
      },
      {
        status: {
          observedGeneration: -1,
          initialization: { provisioned: true },
          role: { name: 'r', managed: true },
          conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2024-01-02T03:04:05Z' }],
          failureReason: 'old',
        },
      },
    );
    expect(decodeAWSFargateProfile(full)).to.deep.equal(right(full));
  });

  const loose: readonly (readonly [what: string, spec: object, more?: object])[] = [
    ['no selectors', { clusterName: 'c' }],
    ['an empty selector', { clusterName: 'c', selectors: [{}] }],
    ['six labels', { clusterName: 'c', selectors: [{ labels: { a: '', b: '', c: '', d: '', e: '', f: '' } }] }],
    ['a reserved tag key with a long value', { clusterName: 'c', additionalTags: { 'aws:a': 'v'.repeat(300) } }],
    ['a reserved name', { clusterName: 'c', profileName: 'eks-x' }],
    ['both a role name and a role ARN', { clusterName: 'c', roleName: 'a', roleARN: 'b' }],
    ['an empty status', { clusterName: 'c' }, { status: {} }],
    [
      'a condition with the severity of Cluster API Provider AWS',
      { clusterName: 'c' },
      {
        status: {
          ready: false,
          conditions: [
            { type: 'Ready', status: 'False', severity: 'Error', lastTransitionTime: '2024-01-02T03:04:05Z' },
          ],
        },
      },
    ],
  ];
  for (const [what, spec, more] of loose) {
    it(`decodes an object that the CEL rules refuse: ${what}`, () => {
      expect(problems(object(spec, more))).to.deep.equal([]);
    });
  }

  it('decodes empty names as absent', () => {
    const result = decodeAWSFargateProfile(
      object({
        clusterName: 'c',
        profileName: '',
        roleName: '',
        rolePath: '',
        roleARN: '',
        rolePermissionsBoundary: '',
      }),
    );
    expect(isRight(result) && result.right.spec).to.deep.equal({ clusterName: 'c' });
  });

  const undecodable: readonly (readonly [input: unknown, problem: string])[] = [
    [null, 'expected object, got null'],
    [object(undefined), 'spec is missing: set spec with selectors, and clusterName or eksCluster'],
    [
      object({ eksCluster: {} }),
      'spec.eksCluster.name is missing: set spec.eksCluster.name to the name of the cluster in EKS',
    ],
    [object({ clusterName: 7 }), 'spec.clusterName: expected string, got 7'],
    [
      object({ clusterName: 'c', selectors: [{}, {}, {}, { namespace: 7 }] }),
      'spec.selectors[3].namespace: expected string, got 7',
    ],
    [
      object({ clusterName: 'c', updateStrategy: { type: 'Recreate' } }),
      'spec.updateStrategy.type: expected "Reject" or "Replace", got "Recreate"',
    ],
    [object({ clusterName: 'c', deletionPolicy: 'x' }), 'spec.deletionPolicy: expected "Delete" or "Retain", got "x"'],
    [
      object({ clusterName: 'c' }, { status: { observedGeneration: Number.NaN } }),
      'status.observedGeneration: expected integer, got NaN',
    ],
    [
      object({ clusterName: 'c' }, { metadata: { ...metadata, labels: { 'a/b': 1 } } }),
      'metadata.labels["a/b"]: expected string, got 1',
    ],
    [
      object({ clusterName: 'c' }, { metadata: { ...metadata, uid: undefined } }),
      'metadata.uid is missing: set metadata.uid to a string',
    ],
  ];
  for (const [input, problem] of undecodable) {
    it(`reports ${problem}`, () => expect(problems(input)).to.deep.equal([problem]));
  }
});

/** The words that CEL reserves: https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax */
const RESERVED =
  /\.(?:true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while)\b/;

/** Returns all values of the fields with one of the given names, at any depth. */
function valuesOf(value: unknown, names: readonly string[]): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]: [string, unknown]) => [
    ...(names.includes(name) && typeof each === 'string' ? [each] : []),
    ...valuesOf(each, names),
  ]);
}

describe('the CRD', () => {
  const served = crd.spec.versions.find(({ name }) => name === 'v1beta2');
  if (served === undefined) throw new Error('v1beta2 is missing');
  const root = served.schema.openAPIV3Schema;

  /** Returns an OpenAPI schema and all schemas nested in it, each with its path. */
  const nodes = (schema: OpenApi, path = ''): readonly (readonly [path: string, node: OpenApi])[] => [
    [path, schema],
    ...Object.entries(schema.properties ?? {}).flatMap(([name, node]) => nodes(node, `${path}.${name}`)),
    ...(schema.items === undefined ? [] : nodes(schema.items, `${path}[]`)),
    ...(schema.additionalProperties === undefined ? [] : nodes(schema.additionalProperties, `${path}{}`)),
  ];

  it('describes every field', () => {
    const undescribed = nodes(root).filter(
      ([path, { description }]) => !/[\]}]$|^\.metadata$/.test(path) && !/^[A-Z].*\.$/s.test(description ?? ''),
    );
    expect(undescribed.map(([path]) => path)).to.deep.equal([]);
  });

  it('has required fields in conditions only', () => {
    const requiring = nodes(root).filter(([, { required }]) => required !== undefined);
    expect(requiring.map(([path]) => path)).to.deep.equal(['.status.conditions[]']);
  });

  it('has no default for a field that decides about a deletion', () => {
    const defaults = nodes(root).flatMap(([path, { default: value }]) => (value === undefined ? [] : [[path, value]]));
    expect(defaults).to.deep.equal([
      ['.spec.adoptionPolicy', 'Owned'],
      ['.status', {}],
      ['.status.observedGeneration', -1],
    ]);
  });

  it('has the labels of the Cluster API contract and of clusterctl', () => {
    expect(crd.metadata).to.deep.equal({
      name: 'awsfargateprofiles.infrastructure.cluster.x-k8s.io',
      labels: {
        'cluster.x-k8s.io/provider': 'infrastructure-aws-fargate',
        'cluster.x-k8s.io/v1beta1': 'v1beta2',
        'cluster.x-k8s.io/v1beta2': 'v1beta2',
        'clusterctl.cluster.x-k8s.io': '',
        'clusterctl.cluster.x-k8s.io/move': '',
      },
    });
  });

  it('escapes names that CEL reserves, which older API servers do not parse', () => {
    const expressions = valuesOf(crd, ['rule', 'messageExpression']);
    expect(expressions.length).to.be.greaterThan(30);
    expect(
      expressions.filter((expression) => RESERVED.test(String(expression).replaceAll(/'[^']*'/g, "''"))),
    ).to.deep.equal([]);
    expect(expressions.some((expression) => String(expression).includes('.__namespace__'))).to.equal(true);
  });
});
