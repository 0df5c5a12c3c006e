import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { renderKustomization } from '../../../hack/release/kustomize.ts';
import { takeBlocks } from '../../docs/blocks.ts';
import { type Terminal, openTerminal } from '../../docs/terminal.ts';
import { resolveBinaries } from '../../envtest/binaries/binaries.ts';
import { capaManifests } from '../../envtest/control-plane/capa-manifests.ts';
import { skipIfBinariesMissing } from '../../envtest/skip.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { FINALIZER, applyCapaProfile, createCapaResources } from '../../world/aws/capa-resources.ts';
import type { CapaInstallation } from '../../world/cluster-api/capa-installation.ts';
import { PROFILE_CRD, startCapaInstallation } from '../../world/cluster-api/capa-installation.ts';
import { CERT_MANAGER_CRDS } from '../../world/cluster-api/clusterctl/clusterctl-repository.ts';
import { createCapaRepository, hasFargateGate } from '../../world/cluster-api/clusterctl/capa-repository.ts';
import { type CapaSimulator, CAPA_FINALIZER, startCapaSimulatorIn } from '../../world/cluster-api/capa-simulator.ts';
import { disableCoreWebhooks } from '../../world/cluster-api/clusterctl/core-webhooks.ts';
import { CONTROL_PLANE_FINALIZER, finalizersOf } from '../../world/cluster-api/cluster-teardown.ts';
import { type ManagedCluster, createManagedCluster } from '../../world/cluster-api/managed-cluster.ts';
import { type World, pathOf, startWorld } from '../../world/world.ts';
import { operationsOf } from '../../world/aws/operations.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CLUSTER = 'my-cluster';
const ROLE = `${CLUSTER}-default_web_fargate`;
const OURS = /awsfargateprofile/;

