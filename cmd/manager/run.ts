import type { Registry } from 'prom-client';
import {
  type CountRequest,
  createKubeClient,
  type KubeClient,
  observeRequests,
  type Transport,
} from 'controller-runtime/client';
import { LeaderElection, type Leadership } from 'controller-runtime/election';
import type { Ms } from 'controller-runtime/env';
import { EventWriter } from 'controller-runtime/events';
import { Manager } from 'controller-runtime/manager';
import { CLUSTER_KIND, CONTROL_PLANE_KIND } from '../../api/external/index.ts';
import { KIND } from '../../api/v1beta2/index.ts';
import { awsFargateProfileControllers } from '../../controllers/awsfargateprofile/controller.ts';
import { newOpenPods } from '../../controllers/awsfargateprofile/drain/open-pods.ts';
import { GRANT } from '../../controllers/shared/api-rejections.ts';
import { newCaches } from '../../controllers/shared/caches.ts';
import { crdKeeperController } from '../../controllers/crdkeeper/controller.ts';
import { instanceGroupController } from '../../controllers/instancegroups/controller.ts';
import { clusterTeardownController } from '../../controllers/clusterteardown/controller.ts';
import { ControlPlaneAccounts } from '../../controllers/shared/control-plane/control-plane-accounts.ts';
import { ControlPlaneFinalizer } from '../../controllers/shared/control-plane/control-plane-finalizer.ts';
import { ServedSchema } from '../../controllers/shared/crd/served-schema.ts';
import { newIdentities, type Identities } from '../../controllers/identities/identities.ts';
import {
  CallerAccounts,
  CredentialPool,
  newRateLimiter,
  newSessions,
  type AwsMetrics,
  type Sessions,
} from '../../pkg/cloud/index.ts';
import { VERSION } from '../../pkg/version.ts';
import type { Env } from './env.ts';
import type { ManagerFlags } from './flags/parse-flags.ts';
import { leaseNameFor } from './lease-name.ts';
import { newManagerMetrics } from './metrics.ts';
import { diagnosticsServer, healthServer } from './servers.ts';

const NAME = 'cluster-api-provider-aws-fargate';
/** Used without leader election: the manager never has to stop being the leader. */
const ALWAYS_LEADER: Leadership = { remaining: () => Number.POSITIVE_INFINITY };

type RunFlags = Omit<ManagerFlags, 'kubeconfig' | 'loggingFormat' | 'verbosity' | 'serviceEndpoints' | 'ignored'>;

/**
 * Runs the manager until `signal` aborts. Rejects when a runnable fails, when the Lease is lost, or when a runnable
 * does not stop in time; the caller must then terminate the process.
 */
