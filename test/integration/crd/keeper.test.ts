import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import { STAND_IN_CRDS, applyCrds } from '../../envtest/clients/crds.ts';
import { MANAGER_ACCOUNT } from '../../envtest/control-plane/pool.ts';
import { skipIfBinariesMissing } from '../../envtest/skip.ts';
import { endAll } from '../../support/end-all.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import type { CapaInstallation } from '../../world/cluster-api/capa-installation.ts';
import { PROFILE_CRD, PROFILE_CRD_NAME, startCapaInstallation } from '../../world/cluster-api/capa-installation.ts';
import { type PermissionAudit, auditPermissions, permissionsOf, rulesIn } from '../../world/manager/permissions.ts';
import { type World, OUR_CRD, fargateProfile, pathOf, startWorld } from '../../world/world.ts';

const COMPONENT = fileURLToPath(new URL('../../../config/components/crd-keeper/rbac.yaml', import.meta.url));
const RECORD = '/api/v1/namespaces/capaf-system/configmaps/capaf-crd-keeper';
const OURS = /^(default|validation)\.awsfargateprofile\.infrastructure\.cluster\.x-k8s\.io$/;
const DEFAULT_WEBHOOK = 'default.awsfargateprofile.infrastructure.cluster.x-k8s.io';

describe('the CRD keeper, with the real manifests of Cluster API Provider AWS', () => {
  let audit: PermissionAudit;
  let world: World;
  let capa: CapaInstallation;

  before(async function () {
    audit = await auditPermissions(MANAGER_ACCOUNT);
    world = await startWorld({
      crds: [STAND_IN_CRDS],
      apiServerArgs: audit.apiServerArgs,
    });
    capa = await startCapaInstallation(world).catch(skipIfBinariesMissing(this));
    const { code, stderr } = await world.kubectl(['apply', '--server-side', '-f', COMPONENT]);
    expect(code, stderr).to.equal(0);
  });
  after(() =>
    endAll(
      () => world.finish(),
      () => audit.close(),
    ),
  );

  const start = (name: string, ...flags: readonly string[]) =>
    world.startManager({
      name,
      flags: ['--sync-period', '1s', ...flags],
    });
  const get = (path: string): Promise<RawObject> => world.controlPlane.api.get(path);
  const providerOf = ({ metadata }: RawObject): string | undefined => metadata.labels?.['cluster.x-k8s.io/provider'];
  const others = (): readonly string[] => capa.releasedWebhooks.filter((name) => !OURS.test(name));

  /** Returns the restorations of the CRD that the manager has recorded in a ConfigMap, oldest first. */
  const restorations = async (): Promise<
    readonly { readonly dropped?: unknown; readonly lost?: readonly string[] }[]
  > => {
    const { data } = await world.controlPlane.api.get<{ data: Record<string, string> }>(RECORD);
    return (JSON.parse(data['record.json'] ?? '') as { restorations: [] }).restorations;
  };

  /**
   * Waits until the manager has restored the CRD: the API server has the CRD of this provider and no webhook of Cluster
   * API Provider AWS for AWSFargateProfiles, and the manager has recorded which objects lost fields. The API server
   * calls a webhook for a moment after its removal, so the function also waits until a dry run of a write succeeds.
   */
  const restored = (): Promise<unknown> =>
    eventually(
      async () => {
        expect(providerOf(await get(PROFILE_CRD))).to.equal('infrastructure-aws-fargate');
        expect(await capa.webhooks()).to.deep.equal(others());
        expect((await restorations()).at(-1)?.dropped).to.equal(undefined);
        await world.controlPlane.api.post(`${pathOf('', 'default')}?dryRun=All`, fargateProfile('dry-run'));
        return true;
      },
      { what: 'the restoration' },
    );
  /**
   * The names and resourceVersions of the CRD and of the webhook configurations. Every write that changes an object
   * changes its resourceVersion, so equal lists mean that the manager has changed none of these objects.
   */
  const versions = async (): Promise<readonly unknown[]> =>
    (await capa.objects()).map(({ metadata }) => [metadata.name, metadata.resourceVersion]);

  it('replaces the CRD of CAPA, and removes only the two AWSFargateProfile webhooks, before any object exists', async () => {
    await capa.apply();
    await start('keeper', '--manage-crd');
    await restored();
    await world.event(
      PROFILE_CRD_NAME,
      'Normal CRDRestored: The manager has applied its CRD again, because "clusterctl"',
    );
    await world.event(
      'capa-validating-webhook-configuration',
      'Normal CAPAWebhookRemoved: The manager has removed the webhook validation.awsfargateprofile',
    );
    expect(capa.releasedWebhooks.length - others().length, 'the removed webhooks').to.equal(2);

    await world.createEksCluster('prod');
    await world.apply(fargateProfile('web', { deletionPolicy: 'Retain', additionalTags: { team: 'a' } }));
    await world.ready('web');
  });

  it('does not change stored objects or AWS when it replaces the CRD', async () => {
    const before = await get(pathOf('web', 'default'));
    const calls = callsFromNow(world.aws);
    await capa.apply();
    await restored();
    const after = await eventually(async () => {
      const object = await get(pathOf('web', 'default'));
      return object.spec?.['deletionPolicy'] === undefined ? false : object;
    });
    expect(after.metadata.resourceVersion).to.equal(before.metadata.resourceVersion);
    expect(after.spec).to.deep.equal(before.spec);
    expect(calls.mutations()).to.deep.equal([]);
  });

  it('changes nothing while CAPA serves the webhooks, reports this, and later lists the fields that were lost', async () => {
    capa.hasGate = true;
    await world.controlPlane.api.delete(RECORD);
    await capa.apply();
    const before = await versions();
    await world.event(
      PROFILE_CRD_NAME,
      `Warning CAPAServesProfiles: Cluster API Provider AWS answers the webhook ${DEFAULT_WEBHOOK}`,
    );
    await world.patch('web', { metadata: { labels: { written: 'under-the-crd-of-capa' } } });
    await world.event('web', 'Warning CAPAServesProfiles');
    expect(await versions()).to.deep.equal(before);
    expect(await world.controlPlane.api.exists(RECORD)).to.equal(false);

    capa.hasGate = false;
    await capa.touch();
    await restored();
    const lost = await world.event(
      'web',
      'Warning FieldsLost: This AWSFargateProfile has lost spec.deletionPolicy, because',
    );
    expect(lost.at(-1)).to.contain("Apply this object's manifest again");
    expect((await restorations()).at(-1)?.lost?.[0]).to.match(/^default\/web: spec\.deletionPolicy/);
    await world.apply(fargateProfile('web', { deletionPolicy: 'Retain', additionalTags: { team: 'a' } }));
    await world.condition('web', 'Ready', { status: 'True' }, { generation: 1 });
  });

  it('uses all the permissions of its component, and needs no others', async () => {
    const rules = rulesIn(readFileSync(COMPONENT, 'utf8'));
    const used = await audit.used();
    // The manager creates the ConfigMap with its record by server-side apply. For this the API server requires the
    // permission `create` besides `patch`, but its audit log shows only `patch`.
    const granted = permissionsOf(rules).filter((each) => each !== 'create configmaps/capaf-crd-keeper');
    expect(granted.filter((each) => !used.has(each))).to.deep.equal([]);
    expect(await audit.forbidden()).to.deep.equal([]);
  });

  it('is off by default', async () => {
    await world.stopManager();
    await start('without');
    await capa.apply();
    const before = await versions();
    await world.event('web', 'Apply the CRD of cluster-api-provider-aws-fargate again');
    expect(await versions()).to.deep.equal(before);
    expect(await world.controlPlane.api.exists(PROFILE_CRD)).to.equal(true);

    await capa.removeWebhooks();
    await applyCrds(world.controlPlane.api, OUR_CRD);
    await eventually(async () => {
      await world.apply(fargateProfile('web', { deletionPolicy: 'Delete', additionalTags: { team: 'a' } }));
      return (await get(pathOf('web', 'default'))).spec?.['deletionPolicy'] === 'Delete';
    });
  });
});
