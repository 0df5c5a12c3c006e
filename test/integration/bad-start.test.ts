import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { STAND_IN_CRDS, applyCrds } from '../envtest/crds.ts';
import { eventually } from '../support/eventually.ts';
import { runManager } from '../world/command.ts';
import { expectDescribed } from '../world/describe.ts';
import { throughProxy } from '../world/proxied.ts';
import { conditionOf, messageOf, stalled, standing, waiting } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { ACCOUNT, OUR_CRD, fargateProfile, startWorld } from '../world/world.ts';

const NO_SERVERS = ['--health-addr', '0', '--diagnostics-address', '0'];
/** Known to the API server, and allowed nothing but what everybody is. */
const NOBODY = 'system:serviceaccount:capaf-system:capaf-manager';
const NO_CREDENTIALS = { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined, HOME: '/nonexistent' };

/** Command lines that cannot be meant, and what is said of them. */
const COMMAND_LINES: readonly (readonly [args: readonly string[], says: string])[] = [
  [['--frobnicate'], "Unknown option '--frobnicate'. --help lists the flags"],
  [['start'], "Unexpected argument 'start'. --help lists the flags"],
  [['--sync-period'], "Option '--sync-period <value>' argument missing. --help lists the flags"],
  [['--leader-elect=maybe'], "Option '--leader-elect' does not take an argument. --help lists the flags"],
  [['--sync-period', '10'], '--sync-period: "10" is not a duration above zero; write it like 30s, 10m or 1h30m'],
  [['--sync-period=0s'], '--sync-period: "0s" is not a duration above zero; write it like 30s, 10m or 1h30m'],
  [['--sync-period=-5s'], '--sync-period: "-5s" is not a duration above zero; write it like 30s, 10m or 1h30m'],
  [['--sync-period', ''], '--sync-period: "" is not a duration above zero; write it like 30s, 10m or 1h30m'],
  [['--v', 'NaN'], '--v: "NaN" is not a whole number from 0 up'],
  [['--v=1.5'], '--v: "1.5" is not a whole number from 0 up'],
  [['--awsfargateprofile-concurrency', '0'], '--awsfargateprofile-concurrency: "0" is not a whole number from 1 up'],
  [
    ['--namespace', 'Not_A_Name'],
    '--namespace: "Not_A_Name" is not the name of a namespace: lower-case letters, digits and hyphens',
  ],
  [
    ['--namespace', '../secrets'],
    '--namespace: "../secrets" is not the name of a namespace: lower-case letters, digits and hyphens',
  ],
  [
    ['--health-addr', 'nine'],
    '--health-addr: "nine" is no address; write ":9440", "127.0.0.1:9440", "[::1]:9440" or "0" for none',
  ],
  [
    ['--diagnostics-address', ':99999'],
    '--diagnostics-address: ":99999" is no address; write ":9440", "127.0.0.1:9440", "[::1]:9440" or "0" for none',
  ],
  [['--logging-format', 'xml'], '--logging-format: "xml" is neither text nor json'],
  [
    ['--service-endpoints', 'us-east-1:eks=ftp://x'],
    '--service-endpoints: "ftp://x", the endpoint of eks in us-east-1, is not an http or https URL',
  ],
  [
    ['--leader-elect', '--leader-elect-lease-duration', '5s'],
    '--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline',
  ],
  [
    // prettier-ignore
    ['--leader-elect', '--leader-elect-lease-duration', '2s', '--leader-elect-renew-deadline', '1s', '--leader-elect-retry-period', '200ms'],
    '--leader-elect-lease-duration must be greater than --leader-elect-retry-period and 2s: so long before its end nothing is changed in AWS any more',
  ],
];

const KUBECONFIG = `
apiVersion: v1
kind: Config
current-context: here
contexts: [{ name: here, context: { cluster: c, user: u } }]
clusters: [{ name: c, cluster: { server: "https://127.0.0.1:1" } }]
users: [{ name: u, user: { token: t } }]
`;

