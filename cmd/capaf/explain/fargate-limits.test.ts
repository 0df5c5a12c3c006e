import { expect } from 'chai';
import { parse } from 'yaml';
import { findLimits } from './fargate-limits.ts';
import { type Pod, podOf } from './pod.ts';

const newPod = (object: unknown): Pod => {
  const pod = podOf(object, 'default');
  if (pod === undefined) throw new Error('no pod');
  return pod;
};

const violationsOf = (object: unknown): readonly string[] =>
  findLimits(newPod(object), 'eu-west-1').violations.map(({ field, message }) => `${field}: ${message}`);

/** Returns a pod. Adds a container unless `spec` sets the containers. */
const toPod = (spec: string): object => {
  const own = parse(spec) as object;
  return { kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{}], ...own } };
};

const ofPod = (spec: string): readonly string[] => violationsOf(toPod(spec));

const affinity = (...terms: readonly string[]): string =>
  `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [${terms.join()}]}}}`;
const term = (operator: string, ...values: readonly string[]): string =>
  `{matchExpressions: [{key: kubernetes.io/arch, operator: ${operator}, values: [${values.join()}]}]}`;
const AFFINITY = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution';
const STAYS = 'the pod stays Pending, because this field does not keep it off Fargate';
const AMD64 = `nodes of Fargate have kubernetes.io/arch=amd64; ${STAYS}`;
const GPU = 'nodes of Fargate offer cpu, memory, and ephemeral-storage only, and no GPUs';
const HOST = 'the namespaces of the host cannot be used';
const adding = (...names: readonly string[]): string =>
  `containers: [{securityContext: {capabilities: {add: [${names.join()}]}}}]`;
const notMounted = (kind: string): string => `Fargate does not mount volumes of the kind ${kind}; use EFS`;

describe('What Fargate refuses of a pod', () => {
  const cases: readonly (readonly [spec: string, violation: string])[] = [
    ['hostNetwork: true', `spec.hostNetwork: ${HOST}`],
    ['hostPID: true', `spec.hostPID: ${HOST}`],
    ['hostIPC: true', `spec.hostIPC: ${HOST}`],
    ['os: {name: windows}', 'spec.os.name: nodes of Fargate run Linux'],
    ['resourceClaims: [{name: gpu}]', 'spec.resourceClaims[0]: nodes of Fargate have no devices to claim'],
    [
      adding('CAP_CHOWN'),
      'spec.containers[0].securityContext.capabilities.add[0]: Fargate does not add the capability CAP_CHOWN; remove it, because each container has CHOWN',
    ],
    [
      adding('NET_BIND_SERVICE', 'SYS_PTRACE'),
      'spec.containers[0].securityContext.capabilities.add[1]: Fargate does not add the capability SYS_PTRACE',
    ],
    [
      `initC${adding('SYS_ADMIN').slice(1)}`,
      'spec.initContainers[0].securityContext.capabilities.add[0]: Fargate does not add the capability SYS_ADMIN',
    ],
    [
      'containers: [{resources: {limits: {hugepages-2Mi: 4Mi}}}]',
      `spec.containers[0].resources.limits["hugepages-2Mi"]: ${GPU}`,
    ],
    ['resources: {limits: {nvidia.com/gpu: 1}}', `spec.resources.limits["nvidia.com/gpu"]: ${GPU}`],
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
    [
      'volumes: [{csi: {driver: csi.cert-manager.io}}]',
      'spec.volumes[0].csi: Fargate does not mount inline volumes of the CSI driver csi.cert-manager.io; for certificates and secrets use a Secret, for data a claim on EFS',
    ],
    ['volumes: [{hostPath: {path: /}}]', 'spec.volumes[0].hostPath: paths of the host cannot be mounted'],
    [
      'volumes: [{emptyDir: {}}, {awsElasticBlockStore: {volumeID: vol-1}}]',
      'spec.volumes[1].awsElasticBlockStore: EBS volumes cannot be mounted; use EFS',
    ],
    ...['nfs', 'flexVolume', 'gitRepo', 'image', 'fc', 'iscsi'].map((kind): readonly [string, string] => [
      `volumes: [{name: a, ${kind}: {}}]`,
      `spec.volumes[0].${kind}: ${notMounted(kind)}`,
    ]),
    [
      affinity('{matchFields: [{key: metadata.name, operator: In, values: [ip-10-0-0-1]}]}', '{}'),
      `${AFFINITY}: each pod gets a new node of Fargate, whose name nobody knows before, a term without expressions matches no node; ${STAYS}`,
    ],
    ['nodeSelector: {kubernetes.io/arch: arm64}', `spec.nodeSelector["kubernetes.io/arch"]: ${AMD64}`],
    [affinity(term('In', 'arm64')), `${AFFINITY}: ${AMD64}`],
    [affinity(term('In', 's390x'), term('In', 'arm64')), `${AFFINITY}: ${AMD64}`],
  ];
  for (const [spec, violation] of cases) it(spec, () => expect(ofPod(spec)).to.deep.equal([violation]));

  for (const spec of [
    'hostNetwork: false',
    'containers: [{securityContext: {privileged: false}, ports: [{containerPort: 80, hostPort: 0}]}]',
    'containers: [{resources: {limits: {nvidia.com/gpu: 0}, requests: {ephemeral-storage: 175Gi}}}]',
    'volumes: [{emptyDir: {}}, {persistentVolumeClaim: {claimName: c}}, {ephemeral: {}}]',
    'volumes: [{configMap: {}}, {secret: {}}, {projected: {}}, {downwardAPI: {}}]',
    'nodeSelector: {kubernetes.io/arch: amd64, topology.kubernetes.io/zone: eu-west-1b}',
    'os: {name: linux}',
    'hostPID: false',
    adding('NET_BIND_SERVICE', 'CHOWN'),
    'containers: [{securityContext: {capabilities: {drop: [ALL]}}}]',
    affinity(term('In', 'arm64', 'amd64')),
    affinity(term('In', 'arm64'), term('NotIn', 'arm64')),
    'containers: [{}, null, 7, {ports: {}, resources: [], securityContext: null}]',
    'volumes: [null, {hostPath: null}]',
    'affinity: {nodeAffinity: [7]}',
  ])
    it(`nothing: ${spec}`, () => expect(ofPod(spec)).to.deep.equal([]));

  it('a DaemonSet, in its manifest and in its pods, with the path in the template', () => {
    const message = 'pods of a DaemonSet do not run on Fargate; use a sidecar container';
    const spec = { containers: [{}], hostNetwork: true };
    expect(violationsOf({ kind: 'DaemonSet', spec: { template: { spec } } })).to.deep.equal([
      `kind: ${message}`,
      `spec.template.spec.hostNetwork: ${HOST}`,
    ]);
    // AWS's own drivers set this affinity in their DaemonSets, so that no pods are created for Fargate nodes.
    const excluding = affinity(
      '{matchExpressions: [{key: eks.amazonaws.com/compute-type, operator: NotIn, values: [fargate]}]}',
    );
    const template = { spec: { containers: [{}], ...(parse(excluding) as object) } };
    expect(violationsOf({ kind: 'DaemonSet', spec: { template } })).to.deep.equal([`kind: ${message}`]);
    const ownerReferences = [{ kind: 'DaemonSet', name: 'd', controller: true }];
    expect(violationsOf({ kind: 'Pod', metadata: { ownerReferences }, spec: { containers: [{}] } })).to.deep.equal([
      `metadata.ownerReferences: ${message}`,
    ]);
  });
});

