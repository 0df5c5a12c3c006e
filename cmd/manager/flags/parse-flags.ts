import { parseArgs } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import { type ElectionTimings, LEASE_SAFETY_MARGIN, validateTimings } from 'controller-runtime/election';
import { type Ms, parseDuration } from 'controller-runtime/env';
import { parseAddress } from 'controller-runtime/http';
import type { LoggingFormat } from 'controller-runtime/log';
import { parseServiceEndpoints, type ServiceEndpoint } from '../../../pkg/cloud/index.ts';
import { isLabelValue } from '../../../pkg/fargate/fargate-pods.ts';
import { parseDiagnostics } from './diagnostics-flags.ts';
import { DEFAULT_CONCURRENCY, FLAGS, IGNORED_FLAGS, type FlagName, type Flag } from './flags.ts';
import { parseLeaseId, type LeaseId } from '../lease-name.ts';
import { parseLimits } from './operator-limit-flags.ts';

export type ManagerFlags = ReturnType<typeof flagsOf>;

export type Command =
  { readonly kind: 'run'; readonly flags: ManagerFlags } | { readonly kind: 'help' } | { readonly kind: 'version' };

/** A Left is a message about the first mistake. */
export function parseFlags(args: readonly string[]): E.Either<string, Command> {
  try {
    const given = readArgs(args);
    if (given.isSet('help')) return E.right({ kind: 'help' });
    if (given.isSet('version')) return E.right({ kind: 'version' });
    return E.right({ kind: 'run', flags: flagsOf(given) });
  } catch (error) {
    if (error instanceof Error) return E.left(withVariable(error.message));
    throw error;
  }
}

/** Adds the flag's clusterctl variable to the message, because users who install a release set variables, not flags. */
function withVariable(message: string): string {
  const flag = ALL_FLAGS.find(({ name }) => message.startsWith(`--${name}: `));
  return flag?.variable === undefined
    ? message
    : `${message}. In a release, the variable ${flag.variable} sets this flag`;
}

type Text = (name: FlagName) => string;
type IsSet = (name: FlagName) => boolean;

interface GivenFlags {
  readonly text: Text;
  readonly texts: (name: FlagName) => readonly string[];
  readonly isSet: IsSet;
  readonly ignored: readonly string[];
}

const ALL_FLAGS: readonly Flag[] = [...FLAGS, ...IGNORED_FLAGS];

/** If a flag is repeated, its last value counts, as in Go. A flag with `isList` keeps all values. */
function readArgs(args: readonly string[]): GivenFlags {
  const options = Object.fromEntries(
    ALL_FLAGS.map(({ name, value, short, isList = false }) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        multiple: isList,
        ...(short !== undefined && { short }),
      },
    ]),
  );
  try {
    const { values } = parseArgs({
      args: args.map(toNodeForm),
      options,
      allowPositionals: false,
      allowNegative: true,
    });
    const text: Text = (name) => {
      const value = values[name];
      const flag: Flag | undefined = FLAGS.find((each) => each.name === name);
      return typeof value === 'string' ? value : (flag?.default ?? '');
    };
    const texts: GivenFlags['texts'] = (name) => {
      const value = values[name];
      return Array.isArray(value) ? value.map(String) : [];
    };
    const ignored = IGNORED_FLAGS.map(({ name }) => name).filter((name) => values[name] !== undefined);
    return { text, texts, isSet: (name) => values[name] === true, ignored };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Error(`${firstSentence(error.message)}. --help lists the flags`, { cause: error });
  }
}

/**
 * Rewrites Go's forms for parseArgs of Node.js: `--switch=true` → `--switch`, `--switch=0` → `--no-switch`, `-name=x` →
 * `--name=x`. @throws Error with one sentence if the value of a switch is neither true nor false
 */
function toNodeForm(arg: string): string {
  const [, name, , value] = /^--?([a-z][a-z-]*)(=(.*))?$/s.exec(arg) ?? [];
  const flag = ALL_FLAGS.find((each) => each.name === name);
  if (flag === undefined) return arg;
  if (flag.value !== undefined) return value === undefined ? `--${name}` : `--${name}=${value}`;
  // The RBAC rules of a release recognize only the exact value true of a variable.
  const [yes, no] = flag.variable === undefined ? [TRUE, FALSE] : [/^true$/, /^false$/];
  if (value === undefined || yes.test(value)) return `--${name}`;
  if (no.test(value)) return `--no-${name}`;
  throw new Error(`--${name}: "${value}" is neither true nor false; use one of true, false`);
}

/** Go's strconv.ParseBool accepts these texts. */
const TRUE = /^(1|t|T|TRUE|true|True)$/;
const FALSE = /^(0|f|F|FALSE|false|False)$/;

const firstSentence = (message: string): string => message.split('. ')[0] ?? message;

