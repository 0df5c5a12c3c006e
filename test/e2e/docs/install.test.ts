import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { takeBlocks } from '../../docs/blocks.ts';
import { openTerminalInClone } from '../../docs/clone.ts';
import type { Terminal } from '../../docs/terminal.ts';
import { resolveBinaries } from '../../envtest/binaries/binaries.ts';
import { CLUSTER_API_VERSION } from '../../envtest/binaries/versions.ts';
import { STAND_IN_CRDS, loadCrds } from '../../envtest/clients/crds.ts';
import { coreRelease, startCoreManager } from '../../envtest/control-plane/coremanager.ts';
import { skipIfBinariesMissing } from '../../envtest/skip.ts';
import { eventually } from '../../support/eventually.ts';
import { PROFILE_CRD } from '../../world/cluster-api/capa-installation.ts';
import { CERT_MANAGER_CRDS } from '../../world/cluster-api/clusterctl/clusterctl-repository.ts';
import { installedContainer, startInstalledManager } from '../../world/cluster-api/clusterctl/installed-provider.ts';
import { disableCoreWebhooks } from '../../world/cluster-api/clusterctl/core-webhooks.ts';
import { CONTROL_PLANE_FINALIZER, finalizersOf } from '../../world/cluster-api/cluster-teardown.ts';
import { type World, controlPlanePath, startWorld } from '../../world/world.ts';

const CONFIGURATION = '.config/cluster-api/clusterctl.yaml';
const CORE = `cluster-api/${CLUSTER_API_VERSION}`;
const NAMESPACE = '/api/v1/namespaces/capaf-system';

interface ClusterctlConfiguration {
  readonly providers?: readonly object[];
  readonly [variable: string]: unknown;
}