describe('What Fargate may refuse, ignores, or needs for itself', () => {
  const cases: readonly (readonly [spec: string, advice: RegExp])[] = [
    [
      'containers: [{ports: [{containerPort: 80}, {containerPort: 10250}]}]',
      /^spec\.containers\[0\]\.ports\[1\]\.containerPort: the kubelet has this port/,
    ],
    [
      'topologySpreadConstraints: [{topologyKey: topology.kubernetes.io/zone}]',
      /^spec\.topologySpreadConstraints\[0\]: Fargate ignores it: each pod has a node of its own/,
    ],
    [
      'affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{}]}}',
      /^spec\.affinity\.podAffinity\..*: Fargate ignores it/,
    ],
    [
      'containers: [{env: [{name: AWS_CONTAINER_CREDENTIALS_FULL_URI, value: x}]}]',
      /^spec\.containers\[0\]\.env\[0\]\.name: EKS Pod Identity does not work on Fargate/,
    ],
  ];
  for (const [spec, advice] of cases)
    it(spec, () => {
      const limits = findLimits(newPod(toPod(spec)), 'eu-west-1');
      expect(limits.advice).to.have.length(1);
      expect(limits.advice[0]).to.match(advice);
      expect([...limits.risks, ...limits.violations]).to.deep.equal([]);
    });

  it('privilege escalation', () => {
    const risksOf = (isAllowed: boolean) =>
      findLimits(newPod(toPod(`containers: [{securityContext: {allowPrivilegeEscalation: ${isAllowed}}}]`)), 'x').risks;
    expect(risksOf(true)).to.deep.equal([
      'spec.containers[0].securityContext.allowPrivilegeEscalation: Fargate may refuse it; set it to false unless the container needs it',
    ]);
    expect(risksOf(false)).to.deep.equal([]);
  });
});
