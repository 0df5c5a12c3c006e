import type { Flag } from './flag.ts';

/**
 * Flags of Cluster API's managers that this manager accepts and ignores. For example, it has no webhooks, no feature
 * gates, no choice of TLS key exchanges, and no limit for its requests to the API server. But manifests,
 * cluster-api-operator, and scripts that set flags on all managers of a management cluster pass these flags.
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
