import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { type ConnectProxy, startConnectProxy } from 'controller-runtime/testing';
import { eventually } from '../../support/eventually.ts';
import { runProgram } from '../../support/run-program.ts';
import { runManagerCommand } from '../../world/manager/run-manager.ts';
import { fargateProfile, pathOf, useWorld } from '../../world/world.ts';
import { PROGRAM } from '../capaf/run-capaf.ts';
import { startEchoServer, type EchoServer } from './echo-server.ts';

/** Secrets that no output may contain. The text of each secret says where the secret comes from. */
const SECRET = {
  pluginArgument: 'hush-plugin-argument-1',
  pluginEnvironment: 'hush-plugin-environment-2',
  pluginOutput: 'hush-plugin-output-3',
  token: 'hush-token-4',
  password: 'hush-password-5',
  process: 'hush-process-6',
  accessKey: 'hush-secret-access-key-7',
  session: 'hush-session-token-8',
  response: 'hush-response-9',
  file: 'hush-file-10',
} as const;

/** Returns the forms in which a header or a URL may contain the secret. */
const formsOf = (secret: string): readonly string[] => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(`ann:${secret}`).toString('base64').replace(/=+$/, ''),
];

function expectNoSecret(output: string): void {
  const shown = Object.values(SECRET).filter((secret) => formsOf(secret).some((form) => output.includes(form)));
  expect(shown, output).to.deep.equal([]);
}