describe('docs/migration-from-capa.md', () => {
  let world: World;
  let capa: CapaInstallation;
  let controller: CapaSimulator;
  let cluster: ManagedCluster;
  let overlay: string;
  let terminal: Terminal;

  before(async function () {
    const { clusterctl } = await resolveBinaries(['clusterctl']).catch(skipIfBinariesMissing(this));
    world = await startWorld({ crds: [CERT_MANAGER_CRDS], hasRbac: false });
    capa = await startCapaInstallation(world).catch(skipIfBinariesMissing(this));
    // Each `clusterctl init` creates and deletes a namespace, which needs the namespace controller of
    // kube-controller-manager.
    await world.controlPlane.startControllerManager().catch(skipIfBinariesMissing(this));
    terminal = await openTerminal(world.controlPlane, { programs: { clusterctl } });
    const repository = createCapaRepository(join(terminal.home, 'releases'), capa);
    terminal.write('.config/cluster-api/clusterctl.yaml', await repository.catch(skipIfBinariesMissing(this)));
    await terminal.run('EXP_EKS_FARGATE=true clusterctl init --infrastructure aws --bootstrap - --control-plane -');
    await disableCoreWebhooks(world.controlPlane.api);
    controller = startCapaSimulatorIn(world);
    world.addCleanup(() => controller.stop());
    overlay = mkdtempSync(join(ROOT, '.tmp/migration-'));
  });
  after(async () => {
    terminal.close();
    rmSync(overlay, { recursive: true, force: true });
    await world.finish();
  });

  const page = takeBlocks('docs/migration-from-capa.md', import.meta.url);
  const run = (text: string): Promise<string> => terminal.run(page.next(text));
  const resources = () => ({
    profile: world.awsView.profile('default_web'),
    role: world.awsView.role(ROLE),
  });

  it('begins with a profile that the controller of CAPA has made', async () => {
    capa.hasGate = await hasFargateGate(world.controlPlane.api);
    expect(capa.hasGate).to.equal(true);
    cluster = await createManagedCluster(world, CLUSTER, { simulatesCoreManager: true });
    createCapaResources(world, CLUSTER, 'web', ROLE);
    await applyCapaProfile(world, CLUSTER, 'web', { roleName: ROLE });
    await eventually(async () => (await finalizersOf(world, cluster.controlPlanePath)).includes(CAPA_FINALIZER));
  });

  it('leads here, and changes nothing in AWS but tags and the trust policy', async () => {
    const before = resources();
    const { spec, metadata } = (await world.profile('web')) ?? expect.fail('the profile is gone');
    const calls = callsFromNow(world.aws);
    await run('EXP_EKS_FARGATE=false');
    capa.hasGate = await hasFargateGate(world.controlPlane.api);
    expect(capa.hasGate).to.equal(false);
    const path = (directory: string): string => relative(overlay, join(ROOT, 'config', directory));
    const kustomization = { resources: [path('default')], components: [path('components/crd-keeper')] };
    writeFileSync(join(overlay, 'kustomization.yaml'), JSON.stringify(kustomization));
    const { code, stderr } = await world.kubectl(['apply', '--server-side', '--force-conflicts', '-k', overlay]);
    expect(code, stderr).to.equal(0);
    // No kubelet runs the manager's Deployment, so the test starts the manager itself.
    await world.startManager({
      flags: ['--manage-crd=true'],
    });

    await eventually(async () => !(await capa.webhooks()).some((name) => OURS.test(name)), {
      what: 'the removal of the webhooks',
    });
    await run('kubectl get events');
    await eventually(() => world.awsView.profile('default_web')?.tags !== before.profile?.tags);
    await run('kubectl wait awsfargateprofiles');
    const ready = await world.condition('web', 'Ready', { status: 'True' }, { generation: 1 });

    expect(operationsOf(calls)).to.deep.equal(['TagResource', 'TagRole', 'UpdateAssumeRolePolicy']);
    const after = resources();
    const { tags: _profileTags, ...profile } = after.profile ?? expect.fail('the profile is gone');
    expect(before.profile).to.deep.include(profile);
    const { tags: _roleTags, trustPolicy: _trust, ...role } = after.role ?? expect.fail('the role is gone');
    expect(before.role).to.deep.include(role);
    expect(ready.metadata).to.deep.include({ uid: metadata.uid, finalizers: [FINALIZER] });
    expect(ready.spec).to.deep.include({ ...spec });
    expect(await finalizersOf(world, cluster.controlPlanePath)).to.include(CONTROL_PLANE_FINALIZER);
  });

  it('names patches that leave the CRD and the two webhooks out of the manifests of CAPA, and nothing else', async () => {
    const { crd, configurations } = await capaManifests();
    const manifests = [crd, ...configurations].map((object) => stringify(object)).join('---\n');
    writeFileSync(join(overlay, 'capa.yaml'), manifests);
    writeFileSync(join(overlay, 'kustomization.yaml'), `resources: [capa.yaml]\n${page.next('patches:')}`);
    const rendered = renderKustomization(world.controlPlane.kubectlPath, overlay);
    expect(rendered).to.not.contain('kind: CustomResourceDefinition');
    const names = [...rendered.matchAll(/^ {2}name: ((?:default|validation|mutation)\.\S+)$/gm)].map(
      ([, name]) => name,
    );
    expect(names).to.have.members(capa.releasedWebhooks.filter((name) => !OURS.test(name)));
  });

  it('has the command that makes a stopped keeper go on', async () => {
    const record = '/api/v1/namespaces/capaf-system/configmaps/capaf-crd-keeper';
    await eventually(() => world.controlPlane.api.exists(record), { what: 'the record of the keeper' });
    await run('delete configmap capaf-crd-keeper');
  });

  it('leads back, and changes nothing in AWS', async () => {
    const before = resources();
    const calls = callsFromNow(world.aws);
    await run('scale deployment capaf-controller-manager --replicas=0');
    await world.stopManager();

    const listed = await run('kubectl get awsmanagedcontrolplanes');
    expect(listed).to.match(new RegExp(`^default ${CLUSTER}-control-plane `));
    const index = (await finalizersOf(world, cluster.controlPlanePath)).indexOf(CONTROL_PLANE_FINALIZER);
    const patch = page.next('kubectl --namespace default patch awsmanagedcontrolplane');
    await terminal.run(patch.replaceAll('/finalizers/0', `/finalizers/${index}`));
    expect(await finalizersOf(world, cluster.controlPlanePath)).to.deep.equal([CAPA_FINALIZER]);

    await run('EXP_EKS_FARGATE=true');
    capa.hasGate = await hasFargateGate(world.controlPlane.api);
    expect(capa.hasGate).to.equal(true);
    await run('kubectl delete namespace capaf-system');

    const { metadata } = await world.controlPlane.api.get(PROFILE_CRD);
    expect(metadata.labels).to.include({ 'cluster.x-k8s.io/provider': 'infrastructure-aws' });
    expect((await capa.webhooks()).filter((name) => OURS.test(name))).to.have.length(2);
    const roles = await world.controlPlane.api.list('/apis/rbac.authorization.k8s.io/v1/clusterroles');
    expect(roles.items.filter(({ metadata: { name } }) => name.startsWith('capaf-'))).to.deep.equal([]);
    // Cluster API Provider AWS can manage the AWSFargateProfile again: its webhooks accept an update of the object, and
    // the Fargate profile and the role have the tag by which its controller recognizes its resources.
    const web = (await world.profile('web')) ?? expect.fail('the profile is gone');
    expect(web.metadata.finalizers).to.deep.equal([FINALIZER]);
    expect(web.spec).to.deep.include({ clusterName: CLUSTER, profileName: 'default_web', roleName: ROLE });
    await world.patch('web', { spec: { additionalTags: { team: 'a' } } });
    expect(resources()).to.deep.equal(before);
    for (const found of [before.profile, before.role])
      expect(found?.tags).to.include({ [`kubernetes.io/cluster/${CLUSTER}`]: 'owned' });
    expect(operationsOf(calls)).to.deep.equal([]);

    // The real Cluster API Provider AWS deletes the Fargate profile and the role when a user deletes the
    // AWSFargateProfile. Its simulator in this test does not, so the test itself removes the Fargate profile and the
    // role.
    await world.controlPlane.api.patch(pathOf('web', 'default'), { metadata: { finalizers: null } });
    world.aws.admin.removeProfile({ cluster: cluster.eksName, name: 'default_web' });
    world.aws.admin.removeRole({ name: ROLE });
  });
});
