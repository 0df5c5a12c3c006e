import { stripVTControlCharacters } from 'node:util';
import { expect } from 'chai';
import { createKubeClient } from 'controller-runtime/client';
import { FakeApiServer, type FakeKind, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import { EksClusterName } from '../../../api/names.ts';
import { RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { EmulatorRequestHandler } from '../../../test/aws/transport/request-handler.ts';
import { expectGolden } from '../../../test/support/golden.ts';
import type { AwsAccess } from '../aws.ts';
import type { KubeAccess } from '../kube.ts';
import { ACCOUNT, REGION, newAccess, newEmulator } from '../testing/emulated-aws.ts';
import { quietIo } from '../testing/quiet-io.ts';
import { type ExplainOptions, explain, formatExplanation, isFine } from './run.ts';

const EKS = EksClusterName.of('default_prod');
const PODS_ROLE = `arn:aws:iam::${ACCOUNT}:role/pods`;

const INFRASTRUCTURE = 'infrastructure.cluster.x-k8s.io';
const CONTROL_PLANE = 'controlplane.cluster.x-k8s.io';
const kind = (group: string, plural: string, name: string, more: Partial<FakeKind> = {}): FakeKind => ({
  group,
  plural,
  kind: name,
  versions: ['v1'],
  status: false,
  ...more,
});
const KINDS = [
  kind('', 'pods', 'Pod'),
  kind('', 'events', 'Event'),
  kind('', 'serviceaccounts', 'ServiceAccount'),
  kind('vpcresources.k8s.aws', 'securitygrouppolicies', 'SecurityGroupPolicy', { versions: ['v1beta1'] }),
  kind('', 'persistentvolumeclaims', 'PersistentVolumeClaim'),
  kind('', 'persistentvolumes', 'PersistentVolume', { namespaced: false }),
  kind('storage.k8s.io', 'storageclasses', 'StorageClass', { namespaced: false }),
  kind('cluster.x-k8s.io', 'clusters', 'Cluster', { versions: ['v1beta2', 'v1beta1'] }),
  kind(CONTROL_PLANE, 'awsmanagedcontrolplanes', 'AWSManagedControlPlane', { versions: ['v1beta2'] }),
  kind(INFRASTRUCTURE, 'awsfargateprofiles', 'AWSFargateProfile', { versions: ['v1beta2'] }),
];

type Fields = Readonly<Record<string, unknown>>;
interface Selector {
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
}
const withLabels = ({ namespace, labels = {} }: Selector) => ({ namespace, labels });

/** A management cluster with the Cluster `default/prod`, its workload cluster, and AWS, all in this process. */
class Scene {
  readonly clock = new VirtualClock();
  readonly aws = newEmulator(this.clock);
  private readonly management = this.newServer();
  private readonly workload = this.newServer();
  private stdin = '';
  isAwsReachable = true;
  isWorkloadReachable = true;

  constructor() {
    this.aws.admin.createCluster({ name: EKS, region: REGION, authenticationMode: 'API' });
    const controlPlaneRef = { apiGroup: CONTROL_PLANE, kind: 'AWSManagedControlPlane', name: 'prod-cp' };
    this.create(this.management, 'clusters', 'prod', { spec: { controlPlaneRef } });
    const spec = { eksClusterName: EKS, region: REGION };
    this.create(this.management, 'awsmanagedcontrolplanes', 'prod-cp', { spec, status: { ready: true } });
  }

  /** Adds a Fargate profile that exists only in EKS. */
  inEks(name: string, selectors: readonly Selector[], more: Fields = {}): void {
    const profile = { cluster: EKS, region: REGION, name, podExecutionRoleArn: PODS_ROLE };
    this.aws.admin.putProfile({ ...profile, selectors: selectors.map(withLabels), ...more });
  }

  /**
   * Adds an AWSFargateProfile, with its profile in EKS unless the status has none. `requested` is a replacement in the
   * record. It counts as `served` if it is also in the status.
   */
  managed(name: string, selectors: readonly Selector[], status: Fields = {}, isInEks = true, requested?: string): void {
    if (isInEks) this.inEks(`default_${name}`, selectors);
    const inEks = isInEks && {
      profileName: `default_${name}`,
      profileARN: `arn:aws:eks:${REGION}:${ACCOUNT}:fargateprofile/${EKS}/default_${name}/1`,
      profileStatus: 'ACTIVE',
      account: ACCOUNT,
      region: REGION,
      eksClusterName: EKS,
      podExecutionRoleARN: PODS_ROLE,
      observedGeneration: 1,
    };
    const replacement = { name: requested, ...(status['profileName'] === requested && { id: '2', served: true }) };
    const profiles = [{ name: `default_${name}`, id: '1', served: true }, ...(requested ? [replacement] : [])];
    const place = `${ACCOUNT}/${REGION}/${EKS}`;
    const record = JSON.stringify({ v: 1, for: `default/${name}`, in: place, profiles, roles: [] });
    const fields = {
      ...(requested !== undefined && { metadata: { annotations: { [RECORD_ANNOTATION]: record } } }),
      spec: { clusterName: 'prod', selectors },
      status: { ...inEks, ...status },
    };
    this.create(this.management, 'awsfargateprofiles', name, fields);
  }

  role(): void {
    this.aws.admin.putRole({ name: 'pods', trustPolicy: '{}' });
  }

  accessEntry(): void {
    this.aws.admin.putAccessEntry({ cluster: EKS, region: REGION, principalArn: PODS_ROLE });
  }

  pod(namespace: string, name: string, metadata: Fields, spec: Fields = {}, status: Fields = {}): void {
    const created = { schedulerName: 'default-scheduler', containers: [{ name: 'main' }], ...spec };
    this.create(this.workload, 'pods', name, { metadata, spec: created, status }, namespace);
  }

  uidOf(namespace: string, name: string): string {
    const { workload } = this;
    return workload.storage.get(workload.kind('pods'), { namespace, name })?.metadata.uid ?? '';
  }

  inWorkload(plural: string, name: string, fields: Fields, namespace: string): void {
    this.create(this.workload, plural, name, fields, namespace);
  }

  async explain(name: string, namespace: string, options: Partial<ExplainOptions> = {}) {
    const access = {
      aws: this.awsAccess(),
      management: options.eksCluster === undefined ? this.access(this.management, 'default') : undefined,
      workload: this.isWorkloadReachable ? this.access(this.workload, namespace) : undefined,
      noWorkload: 'there is no Secret default/prod-kubeconfig with a kubeconfig',
    };
    const cluster = options.eksCluster === undefined && { cluster: 'prod' };
    const all: ExplainOptions = { output: 'text', ...cluster, ...options };
    const io = quietIo({ clock: this.clock, readStdin: async () => this.stdin });
    return explain(name === '' ? undefined : name, all, access, io);
  }

  async explainFile(manifest: string, options: Partial<ExplainOptions> = {}) {
    this.stdin = manifest;
    return this.explain('', 'default', { filename: '-', ...options });
  }

  private create(server: FakeApiServer, plural: string, name: string, fields: Fields, namespace = 'default'): void {
    const metadata = { ...(fields['metadata'] as Fields | undefined), name };
    server.storage.create(server.kind(plural), namespace, { ...fields, metadata });
  }

  private newServer(): FakeApiServer {
    return new FakeApiServer({ clock: this.clock, random: new SeededRandom(1), kinds: KINDS });
  }

  private access(server: FakeApiServer, namespace: string): KubeAccess {
    const client = createKubeClient({ transport: server, clock: this.clock });
    return { client, namespace, server: 'https://10.0.0.1:6443', [Symbol.asyncDispose]: async () => {} };
  }

  private awsAccess(): AwsAccess {
    const handler = new EmulatorRequestHandler(this.aws);
    const unreachable = {
      handle: async () => {
        throw new Error('connect ETIMEDOUT 10.0.0.1:443');
      },
    };
    return newAccess(this.isAwsReachable ? handler : unreachable, this.clock, REGION);
  }
}

const text = async (explanation: ReturnType<Scene['explain']>): Promise<string> =>
  stripVTControlCharacters(formatExplanation(await explanation));

const golden = async (name: string, explanation: ReturnType<Scene['explain']>): Promise<void> =>
  expectGolden(new URL(`golden/${name}.txt`, import.meta.url), await text(explanation));

const WEB = { namespace: 'shop', labels: { app: 'web' } };

describe('capaf explain pod', () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = new Scene();
    scene.role();
    await scene.clock.advance(60_000);
    scene.accessEntry();
  });

  const threeProfiles = async (): Promise<void> => {
    scene.managed('batch', [{ namespace: 'batch-*' }]);
    scene.managed('shop', [WEB, { namespace: 'shop', labels: { app: 'api', 'tier?': '*' } }]);
    scene.inEks('everything', [{ namespace: '*' }]);
    scene.inEks('new', [{ namespace: 'shop' }], { status: 'CREATING' });
    await scene.clock.advance(60 * 60_000);
  };
  const manifest = 'kind: Pod\nmetadata: {name: web, namespace: shop, labels: {app: web}}\nspec: {containers: [{}]}\n';

  it('shows the profile that takes a pod, and why each other does not', async () => {
    await threeProfiles();
    await golden('taken', scene.explainFile(manifest));
  });

  it('shows for each selector why nobody takes a pod, such as a wrong namespace or label', async () => {
    scene.managed('shop', [{ namespace: 'shp' }, { namespace: 'shop', labels: { app: 'web', tier: 'front' } }]);
    scene.managed('api', [{ namespace: 'shop', labels: { app: 'api' } }]);
    await scene.clock.advance(60 * 60_000);
    await golden('nobody', scene.explainFile(manifest));
  });

  it('shows a label that names a profile without a matching selector', async () => {
    await threeProfiles();
    const label = 'eks.amazonaws.com/fargate-profile';
    const metadata = `{name: web, namespace: shop, labels: {app: web, ${label}: default_batch}}`;
    await golden('foreign-label', scene.explainFile(`kind: Pod\nmetadata: ${metadata}\nspec: {containers: [{}]}\n`));
  });

  it('shows that a pod is older than the profile', async () => {
    scene.pod('shop', 'web-7d9c', {
      labels: { app: 'web' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u', controller: true }],
    });
    await scene.clock.advance(60_000);
    scene.managed('shop', [WEB], { activeSince: '2026-11-21T03:28:30Z' });
    await scene.clock.advance(60 * 60_000);
    await golden('too-old', scene.explain('web-7d9c', 'shop'));
  });

  it('shows all that Fargate refuses, EBS volumes of claims included, and the size', async () => {
    scene.managed('shop', [WEB]);
    scene.pod(
      'shop',
      'web-0',
      { labels: { app: 'web' } },
      {
        hostNetwork: true,
        nodeSelector: { 'kubernetes.io/arch': 'arm64' },
        containers: [
          { name: 'a', securityContext: { privileged: true }, ports: [{ containerPort: 80, hostPort: 80 }] },
          { name: 'b', resources: { requests: { cpu: '1500m', memory: '3Gi' }, limits: { 'nvidia.com/gpu': '1' } } },
        ],
        volumes: [
          { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
          { name: 'logs', persistentVolumeClaim: { claimName: 'logs' } },
        ],
      },
    );
    const claim = (storageClassName: string) => ({ spec: { storageClassName }, status: { phase: 'Bound' } });
    scene.inWorkload('persistentvolumeclaims', 'data', claim('gp3'), 'shop');
    scene.inWorkload('persistentvolumeclaims', 'logs', claim('efs'), 'shop');
    scene.inWorkload('storageclasses', 'gp3', { provisioner: 'ebs.csi.aws.com' }, '');
    scene.inWorkload('storageclasses', 'efs', { provisioner: 'efs.csi.aws.com' }, '');
    await scene.clock.advance(60 * 60_000);
    await golden('refused', scene.explain('web-0', 'shop'));
  });

  /** Returns the violations and traps of a manifest with a workload in `shop` and this pod spec. */
  const found = async (spec: string, more = '', options: Partial<ExplainOptions> = {}): Promise<readonly string[]> => {
    const template = `template: {metadata: {labels: {app: web}}, spec: ${spec}}`;
    const file = `kind: StatefulSet\nmetadata: {name: web, namespace: shop}\nspec:\n  ${template}\n${more}`;
    const { violations, traps, unseen } = await scene.explainFile(file, options);
    return [
      ...violations.map(({ field, message }) => `${field}: ${message}`),
      ...traps,
      ...unseen.map((each) => `not seen: ${each}`),
    ];
  };
  const claiming = '{containers: [{}], volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}';
  const templates = (spec: string) => `  volumeClaimTemplates: [{metadata: {name: data}, spec: ${spec}}]\n`;
  const EBS = 'EBS volumes cannot be mounted; use EFS';
  const EARLY =
    'Fargate asks only once whether the claim is Bound, perhaps too early; then create the pod again when the claim is Bound';
  const ONCE = 'Fargate asks for it only once, so create the pod again when the claim is Bound';

  const classes = async (): Promise<void> => {
    scene.managed('shop', [WEB]);
    await scene.clock.advance(60 * 60_000);
    const isDefault = { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } };
    const byName = { efs: 'efs.csi.aws.com', longhorn: 'driver.longhorn.io', static: 'kubernetes.io/no-provisioner' };
    for (const [name, provisioner] of Object.entries(byName))
      scene.inWorkload('storageclasses', name, { provisioner }, '');
    scene.inWorkload('storageclasses', 'gp2', { provisioner: 'kubernetes.io/aws-ebs', metadata: isDefault }, '');
  };

  it('follows claims from templates and from ephemeral volumes to their StorageClass', async () => {
    await classes();
    const field = 'spec.volumeClaimTemplates[0]';
    for (const spec of ['{storageClassName: gp2}', '{}'])
      expect(await found('{containers: [{}]}', templates(spec)), spec).to.deep.equal([`${field}: ${EBS}`]);
    expect(await found('{containers: [{}]}', templates('{storageClassName: longhorn}'))).to.deep.equal([
      `${field}: Fargate does not mount volumes of the kind driver.longhorn.io; use EFS`,
    ]);
    expect(await found('{containers: [{}]}', templates('{storageClassName: efs}'))).to.deep.equal([
      `${field}: ${EARLY}`,
    ]);
    const ephemeral =
      '{containers: [{}], volumes: [{ephemeral: {volumeClaimTemplate: {spec: {storageClassName: gp2}}}}]}';
    expect(await found(ephemeral)).to.deep.equal([`spec.template.spec.volumes[0].ephemeral: ${EBS}`]);
  });

  it('follows a claim to its volume, even without a StorageClass', async () => {
    await classes();
    const claim = { spec: { storageClassName: '', volumeName: 'pv' }, status: { phase: 'Bound' } };
    scene.inWorkload('persistentvolumeclaims', 'data', claim, 'shop');
    expect(await found(claiming)).to.deep.equal([]);
    scene.inWorkload('persistentvolumes', 'pv', { spec: { csi: { driver: 'ebs.csi.aws.com' } } }, '');
    expect(await found(claiming)).to.deep.equal([`spec.template.spec.volumes[0]: ${EBS}`]);
  });

  it('refuses S3 file systems, which the driver of EFS mounts only on nodes', async () => {
    await classes();
    const parameters = { provisioningMode: 's3files-ap' };
    scene.inWorkload('storageclasses', 's3', { provisioner: 'efs.csi.aws.com', parameters }, '');
    const S3 = 'Fargate does not mount S3 file systems (S3 Files); use EFS';
    expect(await found('{containers: [{}]}', templates('{storageClassName: s3}'))).to.deep.equal([
      `spec.volumeClaimTemplates[0]: ${S3}`,
    ]);
    const field = 'spec.template.spec.volumes[0]';
    const volume = (handle: string) =>
      `---\nkind: PersistentVolume\nmetadata: {name: own}\nspec: {storageClassName: efs, csi: {driver: efs.csi.aws.com, volumeHandle: ${handle}}}\n`;
    const inFile = '---\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: efs}\n';
    expect(await found(claiming, inFile + volume('s3files:fs-1'))).to.deep.equal([`${field}: ${S3}`]);
    expect(await found(claiming, inFile + volume('fs-1'))).to.deep.equal([`${field}: ${EARLY}`]);
    const annotations = { 'volume.kubernetes.io/storage-provisioner': 'efs.csi.aws.com' };
    const claim = { metadata: { annotations }, spec: { volumeName: 'pv' }, status: { phase: 'Bound' } };
    scene.inWorkload('persistentvolumeclaims', 'data', claim, 'shop');
    const csi = { driver: 'efs.csi.aws.com', volumeHandle: 's3files:fs-1' };
    scene.inWorkload('persistentvolumes', 'pv', { spec: { csi } }, '');
    expect(await found(claiming)).to.deep.equal([`${field}: ${S3}`]);
  });

  it('says that AWS does not support volumes that the driver of EFS creates, until the claim is Bound', async () => {
    await classes();
    const parameters = { provisioningMode: 'efs-ap' };
    scene.inWorkload('storageclasses', 'dynamic', { provisioner: 'efs.csi.aws.com', parameters }, '');
    const advice =
      'AWS does not support volumes on Fargate that the EFS driver creates; create a PersistentVolume for the claim';
    expect(await found('{containers: [{}]}', templates('{storageClassName: dynamic}'))).to.deep.equal([
      `spec.volumeClaimTemplates[0]: ${EARLY}. ${advice}`,
    ]);
    const claim = (phase: string) => ({ spec: { storageClassName: 'dynamic' }, status: { phase } });
    scene.inWorkload('persistentvolumeclaims', 'data', claim('Pending'), 'shop');
    scene.inWorkload('persistentvolumeclaims', 'bound', claim('Bound'), 'shop');
    expect(await found(claiming)).to.deep.equal([
      `spec.template.spec.volumes[0]: PersistentVolumeClaim shop/data is Pending; ${ONCE}. ${advice}`,
    ]);
    expect(await found(claiming.replace('claimName: data', 'claimName: bound'))).to.deep.equal([]);
  });

  it('says that a claim does not exist, or is not Bound yet', async () => {
    await classes();
    const field = 'spec.template.spec.volumes[0]';
    expect(await found(claiming)).to.deep.equal([
      `${field}: there is no PersistentVolumeClaim shop/data; create the claim first, and the pod when the claim is Bound`,
    ]);
    const claim = { spec: { storageClassName: 'static' }, status: { phase: 'Pending' } };
    scene.inWorkload('persistentvolumeclaims', 'data', claim, 'shop');
    const inFile = '---\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: static}\n';
    for (const file of ['', inFile])
      expect(await found(claiming, file)).to.deep.equal([
        `${field}: PersistentVolumeClaim shop/data is Pending; ${ONCE}`,
      ]);
  });

  it('takes claims and classes of the file, and says what it does not see without the cluster', async () => {
    await classes();
    scene.isWorkloadReachable = false;
    const inFile = (className: string) =>
      `---\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: ${className}}\n`;
    const field = 'spec.template.spec.volumes[0]';
    const efs = '---\nkind: StorageClass\nmetadata: {name: own}\nprovisioner: efs.csi.aws.com\n';
    expect(await found(claiming, inFile('own') + efs)).to.deep.equal([`${field}: ${EARLY}`]);
    expect(await found(claiming, inFile('own') + efs.replace('efs', 'ebs'))).to.deep.equal([`${field}: ${EBS}`]);
    expect(await found(claiming, inFile('gp2'))).to.deep.equal([`${field}: ${EBS}`]);
    const unseen = 'there is no Secret default/prod-kubeconfig with a kubeconfig';
    for (const file of ['', inFile('other'), inFile('null')])
      expect(await found(claiming, file), file).to.deep.equal([
        `not seen: whether Fargate can mount ${field}: ${unseen}`,
      ]);
  });

  const cases: readonly (readonly [what: string, spec: string, isFine: boolean])[] = [
    ['objects to what Fargate refuses', '{containers: [{}], hostPID: yes}', false],
    ['objects to a risk', '{containers: [{securityContext: {allowPrivilegeEscalation: true}}]}', false],
    ['is content with what Fargate ignores', '{containers: [{ports: [{containerPort: 10250}]}]}', true],
  ];
  for (const [what, spec, expected] of cases)
    it(`${what}: ${spec}`, async () => {
      scene.managed('shop', [WEB]);
      await scene.clock.advance(60 * 60_000);
      const file = `kind: Pod\nmetadata: {name: web, namespace: shop, labels: {app: web}}\nspec: ${spec}\n`;
      expect(isFine(await scene.explainFile(file))).to.equal(expected);
    });

  it('quotes what Kubernetes and Fargate say about a pod that is Pending, and says what to do', async () => {
    scene.managed('shop', [WEB]);
    await scene.clock.advance(60 * 60_000);
    const label = { 'eks.amazonaws.com/fargate-profile': 'default_shop' };
    scene.pod(
      'shop',
      'web-0',
      { labels: { app: 'web', ...label } },
      { schedulerName: 'fargate-scheduler' },
      {
        phase: 'Pending',
        containerStatuses: [
          {
            name: 'main',
            state: { waiting: { reason: 'ErrImagePull', message: 'dial tcp 10.0.0.1:443: i/o timeout' } },
          },
          { name: 'other', state: { running: {} } },
        ],
        conditions: [
          {
            type: 'PodScheduled',
            status: 'False',
            message: 'Pod provisioning timed out (will retry) for pod: shop/web-0',
          },
        ],
      },
    );
    const event = (name: string, second: number, message: string, more: Fields = {}) =>
      scene.inWorkload(
        'events',
        name,
        {
          type: 'Warning',
          reason: 'FailedScheduling',
          source: { component: 'fargate-scheduler' },
          involvedObject: { uid: scene.uidOf('shop', 'web-0') },
          lastTimestamp: `2026-11-21T04:30:${second}Z`,
          message,
          ...more,
        },
        'shop',
      );
    event(
      'a',
      10,
      'Fargate capacity is unavailable at this time. Please try again later or in a different availability zone',
    );
    event('b', 20, 'Unable to mount: Failed\u001b[2J');
    event('c', 30, 'Disabled logging because aws-logging configmap was not found.', { reason: 'LoggingDisabled' });
    event('d', 40, 'Successfully assigned', { type: 'Normal' });
    event('e', 50, 'of another pod', { involvedObject: { uid: 'other' } });
    await golden('pending', scene.explain('web-0', 'shop'));
    scene.isWorkloadReachable = false;
    expect(
      (
        await scene.explainFile(
          `{"kind":"Pod","metadata":{"uid":"u"},"spec":{"containers":[{}]},"status":{"phase":"Pending"}}`,
        )
      ).unseen,
    ).to.deep.equal(['the events of the pod: its cluster was not asked']);
  });

  it('warns of a SecurityGroupPolicy that takes the security group of the cluster away', async () => {
    scene.managed('shop', [WEB]);
    await scene.clock.advance(60 * 60_000);
    scene.pod('shop', 'web-0', { labels: { app: 'web' } }, { schedulerName: 'fargate-scheduler' });
    const trapsOf = async () => (await scene.explain('web-0', 'shop')).traps.filter((each) => each.includes('Group'));
    const policy = (name: string, spec: Fields, ...groupIds: readonly string[]) =>
      scene.inWorkload('securitygrouppolicies', name, { spec: { ...spec, securityGroups: { groupIds } } }, 'shop');
    policy('other', { podSelector: { matchLabels: { app: 'api' } } }, 'sg-1');
    policy('accounts', { serviceAccountSelector: { matchLabels: { team: 'db' } } }, 'sg-2');
    expect(await trapsOf()).to.deep.equal([]);

    const account = { metadata: { labels: { team: 'db' } } };
    scene.inWorkload('serviceaccounts', 'default', account, 'shop');
    const trap = (ofCluster: string) =>
      `SecurityGroupPolicy shop/accounts gives the pod the security groups sg-2 instead of that of the EKS cluster${ofCluster}. Unless they allow the traffic to the control plane and to CoreDNS, the pod does not start; the simplest is to name the group of the cluster too.`;
    expect(await trapsOf()).to.deep.equal([trap(' (sg-0c15700000000000a)')]);
    scene.isAwsReachable = false;
    expect(await trapsOf()).to.deep.equal([trap('')]);

    scene.isAwsReachable = true;
    policy('all', { podSelector: {} }, 'sg-0c15700000000000a');
    expect(await trapsOf()).to.deep.equal([]);
  });

  it('says nothing against a pod that runs on Fargate', async () => {
    scene.managed('shop', [WEB]);
    await scene.clock.advance(60 * 60_000);
    const spec = { schedulerName: 'fargate-scheduler', containers: [{ securityContext: { privileged: true } }] };
    const labels = { app: 'web', 'eks.amazonaws.com/fargate-profile': 'default_shop' };
    const violationsOf = async (phase: string) => {
      scene.pod('shop', phase, { labels }, spec, { phase });
      return (await scene.explain(phase, 'shop')).violations.map(({ field }) => field);
    };
    expect(await violationsOf('Running')).to.deep.equal([]);
    expect(await violationsOf('Pending')).to.deep.equal(['spec.containers[0].securityContext.privileged']);
  });

  it('believes the size that Fargate has written to a pod', async () => {
    scene.managed('shop', [WEB]);
    scene.pod('shop', 'web-0', { annotations: { CapacityProvisioned: '1vCPU 3GB' } });
    expect((await scene.explain('web-0', 'shop')).size).to.deep.equal({ vCPU: 1, memoryGB: 3 });
  });

  it('does not join the new spec to the old profile, without AWS', async () => {
    const conditions = [
      { type: 'Ready', status: 'False', reason: 'SpecDiffers', lastTransitionTime: '2026-11-21T03:25:00Z' },
    ];
    scene.managed('shop', [WEB], { conditions });
    scene.isAwsReachable = false;
    await golden('spec-differs', scene.explainFile(manifest));
  });

  it('knows the selectors of the successor only while a profile is replaced, without AWS', async () => {
    const next = '9999-default_shop';
    const seen = async (status: Fields, requested?: string) => {
      scene = new Scene();
      scene.managed('shop', [WEB], status, true, requested);
      scene.isAwsReachable = false;
      const { taker, profiles } = await scene.explainFile(manifest);
      return { taker, profiles: profiles.map((each) => `${each.name} ${each.status} ${each.matches}`) };
    };
    expect(await seen({}, next)).to.deep.equal({
      taker: null,
      profiles: [`${next} CREATING true`, 'default_shop ACTIVE null'],
    });
    const predecessors = [{ name: 'default_shop', status: 'ACTIVE' }];
    expect(await seen({ profileName: next, predecessors }, next)).to.deep.equal({
      taker: next,
      profiles: [`${next} ACTIVE true`, 'default_shop ACTIVE null'],
    });
    expect(await seen({ observedGeneration: 0 })).to.deep.equal({
      taker: null,
      profiles: ['default_shop ACTIVE null'],
    });
  });

  const ofShop = 'The controller replaces Fargate profile "default_shop" and then deletes it, which stops the pod.';
  const deletions: readonly (readonly [what: string, next: readonly Selector[], trap: string])[] = [
    [
      'no other profile matches the pod',
      [{ namespace: 'shop2' }],
      `${ofShop} No other profile matches it. Add a selector for it to the AWSFargateProfile.`,
    ],
    ['the new one matches it', [WEB], `${ofShop} Profile "9999-default_shop" matches a new copy of it.`],
  ];
  for (const [what, next, trap] of deletions)
    it(`warns that the controller will delete the profile that takes the pod, if ${what}`, async () => {
      const predecessors = [{ name: 'default_shop', status: 'ACTIVE' }];
      scene.managed('shop', next, { predecessors }, true, '9999-default_shop');
      scene.inEks('default_shop', [{ namespace: 'shop' }]);
      scene.inEks('9999-default_shop', next, { status: 'CREATING' });
      const explanation = await scene.explainFile(manifest);
      expect(explanation.taker).to.equal('default_shop');
      expect(explanation.traps).to.include(trap);
      expect(isFine(explanation)).to.equal(false);
    });

  it('explains with the profiles of EKS alone', async () => {
    await threeProfiles();
    await golden('eks-only', scene.explainFile(manifest, { eksCluster: EKS }));
  });

  it('explains without AWS as far as the objects tell, and says what it did not see', async () => {
    await threeProfiles();
    scene.managed('late', [WEB], {}, false);
    scene.isAwsReachable = false;
    await golden('without-aws', scene.explainFile(manifest));
  });

  it('shows an object whose profile is not in EKS', async () => {
    scene.managed('late', [WEB], {}, false);
    await golden('not-in-eks', scene.explainFile(manifest));
  });

  const trapsOf = async (): Promise<string> => (await scene.explainFile(manifest)).traps.join('\n');

  it('compares the access entry of the role with the role', async () => {
    scene.managed('shop', [WEB]);
    await scene.clock.advance(60_000);
    expect(await trapsOf()).to.equal('');
    scene.aws.admin.removeRole({ name: 'pods' });
    scene.role();
    await golden('stale-access-entry', scene.explainFile(manifest));
    scene.aws.admin.setCluster({ name: EKS, region: REGION, authenticationMode: 'CONFIG_MAP' });
    expect(await trapsOf()).to.equal('');
  });

  it('tells when no subnet of the profile has a free address', async () => {
    const subnets = [{ id: 'subnet-0', freeAddresses: 0 }, { id: 'subnet-1' }];
    scene.aws.admin.createCluster({ name: 'other', region: REGION, subnets });
    scene.inEks('full', [WEB], { subnets: ['subnet-0'] });
    await scene.clock.advance(60 * 60_000);
    expect(await trapsOf()).to.equal('No subnet of the profile has a free address (subnet-0), so pods do not start.');
    scene.inEks('full', [WEB], { subnets: ['subnet-0', 'subnet-1'] });
    await scene.clock.advance(60 * 60_000);
    expect(await trapsOf()).to.equal('');
    scene.aws.admin.deny({ principal: '*', action: 'ec2:DescribeSubnets' });
    expect((await scene.explainFile(manifest)).unseen.join()).to.match(
      /^the free addresses of the subnets: the credentials may not do ec2:DescribeSubnets: /,
    );
  });

  it('names the IAM action that is missing, and goes on', async () => {
    await threeProfiles();
    scene.aws.admin.deny({ principal: '*', action: 'iam:GetRole' });
    expect((await scene.explainFile(manifest)).unseen.join()).to.match(
      /^the access entry of the role: the credentials may not do iam:GetRole: /,
    );
    scene.aws.admin.deny({ principal: '*', action: 'eks:ListFargateProfiles' });
    const { taker, unseen } = await scene.explainFile(manifest);
    expect(taker).to.equal('default_shop');
    expect(unseen[0]).to.match(/^EKS: the credentials may not do eks:ListFargateProfiles: /);
  });

  it('does not believe an EKS cluster of the same name in another account', async () => {
    scene.managed('shop', [WEB], { account: '999999999999' });
    const { taker, unseen } = await scene.explainFile(manifest);
    expect(taker).to.equal('default_shop');
    expect(unseen[0]).to.equal(
      `EKS: EKS cluster ${EKS} is in account 999999999999, and the credentials are of ${ACCOUNT}. Choose other credentials with --profile or --role-arn`,
    );
  });

  it('keeps apart an object from the profile of another owner that has its name', async () => {
    scene.managed('shop', [{ namespace: 'elsewhere' }], {}, false);
    scene.inEks('default_shop', [WEB]);
    await scene.clock.advance(60_000);
    const { taker, profiles } = await scene.explainFile(manifest);
    expect(taker).to.equal('default_shop');
    expect(profiles.map(({ name, status, object }) => ({ name, status, object }))).to.have.deep.members([
      { name: 'default_shop', status: 'absent', object: 'default/shop' },
      { name: 'default_shop', status: 'ACTIVE', object: undefined },
    ]);
  });

  it('shows hidden characters of others as escape sequences', async () => {
    scene.managed('shop', [WEB]);
    scene.managed('api', [{ namespace: 'shop', labels: { tier: 'x' } }]);
    const shown = await text(scene.explainFile(manifest.replace('app: web', 'app: web, tier: "w\\e[2J\\u202e"')));
    expect(shown).to.include('tier=w\\u001b[2J\\u202e');
    expect(shown).not.to.match(/[^\P{Cc}\n]|\u202e/u);
  });

  it('fails without a Cluster, an EKS cluster or a pod of the name', async () => {
    const failureOf = (explanation: Promise<unknown>) => explanation.then(() => 'none', String);
    expect(await failureOf(scene.explainFile(manifest, { cluster: 'other' }))).to.equal(
      'Failure: there is no Cluster default/other; check its name, its namespace and the --context',
    );
    expect(await failureOf(scene.explainFile(manifest, { eksCluster: 'other' }))).to.match(
      /^Failure: the Fargate profiles of EKS cluster other in eu-west-1 cannot be read: AWS has no EKS cluster other in eu-west-1;/,
    );
    expect(await failureOf(scene.explain('no', 'shop'))).to.equal(
      'Failure: there is no pod shop/no in the cluster at https://10.0.0.1:6443; -n names its namespace',
    );
  });
});
