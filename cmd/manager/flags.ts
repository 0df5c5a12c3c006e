import { parseArgs } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import { LEASE_MARGIN } from '../../controllers/awsfargateprofile/budget.ts';
import type { ServiceEndpoint } from '../../pkg/cloud/endpoints.ts';
import { parseServiceEndpoints } from '../../pkg/cloud/endpoints.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import type { LoggingFormat } from '../../pkg/env/winston-logger.ts';
import type { ListenAddress } from '../../pkg/runtime/address.ts';
import { onLoopback, parseAddress } from '../../pkg/runtime/address.ts';
import type { ElectionTimings } from '../../pkg/runtime/leader-election.ts';
import { checkTimings } from '../../pkg/runtime/leader-election.ts';
import { parseDuration } from './duration.ts';

/** What the command line asks of the manager; each value is checked. */
export interface ManagerFlags {
  /** Absent: KUBECONFIG, the pod's service account, or ~/.kube/config. */
  readonly kubeconfig?: string;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** Absent: all objects. */
  readonly watchFilter?: string;
  readonly resync: Ms;
  readonly concurrency: number;
  /** Absent: no election, this process leads. */
  readonly election?: { readonly timings: ElectionTimings; readonly namespace?: string };
  /** Absent: not served. */
  readonly health?: ListenAddress;
  readonly diagnostics?: ListenAddress;
  readonly loggingFormat: LoggingFormat;
  readonly verbosity: number;
  readonly serviceEndpoints: readonly ServiceEndpoint[];
}

export type Command =
  { readonly kind: 'run'; readonly flags: ManagerFlags } | { readonly kind: 'help' } | { readonly kind: 'version' };

interface Flag {
  readonly name: string;
  readonly value?: string;
  readonly default?: string;
  readonly short?: string;
  readonly words: string;
}

/** Names and defaults as Cluster API's managers have them, so that manifests and habits carry over. */
const FLAGS = [
  {
    name: 'kubeconfig',
    value: 'FILE',
    words: "Kubeconfig to use. Default: KUBECONFIG, then the pod's service account, then ~/.kube/config",
  },
  { name: 'namespace', value: 'NAME', words: 'Look after objects of this namespace alone. Default: all namespaces' },
  {
    name: 'watch-filter',
    value: 'VALUE',
    words: 'Look after objects alone whose label cluster.x-k8s.io/watch-filter has this value. Default: all objects',
  },
  { name: 'sync-period', value: 'DURATION', default: '10m', words: 'How often an object at rest is compared with AWS' },
  {
    name: 'awsfargateprofile-concurrency',
    value: 'N',
    default: '10',
    words: 'How many objects are worked on at the same time',
  },
  { name: 'leader-elect', words: 'Let one of several managers work, by a Lease; needed with more than one replica' },
  {
    name: 'leader-elect-lease-duration',
    value: 'DURATION',
    default: '15s',
    words: 'How long the others wait for a leader that does not renew',
  },
  {
    name: 'leader-elect-renew-deadline',
    value: 'DURATION',
    default: '10s',
    words: 'How long the leader tries to renew before it gives up',
  },
  { name: 'leader-elect-retry-period', value: 'DURATION', default: '2s', words: 'How long to wait between tries' },
  {
    name: 'leader-elect-namespace',
    value: 'NAME',
    words: "Where the Lease is. Default: the namespace of the pod or of the kubeconfig's context",
  },
  {
    name: 'health-addr',
    value: 'ADDRESS',
    default: ':9440',
    words: 'Where /healthz and /readyz are served; 0: nowhere',
  },
  {
    name: 'diagnostics-address',
    value: 'ADDRESS',
    default: '127.0.0.1:8443',
    words: 'Where /metrics is served, in plain HTTP and therefore on loopback alone; 0: nowhere',
  },
  { name: 'insecure-diagnostics', words: 'Serve /metrics in plain HTTP on any address' },
  { name: 'logging-format', value: 'text|json', default: 'text', words: 'Form of the log lines' },
  {
    name: 'v',
    short: 'v',
    value: 'N',
    default: '0',
    words: 'Verbosity; from 4 on each AWS call and each pass is logged',
  },
  {
    name: 'service-endpoints',
    value: 'LIST',
    default: '',
    words: 'Other endpoints of AWS: ${Region}:${Service}=${URL},…;${Region}:… as Cluster API Provider AWS takes them',
  },
  { name: 'version', words: 'Print the version and exit' },
  { name: 'help', short: 'h', words: 'Print this text and exit' },
] as const satisfies readonly Flag[];

type FlagName = (typeof FLAGS)[number]['name'];

/** Left: one sentence on what is wrong with the command line. */
export function parseFlags(args: readonly string[]): E.Either<string, Command> {
  const given = readArgs(args);
  if (E.isLeft(given)) return given;
  const { text, isSet } = given.right;
  if (isSet('help')) return E.right({ kind: 'help' });
  if (isSet('version')) return E.right({ kind: 'version' });
  // What is left are values: the first that is no good ends it.
  try {
    return E.right({ kind: 'run', flags: flagsOf(text, isSet) });
  } catch (error) {
    if (error instanceof Error) return E.left(error.message);
    throw error;
  }
}

