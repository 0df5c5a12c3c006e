import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { STAND_IN_CRDS, loadCrds } from '../envtest/clients/crds.ts';
import { CLUSTER_API_VERSION } from '../envtest/binaries/versions.ts';
import { skipIfBinariesMissing } from '../envtest/skip.ts';
import { eventually } from '../support/eventually.ts';
import { expectGolden } from '../support/golden.ts';
import { callsFromNow } from '../world/aws/calls.ts';
import {
  CERT_MANAGER_CRDS,
  FIRST_VERSION,
  createClusterctlRepository,
} from '../world/cluster-api/clusterctl/clusterctl-repository.ts';
import type { ClusterctlRepository } from '../world/cluster-api/clusterctl/clusterctl-repository.ts';
import type { Deployment } from '../world/cluster-api/clusterctl/installed-provider.ts';
import {
  DEPLOYMENT,
  installedContainer,
  startInstalledManager,
} from '../world/cluster-api/clusterctl/installed-provider.ts';
import { type World, fargateProfile, pathOf, startWorld } from '../world/world.ts';
import { type Operator, type Release, specOf, startOperator } from './world/operator.ts';

const GROUP = '/apis/operator.cluster.x-k8s.io/v1alpha2/namespaces';
const CORE = `${GROUP}/capi-system/coreproviders/cluster-api`;
const CORE_DEPLOYMENT = '/apis/apps/v1/namespaces/capi-system/deployments/capi-controller-manager';
const PROVIDER = `${GROUP}/capaf-system/infrastructureproviders/aws-fargate`;
const NEXT_VERSION = 'v0.1.1';
const COMPONENTS = 'infrastructure-components.yaml';
/** The kinds of the objects that the Cluster API Operator may install for this provider. */
const KINDS =
  'customresourcedefinitions,namespaces,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,deployments,poddisruptionbudgets,services,secrets,configmaps,networkpolicies';

/**
 * Fields of the Cluster API Operator that change the objects of a provider, with values that a user could set. Some
 * documented fields are missing: affinity and serviceAccountName of `deployment`, and command of a container.
 */
const INPUTS = parse(`
configSecret: { name: aws-fargate-variables, namespace: capaf-system }
additionalManifests: { name: aws-fargate-additional, namespace: capaf-system }
deployment:
  replicas: 3
  nodeSelector: { kubernetes.io/arch: arm64 }
  tolerations: [{ key: example.com/infra, operator: Exists, effect: NoSchedule }]
  imagePullSecrets: [{ name: mirror }]
  containers:
    - name: manager
      imageUrl: mirror.example.com/capaf:v0.1.0
      args: { --watch-filter: blue, --allow-role-arn: 'arn:aws:iam::*:role/pods-*' }
      env: [{ name: HTTPS_PROXY, value: 'http://proxy.example.com:3128' }]
      resources: { requests: { cpu: 100m, memory: 256Mi }, limits: { memory: 1Gi } }
manager:
  cacheNamespace: default
  syncPeriod: 5m
  controller: { groupKindConcurrency: { AWSFargateProfile: 20 } }
  maxConcurrentReconciles: 5
  health: { healthProbeBindAddress: '0.0.0.0:9440', readinessEndpointName: readyz, livenessEndpointName: healthz }
  metrics: { bindAddress: ':8080', diagnosticsAddress: '0.0.0.0:8443', insecureDiagnostics: true }
  webhook: { port: 9443, host: 0.0.0.0, certDir: /tmp/certificates }
  profilerAddress: localhost:6060
  leaderElection:
    leaderElect: true
    leaseDuration: 20s
    renewDeadline: 15s
    retryPeriod: 3s
    resourceLock: leases
    resourceName: blue
    resourceNamespace: capaf-system
  verbosity: 4
  featureGates: { Example: true, Another: false }
  additionalArgs: { --logging-format: json }
`) as object;

interface Installed {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly ownerReferences?: readonly object[];
  };
}

/**
 * Removes the webhook configurations and the conversion webhooks of the CRDs from the components of Cluster API's core,
 * because no pod serves these webhooks in this test.
 */
const withoutWebhooks = (components: string): string =>
  parseAllDocuments(components)
    .filter((document) => !String(document.get('kind')).endsWith('WebhookConfiguration'))
    .map((document) => {
      if (document.get('kind') === 'CustomResourceDefinition') document.deleteIn(['spec', 'conversion']);
      return String(document);
    })
    .join('---\n');

