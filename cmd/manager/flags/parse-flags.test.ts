import { readFileSync } from 'node:fs';
import { getCiphers } from 'node:tls';
import { isLeft, left } from 'fp-ts/lib/Either.js';
import { expect } from 'chai';
import { SUITES } from 'controller-runtime/http';
import { FLAGS, type Flag } from './flags.ts';
import { parseFlags, type ManagerFlags } from './parse-flags.ts';

/** Invalid command lines of the manager, each with its error message. */
const INVALID_COMMAND_LINES: readonly (readonly [args: readonly string[], message: string])[] = [
  [['--no-such-flag=1'], "Unknown option '--no-such-flag'. --help lists the flags"],
  [['--leader-elect=yes'], '--leader-elect: "yes" is neither true nor false; use one of true, false'],
  [['start'], "Unexpected argument 'start'. --help lists the flags"],
  [['--sync-period'], "Option '--sync-period <value>' argument missing. --help lists the flags"],
  [['--sync-period', '10'], '--sync-period: "10" is not a duration above zero; write it like 30s, 10m or 1h30m'],
  [['--sync-period=0s'], '--sync-period: "0s" is not a duration above zero; write it like 30s, 10m or 1h30m'],
  [['--sync-period=-5s'], '--sync-period: "-5s" is not a duration above zero; write it like 30s, 10m or 1h30m'],
  [['--sync-period', ''], '--sync-period: "" is not a duration above zero; write it like 30s, 10m or 1h30m'],
  [
    ['--v', 'NaN'],
    '--v: "NaN" is not a whole number from 0 up. In a release, the variable CAPAF_LOGLEVEL sets this flag',
  ],
  [['--v=1.5'], '--v: "1.5" is not a whole number from 0 up. In a release, the variable CAPAF_LOGLEVEL sets this flag'],
  [['--awsfargateprofile-concurrency', '0'], '--awsfargateprofile-concurrency: "0" is not a whole number from 1 up'],
  [
    ['--namespace', 'Not_A_Name'],
    '--namespace: "Not_A_Name" is not the name of a namespace; use lower-case letters, digits, and hyphens',
  ],
  [
    ['--namespace', '../secrets'],
    '--namespace: "../secrets" is not the name of a namespace; use lower-case letters, digits, and hyphens',
  ],
  [
    ['--health-addr', 'nine'],
    '--health-addr: "nine" is no address; write ":9440", "127.0.0.1:9440", "[::1]:9440" or "0" for none',
  ],
  [
    ['--diagnostics-address', ':99999'],
    '--diagnostics-address: ":99999" is no address; write ":9440", "127.0.0.1:9440", "[::1]:9440" or "0" for none. In a release, the variable CAPAF_DIAGNOSTICS_ADDRESS sets this flag',
  ],
  [
    ['--require-permissions-boundary', 'bound'],
    '--require-permissions-boundary: "bound" is not the ARN of a policy; write it like arn:aws:iam::123456789012:policy/name, or like arn:aws:iam::*:policy/name for the account of each EKS cluster',
  ],
  [
    ['--allow-role-arn=arn:aws:iam::123456789012:policy/x'],
    '--allow-role-arn: "arn:aws:iam::123456789012:policy/x" is not a pattern for ARNs; write it like arn:aws:iam::123456789012:role/pods/* or none',
  ],
  [
    ['--allow-policy-arn=arn:aws:iam::aws:policy/x', '--allow-policy-arn='],
    '--allow-policy-arn: "" is not a pattern for ARNs; write it like arn:aws:iam::123456789012:policy/pods/* or none',
  ],
  [['--logging-format', 'xml'], '--logging-format: "xml" is not a format; use text or json'],
  [
    ['--service-endpoints', 'us-east-1:eks=ftp://x'],
    '--service-endpoints: the endpoint of eks in us-east-1 is not an http or https URL',
  ],
  [
    ['--leader-elect', '--leader-elect-lease-duration', '5s'],
    '--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline',
  ],
  [
    // prettier-ignore
    ['--leader-elect', '--leader-elect-lease-duration', '2s', '--leader-elect-renew-deadline', '1s', '--leader-elect-retry-period', '200ms'],
    '--leader-elect-lease-duration must be greater than --leader-elect-retry-period plus 2s: the leader changes nothing in AWS in the last 2s of a lease',
  ],
];

