import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FLAGS } from '../../../cmd/manager/flags/flags.ts';
import { STAND_IN_CRDS, applyCrds } from '../../envtest/clients/crds.ts';
import { UNPRIVILEGED_USER } from '../../envtest/control-plane/pool.ts';
import { eventually } from '../../support/eventually.ts';
import { runManagerCommand } from '../../world/manager/run-manager.ts';
import { expectDescribed } from '../../world/expect-described.ts';
import { startApiTcpProxy } from '../../world/manager/api-proxy.ts';
import { conditionOf, messageOf, summaryOf, waiting } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, OUR_CRD, fargateProfile, startWorld } from '../../world/world.ts';

const NO_SERVERS = ['--health-addr', '0', '--diagnostics-address', '0'];
const OWN_NAMESPACE = ['--manager-namespace', 'capaf-system'];
const NO_CREDENTIALS = { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined, HOME: '/nonexistent' };

const KUBECONFIG = `
apiVersion: v1
kind: Config
current-context: here
contexts: [{ name: here, context: { cluster: c, user: u } }]
clusters: [{ name: c, cluster: { server: "https://127.0.0.1:1" } }]
users: [{ name: u, user: { token: t } }]
`;

/** Invalid kubeconfigs, each with the part of the manager's error message after the file name. */
const KUBECONFIGS: readonly (readonly [what: string, text: string, message: string])[] = [
  ['that is empty', '', 'not a kubeconfig: expected a map at the top'],
  ['that is binary', '\0\u0001\u0002', 'not a kubeconfig: expected a map at the top'],
  ['that is not YAML', 'a: b: c', 'not YAML: Nested mappings are not allowed in compact mappings at line 1, column 4'],
  [
    'of an unknown context',
    KUBECONFIG.replace('current-context: here', 'current-context: there'),
    'current-context "there" names no context; contexts are: here',
  ],
  [
    'of an unknown cluster',
    KUBECONFIG.replace('cluster: c,', 'cluster: d,'),
    'context "here" names the cluster "d", which is not there; clusters are: c',
  ],
  [
    'with a server that is not a URL',
    KUBECONFIG.replace('https://127.0.0.1:1', 'nonsense'),
    'cluster "c": server "nonsense" is not a URL of http or https',
  ],
  [
    'with a missing certificate file',
    KUBECONFIG.replace('{ server', '{ certificate-authority: /nonexistent/ca.crt, server'),
    'cluster "c": certificate-authority /nonexistent/ca.crt cannot be read: ENOENT',
  ],
];

