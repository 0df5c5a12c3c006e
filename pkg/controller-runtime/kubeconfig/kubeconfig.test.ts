import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { KubeconfigError, loadKubeconfig, type KubeconfigOptions } from './kubeconfig.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

const twoContexts = {
  'current-context': 'prod',
  contexts: [
    { name: 'dev', context: { cluster: 'dev', user: 'ann' } },
    { name: 'prod', context: { cluster: 'prod', user: 'ann', namespace: 'apps' } },
  ],
  clusters: [
    { name: 'dev', cluster: { server: 'https://dev:6443' } },
    { name: 'prod', cluster: { server: 'https://prod:6443/base', 'certificate-authority': 'certs/ca.crt' } },
  ],
  users: [{ name: 'ann', user: { token: 'secret' } }],
};

describe('loadKubeconfig', () => {
  let dir = '';
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'kubeconfig-'))));
  afterEach(() => rmSync(dir, { recursive: true }));

  function write(name: string, content: unknown): string {
    const path = join(dir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'string' ? content : stringify(content));
    return path;
  }
  const load = (options: Partial<KubeconfigOptions>) =>
    loadKubeconfig({ env: {}, home: join(dir, 'home'), serviceAccountDir: join(dir, 'sa'), ...options });
  const loadFrom = (content: unknown) => load({ path: write('config', content) });
  const problemOf = (work: () => unknown): string => {
    try {
      work();
    } catch (error) {
      if (error instanceof KubeconfigError) return error.message;
      throw error;
    }
    return expect.fail('it was accepted');
  };
  const withCluster = (cluster: object) => ({ ...twoContexts, clusters: [{ name: 'prod', cluster }] });
  const withUser = (user: object) => ({
    ...withCluster({ server: 'https://prod:6443' }),
    users: [{ name: 'ann', user }],
  });

  it('reads server and credentials of the current context, and resolves paths against the kubeconfig', async () => {
    const ca = write('certs/ca.crt', PEM);
    const path = write('config', twoContexts);
    const { config, server, podNamespace, source } = load({ path });
    expect(server.href).to.equal('https://prod:6443/base');
    // kubectl uses the namespace of the kubeconfig's context as its default namespace. The manager's pod may run in a
    // different namespace.
    expect(podNamespace).to.equal(undefined);
    expect(source).to.equal(`kubeconfig ${path}`);
    expect(config.getCurrentCluster()?.caFile).to.equal(ca);
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    expect(options.headers).to.deep.equal({ Authorization: 'Bearer secret' });
    expect(Buffer.isBuffer(options.ca) && options.ca.toString()).to.equal(PEM);
  });

  it('reads another context than the current one, with its namespace', () => {
    const path = write('config', {
      ...twoContexts,
      contexts: [
        ...twoContexts.contexts,
        { name: 'other', context: { cluster: 'dev', user: 'ann', namespace: 'team' } },
      ],
    });
    expect(load({ path, context: 'other' }).contextNamespace).to.equal('team');
    expect(problemOf(() => load({ path, context: 'missing' }))).to.equal(
      `kubeconfig ${path}: there is no context "missing"; contexts are: dev, prod, other`,
    );
  });

  it('prefers inline data to the file of the same field, as kubectl does', async () => {
    const inline = PEM.replace('MIIB', 'MIIC');
    const data = Buffer.from(inline).toString('base64');
    const pair = (name: string) => ({ [name]: '/nonexistent/file', [`${name}-data`]: data });
    const { config } = loadFrom({
      ...withCluster({ server: 'https://prod:6443', ...pair('certificate-authority') }),
      users: [{ name: 'ann', user: { ...pair('client-certificate'), ...pair('client-key') } }],
    });
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    for (const material of [options.ca, options.cert, options.key]) expect(material).to.deep.equal(Buffer.from(inline));
  });

  it('accepts a kubeconfig from a Secret unless it runs a program or reads a local file', () => {
    const received = (content: unknown) => ({
      received: { path: 'in Secret default/prod-kubeconfig', text: stringify(content) },
    });
    const path = write('config', twoContexts);
    expect(load({ path, ...received(withUser({ token: 'secret' })) }).server.href).to.equal('https://prod:6443/');
    const refused = (content: unknown) => problemOf(() => load(received(content)));
    const problem = (field: string, name: string) =>
      `kubeconfig in Secret default/prod-kubeconfig: ${field} of "${name}" is not used, because it is about the local machine`;
    for (const field of ['exec', 'auth-provider', 'tokenFile', 'client-certificate', 'client-key'])
      expect(refused(withUser({ token: 'secret', [field]: {} }))).to.equal(problem(field, 'ann'));
    const cluster = { server: 'https://prod:6443', 'certificate-authority': '/etc/passwd' };
    expect(refused(withCluster(cluster))).to.equal(problem('certificate-authority', 'prod'));
  });

  it('looks for --kubeconfig, KUBECONFIG, the pod and the home directory in this order', () => {
    const named = (server: string) => ({ ...withCluster({ server }) });
    const path = write('flag', named('https://flag'));
    const KUBECONFIG = write('env', named('https://env'));
    write('home/.kube/config', named('https://home'));
    write('sa/token', 'token');
    write('sa/ca.crt', PEM);
    const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
    const hostOf = (options: Partial<KubeconfigOptions>) => load(options).server.hostname;
    expect(hostOf({ path, env: { KUBECONFIG, ...pod } })).to.equal('flag');
    expect(hostOf({ path: '', env: { KUBECONFIG, ...pod } })).to.equal('env');
    expect(hostOf({ env: { KUBECONFIG: '', ...pod } })).to.equal('10.0.0.1');
    expect(hostOf({})).to.equal('home');
  });

  it('merges the files of KUBECONFIG: the first entry of a name wins, and missing files are ignored', () => {
    const first = write('a/one', {
      contexts: [{ name: 'prod', context: { cluster: 'prod', user: 'ann' } }],
      clusters: [{ name: 'prod', cluster: { server: 'https://first', 'certificate-authority': 'ca.crt' } }],
    });
    write('a/ca.crt', PEM);
    const second = write('b/two', {
      ...twoContexts,
      clusters: [{ name: 'prod', cluster: { server: 'https://second' } }],
    });
    const env = { KUBECONFIG: ['/nowhere', first, second].join(delimiter) };
    const { server, config } = load({ env });
    expect(server.hostname).to.equal('first');
    expect(config.getCurrentCluster()?.caFile).to.equal(join(dir, 'a/ca.crt'));
    expect(config.getCurrentUser()?.token).to.equal('secret');
  });

  it('reads the service account of a pod, IPv6 included', () => {
    write('sa/token', 'token');
    write('sa/ca.crt', PEM);
    write('sa/namespace', 'example-system\n');
    const { server, podNamespace } = load({
      env: { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' },
    });
    expect(server.href).to.equal('https://[fd00::1]:6443/');
    expect(podNamespace).to.equal('example-system');
  });

  it('reads the namespace of a pod without a namespace file from POD_NAMESPACE, and ignores that outside a pod', () => {
    write('sa/token', 'token');
    write('sa/ca.crt', PEM);
    const env = { POD_NAMESPACE: 'from-env' };
    expect(load({ env: { ...env, KUBERNETES_SERVICE_HOST: '10.0.0.1' } }).podNamespace).to.equal('from-env');
    const path = write('config', withCluster({ server: 'https://prod' }));
    expect(load({ path, env: { ...env, KUBERNETES_SERVICE_HOST: '10.0.0.1' } }).podNamespace).to.equal(undefined);
  });

  it('uses the proxy of the environment, except for servers in NO_PROXY; a proxy-url has priority', () => {
    const env = { HTTPS_PROXY: 'proxy:3128', NO_PROXY: '.internal,10.96.0.0/12' };
    const proxyOf = (cluster: object) => load({ path: write('config', withCluster(cluster)), env }).proxy?.href;
    expect(proxyOf({ server: 'https://prod' })).to.equal('http://proxy:3128/');
    expect(proxyOf({ server: 'https://api.internal' })).to.equal(undefined);
    expect(proxyOf({ server: 'https://api.internal', 'proxy-url': 'http://other' })).to.equal('http://other/');
    write('sa/token', 'token');
    write('sa/ca.crt', PEM);
    const pod = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };
    expect(load({ env: { ...env, ...pod } }).proxy).to.equal(undefined);
    expect(load({ env: { ...env, ...pod, NO_PROXY: '' } }).proxy?.href).to.equal('http://proxy:3128/');
  });

  it('reports a proxy of the environment that it does not support, without its password', () => {
    const path = write('config', withCluster({ server: 'https://prod' }));
    expect(problemOf(() => load({ path, env: { HTTPS_PROXY: 'socks5://ann:secret@proxy' } }))).to.equal(
      'the environment variable HTTPS_PROXY is not a URL of http or https, such as http://proxy.example.com:3128',
    );
  });

  it('accepts an anonymous user, and mistakes in entries that are not used', () => {
    const config = {
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'c' } }, { context: {} }, 7],
      clusters: [{ name: 'c', cluster: { server: 'https://c' } }, { name: 'broken' }],
    };
    expect(loadFrom(config).server.hostname).to.equal('c');
  });

  const ofCluster = (problem: string, cluster: object): [unknown, string] => [
    withCluster(cluster),
    `cluster "prod": ${problem}`,
  ];
  const ofServer = (problem: string, server: string): [unknown, string] => ofCluster(`server ${problem}`, { server });
  const ofProxy = (url: string): [unknown, string] =>
    ofCluster('proxy-url is not a URL of http or https, such as http://proxy.example.com:3128', {
      server: 'https://prod',
      'proxy-url': url,
    });
  const ofUser = (problem: string, user: object): [unknown, string] => [withUser(user), `user "ann": ${problem}`];
  const plain = 'is not encrypted; insecure-skip-tls-verify: true would allow that';
  const wrong: Readonly<Record<string, readonly [unknown, string | RegExp]>> = {
    YAML: ['a: [1', /^not YAML: .* at line 1, column \d+$/],
    'YAML, without the text at the mistake': [
      'users:\n  - user:\n      token: |hunter2',
      'not YAML: Block scalar header includes extra characters at line 3, column 15',
    ],
    'an alias without an anchor': ['a: *b', 'not YAML: Unresolved alias (the anchor must be set before the alias)'],
    'aliases that multiply its size': [
      `a: &a [x]\nb: [${Array.from({ length: 101 }, () => '*a').join()}]`,
      'not YAML: Excessive alias count indicates a resource exhaustion attack',
    ],
    'no map': ['- a', 'not a kubeconfig: expected a map at the top'],
    'an empty file': ['', 'not a kubeconfig: expected a map at the top'],
    'lists that are none': [{ ...twoContexts, contexts: {} }, 'contexts is not a list'],
    'no current context': [
      { ...twoContexts, 'current-context': '' },
      'current-context is not set; contexts are: dev, prod',
    ],
    'an unknown context': [
      { ...twoContexts, 'current-context': 'x' },
      'current-context "x" names no context; contexts are: dev, prod',
    ],
    'no contexts': [{ 'current-context': 'x' }, 'current-context "x" names no context; contexts are: (none)'],
    'an unknown cluster': [
      { ...twoContexts, clusters: twoContexts.clusters.slice(0, 1) },
      'context "prod" names the cluster "prod", which is not there; clusters are: dev',
    ],
    'an unknown user': [
      { ...twoContexts, users: [{ name: 'bob', user: {} }] },
      'context "prod" names the user "ann", which is not there; users are: bob',
    ],
    'no server': ofCluster('server is missing', {}),
    'a server that is no URL': ofServer('is not a URL of http or https, such as https://10.0.0.1:6443', 'prod:6443'),
    'plain HTTP, without a password': ofServer(plain, 'http://ann:secret@prod'),
    'an unreadable CA': ofCluster('certificate-authority /nowhere/ca.crt cannot be read: ENOENT', {
      server: 'https://prod',
      'certificate-authority': '/nowhere/ca.crt',
    }),
    'a CA that is none': ofCluster('certificate-authority-data is not PEM in base64', {
      server: 'https://prod',
      'certificate-authority-data': 'AAAA',
    }),
    'a SOCKS proxy, without its password': ofProxy('socks5://ann:p@ss/word@proxy:1080'),
    'a proxy without a scheme, without its password': ofProxy('ann:secret@proxy:1080'),
    'an unreadable client key': ofUser('client-key /nowhere/key cannot be read: ENOENT', {
      'client-key': '/nowhere/key',
    }),
    'an exec plugin that needs a terminal': ofUser(
      'the exec plugin has interactiveMode Always, but the manager has no terminal',
      { exec: { command: 'login', interactiveMode: 'Always' } },
    ),
    'an auth provider of a cloud': ofUser(
      'the auth-provider "azure" is not supported, as in kubectl; use an exec plugin instead',
      { 'auth-provider': { name: 'azure', config: { 'cmd-path': 'az', 'cmd-args': '--secret=hunter2' } } },
    ),
    'impersonation that would be lost': ofUser('as-groups is not supported', { 'as-groups': ['x'] }),
  };
  for (const [what, [content, problem]] of Object.entries(wrong))
    it(`reports ${what}`, () => {
      const prefix = `kubeconfig ${join(dir, 'config')}: `;
      const message = problemOf(() => loadFrom(content));
      expect(message.slice(0, prefix.length)).to.equal(prefix);
      const rest = message.slice(prefix.length);
      if (typeof problem === 'string') expect(rest).to.equal(problem);
      else expect(rest).to.match(problem);
    });

  it('reports which file is missing or unreadable, and where it looked', () => {
    expect(problemOf(() => load({ path: '/nowhere' }))).to.equal('kubeconfig /nowhere: no such file');
    expect(problemOf(() => load({ path: dir }))).to.equal(`kubeconfig ${dir}: cannot be read: EISDIR`);
    expect(problemOf(() => load({ env: { KUBECONFIG: ['/a', '/b'].join(delimiter) } }))).to.equal(
      'kubeconfig /a, /b: no such file (named by the environment variable KUBECONFIG)',
    );
    expect(problemOf(() => load({}))).to.equal(
      `no API server is configured: there is no --kubeconfig, no KUBECONFIG, no ${join(dir, 'home/.kube/config')}, and this is no pod`,
    );
    expect(problemOf(() => load({ env: { KUBERNETES_SERVICE_HOST: '10.0.0.1' } }))).to.equal(
      `the pod's service account: ${join(dir, 'sa/token')} is missing though KUBERNETES_SERVICE_HOST is set: ` +
        'is automountServiceAccountToken off?',
    );
  });
});
