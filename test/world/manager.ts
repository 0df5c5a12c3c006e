import { fileURLToPath } from 'node:url';
import type { ControlPlane } from '../envtest/controlplane.ts';
import { freePorts } from '../envtest/ports.ts';
import type { ServerProcess } from '../envtest/process.ts';
import { eventually } from '../support/eventually.ts';

export const MANAGER = fileURLToPath(new URL('../../dist/manager.mjs', import.meta.url));

export interface ManagerOptions {
  readonly awsUrl: string;
  /** Of the process and its log; several of one name write into one log. Default `manager`. */
  readonly name?: string;
  /** Default: what `make build` made. */
  readonly file?: string;
  /** After ours, so that they win. */
  readonly flags?: readonly string[];
  readonly accessKeyId?: string;
  /** Default: the administrator's. */
  readonly kubeconfigPath?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default 4: each pass and each call to AWS is in the log. */
  readonly verbosity?: number;
  /** Default true: resolves once it is ready. */
  readonly waitUntilReady?: boolean;
}

/** The built manager as a process of its own, as a cluster would run it. */
export interface RunningManager extends ServerProcess {
  readonly healthUrl: string;
  readonly metricsUrl: string;
  /** The sum of a metric's samples whose labels hold `labels`; 0 where there are none. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
  /** Whether the test told it to end, by whatever signal. */
  isTold(): boolean;
  readyz(): Promise<{ readonly status: number; readonly text: string }>;
}

export async function startManager(controlPlane: ControlPlane, options: ManagerOptions): Promise<RunningManager> {
  const {
    awsUrl,
    name = 'manager',
    file = MANAGER,
    flags = [],
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
      file,
      '--kubeconfig',
      options.kubeconfigPath ?? controlPlane.kubeconfigPath,
      '--health-addr',
      `127.0.0.1:${healthPort}`,
      '--diagnostics-address',
      `127.0.0.1:${metricsPort}`,
      '--v',
      String(verbosity),
      ...flags,
    ],
    env: {
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
  const metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
  const readyz = async () => {
    const answer = await fetch(`${healthUrl}/readyz?verbose`);
    return { status: answer.status, text: await answer.text() };
  };
  let isTold = false;
  const manager: RunningManager = {
    ...process_,
    kill: (signal) => {
      isTold ||= signal !== 'SIGSTOP' && signal !== 'SIGCONT';
      process_.kill(signal);
    },
    stop: (...how) => {
      isTold ||= process_.exit() === undefined;
      return process_.stop(...how);
    },
    isTold: () => isTold,
    healthUrl,
    metricsUrl,
    readyz,
    metric: async (metric, labels = {}) => sumOf(await (await fetch(metricsUrl)).text(), metric, labels),
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
      { what: 'the manager', timeoutMs: 30_000 },
    );
    if (process_.exit() !== undefined) throw new Error(`the manager ended: ${process_.tail()}`);
  }
  return manager;
}

function sumOf(exposition: string, name: string, labels: Readonly<Record<string, string>>): number {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  return exposition
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