describe('the manager in a bad environment', () => {
  let world: World;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bad-start-'));
    world = await startWorld({ crds: [] });
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
    await world.finish();
  });

  describe('with command line flags', () => {
    // The unit tests of `parseFlags` have the error messages of all other invalid command lines.
    it('the error of `parseFlags` is the only output, and the exit code is 2', async () => {
      expect(await runManagerCommand(['--sync-period', '10'])).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: 'manager: --sync-period: "10" is not a duration above zero; write it like 30s, 10m or 1h30m\n',
      });
    });

    it('AWS_ENDPOINT_URL without a URL exits with 2', async () => {
      expect(await runManagerCommand([], { AWS_ENDPOINT_URL: 'nonsense' })).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: 'manager: AWS_ENDPOINT_URL is "nonsense", which is not an http or https URL\n',
      });
    });

    it('HTTPS_PROXY without the URL of a proxy exits with 2', async () => {
      expect(await runManagerCommand([], { HTTPS_PROXY: 'socks5://ann:secret@proxy' })).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: 'manager: HTTPS_PROXY: "socks5://***@proxy" is not a URL of http or https\n',
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

  describe('with a kubeconfig', () => {
    const expectExit = async (args: readonly string[], env: Record<string, string>, message: string): Promise<void> => {
      expect(await runManagerCommand([...NO_SERVERS, ...args], env)).to.deep.equal({
        code: 1,
        stdout: '',
        stderr: `manager: ${message}\n`,
      });
    };

    it('that is nowhere configured exits with 1 and lists the places', () =>
      expectExit(
        [],
        {},
        'no API server is configured: there is no --kubeconfig, no KUBECONFIG, no /nonexistent/.kube/config, and this is no pod',
      ));

    it('whose context names a namespace does not say where the Lease is: without --manager-namespace the exit code is 2', async () => {
      const path = join(folder, 'laptop');
      await writeFile(
        path,
        KUBECONFIG.replace('{ cluster: c, user: u }', '{ cluster: c, user: u, namespace: team-a }'),
      );
      expect(await runManagerCommand([...NO_SERVERS, '--leader-elect', '--kubeconfig', path])).to.deep.equal({
        code: 2,
        stdout: '',
        stderr:
          'manager: --manager-namespace is required outside a pod: it names the namespace of the Lease and of the Secrets of ' +
          "AWSClusterStaticIdentities, e.g. --manager-namespace=capaf-system. The namespace of the kubeconfig's context is not used\n",
      });
    });

    it('that --kubeconfig names and that does not exist exits with 1', () =>
      expectExit(['--kubeconfig', '/nonexistent/config'], {}, 'kubeconfig /nonexistent/config: no such file'));

    it('that KUBECONFIG names and that does not exist exits with 1', () =>
      expectExit(
        [],
        { KUBECONFIG: '/nonexistent/a:/nonexistent/b' },
        'kubeconfig /nonexistent/a, /nonexistent/b: no such file (named by the environment variable KUBECONFIG)',
      ));

    it('that is a directory exits with 1', () =>
      expectExit(['--kubeconfig', folder], {}, `kubeconfig ${folder}: cannot be read: EISDIR`));

    for (const [what, text, message] of KUBECONFIGS)
      it(`${what} exits with 1`, async () => {
        const path = join(folder, what.replaceAll(' ', '-'));
        await writeFile(path, text);
        await expectExit(['--kubeconfig', path], {}, `kubeconfig ${path}: ${message}`);
      });

    it('of a pod without a token exits with 1', () =>
      expectExit(
        [],
        { KUBERNETES_SERVICE_HOST: '10.0.0.1' },
        "the pod's service account: /var/run/secrets/kubernetes.io/serviceaccount/token is missing though KUBERNETES_SERVICE_HOST is set: is automountServiceAccountToken off?",
      ));
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

  describe('with an address in use', () => {
    let occupant: Server;
    let address: string;
    before(async () => {
      occupant = createServer();
      await new Promise<void>((resolve) => occupant.listen(0, '127.0.0.1', resolve));
      address = `127.0.0.1:${(occupant.address() as AddressInfo).port}`;
    });
    after(() => new Promise((resolve) => occupant.close(resolve)));

    for (const flag of ['--health-addr', '--diagnostics-address'])
      it(`for ${flag} exits with 1 and names the address`, async () => {
        const { code, stderr } = await runManagerCommand([
          ...NO_SERVERS,
          ...OWN_NAMESPACE,
          '--kubeconfig',
          world.controlPlane.kubeconfigPath,
          flag,
          address,
        ]);
        expect(code).to.equal(1);
        expect(stderr).to.contain(`address already in use ${address}`);
      });
  });

  describe('with invalid credentials for the API server', () => {
    it('keeps trying and logs the error', async () => {
      const path = join(folder, 'wrong-token');
      const right = await readFile(world.controlPlane.kubeconfigPath, 'utf8');
      await writeFile(path, right.replace(world.controlPlane.token, 'wrong'));
      const manager = await world.controlPlane.run({
        name: 'unauthorized',
        file: process.execPath,
        args: [
          new URL('../../../dist/manager.mjs', import.meta.url).pathname,
          ...NO_SERVERS,
          ...OWN_NAMESPACE,
          '--kubeconfig',
          path,
        ],
      });
      await eventually(() => manager.log().includes('Unauthorized'), {
        what: 'Unauthorized in the log',
      });
      expect(manager.exit()).to.equal(undefined);
      expect(await manager.stop()).to.include({ code: 0 });
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

    it('becomes ready once the API server can be reached, and logs the error before', async () => {
      await world.stopManager();
      const { proxy, kubeconfigPath } = await startApiTcpProxy(world.controlPlane);
      try {
        proxy.refuse();
        await world.startManager({
          name: 'unreached',
          flags: ['--kubeconfig', kubeconfigPath],
          waitUntilReady: false,
        });
        await eventually(() => world.manager.log().includes('ECONNRESET'), {
          what: 'the reset connection in the log',
        });
        expect((await world.manager.readyz()).status).to.equal(500);
        proxy.restore();
        await world.createEksCluster('reached');
        await world.apply(fargateProfile('reached', { clusterName: 'reached' }));
        await world.ready('reached');
        expect((await world.manager.readyz()).status).to.equal(200);
        await world.stopManager();
      } finally {
        await proxy.close();
      }
    });
  });

  describe('without permissions', () => {
    it('runs, is not ready, and reports the permission, the user and the remedy', async () => {
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

  describe('without valid AWS credentials', () => {
    it('reports on the object where credentials were searched', async () => {
      await world.startManager({ name: 'without', env: NO_CREDENTIALS });
      await world.createEksCluster('without');
      await world.apply(fargateProfile('without', { clusterName: 'without' }));
      const object = await world.condition('without', 'CredentialsReady', { status: 'False' });
      expect(summaryOf(object)).to.deep.equal(waiting('CredentialsMissing'));
      expect(conditionOf(object, 'CredentialsReady')).to.include({ reason: 'CredentialsMissing' });
      expect(messageOf(object, 'Ready')).to.contain('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (not set)');
      await world.event('without', 'Warning CredentialsMissing');
      await expectDescribed(world, 'credentials-missing', 'without');
      await world.stopManager();
    });

    it('reports the error of AWS on the object until AWS accepts the key', async () => {
      await world.startManager({ name: 'unknown', accessKeyId: 'AKIAUNKNOWN', flags: ['--sync-period', '1s'] });
      const object = await world.condition('without', 'CredentialsReady', {
        status: 'False',
        reason: 'CredentialsInvalid',
      });
      expect(summaryOf(object)).to.deep.equal(waiting('CredentialsInvalid'));
      expect(messageOf(object, 'Ready')).to.contain('The security token included in the request is invalid.');
      await world.event('without', 'Warning CredentialsInvalid');
      world.aws.admin.registerKey({ accessKeyId: 'AKIAUNKNOWN', account: ACCOUNT });
      const ready = await world.ready('without');
      expect(conditionOf(ready, 'CredentialsReady')).to.include({ status: 'True' });
    });

    it('keeps a Ready profile when its credentials become invalid', async () => {
      world.aws.admin.removeKey({ accessKeyId: 'AKIAUNKNOWN' });
      await world.condition('without', 'CredentialsReady', { status: 'False', reason: 'CredentialsInvalid' });
      expect(world.awsView.profile('default_without')).to.include({ status: 'ACTIVE' });
      world.aws.admin.registerKey({ accessKeyId: 'AKIAUNKNOWN', account: ACCOUNT });
      await world.condition('without', 'CredentialsReady', { status: 'True' });
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