// The test follows the README, docs/install.md, docs/quick-start.md, docs/observability.md, docs/upgrade.md and
// docs/uninstall.md in this order, as a reader would, with the real make, clusterctl and kubectl. Only the deletion of
// docs/quick-start.md comes after the upgrade. No kubelet runs the Deployment. So the test starts the manager itself,
// with the arguments and the ServiceAccount of the Deployment.
describe('the README and docs/{install,quick-start,observability,upgrade,uninstall}.md', () => {
  let world: World;
  let terminal: Terminal;

  before(async function () {
    const { clusterctl } = await resolveBinaries(['clusterctl']).catch(skipIfBinariesMissing(this));
    const core = await coreRelease().catch(skipIfBinariesMissing(this));
    const capa = (await loadCrds(STAND_IN_CRDS)).filter(({ spec }) => spec.group !== 'cluster.x-k8s.io');
    world = await startWorld({ crds: [...capa, CERT_MANAGER_CRDS], hasRbac: false });
    // Each `clusterctl init` creates and deletes a namespace, and `clusterctl delete` waits until the deleted objects
    // are gone. Both need the controllers of kube-controller-manager.
    await world.controlPlane.startControllerManager().catch(skipIfBinariesMissing(this));
    // The test does not build the container image of the manager, because that takes minutes and needs Debian packages.
    // The tests in test/image build the image.
    const env = { RELEASE_FLAGS: '--no-binaries' };
    terminal = await openTerminalInClone(world.controlPlane, { programs: { clusterctl }, env });
    cpSync(core, join(terminal.home, CORE), { recursive: true });
    terminal.write(CONFIGURATION, withCore({}));
    await terminal.run(`clusterctl init --core cluster-api:${CLUSTER_API_VERSION} --bootstrap - --control-plane -`);
    await disableCoreWebhooks(world.controlPlane.api);
    await startCoreManager(world.controlPlane, undefined, true).catch(skipIfBinariesMissing(this));
  });
  after(async () => {
    terminal.close();
    await world.stop();
  });
  const readme = takeBlocks('README.md', import.meta.url);
  const install = takeBlocks('docs/install.md', import.meta.url);
  const quickStart = takeBlocks('docs/quick-start.md', import.meta.url);
  const upgrade = takeBlocks('docs/upgrade.md', import.meta.url);
  const uninstall = takeBlocks('docs/uninstall.md', import.meta.url);

  /**
   * Returns the configuration file of clusterctl. A reader downloads the release of Cluster API; the test takes it from
   * a directory.
   */
  function withCore({ providers = [], ...variables }: ClusterctlConfiguration): string {
    const url = `file://${terminal.home}/${CORE}/core-components.yaml`;
    return stringify({ providers: [...providers, { name: 'cluster-api', type: 'CoreProvider', url }], ...variables });
  }
  const startManager = (name: string) => startInstalledManager(world, { name });
  const image = 'registry.example.com/team/cluster-api-provider-aws-fargate';

  it('install a release that the reader makes', async () => {
    await terminal.run(readme.next('make release'));
    const configuration = parse(install.next('providers:')) as ClusterctlConfiguration;
    terminal.write(CONFIGURATION, withCore(configuration));
    await terminal.run(install.next('clusterctl init'));
    expect((await installedContainer(world)).image).to.equal(`${image}:v0.1.0`);
    const account = await world.controlPlane.api.get(`${NAMESPACE}/serviceaccounts/capaf-manager`);
    expect(account.metadata.annotations).to.have.property('eks.amazonaws.com/role-arn');
    await startManager('first');
  });

  it('lead to a cluster whose profile waits for CAPA', async () => {
    await terminal.run(quickStart.next('clusterctl generate cluster'));
    await world.condition('my-cluster-fargate-0', 'Ready', { status: 'False', reason: 'WaitingForEKSControlPlane' });
    expect(await terminal.run(quickStart.next('kubectl get'))).to.match(
      /^my-cluster-fargate-0 .*WaitingForEKSControlPlane/m,
    );
  });

  it('lead to a profile that becomes Ready, and show it', async () => {
    // The cluster template contains a control plane, for which Cluster API Provider AWS would create the EKS cluster.
    // Cluster API Provider AWS does not run in this test, so the test creates the EKS cluster.
    await world.createEksCluster('my-cluster', { region: 'eu-west-1' });
    expect(await terminal.run(quickStart.next('kubectl apply'))).to.match(/awsfargateprofile\S*\/web condition met/);
    expect(world.awsView.profile('default_web')?.status).to.equal('ACTIVE');
    const shown = await terminal.run(quickStart.next('clusterctl describe cluster'));
    expect(shown)
      .to.match(/^web .*\n(.*\n)*Name: +web\n/m)
      .and.to.match(/^Cluster default\/my-cluster /m);
    expect(shown.split('Cluster default/my-cluster')[1], 'the tree of clusterctl')
      .to.contain('AWSManagedControlPlane')
      .and.to.not.contain('AWSFargateProfile');
  });

  it('upgrade to the next version without a change of objects and in AWS', async () => {
    expect(await terminal.run(upgrade.next('kubectl get'))).to.match(/^default +web /m);
    const before = world.awsView.profile('default_web');
    const components = join(terminal.directory, 'out/infrastructure-components.yaml');
    writeFileSync(components, readFileSync(components, 'utf8').replace(`${image}:v0.1.0`, `${image}:v0.1.1`));
    const plan = await terminal.run(upgrade.next('clusterctl upgrade plan'));
    expect(plan).to.match(/infrastructure-aws-fargate +capaf-system +\S+ +v0\.1\.0 +v0\.1\.1/);
    await world.stopManager();
    await terminal.run(upgrade.next('clusterctl upgrade apply'));
    expect((await installedContainer(world)).image).to.equal(`${image}:v0.1.1`);
    await startManager('second');
    await world.ready('web');
    expect(world.awsView.profile('default_web')).to.deep.equal(before);
  });

  it('delete a profile with its role', async () => {
    await terminal.run(quickStart.next('kubectl delete awsfargateprofile'));
    expect(await world.profile('web')).to.equal(undefined);
    expect(world.awsView.profile('default_web')).to.equal(undefined);
    expect(world.awsView.role('my-cluster-default_web_fargate')).to.equal(undefined);
  });

  it('keep profiles in AWS, delete the objects, and remove the provider', async () => {
    const { api } = world.controlPlane;
    const kept = { profile: 'default_my-cluster-fargate-0', role: 'my-cluster-default_my-cluster-fargate-0_fargate' };
    await world.ready('my-cluster-fargate-0');
    await terminal.run(uninstall.next('Retain'));
    const deletion = terminal.run(uninstall.next('kubectl delete awsfargateprofiles'));
    await terminal.run(uninstall.next('kubectl get awsfargateprofiles'));
    await deletion;
    expect(await world.profiles()).to.deep.equal([]);
    expect(world.awsView.profile(kept.profile)?.status).to.equal('ACTIVE');
    expect(world.awsView.role(kept.role)).to.not.equal(undefined);
    const left = uninstall.next('kubectl get awsmanagedcontrolplanes');
    expect(await terminal.run(left)).to.equal('');
    expect(await finalizersOf(world, controlPlanePath('my-cluster'))).to.deep.equal([]);
    await world.stopManager();
    await api.patch(controlPlanePath('my-cluster'), { metadata: { finalizers: [CONTROL_PLANE_FINALIZER] } });
    expect(await terminal.run(left), 'with a finalizer').to.contain('default/my-cluster-control-plane');
    await api.patch(controlPlanePath('my-cluster'), { metadata: { finalizers: null } });

    await terminal.run(uninstall.next('clusterctl delete'));
    await expectRemoved();
    writeFileSync(join(terminal.directory, 'kustomization.yaml'), 'resources: [config/default]\n');
    await terminal.run('kubectl apply --server-side --force-conflicts -k .');
    await terminal.run(uninstall.next('kubectl delete -k .'));
    await expectRemoved();

    const { admin } = world.aws;
    admin.removeProfile({ cluster: 'default_my-cluster-control-plane', region: 'eu-west-1', name: kept.profile });
    admin.removeRole({ name: kept.role });
  });

  async function expectRemoved(): Promise<void> {
    const { api } = world.controlPlane;
    for (const path of [NAMESPACE, PROFILE_CRD])
      await eventually(async () => !(await api.exists(path)), { what: `the end of ${path}` });
    const roles = await api.list('/apis/rbac.authorization.k8s.io/v1/clusterroles');
    expect(roles.items.filter(({ metadata: { name } }) => name.startsWith('capaf-'))).to.deep.equal([]);
  }
});
