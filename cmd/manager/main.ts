import { homedir, hostname } from 'node:os';
import { isLeft } from 'fp-ts/lib/Either.js';
import { Registry } from 'prom-client';
import { resolveEndpoints } from '../../pkg/cloud/endpoints.ts';
import { ownCredentials } from '../../pkg/cloud/own-credentials.ts';
import { undiciTransport } from '../../pkg/cloud/undici-transport.ts';
import { systemClock, systemRandom } from '../../pkg/env/system.ts';
import type { ClosableLogger } from '../../pkg/env/winston-logger.ts';
import { createWinstonLogger } from '../../pkg/env/winston-logger.ts';
import { KubeconfigError, loadKubeconfig } from '../../pkg/kube/kubeconfig.ts';
import { connect } from '../../pkg/kube/undici-transport.ts';
import { collectProcessMetrics } from '../../pkg/runtime/metrics.ts';
import { VERSION } from '../../pkg/version.ts';
import type { ManagerFlags } from './flags.ts';
import { helpText, parseFlags } from './flags.ts';
import { keepHeapSmall } from './frugal-heap.ts';
import { runManager } from './run.ts';

/** As Go's flag package: the command line is wrong. */
const USAGE = 2;
const FAILURE = 1;

async function main(args: readonly string[]): Promise<number> {
  const command = parseFlags(args);
  if (isLeft(command)) return complain(command.left);
  switch (command.right.kind) {
    case 'help':
      process.stdout.write(helpText());
      return 0;
    case 'version':
      process.stdout.write(`${VERSION}\n`);
      return 0;
    case 'run':
      return start(command.right.flags);
  }
}

async function start(flags: ManagerFlags): Promise<number> {
  const environment = process.env;
  const endpoints = resolveEndpoints({ serviceEndpoints: flags.serviceEndpoints, environment });
  if (isLeft(endpoints)) return complain(endpoints.left);
  const load = () => loadKubeconfig({ path: flags.kubeconfig, env: environment, home: homedir() });
  const logger = createWinstonLogger({
    clock: systemClock,
    format: flags.loggingFormat,
    verbosity: flags.verbosity,
    stream: process.stderr,
  });
  lastWords(logger);
  const aws = undiciTransport();
  try {
    const { namespace, source, server } = load();
    const kube = connect({ load, clock: systemClock });
    logger.info('Starting manager', { version: VERSION, apiServer: server.href, credentials: source });
    const registry = new Registry();
    collectProcessMetrics(registry);
    try {
      await runManager(
        {
          clock: systemClock,
          random: systemRandom,
          logger,
          kube,
          aws,
          endpoints: endpoints.right,
          credentials: ownCredentials(aws, environment, logger),
          ...awsRegionOf(environment),
          hostname: hostname(),
          ownNamespace: namespace,
        },
        flags,
        registry,
        stopSignal(logger),
      );
    } finally {
      await kube.close();
    }
    return 0;
  } catch (error) {
    if (error instanceof KubeconfigError) return complain(error.message, FAILURE);
    logger.error('The manager ends', error);
    return FAILURE;
  } finally {
    await aws.close();
    await logger.flush();
  }
}

/** As every AWS SDK; on EKS both are set by what gives the pod its role. */
function awsRegionOf({ AWS_REGION, AWS_DEFAULT_REGION }: NodeJS.ProcessEnv): { readonly awsRegion?: string } {
  const awsRegion = AWS_REGION || AWS_DEFAULT_REGION || undefined;
  return awsRegion === undefined ? {} : { awsRegion };
}

/** A mistake that nobody caught ends the process, as a panic does in Go; but it is logged first, whole. */
function lastWords(logger: ClosableLogger): void {
  const die = (thrown: unknown): void => {
    logger.error('Nobody handled an error', thrown);
    void logger.flush().finally(() => process.exit(FAILURE));
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
}

/** Aborts on the first SIGTERM or SIGINT; a second one ends the process at once, as controller-runtime does. */
function stopSignal(logger: ClosableLogger): AbortSignal {
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

function complain(problem: string, code = USAGE): number {
  process.stderr.write(`manager: ${problem}\n`);
  return code;
}

keepHeapSmall();
process.exit(await main(process.argv.slice(2)));