export function helpText(): string {
  const entries = (FLAGS as readonly Flag[]).map((flag) => {
    const value = flag.value === undefined ? '' : ` ${flag.value}`;
    const short = flag.short === undefined || flag.short === flag.name ? '' : `-${flag.short}, `;
    const standard = flag.default === undefined || flag.default === '' ? '' : ` (default ${flag.default})`;
    return `  ${short}--${flag.name}${value}\n        ${flag.words}${standard}`;
  });
  return `Usage: manager [flags]\n\nCluster API infrastructure provider for EKS Fargate profiles.\n\n${entries.join('\n')}\n`;
}

type Text = (name: FlagName) => string;
type IsSet = (name: FlagName) => boolean;

function readArgs(args: readonly string[]): E.Either<string, { readonly text: Text; readonly isSet: IsSet }> {
  const options = Object.fromEntries(
    (FLAGS as readonly Flag[]).map(({ name, value, short }) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), ...(short !== undefined && { short }) },
    ]),
  );
  try {
    // Go's flag packages take --leader-elect=true; parseArgs takes no value for a switch.
    const { values } = parseArgs({
      args: args.map(withoutSwitchValue),
      options,
      allowPositionals: false,
      allowNegative: true,
    });
    const text: Text = (name) => {
      const value = values[name];
      const flag: Flag | undefined = FLAGS.find((each) => each.name === name);
      return typeof value === 'string' ? value : (flag?.default ?? '');
    };
    return E.right({ text, isSet: (name) => values[name] === true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return E.left(`${firstSentence(error.message)}. --help lists the flags`);
  }
}

/** `--switch=true` → `--switch`, `--switch=false` → `--no-switch`, of which the last counts; all else as it is. */
function withoutSwitchValue(arg: string): string {
  const [, name, value] = /^--?([a-z-]+)=(true|false)$/.exec(arg) ?? [];
  const isSwitch = (FLAGS as readonly Flag[]).some((flag) => flag.name === name && flag.value === undefined);
  if (!isSwitch) return arg.replace(/^-(v=\d+)$/, '--$1');
  return value === 'true' ? `--${name}` : `--no-${name}`;
}

const firstSentence = (message: string): string => message.split('. ')[0] ?? message;

function flagsOf(text: Text, isSet: IsSet): ManagerFlags {
  const timings: ElectionTimings = {
    leaseDuration: duration('leader-elect-lease-duration', text),
    renewDeadline: duration('leader-elect-renew-deadline', text),
    retryPeriod: duration('leader-elect-retry-period', text),
  };
  checkTimings(timings);
  // In its last moments a lease allows no change in AWS; one that is renewed too late for any would be held for nothing.
  if (!(timings.leaseDuration > timings.retryPeriod + LEASE_MARGIN))
    throw new Error(
      `--leader-elect-lease-duration must be greater than --leader-elect-retry-period and ${LEASE_MARGIN / 1000}s: so long before its end nothing is changed in AWS any more`,
    );
  const health = parseAddress('health-addr', text('health-addr'));
  const asked = parseAddress('diagnostics-address', text('diagnostics-address'));
  const diagnostics =
    asked === undefined || isSet('insecure-diagnostics')
      ? asked
      : onLoopback('diagnostics-address', asked, 'give --insecure-diagnostics');
  const namespace = namespaceName('namespace', text);
  const electionNamespace = namespaceName('leader-elect-namespace', text);
  return {
    ...(text('kubeconfig') !== '' && { kubeconfig: text('kubeconfig') }),
    ...(namespace !== undefined && { namespace }),
    ...(text('watch-filter') !== '' && { watchFilter: labelValue('watch-filter', text) }),
    resync: duration('sync-period', text),
    concurrency: wholeNumber('awsfargateprofile-concurrency', text, 1),
    ...(isSet('leader-elect') && {
      election: { timings, ...(electionNamespace !== undefined && { namespace: electionNamespace }) },
    }),
    ...(health && { health }),
    ...(diagnostics && { diagnostics }),
    loggingFormat: loggingFormat(text('logging-format')),
    verbosity: wholeNumber('v', text, 0),
    serviceEndpoints: E.getOrElse<string, readonly ServiceEndpoint[]>((problem) => {
      throw new Error(`--service-endpoints: ${problem}`);
    })(parseServiceEndpoints(text('service-endpoints'))),
  };
}

/** A DNS label, as the API server has it (RFC 1123). */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

function namespaceName(name: FlagName, text: Text): string | undefined {
  const value = text(name);
  if (value === '') return undefined;
  if (NAMESPACE.test(value)) return value;
  throw new Error(`--${name}: "${value}" is not the name of a namespace: lower-case letters, digits and hyphens`);
}

function duration(name: FlagName, text: Text): Ms {
  const span = parseDuration(text(name));
  if (span !== undefined && span > 0) return span;
  throw new Error(`--${name}: "${text(name)}" is not a duration above zero; write it like 30s, 10m or 1h30m`);
}

function wholeNumber(name: FlagName, text: Text, least: number): number {
  const value = Number(text(name));
  if (/^\d+$/.test(text(name)) && value >= least && Number.isSafeInteger(value)) return value;
  throw new Error(`--${name}: "${text(name)}" is not a whole number from ${least} up`);
}

/** What the API server would refuse in a selector is refused here, where it says why. */
function labelValue(name: FlagName, text: Text): string {
  if (/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(text(name))) return text(name);
  throw new Error(
    `--${name}: "${text(name)}" is no value of a label; it has up to 63 letters, digits, "-", "_" and ".", and begins and ends with a letter or digit`,
  );
}

function loggingFormat(value: string): LoggingFormat {
  if (value === 'text' || value === 'json') return value;
  throw new Error(`--logging-format: "${value}" is neither text nor json`);
}
