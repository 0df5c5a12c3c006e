import { DEFAULT_TIMINGS } from 'controller-runtime/election';
import type { Ms } from 'controller-runtime/env';
import { DIAGNOSTICS_FLAGS } from './diagnostics-flags.ts';
import { LIMIT_FLAGS } from './operator-limit-flags.ts';

/** Most concurrency flags of Cluster API's managers have this default. */
export const DEFAULT_CONCURRENCY = 10;

const seconds = (span: Ms): string => `${span / 1_000}s`;

/** Flags that Cluster API's managers also have use the same names and defaults, so that users can reuse manifests. */
export const FLAGS = [
  {
    name: 'kubeconfig',
    value: 'FILE',
    help: "Kubeconfig file. Default: the file in KUBECONFIG, then the pod's service account, then ~/.kube/config",
  },
  { name: 'namespace', value: 'NAME', help: 'Reconcile only objects in this namespace. Default: all namespaces' },
  {
    name: 'watch-filter',
    value: 'VALUE',
    help: 'Reconcile only objects whose label cluster.x-k8s.io/watch-filter has this value. Default: all objects',
  },
  {
    name: 'sync-period',
    value: 'DURATION',
    default: '10m',
    help: 'How often each object is compared with AWS while nothing changes',
  },
  {
    name: 'awsfargateprofile-concurrency',
    value: 'N',
    help: `Number of objects of one namespace, AWS region and identity that are reconciled at the same time (default ${DEFAULT_CONCURRENCY}); of a namespace at most 4 times as many, of all 40 times as many`,
  },
  {
    name: 'max-concurrent-reconciles',
    value: 'N',
    help: 'Same as --awsfargateprofile-concurrency, which takes precedence; cluster-api-operator sets this flag',
  },
  ...LIMIT_FLAGS,
  {
    name: 'manage-crd',
    variable: 'CAPAF_MANAGE_CRD',
    help: "Alongside Cluster API Provider AWS: reapply this provider's CRD when another CRD replaces it, and remove CAPA's two webhooks for AWSFargateProfiles, unless CAPA answers them. Requires config/components/crd-keeper",
  },
  {
    name: 'instance-groups',
    variable: 'CAPAF_INSTANCE_GROUPS',
    help: 'Create an AWSFargateProfile for each keiko InstanceGroup (instancemgr.keikoproj.io) whose provisioner is eks-fargate. Requires --allow-eks-cluster',
  },
  { name: 'leader-elect', help: 'Elect a leader with a Lease. Required with more than one replica' },
  {
    name: 'leader-elect-lease-duration',
    value: 'DURATION',
    default: seconds(DEFAULT_TIMINGS.leaseDuration),
    help: 'Time after which another manager takes over a Lease that the leader has not renewed',
  },
  {
    name: 'leader-elect-renew-deadline',
    value: 'DURATION',
    default: seconds(DEFAULT_TIMINGS.renewDeadline),
    help: 'Time during which the leader tries to renew the Lease before it exits',
  },
  {
    name: 'leader-elect-retry-period',
    value: 'DURATION',
    default: seconds(DEFAULT_TIMINGS.retryPeriod),
    help: 'Time between two attempts to acquire or renew the Lease',
  },
  {
    name: 'leader-elect-namespace',
    value: 'NAME',
    help: "Namespace of the Lease. Default: the manager's namespace",
  },
  {
    name: 'leader-election-id',
    value: '[NAMESPACE/]NAME',
    help: 'Name of the Lease. Default: capaf-leader-election with the values of --namespace and --watch-filter, so that managers of different objects use different Leases',
  },
  {
    name: 'manager-namespace',
    value: 'NAME',
    help: "Namespace of this manager, which contains its Lease and the Secrets of AWSClusterStaticIdentities. Default: the pod's namespace. Required outside a pod",
  },
  {
    name: 'static-identity-namespace',
    value: 'NAME',
    help: "Namespace of the Secrets of AWSClusterStaticIdentities, e.g. capa-system to share them with Cluster API Provider AWS. Default: the manager's namespace",
  },
  {
    name: 'health-addr',
    value: 'ADDRESS',
    default: ':9440',
    help: 'Address of /healthz and /readyz; 0: not served',
  },
  ...DIAGNOSTICS_FLAGS,
  { name: 'logging-format', value: 'text|json', default: 'text', help: 'Log format' },
  {
    name: 'v',
    short: 'v',
    value: 'N',
    default: '0',
    variable: 'CAPAF_LOGLEVEL',
    help: 'Log verbosity; at 4 and above, the manager logs each AWS call and each reconcile',
  },
  {
    name: 'service-endpoints',
    value: 'LIST',
    default: '',
    help: 'Custom AWS endpoints, as in Cluster API Provider AWS: ${Region}:${Service}=${URL},…;${Region}:…',
  },
  { name: 'version', help: 'Print the version and exit' },
  { name: 'help', short: 'h', help: 'Print this text and exit' },
] as const satisfies readonly Flag[];

export type FlagName = (typeof FLAGS)[number]['name'];

export function helpText(): string {
  const entries = (FLAGS as readonly Flag[]).map((flag) => {
    const value = flag.value === undefined ? '' : ` ${flag.value}`;
    const short = flag.short === undefined || flag.short === flag.name ? '' : `-${flag.short}, `;
    const standard = flag.default === undefined || flag.default === '' ? '' : ` (default ${flag.default})`;
    return `  ${short}--${flag.name}${value}\n        ${flag.help}${standard}`;
  });
  const ignored = IGNORED_FLAGS.map(({ name }) => `--${name}`).join(', ');
  return `Usage: manager [flags]\n\nCluster API infrastructure provider for EKS Fargate profiles.\n\n${entries.join('\n')}\n\nIgnored flags of other Cluster API managers: ${ignored}\n`;
}

/** A flag without `value` is a switch. */
export interface Flag {
  readonly name: string;
  readonly value?: string;
  readonly default?: string;
  readonly short?: string;
  readonly help: string;
  /** If the flag is repeated, all values count. Otherwise only the last one does. */
  readonly isList?: true;
  /** The clusterctl variable that sets this flag in a release (see config/release/kustomization.yaml). */
  readonly variable?: string;
}

/**
 * Flags of Cluster API's managers for features that this manager lacks (webhooks, feature gates, limits of API
 * requests, …). Manifests, cluster-api-operator, and scripts for all managers of a management cluster pass these flags.
 */
export const IGNORED_FLAGS: readonly Flag[] = [
  ...[
    'feature-gates',
    'kube-api-burst',
    'kube-api-qps',
    'log-flush-frequency',
    'log-json-info-buffer-size',
    'log-text-info-buffer-size',
    'metrics-bind-addr',
    'profiler-address',
    'tls-curve-preferences',
    'vmodule',
    'webhook-cert-dir',
    'webhook-cert-name',
    'webhook-host',
    'webhook-key-name',
    'webhook-port',
  ].map((name) => ({ name, value: 'VALUE', help: '' })),
  ...['enable-contention-profiling', 'log-json-split-stream', 'log-text-split-stream'].map((name) => ({
    name,
    help: '',
  })),
];