function flagsOf({ text, texts, isSet, ignored }: GivenFlags) {
  const timings: ElectionTimings = {
    leaseDuration: duration('leader-elect-lease-duration', text),
    renewDeadline: duration('leader-elect-renew-deadline', text),
    retryPeriod: duration('leader-elect-retry-period', text),
  };
  validateTimings(timings);
  // The leader must renew the lease before the safety margin begins.
  if (!(timings.leaseDuration > timings.retryPeriod + LEASE_SAFETY_MARGIN))
    throw new Error(
      `--leader-elect-lease-duration must be greater than --leader-elect-retry-period plus ${LEASE_SAFETY_MARGIN / 1000}s: the leader changes nothing in AWS in the last ${LEASE_SAFETY_MARGIN / 1000}s of a lease`,
    );
  const limits = parseLimits({
    boundary: text('require-permissions-boundary'),
    roles: texts('allow-role-arn'),
    policies: texts('allow-policy-arn'),
    eksClusters: texts('allow-eks-cluster'),
  });
  if (isSet('instance-groups') && limits.eksClusters === undefined)
    throw new Error(
      '--instance-groups needs --allow-eks-cluster, which lists the EKS clusters that InstanceGroups may name, for example --allow-eks-cluster=team-a=123456789012/eu-west-1/team-a-*',
    );
  const health = parseAddress('health-addr', text('health-addr'));
  const diagnostics = parseDiagnostics(text, isSet);
  const namespace = namespaceName('namespace', text);
  const lease = leaseId(text);
  const electionNamespace = namespaceName('leader-elect-namespace', text) ?? lease?.namespace;
  const managerNamespace = namespaceName('manager-namespace', text);
  const staticIdentityNamespace = namespaceName('static-identity-namespace', text);
  return {
    /** If undefined, the manager uses the files in KUBECONFIG, else the pod's service account, else ~/.kube/config. */
    ...(text('kubeconfig') !== '' && { kubeconfig: text('kubeconfig') }),
    ...(namespace !== undefined && { namespace }),
    ...(text('watch-filter') !== '' && { watchFilter: labelValue('watch-filter', text) }),
    resync: duration('sync-period', text),
    concurrency: concurrencyOf(text),
    limits,
    managesCrd: isSet('manage-crd'),
    reconcilesInstanceGroups: isSet('instance-groups'),
    /** If undefined, there is no election, and the manager acts as the leader. */
    ...(isSet('leader-elect') && {
      election: {
        timings,
        ...(electionNamespace !== undefined && { namespace: electionNamespace }),
        /** If undefined, the name is computed from --namespace and --watch-filter. */
        ...(lease !== undefined && { leaseName: lease.name }),
      },
    }),
    /** If undefined, the pod's namespace is used. */
    ...(managerNamespace !== undefined && { managerNamespace }),
    ...(staticIdentityNamespace !== undefined && { staticIdentityNamespace }),
    ...(health && { health }),
    ...(diagnostics && { diagnostics }),
    loggingFormat: loggingFormat(text('logging-format')),
    verbosity: wholeNumber('v', text, 0),
    /** Flags without effect, such as `webhook-port`. */
    ignored,
    serviceEndpoints: E.getOrElse<string, readonly ServiceEndpoint[]>((problem) => {
      throw new Error(`--service-endpoints: ${problem}`);
    })(parseServiceEndpoints(text('service-endpoints'))),
  };
}

/** A DNS label (RFC 1123). */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

function namespaceName(name: FlagName, text: Text): string | undefined {
  const value = text(name);
  if (value === '') return undefined;
  if (NAMESPACE.test(value)) return value;
  throw new Error(`--${name}: "${value}" is not the name of a namespace; use lower-case letters, digits, and hyphens`);
}

function leaseId(text: Text): LeaseId | undefined {
  const value = text('leader-election-id');
  if (value === '') return undefined;
  const id = parseLeaseId(value);
  if (id !== undefined) return id;
  throw new Error(
    `--leader-election-id: "${value}" is not the name of a Lease, nor NAMESPACE/NAME; use lower-case letters, digits, hyphens, and dots`,
  );
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

/** Requires a valid label value, because the API server would refuse any other in a label selector. */
function labelValue(name: FlagName, text: Text): string {
  if (isLabelValue(text(name))) return text(name);
  throw new Error(
    `--${name}: "${text(name)}" is not the value of a label; use up to 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit`,
  );
}

function concurrencyOf(text: Text): number {
  for (const name of ['awsfargateprofile-concurrency', 'max-concurrent-reconciles'] as const)
    if (text(name) !== '') return wholeNumber(name, text, 1);
  return DEFAULT_CONCURRENCY;
}

function loggingFormat(value: string): LoggingFormat {
  if (value === 'text' || value === 'json') return value;
  throw new Error(`--logging-format: "${value}" is not a format; use text or json`);
}