describe('the output of the manager and capaf', () => {
  let dir = '';
  let echo: EchoServer;
  let proxy: ConnectProxy;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'secrets-'));
    echo = await startEchoServer(`{"AccessKeyId": "a", "SecretAccessKey": ${SECRET.response}}`);
    proxy = await startConnectProxy();
    proxy.answer('refusal');
    write('plugin', `#!/bin/sh\necho "login as ${SECRET.pluginOutput}" >&2\necho ${SECRET.pluginOutput}\nexit 7\n`);
    chmodSync(join(dir, 'plugin'), 0o755);
  });
  after(async () => {
    await proxy.close();
    await echo.close();
    rmSync(dir, { recursive: true });
  });

  function write(name: string, text: string): string {
    const path = join(dir, name);
    writeFileSync(path, text);
    return path;
  }
  const kubeconfig = (user: object, server = `http://ann:${SECRET.password}@${echo.host}`): string =>
    write(
      'kubeconfig',
      stringify({
        'current-context': 'x',
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
        users: [{ name: 'u', user }],
      }),
    );
  const plugin = (command: string) => ({
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command,
      args: [`--oidc-client-secret=${SECRET.pluginArgument}`, SECRET.pluginArgument],
      env: [{ name: 'CLIENT_SECRET', value: SECRET.pluginEnvironment }],
    },
  });

  const doctor = ['doctor'];
  const live = ['import', '--from', 'live', '--eks-cluster', 'prod', '--region', 'us-east-1', '-n', 'default'];
  const keys = {
    AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
    AWS_SECRET_ACCESS_KEY: SECRET.accessKey,
    AWS_SESSION_TOKEN: SECRET.session,
  };
  const withPassword = (scheme: string, host: string): string => `${scheme}://ann:${SECRET.password}@${host}`;

  /**
   * A command line of capaf. `shows` is a part of the output, which proves that capaf has read the source of the
   * secret.
   */
  interface Row {
    readonly args: readonly string[];
    readonly env?: () => Readonly<Record<string, string>>;
    readonly shows: string;
  }
  const rows: Readonly<Record<string, Row>> = {
    'an exec plugin that fails': {
      args: doctor,
      env: () => ({ KUBECONFIG: kubeconfig(plugin(join(dir, 'plugin'))) }),
      shows: 'failed with exit code 7',
    },
    'an exec plugin that does not exist': {
      args: doctor,
      env: () => ({ KUBECONFIG: kubeconfig(plugin(`no-such-plugin --secret ${SECRET.pluginArgument}`)) }),
      shows: 'the exec plugin "no-such-plugin" cannot be run: ENOENT',
    },
    'a kubeconfig that is not YAML': {
      args: doctor,
      env: () => ({ KUBECONFIG: write('kubeconfig', `users:\n- user: {token: "${SECRET.token}"}} ${SECRET.token}\n`) }),
      shows: 'not YAML',
    },
    'a server URL with a password, and a gateway that quotes the request': {
      args: doctor,
      env: () => ({ KUBECONFIG: kubeconfig({ token: SECRET.token }) }),
      shows: 'refused GET',
    },
    'a server URL with a password, in a message of capaf': {
      args: ['explain', 'pod', 'nobody', '-n', 'a', '--eks-cluster', 'prod', '--region', 'us-east-1', '--context', 'x'],
      env: () => ({ ...keys, KUBECONFIG: kubeconfig({ token: SECRET.token }) }),
      shows: 'there is no pod a/nobody in the cluster at http://127.0.0.1',
    },
    'a server URL that is not encrypted': {
      args: doctor,
      env: () => ({
        KUBECONFIG: write(
          'kubeconfig',
          stringify({
            'current-context': 'x',
            contexts: [{ name: 'x', context: { cluster: 'c' } }],
            clusters: [{ name: 'c', cluster: { server: withPassword('http', 'prod') } }],
          }),
        ),
      }),
      shows: 'is not encrypted',
    },
    'a proxy that is no URL': {
      args: live,
      env: () => ({ ...keys, HTTPS_PROXY: withPassword('socks5', 'proxy') }),
      shows: 'HTTPS_PROXY is not a URL',
    },
    'a proxy that refuses': {
      args: live,
      env: () => ({ ...keys, HTTPS_PROXY: withPassword('http', proxy.url.host) }),
      shows: 'Proxy response (403)',
    },
    'an endpoint that is no URL': {
      args: live,
      env: () => ({ ...keys, AWS_ENDPOINT_URL: `ann:${SECRET.password}@localhost` }),
      shows: 'AWS_ENDPOINT_URL is not an http or https URL',
    },
    'an AWS that quotes the request': {
      args: live,
      env: () => ({ ...keys, AWS_ENDPOINT_URL: withPassword('http', echo.host) }),
      shows: 'SignatureDoesNotMatch',
    },
    'a credential_process that fails': {
      args: live,
      env: () => ({
        AWS_CONFIG_FILE: write(
          'aws',
          `[default]\ncredential_process = sh -c "echo ${SECRET.process} >&2; exit 7" --secret ${SECRET.process}\n`,
        ),
      }),
      shows: 'no AWS credentials',
    },
    'container credentials that are not JSON': {
      args: live,
      env: () => ({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${echo.host}/credentials?token=${SECRET.password}` }),
      shows: 'AWS_CONTAINER_CREDENTIALS_FULL_URI',
    },
    'an AWS_CA_BUNDLE that is a key': {
      args: live,
      env: () => ({ AWS_CA_BUNDLE: write('ca.pem', SECRET.file) }),
      shows: 'has no certificate in PEM',
    },
    'a Terraform state that is neither JSON nor YAML': {
      args: ['import', '--from', 'terraform', '--eks-cluster', 'prod', '--region', 'us-east-1', '-n', 'a', '-'],
      shows: 'standard input:1:',
    },
  };
  for (const [source, { args, env = () => ({}), shows }] of Object.entries(rows))
    it(`contains no secret of ${source} from capaf`, async () => {
      const { stdout, stderr } = await runProgram(process.execPath, [PROGRAM, ...args], {
        name: 'capaf',
        env: { PATH: process.env['PATH'], HOME: dir, AWS_EC2_METADATA_DISABLED: 'true', ...env() },
        stdin: `{"password": "${SECRET.file}"}} ${SECRET.file}`,
      });
      expect(`${stdout}${stderr}`).to.contain(shows);
      expectNoSecret(`${stdout}${stderr}`);
    });

  for (const [source, args, env] of [
    ['a proxy', [], { HTTPS_PROXY: withPassword('socks5', 'proxy') }],
    ['--service-endpoints', [`--service-endpoints=us-east-1:eks=${withPassword('ftp', 'eks')}`], {}],
    ['an endpoint', [], { AWS_ENDPOINT_URL_STS: `ann:${SECRET.password}@sts` }],
  ] as const)
    it(`does not contain the wrong URL of ${source} with which the manager does not start`, async () => {
      const { code, stdout, stderr } = await runManagerCommand(args, env);
      expect(code).to.equal(2);
      expectNoSecret(`${stdout}${stderr}`);
    });

  describe('with a real API server', () => {
    const world = useWorld();
    before(async () => {
      await world.createEksCluster('prod');
    });

    it('contains no secrets in the log and /readyz when an exec plugin of the manager fails', async () => {
      const kubeconfigPath = kubeconfig(plugin(join(dir, 'plugin')));
      const manager = await world.startManager({ name: 'failing', kubeconfigPath, waitUntilReady: false });
      const ready = await eventually(async () => {
        const { text } = await manager.readyz();
        expect(text).to.contain('failed with exit code 7');
        return text;
      });
      await eventually(() => manager.log().includes('The reflector failed'));
      await world.stopManager(manager);
      expectNoSecret(`${manager.log()}${ready}`);
    });

    it('contains no secrets in the log, metrics, and objects after AWS quotes requests', async () => {
      const { admin } = world.aws;
      const canonical = `GET /?X-Amz-Security-Token=${SECRET.session}&X-Amz-Signature=${SECRET.accessKey} x-amz-security-token:${SECRET.session} Bearer ${SECRET.token} https://ann:${SECRET.password}@proxy/`;
      admin.addFault({ kind: `error:InvalidRequestException:refused ${canonical}`, operation: 'CreateFargateProfile' });
      const manager = await world.startManager({ env: { AWS_SECRET_ACCESS_KEY: SECRET.accessKey }, verbosity: 10 });
      await world.apply(fargateProfile('quoted', { clusterName: 'prod' }));
      await world.event('quoted', 'X-Amz-Security-Token=***');
      await world.condition('quoted', 'Ready', { status: 'False' });
      const { api } = world.controlPlane;
      const objects = await Promise.all([
        api.request('GET', pathOf('quoted', 'default')),
        ...['events', 'secrets', 'configmaps'].map((plural) => api.request('GET', `/api/v1/${plural}`)),
        api.request('GET', '/apis/coordination.k8s.io/v1/leases'),
      ]);
      const output = [manager.log(), await manager.metrics(), JSON.stringify(objects)].join('\n');
      expect(output).to.contain('InvalidRequestException');
      expectNoSecret(output);
      admin.clearFaults();
    });
  });
});
