import { Counter, Gauge, Histogram, type Registry, exponentialBuckets } from 'prom-client';
import type { CountRequest } from '../client/transport.ts';
import type { Ms } from '../env/clock.ts';
import type { ReconcileResult } from '../controller/controller.ts';
import { notFound, type HttpHandler } from '../http/http-server.ts';
import type { Runnable } from '../manager/runnable.ts';

/** controller-runtime's buckets of `controller_runtime_reconcile_time_seconds` (pkg/internal/controller/metrics). */
const RECONCILE_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

/** The buckets that controller-runtime uses for workqueue histograms: 10 ns to 1000 s (pkg/metrics/workqueue.go). */
const QUEUE_SECONDS = exponentialBuckets(10e-9, 10, 12);

const RESULTS: readonly ReconcileResult[] = ['success', 'error', 'requeue', 'requeue_after'];

export type LeaderElectionMetrics = ReturnType<Metrics['leaderElection']>;

/** Metrics under the names of controller-runtime and client-go, so that existing dashboards work. */
export class Metrics {
  private readonly reconcile;
  private readonly queue;
  private readonly election;
  private readonly queues = new Map<string, QueueGauges>();

  constructor(registry: Registry) {
    this.reconcile = reconcileMetrics(registry);
    this.queue = queueMetrics(registry, this.queues);
    this.election = electionMetrics(registry);
  }

  controller(name: string) {
    const { total, errors, terminal, panics, time, workers, active } = this.reconcile;
    const labels = { controller: name };
    for (const result of RESULTS) total.inc({ ...labels, result }, 0);
    for (const counter of [errors, terminal, panics]) counter.inc(labels, 0);
    active.set(labels, 0);
    return {
      setMaxConcurrentReconciles: (max: number): void => workers.set(labels, max),
      addActiveWorkers: (by: 1 | -1): void => active.inc(labels, by),
      recordReconcile: (result: ReconcileResult, span: Ms): void => {
        total.inc({ ...labels, result });
        time.observe(labels, span / 1000);
      },
      recordError: (kind: 'retried' | 'terminal' | 'panic'): void => {
        errors.inc(labels);
        if (kind === 'terminal') terminal.inc(labels);
        if (kind === 'panic') panics.inc(labels);
      },
    };
  }

  workqueue(name: string) {
    const { adds, retries, queueDuration, workDuration } = this.queue;
    const labels = { name, controller: name };
    adds.inc(labels, 0);
    retries.inc(labels, 0);
    return {
      recordAdd: (): void => adds.inc(labels),
      recordRetry: (): void => retries.inc(labels),
      /** `span` is from when the key was ready until a worker took it. */
      recordQueueDuration: (span: Ms): void => queueDuration.observe(labels, span / 1000),
      recordWorkDuration: (span: Ms): void => workDuration.observe(labels, span / 1000),
      registerGauges: (queue: QueueGauges): void => void this.queues.set(name, queue),
    };
  }

  /** `name` is the name of the Lease. */
  leaderElection(name: string) {
    const { master, slowPaths } = this.election;
    master.set({ name }, 0);
    return {
      setLeading: (is: boolean): void => master.set({ name }, is ? 1 : 0),
      /** Counts a renewal in which the leader had to read the Lease, because it had changed or was deleted. */
      recordSlowPath: (): void => slowPaths.inc({ name }),
    };
  }
}

function metricsWith<Label extends string>(registry: Registry, labelNames: readonly Label[]) {
  const common = (name: string, help: string) => ({ name, help, labelNames, registers: [registry] });
  return {
    counter: (name: string, help: string) => new Counter(common(name, help)),
    gauge: (name: string, help: string) => new Gauge(common(name, help)),
    histogram: (name: string, help: string, buckets: number[]) => new Histogram({ ...common(name, help), buckets }),
  };
}