/** The names of all flags. A Deployment sets flags by these names, so a new release must not rename or remove a flag. */
const NAMES = [
  'kubeconfig',
  'namespace',
  'watch-filter',
  'sync-period',
  'awsfargateprofile-concurrency',
  'max-concurrent-reconciles',
  'require-permissions-boundary',
  'allow-role-arn',
  'allow-policy-arn',
  'allow-eks-cluster',
  'manage-crd',
  'instance-groups',
  'leader-elect',
  'leader-elect-lease-duration',
  'leader-elect-renew-deadline',
  'leader-elect-retry-period',
  'leader-elect-namespace',
  'leader-election-id',
  'manager-namespace',
  'static-identity-namespace',
  'health-addr',
  'diagnostics-address',
  'insecure-diagnostics',
  'metrics-cert-path',
  'metrics-cert-name',
  'metrics-cert-key',
  'tls-min-version',
  'tls-cipher-suites',
  'logging-format',
  'v',
  'service-endpoints',
  'version',
  'help',
];

function flagsOf(...args: readonly string[]): ManagerFlags {
  const parsed = parseFlags(args);
  if (isLeft(parsed)) return expect.fail(parsed.left);
  return parsed.right.kind === 'run' ? parsed.right.flags : expect.fail(parsed.right.kind);
}

