import type { Registry } from 'prom-client';
import { awsFargateProfileController } from '../../controllers/awsfargateprofile/controller.ts';
import { newCaches } from '../../controllers/caches.ts';
import { clusterTeardownController } from '../../controllers/clusterteardown/controller.ts';
import { Guard } from '../../controllers/guard.ts';
import { ServedSchema, schemaMetrics } from '../../controllers/served-schema.ts';
import { newIdentities } from '../../controllers/identities/identities.ts';
import { CredentialPool } from '../../pkg/cloud/credentials.ts';
import { newLimiter } from '../../pkg/cloud/limiter.ts';
import { awsMetrics } from '../../pkg/cloud/metrics.ts';
import { newSessions } from '../../pkg/cloud/sessions.ts';
import { createKubeClient } from '../../pkg/kube/client.ts';
import { EventWriter } from '../../pkg/kube/events.ts';
import { observe } from '../../pkg/kube/transport.ts';
import type { KubeClient } from '../../pkg/kube/types.ts';
import { healthHandler, ping } from '../../pkg/runtime/health.ts';
import { HttpServer } from '../../pkg/runtime/http-server.ts';
import { LeaderElection } from '../../pkg/runtime/leader-election.ts';
import { Manager } from '../../pkg/runtime/manager.ts';
import { metricsHandler } from '../../pkg/runtime/metrics-handler.ts';
import { Metrics } from '../../pkg/runtime/metrics.ts';
import { requestCounter } from '../../pkg/runtime/request-metrics.ts';
import type { Leadership } from '../../pkg/runtime/types.ts';
import { VERSION } from '../../pkg/version.ts';
import type { Env } from './env.ts';
import type { ManagerFlags } from './flags.ts';

/** Who the manager is to API server, AWS and readers of events. */
const NAME = 'cluster-api-provider-aws-fargate';
/** One lease for all managers of this provider, whatever their version. */
const LEASE = 'capaf-leader-election';
/** The namespace of the release, where nothing else tells. */
const DEFAULT_NAMESPACE = 'capaf-system';

/** Without election nobody else acts, so there is nothing to run out. */
const ALONE: Leadership = { remaining: () => Number.POSITIVE_INFINITY };

export type RunFlags = Omit<ManagerFlags, 'kubeconfig' | 'loggingFormat' | 'verbosity' | 'serviceEndpoints'>;

/**
 * Builds the manager from its environment and runs it until the signal aborts. Rejects when a part fails, when the lease
 * is lost or when something does not stop in time: the process must end then.
 */
export async function runManager(env: Env, flags: RunFlags, registry: Registry, signal: AbortSignal): Promise<void> {
  const { clock, random, logger } = env;
  const metrics = new Metrics(registry);
  const transport = observe(env.kube, { userAgent: `${NAME}/${VERSION}`, count: requestCounter(registry), logger });
  const client = createKubeClient({ transport, clock });
  const events = new EventWriter({ client, clock, random, logger, component: NAME, instance: env.hostname });
  const election = flags.election && newElection(env, flags.election, { kube: client, recorder: events, metrics });
  const manager = new Manager({ clock, logger, ...(election && { election }) });
  const stopping = new AbortController();

  const aws = {
    clock,
    logger,
    transport: env.aws,
    limiter: newLimiter(clock),
    metrics: awsMetrics(registry),
    endpoints: env.endpoints,
    pool: new CredentialPool(clock, stopping.signal),
    version: VERSION,
  };
  const identities = newIdentities({
    client,
    clock,
    random,
    logger,
    namespace: env.ownNamespace ?? DEFAULT_NAMESPACE,
    own: env.credentials,
    assuming: { ...aws, region: env.awsRegion },
  });
  const sessions = newSessions({ ...aws, random, sources: identities.sources, signal: stopping.signal });
  const caches = newCaches({
    client,
    clock,
    random,
    logger,
    ...(flags.namespace !== undefined && { namespace: flags.namespace }),
    ...(flags.watchFilter !== undefined && { watchFilter: flags.watchFilter }),
  });
  const guard = new Guard({
    client,
    controlPlanes: caches.controlPlanes,
    resource: caches.controlPlaneResource,
  });
  const schema = new ServedSchema({ client, clock, logger, metrics: schemaMetrics(registry) });
  const teardown = clusterTeardownController({
    client,
    caches,
    guard,
    schema,
    leadership: election ?? ALONE,
    recorder: events,
    metrics,
    clock,
    random,
    logger,
  });
  const controller = awsFargateProfileController({
    client,
    caches,
    guard,
    schema,
    identities,
    sessions,
    leadership: election ?? ALONE,
    recorder: events,
    metrics,
    clock,
    random,
    logger,
    concurrency: flags.concurrency,
    resync: flags.resync,
  });

  if (flags.health !== undefined) {
    const healthz = election === undefined ? [ping] : [ping, election.healthCheck];
    const handler = healthHandler({ healthz, readyz: [ping, manager.readyCheck] });
    manager.addServer(new HttpServer({ name: 'health probes', address: flags.health, handler, logger }));
  }
  if (flags.diagnostics !== undefined) {
    const handler = metricsHandler(registry);
    manager.addServer(new HttpServer({ name: 'metrics', address: flags.diagnostics, handler, logger }));
  }
  for (const cache of [...caches.runnables, ...identities.runnables]) manager.addCache(cache);
  manager.addRecorder(events);
  manager.addWorker(controller);
  manager.addWorker(teardown);
  try {
    await manager.run(signal);
  } finally {
    stopping.abort(new Error('the manager has stopped'));
  }
}

function newElection(
  env: Env,
  { timings, namespace }: NonNullable<ManagerFlags['election']>,
  { kube, recorder, metrics }: { readonly kube: KubeClient; readonly recorder: EventWriter; readonly metrics: Metrics },
): LeaderElection {
  const { clock, random, logger, hostname } = env;
  return new LeaderElection({
    kube,
    recorder,
    clock,
    random,
    logger,
    lease: { namespace: namespace ?? env.ownNamespace ?? DEFAULT_NAMESPACE, name: LEASE },
    hostname,
    timings,
    metrics: metrics.leaderElection(LEASE),
  });
}
