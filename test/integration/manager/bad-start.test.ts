import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { FLAGS } from '../../../cmd/manager/flags/flags.ts';
import { STAND_IN_CRDS, applyCrds } from '../../envtest/clients/crds.ts';
import { UNPRIVILEGED_USER } from '../../envtest/control-plane/pool.ts';
import { eventually } from '../../support/eventually.ts';
import { runManagerCommand } from '../../world/manager/run-manager.ts';
import { conditionOf, messageOf, summaryOf, waiting } from '../../world/object-state.ts';
import { OUR_CRD, fargateProfile, useWorld } from '../../world/world.ts';

const NO_SERVERS = ['--health-addr', '0', '--diagnostics-address', '0'];
const NO_CREDENTIALS = { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined, HOME: '/nonexistent' };

describe('the manager in a bad environment', () => {
  const world = useWorld({ crds: [] });

  describe('with command line flags', () => {
    // The unit tests of `parseFlags` have the error messages of all other invalid command lines.
    it('the error of `parseFlags` is the only output, and the exit code is 2', async () => {
      expect(await runManagerCommand(['--sync-period', '10'])).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: 'manager: --sync-period: "10" is not a duration above zero; write it like 30s, 10m or 1h30m\n',
      });
    });

    it('--version prints the version, also with invalid flags, and exits with 0', async () => {
      const { version } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8')) as {
        version: string;
      };
      const { code, stdout, stderr } = await runManagerCommand(['--sync-period', 'never', '--version']);
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
      expect(stdout).to.match(new RegExp(`^v${version.replaceAll('.', '\\.')}(\\+[0-9a-f]{12}(\\.dirty)?)?\\n$`));
    });

    it('--help lists every flag and exits with 0', async () => {
      const { code, stdout, stderr } = await runManagerCommand(['--help']);
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
      for (const { name } of FLAGS) expect(stdout).to.match(new RegExp(`^ .*--${name}(?![-\\w])`, 'm'));
    });
  });

  // The unit tests of `loadKubeconfig` have the error messages of all other invalid configurations.
  it('a kubeconfig that does not exist exits with 1', async () => {
    expect(await runManagerCommand([...NO_SERVERS, '--kubeconfig', '/nonexistent/config'])).to.deep.equal({
      code: 1,
      stdout: '',
      stderr: 'manager: kubeconfig /nonexistent/config: no such file\n',
    });
  });

  describe('before CRDs are installed', () => {
    // A later test restarts the API server while this manager runs. A restarted API server forbids requests of the
    // manager until it has read the RBAC roles. `mayBeForbidden` lets the test file pass in spite of that.
    before(() => world.startManager({ waitUntilReady: false, mayBeForbidden: true }));

    it('runs, is not ready, and reports that AWSFargateProfiles are not served', async () => {
      await eventually(
        async () => {
          const { status, text } = await world.manager.readyz();
          expect(status).to.equal(500);
          expect(text).to.contain('[-]caches failed: waiting for reflector of awsfargateprofiles');
          expect(text).to.contain('(the API server does not serve awsfargateprofiles.infrastructure.cluster.x-k8s.io)');
        },
        { what: 'the missing kind in readyz' },
      );
      const healthy = await fetch(`${world.manager.healthUrl}/healthz`);
      expect({ status: healthy.status, text: await healthy.text() }).to.deep.equal({ status: 200, text: 'ok' });
      expect(world.manager.exit()).to.equal(undefined);
    });

    it('becomes ready with the CRD of AWSFargateProfiles, and reports on the object that Clusters are not served', async () => {
      await applyCrds(world.controlPlane.api, OUR_CRD);
      await eventually(async () => (await world.manager.readyz()).status === 200, {
        what: 'the manager being ready',
      });
      await world.apply(fargateProfile('first', { clusterName: 'first' }));
      const object = await world.condition('first', 'Ready', { status: 'False', reason: 'WaitingForAPI' });
      expect(summaryOf(object)).to.deep.equal(waiting('WaitingForAPI'));
      expect(messageOf(object, 'Ready')).to.contain('does not serve clusters.cluster.x-k8s.io');
      await applyCrds(world.controlPlane.api, STAND_IN_CRDS);
      await world.createEksCluster('first');
    });
  });

  describe('after CRDs are installed', () => {
    it('reconciles the object without a restart', async () => {
      await world.ready('first');
    });
  });

  describe('without an API server', () => {
    it('continues after a restart of the API server', async () => {
      await world.createEksCluster('interrupted');
      await world.controlPlane.stopApiServer('SIGKILL');
      await eventually(() => world.manager.log().includes('ECONNREFUSED'), {
        what: 'the refused connection in the log',
      });
      const healthy = await fetch(`${world.manager.healthUrl}/healthz`);
      expect(healthy.status).to.equal(200);
      await world.controlPlane.startApiServer();
      await world.apply(fargateProfile('interrupted', { clusterName: 'interrupted' }));
      await world.ready('interrupted');
      expect(world.manager.exit()).to.equal(undefined);
    });
  });

  describe('without permissions', () => {
    it('runs, is not ready, and reports the permission, the user and the remedy', async () => {
      await world.stopManager();
      const { kubeconfigPath } = world.controlPlane.user(UNPRIVILEGED_USER.name);
      const manager = await world.startManager({ name: 'nobody', kubeconfigPath, waitUntilReady: false });
      const forbidden = `User "${UNPRIVILEGED_USER.name}" cannot list resource "awsfargateprofiles" in API group "infrastructure.cluster.x-k8s.io" at the cluster scope`;
      await eventually(
        async () => {
          const { status, text } = await manager.readyz();
          expect(status).to.equal(500);
          expect(text).to.contain(`${forbidden}. Apply the roles and role bindings of the manager again (config/rbac)`);
        },
        { what: 'the missing permission in readyz' },
      );
      expect(manager.log()).to.contain('remedy="Apply the roles and role bindings of the manager again (config/rbac)');
      await world.stopManager(manager);
    });
  });

  describe('without AWS credentials', () => {
    it('reports on the object where credentials were searched', async () => {
      await world.startManager({ name: 'without', env: NO_CREDENTIALS });
      await world.createEksCluster('without');
      await world.apply(fargateProfile('without', { clusterName: 'without' }));
      const object = await world.condition('without', 'CredentialsReady', { status: 'False' });
      expect(summaryOf(object)).to.deep.equal(waiting('CredentialsMissing'));
      expect(conditionOf(object, 'CredentialsReady')).to.include({ reason: 'CredentialsMissing' });
      expect(messageOf(object, 'Ready')).to.contain('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (not set)');
      await world.event('without', 'Warning CredentialsMissing');
      await world.stopManager();
      await world.startManager({ name: 'with' });
      await world.ready('without');
    });
  });

  describe('on a signal', () => {
    it('exits with 0 after SIGTERM and SIGINT', async () => {
      await world.stopManager();
      expect(world.manager.tail()).to.contain('"Stopped"');
      await world.startManager({ name: 'interrupted' });
      expect(await world.manager.stop('SIGINT')).to.include({ code: 0 });
      await world.startManager({ name: 'last' });
    });
  });
});
