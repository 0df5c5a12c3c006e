import { expect } from 'chai';
import { parse } from 'yaml';
import { findViolations } from './fargate-limits.ts';
import { podOf } from './pod.ts';

const violationsOf = (object: unknown): readonly string[] => {
  const pod = podOf(object, 'default');
  if (pod === undefined) throw new Error('no pod');
  return [...findViolations(pod)].map(({ field, message }) => `${field}: ${message}`);
};

const ofPod = (spec: string): readonly string[] =>
  violationsOf({ kind: 'Pod', metadata: { name: 'p' }, spec: parse(spec) as unknown });

const affinity = (...terms: readonly string[]): string =>
  `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [${terms.join()}]}}}`;
const term = (operator: string, ...values: readonly string[]): string =>
  `{matchExpressions: [{key: kubernetes.io/arch, operator: ${operator}, values: [${values.join()}]}]}`;
const AFFINITY = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution';
const AMD64 = 'nodes of Fargate are amd64';
const GPU = 'Fargate has no GPUs and no accelerators';

describe('What Fargate refuses of a pod', () => {
  const cases: readonly (readonly [spec: string, violation: string])[] = [
    ['hostNetwork: true', 'spec.hostNetwork: the network of the host cannot be used'],
    [
      'containers: [{}, {securityContext: {privileged: true}}]',
      'spec.containers[1].securityContext.privileged: privileged containers do not run on Fargate',
    ],
    [
      'initContainers: [{securityContext: {privileged: true}}]',
      'spec.initContainers[0].securityContext.privileged: privileged containers do not run on Fargate',
    ],
    [
      'containers: [{ports: [{containerPort: 80}, {containerPort: 81, hostPort: 81}]}]',
      'spec.containers[0].ports[1].hostPort: ports of the host cannot be used; use a Service',
    ],
    [
      'containers: [{ports: [{containerPort: 80, hostIP: 10.0.0.1}]}]',
      'spec.containers[0].ports[0].hostIP: ports of the host cannot be used; use a Service',
    ],
    [
      'containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]',
      `spec.containers[0].resources.limits["nvidia.com/gpu"]: ${GPU}`,
    ],
    [
      'containers: [{resources: {requests: {aws.amazon.com/neuron: 1}}}]',
      `spec.containers[0].resources.requests["aws.amazon.com/neuron"]: ${GPU}`,
    ],
    [
      'containers: [{resources: {requests: {cpu: 17}}}]',
      'spec.containers: with 256 MiB for Kubernetes they exceed the largest size of Fargate, 16 vCPU with 120 GB',
    ],
    [
      'containers: [{resources: {requests: {ephemeral-storage: 176Gi}}}]',
      'spec.containers: they request more ephemeral storage than the 175 GiB of Fargate',
    ],
    ['volumes: [{hostPath: {path: /}}]', 'spec.volumes[0].hostPath: paths of the host cannot be mounted'],
    [
      'volumes: [{emptyDir: {}}, {awsElasticBlockStore: {volumeID: vol-1}}]',
      'spec.volumes[1].awsElasticBlockStore: EBS volumes cannot be mounted; use EFS',
    ],
    ['nodeSelector: {kubernetes.io/arch: arm64}', `spec.nodeSelector["kubernetes.io/arch"]: ${AMD64}`],
    ['nodeSelector: {beta.kubernetes.io/arch: arm64}', `spec.nodeSelector["beta.kubernetes.io/arch"]: ${AMD64}`],
    [affinity(term('In', 'arm64')), `${AFFINITY}: ${AMD64}`],
    [affinity(term('In', 's390x'), term('In', 'arm64')), `${AFFINITY}: ${AMD64}`],
    [affinity(term('NotIn', 'amd64')), `${AFFINITY}: ${AMD64}`],
    [affinity(term('DoesNotExist')), `${AFFINITY}: ${AMD64}`],
  ];
  for (const [spec, violation] of cases) it(spec, () => expect(ofPod(spec)).to.deep.equal([violation]));

  for (const spec of [
    'hostNetwork: false',
    'containers: [{securityContext: {privileged: false}, ports: [{containerPort: 80, hostPort: 0}]}]',
    'containers: [{resources: {limits: {nvidia.com/gpu: 0}, requests: {ephemeral-storage: 175Gi}}}]',
    'volumes: [{emptyDir: {}}, {persistentVolumeClaim: {claimName: c}}]',
    'nodeSelector: {kubernetes.io/arch: amd64, disk: ssd}',
    affinity(term('In', 'arm64', 'amd64')),
    affinity(term('In', 'arm64'), term('NotIn', 'arm64')),
    affinity(term('Exists')),
    affinity('{matchExpressions: [{key: zone, operator: In, values: [a]}]}'),
    'containers: 7',
    'containers: [null, 7, {ports: {}, resources: [], securityContext: null}]',
    'volumes: [null, {hostPath: null}]',
    'affinity: {nodeAffinity: [7]}',
  ])
    it(`nothing: ${spec}`, () => expect(ofPod(spec)).to.deep.equal([]));

  it('a DaemonSet, in its manifest and in its pods, with the path in the template', () => {
    const message = 'pods of a DaemonSet do not run on Fargate; use a sidecar container';
    expect(violationsOf({ kind: 'DaemonSet', spec: { template: { spec: { hostNetwork: true } } } })).to.deep.equal([
      `kind: ${message}`,
      'spec.template.spec.hostNetwork: the network of the host cannot be used',
    ]);
    const ownerReferences = [{ kind: 'DaemonSet', name: 'd', controller: true }];
    expect(violationsOf({ kind: 'Pod', metadata: { ownerReferences }, spec: {} })).to.deep.equal([
      `metadata.ownerReferences: ${message}`,
    ]);
  });
});
