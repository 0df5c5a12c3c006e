import { expect } from 'chai';
import { isLeft, right } from 'fp-ts/lib/Either.js';
import { describeProblem } from 'controller-runtime/schema';
import { decodeAWSManagedControlPlane, decodeCluster, decodeIdentity } from './index.ts';

const metadata = { name: 'prod', namespace: 'team', uid: 'u', resourceVersion: '1' };

describe('decodeCluster', () => {
  const controlPlaneRef = {
    group: 'controlplane.cluster.x-k8s.io',
    kind: 'AWSManagedControlPlane',
    name: 'prod',
    namespace: 'team',
  };
  const toV1beta1 = ({ group, ...ref }: typeof controlPlaneRef): object => ({ ...ref, apiVersion: `${group}/v1beta2` });
  const toV1beta2 = ({ group, kind, name }: typeof controlPlaneRef): object => ({ apiGroup: group, kind, name });

  for (const [version, toRef] of [
    ['v1beta1', toV1beta1],
    ['v1beta2', toV1beta2],
  ] as const) {
    it(`reads ${version}`, () => {
      const cluster = {
        apiVersion: `cluster.x-k8s.io/${version}`,
        kind: 'Cluster',
        metadata,
        spec: { paused: true, controlPlaneRef: toRef(controlPlaneRef) },
      };
      expect(decodeCluster(cluster)).to.deep.equal(right({ metadata, paused: true, controlPlaneRef }));
    });
  }

  for (const spec of [undefined, {}, { controlPlaneRef: {} }, { controlPlaneRef: { kind: 'A', name: '' } }]) {
    it(`reads a Cluster without a complete controlPlaneRef: ${JSON.stringify(spec)}`, () => {
      expect(decodeCluster({ metadata, spec })).to.deep.equal(right({ metadata, paused: false }));
    });
  }
});

describe('decodeAWSManagedControlPlane', () => {
  it('reads each field', () => {
    const subnet = { id: 'placeholder', resourceID: 'subnet-1', isPublic: true, zone: 'a', tags: { c: 'd' } };
    const controlPlane = {
      metadata,
      spec: {
        eksClusterName: 'team_prod',
        region: 'eu-central-1',
        partition: 'aws',
        identityRef: { kind: 'AWSClusterRoleIdentity', name: 'shared' },
        additionalTags: { a: 'b' },
        network: {
          vpc: { id: 'vpc-1' },
          subnets: [subnet, { id: 'subnet-2', zoneType: 'local-zone' }],
        },
      },
      status: { ready: true },
    };
    expect(decodeAWSManagedControlPlane(controlPlane)).to.deep.equal(
      right({
        metadata,
        eksClusterName: 'team_prod',
        region: 'eu-central-1',
        identityRef: { kind: 'AWSClusterRoleIdentity', name: 'shared' },
        additionalTags: { a: 'b' },
        subnets: [subnet, { id: 'subnet-2', zoneType: 'local-zone', isPublic: false, tags: {} }],
        ready: true,
      }),
    );
  });

  it('reads a control plane without spec and status, or with empty ones', () => {
    const expected = right({ metadata, additionalTags: {}, subnets: [], ready: false });
    expect(decodeAWSManagedControlPlane({ metadata })).to.deep.equal(expected);
    expect(
      decodeAWSManagedControlPlane({ metadata, spec: { region: '', eksClusterName: '', network: {} } }),
    ).to.deep.equal(expected);
  });
});

describe('decodeIdentity', () => {
  const identity = (kind: string, spec?: object): object => ({
    kind,
    metadata: { name: 'default', uid: 'u', resourceVersion: '1' },
    ...(spec && { spec }),
  });

  const readable: readonly object[] = [
    identity('AWSClusterControllerIdentity'),
    identity('AWSClusterControllerIdentity', { allowedNamespaces: null }),
    identity('AWSClusterControllerIdentity', { allowedNamespaces: { list: null, selector: {} } }),
    identity('AWSClusterControllerIdentity', {
      allowedNamespaces: {
        list: ['a'],
        selector: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
      },
    }),
    identity('AWSClusterStaticIdentity', { secretRef: 'keys' }),
    identity('AWSClusterRoleIdentity', {
      roleARN: 'arn:aws:iam::123456789012:role/x',
      sessionName: 's',
      durationSeconds: 900,
      inlinePolicy: '{}',
      policyARNs: ['arn'],
      externalID: 'e',
      sourceIdentityRef: { kind: 'AWSClusterControllerIdentity', name: 'default' },
    }),
  ];
  for (const input of readable) {
    it(`decodes without loss: ${JSON.stringify(input)}`, () => {
      expect(decodeIdentity(input)).to.deep.equal(right(input));
    });
  }

  const unreadable: readonly (readonly [input: object, ...problems: string[]])[] = [
    [identity('AWSClusterStaticIdentity', {}), 'spec.secretRef is missing: set spec.secretRef to the name of a Secret'],
    [identity('AWSClusterRoleIdentity'), 'spec is missing: set spec.roleARN to the ARN of an IAM role'],
    [
      identity('AWSClusterRoleIdentity', { roleARN: 'arn', sourceIdentityRef: {} }),
      'spec.sourceIdentityRef.kind is missing: set spec.sourceIdentityRef.kind to AWSClusterControllerIdentity, AWSClusterStaticIdentity or AWSClusterRoleIdentity',
      'spec.sourceIdentityRef.name is missing: set spec.sourceIdentityRef.name to the name of an identity',
    ],
    [
      identity('AWSClusterControllerIdentity', { allowedNamespaces: { list: 'all' } }),
      'spec.allowedNamespaces.list: expected array, got "all"',
    ],
    [
      identity('AWSCluster'),
      'kind: expected "AWSClusterControllerIdentity" or "AWSClusterStaticIdentity" or "AWSClusterRoleIdentity", got "AWSCluster"',
    ],
  ];
  for (const [input, ...problems] of unreadable) {
    it(`reports ${problems.join()}`, () => {
      const result = decodeIdentity(input);
      expect(isLeft(result) && result.left.map(describeProblem)).to.deep.equal(problems);
    });
  }
});