describe('parseFlags', () => {
  // If a flag is repeated, the last value counts. So a patch of the Deployment can override a flag by appending an
  // argument.
  for (const [args, isElected] of [
    [[], false],
    [['--leader-elect'], true],
    [['--leader-elect', '--leader-elect=false'], false],
    [['--leader-elect=false', '--leader-elect'], true],
  ] as const)
    it(`uses the last value of a switch: ${args.join(' ') || 'no argument'}`, () => {
      expect(flagsOf(...args).election !== undefined).to.equal(isElected);
    });

  it('reads the values of switches like Go', () => {
    for (const value of ['1', 't', 'T', 'TRUE', 'true', 'True'])
      expect(flagsOf(`--leader-elect=${value}`).election, value).not.to.equal(undefined);
    for (const value of ['0', 'f', 'F', 'FALSE', 'false', 'False'])
      expect(flagsOf('--leader-elect', `--leader-elect=${value}`).election, value).to.equal(undefined);
    for (const value of ['', 'yes', 'tRUE'])
      expect(isLeft(parseFlags([`--leader-elect=${value}`])), value).to.equal(true);
  });

  it('accepts only true and false for a switch that a variable of a release sets', () => {
    expect(flagsOf('--manage-crd=true').managesCrd).to.equal(true);
    expect(flagsOf('--manage-crd', '--manage-crd=false').managesCrd).to.equal(false);
    for (const value of ['1', 't', 'T', 'TRUE', 'True', '0', 'F'])
      expect(parseFlags([`--manage-crd=${value}`]), value).to.deep.equal(
        left(
          `--manage-crd: "${value}" is neither true nor false; use one of true, false. In a release, the variable CAPAF_MANAGE_CRD sets this flag`,
        ),
      );
  });

  it('knows which variables of a release set which flags', () => {
    const release = readFileSync(new URL('../../../config/release/kustomization.yaml', import.meta.url), 'utf8');
    const inRelease = [...release.matchAll(/--([a-z-]+)=\$\{(\w+)/g)].map(
      ([, name, variable]) => `${name} ${variable}`,
    );
    const inTable = (FLAGS as readonly Flag[]).flatMap(({ name, variable }) =>
      variable === undefined ? [] : [`${name} ${variable}`],
    );
    expect(inTable).to.have.members(inRelease);
  });

  it('reads long flags with one hyphen, as Go does', () => {
    expect(flagsOf('-sync-period=2m', '-v=4')).to.include({ resync: 120_000, verbosity: 4 });
    expect(flagsOf('-leader-elect=true').election).not.to.equal(undefined);
    expect(flagsOf('-namespace', 'team-a').namespace).to.equal('team-a');
    expect(flagsOf('-v', '4').verbosity).to.equal(4);
  });

  it('accepts every argument that the customiser of cluster-api-operator adds', () => {
    const flags = flagsOf(
      '--leader-elect=true',
      '--leader-elect-lease-duration=15s',
      '--leader-elect-renew-deadline=10s',
      '--leader-elect-retry-period=2s',
      '--leader-election-id=capaf-system/lease',
      '--max-concurrent-reconciles=7',
      '--namespace=team-a',
      '--health-addr=:9440',
      '--metrics-bind-addr=:8080',
      '--diagnostics-address=:8443',
      '--insecure-diagnostics=true',
      '--webhook-host=0.0.0.0',
      '--webhook-port=9443',
      '--webhook-cert-dir=/certs',
      '--profiler-address=:6060',
      '--sync-period=600s',
      '--v=5',
      '--feature-gates=A=true,B=false',
    );
    expect(flags).to.include({ concurrency: 7, namespace: 'team-a', resync: 600_000, verbosity: 5 });
    expect(flags.election).to.include({ namespace: 'capaf-system', leaseName: 'lease' });
    expect(flags.ignored).to.have.members([
      'metrics-bind-addr',
      'webhook-host',
      'webhook-port',
      'webhook-cert-dir',
      'profiler-address',
      'feature-gates',
    ]);
    expect(flagsOf('--max-concurrent-reconciles=7', '--awsfargateprofile-concurrency=3').concurrency).to.equal(3);
    expect(flagsOf()).to.deep.include({ concurrency: 10, ignored: [] });
  });

  it('accepts the flags that all managers of Cluster API have', () => {
    expect(
      flagsOf(
        '--enable-contention-profiling=true',
        '--kube-api-qps=100',
        '--kube-api-burst=200',
        '--tls-curve-preferences=29,23',
        '--log-flush-frequency=5s',
        '--log-json-split-stream=false',
        '--vmodule=a=1',
        '--webhook-cert-name=tls.crt',
        '--webhook-key-name=tls.key',
        '--webhook-port=1',
        '--webhook-port=2',
      ).ignored,
    ).to.have.length(10);
  });

  it('keeps the name of every flag', () => {
    expect(FLAGS.map(({ name }) => name)).to.have.members(NAMES);
  });

  it('reads the namespace of each purpose from its own flag', () => {
    const { managerNamespace, staticIdentityNamespace } = flagsOf(
      '--manager-namespace=capaf-system',
      '--static-identity-namespace=capa-system',
    );
    expect({ managerNamespace, staticIdentityNamespace }).to.deep.equal({
      managerNamespace: 'capaf-system',
      staticIdentityNamespace: 'capa-system',
    });
  });

  for (const [args, message] of INVALID_COMMAND_LINES)
    it(`refuses ${args.join(' ')}`, () => {
      expect(parseFlags(args)).to.deep.equal(left(message));
    });

  it('leaves off what an operator must ask for, and limits nothing by default', () => {
    expect(flagsOf()).to.deep.include({ managesCrd: false, limits: {} });
  });

  it('makes nothing of InstanceGroups without --instance-groups, which needs --allow-eks-cluster', () => {
    const allowed = '--allow-eks-cluster=team-a=123456789012/eu-west-1/*';
    expect(flagsOf(allowed).reconcilesInstanceGroups).to.equal(false);
    expect(flagsOf('--instance-groups', allowed).reconcilesInstanceGroups).to.equal(true);
    for (const args of [['--instance-groups'], ['--instance-groups', '--allow-eks-cluster=none']]) {
      const refused = parseFlags(args);
      expect(isLeft(refused) && refused.left).to.match(/^--instance-groups needs --allow-eks-cluster, which lists/);
    }
  });

  it('uses all values of the flags that limit what objects may name', () => {
    const roles = ['arn:aws:iam::*:role/pods/*', 'arn:*:iam::111122223333:role/w?b'];
    const boundary = 'arn:aws:iam::*:policy/teams/bound';
    const given = [
      ...roles.map((pattern) => `--allow-role-arn=${pattern}`),
      '--allow-policy-arn=none',
      `--require-permissions-boundary=${boundary}`,
    ];
    expect(flagsOf(...given).limits).to.deep.equal({
      roleArns: roles,
      policyArns: ['none'],
      permissionsBoundary: boundary,
    });
  });

  it('reads which EKS clusters a namespace may name', () => {
    const given = [
      '--allow-eks-cluster=team-*=123456789012/eu-west-1/t?ols-*',
      '--allow-eks-cluster=b=210987654321/us-gov-west-1/B_1',
    ];
    const patterns = given.map((flag) => flag.replace(/^.*?=/, ''));
    for (const args of [given, [`--allow-eks-cluster=${patterns.join(', ')}`], ['--allow-eks-cluster=none', ...given]])
      expect(flagsOf(...args).limits, args.join(' ')).to.deep.equal({
        eksClusters: [
          { namespace: 'team-*', account: '123456789012', region: 'eu-west-1', name: 't?ols-*' },
          { namespace: 'b', account: '210987654321', region: 'us-gov-west-1', name: 'B_1' },
        ],
      });
  });

  for (const value of [
    '',
    'tools',
    'a=tools',
    'a=123/eu-west-1/x',
    'a=123456789012/*/x',
    '=123456789012/eu-west-1/x',
    'a=123456789012/eu-west-1/',
  ])
    it(`refuses EKS clusters that are not written as namespace=account/region/name: ${JSON.stringify(value)}`, () => {
      expect(parseFlags([`--allow-eks-cluster=${value}`])).to.deep.equal(
        left(
          `--allow-eks-cluster: "${value}" does not say which EKS clusters a namespace may use; write it like <namespace>=<account>/<region>/<EKS cluster>, for example team-a=123456789012/eu-west-1/team-a-*. In a release, the variable CAPAF_ALLOW_EKS_CLUSTERS sets this flag`,
        ),
      );
    });

  it('uses the last value of a flag, also for --insecure-diagnostics', () => {
    expect(flagsOf('--sync-period=1m', '--sync-period', '2m').resync).to.equal(120_000);
    const open = ['--diagnostics-address=:8080', '--insecure-diagnostics'];
    expect(flagsOf(...open).diagnostics).to.deep.equal({ address: { port: 8080 } });
    expect(flagsOf(...open, '--insecure-diagnostics=false').diagnostics).to.have.keys('address', 'tls');
  });

  it('serves diagnostics with TLS 1.2 and a self-signed certificate on port 8443 by default, as Cluster API', () => {
    expect(flagsOf().diagnostics).to.deep.equal({
      address: { port: 8443 },
      tls: { settings: { minVersion: 'TLSv1.2' } },
    });
    expect(flagsOf('--diagnostics-address=0').diagnostics).to.equal(undefined);
    expect(flagsOf('--metrics-cert-path=/certs', '--metrics-cert-key=k').diagnostics?.tls?.files).to.deep.equal({
      cert: '/certs/tls.crt',
      key: '/certs/k',
    });
  });

  it('reads TLS versions and cipher suites by their names in Go', () => {
    const suites = 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256, TLS_RSA_WITH_AES_128_CBC_SHA';
    const flags = flagsOf('--tls-min-version=VersionTLS13', `--tls-cipher-suites=${suites}`);
    expect(flags.diagnostics?.tls?.settings).to.deep.equal({
      minVersion: 'TLSv1.3',
      ciphers:
        'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256:AES128-SHA',
    });
    expect(parseFlags(['--tls-min-version=TLS1.2'])).to.deep.equal(
      left(
        '--tls-min-version: "TLS1.2" is not a version; use one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13',
      ),
    );
    expect(parseFlags(['--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA'])).to.deep.equal(
      left('--tls-cipher-suites: "TLS_RSA_WITH_RC4_128_SHA" is not a cipher suite that OpenSSL has under a name of Go'),
    );
  });

  it('knows an OpenSSL name for each cipher suite of Go', () => {
    for (const suite of SUITES.keys())
      expect(isLeft(parseFlags([`--tls-cipher-suites=${suite}`])), suite).to.equal(false);
    expect(getCiphers()).to.include.members(Array.from(SUITES.values(), (name) => name.toLowerCase()));
  });
});
