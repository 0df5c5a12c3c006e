import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { takeBlocks } from '../../docs/blocks.ts';
import { type Terminal, openTerminal } from '../../docs/terminal.ts';
import { type CrdManifest, STAND_IN_CRDS, applyCrds } from '../../envtest/clients/crds.ts';
import { capaManifests } from '../../envtest/control-plane/capa-manifests.ts';
import { skipIfBinariesMissing } from '../../envtest/skip.ts';
import { eventually } from '../../support/eventually.ts';
import { PROFILE_CRD, startCapaInstallation } from '../../world/cluster-api/capa-installation.ts';
import { type World, OUR_CRD, fargateProfile, pathOf, startWorld } from '../../world/world.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/**
 * The versions of two imagined later releases of Cluster API Provider AWS. The second release keeps the version of the
 * first.
 */
const LATER_VERSIONS = ['v1beta3', 'v1beta4'] as const;
const KEEPER_RBAC = `${ROOT}config/components/crd-keeper/rbac.yaml`;

describe('AWSFargateProfiles that a later release of Cluster API Provider AWS has stored', () => {
  let world: World;
  let terminal: Terminal;
  let capaCrd: CrdManifest;

  before(async function () {
    const manifests = await capaManifests().catch(skipIfBinariesMissing(this));
    capaCrd = manifests.crd;
    world = await startWorld({ crds: [STAND_IN_CRDS, capaCrd] });
    terminal = await openTerminal(world.controlPlane, { directory: ROOT });
    await world.createEksCluster('prod');
  });
  after(async () => {
    terminal.close();
    await world.finish();
  });
  const page = takeBlocks('docs/upgrade.md', import.meta.url);

  const pathIn = (version: string, name: string): string => pathOf(name, 'default').replace('v1beta2', version);
  const storedVersions = async (): Promise<unknown> =>
    (await world.controlPlane.api.get(PROFILE_CRD)).status?.['storedVersions'];
  const isServed = (version: string, name: string) => world.controlPlane.api.exists(pathIn(version, name));

  /** Installs a CRD of Cluster API Provider AWS with this storage version, and stores an object in it. */
  const storeAs = async (version: (typeof LATER_VERSIONS)[number], name: string): Promise<void> => {
    const { api } = world.controlPlane;
    const { spec } = capaCrd;
    const template = spec.versions.find(({ storage }) => storage);
    if (template === undefined) throw new Error('the CRD has no storage version');
    const later = LATER_VERSIONS.slice(0, LATER_VERSIONS.indexOf(version) + 1);
    const versions = [
      ...spec.versions.map((each) => ({ ...each, storage: false })),
      ...later.map((each) => ({ ...template, name: each, served: true, storage: each === version })),
    ];
    await applyCrds(api, { ...capaCrd, spec: { ...spec, versions } });
    await api.post(pathIn(version, ''), {
      ...fargateProfile(name),
      apiVersion: `infrastructure.cluster.x-k8s.io/${version}`,
    });
    expect(await storedVersions()).to.include(version);
  };

  const expectLife = async (name: string): Promise<void> => {
    await world.ready(name);
    await world.delete(name);
    await world.gone(name);
    expect(world.awsView.profile(`default_${name}`)).to.equal(undefined);
  };

  const WAYS = [
    ['applied', 'by-apply', ['apply', '--server-side', '--force-conflicts', '-k', 'config/crd']],
    ['replaced', 'by-replace', ['replace', '--filename', OUR_CRD]],
  ] as const;
  for (const [way, name, args] of WAYS)
    it(`are read, become Ready and are deleted after our CRD is ${way} over a storage version v1beta3`, async () => {
      await storeAs('v1beta3', name);
      await terminal.run(`kubectl ${args.join(' ')}`);
      expect((await world.controlPlane.api.get(pathOf(name, 'default'))).spec).to.deep.include({ clusterName: 'prod' });
      await eventually(async () => !(await isServed('v1beta3', name)));
      await world.startManager({ name });
      await expectLife(name);
      await world.stopManager();
    });

  it('let the API server refuse our CRD for a version that it does not know, until the documented patch adds it', async () => {
    const documented = page.next('is invalid');
    await storeAs('v1beta4', 'by-patch');
    const { code, stderr } = await world.kubectl(['apply', '--server-side', '--force-conflicts', '-f', OUR_CRD]);
    expect(code).to.equal(1);
    expect(stderr.replace(/storedVersions\[\d\]/, 'storedVersions[1]')).to.equal(documented);
    await terminal.run(page.next('kubectl patch --local'));
    await world.startManager({ name: 'by-patch' });
    await world.ready('by-patch');
    await terminal.run(page.next('stored-as=v1beta2'));
    expect(await storedVersions()).to.deep.equal(['v1beta2']);
    const applied = await world.kubectl(['apply', '--server-side', '--force-conflicts', '-f', OUR_CRD]);
    expect(applied.code, applied.stderr).to.equal(0);
    await expectLife('by-patch');
    await world.stopManager();
  });

  it('lose no version when the CRD keeper restores our CRD', async () => {
    await storeAs('v1beta4', 'by-keeper');
    const capa = await startCapaInstallation(world);
    await capa.applyWebhooks();
    const { code, stderr } = await world.kubectl(['apply', '--server-side', '-f', KEEPER_RBAC]);
    expect(code, stderr).to.equal(0);
    await world.startManager({ name: 'by-keeper', flags: ['--manage-crd', '--sync-period', '1s'] });
    await expectLife('by-keeper');
    expect(await storedVersions()).to.include('v1beta4');
    expect(await isServed('v1beta4', 'by-keeper')).to.equal(false);
  });
});