export async function runManager(env: Env, flags: RunFlags, registry: Registry, signal: AbortSignal): Promise<void> {
  const { clock, random, logger } = env;
  const metrics = newManagerMetrics(registry);
  const count = metrics.countRequest;
  const client = newKubeClient(env, env.kube, count);
  const events = new EventWriter({ client, clock, random, logger, component: NAME, instance: env.hostname });
  const leaseName = leaseNameFor(flags);
  const election =
    flags.election &&
    new LeaderElection({
      kube: newKubeClient(env, env.kubeForLease, count),
      recorder: events,
      clock,
      random,
      logger,
      lease: { namespace: env.namespaces.lease, name: leaseName },
      hostname: env.hostname,
      grant: GRANT,
      timings: flags.election.timings,
      metrics: metrics.runtime.leaderElection(leaseName),
    });
  const manager = new Manager({ clock, logger, ...(election && { election }) });
  const stopping = new AbortController();
  const { identities, sessions } = newAws(env, client, {
    metrics: metrics.aws,
    resync: flags.resync,
    signal: stopping.signal,
  });
  const caches = newCaches({ client, clock, random, logger, ...cacheScope(flags) });
  const { controlPlanes, controlPlaneResource: resource } = caches;
  metrics.unreadableObjects.watch({
    [KIND]: caches.typed.profiles,
    [CLUSTER_KIND]: caches.typed.clusters,
    [CONTROL_PLANE_KIND]: caches.typed.controlPlanes,
    ...identities.typed,
  });
  const shared = {
    client,
    caches,
    controlPlaneFinalizer: new ControlPlaneFinalizer({ client, controlPlanes, resource }),
    schema: new ServedSchema({ client, clock, logger, metrics: metrics.schema }),
    leadership: election ?? ALWAYS_LEADER,
    recorder: events,
    metrics: metrics.runtime,
    clock,
    random,
    logger,
    ...cacheScope(flags),
  };
  const { concurrency, resync, limits } = flags;
  const managerRegion = env.awsRegion;
  const accounts = new ControlPlaneAccounts(sessions);
  const teardown = clusterTeardownController({ ...shared, managerRegion, accounts });
  const profiles = awsFargateProfileControllers({
    ...shared,
    identities,
    sessions,
    limits,
    managerRegion,
    accounts,
    concurrency,
    resync,
    openPods: newOpenPods(env.connectToServer, clock, count),
    clusterQueueMetrics: metrics.queueKey,
    profileMetrics: metrics.profiles,
  });

  const { health, diagnostics } = flags;
  const { recordCertificateExpiry } = metrics;
  const allCaches = [...caches.runnables, ...identities.runnables];
  metrics.caches.watch(allCaches);
  manager.add('recorder', events);
  if (health !== undefined) manager.add('server', ...healthServer(env, health, { client, manager, election }));
  if (diagnostics !== undefined)
    manager.add('server', diagnosticsServer(env, diagnostics, { registry, recordCertificateExpiry, client }));
  manager.add('cache', ...allCaches);
  manager.add('controller', ...profiles, teardown);
  if (flags.managesCrd) {
    const { controller, caches: triggers } = crdKeeperController({
      ...shared,
      // The CRD keeper records its changes in a ConfigMap in the Lease's namespace.
      recordNamespace: env.namespaces.lease,
    });
    manager.add('cache', ...triggers);
    manager.add('controller', controller);
  }
  if (flags.reconcilesInstanceGroups) {
    const { controller, cache } = instanceGroupController(shared);
    manager.add('cache', cache);
    manager.add('controller', controller);
  }
  try {
    await manager.run(signal);
  } finally {
    stopping.abort(new Error('the manager has stopped'));
  }
}

const cacheScope = ({ namespace, watchFilter }: RunFlags): Pick<RunFlags, 'namespace' | 'watchFilter'> => ({
  ...(namespace !== undefined && { namespace }),
  ...(watchFilter !== undefined && { watchFilter }),
});

function newKubeClient({ clock, logger }: Env, connections: Transport, count: CountRequest): KubeClient {
  const transport = observeRequests(connections, { userAgent: `${NAME}/${VERSION}`, count, logger });
  return createKubeClient({ transport, clock });
}

function newAws(
  env: Env,
  client: KubeClient,
  { metrics, resync, signal }: { readonly metrics: AwsMetrics; readonly resync: Ms; readonly signal: AbortSignal },
): { readonly identities: Identities; readonly sessions: Sessions } {
  const { clock, random, logger, credentials } = env;
  const pool = new CredentialPool(clock, signal, resync);
  metrics.watchCredentials(() =>
    pool.expiries().map(({ key, expiresAt }) => ({
      source: key === credentials.key ? 'manager' : 'identity',
      ...(expiresAt !== undefined && { expiresAt }),
    })),
  );
  const shared = {
    clock,
    logger,
    transport: env.aws,
    limiter: newRateLimiter(clock),
    metrics,
    endpoints: env.endpoints,
    pool,
    region: env.awsRegion,
    version: VERSION,
  };
  const aws = { ...shared, accounts: new CallerAccounts({ ...shared, signal }) };
  const identities = newIdentities({
    client,
    clock,
    random,
    logger,
    namespace: env.namespaces.secrets,
    resync,
    own: credentials,
    assuming: aws,
  });
  const sessions = newSessions({ ...aws, random, sources: identities.sources });
  return { identities, sessions };
}