function reconcileMetrics(registry: Registry) {
  const { counter, gauge, histogram } = metricsWith(registry, ['controller']);
  return {
    total: metricsWith(registry, ['controller', 'result']).counter(
      'controller_runtime_reconcile_total',
      'Total number of reconciliations per controller',
    ),
    errors: counter(
      'controller_runtime_reconcile_errors_total',
      'Total number of reconciliation errors per controller',
    ),
    terminal: counter(
      'controller_runtime_terminal_reconcile_errors_total',
      'Total number of terminal reconciliation errors per controller',
    ),
    panics: counter(
      'controller_runtime_reconcile_panics_total',
      'Total number of reconciliation panics per controller',
    ),
    time: histogram(
      'controller_runtime_reconcile_time_seconds',
      'Length of time per reconciliation per controller',
      RECONCILE_SECONDS,
    ),
    workers: gauge(
      'controller_runtime_max_concurrent_reconciles',
      'Maximum number of concurrent reconciles per controller',
    ),
    active: gauge('controller_runtime_active_workers', 'Number of currently used workers per controller'),
  };
}

/** Read at each scrape. */
interface QueueGauges {
  depth(): number;
  processing(): readonly Ms[];
}

function queueMetrics(registry: Registry, queues: ReadonlyMap<string, QueueGauges>) {
  const { counter, histogram } = metricsWith(registry, ['name', 'controller']);
  const gauge = (name: string, help: string, read: (queue: QueueGauges) => number): void =>
    registerCollected(registry, { name, help, labelNames: ['name', 'controller'] }, (metric) => {
      for (const [queue, reader] of queues) metric.set({ name: queue, controller: queue }, read(reader));
    });
  gauge('workqueue_depth', 'Current depth of workqueue', (queue) => queue.depth());
  gauge(
    'workqueue_unfinished_work_seconds',
    'How many seconds of work has been done that is in progress and not yet observed by work_duration',
    (queue) => queue.processing().reduce((sum, span) => sum + span, 0) / 1000,
  );
  gauge(
    'workqueue_longest_running_processor_seconds',
    'How many seconds the longest running processor of the workqueue has been running',
    (queue) => Math.max(0, ...queue.processing()) / 1000,
  );
  return {
    adds: counter('workqueue_adds_total', 'Total number of adds handled by workqueue'),
    retries: counter('workqueue_retries_total', 'Total number of retries handled by workqueue'),
    queueDuration: histogram(
      'workqueue_queue_duration_seconds',
      'How long in seconds an item stays in workqueue before being requested',
      QUEUE_SECONDS,
    ),
    workDuration: histogram(
      'workqueue_work_duration_seconds',
      'How long in seconds processing an item from workqueue takes',
      QUEUE_SECONDS,
    ),
  };
}

function electionMetrics(registry: Registry) {
  const { counter, gauge } = metricsWith(registry, ['name']);
  return {
    master: gauge(
      'leader_election_master_status',
      'Whether the reporting system is master of the relevant lease: 0 indicates backup, 1 indicates master',
    ),
    slowPaths: counter(
      'leader_election_slowpath_total',
      'Total number of slow path exercised in renewing leader leases',
    ),
  };
}

/** `collect` sets the gauge's values at each scrape. */
export function registerCollected<Label extends string>(
  registry: Registry,
  options: { readonly name: string; readonly help: string; readonly labelNames?: readonly Label[] },
  collect: (gauge: Gauge<Label>) => void,
): void {
  const gauge = new Gauge<Label>({
    ...options,
    registers: [],
    collect() {
      collect(this);
    },
  });
  registry.registerMetric(gauge);
}

export function requestCounter(registry: Registry): CountRequest {
  const requests = metricsWith(registry, ['code', 'method', 'host']).counter(
    'rest_client_requests_total',
    'Requests to the API server, by status code (<error> where no answer came), method and host.',
  );
  return (labels) => requests.inc(labels);
}

export function cacheMetrics(registry: Registry, name: string) {
  const watched: Runnable[] = [];
  const help =
    'How long the watch for a kind has been failing, in seconds; 0 while it works or if the API server does not serve the kind.';
  registerCollected(registry, { name, help, labelNames: ['cache'] }, (gauge) => {
    for (const cache of watched) {
      const age = cache.outdatedFor?.();
      if (age !== undefined) gauge.set({ cache: cache.name.replace('reflector of ', '') }, age / 1_000);
    }
  });
  return { watch: (caches: readonly Runnable[]): void => void watched.push(...caches) };
}

/** Serves `/metrics` in Prometheus' text format. */
export function metricsHandler(registry: Registry): HttpHandler {
  return async ({ path }) =>
    path === '/metrics' ? { status: 200, contentType: registry.contentType, body: await registry.metrics() } : notFound;
}