describe('the real cluster-api-operator, with a release of this provider in ConfigMaps', () => {
  let directory: string;
  let repository: ClusterctlRepository;
  let world: World;
  let operator: Operator;
  const release = (version: string): string => join(directory, 'infrastructure-aws-fargate', version);
  const releaseOf = (version: string): Release => ({ provider: 'aws-fargate', namespace: 'capaf-system', version });
  async function publish(version: string): Promise<void> {
    const components = await readFile(join(release(version), COMPONENTS), 'utf8');
    await operator.publish(releaseOf(version), release(version), components);
  }

  before(async function () {
    directory = await mkdtemp(join(tmpdir(), 'capaf-operator-'));
    repository = await createClusterctlRepository(directory).catch(skipIfBinariesMissing(this));
    const capa = (await loadCrds(STAND_IN_CRDS)).filter(({ spec }) => spec.group !== 'cluster.x-k8s.io');
    world = await startWorld({ crds: [...capa, CERT_MANAGER_CRDS], hasRbac: false });
    operator = await startOperator(world).catch(skipIfBinariesMissing(this));
    for (const name of ['capi-system', 'capaf-system']) await world.createNamespace(name);
    const folder = join(directory, 'cluster-api', CLUSTER_API_VERSION);
    const core: Release = { provider: 'cluster-api', namespace: 'capi-system', version: CLUSTER_API_VERSION };
    const components = withoutWebhooks(await readFile(join(folder, 'core-components.yaml'), 'utf8'));
    await operator.publish(core, folder, components);
    await world.apply(provider('CoreProvider', core));
    await operator.waitUntilInstalled(CORE, CORE_DEPLOYMENT, CLUSTER_API_VERSION);
  });
  after(async () => {
    await world.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const provider = (kind: string, of: Release, inputs: object = {}): object => ({
    apiVersion: 'operator.cluster.x-k8s.io/v1alpha2',
    kind,
    metadata: { name: of.provider, namespace: of.namespace },
    spec: { ...specOf(of), ...inputs },
  });

  /**
   * All objects with the label of this provider, each as `Kind namespace/name`, followed by `(owned)` if the object has
   * owner references.
   */
  async function installed(): Promise<readonly string[]> {
    const labelled = ['-A', '-l', 'cluster.x-k8s.io/provider=infrastructure-aws-fargate', '-o', 'json'];
    const { stdout, stderr, code } = await world.kubectl(['get', KINDS, ...labelled]);
    expect(code, stderr).to.equal(0);
    const { items } = JSON.parse(stdout) as { readonly items: readonly Installed[] };
    return items
      .map(({ kind, metadata: { name, namespace, ownerReferences = [] } }) =>
        [kind, [namespace, name].filter(Boolean).join('/'), ...(ownerReferences.length > 0 ? ['(owned)'] : [])].join(
          ' ',
        ),
      )
      .toSorted();
  }

  it('installs the release with all documented inputs', async () => {
    const { api } = world.controlPlane;
    await publish(FIRST_VERSION);
    const variables = { CAPAF_ROLE_ARN: 'arn:aws:iam::123456789012:role/capaf', CAPAF_LOGLEVEL: '1' };
    const additional = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'extra' }, data: { of: 'a user' } };
    const inCapaf = (name: string): object => ({ name, namespace: 'capaf-system' });
    await world.apply(
      { apiVersion: 'v1', kind: 'Secret', metadata: inCapaf('aws-fargate-variables'), stringData: variables },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: inCapaf('aws-fargate-additional'),
        data: { manifests: stringify(additional) },
      },
      provider('InfrastructureProvider', releaseOf(FIRST_VERSION), INPUTS),
    );
    const { status } = await operator.waitUntilInstalled(PROVIDER, DEPLOYMENT, FIRST_VERSION);
    expect(status).to.include({ contract: 'v1beta2' });

    const { spec } = await api.get<Deployment & { readonly spec: { readonly replicas: number } }>(DEPLOYMENT);
    const { containers } = spec.template.spec;
    const { metadata } = await api.get('/api/v1/namespaces/capaf-system/serviceaccounts/capaf-manager');
    const made = {
      objects: await installed(),
      annotationsOfServiceAccount: metadata.annotations,
      replicas: spec.replicas,
      // The Cluster API Operator appends the arguments of the manager in random order, so the test sorts them.
      arguments: (await installedContainer(world)).args.toSorted(),
      pod: { ...spec.template.spec, containers: containers.map((container) => ({ ...container, args: undefined })) },
    };
    expectGolden(new URL('golden/cluster-api-operator.golden', import.meta.url), stringify(made));
  });

  it('starts a manager that accepts every flag of the operator, and makes a profile Ready', async () => {
    const manager = await startInstalledManager(world, { name: 'first' });
    await eventually(() => /"All parts of the manager run"/.test(manager.log()), { what: 'leadership' });
    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web', {}, { labels: { 'cluster.x-k8s.io/watch-filter': 'blue' } }));
    await world.ready('web');
    const leases = '/apis/coordination.k8s.io/v1/namespaces/capaf-system/leases';
    expect((await world.controlPlane.api.list(leases)).items.map(({ metadata }) => metadata.name)).to.include('blue');
  });

  it('upgrades to the next release, and changes nothing in AWS', async () => {
    const calls = callsFromNow(world.aws);
    await repository.addVersion(NEXT_VERSION);
    await publish(NEXT_VERSION);
    await world.stopManager();
    await world.controlPlane.api.patch(PROVIDER, { spec: specOf(releaseOf(NEXT_VERSION)) });
    await operator.waitUntilInstalled(PROVIDER, DEPLOYMENT, NEXT_VERSION);
    await startInstalledManager(world, { name: 'second' });
    await world.patch('web', { spec: { additionalTags: { team: 'shop' } } });
    await eventually(() => world.awsView.profile('default_web')?.tags['team'] === 'shop');
    const names = new Set(calls.mutations().map(({ operation }) => operation));
    expect([...names]).to.have.members(['TagRole', 'TagResource']);
    await world.stopManager();
  });

  it('removes the manager and its permissions with the provider, but neither the CRD nor the objects', async () => {
    await world.controlPlane.startControllerManager();
    await world.controlPlane.api.delete(PROVIDER);
    await eventually(async () => !(await world.controlPlane.api.exists(PROVIDER)), {
      what: 'the deletion of the provider',
    });
    const left = 'CustomResourceDefinition awsfargateprofiles.infrastructure.cluster.x-k8s.io';
    // The Cluster API Operator deletes objects of some kinds itself, and leaves the PodDisruptionBudget to the garbage
    // collector.
    await eventually(async () => expect(await installed()).to.deep.equal([left]), { what: 'the deletion of the rest' });
    expect(await world.controlPlane.api.exists(pathOf('web', 'default'))).to.equal(true);
  });
});
