import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { MANAGER_ACCOUNT } from '../../envtest/control-plane/pool.ts';
import { endAll } from '../../support/end-all.ts';
import { eventually } from '../../support/eventually.ts';
import { CONTROLLER_IDENTITY, STATIC_IDENTITY, createStaticIdentity, identity } from '../../world/aws/identities.ts';
import { requestDiagnostics } from '../../world/manager/diagnostics.ts';
import { type PermissionAudit, auditPermissions, permissionsOf, rulesIn } from '../../world/manager/permissions.ts';
import { RBAC_DIRECTORY } from '../../world/manager/rbac.ts';
import { type World, ACCOUNT, controlPlanePath, fargateProfile, startWorld } from '../../world/world.ts';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const TAG = 'kubernetes.io/cluster/prod';
const RULES = rulesIn(readFileSync(`${RBAC_DIRECTORY}/role.yaml`, 'utf8'));

describe('the permissions of config/rbac', () => {
  let audit: PermissionAudit;
  let world: World;

  before(async () => {
    audit = await auditPermissions(MANAGER_ACCOUNT);
    world = await startWorld({ apiServerArgs: audit.apiServerArgs });
    const manager = await startManager('first');
    await startManager('second');
    const scrape = { path: '/metrics', token: world.controlPlane.token };
    expect((await requestDiagnostics(manager, scrape)).status).to.equal(200);
  });
  after(() =>
    endAll(
      () => world.finish(),
      () => audit.close(),
    ),
  );

  const startManager = (name: string) =>
    world.startManager({
      name,
      flags: [
        '--leader-elect',
        '--leader-elect-namespace=capaf-system',
        '--sync-period=500ms',
        '--insecure-diagnostics=false',
      ],
    });

  /**
   * Removes an AWS tag twice, so that the manager restores it twice and records the same Event again. For the second
   * Event, the manager patches the first one, which needs the permission `patch events`.
   */
  async function removeTagTwice(): Promise<void> {
    const profile = () => world.awsView.profile('default_web') ?? expect.fail('EKS has no profile default_web');
    for (const _time of [1, 2]) {
      const { cluster, name, tags } = profile();
      const { [TAG]: _removed, ...others } = tags;
      world.aws.admin.setProfile({ cluster, name, tags: others });
      await eventually(() => profile().tags[TAG] === 'owned', { what: 'the tag' });
    }
    await eventually(async () => (await audit.used()).has('patch events'), { what: 'the second event' });
  }

  it('are all used, and no others are needed, in the lifecycle of profiles and a cluster', async () => {
    await world.apply(identity(CONTROLLER_IDENTITY, 'default'));
    await createStaticIdentity(world, 'keys', ACCOUNT);
    await world.createEksCluster('prod', { identityRef: { kind: STATIC_IDENTITY, name: 'keys' } });
    await world.apply(fargateProfile('web'), fargateProfile('gone'));
    await Promise.all([world.ready('web'), world.ready('gone')]);
    await removeTagTwice();
    await world.delete('gone');
    await world.gone('gone');
    // The manager removes the finalizer of a retained object only after it has read the namespace.
    const retained = { clusterName: 'none', deletionPolicy: 'Retain' };
    await world.apply(fargateProfile('retained', retained, { finalizers: [FINALIZER] }));
    await world.delete('retained');
    await world.gone('retained');
    await world.controlPlane.api.delete(controlPlanePath('prod'));
    await world.gone('web');
    await eventually(async () => !(await world.controlPlane.api.exists(controlPlanePath('prod'))));

    const used = await audit.used();
    expect(
      permissionsOf(RULES).filter((each) => !used.has(each)),
      'unused permissions',
    ).to.deep.equal([]);
    expect(await audit.forbidden(), 'missing permissions').to.deep.equal([]);
  });
});
