import { textAt } from '../json/record.ts';
import { aborted, pause } from '../async/deadline.ts';
import type { Clock, Ms } from '../env/clock.ts';
import type { Logger } from '../log/logger.ts';
import type { HealthCheck } from '../http/health.ts';
import type { Runnable } from './runnable.ts';
import type { KubeClient } from '../client/types.ts';

/**
 * The oldest minor version of Kubernetes 1 whose API server accepts the CRD. The CRD's rules use `optionalOldSelf`,
 * which needs the feature CRDValidationRatcheting: off in 1.28 and 1.29, on since 1.30.
 */
export const OLDEST_MINOR = 30;
/** The version is polled so that the manager does not need a restart after an upgrade of the API server. */
const POLL_PERIOD: Ms = 10_000;

/** Returns a problem if `version`, the answer to `/version`, is too old; `undefined` if it is supported or unknown. */
export function tooOld(version: unknown): string | undefined {
  // Some distributions report a minor version such as "30+"; only the number counts.
  const [major, minor] = [textAt(version, 'major'), textAt(version, 'minor')].map((part) =>
    Number.parseInt(part ?? '', 10),
  );
  if (major !== 1 || minor === undefined || Number.isNaN(minor) || minor >= OLDEST_MINOR) return undefined;
  const name = textAt(version, 'gitVersion') ?? `v1.${minor}`;
  return `the API server is Kubernetes ${name}, but this provider needs v1.${OLDEST_MINOR} or newer; upgrade the management cluster`;
}

/** Makes the manager not ready while the API server is too old. */
export class ServerVersionCheck implements Runnable, HealthCheck {
  readonly name = 'kubernetes-version';
  private readonly options: { readonly client: KubeClient; readonly clock: Clock; readonly logger: Logger };
  private problem: string | undefined;

  constructor(options: ServerVersionCheck['options']) {
    this.options = options;
  }

  readonly check = (): string | undefined => this.problem;

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.isSupported(signal))) await pause(this.options.clock, POLL_PERIOD, signal);
    await aborted(signal);
  }

  private async isSupported(signal: AbortSignal): Promise<boolean> {
    const { client, logger } = this.options;
    try {
      const problem = tooOld(await client.discover('/version', { signal }));
      if (problem !== this.problem && problem !== undefined) logger.error('The API server is too old', problem);
      this.problem = problem;
      return problem === undefined;
    } catch {
      return false;
    }
  }
}
