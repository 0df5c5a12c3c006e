import { textAt } from '../json/record.ts';
import { aborted, pause } from '../async/deadline.ts';
import type { Clock, Ms } from '../env/clock.ts';
import type { Logger } from '../log/logger.ts';
import type { HealthCheck } from '../http/health.ts';
import type { Runnable } from './runnable.ts';
import type { KubeClient } from '../client/types.ts';

/** The version is polled so that the manager does not need a restart after an upgrade of the API server. */
const POLL_PERIOD: Ms = 10_000;

export interface NeededVersion {
  /** The oldest supported minor version of Kubernetes 1. */
  readonly oldestMinor: number;
  /** The subject of the message, for example `this program`. */
  readonly neededBy: string;
  /** What a user can do, without a final period. */
  readonly remedy: string;
}

/** Returns a problem if `version`, the answer to `/version`, is too old; `undefined` if it is supported or unknown. */
export function tooOld(version: unknown, { oldestMinor, neededBy, remedy }: NeededVersion): string | undefined {
  // Some distributions report a minor version such as "30+"; only the number counts.
  const [major, minor] = [textAt(version, 'major'), textAt(version, 'minor')].map((part) =>
    Number.parseInt(part ?? '', 10),
  );
  if (major !== 1 || minor === undefined || Number.isNaN(minor) || minor >= oldestMinor) return undefined;
  const name = textAt(version, 'gitVersion') ?? `v1.${minor}`;
  return `the API server is Kubernetes ${name}, but ${neededBy} needs v1.${oldestMinor} or newer; ${remedy}`;
}

export interface ServerVersionCheckOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly needed: NeededVersion;
}

/** Makes the manager not ready while the API server is too old. */
export class ServerVersionCheck implements Runnable, HealthCheck {
  readonly name = 'kubernetes-version';
  private readonly options: ServerVersionCheckOptions;
  private problem: string | undefined;

  constructor(options: ServerVersionCheckOptions) {
    this.options = options;
  }

  readonly check = (): string | undefined => this.problem;

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.isSupported(signal))) await pause(this.options.clock, POLL_PERIOD, signal);
    await aborted(signal);
  }

  private async isSupported(signal: AbortSignal): Promise<boolean> {
    const { client, logger, needed } = this.options;
    try {
      const problem = tooOld(await client.discover('/version', { signal }), needed);
      if (problem !== this.problem && problem !== undefined) logger.error('The API server is too old', problem);
      this.problem = problem;
      return problem === undefined;
    } catch {
      return false;
    }
  }
}
