import { homedir, hostname } from 'node:os';
import { isLeft } from 'fp-ts/lib/Either.js';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { systemClock, systemRandom } from 'controller-runtime/env';
import { systemProfiler } from 'controller-runtime/http';
import { connect, KubeconfigError, loadKubeconfig, newConnectToServer } from 'controller-runtime/kubeconfig';
import { type ClosableLogger, createWinstonLogger, type Logger } from 'controller-runtime/log';
import { environmentProxies, type ProxyChoice } from 'controller-runtime/network';
import { escapeHidden } from 'controller-runtime/text';
import { MAX_REQUESTS } from '../../controllers/shared/workload-server.ts';
import { connectToAws, newManagerCredentialSource, podIdentityUri, resolveEndpoints } from '../../pkg/cloud/index.ts';
import { VERSION } from '../../pkg/version.ts';
import { awsRegionOf, selectNamespaces, type Env } from './env.ts';
import { helpText } from './flags/flags.ts';
import { parseFlags, type ManagerFlags } from './flags/parse-flags.ts';
import { runManager } from './run.ts';

/** The exit code after a mistake in the flags, as in Go's flag package. */
const USAGE_ERROR = 2;
const FAILURE = 1;
/** In ms. Each measurement wakes the process: at prom-client's interval of 10 ms, measurements take 0.5 % of a CPU. */
const EVENT_LOOP_INTERVAL = 50;

/** A mistake in the flags that depends on the environment, for example a flag that is required only outside a pod. */
class UsageError extends Error {}

async function main(args: readonly string[]): Promise<number> {
  const command = parseFlags(args);
  if (isLeft(command)) return printProblem(command.left, USAGE_ERROR);
  switch (command.right.kind) {
    case 'help':
      process.stdout.write(helpText());
      return 0;
    case 'version':
      process.stdout.write(`${VERSION}\n`);
      return 0;
    case 'run':
      return run(command.right.flags);
  }
}

async function run(flags: ManagerFlags): Promise<number> {
  const endpoints = resolveEndpoints({ serviceEndpoints: flags.serviceEndpoints, environment: process.env });
  if (isLeft(endpoints)) return printProblem(endpoints.left, USAGE_ERROR);
  const connected = connectToAws(process.env);
  if (isLeft(connected)) return printProblem(connected.left, USAGE_ERROR);
  const aws = connected.right;
  const proxyFor = environmentProxies(process.env);
  if (isLeft(proxyFor)) return printProblem(proxyFor.left, USAGE_ERROR);
  const podIdentity = podIdentityUri(process.env);
  if (podIdentity !== undefined) process.env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] = podIdentity;
  const logger = createWinstonLogger({
    clock: systemClock,
    format: flags.loggingFormat,
    verbosity: flags.verbosity,
    stream: process.stderr,
  });
  exitOnUncaughtError(logger);
  try {
    await connectAndRun(flags, { logger, aws, endpoints: endpoints.right, proxyFor: proxyFor.right });
    return 0;
  } catch (error) {
    if (error instanceof UsageError) return printProblem(error.message, USAGE_ERROR);
    if (error instanceof KubeconfigError) return printProblem(error.message, FAILURE);
    logger.error('Manager failed', error);
    return FAILURE;
  } finally {
    await aws.close();
    await logger.flush();
  }
}

async function connectAndRun(
  flags: ManagerFlags,
  {
    logger,
    aws,
    endpoints,
    proxyFor,
  }: Pick<Env, 'aws' | 'endpoints'> & { readonly logger: ClosableLogger; readonly proxyFor: ProxyChoice },
): Promise<void> {
  const load = () => loadKubeconfig({ path: flags.kubeconfig, env: process.env, home: homedir() });
  const { podNamespace, source, server } = load();
  const namespaces = selectNamespaces(flags, podNamespace);
  if (isLeft(namespaces)) throw new UsageError(namespaces.left);
  const kube = connect({ load, clock: systemClock });
  logger.info('Starting manager', {
    version: VERSION,
    apiServer: `${server.origin}${server.pathname}`,
    credentials: source,
  });
  if (flags.ignored.length > 0) logger.info('Ignoring flags that have no effect', { flags: flags.ignored.join(', ') });
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_INTERVAL });
  const env: Env = {
    clock: systemClock,
    random: systemRandom,
    logger,
    setVerbosity: (verbosity) => {
      logger.setVerbosity(verbosity);
      logger.info('The verbosity of the log has changed', { verbosity });
    },
    profiler: systemProfiler,
    kube,
    kubeForLease: kube.forLease,
    connectToServer: newConnectToServer(proxyFor, MAX_REQUESTS),
    aws,
    endpoints,
    credentials: newManagerCredentialSource(aws, process.env, logger),
    awsRegion: awsRegionOf(process.env),
    hostname: hostname(),
    namespaces: namespaces.right,
  };
  try {
    await runManager(env, flags, registry, newStopSignal(logger));
  } finally {
    await kube.close();
  }
}

/** An uncaught error terminates the process, as a panic does in Go. */
function exitOnUncaughtError(logger: ClosableLogger): void {
  const die = (thrown: unknown): void => {
    logger.error('Unhandled error', thrown);
    void logger.flush().finally(() => process.exit(FAILURE));
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
}

/** The result aborts on the first SIGTERM or SIGINT. The second ends the process immediately, as in controller-runtime. */
function newStopSignal(logger: Logger): AbortSignal {
  const stop = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (stop.signal.aborted) process.exit(FAILURE);
    logger.info('Stopping', { signal: name });
    stop.abort(new Error(`received ${name}`));
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return stop.signal;
}

/** Returns the exit code. */
function printProblem(problem: string, code: number): number {
  process.stderr.write(`manager: ${escapeHidden(problem)}\n`);
  return code;
}

process.exit(await main(process.argv.slice(2)));
