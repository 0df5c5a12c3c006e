import { fileURLToPath } from 'node:url';
import { ENVIRONMENT, NODE_FLAGS } from '../../../hack/build/node-flags.ts';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { freePorts } from '../../envtest/control-plane/ports.ts';
import type { ServerProcess } from '../../envtest/control-plane/process.ts';
import { eventually } from '../../support/eventually.ts';
import { requestDiagnostics } from './diagnostics.ts';

export const MANAGER = fileURLToPath(new URL('../../../dist/manager.mjs', import.meta.url));

export interface ManagerProcessOptions {
  readonly awsUrl: string;
  /**
   * The name of the manager process and of its log file; default: `manager`. Processes with the same name share a log
   * file.
   */
  readonly name?: string;
  /** The JavaScript file of the manager; default: the bundle that `make build` creates. */
  readonly file?: string;
  /** Additional command line flags of the manager. They take precedence over the flags that `startManager` sets. */
  readonly flags?: readonly string[];
  /**
   * The command line flags of the manager in a Deployment that clusterctl has installed. The flags that `startManager`
   * sets take precedence over them.
   */
  readonly installedArgs?: readonly string[];
  readonly accessKeyId?: string;
  /**
   * The path of the kubeconfig of the manager; default: the kubeconfig of the administrator, or in a test environment
   * (`World`) that of the manager's service account.
   */
  readonly kubeconfigPath?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The verbosity of the manager's log; default: 4, at which the manager logs each reconcile and each AWS call. */
  readonly verbosity?: number;
  /** Whether `startManager` waits until the manager is ready; default true. */
  readonly waitUntilReady?: boolean;
}

/** A running process of the built manager. */
export interface RunningManager extends ServerProcess {
  readonly healthUrl: string;
  readonly metricsUrl: string;
  /** The answer of `/metrics`, in the text format of Prometheus. */
  metrics(): Promise<string>;
  /** The sum of all samples of a Prometheus metric that have the given labels; 0 without such samples. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
  /** Whether the test has sent the process a signal that can end it: any signal except SIGSTOP and SIGCONT. */
  wasSignaled(): boolean;
  readyz(): Promise<{ readonly status: number; readonly text: string }>;
}

export async function startManager(
  controlPlane: ControlPlane,
  options: ManagerProcessOptions,
): Promise<RunningManager> {
  const {
    awsUrl,
    name = 'manager',
    file = MANAGER,
    flags = [],
    installedArgs = [],
    accessKeyId = 'test',
    env = {},
    verbosity = 4,
    waitUntilReady = true,
  } = options;
  const [healthPort = 0, metricsPort = 0] = await freePorts(2);
  const process_ = await controlPlane.run({
    name,
    file: process.execPath,
    args: [
      ...NODE_FLAGS,
      file,
      ...installedArgs,
      '--kubeconfig',
      options.kubeconfigPath ?? controlPlane.kubeconfigPath,
      '--manager-namespace',
      'capaf-system',
      '--health-addr',
      `127.0.0.1:${healthPort}`,
      '--diagnostics-address',
      `127.0.0.1:${metricsPort}`,
      '--insecure-diagnostics',
      '--v',
      String(verbosity),
      ...flags,
    ],
    env: {
      ...ENVIRONMENT,
      AWS_ENDPOINT_URL: awsUrl,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_REGION: 'us-east-1',
      AWS_EC2_METADATA_DISABLED: 'true',
      KUBECONFIG: undefined,
      ...env,
    },
  });
  const healthUrl = `http://127.0.0.1:${healthPort}`;
  const isSecure = flags.includes('--insecure-diagnostics=false');
  const metricsUrl = `${isSecure ? 'https' : 'http'}://127.0.0.1:${metricsPort}/metrics`;
  const { token } = controlPlane;
  const metrics = async (): Promise<string> =>
    isSecure
      ? (await requestDiagnostics({ metricsUrl }, { path: '/metrics', token })).body
      : (await fetch(metricsUrl)).text();
  const readyz = async () => {
    const answer = await fetch(`${healthUrl}/readyz?verbose`);
    return { status: answer.status, text: await answer.text() };
  };
  let isSignaled = false;
  const manager: RunningManager = {
    ...process_,
    kill: (signal) => {
      isSignaled ||= signal !== 'SIGSTOP' && signal !== 'SIGCONT';
      process_.kill(signal);
    },
    stop: (...how) => {
      isSignaled ||= process_.exit() === undefined;
      return process_.stop(...how);
    },
    wasSignaled: () => isSignaled,
    healthUrl,
    metricsUrl,
    readyz,
    metrics,
    metric: async (metric, labels = {}) => sumOfSamples(await metrics(), metric, labels),
  };
  if (waitUntilReady) {
    await eventually(
      async () => {
        const exit = process_.exit();
        if (exit !== undefined) return true;
        const { status, text } = await readyz();
        if (status !== 200) throw new Error(text);
        return true;
      },
      { what: 'the readiness of the manager' },
    );
    if (process_.exit() !== undefined) throw new Error(`the manager exited before it was ready: ${process_.tail()}`);
  }
  return manager;
}

export function sumOfSamples(exposition: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  return exposition
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