/** Kubeconfigs that lead nowhere, and what is said of them after the file's name. */
const KUBECONFIGS: readonly (readonly [what: string, text: string, says: string])[] = [
  ['empty', '', 'not a kubeconfig: expected a map at the top'],
  ['binary', '\0\u0001\u0002', 'not a kubeconfig: expected a map at the top'],
  ['not YAML', 'a: b: c', 'not YAML: Nested mappings are not allowed in compact mappings at line 1, column 4'],
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
    'with a server that is no URL',
    KUBECONFIG.replace('https://127.0.0.1:1', 'nonsense'),
    'cluster "c": server "nonsense" is not a URL of http or https',
  ],
  [
    'with a certificate that is not there',
    KUBECONFIG.replace('{ server', '{ certificate-authority: /nonexistent/ca.crt, server'),
    'cluster "c": certificate-authority /nonexistent/ca.crt cannot be read: ENOENT',
  ],
];

describe('a start under bad conditions', () => {
  let world: World;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bad-start-'));
    world = await startWorld({ crds: [], users: [{ name: NOBODY, groups: ['system:authenticated'] }] });
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
    await world.finish();
  });

  describe('the command line', () => {
    for (const [args, says] of COMMAND_LINES)
      it(`${args.join(' ')}: ends with 2`, async () => {
        expect(await runManager(args)).to.deep.equal({ code: 2, stdout: '', stderr: `manager: ${says}\n` });
      });

    it('an endpoint of the environment that is no URL ends with 2', async () => {
      expect(await runManager([], { AWS_ENDPOINT_URL: 'nonsense' })).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: 'manager: AWS_ENDPOINT_URL is "nonsense", which is not an http or https URL\n',
      });
    });

    it('--version prints the version, whatever else is there, and ends with 0', async () => {
      const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
        version: string;
      };
      const { code, stdout, stderr } = await runManager(['--sync-period', 'never', '--version']);
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
      expect(stdout).to.match(new RegExp(`^v${version.replaceAll('.', '\\.')}(\\+[0-9a-f]{12}(\\.dirty)?)?\\n$`));
    });

    it('--help names every flag, and ends with 0', async () => {
      const { code, stdout, stderr } = await runManager(['--help']);
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
      for (const flag of [
        'kubeconfig',
        'namespace',
        'sync-period',
        'awsfargateprofile-concurrency',
        'leader-elect',
        'leader-elect-lease-duration',
        'leader-elect-renew-deadline',
        'leader-elect-retry-period',
        'health-addr',
        'diagnostics-address',
        'insecure-diagnostics',
        'logging-format',
        'v',
        'service-endpoints',
        'version',
        'help',
      ]) {
        expect(stdout).to.match(new RegExp(`^ .*--${flag}\\b`, 'm'));
      }
    });
  });

  describe('the kubeconfig', () => {
    const ends = async (args: readonly string[], env: Record<string, string>, says: string): Promise<void> => {
      expect(await runManager([...NO_SERVERS, ...args], env)).to.deep.equal({
        code: 1,
        stdout: '',
        stderr: `manager: ${says}\n`,
      });
    };

    it('that is nowhere ends with 1 and says where was looked', () =>
      ends(
        [],
        {},
        'no API server is configured: there is no --kubeconfig, no KUBECONFIG, no /nonexistent/.kube/config, and this is no pod',
      ));

    it('that --kubeconfig names and that is not there ends with 1', () =>
      ends(['--kubeconfig', '/nonexistent/config'], {}, 'kubeconfig /nonexistent/config: no such file'));

    it('that KUBECONFIG names and that is not there ends with 1', () =>
      ends(
        [],
        { KUBECONFIG: '/nonexistent/a:/nonexistent/b' },
        'kubeconfig /nonexistent/a, /nonexistent/b: no such file (named by the environment variable KUBECONFIG)',
      ));

    it('that is a folder ends with 1', () =>
      ends(['--kubeconfig', folder], {}, `kubeconfig ${folder}: cannot be read: EISDIR`));

    for (const [what, text, says] of KUBECONFIGS)
      it(`that is ${what} ends with 1`, async () => {
        const path = join(folder, what.replaceAll(' ', '-'));
        await writeFile(path, text);
        await ends(['--kubeconfig', path], {}, `kubeconfig ${path}: ${says}`);
      });

    it('of a pod without a token ends with 1', () =>
      ends(
        [],
        { KUBERNETES_SERVICE_HOST: '10.0.0.1' },
        "the pod's service account: /var/run/secrets/kubernetes.io/serviceaccount/token is missing though KUBERNETES_SERVICE_HOST is set: is automountServiceAccountToken off?",
      ));
  });

  describe('kinds that are installed later', () => {
    before(() => world.startManager({ waitUntilReady: false }));

    it('its own: it lives, is not ready, and says what is missing', async () => {
      await eventually(
        async () => {
          const { status, text } = await world.manager.readyz();
          expect(status).to.equal(500);
          expect(text).to.contain('[-]caches failed: waiting for reflector of awsfargateprofiles');
          expect(text).to.contain('(the API server does not serve awsfargateprofiles.infrastructure.cluster.x-k8s.io)');
        },
        { what: 'the manager saying what is missing', timeoutMs: 30_000 },
      );
      const healthy = await fetch(`${world.manager.healthUrl}/healthz`);
      expect({ status: healthy.status, text: await healthy.text() }).to.deep.equal({ status: 200, text: 'ok' });
      expect(world.manager.exit()).to.equal(undefined);
    });

    it('its own: it gets ready, and tells an object that Cluster API is missing', async () => {
      await applyCrds(world.controlPlane.api, OUR_CRD);
      await eventually(async () => (await world.manager.readyz()).status === 200, {
        what: 'the manager getting ready',
        timeoutMs: 35_000,
      });
      await world.apply(fargateProfile('first', { clusterName: 'first' }));
      const object = await world.condition('first', 'Ready', { status: 'False', reason: 'WaitingForAPI' });
      expect(standing(object)).to.deep.equal(waiting('WaitingForAPI'));
      expect(messageOf(object, 'Ready')).to.contain('does not serve clusters.cluster.x-k8s.io');
      await applyCrds(world.controlPlane.api, STAND_IN_CRDS);
      await world.createEksCluster('first');
    });
  });

  describe('its own addresses', () => {
    let squatter: Server;
    let address: string;
    before(async () => {
      squatter = createServer();
      await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
      address = `127.0.0.1:${(squatter.address() as AddressInfo).port}`;
    });
    after(() => new Promise((resolve) => squatter.close(resolve)));

    for (const flag of ['--health-addr', '--diagnostics-address'])
      it(`${flag} that somebody else listens on ends with 1 and says which`, async () => {
        const { code, stderr } = await runManager([
          ...NO_SERVERS,
          '--kubeconfig',
          world.controlPlane.kubeconfigPath,
          flag,
          address,
        ]);
        expect(code).to.equal(1);
        expect(stderr).to.contain(`address already in use ${address}`);
      });
  });

  describe('credentials for the API server', () => {
    it('that it does not take: the manager goes on trying and says so', async () => {
      const path = join(folder, 'wrong-token');
      const right = await readFile(world.controlPlane.kubeconfigPath, 'utf8');
      await writeFile(path, right.replace(world.controlPlane.token, 'wrong'));
      const manager = await world.controlPlane.run({
        name: 'unauthorized',
        file: process.execPath,
        args: [new URL('../../dist/manager.mjs', import.meta.url).pathname, ...NO_SERVERS, '--kubeconfig', path],
      });
      await eventually(() => manager.log().includes('Unauthorized'), {
        what: 'the word Unauthorized in the log',
        timeoutMs: 30_000,
      });
      expect(manager.exit()).to.equal(undefined);
      expect(await manager.stop()).to.include({ code: 0 });
    });
  });

  describe('kinds that were installed later', () => {
    it('Cluster API’s: the object has what it wants, without a restart', async () => {
      await world.ready('first', { timeoutMs: 35_000 });
    });
  });

  describe('the API server', () => {
    it('that goes and comes back: the manager stays, and goes on', async () => {
      await world.createEksCluster('interrupted');
      await world.controlPlane.stopApiServer('SIGKILL');
      await eventually(() => world.manager.log().includes('ECONNREFUSED'), {
        what: 'the manager noticing',
        timeoutMs: 30_000,
      });
      const healthy = await fetch(`${world.manager.healthUrl}/healthz`);
      expect(healthy.status).to.equal(200);
      await world.controlPlane.startApiServer();
      await world.apply(fargateProfile('interrupted', { clusterName: 'interrupted' }));
      await world.ready('interrupted', { timeoutMs: 60_000 });
      expect(world.manager.exit()).to.equal(undefined);
    });

    it('that cannot be reached at the start: the manager says so, waits, and gets ready when it can', async () => {
      await world.stopManager();
      const { proxy, kubeconfigPath } = await throughProxy(world.controlPlane);
      try {
        proxy.refuse();
        await world.startManager({
          name: 'unreached',
          flags: ['--kubeconfig', kubeconfigPath],
          waitUntilReady: false,
        });
        await eventually(() => world.manager.log().includes('ECONNRESET'), {
          what: 'the manager noticing',
          timeoutMs: 30_000,
        });
        expect((await world.manager.readyz()).status).to.equal(500);
        proxy.restore();
        await world.createEksCluster('reached');
        await world.apply(fargateProfile('reached', { clusterName: 'reached' }));
        await world.ready('reached', { timeoutMs: 60_000 });
        expect((await world.manager.readyz()).status).to.equal(200);
        await world.stopManager();
      } finally {
        await proxy.close();
      }
    });
  });

  describe('permissions', () => {
    it('that were never given: it lives, and says which, to whom, and what to do', async () => {
      const { kubeconfigPath } = world.controlPlane.user(NOBODY);
      const manager = await world.startManager({ name: 'nobody', kubeconfigPath, waitUntilReady: false });
      const forbidden = `User "${NOBODY}" cannot list resource "awsfargateprofiles" in API group "infrastructure.cluster.x-k8s.io" at the cluster scope`;
      await eventually(
        async () => {
          const { status, text } = await manager.readyz();
          expect(status).to.equal(500);
          expect(text).to.contain(`${forbidden}. Apply the manager's roles and role bindings again (config/rbac)`);
        },
        { what: 'the manager saying what it may not', timeoutMs: 30_000 },
      );
      expect(manager.log()).to.contain('remedy="Apply the manager\'s roles and role bindings again (config/rbac)');
      await world.stopManager(manager);
    });
  });

  describe('credentials for AWS', () => {
    it('that are nowhere: the object says where was looked, and what to do', async () => {
      await world.startManager({ name: 'without', env: NO_CREDENTIALS });
      await world.createEksCluster('without');
      await world.apply(fargateProfile('without', { clusterName: 'without' }));
      const object = await world.condition('without', 'CredentialsReady', { status: 'False' });
      expect(standing(object)).to.deep.equal(stalled('CredentialsMissing'));
      expect(conditionOf(object, 'CredentialsReady')).to.include({ reason: 'CredentialsMissing' });
      expect(messageOf(object, 'Ready')).to.contain('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (not set)');
      await world.event('without', 'Warning CredentialsMissing');
      await expectDescribed(world, 'credentials-missing', 'without');
      await world.stopManager();
    });

    it('that AWS does not know: the object says so in AWS’ words, and goes on when it does', async () => {
      await world.startManager({ name: 'unknown', accessKeyId: 'AKIAUNKNOWN', flags: ['--sync-period', '1s'] });
      const object = await world.condition('without', 'CredentialsReady', {
        status: 'False',
        reason: 'CredentialsInvalid',
      });
      expect(standing(object)).to.deep.equal(stalled('CredentialsInvalid'));
      expect(messageOf(object, 'Ready')).to.contain('The security token included in the request is invalid.');
      await world.event('without', 'Warning CredentialsInvalid');
      world.aws.admin.registerKey({ accessKeyId: 'AKIAUNKNOWN', account: ACCOUNT });
      const ready = await world.ready('without');
      expect(conditionOf(ready, 'CredentialsReady')).to.include({ status: 'True' });
    });

    it('that become invalid: what is Ready is said to be unknown or not, and nothing is lost', async () => {
      world.aws.admin.removeKey({ accessKeyId: 'AKIAUNKNOWN' });
      await world.condition('without', 'CredentialsReady', { status: 'False', reason: 'CredentialsInvalid' });
      expect(world.inAws.profile('default_without')).to.include({ status: 'ACTIVE' });
      world.aws.admin.registerKey({ accessKeyId: 'AKIAUNKNOWN', account: ACCOUNT });
      await world.condition('without', 'CredentialsReady', { status: 'True' });
      await world.ready('without');
    });
  });

  describe('the end', () => {
    it('by SIGTERM, and by SIGINT, is a good one', async () => {
      await world.stopManager();
      expect(world.manager.tail()).to.contain('"Stopped"');
      await world.startManager({ name: 'interrupted' });
      expect(await world.manager.stop('SIGINT')).to.include({ code: 0 });
      await world.startManager({ name: 'last' });
    });
  });
});
